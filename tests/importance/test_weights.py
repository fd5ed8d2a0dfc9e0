"""Optimal weights are the largest that the promise allows, and never larger."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from tamis.importance import (
    Count,
    LaplaceSum,
    Linear,
    Lloyd,
    Profile,
    amplified,
    optimal_weights,
    sampling_helps,
)
from tamis.importance.profiles import Floats
from tamis.importance.weights import MARGIN, MOST, bracket
from tamis.privacy.errors import InvalidInput
from tests.importance.profiles import Ignoring, Power, Root, Squared, Steep

EPSILONS = (0.01, 0.3, 1.0, 8.0, 50.0, 700.0)


def rates(epsilon: float, many: int, seed: int = 1) -> Floats:
    """Points of one coordinate whose cost at weight 1 spans twelve orders of magnitude."""
    rng = np.random.default_rng(seed)
    spread = epsilon * 10 ** rng.uniform(-12, 0, (many, 1))
    close = epsilon * (1 - 10 ** rng.uniform(-9, -1, (many // 4, 1)))
    return np.concatenate([spread, close])


def root(rate: float, epsilon: float) -> mp.mpf:
    """Of e^(rate w) = 1 + w (e^target - 1), where target leaves the margin for rounding."""
    c, a = mp.mpf(rate), mp.expm1(mp.mpf(epsilon) * (1 - mp.mpf(MARGIN)))
    z = mp.log(a / c) + mp.log1p(mp.log(a / c))
    for _ in range(12):
        rest = -mp.expm1(-z)
        z -= (z + mp.log(rest / z) - mp.log(a / c)) / (1 / rest - 1 / z)
    return z / c


class Searched(Profile):
    """epsilon(w, c) = c w, but not known to be linear."""

    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        return points[:, 0] * weights

    def slope(self, weights: Floats, points: Floats) -> Floats:
        return points[:, 0]

    def convexity(self, points: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(points[:, 0] ** 2 * np.exp(points[:, 0]))


# --- the promise --------------------------------------------------------------------------------


def test_psi_is_at_most_epsilon_at_a_million_points_and_equal_where_it_binds() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        epsilon, dimensions = 10 ** rng.uniform(-2, math.log10(700)), int(rng.integers(1, 20))
        points = rng.normal(size=(10_000, dimensions)) * 10 ** rng.uniform(-12, 0, (10_000, 1))
        radius, part = float(np.abs(points).sum(axis=1).max()), rng.uniform(1e-9, 0.9)
        many = int(rng.integers(1, 30))
        profile: Linear = LaplaceSum(radius / epsilon * (1 + 1e-12))
        if rng.integers(2):
            sums = many * radius / ((1 - part) * epsilon) * (1 + 1e-12)
            profile = Lloyd(many / (part * epsilon), sums, many)
        weights = optimal_weights(profile, points, epsilon)
        psi = amplified(profile, weights, points)
        assert np.all(psi <= epsilon)
        assert np.all((weights >= 1) & (weights <= MOST))
        binds = (weights > 1) & (weights < MOST)
        assert np.mean(binds) > 0.9
        assert np.all(psi[binds] >= epsilon * (1 - 1e-9))


@pytest.mark.parametrize("epsilon", [*EPSILONS, 1e-6, 1000.0])
@pytest.mark.parametrize("profile", [LaplaceSum(1.0), Searched()])
def test_the_promise_also_holds_without_rounding(profile: Profile, epsilon: float) -> None:
    points = rates(epsilon, 100)
    found = optimal_weights(profile, points, epsilon)
    with mp.workdps(500):
        for rate, weight in zip(points[:, 0], found, strict=True):
            psi = mp.log1p(mp.expm1(mp.mpf(rate) * mp.mpf(weight)) / mp.mpf(weight))
            assert psi <= mp.mpf(epsilon)


@pytest.mark.parametrize("profile", [LaplaceSum(1.0), Squared(), Root(), Power(3.0)])
def test_every_smaller_weight_keeps_the_promise_too(profile: Profile) -> None:
    """So a probability may be rounded up."""
    points = np.random.default_rng(4).uniform(1.0, 3.0, (1000, 1))
    largest = optimal_weights(profile, points, 3.0)
    for share in np.linspace(0, 1, 21):
        assert np.all(amplified(profile, 1 + share * (largest - 1), points) <= 3.0)


def test_a_weight_depends_on_its_point_alone() -> None:
    points = np.random.default_rng(5).normal(size=(9000, 5))
    profile = Lloyd(90.0, 90.0, 3)
    found = optimal_weights(profile, points, 2.0)
    order = np.random.default_rng(6).permutation(len(points))
    assert optimal_weights(profile, points[order], 2.0).tolist() == found[order].tolist()
    assert optimal_weights(profile, points[:1], 2.0)[0] == found[0]


def test_a_point_that_costs_nothing_has_the_largest_weight_there_is() -> None:
    points = [[0.0, 0.0], [1e-320, 0.0], [1e-20, 0.0]]
    assert optimal_weights(LaplaceSum(1.0), points, 1.0).tolist() == [MOST] * 3
    assert optimal_weights(Searched(), points, 1.0).tolist() == [MOST] * 3


def test_weights_that_are_optimal_need_fewer_points_than_equal_ones() -> None:
    points = np.random.default_rng(7).normal(size=(20_000, 3))
    profile = LaplaceSum(20.0)
    worst = points[[np.argmax(np.abs(points).sum(axis=1))]]
    uniform = optimal_weights(profile, worst, 2.0)[0]
    assert np.all(amplified(profile, uniform, points) <= 2.0)
    assert (1 / optimal_weights(profile, points, 2.0)).sum() < 0.3 * len(points) / uniform


# --- the root -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_closed_form_and_bisection_find_the_root(epsilon: float) -> None:
    points = rates(epsilon, 200)
    closed = optimal_weights(LaplaceSum(1.0), points, epsilon)
    searched = optimal_weights(Searched(), points, epsilon)
    with mp.workdps(40):
        true = np.array([float(root(c, epsilon)) for c in points[:, 0]])
    assert closed == pytest.approx(np.minimum(true, MOST), rel=1e-14)
    assert searched == pytest.approx(np.minimum(true, MOST), rel=1e-12)


def test_the_root_is_that_of_lamberts_function() -> None:
    points = np.random.default_rng(8).uniform(0.01, 0.8, (1000, 1))
    rate, a = points[:, 0], math.expm1(1.0)
    lambert = -lambertw(-rate / a * np.exp(-rate / a), -1).real / rate - 1 / a
    assert optimal_weights(LaplaceSum(1.0), points, 1.0) == pytest.approx(lambert, rel=1e-10)


@pytest.mark.parametrize("profile", [LaplaceSum(1.0), Searched()])
def test_a_point_that_needs_all_of_epsilon_is_always_kept(profile: Profile) -> None:
    for epsilon in (*EPSILONS, 1e-9, 1000.0):
        found = optimal_weights(profile, [[epsilon], [np.nextafter(epsilon, 0)]], epsilon)
        assert found == pytest.approx(1, rel=1e-9)
        assert found[0] == 1


def test_of_a_squared_weight_the_root_is_known() -> None:
    c = 10 ** np.random.default_rng(9).uniform(-9, 0, 500)
    found = optimal_weights(Squared(), c[:, None], 1.0)
    assert found == pytest.approx(math.expm1(1 - MARGIN) / c, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 20.0, 900.0])
def test_powers_of_the_weight_are_searched(epsilon: float) -> None:
    points = rates(epsilon, 200)
    for power in (1.0, 1.5, 4.0):
        found = optimal_weights(Power(power), points, epsilon)
        psi = amplified(Power(power), found, points)
        binds = (found > 1) & (found < MOST)
        assert np.all(psi <= epsilon)
        assert np.all(psi[binds] >= epsilon * (1 - 1e-9))
        assert binds.mean() > 0.9


def test_weights_can_be_searched_where_convexity_is_not_known() -> None:
    class Unknown(Searched):
        def convexity(self, points: Floats) -> Floats:
            return np.zeros(len(points))

    points = rates(1.0, 200)
    found = optimal_weights(Unknown(), points, 1.0)
    assert found == pytest.approx(optimal_weights(LaplaceSum(1.0), points, 1.0), rel=1e-12)


def test_a_mechanism_that_ignores_weights_has_the_largest() -> None:
    assert optimal_weights(Ignoring(), [[0.1], [1.0]], 1.0).tolist() == [MOST, MOST]


# --- misprints of the paper ---------------------------------------------------------------------


@pytest.mark.parametrize("c", [1.1, 1.4, 1.55])
def test_where_sampling_helps_the_root_lies_beyond_the_one_at_weight_1(c: float) -> None:
    """The special case: as printed, it asks for a falling epsilon, which this one is not."""
    point, one = np.array([[c]]), np.ones(1)
    assert sampling_helps(Root(), point)[0]
    assert Root().slope(one, point)[0] > 0
    found = optimal_weights(Root(), point, c)[0]
    with mp.workdps(40):
        rate = mp.mpf(c)

        def above(w: mp.mpf) -> mp.mpf:
            return mp.exp(rate * mp.sqrt(w)) - 1 - w * mp.expm1(rate)

        true = mp.findroot(above, (1.01, 30), solver="anderson", tol=1e-50)
        assert true > 1.05
        assert abs(above(mp.mpf(1))) < 1e-35
    assert found == pytest.approx(float(true), rel=1e-12)


def test_the_bracket_holds_the_root() -> None:
    for epsilon in EPSILONS:
        points = rates(epsilon, 1000)
        least = optimal_weights(Searched(), points, epsilon)
        assert np.all(bracket(Searched(), points, epsilon) >= least * (1 - 1e-9))
    points = np.random.default_rng(10).uniform(1.01, 1.55, (1000, 1))
    assert np.all(bracket(Root(), points, 2.0) >= optimal_weights(Root(), points, 2.0))


def test_the_bracket_of_a_steep_profile_begins_at_weight_1() -> None:
    """Its first term decides here: e^epsilon(1, x) + mu/2 is less than epsilon' e^epsilon + 1."""
    assert bracket(Steep(), [[0.5]], math.log(1.5))[0] == pytest.approx(1, rel=1e-12)
    assert optimal_weights(Steep(), [[0.5]], math.log(1.5)) == pytest.approx(1, rel=1e-12)
    weight = optimal_weights(Steep(), [[0.5]], math.log(2.4))[0]
    more = (-0.6 + math.sqrt(0.36 + 0.09)) / 0.05  # 0.5 + 2 u + u^2 / 40 = 1.4 (1 + u)
    assert weight == pytest.approx(1 + more, rel=1e-10)
    assert weight < bracket(Steep(), [[0.5]], math.log(2.4))[0]


def test_the_bracket_can_be_the_root_itself() -> None:
    """So nothing may be taken from it: the printed one is less by 1, and misses."""
    found = bracket(Squared(), [[0.1]], 1.0)[0]
    weight = optimal_weights(Squared(), [[0.1]], 1.0)[0]
    assert found == pytest.approx(weight, rel=1e-12)
    printed = found - 1  # 2 (e^epsilon - v) / mu + 1
    assert amplified(Squared(), printed, [[0.1]])[0] < 1.0 - 0.03


class Printed(Searched):
    """With equation (4) as it is printed, for T = 1."""

    def convexity(self, points: Floats) -> Floats:
        return np.asarray(points[:, 0] * np.exp(points[:, 0]))


def test_with_the_printed_convexity_the_bracket_misses_the_root() -> None:
    weight = optimal_weights(LaplaceSum(1.0), [[0.1]], 1.0)[0]
    assert weight == pytest.approx(43.2071, abs=1e-4)
    assert bracket(Searched(), [[0.1]], 1.0)[0] > weight
    assert bracket(Printed(), [[0.1]], 1.0)[0] < 32
    assert amplified(Printed(), 32, [[0.1]])[0] < 0.6  # there is a lot of room still


def test_a_convexity_that_rules_out_what_is_feasible_is_noticed() -> None:
    with pytest.raises(InvalidInput, match=r"Printed\.convexity is too large.*or 0 where"):
        optimal_weights(Printed(), [[0.0001]], 1.0)


# --- bad input ----------------------------------------------------------------------------------


@given(st.floats(1e-6, 900), st.floats(1e-6, 0.999))
def test_an_epsilon_that_is_too_small_is_answered_with_one_that_is_not(
    needed: float, share: float
) -> None:
    with pytest.raises(InvalidInput, match="is too small") as refused:
        optimal_weights(LaplaceSum(1.0), [[needed / 3], [needed], [0.0]], needed * share)
    said = float(str(refused.value).split("points need ")[1].split(" at")[0])
    assert needed <= said <= needed * 1.002
    optimal_weights(LaplaceSum(1.0), [[needed]], said)


def test_the_worst_point_is_found_wherever_it_is() -> None:
    points = np.linspace(1, 2, 10_000)[:, None]
    with pytest.raises(InvalidInput, match=r"epsilon = 1\.5 is too small: .* need 2 at weight 1"):
        optimal_weights(LaplaceSum(1.0), points, 1.5)


class Cubed(Linear):
    """Says that it is linear, and is not."""

    def rate(self, points: Floats) -> Floats:
        return points[:, 0]

    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        return points[:, 0] * weights**3


class Concave(Root):
    """exp(c sqrt(w)) for c < 1."""


@pytest.mark.parametrize(
    ("profile", "points", "epsilon", "said"),
    [
        (Count(1.0), [[1.0]], 0.0, "epsilon must be a number above 0"),
        (Count(1.0), [[1.0]], -1.0, "epsilon must be a number above 0"),
        (Count(1.0), [[1.0]], float("nan"), "epsilon must be a number above 0"),
        (Count(1.0), [[1.0]], 1e9, "at most 1000"),
        (Count(1.0), [[1.0]], 0.5, "epsilon = 0.5 is too small: some of these points need 1 at"),
        (LaplaceSum(1e-300), [[1e300]], 1.0, "epsilon = 1 is too small"),
        (Count(1.0), [[float("nan")]], 2.0, "points must be finite"),
        (Count(1.0), [[float("inf")]], 2.0, "points must be finite"),
        (Count(1.0), [1.0], 2.0, "points must be a table"),
        ("Lloyd", [[1.0]], 2.0, "profile must be a Profile"),
        (Cubed(), [[0.5]], 1.0, r"Cubed\.epsilon exceeds the promise.* if the profile is Linear"),
        (Concave(), [[0.5]], 1.0, r"Concave\.convexity must be 0 or more .* convex in the weight"),
    ],
)
def test_what_has_no_optimal_weights_is_refused_with_a_reason(
    profile: Any, points: Any, epsilon: float, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        optimal_weights(profile, points, epsilon)


def test_no_points_have_no_weights() -> None:
    assert optimal_weights(Count(1.0), np.empty((0, 2)), 1.0).shape == (0,)


def test_whole_numbers_and_lists_are_points_too() -> None:
    found = optimal_weights(LaplaceSum(10.0), np.array([[1, 2], [3, 4]]), 1.0)
    assert found.tolist() == optimal_weights(LaplaceSum(10.0), [[1.0, 2.0], [3.0, 4.0]], 1).tolist()
