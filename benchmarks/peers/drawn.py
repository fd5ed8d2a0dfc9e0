"""What each method of the page draws, as far as that is known for sure, by its name there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from benchmarks.peers.expected import Drawn, Kind, Law, NamesOnly, Ours, expected
from benchmarks.peers.gaussian import WIDER, one_of, told
from benchmarks.peers.laws import DELTA, EPSILON
from benchmarks.peers.results import Asked, Expected

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


def _gaussian(keys: int) -> Drawn:
    """All of delta for the noise, and all of it for the threshold: see `gaussian.told`."""
    scale = told(EPSILON, DELTA, keys).scale
    return Drawn("Gaussian", scale, 1 - scale * float(ndtri(one_of(DELTA, keys))))


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


def _discrete_gaussian(keys: int) -> Drawn:
    """The least whole threshold that one more than noise reaches so seldom (with_opendp.py)."""
    scale = WIDER * told(EPSILON, DELTA, keys).scale
    steps = np.arange(math.ceil(20 * scale))
    reached = Drawn("discrete Gaussian", scale, 0).moments(-steps)[0]
    return Drawn("discrete Gaussian", scale, float(1 + np.argmax(reached <= one_of(DELTA, keys))))


# rho-zCDP is (epsilon, delta)-DP, if delta is at least exp((a - 1) (a rho - epsilon)) times
# (1 - 1/a)^a / (a - 1) for some order a > 1 (Canonne, Kamath and Steinke, 2020, section 2.3)
_ORDERS = 1 + np.arange(1, 4000) / 2
_REST = _ORDERS * np.log1p(-1 / _ORDERS) - np.log(_ORDERS - 1)


def _concentrated(epsilon: float, delta: float) -> float:
    """The largest rho that is (epsilon, delta), as with_tumult.py finds it, but without Spark."""
    return float(np.max((epsilon + (math.log(delta) - _REST) / (_ORDERS - 1)) / _ORDERS))


def _one_key(keys: int) -> NamesOnly:
    return NamesOnly(EPSILON / keys, DELTA / keys)


_KNOWN: dict[str, Callable[[int], Law]] = {
    "tamis": lambda keys: Ours(keys, "whole"),
    "tamis, fine tokens": lambda keys: Ours(keys, "fine"),
    "OpenDP, Laplace": _laplace,
    "OpenDP, geometric": _geometric,
    "OpenDP, Gaussian": _gaussian,
    "OpenDP, discrete Gaussian": _discrete_gaussian,
    "SmartNoise SQL, Laplace": lambda keys: _cut(_laplace(keys)),
    "SmartNoise SQL, Gaussian": lambda keys: _cut(_gaussian(keys)),
    "PyDP, truncated geometric": _one_key,
    "PyDP, Laplace": _laplace,
    "PyDP, Gaussian": _gaussian,
    "PipelineDP, Laplace": _laplace,
    "PipelineDP, Gaussian": _gaussian,
    "Tumult Core": _geometric,
    "Tumult Analytics": _twice,
}
