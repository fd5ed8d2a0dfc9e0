"""The central model: a curator sees every item, counts, and adds noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tamis.federated.baselines.items import Ints, histogram
from tamis.privacy.coins import coins
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import check_epsilon
from tamis.privacy.reals import exp_minus


@dataclass(frozen=True)
class CentralNoise:
    """Every count of a known domain, plus two-sided geometric noise.

    Guarantee: the noisy counts are epsilon-differentially private (delta = 0) if one client that
    holds one item is added or removed: one count changes by 1, and
    Pr[X = x] = (1 - a)/(1 + a) a^|x| with a = e^-epsilon changes by no more than the factor
    e^epsilon from one whole number to the next. The noise is drawn exactly. The domain must not
    be taken from the data.

    >>> CentralNoise(epsilon=20.0).release([0, 2, 2], domain=4).tolist()
    [1, 0, 2, 0]
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))

    def release(self, items: npt.ArrayLike, domain: int) -> Ints:
        """Estimated counts of 0, ..., domain - 1. Each call **spends the budget again**."""
        counts, rate = histogram(items, domain), exactly(self.epsilon)
        return counts + _geometric(rate, domain) - _geometric(rate, domain)


def _geometric(rate: Fraction, n: int) -> Ints:
    """n draws with Pr[G = g] = (1 - a) a^g, a = e^-rate; the difference of two is two-sided.

    Coins of probability a are thrown until one fails: about 1 / rate for each draw, so this is for
    rates that are not tiny.
    """
    total, left = np.zeros(n, dtype=np.int64), np.arange(n)
    while len(left):
        left = left[coins(exp_minus(rate), len(left))]
        total[left] += 1
    return total
