"""Curves are trade-offs: concave, non-decreasing, symmetric, and what their formulas say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from tamis.privacy.curves import (
    ApproximateCurve,
    Curve,
    GaussianCurve,
    gaussian_delta,
    gaussian_mu,
    half_frequency,
)

approximate = st.builds(ApproximateCurve, st.floats(0.05, 4), st.floats(1e-6, 0.3))
gaussian = st.builds(GaussianCurve, st.floats(0.05, 3), st.floats(1e-6, 0.3))


@given(approximate | gaussian)
def test_power_is_concave_and_never_below_the_level(curve: Curve) -> None:
    level = np.linspace(0, 1, 400)
    power = curve.power(level)
    assert (power >= level - 1e-12).all()
    assert (np.diff(power) >= -1e-12).all()
    assert (np.diff(power, 2) <= 1e-9).all()
    assert power[0] == pytest.approx(curve.delta, rel=1e-9)
    assert power[-1] == pytest.approx(1)


@given(approximate | gaussian, st.floats(0.001, 0.999))
def test_the_two_hypotheses_can_be_exchanged(curve: Curve, level: float) -> None:
    """f = 1 - h is its own inverse: h(1 - h(s)) = 1 - s where it is not cut off."""
    power = float(curve.power(level))
    if power < 1 - 1e-9:
        assert float(curve.power(1 - power)) == pytest.approx(1 - level, abs=1e-7)


@given(gaussian, st.floats(1e-9, 0.999))
def test_the_complement_is_the_power_seen_from_above(curve: GaussianCurve, rest: float) -> None:
    assert 1 - float(curve.complement(rest)) == pytest.approx(
        float(curve.power(1 - rest)), abs=1e-9
    )


def test_without_a_gift_it_is_the_gaussian_trade_off() -> None:
    level = np.array([1e-6, 0.01, 0.5, 0.9])
    assert GaussianCurve(0.7, 0.0).power(level) == pytest.approx(ndtr(ndtri(level) + 0.7))


@given(st.floats(0.05, 5), st.floats(-12, -1).map(lambda x: 10.0**x))
def test_gaussian_mu_inverts_gaussian_delta(epsilon: float, delta: float) -> None:
    assert gaussian_delta(gaussian_mu(epsilon, delta), epsilon) == pytest.approx(delta, rel=1e-6)


def test_gaussian_delta_is_the_integral_that_defines_it() -> None:
    x = np.linspace(-12, 14, 2_000_001)
    for mu, epsilon in [(0.5, 1.0), (1.0, 0.3), (2.0, 3.0)]:
        p = np.exp(-((x - mu) ** 2) / 2) / math.sqrt(2 * math.pi)
        q = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
        defined = np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), x)
        assert gaussian_delta(mu, epsilon) == pytest.approx(defined, rel=1e-5)


def test_half_of_the_keys_are_named_at_the_known_frequency() -> None:
    assert half_frequency(ApproximateCurve(1.0, 1e-6)) == 14
