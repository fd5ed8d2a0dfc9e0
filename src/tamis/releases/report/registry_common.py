"""What the entries of all kinds of releases have in common, and their form: YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tamis.privacy.errors import counted
from tamis.privacy.guarantee import REPLACED
from tamis.releases.file import AnyAbout
from tamis.weighted.show import printable

Value = str | int | float | list["Value"] | Mapping[str, "Value"]

FILL_IN = "TO BE FILLED IN by the publisher"


def as_yaml(deployment: Mapping[str, Value]) -> str:
    """A whole entry."""
    entry: dict[str, Value] = {"url_slug": FILL_IN, "deployment": deployment}
    return "\n".join(_lines(entry, 0)) + "\n"


def basic(about: AnyAbout, name: str, description: str) -> dict[str, Value]:
    """What it is, and what only the publisher knows of it."""
    return {
        "name": name,
        "data_curators": [{"data_curator_name": FILL_IN, "data_curator_type": FILL_IN}],
        "description": description,
        "intended_use": FILL_IN,
        "data_product_type": "Summary statistics",
        "data_product_region": FILL_IN,
        "publication_date": about.day,
    }


def administrative(paper: Mapping[str, Value]) -> dict[str, Value]:
    """Where the method was published, and that the entry is a draft."""
    return {
        "evidence_sources": {
            "method": {
                "evidence_source_type": "Peer-reviewed publication",
                "inproceedings": paper,
            },
        },
        "status": "Draft",
        "registry_authors": [FILL_IN],
        "tier": 3,
    }


def loss(about: AnyAbout, key: str, frequency: str) -> dict[str, Value]:
    """What is promised, and to whom, where units are bounded."""
    g = about.guarantee
    level = {"rows": "Row-level", "counts": "Element-level"}.get(about.counted, "Element-level")
    unit = level if g.unit == "element" else f"{g.unit}-level"
    return parameters(about, unit, _adjacent(about, key, frequency))


def parameters(about: AnyAbout, unit: str, adjacent: str) -> dict[str, Value]:
    """What is promised, and to whom."""
    g = about.guarantee
    return {
        "privacy_unit": unit,
        "privacy_unit_details": adjacent,
        "privacy_parameters": {"epsilon": g.epsilon, "delta": g.delta},
        "privacy_parameters_details": "; ".join(
            f"{part.purpose}: epsilon {part.epsilon!r}, delta {part.delta!r}"
            for part in about.parts
        ),
    }


def _adjacent(about: AnyAbout, key: str, frequency: str) -> str:
    g = about.guarantee
    differ = "in" if g.neighbours == REPLACED else "by adding or removing"
    if g.unit == "element":
        one = "row" if about.counted == "rows" else "element of a count"
        return f"Adjacent data sets differ {differ} one {one}."
    return (
        f"Adjacent data sets differ {differ} all rows of one {g.unit}. The bounds are "
        f"enforced: one {g.unit} contributes to at most {counted(g.keys_per_unit, key)} "
        f"(keys_per_unit) and at most {g.elements_per_key} to the {frequency} of each "
        "(elements_per_key); what goes beyond is left out at random."
    )


_HOLDER = "Whoever makes the release holds the data as they are."
_TRUST = (
    "Readers of the release may know the method and everything but the "
    "data of one unit. Whoever makes the release, and the generator of random words of their "
    "operating system, are trusted."
)


def model(
    about: AnyAbout,
    holder: str = _HOLDER,
    trust: str = _TRUST,
    charged: str = "before the first draw",
) -> dict[str, Value]:
    """Who is trusted with what."""
    ledger = (
        "Not recorded in a ledger."
        if about.entry is None
        else f"Charged to a budget {charged}; entry of the ledger: "
        + ", ".join(f"{name} {value}" for name, value in sorted(about.entry.items()))
        + "."
    )
    return {
        "model_name": "Central",
        "model_name_details": holder,
        "trust_assumptions": trust,
        "release_type": "One release",
        "release_type_details": ledger,
        "data_source_type": FILL_IN,
        "access_type": "Non-interactive",
        "access_type_details": "Questions are answered from the release alone.",
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
