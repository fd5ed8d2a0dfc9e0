"""Which cells that hold nothing enter a summary, in time that does not depend on their number.

Each of m cells is to be chosen with probability p, independently. Throw a Poisson number of darts
of mean m mu, mu = -log(1 - p), at all m cells: the numbers of darts in the cells are independent,
and a cell is hit with probability 1 - exp(-mu) = p. `without` then leaves out what holds something.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from tamis.privacy.coins import poisson, uniform
from tamis.privacy.reals import Interval, Real, enclose
from tamis.sampling.arrow import column_of, numbers_of

Ints = npt.NDArray[np.int64]


def throw(radices: Sequence[int], p: Real) -> Ints:
    """Cells, as columns of codes (a row for each radix), each chosen with probability p."""
    m = prod(radices)
    darts = max(1, enclose(Real(_mean, (p, m, 1)), 0)[1])
    thrown = poisson(Real(_mean, (p, m, darts)), darts)
    return distinct(np.stack([uniform(radix, thrown) for radix in radices]))


def _mean(p: Real, m: int, parts: int, digits: int) -> Interval:
    """m mu / parts."""
    return -(1 - p(digits)).ln() * m / parts


def distinct(cells: Ints) -> Ints:
    """Each cell once, in order."""
    if len(cells) == 1:
        return np.unique(cells[0])[None]
    ordered = cells[:, np.lexsort(cells[::-1])]
    return ordered[:, _changes(ordered)]


def _changes(ordered: Ints) -> npt.NDArray[np.bool_]:
    """Where a new cell begins."""
    new = np.zeros(ordered.shape[1], dtype=np.bool_)
    new[:1] = True
    for codes in ordered:
        new[1:] |= codes[1:] != codes[:-1]
    return new


def grouped(cells: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Each cell once, in order, and the sum of its counts."""
    ordered, counts = _sorted(cells, counts)
    new = _changes(ordered)
    if new.all():
        return ordered, counts
    starts = np.flatnonzero(new)
    return ordered[:, starts], np.add.reduceat(counts, starts)


def _sorted(cells: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Cells in order, each with its count: in one word if both fit, which is sorted much faster."""
    many = int(counts.max(initial=0)).bit_length()
    wide = int(cells[0].max(initial=0)).bit_length()
    if len(cells) == 1 and many + wide <= 63 and counts.min(initial=0) >= 0:
        both = cells[0] << many
        both |= counts
        both.sort()
        return (both >> many)[None], both & ((1 << many) - 1)
    order = np.argsort(cells[0]) if len(cells) == 1 else np.lexsort(cells[::-1])
    return cells[:, order], counts[order]


def without(cells: Ints, held: Ints) -> Ints:
    """The cells, each there once, that are not among those held."""
    alike = pc.is_in(column_of(mixed(held)), value_set=column_of(mixed(cells)))
    near = held[
        :, numbers_of(pc.indices_nonzero(alike))
    ]  # few: those that are there, or look like it
    both = np.concatenate([near, cells], axis=1)
    ordered = np.lexsort(both[::-1])  # stable: what is held comes first
    same = np.zeros(len(ordered), dtype=np.bool_)
    same[1:] = (both[:, ordered[1:]] == both[:, ordered[:-1]]).all(axis=0)
    kept = np.sort(ordered[~same & (ordered >= near.shape[1])]) - near.shape[1]
    return cells[:, kept]


def mixed(cells: Ints) -> Ints:
    """One number for each cell; different cells seldom share one, and with one code never."""
    mark: Ints = cells[0]
    for codes in cells[1:]:
        mark = mark * _ODD + codes
    return mark


_ODD = np.int64(-7046029254386353131)  # 2^64 over the golden ratio, as is common for hashing
