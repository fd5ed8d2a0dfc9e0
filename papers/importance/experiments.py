"""Costs of many runs, at every epsilon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from papers.importance.data import Floats, Table
from papers.importance.lloyd import FULL, SAMPLERS, run
from papers.importance.settings import CLUSTERS, DRAWS, EPSILONS, SIZES
from papers.sparse.draws import repeatable
from tamis import PrivateKMeans

OURS = "PrivateKMeans"


@dataclass(frozen=True, eq=False)
class Sweep:
    """By method and size of the sample: a row of costs for every epsilon, one for each draw."""

    costs: dict[tuple[str, int], Floats]

    @property
    def sizes(self) -> list[int]:
        """From the smallest to the largest; 0 is that of methods that take all points."""
        return sorted({size for _, size in self.costs if size})

    def at(self, kind: str, size: int = 0, quantile: float = 0.5) -> Floats:
        """A quantile of the costs, the median unless told, for every epsilon."""
        return np.asarray(np.quantile(self.costs[kind, size], quantile, axis=1))

    def over(self, kind: str, other: str, size: int, same: bool = True) -> Floats:
        """The median cost of one method over that of another, which takes as many points or all."""
        return np.asarray(self.at(kind, size) / self.at(other, size if same else 0))


@lru_cache
def sweep(table: Table, draws: int = DRAWS, epsilons: tuple[float, ...] = EPSILONS) -> Sweep:
    """All points, and every sampler with every size that is smaller."""
    sizes = [size for size in SIZES if size < len(table.points)]
    methods = [(FULL, 0), *((kind, size) for size in sizes for kind in SAMPLERS)]
    return Sweep(
        {(kind, size): _costs(_runs(table, kind, size), draws, epsilons) for kind, size in methods}
    )


@lru_cache
def best(table: Table, draws: int = DRAWS, epsilons: tuple[float, ...] = EPSILONS) -> Sweep:
    """`PrivateKMeans` with its default settings, and the same radius."""

    def once(epsilon: float) -> float:
        model = PrivateKMeans(CLUSTERS, epsilon=epsilon, radius=table.radius)
        return table.cost(model.fit(table.points).cluster_centers_)

    return Sweep({(OURS, 0): _costs(once, draws, epsilons)})


def _runs(table: Table, kind: str, size: int) -> Callable[[float], float]:
    return lambda epsilon: run(table, kind, size, epsilon)


def _costs(once: Callable[[float], float], draws: int, epsilons: Sequence[float]) -> Floats:
    return np.array(list(_rows(once, draws, epsilons)))


def _rows(
    once: Callable[[float], float], draws: int, epsilons: Sequence[float]
) -> Iterator[list[float]]:
    for n, epsilon in enumerate(epsilons):
        with repeatable(n):
            yield [once(epsilon) for _ in range(draws)]
