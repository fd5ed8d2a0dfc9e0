"""Private k-means on the grid: the middle of the data, seeds, and Lloyd's steps.

First the middle of the data and how far points are from it are found privately, so that bounds need
not be tight. Then Lloyd's algorithm is run with four times as many centres as are asked for: most
clusters get one of their own, wherever the first centres were, and k-means of these private centres
(with their private counts, which costs nothing) gives the ones that are asked for. The last steps
release only how far points are from their centre, which is less than how far they are from the
middle, and needs less noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from tamis.importance.kmeans.grid import Floats, l1_norms, shorten
from tamis.importance.kmeans.parallel import in_parts, one_thread_each
from tamis.importance.kmeans.plan import PER_CLUSTER, Schedule, Spending
from tamis.importance.kmeans.steps import (
    Drawn,
    Norms,
    Step,
    binned,
    count_share,
    histogram,
)
from tamis.importance.kmeans.totals import Assigned, Ints, Points, moves, totals
from tamis.importance.profiles import Lloyd
from tamis.privacy import randomness

_WITHIN, _WITHIN_CLUSTER = 0.95, 0.7  # shares of points whose norm is not shortened
_APART = 0.1  # of the mean norm: how far a new centre is put from the one that it splits
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Found:
    """Private centres in steps of the grid, and about how many points each has."""

    centres: Floats
    sizes: Floats


@dataclass(frozen=True)
class Middle:
    """Where the data is, privately: all norms are taken from here."""

    place: Floats
    norms: Norms

    @property
    def radius(self) -> int:
        return self.norms.quantile(_WITHIN)


class Places(Protocol):
    """Points of the grid, wherever they are."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many there are, and how many coordinates each has."""
        ...

    def sums(self) -> Ints:
        """The sum of all, coordinate by coordinate."""
        ...

    def norms(self, place: Floats, top: int) -> Ints:
        """How many have which l1 distance from a place (`binned`)."""
        ...


@dataclass(frozen=True)
class Here:
    """Points in memory: `Places`."""

    places: Floats

    @property
    def shape(self) -> tuple[int, int]:
        rows, dimensions = self.places.shape
        return rows, dimensions

    def sums(self) -> Ints:
        places = self.places
        parts = in_parts(lambda rows: places[rows].sum(axis=0), len(places))
        added: Ints = np.sum(parts, axis=0).astype(np.int64)
        return added

    def norms(self, place: Floats, top: int) -> Ints:
        places = self.places
        away = in_parts(lambda rows: l1_norms(places[rows] - place), len(places))
        return binned(np.concatenate(away), top)


def middle_of(points: Places, radius: int, spending: Spending) -> Middle:
    """The mean of all points, and a histogram of the l1 distances from it.

    Guarantee: (centre + norms)-differential privacy (pure), for places of norm up to the radius.
    """
    rows, dimensions = points.shape
    step = Step(spending.centre, radius, dimensions)
    (place,) = step.drawn(np.array([rows]), points.sums()[None]).means
    top = 2 * radius
    return Middle(place, histogram(points.norms(place, top), top, spending.norms))


def centre_around(places: Floats, middle: Middle) -> None:
    """Makes the middle 0, and shortens what is farther from it than the radius."""

    def part(rows: slice) -> None:
        own = places[rows]
        own -= middle.place
        shorten(own, l1_norms(own), middle.radius)

    in_parts(part, len(places))


def search(
    points: Points,
    clusters: int,
    middle: Middle,
    schedule: Schedule,
    progress: Progress,
) -> Found:
    """The centres of points that are around 0.

    Guarantee: for points within the middle's radius that have no weights, differential privacy
    (pure) with the schedule's total. With weights, the profile of `mechanism`.
    """
    whole = schedule.seed_steps + schedule.steps
    if schedule.seed_steps:
        found = _scatter(clusters * PER_CLUSTER, points.dimensions, middle)
        step = _step(points, schedule.seeds / schedule.seed_steps, middle.radius)
        for done in range(schedule.seed_steps):
            drawn = step.drawn(*totals(points, found.centres))
            found = _split(drawn, middle) if done + 1 < schedule.seed_steps else _alive(drawn)
            progress(done + 1, whole)
        found = _merged(found, clusters, middle)
    else:
        found = _scatter(clusters, points.dimensions, middle)
    if schedule.steps:
        lloyd = _last_steps(points, found, middle, schedule)
        for done in range(schedule.seed_steps, whole):
            found = lloyd(found)
            progress(done + 1, whole)
    return found


def mechanism(epsilon: float, dimensions: int, radius: int) -> Lloyd:
    """The profile of steps that spend epsilon in all, on weighted points up to this norm."""
    share = float(count_share(dimensions))
    return Lloyd(1 / (epsilon * share), radius / (epsilon * (1 - share)), 1)


def _step(points: Points, epsilon: Fraction, radius: int) -> Step:
    return Step(epsilon, radius, points.dimensions, points.unit)


def _last_steps(
    points: Points, found: Found, middle: Middle, schedule: Schedule
) -> Callable[[Found], Found]:
    """One step with the centres that are asked for.

    Points without weights add how far they are from their centre. That of a weighted point may
    depend on the whole sample, and its weight does not; so they add how far they are from 0.
    """
    epsilon = schedule.lloyd / schedule.steps
    if points.heavy is not None:
        plain = _step(points, epsilon, middle.radius)

        def absolute(found: Found) -> Found:
            drawn = plain.drawn(*totals(points, found.centres))
            return _moved(found, drawn, drawn.means, middle.radius)

        return absolute
    first, known = found, Assigned.to(points, found.centres)
    top = 2 * middle.radius
    near = histogram(binned(known.norms, top), top, schedule.widths).quantile(_WITHIN_CLUSTER)
    step = _step(points, epsilon, near)

    def relative(found: Found) -> Found:
        own = known if found is first else None
        drawn = step.drawn(*moves(points, found.centres, near, own))
        return _moved(found, drawn, found.centres + drawn.means, middle.radius)

    return relative


def _moved(found: Found, drawn: Drawn, means: Floats, radius: int) -> Found:
    """Centres at the means of their points; where there is only noise, they stay.

    No mean of points is beyond the radius. Noise may add up over many steps, and what is compared
    must stay below 2^53.
    """
    centres = np.where(drawn.alive[:, None], means, found.centres)
    shorten(centres, np.abs(centres).sum(axis=1), radius)
    return Found(centres, np.maximum(drawn.counts, 0.0))


def _alive(drawn: Drawn) -> Found:
    return Found(drawn.means[drawn.alive], np.maximum(drawn.counts[drawn.alive], 1.0))


def _split(drawn: Drawn, middle: Middle) -> Found:
    """Centres without points are put beside those with many."""
    alive = _alive(drawn)
    missing = len(drawn.counts) - len(alive.centres)
    return _with_more(alive, missing, middle)


def _with_more(found: Found, more: int, middle: Middle) -> Found:
    if not more:
        return found
    shares = np.cumsum(found.sizes) / found.sizes.sum()
    beside = np.searchsorted(shares, randomness.uniforms(more)).clip(max=len(shares) - 1)
    moved = _scattered(more, found.centres.shape[1], middle.norms.mean * _APART)
    centres = np.vstack([found.centres, found.centres[beside] + moved])
    return Found(centres, np.append(found.sizes, np.zeros(more)))


def _scatter(many: int, dimensions: int, middle: Middle) -> Found:
    return Found(_scattered(many, dimensions, middle.norms.mean / 2), np.ones(many))


def _scattered(many: int, dimensions: int, norm: float) -> Floats:
    """Points in random directions, of this l1 norm: they say nothing of the data."""
    normal = ndtri(randomness.uniforms(many * dimensions)).reshape(many, dimensions)
    size = np.maximum(np.abs(normal).sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.rint(normal / size * norm))


def _merged(found: Found, clusters: int, middle: Middle) -> Found:
    """As many centres as are asked for, of those that were found: no data is looked at."""
    centres, which = np.unique(found.centres, axis=0, return_inverse=True)
    sizes = np.bincount(which.ravel(), found.sizes).astype(np.float64)
    if len(centres) <= clusters:
        return _with_more(Found(centres, sizes), clusters - len(centres), middle)
    from sklearn.cluster import KMeans

    seed = int(randomness.words(1)[0] >> np.uint64(33))
    with one_thread_each():
        best = KMeans(clusters, n_init=20, random_state=seed).fit(centres, None, sizes)
    merged = np.bincount(best.labels_, sizes, clusters).astype(np.float64)
    return Found(np.rint(best.cluster_centers_), merged)
