"""The rows of low frequencies, written out: quicker than walking when many keys share them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.privacy.verify import Survival

Ints = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

CELLS = 300_000  # what is written out: a quarter of a second's work


class RowTable:
    """T_i(x) for i up to ``last`` or what fits: first halves of words, ascending in each row."""

    def __init__(self, law: Survival, last: int) -> None:
        halves: list[int] = []
        ends, lowest = [0], [0]
        for i, _, new in law.rows(1, {}):
            halves += (t >> 64 for t in reversed(new[2:]))
            ends.append(len(halves))
            lowest.append(i - len(new) + 2)
            if i >= last or len(halves) > CELLS:
                break
        self.last = len(ends) - 1
        self.halves = np.array([min(h, 2**64 - 1) for h in halves], dtype=np.uint64)
        self.ends, self.lowest = np.array(ends), np.array(lowest)

    def tokens(self, frequencies: Ints, words: WordArray) -> Ints:
        """Tokens of reported keys; 0 where the first half of the word is not enough to tell."""
        start, end = self.ends[frequencies - 1], self.ends[frequencies]
        low, high = start, end
        for _ in range(int(np.max(end - start, initial=0)).bit_length()):
            middle = (low + high) >> 1
            right = self.halves[np.minimum(middle, end - 1)] <= words
            low, high = (
                np.where(right & (middle < high), middle + 1, low),
                np.where(right, high, middle),
            )
        tied = (low > start) & (self.halves[np.maximum(low, 1) - 1] == words)
        return np.where(tied, 0, self.lowest[frequencies] + end - low)
