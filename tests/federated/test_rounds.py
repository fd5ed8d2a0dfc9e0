"""Several rounds together: an upper bound that is close, and what it needs of an item."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import stats

from tamis.federated import SampleAndThreshold
from tamis.federated.calibrate import PARTS, Promise
from tamis.federated.profile import added, removed
from tamis.federated.rounds import Grid, delta
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import InvalidInput
from tamis.privacy.verify import Clients, Refused, exp_bounds

ONE = Fraction(1)
MILLIONTH = Fraction(1, 10**6)


def together(p: float, tau: int, rounds: int, replaced: bool = False, fine: float = 1.0) -> float:
    grid = Grid.suited(1.0, rounds, fine)
    return float(delta(((int(p * PARTS), tau, rounds),), ONE, replaced, grid))


def known(k: int, p: float, tau: int, rounds: int, is_removed: bool) -> float:
    """By another library: if so many others hold the item in every round."""
    laws = []
    for n in (k + 1, k):
        counts = np.arange(n + 1)
        mass = stats.binom.logpmf(counts, n, p)
        told = {int(t): float(m) for t, m in zip(counts, mass, strict=True) if t >= tau}
        laws.append(told | {-1: float(stats.binom.logcdf(tau - 1, n, p))})
    upper, lower = laws[::-1] if is_removed else laws
    one = pld.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=1e-4, symmetric=False
    )
    with np.errstate(over="ignore"):  # very small probabilities, in that library
        both = one._pmf_remove.self_compose(rounds)
    return float(both.get_delta_for_epsilon(1.0))


# --- the bound ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "tau", "rounds"), [(0.1985, 16, 8), (0.1185, 11, 16), (0.2, 5, 3)])
def test_rounds_cost_no_less_than_with_any_number_of_others(
    p: float, tau: int, rounds: int
) -> None:
    bound = together(p, tau, rounds)
    around = [tau - 1, tau + 3, *(int(n * tau / p) for n in (0.25, 0.35, 0.45, 0.7, 0.9, 1.5, 4))]
    for is_removed in (False, True):
        found = [known(k, p, tau, rounds, is_removed) for k in around]
        assert max(found) <= bound * (1 + 1e-6)


def test_eight_rounds_at_a_rate_of_a_fifth_cost_a_millionth() -> None:
    assert 0.95e-6 < together(0.1985, 16, 8) < 1e-6


def test_a_client_that_leaves_in_many_rounds_shows_too() -> None:
    """At a high rate and a small threshold the absence of an item tells most."""
    p, tau, rounds = 0.3, 2, 6
    found = [known(k, p, tau, rounds, True) for k in (1, 5, 10, 20, 40)]
    assert max(found) <= together(p, tau, rounds)


@pytest.mark.parametrize(
    ("parts", "tau"), [(1 << 30, 14), (1 << 28, 3), (3 << 30, 40), (1 << 31, 1)]
)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE, Fraction(5, 2)])
def test_whole_numbers_bound_the_exact_profile_closely(
    parts: int, tau: int, epsilon: Fraction
) -> None:
    clients, (x, _) = Clients(parts, tau), exp_bounds(epsilon)
    p = Fraction(parts, PARTS)
    for found, exact in (
        (clients.added(x), added(p, tau, epsilon)),
        (clients.removed(x), removed(p, tau, epsilon)),
    ):
        assert Fraction(exact.low) <= Fraction(found, 1 << 256)
        assert Fraction(found, 1 << 256) <= Fraction(exact.high) + Fraction(1, 10**60)


def test_the_bound_holds_where_all_of_tau_clients_are_hardly_ever_kept() -> None:
    """0.5^1500 is far below the places of a float, and of 512 binary digits."""
    exact = added(Fraction(1, 2), 1500, Fraction(1, 20))
    clients = Clients(1 << 31, 1500)
    found = Fraction(clients.added(exp_bounds(Fraction(1, 20))[0]), 1 << 256)
    assert Fraction(exact.low) <= found <= Fraction(exact.high) * Fraction(1_000_001, 1_000_000)


def test_one_round_on_a_grid_is_the_exact_delta() -> None:
    exact = float(added(Fraction(1, 4), 14, ONE).high)
    assert exact <= together(0.25, 14, 1) <= exact * 1.01


def test_a_finer_grid_costs_less_and_more_rounds_more() -> None:
    coarse, fine = (together(1 / 6, 12, 8, fine=n) for n in (0.2, 1.0))
    assert fine < coarse < 2 * fine
    several = [together(1 / 6, 12, n) for n in (1, 2, 4, 8)]
    assert several == sorted(several)
    assert together(1 / 6, 12, 8, replaced=True) > several[-1]


def test_different_queries_add_up_like_rounds() -> None:
    grid = Grid.suited(1.0, 8)
    one = delta(((PARTS // 6, 12, 8),), ONE, False, grid)
    split = delta(((PARTS // 6, 12, 5), (PARTS // 6, 12, 3)), ONE, False, grid)
    assert float(split) == pytest.approx(float(one), rel=1e-9)
    assert delta(((PARTS // 6, 12, 8), (PARTS // 10, 9, 1)), ONE, False, grid) > one


def test_with_a_threshold_of_one_every_round_reveals_all_with_probability_p() -> None:
    p, rounds = 0.01, 5
    exact = 1 - (1 - p) ** rounds
    assert exact * (1 - 1e-6) <= together(p, 1, rounds) < exact * 1.1


# --- what is chosen -----------------------------------------------------------------------------


@pytest.mark.parametrize(("rounds", "needed"), [(8, 82), (16, 100)])
def test_what_an_item_needs_over_many_rounds(rounds: int, needed: float) -> None:
    made = SampleAndThreshold(1.0, 1e-6, rounds=rounds)
    assert made.needed <= needed
    assert 0.99e-6 < made.spent <= 1e-6
    split = SampleAndThreshold(1.0 / rounds, 1e-6 / rounds)
    assert made.needed < split.needed / 3


def test_a_rate_or_a_threshold_can_be_given_for_rounds() -> None:
    made = SampleAndThreshold(1.0, 1e-6, p=0.1, rounds=8)
    assert made.spent <= 1e-6
    assert together(made.p, made.tau - 1, 8) > 1e-6
    other = SampleAndThreshold(1.0, 1e-6, tau=made.tau, rounds=8)
    assert other.p > made.p


@pytest.mark.slow
def test_where_counts_are_large_a_higher_threshold_lets_more_clients_be_kept() -> None:
    promise = Promise(ONE, MILLIONTH, False, 10)
    rates = []
    for needed in (100.0, 333.0):
        parts, tau = promise.with_needed(needed)
        assert promise.met(parts, tau)
        assert tau / (parts / PARTS) == pytest.approx(needed, rel=0.05)
        rates.append(parts / PARTS)
    assert rates[0] < 0.3
    assert rates[1] > 0.6
    assert promise.with_needed(10.0) == promise.best()


@pytest.mark.parametrize("rounds", [0, -1, 1.5, 257, 10**9])
def test_a_wrong_number_of_rounds_is_refused(rounds: int) -> None:
    with pytest.raises(InvalidInput, match="rounds must be"):
        SampleAndThreshold(1.0, 1e-6, rounds=rounds)


# --- the certificate ----------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("neighbours", ["add or remove", "replace"])
def test_certificates_are_confirmed_and_changed_ones_are_not(rounds: int, neighbours: str) -> None:
    made = SampleAndThreshold(1.0, 1e-6, rounds=rounds, neighbours=neighbours)  # type: ignore[arg-type]
    said = made.certificate.verify()
    assert f"items of {made.tau} or more are named" in said
    content = json.loads(made.certificate.text)
    worse = (
        ("parts", made.parts + (1 << 25)),
        ("tau", made.tau - 1),
        ("rounds", rounds + 1),
        ("tau", 0),
        ("tau", 10**6),
        ("parts", 1 << 32),
        ("parts", "1"),
    )
    for name, value in worse:
        changed = content | {"rule": content["rule"] | {name: value}}
        with pytest.raises(Refused):
            Certificate(json.dumps(changed)).verify()
    for name, value in (("neighbours", "none"), ("keys_per_unit", 2), ("epsilon", "0.9")):
        changed = content | {"guarantee": content["guarantee"] | {name: value}}
        with pytest.raises(Refused):
            Certificate(json.dumps(changed)).verify()
