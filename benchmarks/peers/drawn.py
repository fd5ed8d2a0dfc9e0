"""What each method of the page draws, as far as that is known for sure, by its name there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from benchmarks.peers.expected import Drawn, Kind, Law, NamesOnly, Ours, expected
from benchmarks.peers.laws import DELTA, EPSILON
from benchmarks.peers.results import Asked, Expected
from tamis.privacy.curves import gaussian_mu

_NAMING = 0.7  # the part of epsilon that names keys in Tumult Analytics (with_tumult.py)


def expected_of(asked: Asked, truth: dict[str, int], runs: int) -> Expected | None:
    """The figures that the law of a method expects; None if that is not known."""
    law = law_of(asked.method, asked.bound)
    if law is None:
        return None
    found = expected(law, truth.values(), runs)
    return found if asked.counts else Expected(found.keys, None, None, None)


def law_of(method: str, keys: int) -> Law | None:
    """What is not in the table is left to runs."""
    return _KNOWN[method](keys) if method in _KNOWN else None


def _laplace(keys: int) -> Drawn:
    """A key of one unit is named with probability delta / keys."""
    scale = keys / EPSILON
    return Drawn("Laplace", scale, 1 + scale * math.log(keys / (2 * DELTA)))


def _gaussian(keys: int, delta: float = DELTA / 2) -> Drawn:
    """So much of delta for the noise, and as much for the threshold."""
    scale = math.sqrt(keys) / gaussian_mu(EPSILON, delta)
    return Drawn("Gaussian", scale, 1 - scale * float(ndtri(delta / keys)))


def _cut(law: Drawn) -> Drawn:
    """As SmartNoise SQL gives it."""
    return replace(law, equal=False, cut=True)


def _geometric(keys: int, epsilon: float = EPSILON, delta: float = DELTA) -> Drawn:
    """The least threshold that one more than noise reaches with probability delta / keys."""
    scale = keys / epsilon
    least = scale * math.log(keys / (delta * (1 + math.exp(-1 / scale))))
    return Drawn("geometric", scale, 1 + math.ceil(least))


def _twice(keys: int) -> Drawn:
    """Names by one draw, counts by another: the noise that is less, which takes half of delta."""
    left = (1 - _NAMING) * EPSILON
    rho = _concentrated(left, DELTA / 2)
    scale, sigma = keys / left, math.sqrt(keys / (2 * rho))
    gaussian = sigma**2 < 2 * scale**2
    kind: Kind = "discrete Gaussian" if gaussian else "geometric"
    naming = _geometric(keys, _NAMING * EPSILON, DELTA / 2 if gaussian else DELTA)
    return Drawn(kind, sigma if gaussian else scale, naming=naming)


def _searched(keys: int) -> Drawn:
    return _of_widths("Gaussian", keys, lambda scale, rest: 1 - scale * float(ndtri(rest / keys)))


def _searched_whole(keys: int) -> Drawn:
    """The least whole threshold that one more than noise reaches so seldom."""

    def threshold(scale: float, rest: float) -> float:
        steps = np.arange(math.ceil(20 * scale))
        reached = Drawn("discrete Gaussian", scale, 0).moments(-steps)[0]
        return float(1 + np.argmax(keys * reached <= rest))

    return _of_widths("discrete Gaussian", keys, threshold)


def _of_widths(noise: Kind, keys: int, threshold: Callable[[float, float], float]) -> Drawn:
    """OpenDP's Gaussian noise: of some widths above the least, that with the least threshold.

    What the noise leaves of delta is for the threshold (with_opendp.py, which asks OpenDP itself).
    """
    least = math.sqrt(keys / (2 * _concentrated(EPSILON, DELTA)))
    scales = [least * (1 + percent / 100) for percent in (0.5, 1, 2, 3, 4)]
    left = [DELTA - _spent(keys / (2 * scale**2), EPSILON) for scale in scales]
    thresholds = [threshold(scale, rest) for scale, rest in zip(scales, left, strict=True)]
    lowest, scale = min(zip(thresholds, scales, strict=True))
    return Drawn(noise, scale, lowest)


# rho-zCDP is (epsilon, delta)-DP, if delta is at least exp((a - 1) (a rho - epsilon)) times
# (1 - 1/a)^a / (a - 1) for some order a > 1 (Canonne, Kamath and Steinke, 2020, section 2.3)
_ORDERS = 1 + np.arange(1, 4000) / 2
_REST = _ORDERS * np.log1p(-1 / _ORDERS) - np.log(_ORDERS - 1)


def _concentrated(epsilon: float, delta: float) -> float:
    """The largest rho that is (epsilon, delta), as with_tumult.py finds it, but without Spark."""
    return float(np.max((epsilon + (math.log(delta) - _REST) / (_ORDERS - 1)) / _ORDERS))


def _spent(rho: float, epsilon: float) -> float:
    """The delta of rho at epsilon."""
    return math.exp(float(np.min((_ORDERS - 1) * (_ORDERS * rho - epsilon) + _REST)))


def _one_key(keys: int) -> NamesOnly:
    return NamesOnly(EPSILON / keys, DELTA / keys)


_KNOWN: dict[str, Callable[[int], Law]] = {
    "tamis": lambda keys: Ours(keys, "whole"),
    "tamis, fine tokens": lambda keys: Ours(keys, "fine"),
    "OpenDP, Laplace": _laplace,
    "OpenDP, geometric": _geometric,
    "OpenDP, Gaussian": _searched,
    "OpenDP, discrete Gaussian": _searched_whole,
    "SmartNoise SQL, Laplace": lambda keys: _cut(_laplace(keys)),
    # what a unit has alone spends on the threshold, the rest on noise: each may take all of delta
    "SmartNoise SQL, Gaussian": lambda keys: _cut(_gaussian(keys, DELTA)),
    "PyDP, truncated geometric": _one_key,
    "PyDP, Laplace": _laplace,
    "PyDP, Gaussian": _gaussian,
    "PipelineDP, Laplace": _laplace,
    "PipelineDP, Gaussian": _gaussian,
    "Tumult Core": _geometric,
    "Tumult Analytics": _twice,
}
