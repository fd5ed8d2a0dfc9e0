"""A count sketch: hashes that are as independent as they claim, and unbiased private answers."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tamis.privacy.noise import variance
from tamis.sparse.flat import Table
from tamis.sparse.hashing import PRIME, Hash, times
from tamis.sparse.sketch import Rows, Sketch, shape, summarize
from tests.sources import Forbidden, Stream

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RARE = 1e-4  # the seeds are fixed
RADICES = (2**40, 7, 2**63)
SURE = Fraction(10**5)  # at this rate all noise is 0


def cells(many: int, seed: int = 1) -> Ints:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, radix - 1, many, endpoint=True) for radix in RADICES])


TABLE = Table(RADICES, cells(300), np.random.default_rng(2).integers(1, 40, 300))
F2 = float(np.sum(TABLE.counts.astype(np.float64) ** 2))
NONE = np.array([[5], [0], [17]])


# --- hashes -------------------------------------------------------------------------------------

NUMBERS = st.integers(0, PRIME - 1) | st.sampled_from([0, 1, 2**31, 2**31 - 1, PRIME - 1])


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1))
def test_products_are_those_of_whole_numbers(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(side, dtype=np.uint64) for side in zip(*pairs, strict=True))
    assert times(x, y).tolist() == [a * b % PRIME for a, b in pairs]


@settings(deadline=None)
@given(st.integers(0, 2**40 - 1), st.integers(0, 6), st.integers(0, 2**63 - 1), st.integers(1, 999))
def test_a_hash_is_the_polynomial_it_is_said_to_be(x: int, y: int, z: int, width: int) -> None:
    with randomness.using(Stream(x)):
        h = Hash.draw(RADICES)
    places, signs = h(RADICES, np.array([[x], [y], [z]]), width)
    parts = (x, y, z >> 31, z & (2**31 - 1))
    u = sum(a * part for a, part in zip(h.mix, parts, strict=True)) % PRIME
    value = sum(c * u**k for k, c in enumerate(h.bucket)) % PRIME
    odd = sum(c * u**k for k, c in enumerate(h.sign)) % PRIME % 2
    assert (len(h.bucket), len(h.sign)) == (2, 4)
    assert (places.tolist(), signs.tolist()) == ([value % width], [1 - 2 * odd])


@pytest.mark.slow
def test_buckets_are_independent_in_pairs_and_signs_in_fours() -> None:
    near = np.array([[0, 1, 2, 3, 2**39], [0, 0, 0, 0, 1], [2**62, 5, 5, 5, 5]])
    with randomness.using(Stream(1)):
        drawn = [Hash.draw(RADICES)(RADICES, near, 5) for _ in range(8000)]
    places, signs = (np.array(side) for side in zip(*drawn, strict=True))
    for i, j in combinations(range(5), 2):
        seen = np.bincount(places[:, i] * 5 + places[:, j], minlength=25)
        assert stats.chisquare(seen).pvalue > RARE
        both = np.bincount(places[:, i] * 2 + (signs[:, j] > 0), minlength=10)
        assert stats.chisquare(both).pvalue > RARE
    for four in combinations(range(5), 4):
        seen = np.bincount((signs[:, four] > 0) @ [1, 2, 4, 8], minlength=16)
        assert stats.chisquare(seen).pvalue > RARE


def test_hashes_do_not_depend_on_the_data() -> None:
    empty = Table(RADICES, np.zeros((3, 0), dtype=np.int64), np.zeros(0, dtype=np.int64))
    made = []
    for table in (TABLE, empty):
        with randomness.using(Stream(3)):
            made.append(summarize(table, Fraction(1), 1, 20, 3))
    assert made[0].hashes == made[1].hashes
    changed = made[0].buckets - made[1].buckets  # under the same words, noise is the same
    for row, h in zip(changed, made[0].hashes, strict=True):
        places, signs = h(RADICES, TABLE.codes, 20)
        assert row.tolist() == np.bincount(places, weights=signs * TABLE.counts).tolist()


def test_every_cell_of_a_small_domain_is_in_it_once() -> None:
    """The long way: all 2,000 cells, one by one, by the polynomials as they are written down."""
    radices = (40, 50)
    counts = np.where(np.random.default_rng(1).random(radices) < 0.1, 7, 0)
    held = np.stack(np.nonzero(counts))
    made = []
    for table in (
        Table(radices, held, counts[tuple(held)]),
        Table(radices, held[:, :0], held[0, :0]),
    ):
        with randomness.using(Stream(8)):
            made.append(summarize(table, Fraction(1), 1, 30, 3))
    buckets = made[1].buckets.copy()  # of nothing but the same noise
    for row, h in zip(buckets, made[0].hashes, strict=True):
        for x, y in np.ndindex(radices):
            u = (h.mix[0] * x + h.mix[1] * y) % PRIME
            place = (h.bucket[0] + h.bucket[1] * u) % PRIME % 30
            odd = sum(c * u**k for k, c in enumerate(h.sign)) % PRIME % 2
            row[place] += counts[x, y] * (-1 if odd else 1)
    assert np.array_equal(buckets, made[0].buckets)
    assert not np.array_equal(buckets, made[1].buckets)


# --- the promise --------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 9), st.fractions(Fraction(1, 100), 9), st.integers(0, 99))
def test_a_record_more_costs_epsilon_over_all_rows(
    rows: int, change: int, epsilon: Fraction, seed: int
) -> None:
    made = []
    for more in (0, change):
        table = Table(RADICES, NONE, np.array([3 + more]))
        with randomness.using(Stream(seed)):
            made.append(summarize(table, epsilon, change, 10, rows))
    assert made[0].hashes == made[1].hashes
    changed = int(np.abs(made[0].buckets - made[1].buckets).sum())
    assert made[0].rate * changed == epsilon


def test_all_buckets_have_the_noise_of_their_rate() -> None:
    empty = Table(RADICES, np.zeros((3, 0), dtype=np.int64), np.zeros(0, dtype=np.int64))
    with randomness.using(Stream(4)):
        made = summarize(empty, Fraction(1), 2, 20_000, 3)
    assert made.rate == Fraction(1, 6)
    squares = made.buckets.astype(np.float64) ** 2
    for right, factor in ((True, 1.0), (False, 1.06), (False, 1 / 1.06)):
        far = abs(squares.mean() - variance(made.rate) * factor)
        assert (far < 4 * squares.std() / squares.size**0.5) == right


# --- estimates ----------------------------------------------------------------------------------


@lru_cache
def sketches(epsilon: Fraction, width: int, rows: int, many: int) -> list[Sketch]:
    with randomness.using(Stream(5)):
        return [summarize(TABLE, epsilon, 1, width, rows) for _ in range(many)]


def test_a_wide_sketch_without_noise_is_exact() -> None:
    (made,) = sketches(SURE, 10**6, 3, 1)
    assert made.cells(TABLE.codes, "median").tolist() == TABLE.counts.tolist()
    assert made.second_moment() == pytest.approx(F2, rel=0.02)
    assert made.subset(TABLE.codes, "median").estimate == pytest.approx(TABLE.counts.sum(), abs=80)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "rows"), [(30, 1), (12, 4)])
@pytest.mark.parametrize("epsilon", [SURE, Fraction(1, 5)])
def test_means_are_unbiased_with_the_variance_stated(
    width: int, rows: int, epsilon: Fraction
) -> None:
    many = 1000
    made = sketches(epsilon, width, rows, many)
    asked = np.concatenate([TABLE.codes[:, :8], NONE], axis=1)
    exact = np.array([*TABLE.counts[:8], 0])
    errors = np.array([sketch.cells(asked) for sketch in made]) - exact
    stated = ((F2 - exact**2) / width + variance(epsilon / rows)) / rows
    assert (np.abs(errors.mean(axis=0)) < 4 * (stated / many) ** 0.5).all()
    ratios = (errors**2 / stated).mean(axis=1)
    assert abs(ratios.mean() - 1) < 4 * (ratios.var() / many) ** 0.5
    assert abs(ratios.mean() - 1.15) > 4 * (ratios.var() / many) ** 0.5
    moments = np.array([sketch.second_moment() for sketch in made])
    assert abs(moments.mean() - F2) < 4 * moments.std() / many**0.5


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["mean", "median"])
@pytest.mark.parametrize(
    ("epsilon", "asked"),
    [
        (Fraction(1, 20), TABLE.codes[:, :1]),
        pytest.param(Fraction(1, 2), TABLE.codes[:, :50], marks=pytest.mark.slow),
        pytest.param(Fraction(1, 20), NONE, marks=pytest.mark.slow),
        pytest.param(Fraction(2), TABLE.codes[:, :1], marks=pytest.mark.slow),
        pytest.param(Fraction(2), TABLE.codes[:, :50], marks=pytest.mark.slow),
        pytest.param(Fraction(1, 2), cells(100, 9), marks=pytest.mark.slow),
    ],
)
def test_intervals_hold_the_truth(rows: Rows, epsilon: Fraction, asked: Ints) -> None:
    many, (width, d) = 800, shape(200, rows)
    answers = [sketch.subset(asked, rows) for sketch in sketches(epsilon, width, d, many)]
    held = (asked[:, :, None] == TABLE.codes[:, None, :]).all(axis=0).any(axis=0)
    exact = int(TABLE.counts[held].sum())
    errors = np.array([answer.estimate - exact for answer in answers])
    assert abs(errors.mean()) < 4 * errors.std() / many**0.5
    stated = np.mean([answer.standard_error**2 for answer in answers])
    ratio = np.mean(errors**2) / stated
    assert (0.8 if rows == "mean" else 0.5) < ratio < 1.25
    inside = sum(answer.low <= exact <= answer.high for answer in answers)
    assert stats.binomtest(inside, many, 0.95, alternative="less").pvalue > RARE


def test_a_median_passes_over_a_large_cell_and_a_mean_does_not() -> None:
    large = Table((10**6,), np.array([[1]]), np.array([10**9]))
    with randomness.using(Stream(6)):
        made = [summarize(large, Fraction(1), 1, 4, 5) for _ in range(200)]
    asked = np.array([[77]])
    means, medians = (
        np.array([abs(float(sketch.cells(asked, rows)[0])) for sketch in made])
        for rows in ("mean", "median")
    )
    assert np.mean(means > 10**6) > 0.5  # a row is hit with probability 1/4
    assert np.mean(medians > 10**6) < 0.2


def test_a_point_is_a_list_of_one_and_cells_of_a_list_count_once() -> None:
    (made,) = sketches(Fraction(1), 50, 3, 1)
    one = TABLE.codes[:, 4]
    assert made.point(one.tolist()) == made.subset(one[:, None])
    assert made.point(one.tolist()).estimate == pytest.approx(float(made.cells(one[:, None])[0]))
    assert made.subset(np.repeat(one[:, None], 3, axis=1)) == made.subset(one[:, None])
    nothing = made.subset(np.zeros((3, 0), dtype=np.int64))
    assert (nothing.estimate, nothing.standard_error) == (0.0, 0.0)


def test_shapes_fill_the_size() -> None:
    assert shape(1000) == (1000, 1)
    assert shape(1003, "median") == (200, 5)
    with pytest.raises(InvalidInput, match="size must be at least 5, not 4"):
        shape(4, "median")


@pytest.mark.parametrize("cell", [(0, 7, 0), (0, 0), (-1, 0, 0), (2**40, 0, 0), (0, 0, 0, 0)])
def test_cells_outside_are_refused(cell: tuple[int, ...]) -> None:
    (made,) = sketches(Fraction(1), 5, 1, 1)
    with pytest.raises(InvalidInput, match="one code from 0 on for each radix"):
        made.point(cell)


@pytest.mark.parametrize(("width", "rows"), [(0, 1), (5, 0)])
def test_a_sketch_without_buckets_is_refused(width: int, rows: int) -> None:
    with (
        randomness.using(Forbidden()),
        pytest.raises(InvalidInput, match="at least one row of one bucket"),
    ):
        summarize(TABLE, Fraction(1), 1, width, rows)
