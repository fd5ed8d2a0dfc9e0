"""Tokens under a sampling scheme without a walk, where q is calm (docs/proofs.md, section 6).

Walking a word back takes, at each frequency, the largest of three inverse maps. Where q is calm one
of them never wins, and the other two can be sorted: first a steps from the top, then only steps to
the bottom. Both have a closed form, so that all steps are one jump.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import isqrt, log1p

import numpy as np
import numpy.typing as npt

from tamis.privacy.verify import Scheme, Survival, U, ceil_div, first

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_LAST = 2**63 - 1
_LOOSE = 2.0**-42  # covers the error of a float q (below 2^-45), twice, and that of the word
_ROUND = 2.0**-40  # covers the rounding of logarithms (up to about 100)


class Jump:
    """All steps of the walk at once, for the keys of whose words that is certain."""

    def __init__(self, law: Survival, probability: Callable[[Ints], Floats]) -> None:
        self.probability = probability
        calm = calm_ranges(law)
        self.starts = np.array([a for a, _ in calm], dtype=np.int64)
        self.stops = np.array([b for _, b in calm], dtype=np.int64)
        self.rate = (law.M - (1 << law.k)) / (1 << law.k)  # g - 1
        self.log = log1p(self.rate)
        self.gift = law.D / U
        self.rest = self.gift / self.rate  # the fixed point of s -> (s - gift) / g is -rest

    @property
    def first(self) -> int:
        """From here on, q is calm for a while."""
        return int(self.starts[0]) if len(self.starts) else _LAST

    def tokens(self, frequencies: Ints, now: Floats, word: Floats) -> Ints:
        """The token of a key whose word / U is within 2^-63 of ``word``; 0 where unclear.

        ``now`` is q at its frequency. With K = q_i - u + c, c the rest, and y = g^a, a steps from
        the top and n - a to the bottom leave more than the gift if y (q_{i-a} + 2c - K y) exceeds
        g^n (gift + c). The largest over all a is enclosed, and so is n.
        """
        if not len(self.starts):
            return np.zeros(len(frequencies), dtype=np.int64)
        c, g = self.rest, 1 + self.rate
        most, gap = now + 2 * c, np.maximum(now - word, 0) + c
        a = np.maximum(0, np.ceil(np.log(most / (gap * (1 + g))) / self.log))
        y = np.exp(a * self.log)
        error = _LOOSE * (most * (1 + g) + now * y)
        here = np.maximum(frequencies - a.astype(np.int64), 1)
        low = self._value(y, gap, self.probability(here) + 2 * c)
        nearer = self._value(y / g, gap, self.probability(here + 1) + 2 * c)
        low = np.maximum(low, np.where(a > 0, nearer, 0))
        above = np.where(a > 1, self._value(y / g**2, gap, most), 0)
        high = np.maximum(above, self._value(y * g, gap, most))
        least, limit = low - y * error, np.maximum(low, high) + g * y * error
        few, many = self._steps(least), self._steps(limit)
        steps = np.floor(few - _ROUND / self.log)
        clear = (steps == np.floor(many + _ROUND / self.log)) & (steps >= a) & (steps < _LAST)
        return np.where(clear, self._calm(frequencies, steps), 0)

    def _value(self, y: Floats, gap: Floats, top: Floats) -> Floats:
        return y * (top - gap * y)

    def _steps(self, value: Floats) -> Floats:
        smallest = np.finfo(np.float64).tiny
        found: Floats = np.log(np.maximum(value, smallest) / (self.gift + self.rest)) / self.log
        return found

    def _calm(self, frequencies: Ints, steps: Floats) -> Ints:
        """Where the jump ends, if q is calm all the way; otherwise 0."""
        token = frequencies - np.maximum(steps, 0).astype(np.int64) - 1
        place = np.searchsorted(self.starts, frequencies, side="right") - 1
        inside = (place >= 0) & (frequencies <= self.stops[place]) & (token >= self.starts[place])
        return np.where(inside, token, 0)


def calm_ranges(law: Survival) -> list[tuple[int, int]]:
    """Where P = q >= gift at i, i - 1 and i - 2, and both conditions of calm hold at i.

    They are 1 - q_{i-1} <= g (1 - q_i), and q_i + q_{i-2} <= (g + 1/g) q_{i-1}.
    """
    scheme = law.scheme
    ranges = _between_steps(scheme) if scheme.name == "custom" else _smooth(law)
    enough = first(lambda i: scheme.units(i) >= law.D) + 2
    bad, calm = sorted(law.below()), list[tuple[int, int]]()
    for start, stop in ranges:
        inside = [b for b in bad if start <= b + 2 and b <= stop]
        starts = [max(start, enough), *(b + 3 for b in inside)]
        calm += zip(starts, [*(b - 1 for b in inside), stop], strict=True)
    return [(a, b) for a, b in calm if a <= b]


def _between_steps(scheme: Scheme) -> list[tuple[int, int]]:
    starts = [i for i, _ in scheme.steps]
    return [(a + 2, b - 1) for a, b in pairwise([*starts, _LAST + 1])]


def _smooth(law: Survival) -> list[tuple[int, int]]:
    """For min(1, tau i^p) and 1 - exp(-tau i^p)."""
    M, one, scheme = law.M, 1 << law.k, law.scheme
    # (i - 2)^2 >= 4 g / (g - 1)^2 makes the second condition certain
    start = 3 + isqrt(ceil_div(4 * M * one, (M - one) ** 2))

    def drops(i: int) -> bool:
        return (U - scheme.units(i - 1)) * one > M * (U - scheme.units(i))

    if scheme.name == "ppswor" and scheme.power <= 1:
        return [(first(lambda i: not drops(i), start), _LAST)]
    full = scheme.settled()
    last = first(lambda i: i >= full or drops(i), start)
    return [(start, min(last - 1, _LAST)), (max(start, full + 2), _LAST)]
