"""Noise for whole arrays is two-sided geometric, exactly: every digit, and beyond the last one."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from tamis.privacy import noise, randomness
from tamis.privacy.errors import InvalidInput
from tamis.privacy.noise import geometric, signed, two_sided
from tamis.privacy.reals import Interval
from tests.sources import Listed, Stream

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Below = Callable[[Floats, float], Floats]

RARE = 1e-4  # the seeds are fixed; a wrong law is at least five standard deviations away
CLASSES = [  # rate, draws, and where classes begin
    (Fraction(1, 1000), 400_000, range(-4000, 4001, 250)),
    (Fraction(1, 10), 400_000, range(-60, 61, 3)),
    (Fraction(1), 400_000, range(-8, 10)),
    (Fraction(5), 4_000_000, range(-1, 3)),
]


def below_one_sided(x: Floats, rate: float) -> Floats:
    """Pr[G < x] at whole x."""
    return -np.expm1(-rate * x)


def below_two_sided(x: Floats, rate: float) -> Floats:
    """Pr[X < x] at whole x."""
    a = np.exp(-rate)
    low, high = a ** (1 - np.minimum(x, 0)), 1 + a - a ** np.maximum(x, 0)
    return np.asarray(np.where(x <= 0, low, high) / (1 + a))


def fit(drawn: Ints, rate: float, edges: range, below: Below) -> float:
    """The p-value of a law, by chi-square on classes that begin at the edges, and a first one."""
    seen = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=len(edges) + 1)
    share = np.diff(below(np.array(edges, dtype=float), rate), prepend=0, append=1)
    return float(stats.chisquare(seen, share * len(drawn)).pvalue)


def holds(interval: Interval, x: Any) -> bool:
    """Whether a number known to 100 digits is in an interval of 60."""
    return interval.low < Decimal(mp.nstr(x, 90)) < interval.high


# --- the law, by testing ------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "n", "edges"), CLASSES)
def test_the_noise_is_two_sided_geometric_and_not_three_percent_off(
    rate: Fraction, n: int, edges: range
) -> None:
    with randomness.using(Stream(1)):
        drawn = two_sided(rate, n)
    assert fit(drawn, float(rate), edges, below_two_sided) > RARE
    assert fit(drawn, float(rate) * 1.03, edges, below_two_sided) < RARE
    assert fit(drawn, float(rate) / 1.03, edges, below_two_sided) < RARE


@pytest.mark.parametrize(("rate", "n", "edges"), CLASSES)
def test_its_size_is_geometric_and_not_three_percent_off(
    rate: Fraction, n: int, edges: range
) -> None:
    above = range(edges.step, edges.stop, edges.step)
    with randomness.using(Stream(2)):
        drawn = geometric(rate, n)
    assert fit(drawn, float(rate), above, below_one_sided) > RARE
    assert fit(drawn, float(rate) * 1.03, above, below_one_sided) < RARE
    assert fit(drawn, float(rate) / 1.03, above, below_one_sided) < RARE


def test_much_privacy_is_noise_of_any_size() -> None:
    rate = Fraction(1, 10**15)
    with randomness.using(Stream(3)):
        drawn = np.abs(two_sided(rate, 100_000)).astype(np.float64)
    assert stats.kstest(drawn / 1e15, "expon").pvalue > RARE
    assert stats.kstest(drawn / 1.03e15, "expon").pvalue < RARE


def test_hardly_any_privacy_is_hardly_any_noise() -> None:
    with randomness.using(Stream(4)):
        assert not two_sided(Fraction(50), 1_000_000).any()
    interval = noise._not_zero(Fraction(50))(60)  # once in 10^21 draws: too seldom to be counted
    with mp.workdps(100):
        assert holds(interval, 2 / (1 + mp.exp(50)))
        assert not holds(interval, 2 / (1 + mp.exp(51.5)))


def test_neighbouring_draws_are_independent() -> None:
    with randomness.using(Stream(5)):
        drawn = np.clip(two_sided(Fraction(1), 400_000), -2, 2) + 2
    pairs = np.bincount(drawn[:-1] * 5 + drawn[1:], minlength=25).reshape(5, 5)
    assert stats.chi2_contingency(pairs).pvalue > RARE


def test_signs_are_fair_and_sizes_stay() -> None:
    sizes = np.arange(1, 100_001)
    with randomness.using(Stream(6)):
        given = signed(sizes)
    assert (np.abs(given) == sizes).all()
    assert stats.binomtest(int(np.count_nonzero(given > 0)), len(sizes)).pvalue > RARE


def test_a_rate_that_64_bits_cannot_serve_is_refused() -> None:
    for rate in (Fraction(0), Fraction(-1), Fraction(1, 10**16)):
        with pytest.raises(InvalidInput, match="at least 1e-15"):
            two_sided(rate, 1)


# --- exactly ------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [Fraction(1, 3), Fraction(9, 10), Fraction(999, 1000)], ids=str)
@pytest.mark.parametrize("digits", [1, 2, 4])
def test_independent_digits_add_up_to_a_geometric_variable(a: Fraction, digits: int) -> None:
    odds = [a ** (2**k) / (1 + a ** (2**k)) for k in range(digits)]
    for bits in product((0, 1), repeat=digits):
        lower = Fraction(1)
        for bit, p in zip(bits, odds, strict=True):
            lower *= p if bit else 1 - p
        for times in range(4):  # how often the coin for more shows heads
            again = a ** (2**digits)
            g = sum(bit << k for k, bit in enumerate(bits)) + (times << digits)
            assert lower * again**times * (1 - again) == (1 - a) * a**g


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(50)])
def test_the_coins_have_the_probabilities_of_the_digits(rate: Fraction) -> None:
    with mp.workdps(100):
        a = mp.exp(-mp.mpf(rate.numerator) / rate.denominator)
        for k in range(noise._digits(rate)):
            interval = noise._digit(rate * 2**k)(60)
            assert holds(interval, a ** (2**k) / (1 + a ** (2**k)))
            assert interval.high - interval.low < interval.high * Decimal("1e-55")


# --- beyond the last digit ----------------------------------------------------------------------

HEADS, TAILS = 0, 0xFFFF


def test_beyond_the_digits_the_variable_starts_anew() -> None:
    rate = Fraction(1)  # four digits; exp(-16) is less than 2^-16, so heads take two words
    for times in range(4):
        words = [HEADS] * 4 + [HEADS, HEADS] * times + [TAILS]
        source = Listed(words)
        with randomness.using(source):
            assert geometric(rate, 1).tolist() == [15 + 16 * times]
        assert source.left == 0


def test_each_digit_has_its_place() -> None:
    for g in range(16):
        words = [HEADS if g >> k & 1 else TAILS for k in range(4)]
        with randomness.using(Listed([*words, TAILS])):
            assert geometric(Fraction(1), 1).tolist() == [g]


@pytest.mark.parametrize(("rate", "n", "edges"), CLASSES)
def test_with_few_digits_the_law_is_the_same(
    rate: Fraction, n: int, edges: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "_FAR", Fraction(1, 2))
    above = range(edges.step, edges.stop, edges.step)
    with randomness.using(Stream(7)):
        drawn = geometric(rate, n)
    assert drawn.max() >= 1 << noise._digits(rate)
    assert fit(drawn, float(rate), above, below_one_sided) > RARE
    assert fit(drawn, float(rate) * 1.03, above, below_one_sided) < RARE
