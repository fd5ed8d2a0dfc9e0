"""The classical ways to name keys when one unit touches l0 = `keys_per_unit` of them.

Noise on the number of units of each key, then a threshold. They are laws to compare with: nothing
here draws or releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from tamis.privacy.curves import gaussian_mu
from tamis.privacy.guarantee import check_bound
from tamis.weighted.baselines import (
    Floats,
    check_budget,
    checked,
    laplace_survival,
    laplace_threshold,
)


@dataclass(frozen=True)
class LaplaceThreshold:
    """Laplace noise on each key's number of units, all of epsilon on noise, all of delta on T.

    Noise scale l0/epsilon. T is the lowest value at which the l0 keys that only one unit has
    (frequency 1 each) are all hidden with probability 1 - delta: with p = 1 - (1 - delta)^(1/l0),
    T = max(1, 1 + (l0/epsilon) ln(1/(2p))).

    Guarantee: (epsilon, delta) when one unit, with at most `keys_per_unit` keys and once in each,
    is added or removed. One way, the new keys are hidden but for delta and the rest has
    l1-distance at most l0; the other way, add hidden zeros for the new keys first.

    Reference: ERRATA section 1, column "Laplace + threshold", which is T to the nearest whole
    number; `half` rounds up.

    >>> LaplaceThreshold(1.0, 1e-6, keys_per_unit=30).half()
    497
    """

    epsilon: float
    delta: float
    keys_per_unit: int = 1

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        check_bound("keys_per_unit", self.keys_per_unit)

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise."""
        return self.keys_per_unit / self.epsilon

    @property
    def threshold(self) -> float:
        """T, the lowest noisy frequency that is shown."""
        return laplace_threshold(self.scale, _each(self.delta, self.keys_per_unit))

    def reporting(self, i: npt.ArrayLike) -> Floats:
        """Pr[i + Lap[l0/epsilon] >= T]."""
        return laplace_survival((self.threshold - checked(i)) / self.scale)

    def half(self) -> int:
        """Smallest whole frequency that is reported with probability at least one half."""
        return math.ceil(self.threshold)


@dataclass(frozen=True)
class GaussianThreshold:
    """Gaussian noise on each key's number of units; delta split to make the threshold lowest.

    delta = delta_noise + delta_threshold. The noise has the smallest standard deviation sigma that
    is (epsilon, delta_noise)-private for an l2-distance of sqrt(l0): with mu = sqrt(l0)/sigma,
    Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) = delta_noise (Balle and Wang 2018,
    Theorem 8). T is the lowest value at which l0 keys of frequency 1 are all hidden with
    probability 1 - delta_threshold: T = max(1, 1 + sigma Phi^-1((1 - delta_threshold)^(1/l0))).
    The split is the one with the smallest T.

    Guarantee: (epsilon, delta) when one unit, with at most `keys_per_unit` keys and once in each,
    is added or removed: the two deltas add, as for `LaplaceThreshold`.

    Reference: ERRATA section 1, column "Gaussian + threshold", which is T to the nearest whole
    number; `half` rounds up.
    """

    epsilon: float
    delta: float
    keys_per_unit: int = 1

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        check_bound("keys_per_unit", self.keys_per_unit)

    @property
    def split(self) -> tuple[float, float]:
        """(delta_noise, delta_threshold)."""
        share = _best_share(self.epsilon, self.delta, self.keys_per_unit)
        return (1 - share) * self.delta, share * self.delta

    @property
    def scale(self) -> float:
        """sigma, the standard deviation of the noise."""
        return math.sqrt(self.keys_per_unit) / gaussian_mu(self.epsilon, self.split[0])

    @property
    def threshold(self) -> float:
        """T, the lowest noisy frequency that is shown."""
        return 1 + self.scale * _gaussian_margin(_each(self.split[1], self.keys_per_unit))

    def reporting(self, i: npt.ArrayLike) -> Floats:
        """Phi((i - T)/sigma)."""
        return np.asarray(special.ndtr((checked(i) - self.threshold) / self.scale), np.float64)

    def half(self) -> int:
        """Smallest whole frequency that is reported with probability at least one half."""
        return math.ceil(self.threshold)


def _gaussian_margin(shown: float) -> float:
    return max(0.0, -float(special.ndtri(shown)))


def _each(delta: float, keys: int) -> float:
    """Chance p of one key such that any of `keys` independent ones has chance delta."""
    return -math.expm1(math.log1p(-delta) / keys)


@lru_cache(maxsize=256)
def _best_share(epsilon: float, delta: float, keys: int) -> float:
    """Part of delta that goes to the threshold, searched in log-odds."""

    def margin(odds: float) -> float:
        share = float(special.expit(odds))
        mu = gaussian_mu(epsilon, delta * (1 - share))
        return _gaussian_margin(_each(delta * share, keys)) / mu

    return float(special.expit(optimize.minimize_scalar(margin, bounds=(-12, 12)).x))
