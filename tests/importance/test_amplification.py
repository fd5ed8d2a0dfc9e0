"""What a guarantee becomes on a weighted sample."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.importance import (
    Count,
    LaplaceSum,
    Lloyd,
    Profile,
    amplified,
    sampling_cannot_help,
    sampling_helps,
)
from tamis.importance.amplification import amplify
from tamis.privacy.errors import InvalidInput
from tests.importance.profiles import Ignoring, Power, Root, Squared

POINT = np.array([[1.0]])
LOSSES = np.array([1e-14, 1e-6, 0.01, 0.5, 3.0, 36.0, 699.0, 701.0, 1040.0, 1e5])
WEIGHTS = np.array([1.0, 1 + 2.0**-40, 1.5, 7.0, 1e4, 1e9, 2.0**52])


# --- equation (1) -------------------------------------------------------------------------------


def test_psi_is_equation_1_for_small_and_large_losses() -> None:
    for loss in LOSSES:
        for weight in WEIGHTS:
            found = amplify(np.array([loss]), np.array([weight]))[0]
            with mp.workdps(600):
                true = mp.log1p(mp.expm1(mp.mpf(loss)) / mp.mpf(weight))
                assert abs(found / true - 1) < 1e-13, (loss, weight)


def test_without_sampling_nothing_is_gained_and_nothing_rounded() -> None:
    rates = 10 ** np.random.default_rng(1).uniform(-9, 3, 10_000)
    assert amplify(rates, np.ones(len(rates))).tolist() == rates.tolist()


def test_a_mechanism_that_ignores_weights_gains_what_plain_subsampling_gives() -> None:
    found = amplified(Ignoring(), 1 / 0.1, [[2.0]])
    assert found == pytest.approx(math.log(1 + 0.1 * (math.exp(2.0) - 1)), rel=1e-15)


def test_what_is_infinitely_far_apart_stays_so() -> None:
    assert amplify(np.array([np.inf, np.inf]), np.array([1.0, 9.0])).tolist() == [np.inf, np.inf]


def test_one_weight_may_stand_for_all_points() -> None:
    points = [[1.0, 2.0], [3.0, 4.0]]
    assert amplified(LaplaceSum(9.0), 3, points).tolist() == (
        amplified(LaplaceSum(9.0), [3.0, 3.0], points).tolist()
    )


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=6),
    st.floats(0.001, 5),
    st.floats(0.001, 1),
    st.randoms(use_true_random=False),
)
def test_a_mixture_is_as_close_as_theorem_2_says_in_both_directions(
    tilt: list[float], epsilon: float, q: float, random: Any
) -> None:
    without = np.array([random.uniform(0.01, 1) for _ in tilt])
    without /= without.sum()
    with_it = without * np.exp(np.array(tilt) * epsilon / 2)
    with_it /= with_it.sum()  # each ratio within e^epsilon, because the sum is within e^(epsilon/2)
    loss = np.abs(np.log(with_it / without)).max()
    seen = (1 - q) * without + q * with_it
    psi = amplify(np.array([loss]), np.array([1 / q]))[0]
    assert np.abs(np.log(seen / without)).max() <= psi + 1e-12


def test_a_mixture_with_the_two_events_swapped_as_in_equation_6_is_further_off() -> None:
    """As printed, the point would be there with probability 1 - q."""
    without, with_it, q = np.array([0.2, 0.8]), np.array([0.5, 0.5]), 0.1
    psi = amplify(np.array([np.log(2.5)]), np.array([1 / q]))[0]
    right = (1 - q) * without + q * with_it
    printed = (1 - q) * with_it + q * without
    assert np.abs(np.log(right / without)).max() == pytest.approx(psi, rel=1e-12)
    assert np.abs(np.log(printed / without)).max() > 5 * psi


# --- whether sampling helps ---------------------------------------------------------------------


def test_where_sampling_helps_some_weight_gives_more_privacy_than_none() -> None:
    """c/2 < 1 - e^-c just below c = 1.59362, as for the root of w."""
    rates = np.array([[1.01], [1.5], [1.593], [1.594], [3.0]])
    helps = sampling_helps(Root(), rates)
    assert helps.tolist() == [True, True, True, False, False]
    change = amplified(Root(), 1.0001, rates) - amplified(Root(), 1, rates)
    assert (change < 0).tolist() == helps.tolist()


def test_sampling_always_helps_a_mechanism_that_ignores_weights() -> None:
    assert sampling_helps(Ignoring(), [[0.1], [5.0]]).all()
    assert not sampling_cannot_help(Ignoring(), [[0.1], [5.0]]).any()


@pytest.mark.parametrize(
    "profile", [LaplaceSum(2.0), Count(3.0), Lloyd(9.0, 5.0, 4), Power(1.0), Power(1.5), Power(2)]
)
def test_where_it_cannot_help_psi_never_falls_with_the_weight(profile: Profile) -> None:
    rates = 10 ** np.random.default_rng(2).uniform(-6, 1, (200, 1))
    assert sampling_cannot_help(profile, rates).all()
    assert not sampling_helps(profile, rates).any()
    losses = [amplified(profile, weight, rates) for weight in np.geomspace(1, 100, 50)]
    assert np.all(np.diff(losses, axis=0) >= 0)


def test_of_some_profiles_neither_proposition_speaks() -> None:
    """log(1 + c w^2): psi = log(1 + c w) rises, but epsilon <= w epsilon' ends at some w."""
    assert not sampling_helps(Squared(), [[0.5]]).any()
    assert not sampling_cannot_help(Squared(), [[0.5]]).any()


def test_what_is_tried_are_the_weights_that_are_given() -> None:
    assert sampling_cannot_help(Squared(), [[0.5]], [1.0]).all()
    assert not sampling_cannot_help(Squared(), [[0.5]], [1.0, 10.0]).any()
    assert not sampling_cannot_help(Squared(), [[0.5]], 10.0).any()


def test_the_inequalities_of_proposition_3_fail_as_printed_and_hold_as_proven_here() -> None:
    """The paper multiplies e^z >= z + 1 by z - 1, which is negative for z < 1."""
    z = np.geomspace(1e-3, 50, 1000)
    growth = np.exp(z) * (z - 1) + 1
    assert np.all(growth[z < 1] < z[z < 1] ** 2)
    assert np.all(growth > 0)


# --- bad input ----------------------------------------------------------------------------------


class Wrong(Squared):
    """Says whatever it is told to."""

    def __init__(self, **said: Any) -> None:
        self.said = said

    def epsilon(self, weights: Any, points: Any) -> Any:
        return self.said.get("epsilon", super().epsilon(weights, points))

    def slope(self, weights: Any, points: Any) -> Any:
        return self.said.get("slope", super().slope(weights, points))


@pytest.mark.parametrize(
    ("weights", "points", "said"),
    [
        (1.0, [[np.nan]], "points must be finite: leave out rows"),
        (1.0, [[np.inf, 1.0]], "points must be finite"),
        (1.0, [[np.inf, -np.inf]], "points must be finite"),
        (1.0, [1.0, 2.0], "points must be a table"),
        (1.0, np.empty((3, 0)), "points must be a table"),
        (1.0, [[1.0], [1.0, 2.0]], "points must be an array of numbers"),
        (1.0, [["a"]], "points must be an array of numbers"),
        (1.0, [[True]], "points must be an array of numbers"),
        (0.99, POINT, "weights must be finite and at least 1"),
        (0, POINT, "weights must be finite and at least 1"),
        (-1.0, POINT, "weights must be finite and at least 1"),
        (np.inf, POINT, "weights must be finite and at least 1"),
        (np.nan, POINT, "weights must be finite and at least 1"),
        ([1.0, 2.0], POINT, "weights must be one number for each point"),
        ("2", POINT, "weights must be an array of numbers"),
    ],
)
def test_what_is_no_point_or_no_weight_is_refused(weights: Any, points: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        amplified(Count(1.0), weights, points)


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        (Wrong(epsilon=np.ones(3)), r"Wrong\.epsilon must give an array with one number"),
        (Wrong(epsilon=np.ones((1, 1))), r"Wrong\.epsilon must give an array with one number"),
        (Wrong(epsilon=0.5), r"np\.full\(len\(points\), number\)"),
        (Wrong(epsilon=None), r"Wrong\.epsilon must give an array"),
        (Wrong(epsilon=np.array([-0.1])), r"Wrong\.epsilon must be 0 or more everywhere"),
        (Wrong(epsilon=np.array([np.nan])), r"Wrong\.epsilon must be 0 or more .* never NaN"),
        (Wrong(slope=np.array([np.nan])), r"Wrong\.slope must be a number everywhere"),
        (Wrong(slope=np.ones(2)), r"Wrong\.slope must give an array with one number"),
        (3.0, "profile must be a Profile"),
    ],
)
def test_a_profile_that_does_not_say_what_it_should_is_refused(profile: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        sampling_helps(profile, POINT)


def test_numbers_whose_sum_overflows_are_finite_all_the_same() -> None:
    assert amplified(Count(1.0), 1, [[1e308, 1e308]]).tolist() == [1.0]


def test_no_points_are_no_losses() -> None:
    assert amplified(Count(1.0), 1, np.empty((0, 3))).shape == (0,)
