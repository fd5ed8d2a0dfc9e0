"""Cells that are not empty, by the second: the shortcut and the laborious way."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from time import perf_counter

import numpy as np

from papers.sparse.data import Floats, synthetic
from papers.sparse.methods import GEOMETRIC, default_theta, filter_theta, same, sample, tree_theta
from papers.sparse.settings import EPSILON, REPEATS, SECONDS, SPEED_DENSITIES
from tamis.sparse import consistent, ranges
from tamis.sparse.flat import Table, full, keep
from tamis.sparse.hierarchy import Dyadic
from tamis.sparse.law import Zero
from tamis.sparse.priorities import Priorities, largest

FILTER, THRESHOLD, PRIORITY = "filter", "threshold", "priority"
FILTER_PRIORITY, LABORIOUS = "filter-priority", "laborious filter-priority"
TREE, TREE_FILTER, TREE_CHECKED = "every node", "filter", "filter, consistent"


def laborious(table: Table, rate: Fraction, theta: int, size: int) -> None:
    """Noise in every cell, a filter, then a priority sample of what is left."""
    noisy = full(table, rate)
    kept = noisy[np.abs(noisy) >= theta]
    if len(kept) > size:
        largest([Priorities.draw(np.abs(kept))], size)


def throughput() -> dict[str, Floats]:
    """By method, for each density: the best of some runs. Words are the operating system's."""
    return _each(_flat)


def tree_throughput() -> dict[str, Floats]:
    """The same for dyadic hierarchies."""
    return _each(_trees)


Runs = dict[str, Callable[[], object]]


@lru_cache
def _each(runs: Callable[[Table], Runs]) -> dict[str, Floats]:
    found: dict[str, list[float]] = {}
    for density in SPEED_DENSITIES:
        table = synthetic(density).table
        for name, run in runs(table).items():
            found.setdefault(name, []).append(len(table.counts) / _seconds(run))
    return {name: np.array(rates) for name, rates in found.items()}


def _seconds(run: Callable[[], object]) -> float:
    times: list[float] = []
    while len(times) < REPEATS or sum(times) < SECONDS:
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def _flat(table: Table) -> Runs:
    size = len(table.counts)
    theta = default_theta(table, EPSILON, size)
    passed = filter_theta([table], EPSILON, size)
    tau = Fraction(int(table.counts.sum()) + 10 * table.cells, size)  # the mean of |noise| is 10
    return {
        FILTER: lambda: keep(table, Zero(EPSILON, passed)),
        THRESHOLD: lambda: keep(table, Zero(EPSILON, 1, tau)),
        PRIORITY: lambda: sample(table, EPSILON, size, 1),
        FILTER_PRIORITY: lambda: sample(table, EPSILON, size, theta),
        GEOMETRIC: lambda: full(table, EPSILON),
        LABORIOUS: lambda: laborious(table, EPSILON, theta, size),
    }


def _trees(table: Table) -> Runs:
    transforms = (Dyadic(table.cells),)
    rules = same(EPSILON, tree_theta(table, EPSILON, len(table.counts)))(transforms)
    whole = same(EPSILON)(transforms)
    return {
        TREE_FILTER: lambda: ranges.summarize(table, transforms, rules),
        TREE_CHECKED: lambda: consistent.summarize(table, transforms, rules),
        TREE: lambda: ranges.summarize(table, transforms, whole),
    }
