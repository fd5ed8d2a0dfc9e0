"""A profile says how much a weighted point can show."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from tamis.importance import Count, LaplaceSum, Linear, Lloyd
from tamis.importance.profiles import l1_norms
from tamis.privacy.errors import InvalidInput

POINTS = np.random.default_rng(1).normal(size=(5000, 7))
LINEAR: list[Linear] = [LaplaceSum(3.0), Count(0.7), Lloyd(50.0, 20.0, 10)]


def test_the_profile_of_lloyd_is_equation_3() -> None:
    found = Lloyd(count_scale=4.0, sum_scale=8.0, iterations=3).epsilon(
        np.array([1.0, 2.0, 5.0]), np.array([[0.0, 0.0], [1.0, -3.0], [-2.0, 0.5]])
    )
    assert found.tolist() == [3 * 0.25, 3 * (0.25 + 0.5) * 2, 3 * (0.25 + 0.3125) * 5]


def test_lloyd_is_its_counts_and_sums_one_after_the_other() -> None:
    weights = np.linspace(1, 9, len(POINTS))
    one_by_one = 6 * (
        Count(5.0).epsilon(weights, POINTS) + LaplaceSum(7.0).epsilon(weights, POINTS)
    )
    assert Lloyd(5.0, 7.0, 6).epsilon(weights, POINTS) == pytest.approx(one_by_one, rel=1e-14)


def test_a_noisy_sum_shows_as_much_as_its_profile_says_and_no_more() -> None:
    scale, weight, point = 2.0, 3.0, np.array([1.5, -0.5])
    y = np.stack(np.meshgrid(*2 * [np.linspace(-20, 20, 81)]), axis=-1)
    loss = (np.abs(y).sum(axis=-1) - np.abs(y - weight * point).sum(axis=-1)) / scale
    promised = LaplaceSum(scale).epsilon(np.array([weight]), point[None])[0]
    assert loss.max() == pytest.approx(promised, rel=1e-14)
    assert loss.min() == pytest.approx(-promised, rel=1e-14)


@pytest.mark.parametrize("profile", LINEAR)
def test_slope_and_convexity_are_derivatives(profile: Linear) -> None:
    for point in POINTS[:5, None]:
        rate = mp.mpf(profile.rate(point)[0])
        assert profile.slope(np.array([4.0]), point)[0] == rate
        curve = mp.diff(lambda w, c=rate: mp.exp(c * w), 1, 2)
        assert profile.convexity(point)[0] == pytest.approx(float(curve), rel=1e-9)


def test_the_printed_constant_of_convexity_is_more_than_there_is() -> None:
    """Equation (4), T^2 c e^(T c), against the second derivative at w = 1."""
    profile, iterations = Lloyd(100.0, 100.0, 5), 5
    point = np.array([[1.0]])
    rate = profile.rate(point)[0]
    printed = iterations**2 * (rate / iterations) * np.exp(rate)
    assert printed > 40 * profile.convexity(point)[0]


def test_convexity_beyond_any_float_is_infinite() -> None:
    assert LaplaceSum(1e-3).convexity(np.array([[1.0]])).tolist() == [np.inf]


def test_a_norm_does_not_depend_on_the_other_points_or_their_order_in_memory() -> None:
    wide = np.random.default_rng(2).normal(size=(4100, 37))
    alone = np.array([l1_norms(wide[n : n + 1])[0] for n in range(len(wide))])
    assert l1_norms(wide).tolist() == alone.tolist()
    assert l1_norms(np.asfortranarray(wide)).tolist() == alone.tolist()
    assert l1_norms(wide[::-1])[::-1].tolist() == alone.tolist()
    assert alone == pytest.approx(np.abs(wide).sum(axis=1), rel=1e-14)


def test_profiles_of_equal_numbers_are_equal() -> None:
    assert Lloyd(1, 2, 3) == Lloyd(1.0, 2.0, 3)
    assert LaplaceSum(1.0) != LaplaceSum(2.0)


REFUSED: dict[str, tuple[type[Linear], tuple[object, ...], str]] = {
    "no noise": (LaplaceSum, (0.0,), "scale must be a positive number"),
    "less than none": (Count, (-1.0,), "scale must be a positive number"),
    "not a number": (Lloyd, (1.0, float("nan"), 1), "sum_scale must be a positive number"),
    "without end": (Lloyd, (float("inf"), 1.0, 1), "count_scale must be a positive number"),
    "text": (LaplaceSum, ("1",), "scale must be a positive number"),
    "no iterations": (Lloyd, (1.0, 1.0, 0), "iterations must be a whole number from 1"),
    "half of one": (Lloyd, (1.0, 1.0, 2.5), "iterations must be a whole number from 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_scales_and_iterations_that_are_none_are_refused(case: str) -> None:
    profile, given, said = REFUSED[case]
    with pytest.raises(InvalidInput, match=said):
        profile(*given)
