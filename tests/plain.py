"""The paper's recursions written out plainly, as oracles for what is computed quickly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from tamis.sampling.schemes import Scheme
from tamis.weighted.laws import DrawLaw

Floats = npt.NDArray[np.float64]


@lru_cache
def algorithm4(epsilon: float, delta: float, scheme: Scheme, last: int) -> Floats:
    """pi_ij for i, j = 0, ..., last, where j = 0 is "not reported" (the paper's Algorithm 4)."""
    e, pi = math.exp(epsilon), np.zeros((last + 1, last + 1))
    pi[0, 0] = 1.0
    reported = 0.0
    for i in range(1, last + 1):
        q = float(scheme.probability(i))
        reported = min(q, e * reported + delta, 1 + (reported + delta - 1) / e)
        pi[i, 0] = 1 - reported
        for j in range(1, i):
            lower = (pi[i - 1, 1 : j + 1].sum() - delta) / e - pi[i, 1:j].sum()
            pi[i, j] = max(0.0, lower + max(0.0, pi[i - 1, 0] / e - pi[i, 0]))
        rest = reported - pi[i, 1:i].sum()
        for j in range(i, 0, -1):
            upper = e * pi[i - 1, j:i].sum() + delta - pi[i, j + 1 : i + 1].sum()
            given = min(upper - pi[i, j], rest)
            pi[i, j] += given
            rest -= given
    pi.setflags(write=False)
    return pi


def whole_l(epsilon: float, steps: int) -> float:
    """The delta for which L(epsilon, delta) of equation (4) is this whole number."""
    return math.expm1(epsilon) / (math.exp(epsilon * steps) * (math.exp(epsilon) + 1) - 2)


def gaussian(mu: float, delta: float, head_start: int = 0) -> DrawLaw:
    """One draw on the approximate Gaussian curve: C_d = h applied d times to 0."""
    cumulative = [0.0]
    while cumulative[-1] < 1 - delta:
        level = special.ndtri(cumulative[-1] / (1 - delta))
        cumulative.append(float(delta + (1 - delta) * special.ndtr(level + mu)))
    return DrawLaw(np.array([*cumulative, 1.0]), head_start)


def drawn(law_row: tuple[Iterable[int], Floats], n: int, rng: np.random.Generator) -> Floats:
    """N tokens of a key with this row, 0 where it is not reported."""
    tokens, probability = np.asarray(law_row[0], dtype=np.float64), law_row[1]
    places = np.searchsorted(np.cumsum(probability), rng.random(n), side="right")
    return np.append(tokens, 0.0)[places]
