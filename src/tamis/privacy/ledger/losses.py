"""The privacy loss of many different releases together, bounded from above on a grid.

An (epsilon, delta) release is no worse than: everything revealed with probability delta, else
randomised response, whose loss is epsilon with probability e^epsilon / (1 + e^epsilon) and
-epsilon otherwise (Kairouz, Oh, Viswanath 2017, theorem 3.3). Losses of releases add up. Here they
are added on a grid:

* A loss between two grid points a < l < b is split over both so that its probability and its
  expectation of e^-l stay the same. That dominates (Doroshenko and others 2022, "Connect the
  dots"), and costs only the square of the step.
* Losses below the grid move up to its lowest point, losses above it count as infinite.

All terms are positive and there is no Fourier transform, so every error of floating point is a
small *relative* one. It is covered by multiplying with a little more than 1, and the result is an
upper bound for a delta of any size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

Array = npt.NDArray[np.float64]
Groups = tuple[tuple[float, int], ...]  # epsilon, and how many releases have it

CELLS = 1 << 15
_SAFE = 1 + 1e-9  # more than the relative rounding errors of one group
_REACH = 40.0  # losses so far above the budget hardly ever come back: exp(-40) of them


@dataclass(frozen=True)
class LossLaw:
    """``masses[n]`` bounds the probability of the loss (lowest + n) step, ``beyond`` infinity."""

    step: float
    lowest: int
    masses: Array
    beyond: float

    def excess(self, epsilon: float) -> float:
        """An upper bound on the sum of Pr[l] (1 - e^(epsilon - l)) over losses l > epsilon."""
        losses = (self.lowest + np.arange(len(self.masses))) * self.step
        over = losses - epsilon + 1e-15 * (1 + abs(epsilon) + float(np.abs(losses).max()))
        above = over > 0
        value = float(self.masses[above] @ -np.expm1(-over[above]))
        return (value + self.beyond) * _SAFE + 1e-300

    def excess_with(self, step: float, epsilon: float) -> float:
        """The same with one further release of ``step``, which needs no grid."""
        likely = 1 / (1 + math.exp(-step))
        rise, fall = self.excess(epsilon - step), self.excess(epsilon + step)
        return (likely * rise + math.exp(-step) * likely * fall) * _SAFE


@lru_cache(maxsize=64)
def loss_law(groups: Groups, epsilon: float, delta: float) -> LossLaw:
    """The law of the summed losses, on a grid that suits a budget of (epsilon, delta).

    Under the first of two neighbours Pr[l < -x] <= e^-x, so nothing is lost by a grid that ends a
    little below log(delta).
    """
    total = math.fsum(e * n for e, n in groups)
    low, high = min(total, 10 - math.log(delta)), min(total, epsilon + _REACH)
    step = max((low + high) / (CELLS - 4), 1e-13)
    lowest = -math.ceil(low / step) - 1
    size = math.ceil(high / step) - lowest + len(groups) + 3  # each split may go up by a cell
    law = LossLaw(step, lowest, np.zeros(size), 0.0)
    law.masses[-lowest] = 1.0
    for e, n in groups:
        law = _join(law, _group(law, e, n))
    return law


def _group(like: LossLaw, epsilon: float, times: int) -> LossLaw:
    """``times`` equal releases: n of them fall with the binomial law."""
    n = np.arange(times + 1)
    ways = gammaln(times + 1) - gammaln(n + 1) - gammaln(times - n + 1)
    mass = np.exp(ways - n * epsilon - times * math.log1p(math.exp(-epsilon))) * _SAFE
    size = len(like.masses)
    place = (times - 2 * n) * epsilon / like.step - like.lowest + 1e-9  # a larger loss is safe
    beyond, place = float(mass[place > size - 2].sum()), np.maximum(place, 0.0)
    mass, place = mass[place <= size - 2], place[place <= size - 2]
    cell = np.floor(place).astype(np.int64)
    upper = np.expm1((cell - place) * like.step) / math.expm1(-like.step)
    masses = np.zeros(size)
    np.add.at(masses, cell, mass * (1 - upper))
    np.add.at(masses, cell + 1, mass * upper)
    return LossLaw(like.step, like.lowest, masses, beyond)


def _join(one: LossLaw, other: LossLaw) -> LossLaw:
    """The law of the sum, by shifts of the one along the masses of whichever has fewer."""
    few, many = sorted((one, other), key=lambda law: np.count_nonzero(law.masses))
    masses, size = np.zeros(len(many.masses)), len(many.masses)
    beyond = (few.beyond + many.beyond) * _SAFE
    for cell in np.flatnonzero(few.masses):
        shifted, shift = many.masses * few.masses[cell], int(cell) + few.lowest
        if shift >= 0:
            masses[shift:] += shifted[: size - shift]
            beyond += float(shifted[size - shift :].sum())
        else:
            masses[:shift] += shifted[-shift:]
            masses[0] += float(shifted[:-shift].sum())
    return LossLaw(many.step, many.lowest, masses * _SAFE, beyond * _SAFE)
