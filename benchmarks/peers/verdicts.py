"""Whether ours is first, level or behind in a column, or whether the runs are too few to tell.

By the laws of what is drawn where these are known, for they are exact; otherwise by the runs. The
runs also check the laws: one that does not fit its runs decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.peers.results import TOP, Expected, Figure, Result

Verdict = Literal["first", "level", "behind", "too few runs to tell"]
VERDICTS: tuple[Verdict, ...] = ("first", "level", "behind", "too few runs to tell")
Column = Callable[[Result], Figure | None]
KEYS, NAMED, ABSOLUTE = "keys named", "error of named keys", "mean absolute error"
SECONDS, MEMORY = "time", "memory"
DRAWN: dict[str, Callable[[Result | Expected], Figure | None]] = {  # what laws tell, too
    KEYS: lambda r: Figure(-r.keys.value, r.keys.spread),  # so that less is better
    NAMED: lambda r: r.named,
    f"error of the top {TOP}": lambda r: r.top,
    ABSOLUTE: lambda r: r.absolute,
}
COLUMNS: dict[str, Column] = {
    **DRAWN,
    SECONDS: lambda r: r.seconds,
    MEMORY: lambda r: r.megabytes,
}
_OF_NAMED = (NAMED, ABSOLUTE)
# the error of the top is one of the same draws, and one frequent key that is missed, which is rare,
# takes it far from what is expected
_CHECKED = (KEYS, *_OF_NAMED)
ERRORS = 3  # standard errors: with two, one of twenty that are level would be called behind
NOISE = 0.05  # of a time or of memory, for which there is no standard error
ENOUGH = 100  # named keys in all runs, below which their error is chance
SURE = 0.03  # the largest standard error, as a part of the figure, that tells two figures level
NEAR, NEAR_KEYS = 0.005, 0.1  # by laws: a smaller part, or fewer keys, are level
AWAY, PART = 4, 0.02  # standard errors and part, beyond both of which a law does not fit its runs


@dataclass(frozen=True)
class Standing:
    """One of our rows beside the best of the others, in a column."""

    column: str
    ours: Result
    other: Result
    verdict: Verdict

    @property
    def figures(self) -> tuple[float, float]:
        """Theirs and ours; of time and memory, as multiples of those of the plain GROUP BY."""
        plain = self.ours.plain
        unit = {SECONDS: plain.seconds, MEMORY: plain.megabytes}.get(self.column, 1.0)
        theirs, ours = (abs(value(one, self.column)) / unit for one in (self.other, self.ours))
        return theirs, ours


def standing(column: str, ours: Result, others: Sequence[Result]) -> Standing:
    """Behind, if any is surely better; otherwise as the best of the others has it."""
    each = [Standing(column, ours, other, verdict(column, ours, other)) for other in others]
    better = [one for one in each if one.verdict == "behind"]
    return min(better or each, key=lambda one: value(one.other, column))


def value(result: Result, column: str) -> float:
    return _figure(result, column).value


def first(results: Sequence[Result], column: str) -> Result | None:
    """The best of those whose runs have a figure."""
    there = [result for result in results if COLUMNS[column](result)]
    return min(there, key=lambda result: value(result, column), default=None)


def _figure(result: Result, column: str) -> Figure:
    """By law, where there is no chance left; otherwise of the runs."""
    by_law = _by_law(result, column)
    figure = COLUMNS[column](result) if by_law is None else Figure(by_law, 0.0)
    assert figure is not None
    return figure


def _by_law(result: Result, column: str) -> float | None:
    if column not in DRAWN or result.expected is None or misfits(result):
        return None
    figure = DRAWN[column](result.expected)
    return figure.value if figure else None


def misfits(result: Result) -> list[str]:
    """The columns in which the runs are not what the law expects."""
    law = result.expected
    return [] if law is None else [column for column in _CHECKED if _apart(column, result, law)]


def _apart(column: str, result: Result, law: Expected) -> bool:
    ran, expected = DRAWN[column](result), DRAWN[column](law)
    if ran is None or expected is None or (column in _OF_NAMED and result.total < ENOUGH):
        return False
    away = abs(ran.value - expected.value)
    few = AWAY / result.runs if column == KEYS else 0.0  # one key by luck is no misfit
    return away > max(AWAY * (expected.spread or 0.0) + few, PART * abs(expected.value))


def verdict(column: str, ours: Result, other: Result) -> Verdict:
    laws = _by_law(ours, column), _by_law(other, column)
    if laws[0] is not None and laws[1] is not None:
        return _of_laws(column, laws[0], laws[1])
    run = [one.total for one, law in zip((ours, other), laws, strict=True) if law is None]
    if column in _OF_NAMED and min(run) < ENOUGH:
        return "too few runs to tell"
    mine, theirs = _figure(ours, column), _figure(other, column)
    gap, error = theirs.value - mine.value, math.hypot(_spread(mine), _spread(theirs))
    if abs(gap) <= max(ERRORS * error, _noise(theirs)):
        unsure = _spread(theirs) > SURE * abs(theirs.value)
        return "too few runs to tell" if unsure else "level"
    return "first" if gap >= 0 else "behind"


def _of_laws(column: str, mine: float, theirs: float) -> Verdict:
    gap = theirs - mine
    if abs(gap) < max(NEAR * abs(theirs), NEAR_KEYS if column == KEYS else 0.0):
        return "level"
    return "first" if gap >= 0 else "behind"


def _noise(figure: Figure) -> float:
    return NOISE * figure.value if figure.spread is None else 0.0


def _spread(figure: Figure) -> float:
    """Of times and memory none is known; one run alone says nothing."""
    if figure.spread is None:
        return 0.0
    return math.inf if math.isnan(figure.spread) else figure.spread
