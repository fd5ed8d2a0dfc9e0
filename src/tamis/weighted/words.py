"""Words of 128 binary places, of which the second half is drawn only when it is needed.

The first 64 places decide almost always. Where they do not, the other 64 are drawn, once, and the
integers are compared in full.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import numpy.typing as npt

from tamis.privacy import randomness

Ints = npt.NDArray[np.int64]
FirstHalves = npt.NDArray[np.uint64]

CHUNK = 1 << 16  # keys at a time: what is worked on stays in the processor's cache


class Words:
    """Words of some keys: first halves at once, second halves when they are needed, once each."""

    def __init__(self, first: FirstHalves, second: dict[int, int] | None = None) -> None:
        self.first, self._second = first, second or {}

    @classmethod
    def draw(cls, count: int) -> Words:
        return cls(randomness.words(count))

    @classmethod
    def joined(cls, parts: list[Words]) -> Words:
        starts = np.cumsum([0, *(len(p) for p in parts)]).tolist()
        second = {
            start + n: half
            for start, p in zip(starts, parts, strict=False)
            for n, half in p._second.items()
        }
        return cls(np.concatenate([np.empty(0, np.uint64), *(p.first for p in parts)]), second)

    def __len__(self) -> int:
        return len(self.first)

    def full(self, n: int) -> int:
        """The whole word of key n."""
        if n not in self._second:
            self._second[n] = int(randomness.words(1)[0])
        return int(self.first[n]) << 64 | self._second[n]

    def at(self, where: Ints) -> Words:
        """The words of some of the keys."""
        second = {}
        if self._second:
            second = {
                n: self._second[int(m)] for n, m in enumerate(where) if int(m) in self._second
            }
        return Words(self.first[where], second)


class Table:
    """An ascending table of whole numbers, in which words are looked up."""

    def __init__(self, entries: list[int]) -> None:
        self.entries = entries
        self.halves = np.array([c >> 64 for c in entries], dtype=np.uint64)

    def reached(self, words: Words) -> Ints:
        """How many entries are at or below each word."""
        reached: Ints = np.searchsorted(self.halves, words.first, side="right")
        if self.entries:
            tied = self.halves[np.maximum(reached, 1) - 1] == words.first
            for n in np.flatnonzero(tied):
                reached[n] = bisect_right(self.entries, words.full(int(n)))
        return reached
