"""Where ours stands first, and where not and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.peers.results import TOP, Figure, Result
from tamis.privacy.errors import counted

Column = Callable[[Result], Figure | None]
COLUMNS: dict[str, Column] = {
    "keys named": lambda r: Figure(-r.keys.value, r.keys.spread),  # so that less is better
    "error of named keys": lambda r: r.named,
    f"error of the top {TOP}": lambda r: r.top,
    "mean absolute error": lambda r: r.absolute,
    "seconds": lambda r: r.seconds,
    "memory": lambda r: r.megabytes,
}
_WHY = {
    "mean absolute error": ". Noise of whole numbers around a whole number errs least on average; "
    "ours is centred where most keys are named, between two whole numbers",
    "seconds": ". A release opens a database of its own and writes down what is guaranteed, some "
    "40 ms whatever the data",
    "memory": ". What is imported (NumPy, SciPy, Arrow, DuckDB) takes 140 MB, and who has which "
    "key is held as arrays, because bounds are enforced",
}
_MOST = 6  # exceptions that are told one by one


@dataclass(frozen=True)
class Beaten:
    """A library that is before ours in a column."""

    ours: Result
    other: Result
    column: str

    def said(self) -> str:
        mine, theirs = (abs(_value(r, self.column)) for r in (self.ours, self.other))
        where = f"{self.ours.asked.data} with {counted(self.ours.asked.bound, 'key')}"
        return f"{where}: {self.other.asked.method} {theirs:.3g}, ours {mine:.3g}{self._why()}"

    def _why(self) -> str:
        fewer, ours = self.other.keys.value, self.ours.keys.value
        if "error" in self.column and fewer < ours:
            return f", and it names {fewer:,.0f} keys to {ours:,.0f}"
        return ""


def notes(results: Sequence[Result], ours: Sequence[str]) -> str:
    """A line for each column: the better of our rows beside the best of the others."""
    cases = list(dict.fromkeys(map(_case, results)))
    lines = []
    for column in COLUMNS:
        beaten, level, names_only = list[Beaten](), 0, 0
        for case in cases:
            here = [r for r in results if _case(r) == case and _figure(r, column)]
            others = [r for r in here if r.asked.method not in ours]
            mine = _first([r for r in here if r.asked.method in ours], column)
            other = _first([r for r in others if r.asked.counts], column)
            bare = _first([r for r in others if not r.asked.counts], column)
            if mine and other and _value(other, column) < _value(mine, column):
                if _close(other, mine, column):
                    level += 1
                else:
                    beaten.append(Beaten(mine, other, column))
            names_only += bool(mine and bare and _value(bare, column) < _value(mine, column))
        lines.append(_line(column, len(cases), beaten, level, names_only))
    head = (
        f"How often ours stands first, in {counted(len(cases), 'comparison')} with the libraries "
        "that count (the better of our two rows; level: chance alone could have put another "
        "first):"
    )
    return "\n".join([head, "", *lines])


def _line(column: str, cases: int, beaten: list[Beaten], level: int, names_only: int) -> str:
    text = f"- **{column}**: first in {cases - len(beaten) - level} of {cases}"
    text += f", level in {level}" if level else ""
    if beaten:
        told = "; ".join(one.said() for one in beaten[:_MOST])
        more = f"; and {len(beaten) - _MOST} more" if len(beaten) > _MOST else ""
        text += f". Not: {told}{more}{_WHY.get(column, '')}"
    if names_only:
        text += (
            f". In {names_only}, one of PyDP's selections is before ours, which are given counts, "
            "enforce no bound, and say names only"
        )
    return text + "."


def _case(result: Result) -> tuple[str, int]:
    return result.asked.data, result.asked.bound


def _first(results: Sequence[Result], column: str) -> Result | None:
    return min(results, key=lambda r: _value(r, column), default=None)


def _figure(result: Result, column: str) -> Figure | None:
    return COLUMNS[column](result)


def _value(result: Result, column: str) -> float:
    figure = _figure(result, column)
    assert figure is not None
    return figure.value


def _close(one: Result, other: Result, column: str) -> bool:
    first, second = _figure(one, column), _figure(other, column)
    return first is not None and second is not None and first.close(second)
