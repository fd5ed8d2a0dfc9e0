"""Weighted DP-Lloyd (Algorithm 2, corrected) on samples of the paper's three kinds, or on all.

All runs spend the same epsilon. What sampling costs is paid in noise: ``spent`` is what the steps
may spend on a point of weight 1 at the radius, so that the sampled mechanism promises epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.special import ndtri

from papers.importance.data import Floats, Table
from papers.importance.settings import CLUSTERS, ITERATIONS, MIXING, START
from tamis.importance import Coreset, Optimal, Sampler, Uniform, poisson
from tamis.importance.kmeans.grid import shorten
from tamis.importance.kmeans.run import mechanism
from tamis.importance.kmeans.steps import Step
from tamis.importance.kmeans.totals import Points, totals
from tamis.privacy import randomness
from tamis.privacy.noise import two_sided

FULL, UNIFORM, CORESET, OPTIMAL = "full", "uniform", "coreset", "optimal"
SAMPLERS = (UNIFORM, CORESET, OPTIMAL)

_HALVINGS = 60
_NORMS = 4000  # as many stand for all, where a sample's size is computed


@dataclass(frozen=True)
class Sampling:
    """A sampler, and what Lloyd's steps on its sample may spend."""

    sampler: Sampler
    spent: float


def run(table: Table, kind: str, size: int, epsilon: float) -> float:
    """The cost on all points, over that of plain k-means, of centres found with this epsilon."""
    if kind == FULL:
        points, spent = Points(table.places), epsilon
    else:
        chosen = sampling(table, kind, size, epsilon)
        sample = poisson(table.places, chosen.sampler)
        points, spent = Points.weighted(sample.points, sample.weights), chosen.spent
    return table.cost(table.grid.back(lloyd(points, spent, table.grid.steps)))


def lloyd(points: Points, spent: float, radius: int) -> Floats:
    """Algorithm 2 with sums that have noise of scale beta_sum, from centres that tell nothing.

    Noise is that of `Step`: the paper's split, in units in which the radius is d. A centre stays
    where its noisy count is below 1, and is moved to the radius if it lies beyond.
    """
    step = Step(Fraction(spent) / ITERATIONS, radius, points.dimensions, points.unit)
    centres = start(points.dimensions, radius)
    shape = (ITERATIONS, *centres.shape)  # all at once is faster
    count_noise = two_sided(step.count_rate, ITERATIONS * CLUSTERS).reshape(shape[:2])
    sum_noise = two_sided(step.sum_rate, ITERATIONS * centres.size).reshape(shape)
    for about, moved in zip(count_noise, sum_noise, strict=True):
        counts, sums = totals(points, centres)
        noisy = (counts + about) / points.unit
        means = np.rint((sums + moved) / np.maximum(noisy, 1.0)[:, None])
        shorten(means, np.abs(means).sum(axis=1), radius)
        centres = np.where(noisy[:, None] >= 1, means, centres)
    return centres


def start(dimensions: int, radius: int) -> Floats:
    """Centres in random directions from 0: they say nothing of the data."""
    normal = ndtri(randomness.uniforms(CLUSTERS * dimensions)).reshape(CLUSTERS, dimensions)
    length = np.abs(normal).sum(axis=1, keepdims=True)
    return np.asarray(np.rint(normal / length * (START * radius)))


@cache
def sampling(table: Table, kind: str, size: int, epsilon: float) -> Sampling:
    """About ``size`` points, with the least noise that keeps epsilon.

    The size and the mean norm are taken from the data: for an experiment only.
    """
    if kind == OPTIMAL:
        return _optimal(table, size, epsilon)
    rate = min(1.0, size / len(table.points))
    mean = float(table.norms.mean())
    sampler = Uniform(rate) if kind == UNIFORM else Coreset(rate, mean, MIXING)
    radius = table.grid.steps

    def kept(spent: float) -> bool:
        return sampler.epsilon(mechanism(spent, table.dimensions, radius), radius) <= epsilon

    return Sampling(sampler, _largest(kept, epsilon))


def _optimal(table: Table, size: int, epsilon: float) -> Sampling:
    """Less spent means more noise, larger weights and fewer points.

    Where even the noise of no sampling needs fewer points than are asked for, that is taken.
    """
    few = table.norms[:: max(1, len(table.norms) // _NORMS)][:, None]
    share = size / len(table.points)

    def sampler(spent: float) -> Optimal:
        return Optimal(mechanism(spent, table.dimensions, table.grid.steps), epsilon)

    def small(spent: float) -> bool:
        return float(sampler(spent).probability(few).mean()) <= share

    spent = _largest(small, epsilon * (1 - 2.0**-40))
    return Sampling(sampler(spent), spent)


def _largest(good: Callable[[float], bool], end: float) -> float:
    """The largest number up to the end that is good, if those below a good one are."""
    if good(end):
        return end
    low, high = 0.0, end
    for _ in range(_HALVINGS):
        half = (low + high) / 2
        low, high = (half, high) if good(half) else (low, half)
    return low
