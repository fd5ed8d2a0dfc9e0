"""The law of tokens in floating point: for plans, estimates and intervals, never for a release.

A *row* is what a key of one frequency does; a *column* is what one token says about frequencies.
``survival(i, x)`` is S_i(x), the probability that a key of frequency i is reported with a token
above x; S_i(0) = pi_i. Reference: Cohen, Geri, Sarlos, Stemmer (2021), Algorithms 3 to 5, in the
form of one map (docs/proofs.md, section 2).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tamis.sampling.schemes import Ppswor, Scheme
from tamis.weighted.keys import ppswor_reporting

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """What tokens say: a row per token j, a column per frequency that it can come from.

    These are j, j+1, ..., or with a head start s: j-s, j-s+1, ..., and all is 0 below frequency 1.
    """

    frequencies: Ints  # (n, width)
    reporting: Floats  # pi_i
    at_least: Floats  # S_i(j - 1): reported with token j or higher
    above: Floats  # S_i(j): reported with a higher token

    @property
    def exactly(self) -> Floats:
        """pi_ij = S_i(j - 1) - S_i(j)."""
        return self.at_least - self.above


class Law(ABC):
    """The probabilities of a mechanism. Tokens above frequency + head_start never occur."""

    head_start: int = 0

    @property
    @abstractmethod
    def width(self) -> int:
        """No row has more tokens: token j comes from frequencies j..j+width-1, less head_start."""

    @abstractmethod
    def reporting(self, frequency: npt.ArrayLike) -> Floats:
        """pi_i, elementwise."""

    @abstractmethod
    def columns(self, tokens: npt.ArrayLike) -> Column:
        """What each of the given tokens says."""

    @abstractmethod
    def row(self, frequency: int) -> tuple[Ints, Floats]:
        """(tokens, probabilities) of one frequency; they sum to pi_i."""


@dataclass(frozen=True)
class DrawLaw(Law):
    """Nothing is sampled away: token = frequency + head_start - D; cumulative[d] = Pr[D < d]."""

    cumulative: Floats
    head_start: int = 0

    @property
    def width(self) -> int:
        return len(self.cumulative) - 1

    @cached_property
    def _mass(self) -> Floats:
        return np.diff(self.cumulative)

    def reporting(self, frequency: npt.ArrayLike) -> Floats:
        i = np.asarray(frequency, dtype=np.int64)
        if self.head_start:
            i = np.where(i > 0, i + self.head_start, 0)
        return np.asarray(self.cumulative[np.clip(i, 0, self.width)])

    def columns(self, tokens: npt.ArrayLike) -> Column:
        j = np.atleast_1d(np.asarray(tokens, dtype=np.int64))
        frequencies = j[:, None] - self.head_start + np.arange(self.width)
        ends = (self.cumulative[1:], self.cumulative[:-1])
        at_least, above = (np.broadcast_to(end, frequencies.shape) for end in ends)
        if self.head_start:
            occurs = frequencies > 0
            at_least, above = at_least * occurs, above * occurs
        return Column(frequencies, self.reporting(frequencies), at_least, above)

    def row(self, frequency: int) -> tuple[Ints, Floats]:
        highest = frequency + self.head_start
        draws = np.arange(min(highest, self.width))
        return highest - draws[::-1], self._mass[draws[::-1]]


@dataclass(frozen=True)
class SurvivalLaw(Law):
    """A scheme under an (epsilon, delta) curve: the survival map, column by column."""

    epsilon: float
    delta: float
    scheme: Scheme

    @property
    def width(self) -> int:
        """3 ln(1/delta) / epsilon: proven in docs/proofs.md, section 4.

        The paper says 2 L(epsilon, delta), which is too few for some schemes: Pps(0.01) at
        epsilon 0.3, delta 1e-4 has a row of 63 tokens where 2 L + 1 is 50.
        """
        return 3 * math.ceil(math.log(1 / self.delta) / self.epsilon) + 2

    @cached_property
    def memory(self) -> int:
        """How many frequencies back pi_i can depend on q: h applied this often to 0 gives 1.

        With a delta below 2^-53, h stops short of 1 by one rounding error: that counts as 1.
        """
        p, steps = np.zeros(1), 0
        while (after := self.cap(p))[0] > p[0]:
            p, steps = after, steps + 1
        return steps

    def cap(self, p: Floats) -> Floats:
        """h(p) = min{1, e p + delta, 1 - (1 - delta - p) / e}."""
        e = math.exp(self.epsilon)
        return np.minimum(np.minimum(1.0, e * p + self.delta), 1 - (1 - self.delta - p) / e)

    def reporting(self, frequency: npt.ArrayLike) -> Floats:
        """pi_i by Algorithm 3, started as late as it may be: earlier frequencies do not matter."""
        i = np.asarray(frequency, dtype=np.int64)
        if isinstance(self.scheme, Ppswor) and self.scheme.power == 1:
            return ppswor_reporting(self.epsilon, self.delta, self.scheme.tau, i)
        unique, place = np.unique(i, return_inverse=True)
        return np.asarray(self._window(unique)[:, -1][place].reshape(i.shape))

    def _window(self, last: Ints, extra: int = 0) -> Floats:
        """pi over (last - extra, last] for each entry of ``last``; 0 for frequencies below 1."""
        length = self.memory + extra + 1
        out = np.empty((len(last), extra + 1))
        p = np.zeros(len(last))
        for n in range(length):
            at = last - (length - 1 - n)
            p = np.where(
                at < 1, 0.0, np.minimum(self.scheme.probability(np.maximum(at, 0)), self.cap(p))
            )
            if n >= length - extra - 1:
                out[:, n - (length - extra - 1)] = p
        return out

    def _step(self, s: Floats, before: Floats, now: Floats) -> Floats:
        """S_i(x) from s = S_{i-1}(x): the minimum of four affine terms."""
        e, d = math.exp(self.epsilon), self.delta
        return np.minimum(
            np.minimum(now, d + e * s), np.minimum(1 - (1 - d - s) / e, now - (before - d - s) / e)
        )

    def columns(self, tokens: npt.ArrayLike) -> Column:
        j = np.atleast_1d(np.asarray(tokens, dtype=np.int64))
        pi = self._window(j + self.width - 1, self.width)  # pi_{j-1} .. pi_{j+width-1}
        at_least = np.empty((len(j), self.width))
        above = np.empty_like(at_least)
        low, high = np.zeros(len(j)), np.zeros(len(j))
        n = 0
        while n < self.width and not (n and np.array_equal(high, pi[:, n])):
            low = self._step(low, pi[:, n], pi[:, n + 1])
            high = self._step(high, pi[:, n], pi[:, n + 1]) if n else high
            at_least[:, n], above[:, n] = low, high
            n += 1
        return Column(j[:, None] + np.arange(n), pi[:, 1 : n + 1], at_least[:, :n], above[:, :n])

    def row(self, frequency: int) -> tuple[Ints, Floats]:
        first = max(1, frequency - self.width + 1)
        pi = self._window(np.array([frequency]), frequency - first + 1)[0]
        s = np.zeros(0)
        for n in range(1, len(pi)):
            s = self._step(np.append(s, 0.0), pi[n - 1], pi[n])
        return np.arange(first, frequency + 1), s - np.append(s[1:], 0.0)
