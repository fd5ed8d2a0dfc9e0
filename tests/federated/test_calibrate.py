"""Calibration: what is searched for in floating point, and checked for certain."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.federated import SampleAndThreshold
from tamis.federated.calibrate import PARTS, Promise, highest_rate, least_rate, most_tau
from tamis.federated.nearly import nearly
from tamis.federated.profile import added
from tamis.federated.rounds import Grid, delta
from tamis.privacy.errors import InvalidInput
from tamis.privacy.verify import Clients, Refused

ONE = Fraction(1)
MILLIONTH = Fraction(1, 10**6)


# --- floating point -----------------------------------------------------------------------------


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "rounds", "share", "tau"),
    [
        ("1", 8, 0.243, 12),
        ("1", 32, 0.1, 9),
        ("1", 3, 0.5, 1),  # a client that is removed shows most
        ("0.1", 6, 1.0, 200),
        ("0.01", 16, 0.12, 9),
        ("0.01", 16, 0.5, 2),  # most losses leave the grid
        ("5", 8, 0.05, 25),  # about 10^-32
        ("20", 4, 0.9, 25),
    ],
)
def test_delta_of_several_rounds_in_floating_point_is_near_the_certain_one(
    epsilon: str, rounds: int, share: float, tau: int, replaced: bool
) -> None:
    e = Fraction(epsilon)
    parts, grid = int(share * highest_rate(e)), Grid.suited(float(e), rounds)
    asked = ((parts, tau, rounds),)
    certain = float(delta(asked, e, replaced, grid))
    assert nearly(asked, e, replaced, grid) == pytest.approx(certain, rel=1e-5)


def test_different_rounds_add_up_in_floating_point_too() -> None:
    asked, grid = ((PARTS // 6, 12, 5), (PARTS // 10, 9, 2)), Grid.suited(1.0, 8)
    assert nearly(asked, ONE, False, grid) == pytest.approx(
        float(delta(asked, ONE, False, grid)), rel=1e-9
    )


@settings(max_examples=60, deadline=None)
@given(
    st.fractions(Fraction(1, 100), 8, max_denominator=1000),
    st.floats(0.001, 1.0),
    st.integers(1, 300),
)
def test_delta_of_one_round_in_floating_point_is_near_the_exact_one(
    epsilon: Fraction, share: float, tau: int
) -> None:
    parts = max(1, int(share * highest_rate(epsilon)))
    exact = added(Fraction(parts, PARTS), tau, epsilon)
    if exact.high > 1e-280:
        promise = Promise(epsilon, Fraction(exact.high))
        assert exp(promise._nearly(parts, tau)) == pytest.approx(1, rel=1e-8)


# --- what is found ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rounds", "tau", "needed"), [(1, 14, 55.18), (8, 12, 78.06), (16, 11, 92.70)]
)
def test_what_an_item_needs_at_one_and_a_millionth(rounds: int, tau: int, needed: float) -> None:
    made = SampleAndThreshold(1.0, 1e-6, rounds=rounds)
    assert made.tau == tau
    assert made.needed == pytest.approx(needed, abs=0.005)


@pytest.mark.parametrize(
    ("rounds", "exponent", "replaced"), [(32, 7, False), (20, 8, True), (3, 30, False)]
)
def test_a_search_over_rounds_takes_few_of_the_checks_that_take_long(
    rounds: int, exponent: int, replaced: bool
) -> None:
    promise = Promise(ONE, Fraction(1, 3 * 10**exponent), replaced, rounds)
    before = delta.cache_info().misses
    parts, tau = promise.best()
    assert delta.cache_info().misses - before <= 2
    assert 0.998 * promise.delta <= promise.spent(parts, tau) <= promise.delta


@pytest.mark.parametrize("rounds", [2, 12])
def test_no_threshold_nearby_needs_fewer_over_rounds(rounds: int) -> None:
    promise = Promise(ONE, Fraction(1, 10**5), False, rounds)
    parts, tau = promise.best()
    for other in range(max(1, tau - 4), tau + 5):
        rate = int(parts * (other / tau) * 1.001)  # what would need fewer
        assert other == tau or promise._nearly(rate, other) > 0


def test_certificates_are_confirmed_down_to_the_places_of_a_checker() -> None:
    for made in (SampleAndThreshold(1.0, 1e-72), SampleAndThreshold(0.3, 1e-60, tau=200)):
        assert "a client spends 0.99" in made.certificate.verify()


@pytest.mark.parametrize(
    ("epsilon", "delta", "rounds", "words"),
    [
        (1.0, 1e-73, 1, "delta must be at least 1e-72"),
        (1.0, 1e-44, 2, "delta must be at least 1e-42"),
        (1.0, 1e-41, 200, "delta must be at least .*e-40"),
        (1e-12, 1e-3, 1, "epsilon is too small for any sampling rate"),
    ],
)
def test_what_no_threshold_meets_is_refused_at_once(
    epsilon: float, delta: float, rounds: int, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        SampleAndThreshold(epsilon, delta, rounds=rounds)


def test_a_rate_that_no_threshold_makes_up_for_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"no threshold up to 8,192 hides a client at p = 0.6"):
        SampleAndThreshold(1.0, 1e-30, p=0.6, rounds=256)


@pytest.mark.parametrize("tau", [2, 17, 60])
def test_the_rate_of_a_threshold_over_rounds_spends_nearly_all(tau: int) -> None:
    promise = Promise(ONE, MILLIONTH, False, 4)
    parts = promise.largest_rate(tau)
    assert 0.998 * promise.delta <= promise.spent(parts, tau) <= promise.delta


def test_the_highest_rate_is_taken_where_a_threshold_allows_it() -> None:
    promise = Promise(ONE, MILLIONTH, False, 4)
    assert promise.largest_rate(1000) == highest_rate(ONE)


def test_with_very_many_clients_the_threshold_is_no_higher_than_the_highest_rate_needs() -> None:
    promise = Promise(ONE, MILLIONTH, False, 3)
    parts, tau = promise.with_needed(3e6)
    assert parts == highest_rate(ONE)
    assert promise.met(parts, tau)
    assert not promise.met(parts, tau - 1)


@pytest.mark.parametrize("parts", [1, 1000, 1 << 28, 1 << 31, (1 << 32) - 1])
def test_the_highest_threshold_can_be_checked_and_one_that_is_much_higher_cannot(
    parts: int,
) -> None:
    Clients(parts, most_tau(parts))
    with pytest.raises(Refused):
        Clients(parts, most_tau(parts) * 11 // 10)


@pytest.mark.parametrize("tau", [1, 2, 500, 9000])
def test_the_least_rate_is_one_that_can_be_checked(tau: int) -> None:
    assert tau <= most_tau(least_rate(tau))


def test_delta_falls_with_the_threshold_over_rounds_too() -> None:
    """So a threshold that is raised against colluding clients keeps the promise."""
    for share in (0.1, 0.5, 1.0):
        promise = Promise(Fraction(1, 2), MILLIONTH, True, 5)
        parts = int(share * highest_rate(promise.epsilon))
        spent = [float(promise.spent(parts, tau)) for tau in (1, 2, 3, 5, 8, 20, 21, 60)]
        assert spent == sorted(spent, reverse=True)
        assert np.all(np.diff(spent) < 0)
