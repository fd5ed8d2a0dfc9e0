"""Tokens under a sampling scheme, found by walking each word backwards through the survival map."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.privacy.verify import Survival, U
from tamis.weighted.jump import Jump
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.pieces import Pieces
from tamis.weighted.rows import CELLS, RowTable
from tamis.weighted.words import CHUNK, FirstHalves, Ints, Table, Words

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

MANY = 100_000  # from so many keys on, rows of low frequencies are written out
LOW = 1 << 16  # frequencies below it may be looked up
_LOOSE = 2.0**-40  # what an enclosure leaves, relatively, for the error of a float q (below 2^-45)
_ROUND = 2.0**-48  # and for the rounding of one step
_HALF = 2.0**64
_TOP = 1 - 2.0**-50  # above it, words near 2^64 are always compared in full


class SchemeSampler:
    """A scheme: first whether the key is reported, then its token by walking the word backwards.

    Probabilities are enclosed in intervals that surely hold the exact value. A decision is taken
    only if the whole interval agrees; every other key is decided by the integers in full.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.scheme, self.law = mechanism.scheme, mechanism.integers
        self.elsewhere = mechanism.elsewhere
        entries = mechanism.integers.draw()
        self.table, self.width = Table(entries[1:-1]), len(entries)
        below = self.law.below()
        self.odd = np.array(sorted(below), dtype=np.int64)
        self.odd_values = np.array([below[int(i)] / U for i in self.odd])
        self.low = np.arange(min(int(self.odd[-1]) + 1, LOW) if below else 0)
        self.low_values, self.low_odd = self._reporting(self.low)
        settled = self.law.scheme.settled()
        self.sure = settled if self.law.scheme.units(settled) == U else None
        self.quiet = max([settled, *below])
        self.pieces = Pieces(self.law, mechanism.stride) if mechanism.tokens == "fine" else None
        self.jump = Jump(self.law, self.scheme.probability)
        self.free = 0 if self.elsewhere or self.pieces else _free(self.law)
        self.rows: RowTable | None = None

    def draw(self, frequencies: Ints) -> Ints:
        """Tokens of all keys; those that must be walked are, together, at the end."""
        tokens = np.zeros(len(frequencies), dtype=np.int64)
        self._prepare(frequencies)
        late, words = [np.empty(0, dtype=np.int64)], list[Words]()
        for start in range(0, len(frequencies), CHUNK):
            part = frequencies[start : start + CHUNK]
            drawn = Words.draw(len(part))
            hard = self._quick(part, drawn, tokens[start : start + CHUNK])
            late.append(start + hard)
            words.append(drawn.at(hard))
        where, left = np.concatenate(late), Words.joined(words)
        for start in range(0, len(where), CHUNK):
            part = np.arange(start, min(start + CHUNK, len(where)))
            tokens[where[part]] = self._slow(frequencies[where[part]], left.at(part))
        return tokens

    def _prepare(self, frequencies: Ints) -> None:
        """Write out the rows of frequencies that are too low for a jump, if many keys have them."""
        last = self.quiet + self.width  # above it, all is a shift of one row
        if last * self.width > CELLS:
            last = self.jump.first + self.width
        low = np.count_nonzero((frequencies > self.free) & (frequencies <= last))
        if not self.elsewhere and not self.pieces and low > MANY:
            self.rows = self.rows or RowTable(self.law, last)

    def _quick(self, frequencies: Ints, words: Words, tokens: Ints) -> Ints:
        """Fill in the tokens that need no walk; return where the others are."""
        if self.free and len(frequencies) and frequencies.min() <= self.free:
            return self._freely(frequencies, words, tokens)
        return self._bound(frequencies, words, tokens)

    def _freely(self, frequencies: Ints, words: Words, tokens: Ints) -> Ints:
        """Where q never binds, one table serves all frequencies, as without sampling."""
        free = frequencies <= self.free
        here, rest = np.flatnonzero(free), np.flatnonzero(~free)
        tokens[here] = np.maximum(frequencies[here] - self.table.reached(words.at(here)), 0)
        if not len(rest):
            return rest
        other = np.zeros(len(rest), dtype=np.int64)
        hard = self._bound(frequencies[rest], words.at(rest), other)
        tokens[rest] = other
        return rest[hard]

    def _bound(self, frequencies: Ints, words: Words, tokens: Ints) -> Ints:
        reported, p = self.reported(frequencies, words)
        found = np.flatnonzero(reported)
        if self.pieces:
            return found
        if self.sure is not None:
            easy = frequencies[found] > self.quiet + self.width
            there, found = found[easy], found[~easy]
            tokens[there] = frequencies[there] - self.table.reached(words.at(there))
        if self.rows:
            low = found[frequencies[found] <= self.rows.last]
            tokens[low] = self.rows.tokens(frequencies[low], words.first[low])
            found = found[tokens[found] == 0]
        word = (words.first[found].astype(np.float64) + 0.5) / _HALF
        word = word * p[found] if self.elsewhere else word  # where q is calm, P = q
        tokens[found] = self.jump.tokens(frequencies[found], p[found], word)
        hard: Ints = found[tokens[found] == 0]
        return hard

    def _slow(self, frequencies: Ints, words: Words) -> Ints:
        if not self.pieces:
            return self.walk(frequencies, words)
        exact = [self.word(i, words, n) for n, i in enumerate(frequencies.tolist())]
        return np.array(
            [self.pieces.token(i, u) for i, u in zip(frequencies.tolist(), exact, strict=True)],
            dtype=np.int64,
        )

    def word(self, frequency: int, words: Words, n: int) -> int:
        """The word on the scale of end-to-end probability: below q_i if the key was sampled."""
        word = words.full(n)
        return word * self.law.scheme.units(frequency) >> 128 if self.elsewhere else word

    def reporting(self, frequencies: Ints) -> tuple[Floats, Mask]:
        """P_i / U in floating point, and where it is below q_i; low frequencies are looked up."""
        high = np.flatnonzero(frequencies >= len(self.low))
        if len(high) == len(frequencies):
            return self._reporting(frequencies)
        place = np.minimum(frequencies, len(self.low) - 1)
        p, odd = self.low_values[place], self.low_odd[place]
        p[high], odd[high] = self._reporting(frequencies[high])
        return p, odd

    def _reporting(self, frequencies: Ints) -> tuple[Floats, Mask]:
        p = self.scheme.probability(frequencies)
        odd = np.zeros(len(p), dtype=np.bool_)
        if len(self.odd) and len(p) and frequencies.min() <= self.odd[-1]:
            place = np.minimum(np.searchsorted(self.odd, frequencies), len(self.odd) - 1)
            odd = self.odd[place] == frequencies
            p = np.where(odd, self.odd_values[place], p)
        return p, odd

    def reported(self, frequencies: Ints, words: Words) -> tuple[Mask, Floats]:
        """Whether each key is reported, and P_i / U."""
        p, odd = self.reporting(frequencies)
        share = p
        certain = np.zeros(len(p), dtype=np.bool_)
        if self.sure is not None:
            certain = (frequencies >= self.sure) & ~odd
        if self.elsewhere:  # given that the key was sampled
            share, certain = p / self.scheme.probability(frequencies), ~odd
        reported = (words.first < _units(share * (1 - _LOOSE))) | certain
        most = share * (1 + _LOOSE)
        unclear = ~reported & ((words.first <= _units(most) + np.uint64(1)) | (most > _TOP))
        for n in np.flatnonzero(unclear):
            i = int(frequencies[n])
            reported[n] = self.word(i, words, int(n)) < self.law.reporting(i)
        return reported, p

    def walk(self, frequencies: Ints, words: Words) -> Ints:
        """Tokens of reported keys. Step back through T_i while the word is above T_i(i - 1)."""
        level = frequencies
        low = words.first.astype(np.float64) / _HALF
        high = low + 2 / _HALF
        if self.elsewhere:
            q = self.scheme.probability(level)
            low, high = low * q, high * q
        low, high = low * (1 - _LOOSE), high * (1 + _LOOSE)
        tokens, active = np.zeros(len(words), dtype=np.int64), np.arange(len(words))
        now = self.reporting(level)[0]
        gift, growth = self.law.D / U, self.law.M / 2**self.law.k
        while len(active):
            stop = np.minimum(now * (1 - _LOOSE), gift * (1 - _ROUND))
            ended = high < stop
            tokens[active[ended]] = level[ended]
            on = low >= np.minimum(now * (1 + _LOOSE), gift * (1 + _ROUND))
            active, level = active[on], level[on] - 1
            now, low, high = now[on], low[on], high[on]
            before = self.reporting(level)[0]
            low, high = _back(low, high, now, before, gift, growth)
            now = before
        for n in np.flatnonzero(tokens == 0):  # unclear somewhere on the way
            i = int(frequencies[n])
            tokens[n] = self.law.walk(i, self.word(i, words, int(n)))[0]
        return tokens


def _free(law: Survival) -> int:
    """The last frequency up to which q has never been the smaller bound of P."""
    below, n = law.below(), 1
    while n in below:
        n += 1
    settled = law.scheme.units(n) == U == law.cap(law.reporting(n - 1))
    return 2**63 - 1 if settled else n - 1


def _units(p: Floats) -> FirstHalves:
    """p 2^64 rounded down, at most 2^64 - 2^11."""
    return np.minimum(p * _HALF, _HALF - 2.0**11).astype(np.uint64)


def _back(
    low: Floats, high: Floats, now: Floats, before: Floats, gift: float, growth: float
) -> tuple[Floats, Floats]:
    """Enclose the s with T_i(x) = u, s = T_{i-1}(x): the largest of three inverse affine maps."""
    loose = _LOOSE * (before + growth * now)
    rest = before - gift - growth * now
    low = np.maximum(
        (low * (1 - _ROUND) - gift * (1 + _ROUND)) / growth * (1 - _ROUND),
        np.maximum(rest + growth * low - loose, 1 - gift - growth * (1 - low) - growth * _ROUND),
    )
    high = np.maximum(
        (high * (1 + _ROUND) - gift * (1 - _ROUND)) / growth * (1 + _ROUND),
        np.maximum(rest + growth * high + loose, 1 - gift - growth * (1 - high) + growth * _ROUND),
    )
    return low, high
