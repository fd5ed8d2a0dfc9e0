"""A small table for each figure: ours beside the best of the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from benchmarks.measure import Cost
from benchmarks.page import table
from benchmarks.peers.results import TOP, Figure, Result, shown_seconds
from benchmarks.peers.standings import cases_of
from benchmarks.peers.verdicts import ABSOLUTE, MEMORY, NAMED, SECONDS, first
from tamis.privacy.errors import counted

FEW = 5  # runs, below which a figure is marked with their number
OVERVIEW = (
    "What the runs gave, with chance in it (who is first is decided by the laws above): ours, and "
    "the best of the other libraries that count, which is another one from table to table; figures "
    f"from fewer than {FEW} runs say how many:"
)


def overview(results: Sequence[Result], ours: Sequence[str]) -> str:
    """All tables, each with its title."""
    parts = list[str]()
    for column, (title, shown) in _SHOWN.items():
        plain = [_PLAIN[column][0]] if column in _PLAIN else []
        heads = ("data", "keys per unit", *plain, *ours, "best other", "which")
        rows = [_row(column, shown, case, ours) for case in cases_of(results)]
        parts.append(f"{title}:\n\n{table(heads, rows)}")
    return "\n\n".join(parts)


Shown = Callable[[Result, bool], str]  # with or without what it may be off by


def _row(column: str, shown: Shown, case: Sequence[Result], ours: Sequence[str]) -> list[str]:
    """That of one data set and bound."""
    asked, mine = case[0].asked, {r.asked.method: r for r in case}
    best = first([r for r in case if r.asked.counts and r.asked.method not in ours], column)
    return [
        asked.data,
        str(asked.bound),
        *([_PLAIN[column][1](case[0].plain)] if column in _PLAIN else []),
        *(_cell(shown, mine.get(method), False) for method in ours),
        _cell(shown, best, True),
        best.asked.method if best else "",
    ]


def _cell(shown: Shown, result: Result | None, spread: bool) -> str:
    text = shown(result, spread) if result else ""
    few = text and result and result.runs < FEW
    return f"{text} ({counted(result.runs, 'run')})" if few and result else text


def _figure(figure: Figure | None, places: int, spread: bool) -> str:
    """With its standard error, if that is asked for and known."""
    if figure is None:
        return ""
    known = spread and figure.spread is not None and not math.isnan(figure.spread)
    return f"{figure.value:,.{places}f}" + (f" ± {figure.spread:.{places}f}" if known else "")


# what the plain GROUP BY itself takes
_PLAIN: dict[str, tuple[str, Callable[[Cost], str]]] = {
    SECONDS: ("GROUP BY (s)", lambda plain: shown_seconds(plain.seconds)),
    MEMORY: ("GROUP BY (MB)", lambda plain: f"{plain.megabytes:,.0f}"),
}
_SHOWN: dict[str, tuple[str, Shown]] = {
    "keys named": ("**Keys named**", lambda r, s: _figure(r.keys, 1, s)),
    NAMED: ("**Error of named keys**", lambda r, s: _figure(r.named, 2, s)),
    f"error of the top {TOP}": (f"**Error of the top {TOP}**", lambda r, s: _figure(r.top, 2, s)),
    ABSOLUTE: ("**Mean absolute error**", lambda r, s: _figure(r.absolute, 2, s)),
    SECONDS: (
        "**Time**, as a multiple of the plain GROUP BY (a new process, which is most of it where "
        "data is small)",
        lambda r, _: f"{r.seconds.value / r.plain.seconds:.2f}",
    ),
    MEMORY: (
        "**Memory**, as a multiple of the plain GROUP BY",
        lambda r, _: f"{r.megabytes.value / r.plain.megabytes:.1f}",
    ),
}
