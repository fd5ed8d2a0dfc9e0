"""The guarantee as an entry for the public registry of differential-privacy deployments.

The fields and their order are those of the registry's schema (OpenDP, deployments-registry-data,
2026): basic, dp_variant, privacy_loss, deployment_model, implementation, administrative. What a
release does not know, such as who publishes it, is left for the publisher to fill in; the number of
privacy units is left out because it is not private.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tamis.privacy.errors import counted
from tamis.privacy.guarantee import Guarantee
from tamis.releases.about import About
from tamis.releases.release import Release
from tamis.releases.report.promise import scheme_in_words
from tamis.releases.report.ways import HIGHEST
from tamis.weighted.show import printable

Value = str | int | float | list["Value"] | Mapping[str, "Value"]

_FILL_IN = "TO BE FILLED IN by the publisher"


def registry_yaml(release: Release) -> str:
    """The guarantee of a release in YAML; numbers and texts come from the release alone."""
    about = release.about
    entry: dict[str, Value] = {
        "url_slug": _FILL_IN,
        "deployment": {
            "basic": _basic(about),
            "dp_variant": _variant(about),
            "privacy_loss": _loss(about),
            "deployment_model": _model(about),
            "implementation": _implementation(about, release.digest),
            "administrative": _administrative(about),
        },
    }
    return "\n".join(_lines(entry, 0)) + "\n"


def _basic(about: About) -> dict[str, Value]:
    columns = ", ".join(about.key)
    return {
        "name": f"Private frequencies of {columns}",
        "data_curators": [{"data_curator_name": _FILL_IN, "data_curator_type": _FILL_IN}],
        "description": f"Which values of {columns} occur, with estimated frequencies and "
        f"intervals of coverage {about.plan.coverage!r}.",
        "intended_use": _FILL_IN,
        "data_product_type": "Summary statistics",
        "data_product_region": _FILL_IN,
        "publication_date": about.day,
    }


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


def _loss(about: About) -> dict[str, Value]:
    g = about.guarantee
    level = {"rows": "Row-level", "counts": "Element-level"}.get(about.counted, "Element-level")
    return {
        "privacy_unit": level if g.unit == "element" else f"{g.unit}-level",
        "privacy_unit_details": _adjacent(about, g),
        "privacy_parameters": {"epsilon": g.epsilon, "delta": g.delta},
        "privacy_parameters_details": "; ".join(
            f"{part.purpose}: epsilon {part.epsilon!r}, delta {part.delta!r}"
            for part in about.parts
        ),
    }


def _adjacent(about: About, g: Guarantee) -> str:
    if g.unit == "element":
        one = "row" if about.counted == "rows" else "element of a count"
        return f"Adjacent data sets differ by adding or removing one {one}."
    return (
        f"Adjacent data sets differ by adding or removing all rows of one {g.unit}. The bounds are "
        f"enforced: one {g.unit} contributes to at most {counted(g.keys_per_unit, 'key')} "
        f"(keys_per_unit) and at most {g.elements_per_key} to the frequency of each "
        "(elements_per_key); what goes beyond is left out at random."
    )


def _model(about: About) -> dict[str, Value]:
    ledger = (
        "Not recorded in a ledger."
        if about.entry is None
        else "Charged to a budget before the first draw; entry of the ledger: "
        + ", ".join(f"{name} {value}" for name, value in about.entry.items())
        + "."
    )
    return {
        "model_name": "Central",
        "model_name_details": "Whoever makes the release holds the data as they are.",
        "trust_assumptions": "Readers of the release may know the method and everything but the "
        "data of one unit. Whoever makes the release, and the generator of random words of their "
        "operating system, are trusted.",
        "release_type": "One release",
        "release_type_details": ledger,
        "data_source_type": _FILL_IN,
        "access_type": "Non-interactive",
        "access_type_details": "Questions are answered from the release alone.",
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
        "justification": _FILL_IN,
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


def _administrative(about: About) -> dict[str, Value]:
    return {
        "evidence_sources": {
            "method": {
                "evidence_source_type": "Peer-reviewed publication",
                "inproceedings": {
                    "author": "Cohen, Edith and Geri, Ofir and Sarlos, Tamas and Stemmer, Uri",
                    "title": "Differentially Private Weighted Sampling",
                    "booktitle": "Proceedings of the 24th International Conference on Artificial "
                    "Intelligence and Statistics (AISTATS)",
                    "volume": 130,
                    "pages": "2404-2412",
                    "publisher": "PMLR",
                    "year": 2021,
                },
            },
        },
        "status": "Draft",
        "registry_authors": [_FILL_IN],
        "tier": 3,
    }


def _lines(value: Mapping[str, Value], depth: int) -> Iterator[str]:
    """Block mappings with quoted texts: JSON strings are YAML, whatever stands in them."""
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield "  " * depth + f"{name}:"
            yield from _lines(inner, depth + 1)
        else:
            yield "  " * depth + f"{name}: {_flow(inner)}"


def _flow(value: Value) -> str:
    if isinstance(value, str):
        return json.dumps(printable(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_flow(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _number(value)


def _number(value: float) -> str:
    """A number that YAML 1.1 does not take for text: it wants a point before an exponent.

    >>> _number(1e-08), _number(0.5), _number(3)
    ('1.0e-08', '0.5', '3')
    """
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
