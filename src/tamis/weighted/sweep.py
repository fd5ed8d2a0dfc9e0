"""Tokens of keys of neighbouring frequencies, row after row (docs/proofs.md, section 6).

A row follows from the row before. Where many keys share a few thousand frequencies, that is quicker
than walking each word back, and it needs nothing of the scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tamis.privacy.verify import Survival, U

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_LOOSE = 2.0**-42  # covers the error of a float q (below 2^-45) and of a word (2^-53)
_ROUND = 2.0**-48  # covers the rounding of one step
_WORD = 2.0**-63  # what the first half leaves open of a word / U
_SIDES = np.array([[-1.0], [1.0]])  # a lower and an upper bound are kept of every number
_NEW = np.zeros((2, 1))  # the column of the latest frequency


@dataclass(frozen=True)
class Row:
    """P_i, and lower bounds of T_i(i - 1), T_i(i - 2), ... after a -1; upper ones are near them.

    An upper bound is at most 1 + slack times the lower one, and 2 + slack words of 64 places more.
    """

    p: float
    bounds: Floats
    slack: float


class Sweep:
    """Rows in floating point, with bounds that surely hold the whole numbers of the law."""

    room = 1 << 23  # numbers of rows that are kept for the next keys

    def __init__(self, law: Survival, reporting: Callable[[Ints], Floats]) -> None:
        self.reporting, self.early = reporting, law.width()
        self.gift, self.rate = law.D / U, (law.M - (1 << law.k)) / (1 << law.k)
        # lower bounds of what has reached P stay so far below it, times a few
        away = _LOOSE * (1 + 1 / self.rate) + self.early * _ROUND
        self.fog = min(0.5, 16 * away)  # so close to P, relatively, nothing is decided
        self._kept: dict[int, Row] = {}

    def tokens(self, frequencies: Ints, words: Floats) -> Ints:
        """Tokens of keys, 0 if a key is not reported, and -1 where that is unclear.

        ``words`` are words / U as far as their first halves tell.
        """
        order = _by(frequencies)
        at, sorted_words = frequencies[order], words[order]
        starts = np.flatnonzero(np.diff(at, prepend=-1))
        parts = dict(zip(at[starts].tolist(), pairwise([*starts.tolist(), len(at)]), strict=True))
        found = np.empty(len(at), dtype=np.int64)
        for i, row in self._rows(at[starts]):
            here = slice(*parts[i])
            found[here] = self._look_up(i, row, sorted_words[here])
        tokens = np.empty(len(at), dtype=np.int64)
        tokens[order] = found
        return tokens

    def _look_up(self, i: int, row: Row, words: Floats) -> Ints:
        """The token is i less the number of T_i(x) that are not above the word."""
        reached = np.searchsorted(row.bounds, words, side="right") - 1
        above = row.bounds[reached] * (1 + row.slack) + (4 + row.slack) * _WORD <= words
        clear = above & (words < row.p * (1 - 2 * self.fog) - _WORD)
        gone = words > row.p * (1 + 4 * _LOOSE) + _WORD
        return np.where(clear, i - reached, np.where(gone, 0, -1))

    def _rows(self, levels: Ints) -> Iterator[tuple[int, Row]]:
        """The rows of ascending levels; those that fit are kept."""
        missing = np.array([i for i in levels.tolist() if i not in self._kept], dtype=np.int64)
        yield from ((i, self._kept[i]) for i in levels.tolist() if i in self._kept)
        wanted, cells = set(missing.tolist()), sum(len(r.bounds) for r in self._kept.values())
        apart = np.flatnonzero(np.diff(missing) > self.early) + 1
        for stretch in np.split(missing, apart) if len(missing) else []:
            for i, p, row in self._stretch(int(stretch[0]), int(stretch[-1])):
                if i not in wanted:
                    continue
                new = _row(p, row)
                cells += len(new.bounds)
                if cells < self.room:
                    self._kept[i] = new
                yield i, new

    def _stretch(self, first: int, last: int) -> Iterator[tuple[int, float, Floats]]:
        """(i, P_i, bounds of T_i(i - 1), T_i(i - 2), ... below the fog) from ``first`` on.

        It begins so early that what is left out has reached P by then.
        """
        start = max(1, first - self.early)
        p = self.reporting(np.arange(start - 1, last + 1))
        g, rounded = 1 + self.rate, 1 + _ROUND * _SIDES
        slope, gift, inverse = g * rounded, self.gift * rounded, rounded / g
        row, room = np.zeros((2, 1)), np.empty((2, 1))
        for i, (before, now) in enumerate(pairwise(p.tolist()), start):
            rest = self.gift + self.rate * now + (now - before) + _SIDES * 4 * _LOOSE * g * now
            if room.shape[1] < row.shape[1]:
                room = np.empty((2, 2 * row.shape[1]))
            new = np.multiply(row, slope, out=room[:, : row.shape[1]])
            new += gift
            row += np.minimum(self.gift + self.rate, rest)
            row *= inverse
            np.minimum(new, row, out=new)
            new = new[:, : int(np.searchsorted(new[0], now * (1 - self.fog)))]
            if i >= first:
                yield i, now, new
            row = np.concatenate([_NEW, new], axis=1)


def _row(p: float, row: Floats) -> Row:
    """What is kept: low' = low (1 - 4 loose) - word, and the slack.

    With high <= apart low, high (1 + 4 loose) + word <= (1 + slack) low' + (2 + slack) word.
    """
    apart = float((row[1] / row[0]).max(initial=1.0))
    slack = apart * (1 + 4 * _LOOSE) / (1 - 4 * _LOOSE) * (1 + _ROUND) - 1
    bounds = np.full(row.shape[1] + 1, -1.0)
    np.multiply(row[0], 1 - 4 * _LOOSE, out=bounds[1:])
    bounds[1:] -= _WORD
    return Row(p, bounds, slack)


def _by(frequencies: Ints) -> Ints:
    """Their order; numbers of 16 binary places are sorted without comparing."""
    low = frequencies - frequencies.min(initial=2**63 - 1)
    small = low.astype(np.uint16) if low.max(initial=0) < 1 << 16 else low
    order: Ints = np.argsort(small, kind="stable")
    return order
