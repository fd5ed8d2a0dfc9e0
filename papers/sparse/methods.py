"""The methods that are compared. Every one makes something that answers boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import exp
from typing import Protocol

import numpy as np

from papers.sparse.data import Floats
from papers.sparse.queries import Boxes
from tamis.sparse import consistent, ranges
from tamis.sparse.flat import Flat, Ints, Table, full, keep, priority
from tamis.sparse.hierarchy import Dyadic, Haar, Transform
from tamis.sparse.law import Zero
from tamis.sparse.ranges import Level, Ranges, combined
from tamis.sparse.rules import Rule, combinations, least_theta, plan


class Made(Protocol):
    """A summary, or a whole table."""

    @property
    def size(self) -> int:
        """How many numbers it holds."""

    def answers(self, boxes: Boxes) -> Floats:
        """The estimate of each box."""


@dataclass(frozen=True, eq=False)
class Cells:
    """An estimate for every cell, most of them 0; in one or two dimensions for boxes."""

    cells: Floats
    size: int

    @cached_property
    def _sums(self) -> Floats:
        padded = np.pad(self.cells, [(1, 0)] * self.cells.ndim)
        for axis in range(padded.ndim):
            np.cumsum(padded, axis=axis, out=padded)
        return padded

    def answers(self, boxes: Boxes) -> Floats:
        first, end = boxes.bounds[..., 0].T, boxes.bounds[..., 1].T + 1
        if len(first) == 1:
            return np.asarray(self._sums[end[0]] - self._sums[first[0]])
        upper = self._sums[end[0], end[1]] - self._sums[end[0], first[1]]
        lower = self._sums[first[0], end[1]] - self._sums[first[0], first[1]]
        return np.asarray(upper - lower)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of a hierarchy."""

    made: Ranges

    @property
    def size(self) -> int:
        return len(self.made)

    def answers(self, boxes: Boxes) -> Floats:
        found = np.zeros(len(boxes.group))
        for n, (query, node, weight) in wanted(self.made.transforms, boxes).items():
            sums = weight * _looked_up(self.made.transforms, self.made.levels[n], node)
            found += np.bincount(query, weights=sums, minlength=len(found))
        return found


@lru_cache(maxsize=16)
def wanted(transforms: tuple[Transform, ...], boxes: Boxes) -> dict[int, tuple[Ints, Ints, Floats]]:
    """By place in `combinations`: the boxes that need its nodes, those nodes, and their weights."""
    pieces = [_pieces(transforms, n, bounds) for n, bounds in enumerate(boxes.bounds.tolist())]
    combination, query, node, weight = np.concatenate(pieces, axis=1)
    order = np.argsort(combination, kind="stable")
    places, starts = np.unique(combination[order], return_index=True)
    split = np.split(order, starts[1:])
    return {
        int(place): (query[here].astype(np.int64), node[here].astype(np.int64), weight[here])
        for place, here in zip(places, split, strict=True)
    }


def _pieces(transforms: Sequence[Transform], query: int, bounds: Sequence[Sequence[int]]) -> Floats:
    """Rows: the combination, the box, the number of the node within it, its weight."""
    combination, node, weight = np.zeros(1), np.zeros(1), np.ones(1)
    for t, (first, last) in zip(transforms, bounds, strict=True):
        parts = t.parts(first, last)
        many = np.array([t.nodes(p.level) for p in parts])
        combination = np.add.outer(combination * t.levels, [p.level for p in parts]).ravel()
        node = (np.multiply.outer(node, many) + [p.node for p in parts]).ravel()
        weight = np.multiply.outer(weight, [p.weight for p in parts]).ravel()
    return np.stack([combination, np.full(len(node), query), node, weight])


def _looked_up(transforms: Sequence[Transform], level: Level, node: Ints) -> Floats:
    """Estimates of nodes by their numbers; 0 for those that are not there."""
    radices = [t.nodes(k) for t, k in zip(transforms, level.rule.levels, strict=True)]
    there = np.ravel_multi_index(tuple(level.flat.codes), radices)
    if not len(there):
        return np.zeros(len(node))
    place = np.minimum(np.searchsorted(there, node), len(there) - 1)
    return np.where(there[place] == node, estimates(level.flat)[place], 0.0)


def estimates(flat: Flat) -> Floats:
    """What each cell that stayed stands for."""
    return np.sign(flat.values) * np.maximum(np.abs(flat.values), flat.tau)


Method = Callable[[Table], Made]
Rules = Callable[[tuple[Transform, ...]], Sequence[Rule]]


def geometric(rate: Fraction) -> Method:
    """Noise in every cell, all of them published."""
    return lambda table: Cells(full(table, rate).reshape(table.radices).astype(float), table.cells)


def filtered(rate: Fraction, theta: int, one_sided: bool = False) -> Method:
    """All cells from theta on."""
    return lambda table: _cells(table, keep(table, Zero(rate, theta, one_sided=one_sided)))


def threshold(rate: Fraction, tau: Fraction) -> Method:
    """A sample at a threshold."""
    return lambda table: _cells(table, keep(table, Zero(rate, 1, tau)))


def sampled(rate: Fraction, size: int, theta: int = 1) -> Method:
    """A priority sample, of what passes a filter if theta is more than 1."""
    return lambda table: _cells(table, sample(table, rate, size, theta))


def sample(table: Table, rate: Fraction, size: int, theta: int) -> Flat:
    """The cells of a priority sample."""
    guess = Rule((0,), rate, theta, size=size).guess(table.cells)
    return priority(table, rate, size, theta, guess)


def _cells(table: Table, flat: Flat) -> Cells:
    cells = np.zeros(table.radices)
    cells[tuple(flat.codes)] = estimates(flat)
    return Cells(cells, len(flat.values))


def hierarchical(kind: type[Dyadic | Haar], rules: Rules, checked: bool = False) -> Method:
    """The nodes of a hierarchy; ``checked`` for consistency."""

    def made(table: Table) -> Made:
        transforms = tuple(kind(radix) for radix in table.radices)
        make = consistent.summarize if checked else ranges.summarize
        return Nodes(make(table, transforms, rules(transforms)))

    return made


def shared(epsilon: Fraction, size: int) -> Rules:
    """The rules of the library: a filter and a priority sample on each level, of its share."""
    return lambda transforms: plan(transforms, epsilon, 1, size)


def unfiltered(epsilon: Fraction, size: int) -> Rules:
    """A priority sample of each level, without a filter."""
    return lambda transforms: [replace(r, theta=0) for r in plan(transforms, epsilon, 1, size)]


def same(epsilon: Fraction, theta: int = 0) -> Rules:
    """The paper's: one filter for all levels; 0 for none."""

    def rules(transforms: tuple[Transform, ...]) -> Sequence[Rule]:
        levels = combinations(transforms)
        return [Rule(combination, epsilon / len(levels), theta) for combination in levels]

    return rules


def flat_methods(table: Table, rate: Fraction, size: int) -> dict[str, Method]:
    """The four that the paper compares, for a summary of about this size."""
    return {
        GEOMETRIC: geometric(rate),
        FILTER: filtered(rate, filter_theta([table], rate, size)),
        PRIORITY: sampled(rate, size),
        FILTER_PRIORITY: sampled(rate, size, default_theta(table, rate, size)),
    }


def range_methods(table: Table, epsilon: Fraction, size: int) -> dict[str, Method]:
    """Hierarchies of about this size, the paper's and ours."""
    theta = tree_theta(table, epsilon, size)
    return {
        DYADIC_FILTER: hierarchical(Dyadic, same(epsilon, theta)),
        DYADIC_FILTER_CHECKED: hierarchical(Dyadic, same(epsilon, theta), checked=True),
        DYADIC: hierarchical(Dyadic, shared(epsilon, size)),
        DYADIC_CHECKED: hierarchical(Dyadic, shared(epsilon, size), checked=True),
        HAAR: hierarchical(Haar, shared(epsilon, size)),
    }


def whole_trees(epsilon: Fraction) -> dict[str, Method]:
    """Hierarchies of which every node is published."""
    return {
        DYADIC_WHOLE: hierarchical(Dyadic, same(epsilon)),
        HAAR_WHOLE: hierarchical(Haar, same(epsilon)),
    }


GEOMETRIC, FILTER, PRIORITY = "geometric (every cell)", "filter", "priority"
FILTER_PRIORITY = "filter-priority"
DYADIC_WHOLE, HAAR_WHOLE = "dyadic, every node", "Haar, every node"
DYADIC_FILTER, DYADIC_FILTER_CHECKED = "dyadic, filter", "dyadic, filter, consistent"
DYADIC, DYADIC_CHECKED = "dyadic, filter-priority", "dyadic, filter-priority, consistent"
HAAR, DYADIC_PRIORITY = "Haar, filter-priority", "dyadic, priority"


def default_theta(table: Table, rate: Fraction, size: int, share: float = 0.5) -> int:
    """The least theta at which at most a share of the size is noise alone."""
    return least_theta(rate, table.cells, max(1, int(share * size)))


def tree_theta(table: Table, epsilon: Fraction, size: int) -> int:
    """One theta for all nodes of a dyadic hierarchy, for about this size in all."""
    transforms = tuple(Dyadic(radix) for radix in table.radices)
    levels = combinations(transforms)
    tables = [combined(table, transforms, combination) for combination in levels]
    return filter_theta(tables, epsilon / len(levels), size)


def filter_theta(tables: Sequence[Table], rate: Fraction, size: int) -> int:
    """The least theta at which at most ``size`` cells of the tables are expected to pass.

    It looks at the data: an experiment may, a release may not.
    """
    zeros = sum(table.cells - len(table.counts) for table in tables)
    counts, many = np.unique(np.concatenate([t.counts for t in tables]), return_counts=True)
    counts, many = np.append(counts, 0), np.append(many, zeros)
    low, high = 1, 2
    while many @ passing(counts, high, rate) > size:
        low, high = high, 2 * high
    while low < high:
        theta = (low + high) // 2
        passed = many @ passing(counts, theta, rate)
        low, high = (theta + 1, high) if passed > size else (low, theta)
    return low


def passing(counts: Ints | Floats, theta: int, rate: Fraction) -> Floats:
    """Pr[|c + X| >= theta] for counts c >= 0 and theta >= 1."""
    a, over = exp(-rate), counts - theta
    above = np.where(over < 0, a ** np.maximum(-over, 0), 1 + a - a ** (np.maximum(over, 0) + 1))
    return np.asarray((above + a ** (counts + float(theta))) / (1 + a))
