"""Reporting probabilities of many keys in floating point, looked up where they can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tamis.privacy.verify import Survival, U
from tamis.sampling.schemes import Scheme

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Kind = TypeVar("Kind", bound=np.generic)

MOST = 1 << 17  # a megabyte of numbers: a processor has them at hand


class Lookup(Generic[Kind]):
    """A function of whole numbers, of which the values below ``size`` are written down."""

    def __init__(self, function: Callable[[Ints], npt.NDArray[Kind]], size: int) -> None:
        self.function, self.values = function, function(np.arange(size))

    def __call__(self, at: Ints) -> npt.NDArray[Kind]:
        high = np.flatnonzero(at >= len(self.values))
        if len(high) == len(at):
            return self.function(at)
        found = self.values.take(at, mode="clip")
        found[high] = self.function(at[high])
        return found


class Reporting:
    """q_i, P_i / U, and which i have P_i < q_i. The error is that of a float q, below 2^-45."""

    def __init__(self, law: Survival, scheme: Scheme, size: int = 0) -> None:
        below = law.below()
        self.odds = np.array(sorted(below), dtype=np.int64)
        self._at_odds = np.array([below[i] / U for i in self.odds.tolist()])
        self.q = Lookup(scheme.probability, size)
        self.odd = Lookup(self._odd, size)
        self.p = Lookup(self._p, size)

    def _odd(self, at: Ints) -> Mask:
        return self._place(at)[1]

    def _p(self, at: Ints) -> Floats:
        p, (place, odd) = self.q(at), self._place(at)
        if odd.any():
            p[odd] = self._at_odds[place[odd]]
        return p

    def _place(self, at: Ints) -> tuple[Ints, Mask]:
        place: Ints = np.zeros(len(at), dtype=np.int64)
        if not len(self.odds) or at.min(initial=self.odds[-1] + 1) > self.odds[-1]:
            return place, np.zeros(len(at), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self.odds, at), len(self.odds) - 1)
        return place, self.odds[place] == at
