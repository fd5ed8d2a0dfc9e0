"""Tokens of keys of neighbouring frequencies, row after row (docs/proofs.md, section 6).

A row follows from the row before. Where many keys share a few thousand frequencies, that is quicker
than walking each word back, and it needs nothing of the scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tamis.privacy.verify import Survival, U

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_LOOSE = 2.0**-42  # covers the error of a float q (below 2^-45), twice
_ROUND = 2.0**-48  # covers the rounding of one step
_WORD = 2.0**-63  # how well the first half tells a word / U
_SIDES = np.array([[-1.0], [1.0]])  # a lower and an upper bound are kept of every number


class Sweep:
    """Rows in floating point, with bounds that surely hold the whole numbers of the law."""

    def __init__(self, law: Survival, reporting: Callable[[Ints], Floats]) -> None:
        self.reporting, self.early = reporting, law.width()
        self.gift, self.rate = law.D / U, (law.M - (1 << law.k)) / (1 << law.k)
        away = _LOOSE * (1 + 1 / self.rate) + self.early * _ROUND
        self.fog = min(1.0, 16 * away)  # so close to P, relatively, nothing is decided

    def tokens(self, frequencies: Ints, words: Floats) -> Ints:
        """Tokens of reported keys whose word / U is within 2^-63 of ``words``; 0 where unclear."""
        order = _by(frequencies)
        at, sorted_words = frequencies[order], words[order]
        ends = np.append(np.flatnonzero(np.diff(at)) + 1, len(at))
        parts = {int(at[b - 1]): slice(a, b) for a, b in pairwise([0, *ends.tolist()]) if b}
        found = np.zeros(len(at), dtype=np.int64)
        for first, last in self._stretches(at[ends - 1] if parts else at):
            for i, p, row in self._rows(first, last):
                if i in parts:
                    found[parts[i]] = self._look_up(i, p, row, sorted_words[parts[i]])
        tokens = np.empty(len(at), dtype=np.int64)
        tokens[order] = found
        return tokens

    def _stretches(self, levels: Ints) -> list[tuple[int, int]]:
        """Ranges that hold all levels; a new one begins where that saves rows."""
        apart = np.flatnonzero(np.diff(levels) > self.early) + 1
        return [(int(part[0]), int(part[-1])) for part in np.split(levels, apart) if len(part)]

    def _look_up(self, i: int, p: float, row: Floats, words: Floats) -> Ints:
        """The token is i less the number of T_i(x) that are not above the word."""
        low, high = row * (1 + 4 * _LOOSE * _SIDES) + _WORD * _SIDES
        reached: Ints = np.searchsorted(low, words, side="right")
        clear = np.append(-1.0, high)[reached] <= words
        return np.where(clear & (words < p * (1 - 2 * self.fog) - _WORD), i - reached, 0)

    def _rows(self, first: int, last: int) -> Iterator[tuple[int, float, Floats]]:
        """(i, P_i, bounds of T_i(i - 1), T_i(i - 2), ... below the fog) from ``first`` on.

        It begins so early that what is left out has reached P by then.
        """
        start = max(1, first - self.early)
        p = self.reporting(np.arange(start - 1, last + 1))
        g, rounded = 1 + self.rate, 1 + _ROUND * _SIDES
        row = np.zeros((2, 1))
        for i, (before, now) in enumerate(pairwise(p.tolist()), start):
            rest = self.gift + self.rate * now + (now - before) + _SIDES * 4 * _LOOSE * g * now
            row = np.minimum(
                row * (g * rounded) + self.gift * rounded,
                (row + np.minimum(self.gift + self.rate, rest)) * (rounded / g),
            )
            below = int(np.searchsorted(row[0], now * (1 - self.fog)))
            row = row[:, :below]
            if i >= first:
                yield i, now, row
            row = np.concatenate([np.zeros((2, 1)), row], axis=1)


def _by(frequencies: Ints) -> Ints:
    """Their order; numbers of 16 binary places are sorted without comparing."""
    low = frequencies - frequencies.min(initial=2**63 - 1)
    small = low.astype(np.uint16) if low.max(initial=0) < 1 << 16 else low
    order: Ints = np.argsort(small, kind="stable")
    return order
