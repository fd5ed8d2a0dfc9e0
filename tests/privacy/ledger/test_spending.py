from __future__ import annotations

import math
import time
from collections import Counter
from fractions import Fraction

import mpmath as mp
import pytest
from dp_accounting.pld import common, privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.privacy.ledger.budget import at_least, at_most
from tamis.privacy.ledger.losses import loss_law
from tamis.privacy.ledger.spending import (
    Cost,
    Costs,
    fits_with,
    largest_epsilon,
    simply_left,
    spent_epsilon,
    tally,
)
from tamis.privacy.verify import optimal_composition

GRID = 200  # epsilons in the tests are multiples of 1 / 200, so that exact sums of losses are few


def exact_delta(costs: Costs, epsilon: float) -> mp.mpf:
    """delta of all costs at ``epsilon``, by adding up losses of randomised response, exactly."""
    law: dict[int, mp.mpf] = {0: mp.mpf(1)}
    keep = mp.mpf(1)
    for cost, times in costs:
        step = round(cost.epsilon * GRID)
        up = 1 / (1 + mp.exp(-mp.mpf(step) / GRID))
        for _ in range(times):
            keep *= 1 - mp.mpf(repr(cost.delta))
            new: Counter[int] = Counter()
            for loss, mass in law.items():
                new[loss + step] += mass * up
                new[loss - step] += mass * (1 - up)
            law = dict(new)
    over = (
        mass * (1 - mp.exp(mp.mpf(repr(epsilon)) - mp.mpf(loss) / GRID))
        for loss, mass in law.items()
        if loss > epsilon * GRID
    )
    return 1 - keep * (1 - mp.fsum(over))


epsilons = st.integers(1, 100).map(lambda n: n / GRID)
deltas = st.sampled_from([1e-12, 1e-9, 3e-8, 1e-7])
many_costs = st.lists(st.builds(Cost, epsilons, deltas), max_size=25).map(tally)
budgets = st.builds(Cost, st.sampled_from([0.3, 1.0, 2.0]), st.sampled_from([1e-7, 1e-6, 1e-3]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.builds(Cost, epsilons, deltas), max_size=30), budgets)
def test_what_is_accepted_is_private_as_the_budget_says(asked: list[Cost], budget: Cost) -> None:
    costs: Costs = ()
    for new in asked:
        if fits_with(costs, new, budget):
            costs = tally([*(c for c, n in costs for _ in range(n)), new])
    with mp.workdps(50):
        plain = sum(Fraction(repr(c.epsilon)) * n for c, n in costs)
        plain_delta = sum(Fraction(repr(c.delta)) * n for c, n in costs)
        fits_plainly = plain <= Fraction(repr(budget.epsilon)) and plain_delta <= Fraction(
            repr(budget.delta)
        )
        slack = mp.mpf("1e-45")
        assert (
            fits_plainly or exact_delta(costs, budget.epsilon) <= mp.mpf(repr(budget.delta)) + slack
        )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(many_costs, st.sampled_from([0.3, 1.0, 2.5]))
def test_the_grid_is_an_upper_bound_and_a_tight_one(costs: Costs, epsilon: float) -> None:
    pure = tally(Cost(c.epsilon, 1e-60) for c, n in costs for _ in range(n))
    groups = tuple((c.epsilon, n) for c, n in pure)
    bound = loss_law(groups, epsilon, 1e-9).excess(epsilon)
    with mp.workdps(60):
        tiny = mp.mpf("1e-55")
        assert exact_delta(pure, epsilon) - tiny <= bound
        # Where the largest loss is close to epsilon, a step of the grid matters; elsewhere not.
        nearby = exact_delta(pure, round(epsilon * 0.9997, 6)) + tiny
        assert bound <= nearby * mp.mpf("1.001") + mp.mpf("1e-12")


@pytest.mark.parametrize("epsilon", [3.0, 4.0, 5.0, 5.5])
def test_tiny_deltas_are_bounded_from_above_too(epsilon: float) -> None:
    # dp-accounting 0.6, which convolves by Fourier transforms, says a third too little at 5.
    steps = (0.05, 0.06, 0.07, 0.08)
    with mp.workdps(60):
        exact = exact_delta(tally(Cost(e, 1e-60) for e in steps * 25), epsilon)
        bound = loss_law(tuple((e, 25) for e in steps), epsilon, 1e-9).excess(epsilon)
        assert exact <= bound <= exact * mp.mpf("1.002")
        assert epsilon < 5 or exact < 1e-15


def test_mixed_releases_cost_what_dp_accounting_says() -> None:
    steps = [n / 64 for n in (1, 2, 3, 5, 8)] * 12
    together = None
    for step in steps:
        law = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(step, 1e-10), value_discretization_interval=1 / 256
        )
        together = law if together is None else together.compose(law)
    assert together is not None
    theirs = together.get_epsilon_for_delta(1e-6)
    ours = spent_epsilon(tally(Cost(step, 1e-10) for step in steps), Cost(4.0, 1e-6))
    assert ours == pytest.approx(theirs, rel=1e-4)
    assert ours < 0.9 * sum(steps)


@pytest.mark.parametrize("times", [10, 100, 400])
def test_equal_releases_are_composed_optimally(times: int) -> None:
    budget, each = Cost(1.0, 1e-6), Cost(0.01, 1e-10)
    spent = spent_epsilon(tally([each] * times), budget)
    below = Fraction(repr(spent)) * Fraction(998, 1000)
    exact = Fraction(1, 100), Fraction(1, 10**10), times
    assert optimal_composition(*exact, Fraction(repr(spent))) <= Fraction(1, 10**6)
    assert optimal_composition(*exact, below) > Fraction(1, 10**6)


@pytest.mark.parametrize(
    "budget", [Cost(1.0, 1e-6), Cost(1 / 3, 1e-30), Cost(0.1, 0.3), Cost(1000.0, 1e-300)]
)
def test_one_release_may_use_exactly_the_whole_budget(budget: Cost) -> None:
    assert fits_with((), budget, budget)
    assert not fits_with(tally([budget]), Cost(1e-12, 1e-300), budget)
    assert largest_epsilon((), budget.delta, budget) == budget.epsilon


def test_an_epsilon_above_the_budget_fits_when_its_small_delta_leaves_room() -> None:
    budget = Cost(0.3, 1e-3)
    largest = largest_epsilon((), 1e-12, budget)
    excess = (math.exp(largest) - math.exp(0.3)) / (1 + math.exp(largest))
    assert largest > 0.3
    assert 1e-12 + excess == pytest.approx(1e-3, rel=1e-3)


def test_a_tenth_is_a_tenth() -> None:
    budget = Cost(0.3, 3e-9)
    assert 0.1 + 0.1 + 0.1 > budget.epsilon
    assert fits_with(tally([Cost(0.1, 1e-9)] * 2), Cost(0.1, 1e-9), budget)
    assert not fits_with(tally([Cost(0.1, 1e-9)] * 2), Cost(0.1, 1.0000001e-9), budget)


@settings(max_examples=30, deadline=None)
@given(many_costs, budgets, epsilons, deltas)
def test_a_further_release_never_costs_less(
    costs: Costs, budget: Cost, epsilon: float, delta: float
) -> None:
    new = Cost(epsilon, delta)
    more = tally([*(c for c, n in costs for _ in range(n)), new])
    assert spent_epsilon(costs, budget) <= spent_epsilon(more, budget) * 1.0011 + 1e-6
    if fits_with(costs, new, budget):
        assert fits_with(costs, Cost(epsilon / 2, delta), budget)
        assert fits_with(costs, Cost(epsilon, delta / 2), budget)


@settings(max_examples=30, deadline=None)
@given(many_costs, budgets, deltas)
def test_the_largest_epsilon_fits_and_a_larger_one_does_not(
    costs: Costs, budget: Cost, delta: float
) -> None:
    largest = largest_epsilon(costs, delta, budget)
    if largest > 0:
        assert fits_with(costs, Cost(largest, delta), budget)
    assert not fits_with(costs, Cost(largest * 1.0001 + 3e-6, delta), budget)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(many_costs, budgets, deltas)
def test_what_people_are_told_is_left_fits_and_is_nearly_all(
    costs: Costs, budget: Cost, delta: float
) -> None:
    left, largest = simply_left(costs, delta, budget), largest_epsilon(costs, delta, budget)
    assert largest / 1.0011 <= left <= largest
    if left > 0:
        assert fits_with(costs, Cost(left, delta), budget)
        told = float(at_most(left))
        assert left * (1 - 1e-5) <= told <= left
        assert fits_with(costs, Cost(told, delta), budget)


@given(st.floats(1e-30, 1e3))
def test_amounts_are_told_in_six_digits_and_to_the_safe_side(amount: float) -> None:
    low, high = at_most(amount), at_least(amount)
    assert amount * (1 - 1e-5) <= float(low) <= amount <= float(high) <= amount * (1 + 1e-5)
    assert max(len(text.split("e")[0].replace(".", "").lstrip("0")) for text in (low, high)) <= 6


@pytest.mark.parametrize(("spent", "left"), [(0.4, 0.6), (0.1, 0.9), (0.123456789, 0.876543211)])
def test_of_one_what_is_not_spent_is_left(spent: float, left: float) -> None:
    costs, budget = tally([Cost(spent, 1e-8)]), Cost(1.0, 1e-6)
    assert largest_epsilon(costs, 1e-8, budget) > left
    assert simply_left(costs, 1e-8, budget) == left


def test_epsilons_that_are_chosen_by_results_can_cost_more_than_is_accounted_for() -> None:
    """The limit that the guarantee states: why parameters must not depend on earlier results.

    After a first release of 0.05, either one large release or 100 small ones fit. Who takes the
    large one just when the first loss was high, and the small ones when it was low, overspends.
    """
    budget, first = Cost(1.0, 1e-3), Cost(0.05, 1e-12)
    large, small = Cost(0.9527, 1e-12), Cost(0.0386, 1e-12)
    assert fits_with(tally([first]), large, budget)
    assert fits_with(tally([first, *[small] * 99]), small, budget)
    one, many = (loss_law(((c.epsilon, n),), 1.0, 1e-3) for c, n in ((large, 1), (small, 100)))
    high = 1 / (1 + math.exp(-0.05))
    assert high * one.excess(0.95) + (1 - high) * many.excess(1.05) > 1.2 * budget.delta


def test_many_different_releases_are_composed_quickly() -> None:
    budget, base = Cost(2.0, 1e-6), 0.01
    costs = tally(Cost(base * (1 + n / 500), 1e-10) for n in range(500))
    start = time.process_time()
    assert fits_with(costs, Cost(0.005, 1e-10), budget)
    assert spent_epsilon(costs, budget) < 1.8
    assert time.process_time() - start < 5  # seconds, of a tenth of one when it is alone
