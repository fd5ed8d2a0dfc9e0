"""One step spends exactly its epsilon, and its noise has the law that this needs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tamis.importance.kmeans.grid import Floats
from tamis.importance.kmeans.steps import Norms, Step, binned, count_share, histogram
from tamis.importance.kmeans.totals import Ints

RARE = 1e-6  # a right law fails a statistical test this often
CERTAIN = Fraction(1000)  # at this epsilon there is no noise but once in e^1000

steps = st.builds(
    Step,
    st.fractions(Fraction(1, 1000), 1000),
    st.integers(1, 2**26),
    st.integers(1, 10**6),
    st.sampled_from([1, 1024]),
)


# --- what is spent ------------------------------------------------------------------------------


@given(steps)
def test_a_point_of_weight_1_at_the_radius_spends_exactly_epsilon(step: Step) -> None:
    assert step.count_rate * step.unit + step.sum_rate * step.radius == step.epsilon


@given(steps, st.fractions(1, 1000), st.fractions(0, 1))
def test_a_weighted_point_spends_what_the_profile_of_lloyd_says(
    step: Step, weight: Fraction, share: Fraction
) -> None:
    """Proposition 5: w (share of counts + share of sums times the norm)."""
    norm = share * step.radius
    spent = step.count_rate * weight * step.unit + step.sum_rate * weight * norm
    counts = count_share(step.dimensions)
    assert spent == step.epsilon * weight * (counts + (1 - counts) * share)


@pytest.mark.parametrize("dimensions", [1, 2, 54, 1000, 79_000, 100_000, 10**9])
def test_counts_and_sums_each_get_a_part(dimensions: int) -> None:
    assert 0 < count_share(dimensions) < 1


def test_noise_is_divided_as_by_su_and_others() -> None:
    for d in (1, 2, 10, 54):
        step = Step(Fraction(1), d, d)  # a box of width 2 has the radius d
        scales = float(step.sum_rate / step.count_rate)
        assert scales == pytest.approx((4 * d * 0.225**2) ** (1 / 3), rel=1e-2)


# --- the privacy inequality, by enumeration -----------------------------------------------------


def log_law(rate: Fraction, values: Ints) -> Floats:
    """log Pr[X = value] of two-sided geometric noise."""
    a = math.exp(-rate)
    return math.log((1 - a) / (1 + a)) - float(rate) * np.abs(values)


def largest_loss(step: Step, count: int, sum_: int) -> float:
    """Over all outputs near 0, of one centre in one dimension without and with this point."""
    reach = 3 * max(step.radius, step.unit)
    n, s = np.meshgrid(np.arange(-reach, reach + 1), np.arange(-reach, reach + 1))
    without = log_law(step.count_rate, n) + log_law(step.sum_rate, s)
    with_it = log_law(step.count_rate, n - count) + log_law(step.sum_rate, s - sum_)
    return float(np.abs(with_it - without).max())


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("unit", [1, 4])
def test_no_output_tells_more_than_epsilon_of_a_point(epsilon: Fraction, unit: int) -> None:
    step = Step(epsilon, 5, 1, unit)
    for added in range(-5, 6):
        assert largest_loss(step, unit, added) <= float(epsilon) * (1 + 1e-12)
    assert largest_loss(step, unit, 5) == pytest.approx(float(epsilon), rel=1e-12)
    assert largest_loss(step, unit, 6) > float(epsilon)


# --- the law of the noise -----------------------------------------------------------------------


def p_value(noise: Ints, rate: float) -> float:
    """Chi-square test against the two-sided geometric law, of |x| with both tails joined."""
    a = math.exp(-rate)
    most = max(1, int(math.log(20 * (1 + a) / (2 * len(noise))) / -rate))
    sizes = np.arange(1, most)
    law = np.array([(1 - a) / (1 + a), *(2 * (1 - a) / (1 + a) * a**sizes), 2 * a**most / (1 + a)])
    seen = np.bincount(np.minimum(np.abs(noise), most), minlength=most + 1)
    return float(stats.chisquare(seen, law * len(noise)).pvalue)


@pytest.mark.parametrize("unit", [1, 4])
def test_noise_has_its_scale_and_not_one_that_is_three_per_cent_off(unit: int) -> None:
    step, many = Step(Fraction(1), 7, 2, unit), 200_000
    drawn = step.drawn(np.zeros(many, np.int64), np.zeros((many, 2), np.int64))
    counts = np.rint(drawn.counts * unit).astype(np.int64)
    for noise, rate in (
        (counts, float(step.count_rate)),
        (drawn.sums.ravel().astype(np.int64), float(step.sum_rate)),
    ):
        assert p_value(noise, rate) > RARE
        assert p_value(noise, rate * 1.03) < RARE
        assert p_value(noise, rate / 1.03) < RARE
        assert np.abs((noise > 0).sum() - (noise < 0).sum()) < 6 * math.sqrt(len(noise))


def test_the_noise_of_a_count_is_told_in_points() -> None:
    for unit in (1, 1024):
        step = Step(Fraction(1, 2), 100, 3, unit)
        drawn = step.drawn(np.zeros(1, np.int64), np.zeros((1, 3), np.int64))
        assert drawn.count_noise == pytest.approx(1 / float(Fraction(1, 2) * count_share(3)))


def test_noise_of_one_centre_says_nothing_of_another() -> None:
    step, many = Step(Fraction(1), 3, 1), 100_000
    drawn = step.drawn(np.zeros(many, np.int64), np.zeros((many, 1), np.int64))
    pairs = [(drawn.counts[:-1], drawn.counts[1:]), (drawn.counts, drawn.sums[:, 0])]
    for one, other in pairs:
        assert abs(np.corrcoef(one, other)[0, 1]) < 6 / math.sqrt(many)


# --- means --------------------------------------------------------------------------------------


def exact(counts: list[int], sums: list[list[int]], radius: int = 1000) -> Floats:
    step = Step(CERTAIN * radius, radius, len(sums[0]))
    return step.drawn(np.array(counts), np.array(sums)).means


def test_without_noise_a_mean_is_the_mean() -> None:
    assert exact([4, 2], [[40, -80, 8], [6, 8, 0]]).tolist() == [[10, -20, 2], [3, 4, 0]]


def test_a_mean_is_never_beyond_the_radius_nor_between_steps() -> None:
    step, generator = Step(Fraction(1, 100), 1000, 3), np.random.default_rng(3)
    counts, sums = generator.integers(0, 5, 2000), generator.integers(-4000, 4000, (2000, 3))
    means = step.drawn(counts, sums).means
    assert np.abs(means).sum(axis=1).max() <= 1000
    assert np.array_equal(means, np.rint(means))


def test_means_that_may_be_noise_are_drawn_to_0_and_others_are_not() -> None:
    step, d = Step(Fraction(1), 10**6, 20), 20
    noise = step.drawn(np.full(500, 100), np.zeros((500, d), np.int64))
    plain = noise.sums / np.maximum(noise.counts, 1)[:, None]
    assert (noise.means**2).sum() < 0.5 * (plain**2).sum()
    clear = step.drawn(np.full(500, 10**6), np.full((500, d), 10**6 * 10**4))
    assert clear.means == pytest.approx(np.full((500, d), 1e4), rel=0.02)


def test_a_centre_lives_with_more_points_than_noise_gives_and_one_always_does() -> None:
    step = Step(CERTAIN, 10, 2)
    counts = np.array([0, 1, 50])
    assert step.drawn(counts, np.zeros((3, 2), np.int64)).alive.tolist() == [False, True, True]
    assert step.drawn(counts * 0, np.zeros((3, 2), np.int64)).alive.sum() == 1


# --- the histogram of norms ---------------------------------------------------------------------


def test_a_histogram_counts_every_value_once_and_those_beyond_in_the_last_bin() -> None:
    values = np.array([0.0, 0.9, 1.0, 9.99, 10.0, 1e9])
    assert histogram(binned(values, 10, bins=10), 10, CERTAIN).counts.tolist() == [2, 1] + [
        0
    ] * 6 + [0, 3]


@given(st.lists(st.integers(0, 2**27), min_size=1, max_size=30), st.integers(1, 2**26))
def test_one_value_more_changes_one_bin_by_one(values: list[int], top: int) -> None:
    known = np.array(values, dtype=np.float64)
    more, less = (histogram(binned(v, top), top, CERTAIN).counts for v in (known, known[1:]))
    assert sorted((more - less).tolist())[-1] == np.abs(more - less).sum() == 1


def test_the_noise_of_a_histogram_has_its_scale() -> None:
    noise = histogram(np.zeros(100_000, np.int64), 10, Fraction(1, 2)).counts
    assert p_value(noise, 0.5) > RARE
    assert p_value(noise, 0.52) < RARE
    assert p_value(noise, 0.48) < RARE


def test_norms_know_how_many_how_large_and_which_most_are_below() -> None:
    norms = Norms(np.array([10, -3, 60, 30]), 400)
    assert norms.size == 97
    assert norms.mean == pytest.approx((10 * 50 + 60 * 250 + 30 * 350) / 100)
    assert [norms.quantile(q) for q in (0.05, 0.5, 0.7, 0.95, 1.0)] == [100, 300, 300, 400, 400]


def test_norms_of_which_nothing_is_known_are_anything() -> None:
    norms = Norms(np.array([-1, 0, -5, 0]), 400)
    assert (norms.size, norms.mean, norms.quantile(0.5)) == (1.0, 200, 200)


@given(st.lists(st.integers(-100, 10**6), min_size=128, max_size=128), st.integers(1, 2**26))
def test_a_quantile_is_from_one_step_to_the_top(counts: list[int], top: int) -> None:
    norms = Norms(np.array(counts), top)
    for share in (0.0, 0.7, 0.95, 1.0):
        assert 1 <= norms.quantile(share) <= max(1, top)
    assert 0 <= norms.mean <= top
