"""Whether ours is first, level or behind in a column, or whether the runs are too few to tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.peers.results import TOP, Figure, Result

Verdict = Literal["first", "level", "behind", "too few runs to tell"]
VERDICTS: tuple[Verdict, ...] = ("first", "level", "behind", "too few runs to tell")
Column = Callable[[Result], Figure | None]
NAMED, ABSOLUTE = "error of named keys", "mean absolute error"
COLUMNS: dict[str, Column] = {
    "keys named": lambda r: Figure(-r.keys.value, r.keys.spread),  # so that less is better
    NAMED: lambda r: r.named,
    f"error of the top {TOP}": lambda r: r.top,
    ABSOLUTE: lambda r: r.absolute,
    "seconds": lambda r: r.seconds,
    "memory": lambda r: r.megabytes,
}
ERRORS = 3  # standard errors: with two, one of twenty that are level would be called behind
NOISE = 0.05  # of a time or of memory, for which there is no standard error
ENOUGH = 100  # named keys in all runs, below which their error is chance
SURE = 0.03  # the largest standard error, as a part of the figure, that tells two figures level


@dataclass(frozen=True)
class Standing:
    """One of our rows beside the best of the others, in a column."""

    column: str
    ours: Result
    other: Result
    verdict: Verdict

    @property
    def figures(self) -> tuple[float, float]:
        """Theirs and ours."""
        return abs(value(self.other, self.column)), abs(value(self.ours, self.column))


def standing(column: str, ours: Result, others: Sequence[Result]) -> Standing:
    """Behind, if any is surely better; otherwise as the best of the others has it."""
    each = [Standing(column, ours, other, verdict(column, ours, other)) for other in others]
    better = [one for one in each if one.verdict == "behind"]
    return min(better or each, key=lambda one: value(one.other, column))


def value(result: Result, column: str) -> float:
    return _figure(result, column).value


def first(results: Sequence[Result], column: str) -> Result | None:
    """The best of those that have a figure."""
    there = [result for result in results if COLUMNS[column](result)]
    return min(there, key=lambda result: value(result, column), default=None)


def _figure(result: Result, column: str) -> Figure:
    figure = COLUMNS[column](result)
    assert figure is not None
    return figure


def verdict(column: str, ours: Result, other: Result) -> Verdict:
    if column in (NAMED, ABSOLUTE) and min(ours.total, other.total) < ENOUGH:
        return "too few runs to tell"
    mine, theirs = _figure(ours, column), _figure(other, column)
    gap, error = theirs.value - mine.value, math.hypot(_spread(mine), _spread(theirs))
    if abs(gap) <= max(ERRORS * error, _noise(theirs)):
        unsure = _spread(theirs) > SURE * abs(theirs.value)
        return "too few runs to tell" if unsure else "level"
    return "first" if gap >= 0 else "behind"


def _noise(figure: Figure) -> float:
    return NOISE * figure.value if figure.spread is None else 0.0


def _spread(figure: Figure) -> float:
    """Of times and memory none is known; one run alone says nothing."""
    if figure.spread is None:
        return 0.0
    return math.inf if math.isnan(figure.spread) else figure.spread
