"""No point is beyond the public bounds once it is on the grid, whatever it was before."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tamis.importance.kmeans.grid import BITS, Floats, Grid, shorten
from tamis.privacy.errors import InvalidInput

COLUMNS = 3

values = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e300, -1e300, 1.7e308, 5e-324, -5e-324, 2.0**-1022, 0.0, -0.0, 1.0, -10.0]),
    st.floats(-10, 10),
)
rows = st.lists(st.lists(values, min_size=COLUMNS, max_size=COLUMNS), min_size=1, max_size=6)
sizes = st.floats(-99, 99).map(lambda x: 10.0**x)


@st.composite
def boxes(draw: st.DrawFn) -> Grid:
    """Bounds for all columns, or for each its own, some without any width."""
    size = draw(sizes)
    ends = st.floats(-1, 1).map(lambda x: x * size)
    pairs = draw(st.lists(st.tuples(ends, ends), min_size=COLUMNS, max_size=COLUMNS))
    low, high = np.sort(np.array(pairs), axis=1).T
    high[draw(st.integers(0, COLUMNS - 1))] = size
    return Grid.of_bounds((low, high), COLUMNS)


grids = st.one_of(boxes(), sizes.map(lambda size: Grid.of_radius(size, COLUMNS)))


def norms(placed: Floats) -> list[int]:
    """In whole numbers of Python; that these are whole is checked on the way."""
    assert np.array_equal(placed, np.rint(placed))
    return [sum(abs(int(x)) for x in row) for row in placed]


@given(grids, rows)
@example(Grid.of_bounds((-1, 1), COLUMNS), [[1e300, -1e300, 1e300]])
@example(Grid.of_bounds((1e100 * (1 - 2.0**-39), 1e100), COLUMNS), [[0.0, 1e300, -1e300]])
@example(Grid.of_bounds((0.3, 0.7), COLUMNS), [[0.7, 0.3, 0.7]])
@example(Grid.of_radius(0.1, COLUMNS), [[1.7e308, -1.7e308, 1.7e308]])
def test_no_point_on_the_grid_has_a_norm_beyond_the_radius(
    grid: Grid, points: list[list[float]]
) -> None:
    assert max(norms(grid.place(np.array(points)))) <= grid.steps


@given(grids)
def test_the_radius_has_24_bits_and_a_step_is_a_power_of_two(grid: Grid) -> None:
    assert 2 ** (BITS - 1) <= grid.steps <= 2**BITS
    assert math.frexp(grid.step)[0] == 0.5
    assert grid.steps * grid.step <= grid.radius < (grid.steps + 1) * grid.step


@given(grids, rows)
def test_what_comes_back_is_within_the_bounds(grid: Grid, points: list[list[float]]) -> None:
    back = grid.back(grid.place(np.array(points)))
    assert ((grid.low <= back) & (back <= grid.high)).all()


inside = st.lists(st.lists(st.floats(0, 1), min_size=COLUMNS, max_size=COLUMNS), min_size=1)


@given(st.sampled_from([(-10.0, 10.0), (0.0, 3.0), (-1e-3, 1e5), (99.0, 100.0)]), inside)
def test_a_point_within_the_bounds_moves_by_less_than_a_step(
    bounds: tuple[float, float], shares: list[list[float]]
) -> None:
    grid = Grid.of_bounds(bounds, COLUMNS)
    points = bounds[0] + np.array(shares) * (bounds[1] - bounds[0])
    away = np.abs(grid.back(grid.place(points)) - points)
    assert away.max() <= grid.step * (1 + 1e-6)


def test_columns_have_bounds_of_their_own() -> None:
    grid = Grid.of_bounds(([0.0, -100.0], [1.0, 300.0]), 2)
    found = grid.back(grid.place(np.array([[5.0, 5.0], [-5.0, -500.0], [0.25, 299.0]])))
    assert found == pytest.approx(np.array([[1, 5], [0, -100], [0.25, 299]]), abs=2 * grid.step)


def test_a_column_may_have_no_width_if_another_has() -> None:
    grid = Grid.of_bounds(([7.0, 0.0], [7.0, 1.0]), 2)
    assert grid.back(grid.place(np.array([[100.0, 0.5]]))).tolist() == [[7.0, 0.5]]


def test_a_row_far_out_is_a_row_at_the_bound() -> None:
    grid = Grid.of_bounds((-1, 1), 2)
    assert np.array_equal(
        grid.place(np.array([[1e300, 0.5], [-1e300, -1.7e308]])),
        grid.place(np.array([[1.0, 0.5], [-1.0, -1.0]])),
    )


def test_a_row_beyond_a_radius_keeps_its_direction() -> None:
    grid = Grid.of_radius(2.0, 2)
    found = grid.back(grid.place(np.array([[3.0, -9.0], [1000.0, 1000.0], [0.5, -1.0]])))
    assert found == pytest.approx(np.array([[0.5, -1.5], [1, 1], [0.5, -1]]), abs=2 * grid.step)


@pytest.mark.parametrize("columns", [1, 5, 300])
def test_where_a_point_goes_does_not_depend_on_the_others(columns: int) -> None:
    grid, generator = Grid.of_radius(3.0, columns), np.random.default_rng(1)
    points = generator.standard_cauchy((8300, columns)) * 1e3
    points[::100] *= 1e300
    placed = grid.place(points)
    for row in (0, 1, 4095, 4096, 8191, 8192, 8299):
        assert np.array_equal(grid.place(points[row : row + 1])[0], placed[row])
    assert np.array_equal(grid.place(points[::-1])[::-1], placed)
    assert np.array_equal(grid.place(points[1:]), placed[1:])


@pytest.mark.parametrize("columns", [1, 2, 255, 256, 257, 1000, 10**5])
def test_norms_before_they_are_shortened_are_whole_numbers_that_floats_hold(columns: int) -> None:
    grid = Grid.of_radius(np.nextafter(2.0, 0), columns)
    assert int(grid.high.sum() / grid.step) < 2**53
    assert grid.high[0] >= grid.radius


def test_the_rows_that_were_given_stay_as_they_were() -> None:
    points = np.full((4, 2), 77.0)
    Grid.of_bounds((-1, 1), 2).place(points)
    assert (points == 77.0).all()


lengths = st.integers(-(2**26), 2**26).map(float)


@given(
    st.lists(st.lists(lengths, min_size=4, max_size=4), min_size=1, max_size=5),
    st.integers(1, 2**26),
)
def test_what_is_shortened_is_within_the_radius_and_nothing_is_turned(
    given_rows: list[list[float]], radius: int
) -> None:
    before = np.array(given_rows)
    after = before.copy()
    shorten(after, np.abs(before).sum(axis=1), radius)
    for old, new, norm in zip(before, after, norms(after), strict=True):
        assert norm <= radius
        assert (np.abs(new) <= np.abs(old)).all()
        assert (new * old >= 0).all()
        if np.abs(old).sum() <= radius:
            assert np.array_equal(old, new)
        else:
            assert norm >= radius - len(new) - 1


BAD_BOUNDS = {
    "one number": 1.0,
    "nothing": None,
    "three": (0, 1, 2),
    "text": "high",
    "names": ("low", "high"),
    "too many columns": ([0.0] * 4, [1.0] * 4),
    "too few columns": (0, [1.0, 1.0]),
    "a table": (np.zeros((2, 3)), np.ones((2, 3))),
    "a number beyond floats": (0, 10**400),
    "complex numbers": (0j, 1j),
    "NaN": (math.nan, 1.0),
    "endless": (0.0, math.inf),
    "enormous": (-1e200, 1e200),
    "the wrong way around": (1.0, -1.0),
    "one column the wrong way around": ([0.0, 0.0, 1.0], [1.0, 1.0, 0.0]),
    "no width": (2.0, 2.0),
    "almost no width": (1.0, 1.0 + 2.0**-50),
    "tiny": (0.0, 1e-200),
}


@pytest.mark.parametrize("bounds", BAD_BOUNDS.values(), ids=BAD_BOUNDS)
def test_bounds_that_are_none_are_refused_in_a_sentence(bounds: object) -> None:
    with pytest.raises(InvalidInput, match=r"^bounds must .*\.$"):
        Grid.of_bounds(bounds, COLUMNS)


@pytest.mark.parametrize(
    "radius", [0, 0.0, -1.0, math.nan, math.inf, 1e200, 1e-200, "1", None, True, [1.0], 10**400]
)
def test_a_radius_that_is_none_is_refused_in_a_sentence(radius: object) -> None:
    with pytest.raises(InvalidInput, match=r"^radius must be a number above 0.*\.$"):
        Grid.of_radius(radius, COLUMNS)
