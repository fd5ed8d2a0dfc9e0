"""What the parts of private k-means spend adds up to epsilon, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.importance.kmeans.plan import Init, Schedule, Spending, check_noise, fitting_steps
from tamis.privacy.errors import InvalidInput

amounts = st.fractions(Fraction(1, 10**6), 1000)
inits = st.sampled_from(["private", "random"])


@given(amounts)
def test_the_parts_spend_exactly_epsilon(epsilon: Fraction) -> None:
    spending = Spending.of(epsilon)
    assert spending.centre + spending.norms + spending.search == epsilon
    assert min(spending.centre, spending.norms, spending.search) > 0


@given(amounts)
def test_a_certificate_says_what_the_parts_spend_as_exact_fractions(epsilon: Fraction) -> None:
    spending = Spending.of(epsilon)
    schedule = Schedule.of(spending.search, 4, "private", sampled=False)
    rule = spending.rule(3, schedule, None)
    assert sum(Fraction(rule["search"][name]) for name in ("seeds", "widths", "lloyd")) == (
        Fraction(rule["parts"]["centres"])
    )
    assert sum(Fraction(part) for part in rule["parts"].values()) == epsilon
    assert sorted(rule["parts"]) == ["centres", "middle", "norms"]
    assert (rule["name"], rule["sample"]) == ("k-means", None)


@pytest.mark.parametrize("max_iter", [*range(1, 30), 999, 1000])
@pytest.mark.parametrize("init", ["private", "random"])
@pytest.mark.parametrize("sampled", [False, True])
def test_all_steps_together_spend_exactly_what_the_search_may(
    max_iter: int, init: Init, sampled: bool
) -> None:
    for search in (Fraction(1, 3), Fraction("0.96"), Fraction(672)):
        plan = Schedule.of(search, max_iter, init, sampled)
        assert plan.seeds + plan.widths + plan.lloyd == plan.total == search
        assert plan.seed_steps + plan.steps == max_iter
        each = [plan.seeds / plan.seed_steps] if plan.seed_steps else []
        each += [plan.lloyd / plan.steps] if plan.steps else []
        assert plan.each == each
        assert all(part > 0 for part in each)
        assert bool(plan.seeds) == bool(plan.seed_steps)
        assert bool(plan.lloyd) == bool(plan.steps)
        assert bool(plan.widths) == bool(plan.steps and not sampled)
        assert bool(plan.seed_steps) == (init == "private")


@given(amounts, st.integers(1, 1000), inits, st.booleans())
def test_any_epsilon_and_any_number_of_steps_add_up(
    search: Fraction, max_iter: int, init: Init, sampled: bool
) -> None:
    plan = Schedule.of(search, max_iter, init, sampled)
    steps = [plan.seeds / plan.seed_steps] * plan.seed_steps if plan.seed_steps else []
    steps += [plan.lloyd / plan.steps] * plan.steps if plan.steps else []
    assert sum(steps, plan.widths) == search


def test_more_points_are_worth_more_steps() -> None:
    search = Fraction("0.96")
    steps = [fitting_steps(search, 10, 5, float(n)) for n in (1, 10**3, 10**4, 10**5, 10**7)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (1, 4)
    assert set(steps) <= {1, 2, 4}


@given(amounts, st.integers(1, 1000), st.integers(1, 10**5), st.floats(1, 1e9))
def test_there_is_always_a_number_of_steps(
    search: Fraction, clusters: int, dimensions: int, size: float
) -> None:
    assert fitting_steps(search, clusters, dimensions, size) in (1, 2, 4)


def test_noise_that_would_not_fit_is_refused_beforehand() -> None:
    usual = Spending.of(Fraction(1))
    check_noise(usual, Schedule.of(usual.search, 4, "private", False), 2**24, 54)
    for epsilon, steps in ((Fraction(1, 10**9), 1), (Fraction(1, 10**6), 1000)):
        little = Spending.of(epsilon)
        with pytest.raises(InvalidInput, match="larger epsilon"):
            check_noise(little, Schedule.of(little.search, steps, "private", False), 2**24, 54)
