"""How the filter matters: the error of subsets against theta, for filter-priority summaries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, log

import numpy as np

from papers.sparse.data import Data, Floats
from papers.sparse.draws import repeatable
from papers.sparse.methods import default_theta, estimates, sample
from papers.sparse.queries import subset_rmse
from papers.sparse.settings import NOISE_SHARES, SUBSETS, THETA_DRAWS
from tamis.privacy.noise import variance
from tamis.sparse.flat import Flat


@dataclass(frozen=True, eq=False)
class Sweep:
    """RMSE by theta (rows: 1, then one for each of NOISE_SHARES) and subset (columns)."""

    data: Data
    epsilon: Fraction
    size: int
    theta: Floats
    rmse: Floats
    whole: Floats  # of the full noisy table, exactly

    @property
    def multiples(self) -> Floats:
        """Theta over the theta at which as much noise passes as the summary holds."""
        return self.theta / one(self.data, self.epsilon, self.size)

    @property
    def regret(self) -> Floats:
        """RMSE over that of the best theta of the sweep, for each subset; without theta = 1."""
        return np.asarray(self.rmse[1:] / self.rmse.min(axis=0))


def one(data: Data, rate: Fraction, size: int) -> float:
    """The real theta at which cells * p(theta) is the size."""
    return max(1.0, log(2 * data.cells / (size * (1 + exp(-rate)))) / rate)


@lru_cache(maxsize=64)
def sweep(data: Data, epsilon: Fraction, size: int) -> Sweep:
    """Theta 1 (a priority sample alone), and the least theta for each share of noise."""
    thetas = [1, *(default_theta(data.table, epsilon, size, share) for share in NOISE_SHARES)]
    errors = {theta: _rmse(data, epsilon, size, theta) for theta in sorted(set(thetas))}
    whole = np.sqrt([max(1, round(share * data.cells)) * variance(epsilon) for share in SUBSETS])
    rmse = np.array([errors[theta] for theta in thetas])
    return Sweep(data, epsilon, size, np.array(thetas, dtype=float), rmse, whole)


def _rmse(data: Data, epsilon: Fraction, size: int, theta: int) -> Floats:
    """The root of the mean over draws of the squared error, for each subset."""
    squares = np.zeros(len(SUBSETS))
    with repeatable(11):
        for _ in range(THETA_DRAWS):
            missed = _missed(data, sample(data.table, epsilon, size, theta))
            squares += [subset_rmse(*missed, data.cells, share) ** 2 for share in SUBSETS]
    return np.sqrt(squares / THETA_DRAWS)


def _missed(data: Data, flat: Flat) -> tuple[float, float]:
    """The sum of the errors of all cells, and that of their squares."""
    found, counts = estimates(flat), data.table.counts.astype(float)
    there = data.dense[tuple(flat.codes)]
    total = float(found.sum() - counts.sum())
    return total, float(np.square(found - there).sum() + counts @ counts - there @ there)
