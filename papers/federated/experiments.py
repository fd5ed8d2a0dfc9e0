"""Estimates drawn many times, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from papers.federated import methods
from papers.federated.data import Floats, Held
from papers.federated.methods import OURS
from papers.federated.settings import DRAWS, EPSILONS
from papers.sparse.draws import repeatable
from tamis.sampling.arrow import column_of

SAMPLED, ALL = "same sampled reports", "all clients"
TOTAL, LARGEST, MISSED = "total error", "largest error", "of it not released"


@dataclass(frozen=True, eq=False)
class Sweep:
    """By setting, method and measure: an error for every epsilon."""

    errors: dict[tuple[str, str, str], Floats]

    def at(self, setting: str, method: str, measure: str = TOTAL) -> Floats:
        """The errors of a method; sample and threshold is the same in both settings."""
        return self.errors[SAMPLED if method == OURS else setting, method, measure]

    def over(self, setting: str, method: str, measure: str = TOTAL) -> Floats:
        """The error of sample and threshold over that of another method."""
        return np.asarray(self.at(setting, OURS, measure) / self.at(setting, method, measure))


@lru_cache
def sweep(held: Held, draws: int = DRAWS, epsilons: tuple[float, ...] = EPSILONS) -> Sweep:
    """All methods at every epsilon."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for n, epsilon in enumerate(epsilons):
        with repeatable(n):
            means = _means(held, epsilon, draws)
        for key, mean in means.items():
            found.setdefault(key, []).append(mean)
    return Sweep({key: np.array(errors) for key, errors in found.items()})


def _means(held: Held, epsilon: float, draws: int) -> dict[tuple[str, str, str], float]:
    sums: dict[tuple[str, str, str], float] = {}
    for _ in range(draws):
        for setting, method, estimates in estimated(held, epsilon):
            for measure, error in _errors(estimates, held).items():
                key = setting, method, measure
                sums[key] = sums.get(key, 0.0) + error / draws
    return sums


def estimated(held: Held, epsilon: float) -> Iterator[tuple[str, str, Floats]]:
    """One draw: the setting, the method, and what it says of all counts.

    All methods get the same sample. What they say of it is over p; those that know it are as
    private as they are without sampling, but for the one that counts it.
    """
    made, domain = methods.ours(epsilon), held.domain
    reports = made.sample(column_of(held.items))
    yield SAMPLED, OURS, methods.thresholded(made, reports, domain)
    sampled = np.asarray(reports)
    for name, method in methods.baselines(epsilon).items():
        yield SAMPLED, name, method(sampled, domain) / made.p
        yield ALL, name, method(held.items, domain)
    yield SAMPLED, methods.AMPLIFIED, methods.amplified(epsilon, made.p)(sampled, domain) / made.p


def _errors(estimates: Floats, held: Held) -> dict[str, float]:
    """The sum and the largest of all absolute errors, and the sum where the estimate is 0.

    All are shares of the number of clients.
    """
    off = np.abs(estimates - held.truth) / len(held.items)
    missed = off[estimates == 0].sum()
    return {TOTAL: float(off.sum()), LARGEST: float(off.max()), MISSED: float(missed)}
