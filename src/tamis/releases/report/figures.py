"""The two figures of a report and the same in numbers. They depend on no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.releases.report.svg import (
    DIGIT,
    NUMBER,
    Axis,
    Label,
    Line,
    chart,
    log_axis,
    share_axis,
)
from tamis.releases.report.text import percent, table
from tamis.releases.report.ways import HIGHEST, Floats, Ints, Way
from tamis.weighted.intervals import intervals
from tamis.weighted.plan import Plan

_UPPER, _LOWER = 0.84, (0.62, 0.38, 0.14)  # heights of names to the left and to the right
_LARGE = 1e200
_ROOM = 0.27  # of the width that a name to the left needs
_BESIDE, _OVER = 0.04, 0.065  # from a line to its name
_PLACES = (0.78, 0.65, 0.5, 0.35, 0.22)  # where names above and below lines may stand


@dataclass(frozen=True)
class Words:
    """What the figures are about: what is named, and by what it is measured."""

    one: str
    done: str
    axis: str
    sized: str
    unit: str
    error: str
    spread: str
    head: tuple[str, ...]


KEYS = Words(
    one="a key",
    done="named",
    axis="frequency of the key",
    sized="frequency {:,}",
    unit="as a frequency",
    error="error in a sum",
    spread="root of the mean squared error",
    head=(
        "frequency",
        "named",
        "with Laplace noise",
        "with Gaussian noise",
        "error in a sum",
        "interval",
    ),
)


def naming_figure(compared: Sequence[Way], words: Words = KEYS) -> str:
    """The probability that a key is named, by its frequency."""
    x, y = _frequencies(compared, words), share_axis(f"{words.done} with probability")
    at = _points(x, 160)
    ordered = sorted(compared, key=lambda way: (way.half, way.style))
    curves = [way.reporting(at) for way in ordered]
    labels = _beside(x, at, ordered, curves)
    lines = [
        Line(at, curve, way.style, label)
        for way, curve, label in zip(ordered, curves, labels, strict=True)
    ]
    described = "; ".join(
        f"{' '.join(way.name)}: half as likely as ever at {words.sized.format(way.half)}"
        for way in compared
    )
    title = f"Probability that {words.one} is {words.done}"
    return chart(x, y, lines[::-1], "naming", title, described)


@dataclass(frozen=True)
class Sizes:
    """Error and interval of keys of some frequencies; computed together because they are slow."""

    at: Ints
    error: Floats
    low: Ints
    high: Ints

    def where(self, chosen: npt.NDArray[np.bool_]) -> Sizes:
        return Sizes(self.at[chosen], self.error[chosen], self.low[chosen], self.high[chosen])


def sizes(plan: Plan, compared: Sequence[Way]) -> Sizes:
    """For all frequencies that are drawn or in the table."""
    at = places(compared)
    return Sizes(at, _errors(plan, at), *_intervals(plan, at))


def places(compared: Sequence[Way]) -> Ints:
    """All frequencies that are drawn or in the table."""
    return np.union1d(_points(_frequencies(compared), 50), _shown(compared))


def error_figure(compared: Sequence[Way], known: Sizes, words: Words = KEYS) -> str:
    """The error of what a key adds to a sum and the width of the interval, by frequency."""
    x = _frequencies(compared, words)
    drawn = known.where((known.at >= x.low) & (known.at <= x.high))
    error, width = drawn.error, (drawn.high - drawn.low).astype(np.float64)
    y = _heights(np.concatenate([error, width]), words)
    over, under = _above_and_below(x.share(drawn.at), y.share(error), y.share(width))
    lines = [
        Line(drawn.at, error, "one", Label((words.error,), over, over, "middle")),
        Line(drawn.at, width, "other", Label(("width of the interval",), under, under, "middle")),
    ]
    described = (
        f"For {words.one} of {words.sized.format(drawn.at[-1])} the {words.spread} is "
        f"{error[-1]:,.3g}, and the interval is {width[-1]:,.0f} wide."
    )
    return chart(x, y, lines, "error", "Error and width of the interval", described)


def numbers(compared: Sequence[Way], known: Sizes, words: Words = KEYS) -> str:
    """Both figures as a table."""
    shown = known.where(np.isin(known.at, _shown(compared)))
    named = [[percent(p) for p in way.reporting(shown.at).tolist()] for way in compared]
    error = [f"{e:,.3g}" for e in shown.error.tolist()]
    ends = zip(shown.low.tolist(), shown.high.tolist(), strict=True)
    interval = [f"{low:,} to {high:,}" for low, high in ends]
    rows = zip([f"{w:,}" for w in shown.at.tolist()], *named, error, interval, strict=True)
    return table(words.head, rows, "The same in numbers", "numbers")


def _shown(compared: Sequence[Way]) -> Ints:
    shares = (0.25, 0.5, 0.75, 1, 1.5, 2, 5, 50)
    return np.unique([min(HIGHEST, max(1, round(compared[0].half * share))) for share in shares])


def _errors(plan: Plan, at: Ints) -> Floats:
    """`Plan.error`, also where it is too large for a float: then it is drawn as a large one."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.asarray(plan.error(at))
    return np.where(error < _LARGE, error, _LARGE)


def _intervals(plan: Plan, at: Ints) -> tuple[Ints, Ints]:
    """`Plan.interval` of many frequencies, at the cost of few."""
    law = plan.mechanism.law
    rows = [law.row(int(w)) for w in at]
    tokens = [j[np.searchsorted(np.cumsum(p), p.sum() / 2)] for j, p in rows]
    return intervals(law, tokens, plan.coverage)


def _frequencies(compared: Sequence[Way], words: Words = KEYS) -> Axis:
    """Well before any names half of what it can, to well after all do."""
    centre, first = compared[0].half, min(way.half for way in compared)
    last = max(way.half for way in compared if way.half <= 1000 * centre)
    low, high = max(1.0, first / 7), max(12.0, min(7.0 * last, float(HIGHEST)))
    return log_axis(low, high, words.axis, DIGIT)


def _heights(values: Floats, words: Words) -> Axis:
    """From below the smallest to above the largest, with room for a name."""
    low, high = max(0.01, float(values.min())), max(0.02, float(values.max()))
    margin = max(1.5, (high / low) ** 0.2)
    return log_axis(low / margin, high * margin, words.unit, NUMBER)


def _points(x: Axis, many: int) -> Ints:
    return np.unique(np.rint(np.geomspace(x.low, x.high, many)).astype(np.int64))


def _beside(x: Axis, at: Ints, ordered: Sequence[Way], curves: Sequence[Floats]) -> list[Label]:
    """Names of curves that rise: the first to the left of all, the others to the right of all.

    Where curves end too low for that, names stand above them.
    """
    tops = [float(curve[-1]) for curve in curves]
    low = max(tops) < 0.7
    labels = []
    for n, (way, curve, top) in enumerate(zip(ordered, curves, tops, strict=True)):
        left = _meets(x, at, curve, _UPPER * top)
        if n == 0 and left > _ROOM:
            here = (left, _UPPER * top)
            labels.append(Label(way.name, here, (left - _BESIDE, here[1]), "end"))
            continue
        height = max(_LOWER[n] * top, float(curve[0]))
        here = (_meets(x, at, curve, height), height)
        right = _BESIDE + max(_meets(x, at, other, height) for other in curves)
        there = (here[0], 1.1 - 0.17 * n) if low else (min(right, 0.7), height)
        labels.append(Label(way.name, here, there))
    return labels


def _meets(x: Axis, at: Ints, curve: Floats, height: float) -> float:
    """Where a curve that does not fall reaches a height, as a share of the axis."""
    return float(np.interp(height, np.maximum.accumulate(curve), x.share(at)))


def _above_and_below(
    x: Floats, first: Floats, second: Floats
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the names of two lines stand: above the one, below the other, where they are apart."""

    def gap(place: float) -> float:
        near = np.abs(x - place) < 0.2
        if not near.any():
            return -1.0
        return max(
            float(first[near].min() - second[near].max()),
            float(second[near].min() - first[near].max()),
        )

    place = max(_PLACES, key=lambda p: (round(gap(p), 3), p))
    near = np.abs(x - place) < 0.2
    spots = [(place, float(line[near].max()) + _OVER) for line in (first, second)]
    lower = int(spots[0][1] > spots[1][1])
    spots[lower] = (place, float((first, second)[lower][near].min()) - _OVER)
    return spots[0], spots[1]
