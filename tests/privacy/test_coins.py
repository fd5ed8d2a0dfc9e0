"""Coins, Poisson sums and uniform numbers have exactly the laws they state, ties included."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tamis.privacy import coins as module
from tamis.privacy import randomness
from tamis.privacy.coins import coins, poisson, uniform
from tamis.privacy.reals import Real, exp_minus, ratio
from tests.sources import Forbidden, Listed, Stream

ONES = 2**64 - 1
RARE = 1e-4  # the seeds are fixed; a wrong law is at least five standard deviations away


def chunks(word: int, n: int) -> list[int]:
    """A word of 16 n places, most significant first, as one coin asks for it.

    Of each 64-bit word a lone coin uses the first 16 places in memory.
    """
    return [word >> 16 * (n - 1 - k) & 0xFFFF for k in range(n)]


def tossed(p: Real, word: int, n: int) -> tuple[bool, int]:
    """One coin whose word begins with 16 n listed places, and how many of the n parts it took."""
    source = Listed(chunks(word, n))
    with randomness.using(source):
        heads = bool(coins(p, 1)[0])
    return heads, n - source.left


# --- coins: near ties ---------------------------------------------------------------------------


def test_a_word_that_begins_like_p_goes_on_until_it_differs() -> None:
    third = ratio(Fraction(1, 3))  # every 16 places of it are 0x5555
    for ties in range(6):  # up to 80 places
        for last, heads in ((0x5554, True), (0x5556, False)):
            word = int("5555" * ties + f"{last:04x}", 16)
            assert tossed(third, word, ties + 1) == (heads, ties + 1)


def test_no_word_is_looked_at_further_than_needed() -> None:
    third = ratio(Fraction(1, 3))
    assert tossed(third, 0x5554_0000, 2) == (True, 1)
    assert tossed(third, 0x5556_0000, 2) == (False, 1)
    assert tossed(third, 0x5555_0000, 2) == (True, 2)
    assert tossed(third, 0x5555_FFFF, 2) == (False, 2)


@given(
    st.one_of(st.fractions(0, 3).map(exp_minus), st.fractions(0, 1).map(ratio)),
    st.integers(1, 8),
    st.sampled_from([-(2**20), -2, -1, 1, 2, 2**20]),
)
def test_words_next_to_p_fall_on_the_right_side(p: Real, n: int, away: int) -> None:
    """Whatever they go on with; the nearest are sometimes looked at for 16 places more."""
    low, high = (int(end * 2 ** (16 * n)) for end in map(Fraction, (p(200).low, p(200).high)))
    word = (low if away < 0 else high) + away
    if 0 <= word < 2 ** (16 * n):
        nearest = word << 16 | (0xFFFF if away < 0 else 0)
        assert tossed(p, nearest, n + 1)[0] == (away < 0)


@pytest.mark.parametrize("p", [0, 1])
def test_certain_coins(p: int) -> None:
    with randomness.using(Listed([0, ONES, 0, ONES])):
        assert coins(ratio(p), 16).tolist() == [p == 1] * 16


def test_a_fair_coin_is_decided_by_one_place() -> None:
    with randomness.using(Listed([0x0000_7FFF_8000_FFFF])):
        assert coins(ratio(Fraction(1, 2)), 4).tolist() == [False, False, True, True]


def test_a_tiny_probability_needs_as_many_zeros_as_it_has() -> None:
    tiny = ratio(Fraction(1, 2**100))
    assert tossed(tiny, 1, 1) == (False, 1)
    assert tossed(tiny, 1, 6) == (False, 6)
    assert tossed(tiny, 4000, 7) == (True, 7)  # 112 places, of which the first 100 are zero
    assert tossed(tiny, 4200, 7) == (False, 7)
    assert tossed(tiny, 2**220 - 1, 20)[0]  # the largest word of 320 places below 2^-100
    assert not tossed(tiny, 2**220, 20)[0]


def test_a_probability_just_below_one_needs_as_many_ones() -> None:
    large = ratio(1 - Fraction(1, 2**100))
    assert tossed(large, 0xFFFE, 1) == (True, 1)
    assert tossed(large, 2**96 - 2, 6) == (True, 6)
    assert tossed(large, 2**112 - 4200, 7) == (True, 7)
    assert tossed(large, 2**112 - 4000, 7) == (False, 7)
    assert tossed(large, 2**320 - 2**220 - 1, 20)[0]
    assert not tossed(large, 2**320 - 2**220, 20)[0]


def test_probabilities_beyond_any_word_are_never_met() -> None:
    for rate in (10**8, 10**30):
        assert tossed(exp_minus(Fraction(rate)), 1, 40) == (False, 40)


def test_ties_in_a_large_array_are_settled_each_with_its_own_places() -> None:
    third = ratio(Fraction(1, 3))
    with randomness.using(Listed([0x5555_5556_5555_5554, 0x5554_5556])):
        assert coins(third, 4).tolist() == [True, False, False, True]


def test_no_coins_take_no_words() -> None:
    with randomness.using(Forbidden()):
        assert coins(ratio(Fraction(1, 3)), 0).tolist() == []


# --- coins: the law -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "value"),
    [
        (ratio(Fraction(1, 3)), 1 / 3),
        (ratio(Fraction(1, 100)), 0.01),
        (exp_minus(Fraction(1, 10)), float(np.exp(-0.1))),
        (exp_minus(Fraction(3)), float(np.exp(-3))),
    ],
    ids=["1/3", "1/100", "exp(-1/10)", "exp(-3)"],
)
def test_heads_come_as_often_as_stated_and_not_three_percent_off(p: Real, value: float) -> None:
    n = 4_000_000
    with randomness.using(Stream(1)):
        heads = int(np.count_nonzero(coins(p, n)))
    assert stats.binomtest(heads, n, value).pvalue > RARE
    assert stats.binomtest(heads, n, value * 1.03).pvalue < RARE
    assert stats.binomtest(heads, n, value / 1.03).pvalue < RARE


@pytest.mark.parametrize("apart", [1, 2, 3, 4, 7])
def test_coins_are_independent(apart: int) -> None:
    with randomness.using(Stream(2)):
        heads = coins(ratio(Fraction(1, 3)), 1_000_000)
    both, other = heads[:-apart], heads[apart:]
    table = [[np.count_nonzero((both == a) & (other == b)) for a in (0, 1)] for b in (0, 1)]
    assert stats.chi2_contingency(table).pvalue > RARE


def test_work_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with randomness.using(Stream(3)):
        whole = coins(ratio(Fraction(2, 7)), 100_001)
    monkeypatch.setattr(module, "_AT_ONCE", 64)
    with randomness.using(Stream(3)):
        assert (coins(ratio(Fraction(2, 7)), 100_001) == whole).all()


# --- Poisson sums -------------------------------------------------------------------------------

MEANS = [Fraction(1), Fraction(1, 2), Fraction(1, 1000), Fraction(1, 10**30)]


def below(mean: Fraction, k: int) -> Any:
    """Pr[X <= k] to 200 digits, from the terms."""
    z = mp.mpf(mean.numerator) / mean.denominator
    return mp.exp(-z) * mp.fsum(z**j / mp.factorial(j) for j in range(k + 1))


def reached(mean: Fraction, words: list[int]) -> tuple[int, int]:
    """One Poisson variable from these words, and how many of them it took."""
    source = Listed(words)
    with randomness.using(source):
        return poisson(ratio(mean), 1), len(words) - source.left


def expected(mean: Fraction, word: int, places: int) -> int:
    """The first k with word / 2^places below Pr[X <= k]."""
    with mp.workdps(200):
        return next(k for k in range(10**4) if mp.mpf(word) / mp.mpf(2) ** places < below(mean, k))


@pytest.mark.parametrize("mean", MEANS, ids=str)
def test_words_on_either_side_of_every_bound_give_the_numbers_on_either_side(
    mean: Fraction,
) -> None:
    for k in range(25):
        with mp.workdps(200):
            bound = int(mp.floor(below(mean, k) * mp.mpf(2) ** 64))
        if bound < ONES - 1:
            assert reached(mean, [bound - 1]) == (k, 1)
            assert reached(mean, [bound + 1]) == (expected(mean, bound + 1, 64), 1)


@pytest.mark.parametrize("mean", MEANS[:3], ids=str)
def test_a_word_that_ties_with_a_bound_goes_on_until_it_differs(mean: Fraction) -> None:
    for k in (0, 1, 2):
        with mp.workdps(200):
            bound = int(mp.floor(below(mean, k) * mp.mpf(2) ** 128))
        first, second = bound >> 64, bound & ONES
        assert reached(mean, [first, second - 1]) == (k, 2)
        assert reached(mean, [first, second + 1]) == (k + 1, 2)
        assert reached(mean, [first, second, 0])[1] == 3  # 128 places tie


@pytest.mark.parametrize("mean", MEANS, ids=str)
@pytest.mark.parametrize("ones", [1, 2, 5])
def test_the_tail_has_no_end(mean: Fraction, ones: int) -> None:
    for last in (0, 12345 << 40):
        number, _ = reached(mean, [ONES] * ones + [last, 0])
        word = ((2 ** (64 * ones) - 1) << 64 | last) << 64
        assert number == expected(mean, word, 64 * (ones + 2))
    assert reached(Fraction(1), [ONES] * 5 + [0])[0] > 60  # beyond every table of 64 places


def test_a_sum_adds_its_words() -> None:
    mean = Fraction(1, 2)
    words = [0, 2**63, 2**64 - 2**40, 2**64 - 2**20, 12345]
    with randomness.using(Listed(words)):
        assert poisson(ratio(mean), 5) == sum(expected(mean, word, 64) for word in words)


def test_a_mean_of_zero_gives_zero() -> None:
    assert reached(Fraction(0), [ONES - 1]) == (0, 1)
    assert reached(Fraction(0), [ONES, ONES - 1])[0] == 0


@pytest.mark.parametrize(("mean", "n"), [(1, 20), (Fraction(1, 2), 60), (Fraction(99, 100), 200)])
def test_sums_are_poisson_and_not_three_percent_off(mean: Fraction, n: int) -> None:
    with randomness.using(Stream(4)):
        drawn = np.array([poisson(ratio(mean), n) for _ in range(8_000)])
    for factor, right in ((1, True), (1.03, False), (1 / 1.03, False)):
        assert (fit(drawn, float(mean) * n * factor) > RARE) == right
    assert abs(drawn.mean() - float(mean) * n) < 5 * float(mean * n / 8_000) ** 0.5


def fit(drawn: Any, mean: float) -> float:
    """The p-value of a Poisson law, by chi-square on classes of at least 20 expected draws."""
    law = stats.poisson(mean)
    low, high = int(law.ppf(1e-3)), int(law.ppf(1 - 1e-3))
    seen = np.bincount(np.clip(drawn, low, high) - low, minlength=high - low + 1)
    share = np.array([law.cdf(low), *law.pmf(np.arange(low + 1, high)), law.sf(high - 1)])
    return float(stats.chisquare(seen, share * len(drawn)).pvalue)


# --- uniform numbers ----------------------------------------------------------------------------


def test_uniform_takes_the_top_places_and_draws_again_what_is_too_large() -> None:
    with randomness.using(Listed([3 << 62, 1 << 62, 2 << 62, 3 << 62, 0])):
        assert uniform(3, 3).tolist() == [0, 1, 2]
    with randomness.using(Listed([ONES, 0, 2**63 - 1])):
        assert uniform(2**63, 3).tolist() == [2**63 - 1, 0, 2**62 - 1]
    with randomness.using(Listed([ONES, 3, ONES - 2])):
        assert uniform(2**63 - 1, 2).tolist() == [2**63 - 2, 1]
    with randomness.using(Forbidden()):
        assert uniform(1, 2).tolist() == [0, 0]


@pytest.mark.parametrize("bound", [2, 3, 7, 1000, 2**63 - 1, 2**63])
def test_uniform_numbers_are_uniform_and_not_three_percent_off(bound: int) -> None:
    n, classes = 200_000, min(bound, 5)
    with randomness.using(Stream(5)):
        drawn = uniform(bound, n)
    assert 0 <= int(drawn.min()) <= int(drawn.max()) < bound
    edges = [-(-bound * k // classes) for k in range(classes + 1)]
    seen = [int(np.count_nonzero((drawn >= a) & (drawn < b))) for a, b in pairwise(edges)]
    share = np.array([(b - a) / bound for a, b in pairwise(edges)])
    assert stats.chisquare(seen, share * n).pvalue > RARE
    share[0] *= 1.03
    assert stats.chisquare(seen, share / share.sum() * n).pvalue < RARE


def test_every_bound_stays_below() -> None:
    with randomness.using(Stream(6)):
        for power in range(1, 63):
            for bound in (2**power - 1, 2**power, 2**power + 1):
                assert int(uniform(bound, 50).max()) < bound
