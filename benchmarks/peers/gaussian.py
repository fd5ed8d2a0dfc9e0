"""Gaussian noise and a threshold at the true guarantee, which is better than libraries state.

Say that j of the k keys of a unit are its alone. One of these is named with a probability of
1 - (1 - p)^j, and never without the unit; the other k - j counts have noise of width s, and what is
drawn for them does not depend on those j. So delta is 1 - (1 - p)^j (1 - g(k - j)) at most, where
g(i) is the delta at epsilon of Gaussian noise that is moved by sqrt(i) / s. That is largest at an
end: for j = 0 the noise may spend all of delta, for j = k the threshold may, and in between less is
spent, which tests/benchmarks/test_peers.py looks up for all k of the page.

For workers too: the standard library alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

HAIR = 1e-5  # the part of delta that is left over, for what is lost near 1 in floats
WIDER = 1.01  # noise in whole numbers, so that it spends no more than a density does
_STEPS = 200


@dataclass(frozen=True)
class Told:
    """The promise that SmartNoise SQL is told, and the noise that it then takes."""

    epsilon: float
    delta: float
    scale: float


def told(epsilon: float, delta: float, keys_per_unit: int) -> Told:
    """The least noise of (epsilon, delta), in the words of SmartNoise SQL.

    It takes the least noise that its conversion of concentrated privacy allows a unit that moves
    one count by k: for noise of width s, rho = (k / s)^2 / 2. So it is told the epsilon that this
    conversion gives for the width that is needed. Half of the delta that it is told bounds the
    probability that one of k keys of a single unit is named, which may be all of the true delta.
    PipelineDP and PyDP give half of their delta to the noise and half to the threshold, too.
    """
    delta *= 1 - HAIR
    scale = math.sqrt(keys_per_unit) / largest_mu(epsilon, delta)
    return Told(converted((keys_per_unit / scale) ** 2 / 2, 2 * delta), 2 * delta, scale)


def one_of(delta: float, keys_per_unit: int) -> float:
    """How likely each key of a single unit may be named, so that one is but with all of delta."""
    return -math.expm1(math.log1p(-delta * (1 - HAIR)) / keys_per_unit)


def largest_mu(epsilon: float, delta: float) -> float:
    """The largest shift, in standard deviations, that is (epsilon, delta) (Balle and Wang, 2018).

    By halving: Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu) is delta.
    """

    def spent(mu: float) -> float:
        return _normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * _normal(-mu / 2 - epsilon / mu)

    low, high = 0.0, 1.0
    while spent(high) < delta:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) <= delta else (low, middle)
    return low


def converted(rho: float, delta: float) -> float:
    """The epsilon of rho-zCDP (Canonne, Kamath and Steinke, 2020, section 2.3).

    The least of a rho + (log(1 / delta) + a log(1 - 1/a) - log(a - 1)) / (a - 1), for a > 1.
    """

    def spent(log: float) -> float:
        more = math.exp(log)
        a = 1 + more
        return a * rho + (-math.log(delta) - a * math.log1p(1 / more) - log) / more

    return spent(_lowest(spent, -10.0, 20.0))


def _lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is least."""
    for _ in range(_STEPS):
        third = (high - low) / 3
        if function(low + third) < function(high - third):
            high -= third
        else:
            low += third
    return (low + high) / 2


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
