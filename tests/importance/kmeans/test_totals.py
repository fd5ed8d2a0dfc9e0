"""What points add up to equals a slow computation in whole numbers, also at the largest norms."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.importance.kmeans import parallel
from tamis.importance.kmeans.grid import BITS, Floats, shorten
from tamis.importance.kmeans.totals import (
    COUNT_BITS,
    Assigned,
    Ints,
    Points,
    moves,
    nearest,
    totals,
)

FAR = 2 ** (BITS + 1)  # the largest norm of points and centres, once the middle is 0
UNIT = 1 << COUNT_BITS
Rows = list[list[int]]


def whole(rows: Floats) -> Rows:
    assert np.array_equal(rows, np.rint(rows))
    return [[int(x) for x in row] for row in rows]


def slow_nearest(places: Floats, centres: Floats) -> list[int]:
    """The first of the centres with the least squared distance, in Python's integers."""

    def away(x: list[int], c: list[int]) -> int:
        return sum((a - b) ** 2 for a, b in zip(x, c, strict=True))

    found = whole(centres)
    return [min(range(len(found)), key=lambda j: away(x, found[j])) for x in whole(places)]


def slow_totals(near: list[int], rows: Rows, counts: list[int], many: int) -> tuple[Ints, Ints]:
    sizes, sums = [0] * many, [[0] * len(rows[0]) for _ in range(many)]
    for j, row, count in zip(near, rows, counts, strict=True):
        sizes[j] += count
        sums[j] = [a + b for a, b in zip(sums[j], row, strict=True)]
    return np.array(sizes), np.array(sums)


def same(found: tuple[Ints, Ints], true: tuple[Ints, Ints]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(found, true, strict=True))


def extreme(many: int, dimensions: int, seed: int) -> Floats:
    """Whole numbers with norms at the largest, in few columns or spread over all."""
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(dimensions, 0.3), many)
    rows: Floats = np.trunc(shares * FAR) * generator.choice([-1.0, 1.0], (many, dimensions))
    rows[::3] = 0
    rows[::3, 0] = FAR * generator.choice([-1.0, 1.0], len(rows[::3]))
    assert np.abs(rows).sum(axis=1).max() == FAR
    return rows


CASES = {
    "small numbers with many ties": lambda: (
        np.random.default_rng(0).integers(-3, 4, (300, 3)).astype(float),
        np.random.default_rng(1).integers(-3, 4, (7, 3)).astype(float),
    ),
    "any numbers": lambda: (
        np.rint(np.random.default_rng(2).normal(0, 1e6, (300, 4))),
        np.rint(np.random.default_rng(3).normal(0, 1e6, (9, 4))),
    ),
    "the largest norms": lambda: (extreme(300, 6, 4), extreme(12, 6, 5)),
    "the largest norms in one column": lambda: (extreme(50, 1, 6), extreme(4, 1, 7)),
    "the largest norms in 500 columns": lambda: (extreme(60, 500, 8), extreme(5, 500, 9)),
    "centres one step apart, far out": lambda: (
        extreme(200, 3, 10),
        extreme(1, 3, 11) + np.array([[0, 0, 0], [0, 1, 0], [0, 0, -1], [0, -1, 1]]),
    ),
    "one centre": lambda: (extreme(40, 2, 12), np.zeros((1, 2))),
    "equal centres": lambda: (extreme(40, 2, 13), np.full((5, 2), 3.0)),
}


@pytest.fixture(params=CASES.values(), ids=list(CASES))
def case(request: pytest.FixtureRequest) -> tuple[Floats, Floats]:
    places, centres = request.param()
    return places, centres


def test_nearest_is_what_whole_numbers_say(case: tuple[Floats, Floats]) -> None:
    places, centres = case
    assert nearest(places, centres).tolist() == slow_nearest(places, centres)


def test_totals_are_what_whole_numbers_say(case: tuple[Floats, Floats]) -> None:
    places, centres = case
    near = slow_nearest(places, centres)
    true = slow_totals(near, whole(places), [1] * len(places), len(centres))
    assert same(totals(Points(places), centres), true)


def test_distances_are_what_whole_numbers_say(case: tuple[Floats, Floats]) -> None:
    places, centres = case
    away = places - centres[slow_nearest(places, centres)]
    true = [sum(map(abs, row)) for row in whole(away)]
    assert Assigned.to(Points(places), centres).norms.tolist() == true


@pytest.mark.parametrize("radius", [1, 1000, FAR, 2 * FAR])
def test_moves_are_what_whole_numbers_say(case: tuple[Floats, Floats], radius: int) -> None:
    places, centres = case
    near = slow_nearest(places, centres)
    away = places - centres[near]
    shorten(away, np.abs(away).sum(axis=1), radius)
    true = slow_totals(near, whole(away), [1] * len(places), len(centres))
    points = Points(places)
    assert same(moves(points, centres, radius), true)
    assert same(moves(points, centres, radius, Assigned.to(points, centres)), true)


def test_heavy_totals_beyond_2_to_the_53_are_exact() -> None:
    places, generator = np.abs(extreme(30_000, 3, 14)), np.random.default_rng(15)
    points = Points.weighted(places, generator.uniform(1, 2.0**15, len(places)))
    assert points.heavy is not None
    assert points.counts is not None
    near = [0] * len(places)
    true = slow_totals(near, whole(points.heavy), [int(c) for c in points.counts], 1)
    assert true[1].max() > 2**53
    assert same(totals(points, np.zeros((1, 3))), true)


# --- what one point adds ------------------------------------------------------------------------

small = st.integers(-4, 4)
numbers = small | st.integers(-FAR // 3, FAR // 3)
tables = st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=12)


def table(rows: list[list[int]]) -> Floats:
    return np.array(rows, dtype=np.float64)


def added(one: tuple[Ints, Ints], other: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    return other[0] - one[0], other[1] - one[1]


@given(tables, tables, st.data())
def test_a_point_adds_itself_to_one_centre_and_changes_nothing_else(
    given_rows: list[list[int]], given_centres: list[list[int]], data: st.DataObject
) -> None:
    rows, centres = table(given_rows), table(given_centres)
    at = data.draw(st.integers(0, len(rows) - 1))
    without = np.delete(rows, at, axis=0)
    counts, sums = added(totals(Points(without), centres), totals(Points(rows), centres))
    (own,) = slow_nearest(rows[at : at + 1], centres)
    assert counts.tolist() == [int(j == own) for j in range(len(centres))]
    assert sums[own].tolist() == rows[at].tolist()
    assert not np.delete(sums, own, axis=0).any()


@given(tables, tables, st.integers(1, FAR), st.data())
def test_a_point_moves_one_centre_by_no_more_than_the_radius(
    given_rows: list[list[int]], given_centres: list[list[int]], radius: int, data: st.DataObject
) -> None:
    rows, centres = table(given_rows), table(given_centres)
    at = data.draw(st.integers(0, len(rows) - 1))
    without = np.delete(rows, at, axis=0)
    counts, sums = added(
        moves(Points(without), centres, radius), moves(Points(rows), centres, radius)
    )
    (own,) = slow_nearest(rows[at : at + 1], centres)
    assert counts.tolist() == [int(j == own) for j in range(len(centres))]
    assert not np.delete(sums, own, axis=0).any()
    assert sum(abs(int(x)) for x in sums[own]) <= radius


def test_one_row_more_in_front_of_thousands_shifts_no_other() -> None:
    """Rows then fall into other parts, and to other places within them."""
    rows, centres = extreme(9000, 7, 16), extreme(20, 7, 17)
    whole_of_it = nearest(rows, centres)
    for first in (1, 2, 3, 5):
        assert np.array_equal(nearest(rows[first:], centres), whole_of_it[first:])
    counts, sums = added(totals(Points(rows[1:]), centres), totals(Points(rows), centres))
    assert counts.sum() == 1
    assert sums[np.argmax(counts)].tolist() == rows[0].tolist()
    assert np.count_nonzero(np.abs(sums).sum(axis=1)) == 1


@given(st.permutations(range(40)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    rows, centres = extreme(40, 3, 18), extreme(5, 3, 19)
    assert same(totals(Points(rows[order]), centres), totals(Points(rows), centres))
    assert same(moves(Points(rows[order]), centres, 999), moves(Points(rows), centres, 999))


def test_neither_processors_nor_parts_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, centres = extreme(9000, 5, 20), extreme(30, 5, 21)
    before = totals(Points(rows), centres), moves(Points(rows), centres, 12345)
    for processors, at_once in ((1, 4096), (8, 977), (3, 64)):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        monkeypatch.setattr(parallel, "_ROWS", at_once)
        assert same(totals(Points(rows), centres), before[0])
        assert same(moves(Points(rows), centres, 12345), before[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_no_rows_add_nothing(weighted: bool) -> None:
    """A sample may be empty, and nobody may see it."""
    none, centres = np.zeros((0, 3)), extreme(4, 3, 22)
    points = Points.weighted(none, np.zeros(0)) if weighted else Points(none)
    counts, sums = totals(points, centres)
    assert (counts.shape, sums.shape) == ((4,), (4, 3))
    assert not counts.any()
    assert not sums.any()
    assert same(moves(Points(none), centres, 5), (counts, sums))
    assert len(Assigned.to(points, centres).norms) == len(nearest(none, centres)) == 0


# --- weights ------------------------------------------------------------------------------------

weights = st.floats(1, 2.0**15) | st.sampled_from([1.0, 4 / 3, np.nextafter(4 / 3, 0), 3.0, 1e300])


@given(st.lists(numbers, min_size=3, max_size=3), weights)
def test_a_weighted_point_adds_no_more_than_its_weight_says(row: list[int], weight: float) -> None:
    points = Points.weighted(table([row]), np.array([weight]))
    assert points.heavy is not None
    assert points.counts is not None
    assert points.unit == UNIT
    (count,) = points.counts.tolist()
    assert count == int(count)
    assert Fraction(count) <= Fraction(weight) * UNIT
    for x, heavy in zip(row, points.heavy[0].tolist(), strict=True):
        assert heavy == int(heavy)
        assert heavy * x >= 0
        assert abs(Fraction(heavy)) <= Fraction(weight) * abs(x)
        assert abs(Fraction(heavy)) > Fraction(int(count), UNIT) * abs(x) - 1


def test_a_part_of_the_heaviest_points_adds_up_to_what_floats_hold() -> None:
    points = Points.weighted(np.full((1, 1), float(FAR)), np.array([1e300]))
    assert points.heavy is not None
    assert points.counts is not None
    assert parallel._ROWS * max(points.heavy[0, 0], points.counts[0]) <= 2**53


@given(st.lists(numbers, min_size=3, max_size=3), st.floats(1, 2.0**14))
def test_weights_that_are_of_use_are_kept_to_one_part_in_1024(
    row: list[int], weight: float
) -> None:
    points = Points.weighted(table([row]), np.array([weight]))
    assert points.counts is not None
    assert points.counts[0] == np.floor(weight * UNIT)


def test_points_of_weight_1_are_what_they_are() -> None:
    rows = extreme(50, 3, 23)
    points = Points.weighted(rows, np.ones(50))
    assert points.heavy is not None
    assert np.array_equal(points.heavy, rows)
    counts, sums = totals(points, extreme(4, 3, 24))
    assert same((counts // UNIT, sums), totals(Points(rows), extreme(4, 3, 24)))
