"""One word per key, compared with integers: the draw behind every release.

Guarantee: `draw` gives a key of frequency i the token x with exactly the probability
(T_i(x - 1) - T_i(x)) / 2^128 of the integers in `privacy.verify`, and 0 (not reported) otherwise.

A word has 128 binary places, of which 64 are drawn at once. They decide almost always; where they
do not, the other 64 are drawn and the integers are compared in full.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import numpy.typing as npt

from tamis.privacy import randomness
from tamis.privacy.verify import Survival, U
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.rows import RowTable

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

CHUNK = 1 << 16  # keys at a time: what is worked on stays in the processor's cache
MANY = 200_000  # from so many keys on, rows of low frequencies are written out
LOW = 1 << 16  # frequencies below it may be looked up
_LOOSE = 2.0**-40  # what an enclosure leaves, relatively, for the error of a float q (below 2^-45)
_ROUND = 2.0**-48  # and for the rounding of one step
_HALF = 2.0**64
_TOP = 1 - 2.0**-50  # above it, words near 2^64 are always compared in full


def draw(mechanism: Mechanism, frequencies: Ints) -> Ints:
    """A token for every frequency; 0 where the key is not reported."""
    tokens = np.empty(len(frequencies), dtype=np.int64)
    many = len(frequencies) > MANY
    sampler = TableSampler(mechanism) if mechanism.everything else SchemeSampler(mechanism, many)
    for start in range(0, len(frequencies), CHUNK):
        part = frequencies[start : start + CHUNK]
        tokens[start : start + CHUNK] = sampler.tokens(part, Words(len(part)))
    return tokens


class Words:
    """A chunk of words: first halves at once, second halves when they are needed, once each."""

    def __init__(self, count: int) -> None:
        self.first = randomness.words(count)
        self._second: dict[int, int] = {}

    def full(self, n: int) -> int:
        if n not in self._second:
            self._second[n] = int(randomness.words(1)[0])
        return int(self.first[n]) << 64 | self._second[n]


class TableSampler:
    """Every key is looked at: token = frequency - D, one table for all frequencies."""

    def __init__(self, mechanism: Mechanism) -> None:
        table, self.stride = mechanism.draw
        self.length, self.inner = len(table), table[1:-1]
        self.halves = np.array([c >> 64 for c in self.inner], dtype=np.uint64)

    def tokens(self, frequencies: Ints, words: Words) -> Ints:
        noise = self.noise(words, np.arange(len(frequencies)))
        np.subtract(frequencies if self.stride == 1 else frequencies * self.stride, noise, noise)
        return np.maximum(noise, 0, out=noise)

    def noise(self, words: Words, where: Ints) -> Ints:
        """D for the words at ``where``: how many entries of the table they reach."""
        first = words.first if len(where) == len(words.first) else words.first[where]
        reached = np.searchsorted(self.halves, first, side="right")
        if len(self.halves):
            tied = self.halves[np.maximum(reached, 1) - 1] == first
            for n in np.flatnonzero(tied):
                reached[n] = bisect_right(self.inner, words.full(int(where[n])))
        return reached


class SchemeSampler:
    """A scheme: first whether the key is reported, then its token by walking the word backwards.

    Probabilities are enclosed in intervals that surely hold the exact value. A decision is taken
    only if the whole interval agrees; every other key is decided by the integers in full.
    """

    def __init__(self, mechanism: Mechanism, many: bool = False) -> None:
        self.scheme, self.law = mechanism.scheme, mechanism.integers
        self.elsewhere = mechanism.elsewhere
        self.table = TableSampler(mechanism)
        below = self.law.below()
        self.odd = np.array(sorted(below), dtype=np.int64)
        self.odd_values = np.array([below[int(i)] / U for i in self.odd])
        self.low = np.arange(min(int(self.odd[-1]) + 1, LOW) if below else 0)
        self.low_values, self.low_odd = self._reporting(self.low)
        settled = self.law.scheme.settled()
        self.sure = settled if self.law.scheme.units(settled) == U else None
        self.quiet = max([settled, *below])
        self.pieces = Pieces(self.law, mechanism.stride) if mechanism.tokens == "fine" else None
        self.rows = RowTable(self.law) if many and not self.elsewhere and not self.pieces else None

    def tokens(self, frequencies: Ints, words: Words) -> Ints:
        tokens = np.zeros(len(frequencies), dtype=np.int64)
        found = np.flatnonzero(self.reported(frequencies, words))
        if self.pieces:
            tokens[found] = [
                self.pieces.token(
                    int(frequencies[n]), self.word(int(frequencies[n]), words, int(n))
                )
                for n in found
            ]
            return tokens
        easy = np.zeros(len(found), dtype=np.bool_)
        if self.sure is not None:
            easy = frequencies[found] > self.quiet + self.table.length
        tokens[found[easy]] = frequencies[found[easy]] - self.table.noise(words, found[easy])
        hard = found[~easy]
        if self.rows:
            low = hard[frequencies[hard] <= self.rows.last]
            tokens[low] = self.rows.tokens(frequencies[low], words.first[low])
            hard = hard[tokens[hard] == 0]
        tokens[hard] = self.walk(frequencies, words, hard)
        return tokens

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

    def reported(self, frequencies: Ints, words: Words) -> Mask:
        p, odd = self.reporting(frequencies)
        certain = np.zeros(len(p), dtype=np.bool_)
        if self.sure is not None:
            certain = (frequencies >= self.sure) & ~odd
        if self.elsewhere:  # given that the key was sampled
            p, certain = p / self.scheme.probability(frequencies), ~odd
        reported = (words.first < _units(p * (1 - _LOOSE))) | certain
        most = p * (1 + _LOOSE)
        unclear = ~reported & ((words.first <= _units(most) + np.uint64(1)) | (most > _TOP))
        for n in np.flatnonzero(unclear):
            i = int(frequencies[n])
            reported[n] = self.word(i, words, int(n)) < self.law.reporting(i)
        return reported

    def walk(self, frequencies: Ints, words: Words, where: Ints) -> Ints:
        """Tokens of reported keys. Step back through T_i while the word is above T_i(i - 1)."""
        level = frequencies[where]
        low = words.first[where].astype(np.float64) / _HALF
        high = low + 2 / _HALF
        if self.elsewhere:
            q = self.scheme.probability(level)
            low, high = low * q, high * q
        low, high = low * (1 - _LOOSE), high * (1 + _LOOSE)
        tokens, active = np.zeros(len(where), dtype=np.int64), np.arange(len(where))
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
            i = int(frequencies[where[n]])
            tokens[n] = self.law.walk(i, self.word(i, words, int(where[n])))[0]
        return tokens


def _units(p: Floats) -> npt.NDArray[np.uint64]:
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


class Pieces:
    """Fine tokens under a scheme: every token is cut where the slope of some row changes.

    Token number = (whole token - 1) stride + 1 + piece. All in whole numbers, key by key.
    """

    def __init__(self, law: Survival, stride: int) -> None:
        self.law, self.stride = law, stride
        self._places: dict[int, list[int]] = {}

    def token(self, frequency: int, word: int) -> int:
        whole, place = self.law.walk(frequency, word)
        if whole not in self._places:
            found = self.law.pieces(whole, whole + self.law.width())
            self._places[whole] = found.get(whole, [])
        above = sum(place < p for p in self._places[whole])
        return (whole - 1) * self.stride + 1 + above
