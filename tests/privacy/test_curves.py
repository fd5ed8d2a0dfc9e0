"""Privacy curves: concave, symmetric, and the trade-off that they are named after."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.privacy.curves import (
    ApproximateCurve,
    Curve,
    GaussianCurve,
    gaussian_delta,
    gaussian_mu,
    half_frequency,
)

deltas = st.floats(-12, -1).map(lambda x: 10**x)
plain = st.builds(ApproximateCurve, st.floats(0.01, 8), deltas)
gaussian = st.builds(GaussianCurve, st.floats(0.01, 5), deltas)
curves = plain | gaussian
levels = st.floats(0, 1)


@given(curves, levels, levels)
def test_power_grows_with_the_level_is_concave_and_beats_guessing(
    curve: Curve, a: float, b: float
) -> None:
    low, middle, high = curve.power([min(a, b), (a + b) / 2, max(a, b)])
    assert low <= high + 1e-12
    assert middle >= (low + high) / 2 - 1e-9
    assert min(a, b) - 1e-12 <= low <= high <= 1 + 1e-12


@given(curves)
def test_at_level_zero_only_the_gift_is_won_and_at_level_one_everything(curve: Curve) -> None:
    assert curve.power(0.0) == pytest.approx(curve.delta, rel=1e-12)
    assert curve.power(1.0) == pytest.approx(1)


@settings(max_examples=200)
@given(curves, st.floats(0.001, 0.999))
def test_the_two_hypotheses_may_be_exchanged(curve: Curve, level: float) -> None:
    """h is its own mirror image: power h(s) at level s means power 1 - s at level 1 - h(s)."""
    power = float(curve.power(level))
    if 1e-6 < power < 1 - 1e-6:
        assert curve.power(1 - power) == pytest.approx(1 - level, abs=1e-6)


@given(plain, levels)
def test_epsilon_delta_is_the_least_of_its_three_constraints(
    curve: ApproximateCurve, s: float
) -> None:
    e, d, h = math.exp(curve.epsilon), curve.delta, float(curve.power(s))
    terms = (1.0, e * s + d, 1 - (1 - d - s) / e)
    assert h == pytest.approx(min(terms), rel=1e-12)
    assert h - e * s <= d + 1e-12  # outcomes where the test accepts
    assert (1 - s) - e * (1 - h) <= d + 1e-9 * e  # and where it does not


@settings(max_examples=80, deadline=None)
@given(gaussian, st.floats(1e-6, 1 - 1e-6))
def test_the_gaussian_curve_tells_two_normal_laws_apart(curve: GaussianCurve, s: float) -> None:
    with mp.workdps(30):
        mu, d = mp.mpf(curve.mu), mp.mpf(curve.delta)
        share = min(mp.mpf(1) - mp.mpf("1e-25"), mp.mpf(s) / (1 - d))
        true = d + (1 - d) * mp.ncdf(mp.sqrt(2) * mp.erfinv(2 * share - 1) + mu)
        assert abs(mp.mpf(float(curve.power(s))) - true) <= mp.mpf("1e-11") * true


@given(gaussian, st.floats(1e-9, 0.999))  # closer to 1, 1 - rest loses its digits
def test_the_complement_is_one_less_the_power(curve: GaussianCurve, rest: float) -> None:
    assert curve.complement(rest) == pytest.approx(1 - float(curve.power(1 - rest)), abs=1e-9)
    assert 0 <= curve.complement(rest) <= rest + 1e-12


def test_the_complement_keeps_its_digits_near_one() -> None:
    curve = GaussianCurve(1.0, 1e-20)
    with mp.workdps(40):
        true = mp.ncdf(mp.sqrt(2) * mp.erfinv(2 * mp.mpf("1e-15") - 1) - 1)
        assert abs(mp.mpf(float(curve.complement(1e-15))) / true - 1) < 1e-4


@pytest.mark.parametrize(
    ("epsilon", "delta", "half"), [(1.0, 1e-6, 14), (0.1, 1e-6, 109), (5.0, 1e-3, 3)]
)
def test_half_frequency_is_where_half_is_reached(epsilon: float, delta: float, half: int) -> None:
    assert half_frequency(ApproximateCurve(epsilon, delta)) == half


@settings(max_examples=60, deadline=None)
@given(curves)
def test_half_frequency_is_the_first_with_half(curve: Curve) -> None:
    half, level = half_frequency(curve), np.zeros(1)
    for _ in range(half - 1):
        level = curve.power(level)
    assert level[0] < 0.5 <= curve.power(level)[0]


# --- the Gaussian as (epsilon, delta) ------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(st.floats(0.01, 6), st.floats(0.001, 10))
def test_the_delta_of_a_gaussian_is_that_of_the_theorem(mu: float, epsilon: float) -> None:
    with mp.workdps(60):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        true = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
        assert abs(mp.mpf(gaussian_delta(mu, epsilon)) - true) <= true * mp.mpf("1e-9") + 1e-18


def test_the_delta_of_a_gaussian_is_the_integral_that_defines_it() -> None:
    x = np.linspace(-12, 14, 200_001)
    for mu, epsilon in ((0.5, 1.0), (1.0, 0.3), (2.0, 3.0)):
        p, q = (np.exp(-((x - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in (mu, 0.0))
        defined = np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), x)
        assert gaussian_delta(mu, epsilon) == pytest.approx(defined, rel=1e-4)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.001, 20), st.floats(1e-12, 0.9))
def test_the_mu_of_epsilon_and_delta_uses_them_up(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-6)
    assert gaussian_delta(mu * 1.001, epsilon) > delta


@given(curves)
def test_a_curve_says_what_it_is(curve: Curve) -> None:
    assert curve.describe().endswith("per key")
    assert f"{curve.delta:.6g}" in curve.describe()
