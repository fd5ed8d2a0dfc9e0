"""Whole arrays of exact draws: coins, Poisson sums, and uniform whole numbers.

Every draw is an unbounded random word, of which only the places that decide are drawn. A coin of
probability p shows heads if its word is below p. So the law is exact for any real p, and almost
every coin costs 16 binary places.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count

import numpy as np
import numpy.typing as npt

from tamis.privacy import randomness
from tamis.privacy.reals import Interval, Real, enclose

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_PLACES = 16
_LAST = 2**64 - 1
_AT_ONCE = 1 << 18  # what is worked on stays in the cache of the processor


def coins(p: Real, n: int) -> Mask:
    """n independent coins, each heads with probability p, exactly."""
    low, high = enclose(p, _PLACES)
    heads, unclear = np.empty(n, dtype=np.bool_), list[Ints]()
    for start in range(0, n, _AT_ONCE):
        words = _short_words(min(_AT_ONCE, n - start))
        np.less(words, low, out=heads[start : start + len(words)])
        near = np.flatnonzero((words >= low) & (words < high))
        if len(near):
            unclear.append(np.stack([start + near, words[near]]))
    if unclear:
        _settle(p, heads, *np.concatenate(unclear, axis=1))
    return heads


def _settle(p: Real, heads: Mask, where: Ints, begins: Ints) -> None:
    """Toss again for words that begin like p: what they go on with decides."""
    for word in np.unique(begins).tolist():
        here = where[begins == word]
        heads[here] = coins(_rest(p, word), len(here))


def poisson(mean: Real, n: int) -> int:
    """The sum of n independent Poisson variables of this mean, at most 1: exact, no tail is cut."""
    words, (low, high) = randomness.words(n), _poisson_table(mean)
    most = np.searchsorted(low, words, side="right")
    clear = (np.searchsorted(high, words, side="right") == most) & (words < _LAST)
    rare = sum(_reached(mean, int(word)) for word in words[~clear])
    return int(most[clear].sum()) + rare


@lru_cache(64)
def _poisson_table(mean: Real) -> tuple[randomness.Words, randomness.Words]:
    """Numbers around 2^64 Pr[X <= k], as far as there are words above them."""
    below = _poisson_bounds(mean)
    ends = [enclose(next(below), 64)]
    while ends[-1][0] < _LAST:
        ends.append(enclose(next(below), 64))
    low, high = (
        np.array([min(e, _LAST) for e in side], np.uint64) for side in zip(*ends, strict=True)
    )
    return low, high


def _poisson_bounds(mean: Real) -> Iterator[Real]:
    """Pr[X <= 0], Pr[X <= 1], ... of a Poisson variable."""
    for k in count():
        yield Real(_poisson_below, (mean, k))


def _poisson_below(mean: Real, k: int, digits: int) -> Interval:
    return _poisson_terms(mean, k, digits)[1]


@lru_cache(1 << 12)
def _poisson_terms(mean: Real, k: int, digits: int) -> tuple[Interval, Interval]:
    """Pr[X = k] and Pr[X <= k]."""
    rate = mean(digits)
    if k == 0:
        return (-rate).exp(), (-rate).exp()
    term, total = _poisson_terms(mean, k - 1, digits)
    term = term * rate / k
    return term, total + term


def _reached(mean: Real, word: int) -> int:
    """The variable whose word begins with these 64 places; more are drawn, once, where needed."""
    places = 64
    for k, bound in enumerate(_poisson_bounds(mean)):
        while True:
            low, high = enclose(bound, places)
            if word < low:
                return k
            if word >= high:
                break
            word, places = word << 64 | int(randomness.words(1)[0]), places + 64
    raise AssertionError("there are infinitely many bounds")


def uniform(bound: int, n: int) -> Ints:
    """n whole numbers, each exactly uniform on 0, 1, ..., bound - 1, for a bound up to 2^63."""
    if bound == 1:
        return np.zeros(n, dtype=np.int64)
    shift = np.uint64(64 - (bound - 1).bit_length())
    drawn = (randomness.words(n) >> shift).astype(np.int64)
    while len(again := np.flatnonzero(drawn >= bound)):
        drawn[again] = (randomness.words(len(again)) >> shift).astype(np.int64)
    return drawn


def _short_words(n: int) -> npt.NDArray[np.uint16]:
    return randomness.words(-(-n // 4)).view(np.uint16)[:n]


def _rest(p: Real, word: int) -> Real:
    """What the rest of a short word is compared with, after it began with ``word``."""
    return Real(_after, (p, word))


def _after(p: Real, word: int, digits: int) -> Interval:
    return p(digits) * (1 << _PLACES) - word
