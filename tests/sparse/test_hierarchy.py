"""A range is the weighted sum of few nodes, exactly, and one record changes each level by 1."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.privacy.errors import InvalidInput
from tamis.sparse.hierarchy import Dyadic, Haar, Plain, Transform

Ints = npt.NDArray[np.int64]
KINDS = (Plain, Dyadic, Haar)
SIZES = (*range(1, 20), 31, 32, 33)


def counted(transform: Transform, counts: Ints) -> list[Ints]:
    """What every node of every level holds, from the definition."""
    codes = np.arange(transform.size)
    tables = [np.zeros(transform.nodes(level), dtype=np.int64) for level in range(transform.levels)]
    for level, table in enumerate(tables):
        np.add.at(table, transform.node(level, codes), counts * transform.sign(level, codes))
    return tables


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_parts_give_every_range(kind: type[Dyadic], size: int) -> None:
    counts = np.random.default_rng(size).integers(0, 1000, size)
    transform = kind(size)
    tables = counted(transform, counts)
    for first in range(size):
        for last in range(first, size):
            parts = transform.parts(first, last)
            sums = [tables[p.level][p.node : p.node + p.many].sum() * p.weight for p in parts]
            assert sum(sums) == counts[first : last + 1].sum(), (first, last, parts)


@pytest.mark.parametrize("kinds", list(product(KINDS, repeat=2)) + list(product(KINDS, repeat=3)))
def test_products_of_parts_give_every_box(kinds: tuple[type[Dyadic], ...]) -> None:
    sizes = (6, 5, 3)[: len(kinds)]
    counts = np.random.default_rng(1).integers(0, 100, sizes)
    transforms = [kind(size) for kind, size in zip(kinds, sizes, strict=True)]
    vectors = [{bounds: as_vector(t, *bounds) for bounds in ranges(t.size)} for t in transforms]
    for bounds in product(*(ranges(size) for size in sizes)):
        box = counts[tuple(slice(first, last + 1) for first, last in bounds)].sum()
        weighted = counts.astype(np.float64)
        for vector, of in zip(vectors, bounds, strict=True):
            weighted = np.tensordot(weighted, vector[of], (0, 0))
        assert weighted == box


def ranges(size: int) -> list[tuple[int, int]]:
    return [(first, last) for first in range(size) for last in range(first, size)]


def as_vector(t: Transform, first: int, last: int) -> npt.NDArray[np.float64]:
    """How much each value counts for a range, by way of the nodes."""
    codes, total = np.arange(t.size), np.zeros(t.size)
    for p in t.parts(first, last):
        node = t.node(p.level, codes)
        inside = (node >= p.node) & (node < p.node + p.many)
        total += inside * t.sign(p.level, codes) * p.weight
    return total


@pytest.mark.parametrize("size", SIZES)
def test_ranges_need_few_nodes(size: int) -> None:
    dyadic, haar = Dyadic(size), Haar(size)
    for first, last in ranges(size):
        assert len(dyadic.parts(first, last)) <= max(1, 2 * (dyadic.height - 1))
        levels = [p.level for p in haar.parts(first, last)]
        assert levels.count(0) == 1
        assert all(levels.count(level) <= 2 for level in range(1, haar.levels))
        assert all(abs(p.weight) <= 1 / 2 for p in haar.parts(first, last)[1:])
    for transform in (dyadic, haar):
        assert [(p.level, p.weight) for p in transform.parts(0, size - 1)] == [(0, 1.0)]


@settings(deadline=None)
@given(st.integers(1, 2**62), st.sampled_from(KINDS), st.data())
def test_long_dimensions_are_no_different(
    size: int, kind: type[Dyadic], data: st.DataObject
) -> None:
    transform = kind(size)
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, size - 1))
    near = [max(0, first - 1), first, (first + last) // 2, last, min(size - 1, last + 1)]
    codes = np.array(near)
    nodes = [transform.node(level, codes) for level in range(transform.levels)]
    assert all((n < transform.nodes(level)).all() for level, n in enumerate(nodes))
    total = np.zeros(5)
    for p in transform.parts(first, last):
        assert 0 <= p.node <= p.node + p.many - 1 < transform.nodes(p.level)
        inside = (nodes[p.level] >= p.node) & (nodes[p.level] - p.node < p.many)
        total += inside * transform.sign(p.level, codes) * p.weight
    assert total == pytest.approx([float(first <= code <= last) for code in near], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_a_record_changes_every_level_by_one(kind: type[Dyadic], size: int) -> None:
    transform = kind(size)
    for code in range(size):
        one = np.zeros(size, dtype=np.int64)
        one[code] = 1
        assert all(np.abs(table).sum() == 1 for table in counted(transform, one))


def test_nodes_that_can_hold_nothing_are_not_counted() -> None:
    assert [Dyadic(9).nodes(level) for level in range(5)] == [1, 2, 3, 5, 9]
    assert [Haar(9).nodes(level) for level in range(5)] == [1, 1, 2, 3, 5]
    assert [Dyadic(1).levels, Haar(1).levels, Plain(9).levels] == [1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0, -3, 2**62 + 1])
def test_a_size_that_no_dimension_has_is_refused(kind: type[Dyadic], size: int) -> None:
    with pytest.raises(InvalidInput, match="between 1 and 2\\^62"):
        kind(size)
