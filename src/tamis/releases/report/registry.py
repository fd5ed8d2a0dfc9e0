"""The guarantee as an entry for the public registry of differential-privacy deployments.

The fields and their order are those of the registry's schema (OpenDP, deployments-registry-data,
2026): basic, dp_variant, privacy_loss, deployment_model, implementation, administrative. What a
release does not know, such as who publishes it, is left for the publisher to fill in; the number of
privacy units is left out because it is not private.
"""

from __future__ import annotations

from tamis.releases.about import About
from tamis.releases.clusters.clusters import Clusters
from tamis.releases.collected.collected import Collected
from tamis.releases.release import Release
from tamis.releases.report.promise import scheme_in_words
from tamis.releases.report.registry_clusters import clusters_deployment
from tamis.releases.report.registry_collected import collected_deployment
from tamis.releases.report.registry_common import (
    FILL_IN,
    Value,
    administrative,
    as_yaml,
    basic,
    loss,
    model,
)
from tamis.releases.report.registry_summary import summary_deployment
from tamis.releases.report.ways import HIGHEST
from tamis.releases.summary.summary import Summary

_PAPER: dict[str, Value] = {
    "author": "Cohen, Edith and Geri, Ofir and Sarlos, Tamas and Stemmer, Uri",
    "title": "Differentially Private Weighted Sampling",
    "booktitle": "Proceedings of the 24th International Conference on Artificial "
    "Intelligence and Statistics (AISTATS)",
    "volume": 130,
    "pages": "2404-2412",
    "publisher": "PMLR",
    "year": 2021,
}


def registry_yaml(opened: Release | Summary | Collected | Clusters) -> str:
    """The guarantee of a release, or a summary, in YAML; all in it comes from the release alone."""
    if isinstance(opened, Summary):
        return as_yaml(summary_deployment(opened))
    if isinstance(opened, Collected):
        return as_yaml(collected_deployment(opened))
    if isinstance(opened, Clusters):
        return as_yaml(clusters_deployment(opened))
    about, columns = opened.about, ", ".join(opened.about.key)
    description = (
        f"Which values of {columns} occur, with estimated frequencies and "
        f"intervals of coverage {about.plan.coverage!r}."
    )
    return as_yaml(
        {
            "basic": basic(about, f"Private frequencies of {columns}", description),
            "dp_variant": _variant(about),
            "privacy_loss": loss(about, "key", "frequency"),
            "deployment_model": model(about),
            "implementation": _implementation(about, opened.digest),
            "administrative": administrative(_PAPER),
        }
    )


def _variant(about: About) -> dict[str, Value]:
    what = {"rows": "Tables of events, a row each", "counts": "Tables of keys with counts"}
    nulls = "counted as a key" if about.nulls == "keep" else "left out"
    chosen = ", and so are rows that do not satisfy a condition" if about.filtered else ""
    return {
        "variant_name": "Approximate DP",
        "data_domain": f"{what.get(about.counted, about.counted)}, with the key columns "
        f"{', '.join(about.key)}; rows without a key are {nulls}{chosen}.",
        "unprotected_quantities": "None in the release.",
    }


def _implementation(about: About, digest: str) -> dict[str, Value]:
    plan = about.plan
    return {
        "preprocessing_and_hyperparameter_tuning": "Contributions of a unit are bounded before "
        "counting. What was spent on choosing parameters is in privacy_parameters_details.",
        "mechanisms": f"Optimal private reporting of keys with tokens (Cohen, Geri, Sarlos, "
        f"Stemmer 2021), tamis {about.library}. Privacy curve of one key: {plan.curve.describe()}. "
        f"Keys looked at, w being their frequency: {scheme_in_words(plan.scheme)}. "
        f"Tokens: {plan.mechanism.tokens}. Whole numbers decide, so floating point leaks nothing; "
        "random words come from the operating system; time and memory are not protected.",
        "composition": _composition(about),
        "post_processing": "Estimates (centred maximum likelihood) and intervals are computed from "
        "tokens; rows are put in order by estimate and key.",
        "justification": FILL_IN,
        "utility": _utility(about),
        "additional_information": "The release file holds a certificate of the mechanism: "
        "'tamis verify' re-checks it, and so does one file of plain Python. It also prints the "
        f"digest of the file: that of this release is {digest}.",
    }


def _composition(about: About) -> str:
    keys = about.plan.guarantee.keys_per_unit
    over = "none is needed" if keys == 1 else f"tight composition over {keys} keys"
    parts = "" if len(about.parts) == 1 else f" The {len(about.parts)} parts of the release add up."
    return f"Within one unit: {over}.{parts}"


def _utility(about: About) -> str:
    half = about.plan.half
    if half is None:
        return "No frequency is named with probability one half, because of the sampling scheme."
    often = min(10 * half, HIGHEST)
    low, high = about.plan.interval(often)
    return (
        f"A key is named with probability one half or more from frequency {half} on. A key of "
        f"frequency {often} typically has the interval {low} to {high}."
    )
