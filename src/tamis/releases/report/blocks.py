"""Counts of a summary over blocks of neighbouring values of one or two attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import ceil, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tamis.releases.summary.summary import Summary
from tamis.sparse.attributes import Attribute, Hierarchy
from tamis.sparse.domain import Domain
from tamis.sparse.hierarchy import Part
from tamis.sparse.ranges import Level

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Tick = tuple[float, str]  # a place, in blocks, and its text

MOST = 60  # blocks of an attribute
MANY = 24  # more of them are not named one by one


@dataclass(frozen=True)
class Side:
    """An attribute cut into blocks of so many codes; the last one may be shorter."""

    name: str
    place: int
    attribute: Attribute
    width: int

    @property
    def many(self) -> int:
        return ceil(self.attribute.cardinality / self.width)

    def ends(self, block: int) -> tuple[int, int]:
        """The first and the last code of a block."""
        first = block * self.width
        return first, min(first + self.width, self.attribute.cardinality) - 1

    def called(self, block: int) -> str:
        """A block by its value, or by its first and its last one."""
        return " to ".join(self.attribute.shown(sorted(set(self.ends(block)))).to_pylist())

    @cached_property
    def branches(self) -> list[tuple[str, int, int]]:
        """The main branches of a tree, if they are few for so many blocks."""
        found = main_branches(self.attribute)
        return found if 1 < len(found) < self.many / 2 else []

    @property
    def cuts(self) -> list[float]:
        """Where branches end and others begin, in blocks."""
        return [(last + 1) / self.width for _, _, last in self.branches[:-1]]

    @property
    def ticks(self) -> list[Tick]:
        """What may stand beside the blocks: branches where blocks are many, and else values."""
        if self.many > MANY and self.branches:
            return [((a + b + 1) / 2 / self.width, name) for name, a, b in self.branches]
        firsts = [self.ends(n)[0] for n in range(self.many)]
        texts = self.attribute.shown(firsts).to_pylist()
        return [(n + 0.5, text) for n, text in enumerate(texts)]


@dataclass(frozen=True)
class Blocks:
    """Estimates and standard errors of all combinations of blocks."""

    sides: tuple[Side, ...]
    estimates: Floats
    errors: Floats

    @property
    def typical(self) -> float:
        """The standard error of a block in the middle of all."""
        return float(np.median(self.errors))


def main_branches(attribute: Attribute) -> list[tuple[str, int, int]]:
    """The inner nodes of a tree that are in no other, each with its first and last code."""
    nodes = attribute.nodes if isinstance(attribute, Hierarchy) else {}
    found, after = [], 0
    for name, (first, last) in nodes.items():
        if first >= after:
            found.append((name, first, last))
            after = last + 1
    return found


def _side(domain: Domain, name: str, flat: bool) -> Side:
    """Blocks of a power of two are nodes of a hierarchy, and so have the least noise."""
    a = domain[name]
    width = ceil(a.cardinality / MOST)
    return Side(name, domain.names.index(name), a, width if flat else 1 << (width - 1).bit_length())


def blocks(summary: Summary) -> Blocks:
    """For the first two attributes that have more than one value, or the only one."""
    wide = [name for name in summary.domain.names if summary.domain[name].cardinality > 1]
    names = wide[:2] or list(summary.domain.names[:1])
    flat = summary.about.recipe.flat
    sides = tuple(_side(summary.domain, name, flat) for name in names)
    found = np.zeros((2, *(side.many for side in sides)))
    parts = _all_parts(summary, sides)
    for level in summary.ranges.levels:
        asked = [of.get(k) for of, k in zip(parts, level.rule.levels, strict=True)]
        if all(part is not None for part in asked):
            found += _sums(level, [part for part in asked if part is not None], sides)
    return Blocks(sides, found[0], np.sqrt(found[1]))


@dataclass(frozen=True)
class _Parts:
    """The nodes of one level that the blocks of an attribute are made of."""

    block: Ints
    node: Ints
    many: Ints
    weight: Floats
    blocks: int

    def matrix(self, codes: Ints, power: int) -> Any:
        """A row for each block, a column for each code, and powers of weights."""
        order = np.argsort(codes, kind="stable")
        first, last = np.searchsorted(codes[order], [self.node, self.node + self.many])
        many = last - first
        place = np.arange(many.sum()) + np.repeat(first - np.cumsum(many) + many, many)
        weights = np.repeat(self.weight**power, many)
        where = np.repeat(self.block, many), order[place]
        return csr_array((weights, where), (self.blocks, len(codes)))

    @property
    def squares(self) -> Floats:
        """The sum of the squares of the weights of all nodes of each block."""
        each = self.weight**2 * self.many.astype(np.float64)
        return np.bincount(self.block, each, self.blocks).astype(np.float64)


def _all_parts(summary: Summary, sides: Sequence[Side]) -> list[dict[int, _Parts]]:
    """For each attribute, by level; those that are not a side are one block."""
    known = {side.place: side for side in sides}
    found = []
    for place, (_, a) in enumerate(summary.domain.attributes):
        side = known.get(place, Side("", place, a, a.cardinality))
        transform = summary.ranges.transforms[place]
        rows = [(n, p) for n in range(side.many) for p in transform.parts(*side.ends(n))]
        by_level = dict[int, list[tuple[int, Part]]]()
        for n, p in rows:
            by_level.setdefault(p.level, []).append((n, p))
        found.append({level: _parts(of, side) for level, of in by_level.items()})
    return found


def _parts(rows: Sequence[tuple[int, Part]], side: Side) -> _Parts:
    block, node, many = np.array([(n, p.node, p.many) for n, p in rows], dtype=np.int64).T
    return _Parts(block, node, many, np.array([p.weight for _, p in rows]), side.many)


def _sums(level: Level, asked: Sequence[_Parts], sides: Sequence[Side]) -> Floats:
    """Of one table of nodes: the sums of all blocks, and their variances, as `Level.sum` has them.

    The sum over the nodes of a product of weights, one for each attribute, is a product of
    matrices.
    """
    squares = [part.squares for part in asked]
    noise = level.noise(1.0, 1.0)[1] * _product(squares, sides)
    found = []
    for power, values in zip((1, 2), level.single(level.flat.values), strict=False):
        pairs = zip(asked, level.flat.codes, strict=True)
        matrices = [part.matrix(codes, power) for part, codes in pairs]
        found.append(_combined(matrices, values, sides))
    return np.stack([found[0], found[1] + noise])


def _product(squares: Sequence[Floats], sides: Sequence[Side]) -> Floats:
    places = [side.place for side in sides]
    rest = prod(float(s[0]) for n, s in enumerate(squares) if n not in places)
    return rest * reduce(np.multiply.outer, [squares[n] for n in places])


def _combined(matrices: Sequence[Any], values: Floats, sides: Sequence[Side]) -> Floats:
    places = [side.place for side in sides]
    for n, matrix in enumerate(matrices):
        if n not in places:
            values = values * matrix.toarray()[0]
    if len(places) == 1:
        return np.asarray(matrices[places[0]] @ values)
    down, across = (matrices[n] for n in places)
    return np.asarray((down * values @ across.T).toarray())
