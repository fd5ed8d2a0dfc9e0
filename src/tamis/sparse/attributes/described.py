"""Attributes from their descriptions: entries of a TOML file, or of a release."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tamis.privacy.errors import InvalidInput
from tamis.sparse.attributes.base import Attribute
from tamis.sparse.attributes.dates import Dates
from tamis.sparse.attributes.labels import Labels
from tamis.sparse.attributes.numbers import Bins, Whole, cardinality
from tamis.sparse.attributes.public import unknown
from tamis.sparse.attributes.tree import Hierarchy

_KINDS: tuple[tuple[Callable[..., Attribute], tuple[str, ...], tuple[str, ...]], ...] = (
    (lambda cardinality, other=None: _many(cardinality, other), ("cardinality",), ()),
    (lambda labels, other=None: Labels(labels, other), ("labels",), ()),
    (lambda bins, other=None: Bins(bins, other), ("bins",), ()),
    (Whole, ("low", "high"), ()),
    (Dates, ("first", "last"), ("by",)),
    (Hierarchy, ("tree",), ()),
)
_ENTRIES = [name for _, needed, more in _KINDS for name in (*needed, *more)]


def attribute(described: Mapping[str, Any]) -> Attribute:
    """The attribute that was described.

    >>> attribute({"low": 1990, "high": 2024}) == Whole(1990, 2024)
    True
    """
    if not isinstance(described, Mapping):
        raise InvalidInput("An attribute is described by entries such as labels = [...].")
    for name in described:
        if name not in (*_ENTRIES, "other"):
            raise unknown(name, [*_ENTRIES, "other"], "entry")
    kinds = [kind for kind in _KINDS if any(n in described for n in (*kind[1], *kind[2]))]
    if len(kinds) != 1:
        raise InvalidInput(
            "An attribute has one of: cardinality, labels, labels_file, bins, low and high, first "
            "and last (and by), or tree; "
            + ("it has more than one of these." if kinds else "it has none of these.")
        )
    make, needed, _ = kinds[0]
    for name in needed:
        if name not in described:
            raise InvalidInput(f"{name} is missing; give {' and '.join(needed)}.")
    return make(**described)


def _many(given: Any, other: str | None) -> Whole:
    return Whole(0, cardinality(given).high, other)


def from_toml(path: Path) -> dict[str, Attribute]:
    """The attributes of a TOML file, in its order."""
    try:
        tables = tomllib.loads(_text(path))
    except ValueError as error:  # a damaged file, or a number with thousands of digits
        if isinstance(error, InvalidInput):  # which says it all
            raise
        raise InvalidInput(f"{path} is not a TOML file: {error}.") from None
    return {name: _from_table(name, table, path) for name, table in tables.items()}


def _from_table(name: str, table: Any, path: Path) -> Attribute:
    try:
        if not isinstance(table, Mapping):
            return cardinality(table)
        return attribute(_with_labels(table, path.parent))
    except InvalidInput as error:
        raise InvalidInput(f"{path}, [{name}]: {error}") from None


def _with_labels(table: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """With the labels of a file, one for each line, instead of its name."""
    if "labels_file" not in table:
        return table
    if "labels" in table or not isinstance(table["labels_file"], str):
        raise InvalidInput("labels_file must be the name of a file, and there must be no labels.")
    lines = [line.strip() for line in _text(folder / table["labels_file"]).splitlines()]
    rest = {name: value for name, value in table.items() if name != "labels_file"}
    return {"labels": [line for line in lines if line], **rest}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not a text file in UTF-8.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from None
