"""Intervals for noise: wider than normal ones by as much as its tails are heavier."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tamis.privacy import randomness
from tamis.privacy.answer import Answer
from tamis.privacy.noise import fourth, two_sided, variance
from tamis.sparse.intervals import answer
from tests.sources import Stream


@pytest.mark.parametrize("many", [1, 2, 3, 10])
@pytest.mark.parametrize("coverage", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 10)])
def test_sums_of_noise_are_inside_as_often_as_stated(
    many: int, coverage: float, rate: Fraction
) -> None:
    with randomness.using(Stream(1)):
        sums = two_sided(rate, many * 100_000).reshape(many, -1).sum(axis=0)
    high = answer(0.0, many * variance(rate), many * fourth(rate), coverage).high
    inside = int(np.count_nonzero(np.abs(sums) <= high))
    assert stats.binomtest(inside, 100_000, coverage, alternative="less").pvalue > 1e-4
    assert inside < 100_000 * (coverage + 0.02)


def test_noise_of_one_count_is_outside_the_normal_interval_too_often() -> None:
    rate = Fraction(1, 100)
    with randomness.using(Stream(1)):
        noise = two_sided(rate, 100_000)
    high = Answer.normal(0.0, variance(rate) ** 0.5).high
    assert 0.93 < np.mean(np.abs(noise) <= high) < 0.945


@pytest.mark.parametrize("rate", [Fraction(1, 30), Fraction(1), Fraction(4)])
def test_moments_are_the_sums_they_stand_for(rate: Fraction) -> None:
    x = np.arange(-3000, 3001)
    a = np.exp(-float(rate))
    p = (1 - a) / (1 + a) * a ** np.abs(x)
    second = float(np.sum(p * x**2.0))
    assert variance(rate) == pytest.approx(second)
    assert fourth(rate) == pytest.approx(float(np.sum(p * x**4.0)) - 3 * second**2)


def test_many_numbers_or_none_have_the_normal_interval() -> None:
    assert answer(5.0, 4.0, 0.0) == Answer.normal(5.0, 2.0)
    assert answer(5.0, 0.0, 0.0, 0.9, "x") == Answer(5.0, 0.0, 5.0, 5.0, 0.9, "x")
    assert answer(5.0, 4.0, 3 * 16.0, 0.5) == Answer.normal(5.0, 2.0, 0.5)
