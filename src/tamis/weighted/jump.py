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
from tamis.weighted.reporting import Lookup

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_LAST = 2**63 - 1
_LOOSE = 2.0**-42  # covers the error of a float q (below 2^-45) and of a word (2^-53)
_SLOW = 0.04  # growth per step below which bounds that take q as constant seldom decide
_CLIMB = 8  # steps to the best a
_LARGE = 64.0  # logarithms of the powers of g that are looked up
_TINY = np.finfo(np.float64).tiny
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
        self.power = Lookup(lambda a: np.exp(a * self.log), int(_LARGE / self.log))  # g^a
        self.rest = self.gift / self.rate  # the fixed point of s -> (s - gift) / g is -rest

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
        a = self._turn(most / (gap * (1 + g)))
        if self.log < _SLOW:  # q changes too much on the way for bounds that take it as constant
            return self._climb(frequencies, now, gap, self._better(frequencies, gap, a))
        y = self.power(a)
        low = self._value(frequencies, a, y, gap)
        low = np.maximum(low, np.where(a > 0, self._value(frequencies, a - 1, y / g, gap), 0))
        above = np.where(a > 1, y / g**2 * (most - gap * y / g**2), 0)
        high = np.maximum(above, y * g * (most - gap * y * g))
        error = self._error(now, y)
        few, many = self._steps(low, error)[0], self._steps(np.maximum(low, high), g * error)[1]
        tokens = self._decide(frequencies, a, (few, many), np.ones(len(a), dtype=np.bool_))
        left = np.flatnonzero(tokens == 0)
        tokens[left] = self._climb(frequencies[left], now[left], gap[left], a[left])
        return tokens

    def _turn(self, ratio: Floats) -> Ints:
        """The first a with g^a at the ratio or above."""
        return np.ceil(np.log(np.maximum(ratio, 1)) / self.log).astype(np.int64)

    def _better(self, frequencies: Ints, gap: Floats, a: Ints) -> Ints:
        """A closer guess at the best a, from q and its slope at a first one."""
        q = self.probability(np.maximum(frequencies - a, 1))
        slope = q - self.probability(np.maximum(frequencies - a - 1, 1))
        top = q + 2 * self.rest - (1 + self.rate) * slope / self.rate
        return self._turn(top / (gap * (2 + self.rate)))

    def _climb(self, frequencies: Ints, now: Floats, gap: Floats, a: Ints) -> Ints:
        """The same with the largest value found exactly: it rises up to one a and then falls."""
        tokens, step = self._peak(frequencies, now, gap, a)
        active = np.flatnonzero(step)
        for _ in range(_CLIMB):
            if not len(active):
                break
            a[active] += step[active]
            tokens[active], step[active] = self._peak(
                frequencies[active], now[active], gap[active], a[active]
            )
            active = active[step[active] != 0]
        return tokens

    def _peak(self, frequencies: Ints, now: Floats, gap: Floats, a: Ints) -> tuple[Ints, Ints]:
        """Tokens where a is surely the best; elsewhere 0, and the step to a better one, if any."""
        y, g = self.power(a), 1 + self.rate
        value = self._value(frequencies, a, y, gap)
        before = value - self._value(frequencies, a - 1, y / g, gap)
        after = value - self._value(frequencies, a + 1, y * g, gap)
        error = self._error(now, y)
        best = ((before > 4 * error) | (a == 0)) & (after > 4 * error)
        tokens = self._decide(frequencies, a, self._steps(value, error), best)
        return tokens, (after < 0).astype(np.int64) - ((before < 0) & (after >= 0) & (a > 0))

    def _value(self, frequencies: Ints, a: Ints, y: Floats, gap: Floats) -> Floats:
        """How far a steps from the top get: y (q_{i-a} + 2c - K y), y = g^a."""
        q = self.probability(np.maximum(frequencies - a, 1))
        value: Floats = y * (q + 2 * self.rest - gap * y)
        return value

    def _error(self, now: Floats, y: Floats) -> Floats:
        """What values up to a + 1 may be off: by their floats, and by the word, known to 2^-63."""
        g, far = 1 + self.rate, y * (1 + self.rate)
        error: Floats = far * (
            _LOOSE * ((now + 2 * self.rest) * (1 + g) + now * far) + 2.0**-62 * far
        )
        return error

    def _steps(self, value: Floats, error: Floats) -> tuple[Floats, Floats]:
        """Between how many steps leave more than the gift, if the value may be off so much."""
        known = value > 2 * error
        value = np.maximum(value, 2 * error + _TINY)
        steps = np.log(value / (self.gift + self.rest)) / self.log
        around = (2 * error / value + _ROUND) / self.log  # |log(1 + x)| <= 2 |x| up to 1/2
        return np.where(known, steps - around, -1), steps + around

    def _decide(self, frequencies: Ints, a: Ints, steps: tuple[Floats, Floats], sure: Mask) -> Ints:
        """Where the jump ends, if both bounds agree and q is calm all the way; otherwise 0."""
        few, many = np.floor(steps[0]), np.floor(steps[1])
        clear = sure & (few == many) & (few >= a) & (few < _LAST)
        token = frequencies - np.where(clear, few, 0).astype(np.int64) - 1
        start, stop = self._range(frequencies)
        calm = (frequencies <= stop) & (token >= start)
        return np.where(clear & calm, token, 0)

    def _range(self, frequencies: Ints) -> tuple[Ints, Ints]:
        """The calm range that begins last before each frequency; none ends where none begins."""
        if len(self.starts) == 1:
            return self.starts, self.stops
        place = np.searchsorted(self.starts, frequencies, side="right") - 1
        return self.starts[place], self.stops[place]


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
