"""The exact delta is that of trying everything out, in both directions."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.federated.profile import added, removed

GRID = [
    (Fraction(int(p * 2**32), 2**32), tau, Fraction(epsilon).limit_denominator(1000))
    for epsilon in (0.05, 0.1, 0.3, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
    for p in np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 0.999])
    * (1 - np.exp(-epsilon))
    for tau in (1, 2, 3, 4, 5, 6, 8, 10, 14, 20)
]


def law(n: int, p: Fraction, tau: int) -> list[mp.mpf]:
    """Not released, and released with each count."""
    q = mp.mpf(p.numerator) / p.denominator
    each = [mp.binomial(n, t) * q**t * (1 - q) ** (n - t) for t in range(n + 1)]
    return [mp.fsum(each[:tau]), *each[tau:]]


def tried(p: Fraction, tau: int, epsilon: Fraction, most: int) -> tuple[mp.mpf, mp.mpf]:
    """The largest delta over all numbers of other clients below ``most``, both ways."""
    e = mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator)
    up, down = mp.mpf(0), mp.mpf(0)
    for k in range(max(0, tau - 2), most):
        one, other = law(k + 1, p, tau), law(k, p, tau)
        other += [mp.mpf(0)] * (len(one) - len(other))
        pairs = list(zip(one, other, strict=True))
        up = max(up, mp.fsum(max(0, a - e * b) for a, b in pairs))
        down = max(down, mp.fsum(max(0, b - e * a) for a, b in pairs))
    return up, down


def far(tau: int, p: Fraction, epsilon: Fraction) -> int:
    """Well beyond the number of clients at which least is hidden."""
    gamma = 1 - float(1 - p) * float(np.exp(-float(epsilon)))
    return int(1.5 * tau / gamma) + 4


def close(found: mp.mpf, tried_out: mp.mpf) -> bool:
    return bool(abs(found - tried_out) <= mp.mpf(10) ** -12 * tried_out)


def by_terms(p: Fraction, tau: int, epsilon: Fraction) -> mp.mpf:
    """The same for a client that is added, term by term, for as many other clients as it takes."""
    q = mp.mpf(p.numerator) / p.denominator
    e, found = mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator), mp.mpf(0)
    for n in range(tau, far(tau, p, epsilon)):  # clients with the item, the new one among them
        term, total = mp.binomial(n, tau) * q**tau * (1 - q) ** (n - tau), mp.mpf(0)
        for t in range(tau, n + 1):
            total += term * max(0, 1 - e * (n - t) / (n * (1 - q)))
            if term < total * mp.mpf(10) ** -25:
                break
            term = term * (n - t) / (t + 1) * q / (1 - q)
        found = max(found, total)
    return found


@pytest.mark.parametrize(
    "cases", [GRID[7::25], *(pytest.param(GRID[n::8], marks=pytest.mark.slow) for n in range(8))]
)
def test_delta_is_that_of_trying_a_grid_of_a_thousand_out(
    cases: list[tuple[Fraction, int, Fraction]],
) -> None:
    for p, tau, epsilon in cases:
        with mp.workdps(30):
            found = mp.mpf(str(added(p, tau, epsilon).low))
            assert close(found, by_terms(p, tau, epsilon)), (p, tau, epsilon)
        assert removed(p, tau, epsilon).high == 0


def test_the_poster_is_250_times_too_careful() -> None:
    found = added(Fraction(1, 10), 6, Fraction(1))
    assert float(found.low) == pytest.approx(6.01e-6, rel=1e-3)
    assert 249 < 0.0015 / float(found.high) < 250


RATES = st.integers(1, 2**10 - 1).map(lambda m: Fraction(m, 2**10))


@settings(max_examples=15, deadline=None)
@given(RATES, st.integers(1, 7), st.fractions(0, 2, max_denominator=50))
def test_both_directions_hold_at_any_epsilon(p: Fraction, tau: int, epsilon: Fraction) -> None:
    """Also where the rate is too high for one round by itself."""
    with mp.workdps(40):
        up, down = tried(p, tau, epsilon, 30)
        one, other = (mp.mpf(str(f(p, tau, epsilon).high)) for f in (added, removed))
        slack = 1 + mp.mpf(10) ** -12
        assert up <= one * slack
        assert down <= other * slack
        share = 1 - float(1 - p) * float(np.exp(float(epsilon)))
        if (tau - 1) < 28 * (1 - float(1 - p) * float(np.exp(-float(epsilon)))):
            assert close(one, up)
        if share > 0 and (tau - 1) < 28 * share:
            assert close(other, down)


@settings(max_examples=60, deadline=None)
@given(RATES, st.integers(1, 30), st.fractions(0, 3, max_denominator=100))
def test_delta_falls_with_tau_with_epsilon_and_with_a_lower_rate(
    p: Fraction, tau: int, epsilon: Fraction
) -> None:
    here = added(p, tau, epsilon)
    for less in (
        added(p, tau + 1, epsilon),
        added(p, tau, epsilon + Fraction(1, 10)),
        added(p * Fraction(9, 10), tau, epsilon),
    ):
        assert less.high <= here.high


def test_tiny_rates_and_large_thresholds_are_no_work() -> None:
    assert float(added(Fraction(1, 2**32), 3, Fraction(1)).low) > 0
    assert float(added(Fraction(1, 200), 230, Fraction(1, 100)).high) < 1e-30
    assert removed(Fraction(1, 10), 5, Fraction(1)).high == 0
