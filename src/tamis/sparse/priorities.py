"""Priorities q = c / r with r uniform on (0, 1], compared exactly.

r is an unbounded random word, of which 64 places are drawn at once and more only where they decide.
So a comparison, the order of the largest and the published threshold are those of real numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, pairwise

import numpy as np
import numpy.typing as npt

from tamis.privacy import randomness

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_LOOSE = 2.0**-50  # covers the rounding of c, of the word and of their quotient
_SHOWN = 40  # binary places of a published threshold


@dataclass
class Priorities:
    """The priorities of some items. c is the size of an item, or ``least`` if that is more."""

    sizes: Ints
    least: Fraction
    words: npt.NDArray[np.uint64]
    more: dict[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def draw(cls, sizes: Ints, least: Fraction = Fraction(0)) -> Priorities:
        return cls(sizes, least, randomness.words(len(sizes)))

    def replace(self, where: Ints, other: Priorities, which: Ints) -> None:
        """Put some items of another in the place of some."""
        self.sizes[where], self.words[where] = other.sizes[which], other.words[which]
        for i, j in zip(which.tolist(), where.tolist(), strict=True):
            self.more.pop(j, None)
            if i in other.more:  # places that were drawn stay
                self.more[j] = other.more[i]

    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of q; the upper is infinite where the word begins with zeros."""
        c = np.maximum(self.sizes.astype(np.float64), float(self.least)) * 2.0**64
        word = self.words.astype(np.float64)
        with np.errstate(divide="ignore"):
            return c / (word + 1) * (1 - _LOOSE), c / word * (1 + _LOOSE)

    def at_least(self, tau: Fraction) -> Mask:
        """Which items have q >= tau."""
        if not tau:
            return np.ones(len(self.sizes), dtype=np.bool_)
        c = np.maximum(self.sizes, float(self.least))
        least = self.words.astype(np.float64)
        least *= float(tau) * 2.0**-64
        near: Mask = c >= least * (1 - 4 * _LOOSE)  # c / tau is at least the word, or nearly so
        least += float(tau) * 2.0**-64
        least *= 1 + 4 * _LOOSE
        sure: Mask = c > least
        for i in np.flatnonzero(near & ~sure):
            sure[i] = self._at_least(int(i), tau)
        return sure

    def only(self, some: Mask) -> Priorities:
        """Those of some items."""
        place = np.cumsum(some) - 1 if self.more else np.empty(0, dtype=np.int64)
        more = {int(place[i]): known for i, known in self.more.items() if some[i]}
        return Priorities(self.sizes[some], self.least, self.words[some], more)

    def interval(self, i: int, places: int = 64) -> tuple[Fraction, Fraction]:
        """Between which fractions q of item i lies, from at least so many places of its word."""
        word, known = self.more.get(i, (int(self.words[i]), 64))
        while known < places or not word:
            word, known = word << 64 | int(randomness.words(1)[0]), known + 64
        self.more[i] = word, known
        scaled = max(Fraction(int(self.sizes[i])), self.least) * (1 << known)
        return scaled / (word + 1), scaled / word

    def _at_least(self, i: int, tau: Fraction) -> bool:
        for places in count(64, 64):
            low, high = self.interval(i, places)
            if low >= tau:
                return True
            if high <= tau:  # r is above word / 2^places, so q is below the upper bound
                return False
        raise AssertionError("a word has no end")


def largest(parts: Sequence[Priorities], size: int) -> tuple[list[Mask], float]:
    """Which items have the ``size`` largest priorities, and the next largest, rounded down."""
    low, high = (np.concatenate(side) for side in zip(*(p.bounds() for p in parts), strict=True))
    place = len(low) - size - 1
    certain = low > np.partition(high, place)[place]
    unclear = np.flatnonzero(~certain & (high >= np.partition(low, place)[place]))
    starts = np.cumsum([0, *(len(p.sizes) for p in parts)])
    owners = np.searchsorted(starts, unclear, side="right") - 1
    items = [(parts[k], int(n - starts[k])) for k, n in zip(owners, unclear, strict=True)]
    ranked = _ranked(items)
    missing = size - int(np.count_nonzero(certain))
    certain[unclear[ranked[:missing]]] = True
    return np.split(certain, starts[1:-1]), _shown(*items[ranked[missing]])


def _ranked(items: list[tuple[Priorities, int]]) -> list[int]:
    """The items by priority, largest first: places are drawn until no two intervals overlap."""
    for places in count(64, 64):
        known = [part.interval(i, places) for part, i in items]
        order = sorted(range(len(items)), key=known.__getitem__, reverse=True)
        if all(known[a][0] >= known[b][1] for a, b in pairwise(order)):
            return order
    raise AssertionError("two words differ somewhere")


def _shown(part: Priorities, i: int) -> float:
    """A priority, rounded down to so many places that a float holds it."""
    for places in count(64, 64):
        low, high = (_cut(x) for x in part.interval(i, places))
        if low == high:
            return low
    raise AssertionError("a word has no end")


def _cut(x: Fraction) -> float:
    power = x.numerator.bit_length() - x.denominator.bit_length()  # or one too much
    scale = Fraction(2) ** (power - (Fraction(2) ** power > x) + 1 - _SHOWN)
    return float((x / scale).__floor__() * scale)
