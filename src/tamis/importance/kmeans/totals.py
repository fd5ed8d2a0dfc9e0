"""How many points are nearest to each centre, and what they add up to: whole numbers, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tamis.importance.kmeans.grid import Floats, shorten
from tamis.importance.kmeans.parallel import in_parts

Ints = npt.NDArray[np.int64]

COUNT_BITS = 10  # a weight of 1 counts 2^10 where points have weights


@dataclass(frozen=True)
class Points:
    """Points of the grid, each alone or with a weight of at least 1.

    A weighted point adds ``heavy`` (its coordinates times its weight) and ``counts`` to totals,
    both rounded down to whole numbers, so that neither is more than the weight says.
    """

    places: Floats
    heavy: Floats | None = None
    counts: Floats | None = None

    @classmethod
    def weighted(cls, places: Floats, weights: Floats) -> Points:
        heavy = np.trunc(places * weights[:, None])
        return cls(places, heavy, np.floor(weights * (1 << COUNT_BITS)))

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
    return np.concatenate(parts) if parts else np.zeros(0)


def nearest(places: Floats, centres: Floats) -> Ints:
    """Which centre is nearest to each point: the first of those that are."""
    if not len(places):
        return np.zeros(0, dtype=np.int64)
    parts = in_parts(lambda rows: _nearest(places[rows], centres), len(places))
    return np.concatenate(parts)


def _nearest(places: Floats, centres: Floats) -> Ints:
    """All are whole numbers below 2^53: no two points are treated differently by rounding."""
    scores = (centres * centres).sum(axis=1) - (2 * places) @ centres.T
    return np.asarray(np.argmin(scores, axis=1))


def _away(places: Floats, centres: Floats) -> tuple[Ints, Floats, Floats]:
    near = _nearest(places, centres)
    away = places - centres[near]
    return near, away, np.abs(away).sum(axis=1)


def _by_centre(
    near: Ints, values: Floats, counts: Floats | None, many: int
) -> tuple[Floats, Floats]:
    """The counts and the sums of the points of each centre."""
    one = (np.ones(len(near)), near, np.arange(len(near) + 1))
    own = csr_array(one, shape=(len(near), many)).T
    return np.bincount(near, counts, many).astype(np.float64), np.asarray(own @ values)


def _added(parts: list[tuple[Floats, Floats]]) -> tuple[Ints, Ints]:
    counts, sums = (np.sum(side, axis=0) for side in zip(*parts, strict=True))
    return counts.astype(np.int64), sums.astype(np.int64)
