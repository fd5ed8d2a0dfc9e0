"""Tokens under a sampling scheme: each word is walked backwards through the survival map."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.privacy.verify import Survival, U
from tamis.weighted.jump import Jump
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.pieces import Pieces
from tamis.weighted.reporting import MOST, Reporting
from tamis.weighted.sweep import Sweep
from tamis.weighted.words import CHUNK, FirstHalves, Ints, Table, Words

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_LOOSE = 2.0**-40  # what an enclosure leaves, relatively, for the error of a float q (below 2^-45)
_ROUND = 2.0**-48  # and for the rounding of one step
_HALF = 2.0**64
# a walk takes about a third of the width in steps; a row costs as much as 240 steps, and 0.2 more
# for each of its entries
_ROW, _CELL = 720, 0.6
_BATCH = 1 << 20  # so many keys wait for a sweep
_SHARED = 2000  # and so many for each row, if rows are too long to be kept
_LAST = 2**63 - 1
_TOP = 1 - 2.0**-50  # above it, words near 2^64 are always compared in full


Part = tuple[Ints, Words]  # where some keys stand, and their words


class SchemeSampler:
    """A scheme: first whether the key is reported, then its token by walking the word backwards.

    Few keys are really walked. Where q never binds one table serves all, where q is calm a walk is
    one jump, and where many keys share a few frequencies these are swept row after row.

    Probabilities are enclosed in intervals that surely hold the exact value. A decision is taken
    only if the whole interval agrees; every other key is decided by the integers in full.
    """

    def __init__(self, mechanism: Mechanism, most: int = 0) -> None:
        self.scheme, self.law = mechanism.scheme, mechanism.integers
        self.elsewhere = mechanism.elsewhere
        entries = mechanism.integers.draw()
        self.table, self.width = Table(entries[1:-1]), len(entries)
        self.reporting = Reporting(self.law, self.scheme, min(most + 1, MOST))
        settled = self.law.scheme.settled()
        self.sure = settled if self.law.scheme.units(settled) == U else None
        self.quiet = max([settled, *self.law.below()])
        self.pieces = Pieces(self.law, mechanism.stride) if mechanism.tokens == "fine" else None
        self.jump = Jump(self.law, self.reporting.q)
        self.free = 0 if self.elsewhere or self.pieces else _free(self.law)
        self.sated = _LAST if self.pieces or self.sure is None else self.quiet + self.width
        self.sweep = Sweep(self.law, self.reporting.p)
        self.gaps = _gaps(self.free, self.jump, self.width, self.quiet if self.sure else _LAST)
        self.swept, self.batch, self.most = self.gaps[:0], _BATCH, np.uint64(0)

    def draw(self, frequencies: Ints) -> Ints:
        """Tokens of all keys; those that must be swept or walked are, together, at the end."""
        tokens = np.zeros(len(frequencies), dtype=np.int64)
        self._prepare(frequencies)
        near, late = list[Part](), list[Part]()
        for start in range(0, len(frequencies), CHUNK):
            here = slice(start, start + CHUNK)
            drawn = Words.draw(len(frequencies[here]))
            swept, walked = self._quick(frequencies[here], drawn, tokens[here])
            near.append((start + swept[0], swept[1]))
            late.append((start + walked[0], walked[1]))
            if sum(len(where) for where, _ in near) > self.batch:
                late.append(self._sweep(frequencies, near, tokens))
                near = []
        late.append(self._sweep(frequencies, near, tokens))
        where, words = _joined(late)
        for start in range(0, len(where), CHUNK):
            part = np.arange(start, min(start + CHUNK, len(where)))
            tokens[where[part]] = self._slow(frequencies[where[part]], words.at(part))
        return tokens

    def _prepare(self, frequencies: Ints) -> None:
        """Choose the ranges of frequencies whose rows cost less than as many walks."""
        if self.pieces or not len(self.gaps):
            return
        lows, highs = self.gaps.T
        place = np.searchsorted(self.gaps.ravel(), frequencies, side="right")
        keys = np.bincount(place, minlength=2 * len(lows) + 1)[1::2]
        ends = self.reporting.p(lows), self.reporting.p(highs - 1)
        found = keys * (1.0 if self.elsewhere else (ends[0] + ends[1]) / 2)
        rows = highs.astype(np.float64) - lows + self.sweep.early
        dense = found * self.width > rows * (_ROW + _CELL * self.width)
        self.swept = self.gaps[dense]
        if len(self.swept):
            most = float(ends[1][dense].max()) * (1 + _LOOSE)
            few = not self.elsewhere and most <= _TOP
            self.most = np.uint64(int(most * _HALF) + 1 if few else 2**64 - 1)
            needed = int(rows[dense].sum())
            fits = needed * self.width < self.sweep.room
            self.batch = _BATCH if fits else max(_BATCH, _SHARED * needed)

    def _quick(self, frequencies: Ints, words: Words, tokens: Ints) -> tuple[Part, Part]:
        """Fill in tokens that have a closed form; the keys to be swept, and to be walked."""
        free = (frequencies <= self.free) | (frequencies > self.sated)
        near = _inside(self.swept, frequencies)
        here = np.flatnonzero(free)
        tokens[here] = np.maximum(frequencies[here] - self.table.reached(words.at(here)), 0)
        swept = np.flatnonzero(near & (words.first <= self.most))
        rest = np.flatnonzero(~(free | near))
        left = words if len(rest) == len(frequencies) else words.at(rest)
        other = np.zeros(len(rest), dtype=np.int64)
        hard = self._bound(frequencies[rest], left, other)
        tokens[rest] = other
        return (swept, words.at(swept)), (rest[hard], left.at(hard))

    def _bound(self, frequencies: Ints, words: Words, tokens: Ints) -> Ints:
        """The same for keys that q may bind; where those to be walked are."""
        reported, p = self.reported(frequencies, words)
        found = np.flatnonzero(reported)
        if self.pieces:
            return found
        word = self._words(p[found], words.at(found))  # where q is calm, P = q
        tokens[found] = self.jump.tokens(frequencies[found], p[found], word)
        hard: Ints = found[tokens[found] == 0]
        return hard

    def _words(self, q: Floats, words: Words) -> Floats:
        """Words / U as far as their first halves tell, on the scale of end-to-end probability."""
        word: Floats = (words.first.astype(np.float64) + 0.5) / _HALF
        return word * q if self.elsewhere else word

    def _sweep(self, frequencies: Ints, near: list[Part], tokens: Ints) -> Part:
        """Fill in tokens row after row; those that are not clear must be walked."""
        where, words = _joined(near)
        i = frequencies[where]
        found = self.sweep.tokens(i, self._words(self.reporting.q(i), words))
        tokens[where] = np.maximum(found, 0)
        unclear = np.flatnonzero(found < 0)
        left = words.at(unclear)
        reported = self.reported(i[unclear], left)[0]
        return where[unclear[reported]], left.at(np.flatnonzero(reported))

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

    def reported(self, frequencies: Ints, words: Words) -> tuple[Mask, Floats]:
        """Whether each key is reported, and P_i / U."""
        p = share = self.reporting.p(frequencies)
        certain = np.zeros(len(p), dtype=np.bool_)
        if self.sure is not None:
            certain = (frequencies >= self.sure) & ~self.reporting.odd(frequencies)
        if self.elsewhere:  # given that the key was sampled
            share = p / self.reporting.q(frequencies)
            certain = ~self.reporting.odd(frequencies)
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
            q = self.reporting.q(level)
            low, high = low * q, high * q
        low, high = low * (1 - _LOOSE), high * (1 + _LOOSE)
        tokens, active = np.zeros(len(words), dtype=np.int64), np.arange(len(words))
        now = self.reporting.p(level)
        gift, growth = self.law.D / U, self.law.M / 2**self.law.k
        while len(active):
            stop = np.minimum(now * (1 - _LOOSE), gift * (1 - _ROUND))
            ended = high < stop
            tokens[active[ended]] = level[ended]
            on = low >= np.minimum(now * (1 + _LOOSE), gift * (1 + _ROUND))
            active, level = active[on], level[on] - 1
            now, low, high = now[on], low[on], high[on]
            before = self.reporting.p(level)
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
    return _LAST if settled else n - 1


def _gaps(free: int, jump: Jump, width: int, quiet: int) -> Ints:
    """Ranges [low, high) of frequencies from which a walk is likely to leave where q is calm."""
    found: list[list[int]] = []
    for stop, start in zip(
        [free, *jump.stops.tolist()], [*jump.starts.tolist(), quiet], strict=True
    ):
        low, high = stop + 1, min(min(start, quiet) + width + 1, _LAST)
        if found and low <= found[-1][1]:
            found[-1][1] = max(found[-1][1], high)
        elif low < high:
            found.append([low, high])
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _joined(parts: list[Part]) -> Part:
    where = np.concatenate([np.empty(0, dtype=np.int64), *(where for where, _ in parts)])
    return where, Words.joined([words for _, words in parts])


def _inside(ranges: Ints, frequencies: Ints) -> Mask:
    """Which frequencies lie in one of some ranges [low, high), in order."""
    if len(ranges) > 4:
        odd: Mask = np.searchsorted(ranges.ravel(), frequencies, side="right") % 2 == 1
        return odd
    inside = np.zeros(len(frequencies), dtype=np.bool_)
    for low, high in ranges:
        inside |= (frequencies >= low) & (frequencies < high)
    return inside


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
