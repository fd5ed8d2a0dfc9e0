"""A law piece by piece: columns that fit in memory, and rows of ascending frequencies.

The probabilities pi_ij form a band: token j only comes from frequencies j, ..., j + width - 1, less
the head start of the law.
Where pi has reached its last value, every row and every column is a shift of the one before, and
one of them serves for all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise, repeat

import numpy as np
import numpy.typing as npt

from tamis.weighted.laws import Column, Law, SurvivalLaw

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CELLS = 1 << 21  # probabilities held at a time: 16 MB for each array of them
_SPAN = 1 << 18  # frequencies whose pi is held at a time
_FAR = 2**62  # a frequency at which every scheme has reached its last value


def offsets(law: Law, tokens: Ints, look: Callable[[Column], Ints]) -> Ints:
    """How far from every token the frequencies are whose places in its column ``look`` gives.

    Equal tokens, and tokens whose columns are shifts of one another, are looked at once.
    """
    distinct, place = np.unique(tokens, return_inverse=True)
    alike = _settled(law, distinct - 1 - law.head_start)
    found = [look(column) for column in _columns(law, distinct[: alike + 1])]
    return np.concatenate(found)[np.minimum(place, alike)] - law.head_start


def each_column(law: Law, first: int, last: int) -> Iterator[tuple[Floats, Floats]]:
    """(pi_ij, S_i(j)) over the frequencies i of a column, for j = first, ..., last."""
    tokens = np.arange(first, last + 1)
    alike = _settled(law, tokens - 1 - law.head_start)
    for column in _columns(law, tokens[: alike + 1]):
        exactly, above = column.exactly, column.above
        yield from zip(exactly, above, strict=True)
    yield from repeat((exactly[-1], above[-1]), max(0, len(tokens) - alike - 1))


def rows(law: Law, frequencies: Ints) -> Iterator[Floats]:
    """pi_ij for each of the ascending frequencies i: its last ``width`` tokens."""
    if not isinstance(law, SurvivalLaw):
        yield from (law.row(int(i))[1] for i in frequencies)
        return
    short = int(np.searchsorted(frequencies, law.width, side="right"))
    alike = short + _settled(law, frequencies[short:] - law.width)
    row = np.empty(0)
    for run in _runs(frequencies[: alike + 1], law.width):
        for row in _scan(law, run):
            yield row
    yield from repeat(row, max(0, len(frequencies) - alike - 1))


def _columns(law: Law, tokens: Ints) -> Iterator[Column]:
    step = max(1, CELLS // law.width)
    return (law.columns(tokens[n : n + step]) for n in range(0, max(1, len(tokens)), step))


def _settled(law: Law, ascending: Ints) -> int:
    """Index of the first frequency from which pi stays at its last value."""
    end = law.reporting(_FAR)
    return bisect_left(ascending, True, key=lambda i: bool(law.reporting(i) == end))


def _runs(frequencies: Ints, width: int) -> list[Ints]:
    """Cut where no token is shared, and where a run would be too long to hold."""
    cuts = np.diff(frequencies) >= width
    cuts |= np.diff(frequencies // _SPAN) > 0
    return np.split(frequencies, np.flatnonzero(cuts) + 1) if len(frequencies) else []


def _scan(law: SurvivalLaw, run: Ints) -> Iterator[Floats]:
    """Rows of one run: each row is one step of the survival map from the row before."""
    first = max(1, int(run[0]) - law.width + 1)
    pi = law.reporting(np.arange(first - 1, int(run[-1]) + 1))
    wanted, s = set(run.tolist()), np.empty(0)
    for i, (before, now) in enumerate(pairwise(pi), start=first):
        s = law._step(np.append(s[-law.width + 1 :], 0.0), before, now)
        if i in wanted:
            yield s - np.append(s[1:], 0.0)
