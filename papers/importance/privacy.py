"""What samplers promise, and at which noise: the quantities of figure 1. Nothing is drawn."""

from __future__ import annotations

import numpy as np

from papers.importance.data import Floats, Table
from papers.importance.lloyd import sampling
from papers.importance.settings import ITERATIONS, MIXING
from tamis.importance import Coreset, amplified, optimal_weights
from tamis.importance.kmeans.run import mechanism
from tamis.importance.kmeans.steps import RHO
from tamis.importance.weights import bracket


def at_norms(radius: int, many: int = 400) -> Floats:
    """Points of one dimension with norms from 0 to the radius."""
    return np.linspace(0, radius, many)[:, None]


def losses(table: Table, kind: str, size: int, epsilon: float) -> tuple[Floats, Floats]:
    """q and psi by norm, of a sampler that promises epsilon with about so many points."""
    chosen, points = sampling(table, kind, size, epsilon), at_norms(table.grid.steps)
    profile = mechanism(chosen.spent, table.dimensions, table.grid.steps)
    q = chosen.sampler.probability(points)
    return q, amplified(profile, 1 / q, points)


def most_gained(table: Table, epsilon: float) -> float:
    """How much of its loss a point can save by being sampled, at any norm and weight up to 2^20."""
    points = at_norms(table.grid.steps)
    profile = mechanism(epsilon, table.dimensions, table.grid.steps)
    alone = profile.rate(points)
    weights = np.geomspace(1, 2.0**20, 200)
    return max(float((1 - amplified(profile, w, points) / alone).max()) for w in weights)


def fewest(table: Table, epsilon: float) -> tuple[float, float]:
    """The shares of points that the optimal and the coreset sampler need without more noise."""
    profile = mechanism(epsilon * (1 - 2.0**-40), table.dimensions, table.grid.steps)
    points, mean = table.norms[:, None], float(table.norms.mean())
    optimal = float((1 / optimal_weights(profile, points, epsilon)).mean())
    rates = np.linspace(0.01, 1, 100)
    samplers = [Coreset(float(rate), mean, MIXING) for rate in rates]
    good = [s for s in samplers if s.epsilon(profile, table.grid.steps) <= epsilon]
    shares = [s.expected_size(points) / len(points) for s in good]
    return optimal, min(shares, default=1.0)


def missed_roots(table: Table, epsilon: float) -> tuple[float, float]:
    """The share of points whose optimal weight lies beyond the bracket: as printed, corrected."""
    profile = mechanism(epsilon * (1 - 2.0**-40), table.dimensions, table.grid.steps)
    points = table.norms[:, None]
    found, rate = optimal_weights(profile, points, epsilon), profile.rate(points)
    printed = ITERATIONS * rate * np.exp(rate)  # T^2 c e^(T c), where rate = T c
    least = np.minimum(np.exp(rate) + printed / 2, rate * np.exp(rate) + 1)
    end = 2 * (np.exp(epsilon) - least) / printed + 1
    right = bracket(profile, points, epsilon)
    return float((found > end).mean()), float((found > right).mean())


def printed_noise(dimensions: int) -> float:
    """What Algorithm 2 spends as printed, with noise of beta_count on sums, over what is said.

    With r = d and beta_count = c beta_sum: (1 + d) / c in place of 1 / c + d.
    """
    ratio = float(np.cbrt(4 * dimensions * RHO**2))
    return (1 + dimensions) / (1 + dimensions * ratio)
