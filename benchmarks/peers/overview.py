"""One line for each data set and bound: ours, and the best of the others in each column."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.page import table
from benchmarks.peers.results import Result, shown_seconds
from benchmarks.peers.verdicts import NAMED, first

OVERVIEW = (
    "Ours (the default call; with fine tokens) and, after a dash, the best of the other libraries "
    "that count, which is another one from column to column:"
)
_HEADS = ("data", "keys per unit", "keys named", "error of named keys", "seconds", "MB")


def overview(results: Sequence[Result], ours: Sequence[str]) -> str:
    """The table."""
    cases = dict.fromkeys((r.asked.data, r.asked.bound) for r in results)
    rows = []
    for data, bound in cases:
        case = [r for r in results if (r.asked.data, r.asked.bound) == (data, bound)]
        mine = [r for r in case if r.asked.method in ours]
        others = [r for r in case if r.asked.counts and r.asked.method not in ours]
        cells = [_cell(column, mine, others) for column in _SHOWN]
        rows.append((data, str(bound), *cells))
    return table(_HEADS, rows)


def _cell(column: str, mine: Sequence[Result], others: Sequence[Result]) -> str:
    ours = "; ".join(_SHOWN[column](result) for result in mine)
    best = first(others, column)
    return f"{ours} - {_SHOWN[column](best)} ({best.asked.method})" if best else ours


_SHOWN = {
    "keys named": lambda r: f"{r.keys.value:,.0f}",
    NAMED: lambda r: f"{r.named.value:.2f}" if r.named else "",
    "seconds": lambda r: shown_seconds(r.seconds.value),
    "memory": lambda r: f"{r.megabytes.value:,.0f}",
}
