"""How many points are nearest to each centre, and what they add up to: whole numbers, exactly."""

from __future__ import annotations

from dataclasses import dataclass

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


def totals(points: Points, centres: Floats) -> tuple[Ints, Ints]:
    """For each centre: how many points are nearest to it, and their sum."""

    def part(rows: slice) -> tuple[Floats, Floats]:
        near = _nearest(points.places[rows], centres)
        if points.heavy is None or points.counts is None:
            return _by_centre(near, points.places[rows], None, len(centres))
        return _by_centre(near, points.heavy[rows], points.counts[rows], len(centres))

    return _added(in_parts(part, len(points.places)))


def moves(points: Points, centres: Floats, radius: int) -> tuple[Ints, Ints]:
    """The same for what leads from the nearest centre to a point, shortened to the radius."""

    def part(rows: slice) -> tuple[Floats, Floats]:
        near, away, norms = _away(points.places[rows], centres)
        shorten(away, norms, radius)
        return _by_centre(near, away, None, len(centres))

    return _added(in_parts(part, len(points.places)))


def distances(points: Points, centres: Floats) -> Floats:
    """The l1 distance of each point to the nearest centre (the nearest in l2)."""
    parts = in_parts(lambda rows: _away(points.places[rows], centres)[2], len(points.places))
    return np.concatenate(parts)


def nearest(places: Floats, centres: Floats) -> Ints:
    """Which centre is nearest to each point: the first of those that are."""
    parts = in_parts(lambda rows: _nearest(places[rows], centres), len(places))
    return np.concatenate(parts)


def _nearest(places: Floats, centres: Floats) -> Ints:
    """Exactly; most of it in single precision, which is faster, where that surely finds the same.

    A score is |c|^2 - 2 x c, a sum of d + 1 products. In single precision, u = 2^-24, it is off by
    at most (d + 4) u (|c|^2 + 2 |x| |c|), in whatever order it is added up. Centres within twice
    that of the best may be nearest; if there are several, double precision decides between all.
    """
    scores, slack = _rough_scores(places, centres)
    within = scores <= np.min(scores, axis=0) + slack
    which, rows = np.divmod(np.flatnonzero(within), len(places))
    near = np.empty(len(places), dtype=np.int64)
    near[rows] = which
    if len(rows) > len(places):
        unsure = np.flatnonzero(np.bincount(rows, minlength=len(places)) > 1)
        near[unsure] = _exactly_nearest(places[unsure], centres)
    return near


def _rough_scores(places: Floats, centres: Floats) -> tuple[Singles, Singles]:
    """A row of scores for each centre, and how far below another the best of a point must be."""
    rows, dimensions = places.shape
    points = np.empty((rows, dimensions + 1), dtype=np.float32)
    points[:, :-1], points[:, -1] = places, 1
    squares = (centres * centres).sum(axis=1)
    terms = np.column_stack([-2 * centres, squares]).astype(np.float32)
    far = float(np.sqrt(squares.max()))
    lengths = np.sqrt(np.einsum("ij,ij->i", points, points))  # a little too long: with the 1
    # twice what is needed, so that what is rounded here does not matter
    slack = _SINGLE * 4 * (dimensions + 4) * far * (far + 2 * lengths)
    return terms @ points.T, slack.astype(np.float32)


def _exactly_nearest(places: Floats, centres: Floats) -> Ints:
    """All are whole numbers below 2^53: no two points are treated differently by rounding."""
    scores = places @ (-2 * centres).T
    scores += (centres * centres).sum(axis=1)
    return np.asarray(np.argmin(scores, axis=1))


def _away(places: Floats, centres: Floats) -> tuple[Ints, Floats, Floats]:
    near = _nearest(places, centres)
    away = np.take(centres, near, axis=0)
    np.subtract(places, away, out=away)
    return near, away, l1_norms(away)


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
