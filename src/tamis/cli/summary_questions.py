"""Questions to a summary."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tamis.cli import streams
from tamis.cli.questions import Kind, Question
from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.privacy.answer import Answer
    from tamis.releases.summary.summary import Summary
    from tamis.sparse.domain import Domain

NAME = "summary"
_BETWEEN = ".."  # the ends of a range


def _point(summary: Summary, words: Sequence[str], where: str | None) -> Answer:
    _unconditional("point", where)
    values = bounds(summary.domain, words)
    for name, value in values.items():
        if not isinstance(value, str):
            raise InvalidInput(f"point is about one cell, and {name} has two ends: ask range.")
    return summary.point(**values)


def _range(summary: Summary, words: Sequence[str], where: str | None) -> Answer:
    _unconditional("range", where)
    return summary.range(**bounds(summary.domain, words))


def _subset(summary: Summary, words: Sequence[str], where: str | None) -> Answer:
    if where is None:
        raise InvalidInput('subset is about cells with a condition: give --where "...".')
    return summary.subset(where)


def _marginal(summary: Summary, words: Sequence[str], where: str | None) -> pa.Table:
    _unconditional("marginal", where)
    found = summary.marginal(*words)
    if found.num_rows < prod(summary.domain[name].cardinality for name in words):
        streams.say("rows that are not here have the estimate 0; range gives their intervals")
    return found


def _rows(summary: Summary, words: Sequence[str], where: str | None) -> pa.Table:
    table = summary.to_arrow()
    if where is None:
        return table
    from tamis.cli.sql import run
    from tamis.engines.condition import check_condition

    check_condition(where, table.column_names)
    return run(table, f"SELECT * FROM {NAME} WHERE ({where}\n)", NAME)


def _unconditional(question: str, where: str | None) -> None:
    if where is not None:
        raise InvalidInput(f"{question} takes no --where; conditions are for subset and rows.")


def bounds(domain: Domain, words: Sequence[str]) -> dict[str, Any]:
    """What is asked of each attribute: one value, or a pair of ends.

    ``age=18..45`` has two ends, and so has ``age=18 age=45``; what is a value of the attribute is
    taken as such, dots or not.
    """
    given: dict[str, list[str]] = {}
    for word in words:
        name, value = _split(domain, word)
        given.setdefault(name, []).append(value)
    return {name: _ends(domain, name, values) for name, values in given.items()}


def _split(domain: Domain, word: str) -> tuple[str, str]:
    """The attribute and what is said of it; names may have equals signs in them."""
    known = [name for name in domain.names if word.startswith(f"{name}=")]
    if known:
        name = max(known, key=len)
        return name, word[len(name) + 1 :]
    name, equals, value = word.partition("=")
    if not equals:
        first = domain.names[0]
        raise InvalidInput(f"{word!r} is not an attribute and a value: write {first}=...")
    domain[name]  # refuses it
    return name, value


def _ends(domain: Domain, name: str, values: Sequence[str]) -> str | tuple[str, str]:
    if len(values) == 2:
        return values[0], values[1]
    if len(values) > 2:
        raise InvalidInput(f"{name} is given {len(values)} times; a range has two ends.")
    (value,) = values
    low, between, high = value.partition(_BETWEEN)
    if not between or _is_value(domain, name, value):
        return value
    if _BETWEEN in high:
        raise InvalidInput(
            f"it cannot be told where {value!r} has its two ends: give each in a word of its own, "
            f"{name}=... {name}=..."
        )
    return low, high


def _is_value(domain: Domain, name: str, value: str) -> bool:
    try:
        domain.span(name, value, value)
    except InvalidInput:
        return False
    return True


SUMMARY = Kind(
    NAME,
    NAME,
    ("value", "weight", "estimate", "standard_error", "low", "high"),
    {
        "point": Question(_point),
        "range": Question(_range),
        "subset": Question(_subset, 0),
        "marginal": Question(_marginal),
        "rows": Question(_rows, 0),
    },
)
