"""How many points are nearest to each centre, and what they add up to: whole numbers, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tamis.importance.kmeans.grid import Floats, l1_norms, shorten
from tamis.importance.kmeans.parallel import in_parts

Ints = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

COUNT_BITS = 10  # a weight of 1 counts 2^10 where points have weights
_HEAVY = 2.0**40  # the largest norm with its weight: those of 2^13 rows add up to 2^53 at most
_SINGLE = 2.0**-24  # how far rounding to single precision is off, relatively


@dataclass(frozen=True)
class Points:
    """Points of the grid, each alone or with a weight of at least 1.

    A weighted point adds ``heavy`` (its coordinates times its weight) and ``counts`` to totals,
    both rounded down to whole numbers, so that neither is more than the weight says. Weights beyond
    any use are cut, because everything has to stay below 2^53.
    """

    places: Floats
    heavy: Floats | None = None
    counts: Floats | None = None

    @classmethod
    def weighted(cls, places: Floats, weights: Floats) -> Points:
        unit = 1 << COUNT_BITS
        norms = np.maximum(np.abs(places).sum(axis=1), unit)
        counts = np.floor(np.minimum(weights, _HEAVY / norms) * unit)
        return cls(places, np.trunc(places * counts[:, None] / unit), counts)

    @property
    def unit(self) -> int:
        """What a point of weight 1 counts."""
        return 1 if self.counts is None else 1 << COUNT_BITS

    @property
    def dimensions(self) -> int:
        return int(self.places.shape[1])

    @cached_property
    def rough(self) -> Rough:
        """For all steps: to round points once is cheaper than in every step."""
        return Rough.of(self.places)


@dataclass(frozen=True)
class Rough:
    """Points in single precision, each with a 1 behind it, and how long they are at most."""

    places: Singles
    lengths: Singles

    @classmethod
    def of(cls, places: Floats) -> Rough:
        rows, dimensions = places.shape
        points = np.empty((rows, dimensions + 1), dtype=np.float32)
        lengths = np.empty(rows, dtype=np.float32)

        def part(where: slice) -> None:
            own = points[where]
            own[:, :-1], own[:, -1] = places[where], 1
            np.sqrt(np.einsum("ij,ij->i", own, own), out=lengths[where])

        in_parts(part, rows)
        return cls(points, lengths)

    def at(self, rows: slice) -> Rough:
        return Rough(self.places[rows], self.lengths[rows])


def totals(points: Points, centres: Floats) -> tuple[Ints, Ints]:
    """For each centre: how many points are nearest to it, and their sum."""
    rough = points.rough

    def part(rows: slice) -> tuple[Floats, Floats]:
        near = _nearest(points.places[rows], rough.at(rows), centres)
        if points.heavy is None or points.counts is None:
            return _by_centre(near, points.places[rows], None, len(centres))
        return _by_centre(near, points.heavy[rows], points.counts[rows], len(centres))

    return _added(in_parts(part, len(points.places)))


def moves(
    points: Points, centres: Floats, radius: int, known: Assigned | None = None
) -> tuple[Ints, Ints]:
    """The same for what leads from the nearest centre to a point, shortened to the radius.

    What is ``known`` of these very centres is not looked for again.
    """
    rough = points.rough

    def part(rows: slice) -> tuple[Floats, Floats]:
        places = points.places[rows]
        near = known.near[rows] if known else _nearest(places, rough.at(rows), centres)
        away = _away(places, near, centres)
        shorten(away, known.norms[rows] if known else l1_norms(away), radius)
        return _by_centre(near, away, None, len(centres))

    return _added(in_parts(part, len(points.places)))


@dataclass(frozen=True)
class Assigned:
    """The centre that is nearest to each point (in l2), and the l1 distance to it."""

    near: Ints
    norms: Floats

    @classmethod
    def to(cls, points: Points, centres: Floats) -> Assigned:
        rough = points.rough

        def part(rows: slice) -> tuple[Ints, Floats]:
            near = _nearest(points.places[rows], rough.at(rows), centres)
            return near, l1_norms(_away(points.places[rows], near, centres))

        near, norms = zip(*in_parts(part, len(points.places)), strict=True)
        return cls(np.concatenate(near), np.concatenate(norms))


def nearest(places: Floats, centres: Floats) -> Ints:
    """Which centre is nearest to each point: the first of those that are."""
    parts = in_parts(
        lambda rows: _nearest(places[rows], Rough.of(places[rows]), centres), len(places)
    )
    return np.concatenate(parts)


def _nearest(places: Floats, rough: Rough, centres: Floats) -> Ints:
    """Exactly; most of it in single precision, which is faster, where that surely finds the same.

    A score is |c|^2 - 2 x c, a sum of d + 1 products. In single precision, u = 2^-24, it is off by
    at most (d + 4) u (|c|^2 + 2 |x| |c|), in whatever order it is added up. Centres within twice
    that of the best may be nearest; if there are several, double precision decides between all.
    """
    scores, slack = _rough_scores(rough, centres)
    within = scores <= np.min(scores, axis=0) + slack
    which, rows = np.divmod(np.flatnonzero(within), len(places))
    near = np.empty(len(places), dtype=np.int64)
    near[rows] = which
    if len(rows) > len(places):
        unsure = np.flatnonzero(np.bincount(rows, minlength=len(places)) > 1)
        near[unsure] = _exactly_nearest(places[unsure], centres)
    return near


def _rough_scores(rough: Rough, centres: Floats) -> tuple[Singles, Singles]:
    """A row of scores for each centre, and how far below another the best of a point must be."""
    dimensions = centres.shape[1]
    squares = (centres * centres).sum(axis=1)
    terms = np.column_stack([-2 * centres, squares]).astype(np.float32)
    far = float(np.sqrt(squares.max()))
    # twice what is needed, so that what is rounded here does not matter; lengths are a little too
    # long already, with the 1
    slack = _SINGLE * 4 * (dimensions + 4) * far * (far + 2 * rough.lengths.astype(np.float64))
    return terms @ rough.places.T, slack.astype(np.float32)


def _exactly_nearest(places: Floats, centres: Floats) -> Ints:
    """All are whole numbers below 2^53: no two points are treated differently by rounding."""
    scores = places @ (-2 * centres).T
    scores += (centres * centres).sum(axis=1)
    return np.asarray(np.argmin(scores, axis=1))


def _away(places: Floats, near: Ints, centres: Floats) -> Floats:
    """What leads from the nearest centre to each point."""
    away = np.take(centres, near, axis=0)
    return np.subtract(places, away, out=away)


def _by_centre(
    near: Ints, values: Floats, counts: Floats | None, many: int
) -> tuple[Floats, Floats]:
    """The counts and the sums of the points of each centre."""
    one = (np.ones(len(near)), near, np.arange(len(near) + 1))
    own = csr_array(one, shape=(len(near), many)).T
    return np.bincount(near, counts, many).astype(np.float64), np.asarray(own @ values)


def _added(parts: list[tuple[Floats, Floats]]) -> tuple[Ints, Ints]:
    """Parts are exact in floats, and all of them in 64 bits."""
    counts, sums = (np.sum(np.array(side, np.int64), axis=0) for side in zip(*parts, strict=True))
    return counts, sums
