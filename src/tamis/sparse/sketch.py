"""Count sketches: every cell is hashed to one bucket, with a sign, in each of d rows.

A sketch holds something of every cell, however many there are, and answers lists of cells. Its
error is about the norm of the whole table, over the root of its size; for tables with few large
cells the other summaries are better.

Guarantee: hashes are drawn before the data is looked at and published. Whatever they are, one unit
that changes the counts of the cells by at most s in total changes the buckets by at most s d, so
noise of rate epsilon / (s d) makes the table of buckets epsilon-differentially private, exactly.

References: Charikar, Chen, Farach-Colton, "Finding frequent items in data streams" (2002); Cormode,
Procopiuc, Srivastava, Tran (2012), where the norm in the variance must be squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import pi
from typing import Literal

import numpy as np
import numpy.typing as npt

from tamis.privacy.answer import Answer
from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.noise import fourth, two_sided, variance
from tamis.sparse.flat import Table
from tamis.sparse.hashing import Hash
from tamis.sparse.intervals import answer
from tamis.sparse.zeros import distinct

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = Literal["mean", "median"]


@dataclass(frozen=True)
class Sketch:
    """The radices of the cells, the hash of each row, the rate of the noise, and d x w buckets."""

    radices: tuple[int, ...]
    hashes: tuple[Hash, ...]
    rate: Fraction
    buckets: Ints

    @property
    def width(self) -> int:
        """w, the buckets of a row."""
        return int(self.buckets.shape[1])

    def __len__(self) -> int:
        """How many buckets there are."""
        return int(self.buckets.size)

    def cells(self, codes: Ints, rows: Rows = "mean") -> Floats:
        """An estimate of the count of each cell, given as columns of codes."""
        return _over(rows, self._each(codes))

    def point(self, cell: Sequence[int], rows: Rows = "mean", coverage: float = 0.95) -> Answer:
        """The count of one cell."""
        return self.subset(np.array(cell, dtype=np.int64).reshape(-1, 1), rows, coverage)

    def subset(self, codes: Ints, rows: Rows = "mean", coverage: float = 0.95) -> Answer:
        """The count of all cells of a list, each taken once.

        The mean over the rows is unbiased. Their median is less moved by a row in which a large
        cell is in the way; its standard error is that of normal rows, and too large for others.
        """
        self._check(codes)
        chosen = distinct(codes)
        sums, powers = self._sums(chosen)
        squares = float(np.sum(self.cells(chosen) ** 2))
        estimate = float(_over(rows, sums[:, None])[0])
        missed = chosen.shape[1] * self.second_moment() + float(sums.mean()) ** 2 - 2 * squares
        wider = pi / 2 if rows == "median" and len(sums) > 2 else 1.0
        spread = max(missed, 0.0) / self.width * len(sums) + variance(self.rate) * powers[0]
        tails = fourth(self.rate) * powers[1] * wider**2
        return answer(estimate, wider * spread / len(sums) ** 2, tails / len(sums) ** 4, coverage)

    def second_moment(self) -> float:
        """F2, the sum of the squares of all counts: that of the buckets less that of the noise."""
        squares = np.sum(self.buckets.astype(np.float64) ** 2, axis=1)
        return max(0.0, float(squares.mean()) - self.width * variance(self.rate))

    def _each(self, codes: Ints) -> Floats:
        """Row by row, the estimate of each cell."""
        found = [h(self.radices, codes, self.width) for h in self.hashes]
        pairs = zip(self.buckets, found, strict=True)
        return np.array([row[places] * signs for row, (places, signs) in pairs], dtype=np.float64)

    def _sums(self, codes: Ints) -> tuple[Floats, Floats]:
        """Row by row, the sum of the cells; and over all rows, powers of the weights of the noise.

        Cells of the list that share a bucket share its noise: hashes are known, so this is too.
        """
        sums, powers = list[float](), np.zeros(2)
        for row, h in zip(self.buckets, self.hashes, strict=True):
            places, signs = h(self.radices, codes, self.width)
            weights = np.bincount(places, weights=signs, minlength=self.width)
            sums.append(float(weights @ row))
            powers += [np.sum(weights**2), np.sum(weights**4)]
        return np.array(sums), powers

    def _check(self, codes: Ints) -> None:
        last = np.array([radix - 1 for radix in self.radices], dtype=np.int64)[:, None]
        if codes.shape[0] != len(last) or (codes < 0).any() or (codes > last).any():
            raise InvalidInput(
                f"A cell must have one code from 0 on for each radix, below "
                f"{shown(self.radices)}; check the cells that are asked for."
            )


def _over(rows: Rows, each: Floats) -> Floats:
    return np.asarray(each.mean(axis=0) if rows == "mean" else np.median(each, axis=0))


def summarize(table: Table, epsilon: Fraction, change: int, width: int, rows: int = 1) -> Sketch:
    """A sketch of a table of which one unit changes at most ``change`` in total."""
    if width < 1 or rows < 1:
        raise InvalidInput(
            f"A sketch needs at least one row of one bucket, not {shown(rows)} of {shown(width)}; "
            "take both from shape."
        )
    hashes = tuple(Hash.draw(table.radices) for _ in range(rows))
    rate = epsilon / (change * rows)
    buckets = two_sided(rate, rows * width).reshape(rows, width)
    for row, h in zip(buckets, hashes, strict=True):
        places, signs = h(table.radices, table.codes, width)
        np.add.at(row, places, signs * table.counts)
    return Sketch(table.radices, hashes, rate, buckets)


def shape(size: int, rows: Rows = "mean") -> tuple[int, int]:
    """The width w and the number d of rows of a sketch with at most ``size`` buckets.

    The mean of d rows has the variance F2 / (w d) + 2 d s^2 / epsilon^2, nearly: at a given size
    more rows are no help against other cells and make the noise larger, so there is one. A median
    needs some, and five are enough to pass over two bad ones.
    """
    d = 1 if rows == "mean" else 5
    if size < d:
        raise InvalidInput(f"size must be at least {d}, not {shown(size)}; give a larger size.")
    return size // d, d
