"""Every cell that holds nothing is chosen with probability p, independently of all others."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tamis.privacy import randomness
from tamis.privacy.reals import exp_minus, ratio
from tamis.sparse.zeros import _ODD, distinct, mixed, throw, without
from tests.sources import Stream

Ints = npt.NDArray[np.int64]
Cell = tuple[int, ...]

RARE = 1e-4  # the seeds are fixed; a wrong law is at least five standard deviations away
TIMES = 1_500


def columns(cells: Sequence[Cell], radices: int) -> Ints:
    return np.array(cells, dtype=np.int64).reshape(-1, radices).T


def listed(cells: Ints) -> list[Cell]:
    return [tuple(cell) for cell in cells.T.tolist()]


def none(radices: tuple[int, ...]) -> Ints:
    return columns([], len(radices))


def thrown(radices: tuple[int, ...], p: Fraction, held: Ints, seed: int) -> npt.NDArray[np.bool_]:
    """Which cells were chosen, in many repetitions: one row for each."""
    chosen = np.zeros((TIMES, prod(radices)), dtype=np.bool_)
    with randomness.using(Stream(seed)):
        for row in chosen:
            cells = without(throw(radices, ratio(p)), held)
            row[np.ravel_multi_index(tuple(cells), radices)] = True
    return chosen


# --- the law ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("radices", "p"),
    [
        ((24,), Fraction(3, 10)),
        ((2, 3, 4), Fraction(3, 10)),
        ((1, 24, 1), Fraction(1, 2)),
        ((2, 2, 1, 3, 2), Fraction(9, 10)),
    ],
)
def test_every_cell_is_chosen_with_probability_p_independently(
    radices: tuple[int, ...], p: Fraction
) -> None:
    chosen = thrown(radices, p, none(radices), 1)
    each, value = chosen.sum(axis=0), float(p)
    spread = (TIMES * value * (1 - value)) ** 0.5
    assert stats.chi2.sf((((each - TIMES * value) / spread) ** 2).sum(), chosen.shape[1]) > RARE
    together = np.atleast_2d(np.corrcoef(chosen.T))[np.triu_indices(len(each), 1)] * TIMES**0.5
    assert stats.kstest(together, "norm").pvalue > RARE
    assert np.abs(together).max() < 5


@pytest.mark.parametrize(
    ("p", "held"), [(Fraction(3, 10), 0), (Fraction(3, 10), 500), (Fraction(1, 20), 300)]
)
def test_the_number_chosen_is_binomial_and_not_three_percent_off(p: Fraction, held: int) -> None:
    cells = [(i, j) for i in range(6) for j in range(120)]
    chosen = thrown((6, 120), p, columns(cells[:held], 2), 2)
    numbers = chosen.sum(axis=1)
    assert fit(numbers, len(cells) - held, float(p)) > RARE
    assert fit(numbers, len(cells) - held, float(p) * 1.03) < RARE
    assert fit(numbers, len(cells) - held, float(p) / 1.03) < RARE


def fit(numbers: Ints, n: int, p: float) -> float:
    """The p-value of a binomial total, and of a binomial law, whichever is smaller."""
    law = stats.binom(n, p)
    low, high = int(law.ppf(5e-3)), int(law.ppf(1 - 5e-3))
    seen = np.bincount(np.clip(numbers, low, high) - low, minlength=high - low + 1)
    share = np.array([law.cdf(low), *law.pmf(np.arange(low + 1, high)), law.sf(high - 1)])
    total = stats.binomtest(int(numbers.sum()), n * len(numbers), p).pvalue
    return float(min(total, stats.chisquare(seen, share * len(numbers)).pvalue))


def test_held_cells_never_come_and_others_come_as_often_as_before() -> None:
    held = [(0, 0), (1, 3), (2, 2), (5, 7)]
    p = Fraction(4, 5)
    chosen = thrown((6, 8), p, columns(held, 2), 3)
    places = np.ravel_multi_index(tuple(columns(held, 2)), (6, 8))
    assert not chosen[:, places].any()
    free = int(np.delete(chosen, places, axis=1).sum())
    assert stats.binomtest(free, TIMES * 44, float(p)).pvalue > RARE


# --- large domains ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "radices", [(2**50, 2**50), (2**63, 2**37), (2,) * 100, (10,) * 30, (1, 2**60, 2**40, 1)]
)
def test_cells_of_a_huge_domain_are_uniform(radices: tuple[int, ...]) -> None:
    m, many = prod(radices), 20_000
    with randomness.using(Stream(4)):
        cells = throw(radices, ratio(Fraction(many, m)))
    assert abs(cells.shape[1] - many) < 4 * many**0.5
    assert abs(cells.shape[1] - many * 1.03) > 4 * many**0.5
    for codes, radix in zip(cells, radices, strict=True):
        assert int(codes.min()) >= 0
        assert int(codes.max()) < radix
        if radix > 2**30:
            assert stats.kstest(codes / radix, "uniform").pvalue > RARE
        elif radix > 1:
            assert stats.chisquare(np.bincount(codes, minlength=radix)).pvalue > RARE
    assert listed(cells) == sorted(set(listed(cells)))


def test_codes_of_one_cell_are_independent() -> None:
    with randomness.using(Stream(5)):
        cells = throw((2,) * 100, ratio(Fraction(20_000, 2**100)))
    for i, j in combinations((0, 1, 50, 98, 99), 2):
        table = np.bincount(cells[i] * 2 + cells[j], minlength=4).reshape(2, 2)
        assert stats.chi2_contingency(table).pvalue > RARE


def test_next_to_nothing_and_nearly_everything() -> None:
    huge = (2**50, 2**50)
    with randomness.using(Stream(6)):
        for p in (ratio(0), ratio(Fraction(1, 10**60)), exp_minus(Fraction(10**12))):
            assert throw(huge, p).shape == (2, 0)
        almost = throw((7, 9), ratio(1 - Fraction(1, 10**35)))
    assert listed(almost) == [(i, j) for i in range(7) for j in range(9)]


def test_a_domain_of_one_cell() -> None:
    with randomness.using(Stream(7)):
        came = sum(throw((1,), ratio(Fraction(1, 4))).shape[1] for _ in range(TIMES))
    assert stats.binomtest(came, TIMES, 0.25).pvalue > RARE


# --- sets of cells ------------------------------------------------------------------------------

CELLS = st.integers(1, 4).flatmap(
    lambda radices: st.tuples(
        st.just(radices),
        st.lists(st.tuples(*[st.integers(0, 3) | st.integers(0, 2**63 - 1)] * radices)),
        st.lists(st.tuples(*[st.integers(0, 3)] * radices), unique=True),
    )
)


@given(CELLS)
def test_distinct_and_without_are_those_of_sets(
    given: tuple[int, list[Cell], list[Cell]],
) -> None:
    radices, cells, held = given
    once = distinct(columns(cells, radices))
    assert listed(once) == sorted(set(cells))
    assert listed(without(once, columns(held, radices))) == sorted(set(cells) - set(held))


def test_cells_that_share_a_mark_are_told_apart() -> None:
    cell, like = (0, 0), (1, -int(_ODD))
    both = columns([cell, like], 2)
    assert len(set(mixed(both).tolist())) == 1
    assert listed(without(both, columns([like], 2))) == [cell]
    assert listed(without(both, columns([cell], 2))) == [like]
