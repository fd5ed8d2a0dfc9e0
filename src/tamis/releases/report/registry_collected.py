"""The guarantee of a release of devices' reports as an entry for the registry."""

from __future__ import annotations

from math import ceil

from tamis.privacy.errors import counted
from tamis.privacy.guarantee import REPLACED
from tamis.releases.collected.about import AboutCollected
from tamis.releases.collected.collected import Collected
from tamis.releases.report.registry_common import (
    FILL_IN,
    Value,
    administrative,
    basic,
    model,
    parameters,
)

_PAPER: dict[str, Value] = {
    "author": "Bharadwaj, Akash and Cormode, Graham",
    "title": "Sample-and-threshold differential privacy: Histograms and applications",
    "booktitle": "Proceedings of the 25th International Conference on Artificial "
    "Intelligence and Statistics (AISTATS)",
    "volume": 151,
    "pages": "1420-1431",
    "publisher": "PMLR",
    "year": 2022,
}
_NAMES = {
    "histogram": "Private histogram of answers of devices",
    "heavy hitters": "Private heavy hitters among answers of devices",
    "quantiles": "Private quantiles of numbers that devices hold",
}
_HOLDER = (
    "Devices toss coins for themselves, and send sealed reports of one size. The aggregator opens "
    "those of the devices that were kept; the server that takes them cannot."
)
_TRUST = (
    "Readers of the release may know the method and everything but what one device holds. The "
    "aggregator is trusted, without an enclave or a second party; devices are trusted to toss one "
    "coin in a round. For readers who hold c devices themselves the threshold is lower by c."
)


def collected_deployment(release: Collected) -> dict[str, Value]:
    """The sections of the entry, in their order."""
    about = release.about
    what = "Quantiles" if about.kind == "quantiles" else "Items with estimated numbers of devices"
    description = (
        f"{what} and intervals of coverage {about.coverage!r}. Devices were asked: {about.question}"
    )
    differ = "in the item of" if about.guarantee.neighbours == REPLACED else "by adding or removing"
    adjacent = f"Adjacent data sets differ {differ} one device. Each holds one item."
    return {
        "basic": basic(about, _NAMES[about.kind], description),
        "dp_variant": _variant(about),
        "privacy_loss": parameters(about, f"{about.guarantee.unit}-level", adjacent),
        "deployment_model": model(about, _HOLDER, _TRUST, "before a report was opened"),
        "implementation": _implementation(about, release.digest),
        "administrative": administrative(_PAPER),
    }


def _variant(about: AboutCollected) -> dict[str, Value]:
    held = f"a whole number from 0 to {about.domain - 1}" if about.domain else "a text"
    return {
        "variant_name": "Approximate DP",
        "data_domain": f"What devices hold, one item each: {held}.",
        "unprotected_quantities": "None in the release. The number of devices that took part or "
        "reported is not in it, and must not be published.",
    }


def _implementation(about: AboutCollected, digest: str) -> dict[str, Value]:
    m = about.mechanism
    rounds = counted(m.rounds, "round")
    return {
        "preprocessing_and_hyperparameter_tuning": "A device counts once in a round, for one item. "
        "Parameters were published before anything was reported.",
        "mechanisms": f"Sample-and-threshold (Bharadwaj, Cormode 2022), tamis {about.library}: in "
        f"each of at most {rounds} a device is kept with probability {m.parts} / 2^32 = {m.p:.6g}, "
        f"and counts of at least {m.tau} are released; no noise is added. Whole numbers decide, so "
        "floating point leaks nothing; coins come from a secret of the device.",
        "composition": _composition(about),
        "post_processing": "A search for quantiles, from counts that are released between rounds."
        if about.kind == "quantiles"
        else "Estimates (token / p) and intervals are computed from tokens; rows are put in order "
        "by token and item.",
        "justification": FILL_IN,
        "utility": f"What {ceil(m.needed)} devices hold is seen in a round with a probability of "
        f"{1 - float(m.missed(ceil(m.needed))):.3g}, and what {2 * ceil(m.needed)} hold with "
        f"{1 - float(m.missed(2 * ceil(m.needed))):.6g}.",
        "additional_information": "The release file holds a certificate of the mechanism: "
        "'tamis verify' re-checks it, and so does one file of plain Python. It also prints the "
        f"digest of the file: that of this release is {digest}.",
    }


def _composition(about: AboutCollected) -> str:
    m = about.mechanism
    if m.rounds == 1 and about.guarantee.neighbours != REPLACED:
        return "None is needed: delta is that of the exact privacy profile of one round."
    return (
        f"Over {counted(m.rounds, 'round')}, from the exact privacy profile, with privacy-loss "
        "distributions in whole numbers that are rounded up."
    )
