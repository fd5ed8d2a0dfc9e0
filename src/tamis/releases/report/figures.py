"""The two figures of a report and the same in numbers. They depend on the plan alone, not on data.

Beside the plan stand the classical selections with the same budget: noise of Laplace or Gauss and a
threshold, on keys that were sampled in the same way. With c = `elements_per_key` their noise and
threshold are c times those for one element, because frequencies in units of c are what they see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from tamis.releases.report.svg import Axis, Floats, Label, Line, chart, log_ticks
from tamis.releases.report.text import counted, frequency, percent, table
from tamis.weighted.baselines import laplace_survival
from tamis.weighted.plan import Plan
from tamis.weighted.selections import GaussianThreshold, LaplaceThreshold

_HIGHEST = 2**61
_PERCENT = [(p / 100, f"{p} %") for p in (0, 25, 50, 75, 100)]


@dataclass(frozen=True)
class Way:
    """A way to name keys: the probability for each frequency, and where it is half its highest."""

    name: Sequence[str]
    style: str
    reporting: Callable[[npt.ArrayLike], Floats]
    half: float


def ways(plan: Plan) -> list[Way]:
    """The plan and the two classical selections."""
    g, q = plan.guarantee, plan.scheme.probability
    budget, c = (g.epsilon, g.delta, g.keys_per_unit), g.elements_per_key
    laplace, gauss = LaplaceThreshold(*budget), GaussianThreshold(*budget)

    def by_laplace(w: npt.ArrayLike) -> Floats:
        return q(w) * laplace_survival((laplace.threshold - np.asarray(w) / c) / laplace.scale)

    def by_gauss(w: npt.ArrayLike) -> Floats:
        return q(w) * np.asarray(ndtr((np.asarray(w) / c - gauss.threshold) / gauss.scale))

    def planned(w: npt.ArrayLike) -> Floats:
        return np.asarray(plan.reporting(w))

    return [
        Way(("tamis, this release",), "one", planned, lowest(planned)),
        Way(("Laplace noise", "and a threshold"), "two", by_laplace, lowest(by_laplace)),
        Way(("Gaussian noise", "and a threshold"), "three", by_gauss, lowest(by_gauss)),
    ]


def lowest(reporting: Callable[[npt.ArrayLike], Floats], share: float = 0.5) -> int:
    """The lowest frequency named with this share of the highest probability that there is."""
    wanted = share * float(reporting([_HIGHEST])[0])
    low, high = 0, 1
    while high < _HIGHEST and float(reporting([high])[0]) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(reporting([middle])[0]) < wanted else (low, middle)
    return high


def naming_figure(plan: Plan, compared: Sequence[Way]) -> str:
    """The probability that a key is named, by its frequency."""
    x = _frequencies(compared)
    at = _points(x, 160)
    y = Axis(0.0, 1.0, _PERCENT, "probability")
    ordered = sorted(compared, key=lambda way: (way.half, way.style))
    lines = [_curve(way, place, x, at) for place, way in enumerate(ordered)]
    title = "Probability that a key is named, by its frequency"
    return chart(x, y, lines[::-1], "naming", title, _described(plan, compared))


def error_figure(plan: Plan, compared: Sequence[Way]) -> str:
    """The error of the estimate and the width of the interval, by frequency."""
    x = _frequencies(compared)
    at = _points(x, 70)
    error = np.asarray(plan.error(at))
    width = np.array([high - low for low, high in (plan.interval(int(w)) for w in at)], np.float64)
    both = np.concatenate([error, width])
    low, high = max(0.3, both.min() * 0.6), max(3.0, both.max() * 1.7)
    y = Axis(low, high, [(v, frequency(v)) for v in log_ticks(low, high)], "size", log=True)
    spots = [(error, "one", ("error of the estimate",)), (width, "two", ("width of the interval",))]
    lines = [_named(x, y, at, *spot, above=bool(spot[0][-9] >= both[[len(at) - 9, -9]].max()))
             for spot in spots]
    title = "Error of the estimate and width of the interval, by frequency"
    return chart(x, y, lines, "error", title, _errors_described(plan, at, error, width))


def numbers(plan: Plan, compared: Sequence[Way]) -> str:
    """Both figures as a table."""
    half = compared[0].half
    chosen = sorted({max(1, round(half * s)) for s in (0.25, 0.5, 0.75, 1, 1.5, 2, 5, 50)})
    head = ["frequency", "named", "by Laplace noise", "by Gaussian noise", "error", "interval"]
    rows = []
    for w in chosen:
        low, high = plan.interval(w)
        named = [_escaped(percent(float(way.reporting([w])[0]))) for way in compared]
        rows.append([f"{w:,}", *named, f"{float(plan.error(w)):,.3g}", f"{low:,} to {high:,}"])
    return table(head, rows, "The same in numbers", "numbers")


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _frequencies(compared: Sequence[Way]) -> Axis:
    """From a tenth of where this release names half to beyond where all others do."""
    centre = compared[0].half
    last = max(way.half for way in compared if way.half <= 1000 * centre)
    low, high = max(1.0, centre / 10), max(12.0, 10.0 * last)
    ticks = [(v, frequency(v)) for v in log_ticks(low, high)]
    return Axis(low, high, ticks, "frequency of the key", log=True)


def _points(x: Axis, many: int) -> npt.NDArray[np.int64]:
    return np.unique(np.rint(np.geomspace(x.low, x.high, many)).astype(np.int64))


def _curve(way: Way, place: int, x: Axis, at: npt.NDArray[np.int64]) -> Line:
    """A curve with its name: the first at its upper left, the others at their lower right."""
    y = way.reporting(at)
    left = place == 0 and float(x.share(way.half)) > 0.36
    level = (0.84 if left else (0.62, 0.38, 0.14)[place]) * float(y[-1])
    of = (float(x.share(np.interp(level, y, at))), level)
    shift = -0.05 if left else _right_of(x, place)
    text = [*way.name, f"even odds at {way.half:,}"] if place == 0 else way.name
    label = Label(way.name, of, (of[0] + shift, level), "end" if left else "start")
    return Line(at.astype(np.float64), y, way.style, label)
