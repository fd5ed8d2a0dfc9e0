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
_LOOSE = 2.0**-42  # covers the error of a float q (below 2^-45), twice
_SLOW = 0.04  # growth per step below which bounds that take q as constant seldom decide
_CLIMB = 8  # steps to the best a
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
        if self.log < _SLOW:  # q changes too much on the way for bounds that take it as constant
            return self._climb(frequencies, now, gap, self._better(frequencies, gap, a))
        y = np.exp(a * self.log)
        low = self._value(frequencies, a, y, gap)
        low = np.maximum(low, np.where(a > 0, self._value(frequencies, a - 1, y / g, gap), 0))
        above = np.where(a > 1, y / g**2 * (most - gap * y / g**2), 0)
        high = np.maximum(above, y * g * (most - gap * y * g))
        tokens = self._decide(frequencies, now, a, y, low, np.maximum(low, high))
        left = np.flatnonzero(tokens == 0)
        tokens[left] = self._climb(frequencies[left], now[left], gap[left], a[left])
        return tokens

    def _better(self, frequencies: Ints, gap: Floats, a: Floats) -> Floats:
        """A closer guess at the best a, from q and its slope at a first one."""
        steps = a.astype(np.int64)
        q = self.probability(np.maximum(frequencies - steps, 1))
        slope = q - self.probability(np.maximum(frequencies - steps - 1, 1))
        top = q + 2 * self.rest - (1 + self.rate) * slope / self.rate
        ratio = np.maximum(top / (gap * (2 + self.rate)), 1)
        return np.ceil(np.log(ratio) / self.log)

    def _climb(self, frequencies: Ints, now: Floats, gap: Floats, a: Floats) -> Ints:
        """The same with the largest value found exactly: it rises up to one a and then falls."""
        tokens, active = np.zeros(len(a), dtype=np.int64), np.arange(len(a))
        for _ in range(_CLIMB):
            f, k, here = frequencies[active], gap[active], a[active]
            y, g = np.exp(here * self.log), 1 + self.rate
            value = self._value(f, here, y, k)
            before = np.where(here > 0, self._value(f, here - 1, y / g, k), 0)
            after = self._value(f, here + 1, y * g, k)
            margin = 4 * self._error(now[active], y)
            best = (value - before > margin) & (value - after > margin)
            found = active[best]
            tokens[found] = self._decide(
                f[best], now[found], here[best], y[best], value[best], value[best]
            )
            a[active] += np.where(after > value, 1, np.where(before > value, -1, 0))
            active = active[(after > value) | (before > value)]
        return tokens

    def _value(self, frequencies: Ints, a: Floats, y: Floats, gap: Floats) -> Floats:
        """How far a steps from the top get: y (q_{i-a} + 2c - K y), y = g^a."""
        q = self.probability(np.maximum(frequencies - a.astype(np.int64), 1))
        value: Floats = y * (q + 2 * self.rest - gap * y)
        return value

    def _error(self, now: Floats, y: Floats) -> Floats:
        """What values up to a + 1 may be off: by their floats, and by the word, known to 2^-63."""
        g, far = 1 + self.rate, y * (1 + self.rate)
        error: Floats = far * (
            _LOOSE * ((now + 2 * self.rest) * (1 + g) + now * far) + 2.0**-62 * far
        )
        return error

    def _decide(
        self, frequencies: Ints, now: Floats, a: Floats, y: Floats, low: Floats, high: Floats
    ) -> Ints:
        """Where the jump ends, if both bounds agree and q is calm all the way; otherwise 0."""
        error = self._error(now, y)
        few, many = self._steps(low - error), self._steps(high + (1 + self.rate) * error)
        steps = np.floor(few - _ROUND / self.log)
        clear = (steps == np.floor(many + _ROUND / self.log)) & (steps >= a) & (steps < _LAST)
        token = frequencies - np.where(clear, steps, 0).astype(np.int64) - 1
        place = np.searchsorted(self.starts, frequencies, side="right") - 1
        calm = (place >= 0) & (frequencies <= self.stops[place]) & (token >= self.starts[place])
        return np.where(clear & calm, token, 0)

    def _steps(self, value: Floats) -> Floats:
        smallest = np.finfo(np.float64).tiny
        found: Floats = np.log(np.maximum(value, smallest) / (self.gift + self.rest)) / self.log
        return found


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
