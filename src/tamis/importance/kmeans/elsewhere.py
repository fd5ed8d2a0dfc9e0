"""Rows that stay where they are, on many machines: what k-means asks of them there.

The mean and the norms are sums of whole numbers, which can be added in any order. The sample is
drawn where the rows are, and is all that comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from tamis.importance.kmeans.grid import Floats, Grid
from tamis.importance.kmeans.run import Here, Middle, centre_around
from tamis.importance.kmeans.totals import Ints, Points
from tamis.importance.sample import poisson
from tamis.importance.samplers import Sampler

_AT_ONCE = 1 << 20  # rows: sums of as many have 44 bits at most


@runtime_checkable
class ScatteredRows(Protocol):
    """Rows of finite numbers on many machines. What they are asked for may be computed twice."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def total(self, work: Callable[[Floats], Ints]) -> Ints:
        """What ``work`` gives for some rows at a time, added up over all of them."""
        ...

    def gather(self, work: Callable[[Floats], Floats]) -> Floats:
        """The rows that ``work`` gives for some rows at a time: one result of each, whole."""
        ...


@dataclass(frozen=True)
class Elsewhere:
    """Scattered rows, put on a grid: `run.Places`."""

    rows: ScatteredRows
    grid: Grid

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    def sums(self) -> Ints:
        return self.rows.total(partial(_sums, self.grid))

    def norms(self, place: Floats, top: int) -> Ints:
        return self.rows.total(partial(_norms, self.grid, place, top))

    def sampled(self, middle: Middle, sampler: Sampler) -> Points:
        """A weighted sample of the points around the middle."""
        found = self.rows.gather(partial(_sampled, self.grid, middle, sampler))
        return Points.weighted(np.ascontiguousarray(found[:, :-1]), found[:, -1].copy())


def _sums(grid: Grid, rows: Floats) -> Ints:
    parts = (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))
    added: Ints = np.sum([Here(grid.place(part)).sums() for part in parts], axis=0)
    return added


def _norms(grid: Grid, place: Floats, top: int, rows: Floats) -> Ints:
    return Here(grid.place(rows)).norms(place, top)


def _sampled(grid: Grid, middle: Middle, sampler: Sampler, rows: Floats) -> Floats:
    """Points, and in the last column their weights."""
    places = grid.place(rows)
    centre_around(places, middle)
    sample = poisson(places, sampler)
    return np.column_stack([sample.points, sample.weights])
