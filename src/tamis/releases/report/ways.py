"""A release beside the classical ways to name keys with the same budget.

Noise of Laplace or Gauss and a threshold, on keys that were sampled in the same way. With
c = `elements_per_key` their noise and threshold are c times those for one element, because
frequencies in units of c are what they see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from tamis.weighted.baselines import laplace_survival
from tamis.weighted.plan import Plan
from tamis.weighted.selections import GaussianThreshold, LaplaceThreshold

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
HIGHEST = 2**61  # what is said of very frequent keys is said of this frequency


@dataclass(frozen=True)
class Way:
    """A way to name keys: the probability by frequency, and the frequency of half the highest."""

    name: tuple[str, ...]
    style: str
    reporting: Callable[[Ints], Floats]
    half: int


def ways(plan: Plan) -> tuple[Way, Way, Way]:
    """The plan, Laplace noise and Gaussian noise."""
    return (
        way_of(("tamis,", "this release"), "one", lambda w: np.asarray(plan.reporting(w))),
        way_of(("Laplace noise", "and a threshold"), "two", _laplace(plan)),
        way_of(("Gaussian noise", "and a threshold"), "three", _gauss(plan)),
    )


def lowest(reporting: Callable[[Ints], Floats], probability: float) -> int:
    """The lowest frequency that is named with this probability; `HIGHEST` if there is none."""
    low, high = 0, 1
    while high < HIGHEST and _at(reporting, high) < probability:
        low, high = high, 2 * high
    while high < HIGHEST and high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _at(reporting, middle) < probability else (low, middle)
    return high


def way_of(name: tuple[str, ...], style: str, reporting: Callable[[Ints], Floats]) -> Way:
    """A way with the frequency of half its highest probability."""
    return Way(name, style, reporting, lowest(reporting, _at(reporting, HIGHEST) / 2))


def _laplace(plan: Plan) -> Callable[[Ints], Floats]:
    g = plan.guarantee
    known = LaplaceThreshold(g.epsilon, g.delta, g.keys_per_unit)
    threshold, scale = known.threshold, known.scale

    def reporting(w: Ints) -> Floats:
        gap = (threshold - w / g.elements_per_key) / scale
        return plan.scheme.probability(w) * laplace_survival(gap)

    return reporting


def _gauss(plan: Plan) -> Callable[[Ints], Floats]:
    g = plan.guarantee
    known = GaussianThreshold(g.epsilon, g.delta, g.keys_per_unit)
    threshold, scale = known.threshold, known.scale

    def reporting(w: Ints) -> Floats:
        named: Floats = ndtr((w / g.elements_per_key - threshold) / scale)
        return plan.scheme.probability(w) * named

    return reporting


def _at(reporting: Callable[[Ints], Floats], frequency: int) -> float:
    return float(reporting(np.array([frequency]))[0])
