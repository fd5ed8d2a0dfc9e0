"""A plan says beforehand what a release does, and touches no data."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
import pytest

import tamis
from tamis.privacy import randomness
from tamis.privacy.curves import ApproximateCurve, GaussianCurve
from tamis.weighted.tokens import draw
from tests.sources import Forbidden

FREQUENCIES = np.arange(1, 61).repeat(2000)


@pytest.mark.parametrize(
    "scheme", [tamis.Everything(), tamis.Ppswor(0.05), tamis.Custom({1: 0.5})], ids=repr
)
def test_what_is_planned_is_what_happens(scheme: tamis.Ppswor) -> None:
    """Reporting, coverage, bias and error against 2,000 draws at each of 60 frequencies."""
    plan = tamis.plan(epsilon=0.5, delta=1e-4, scheme=scheme)
    tokens = draw(plan.mechanism, FREQUENCIES)
    named = tokens > 0
    expected = plan.expected(FREQUENCIES)
    spread = np.sqrt(np.sum(plan.reporting(FREQUENCIES) * (1 - plan.reporting(FREQUENCIES))))
    assert abs(named.sum() - expected) < 6 * spread
    estimate = np.zeros(len(tokens))
    distinct, place = np.unique(tokens[named], return_inverse=True)
    estimate[named] = plan.estimator.values(distinct)[place]
    seen = estimate.reshape(60, 2000)
    moments = plan.moments(np.arange(1, 61))
    error = np.sqrt(moments.variance / 2000) + 1e-9
    assert np.all(np.abs(seen.mean(axis=1) - moments.mean) < 7 * error + 0.05)
    assert plan.error(60) == pytest.approx(np.sqrt(np.mean((seen[59] - 60) ** 2)), rel=0.15)
    assert plan.bias(60) == pytest.approx(seen[59].mean() - 60, abs=7 * error[59])


def test_numbers_for_one_frequency_and_arrays_for_many() -> None:
    plan = tamis.plan(epsilon=1.0, delta=1e-6)
    assert isinstance(plan.reporting(14), float)
    assert np.shape(plan.reporting([14, 15])) == (2,)
    assert plan.half == 14
    low, high = plan.interval(25)
    assert low <= 25 <= high
    assert plan.expected([]) == 0.0


def test_no_frequency_may_reach_one_half() -> None:
    plan = tamis.plan(epsilon=1.0, delta=1e-6, scheme=tamis.Custom({1: 0.25}))
    assert plan.half is None
    assert "no frequency is named with probability one half" in str(plan)


def test_a_plan_draws_nothing_and_prints_a_table() -> None:
    with randomness.using(Forbidden()):
        text = str(tamis.plan(epsilon=1.0, delta=1e-8, keys_per_unit=4))
    assert "Gaussian" in text
    assert len(text.splitlines()) == 11


def test_the_better_curve_is_taken_for_the_user() -> None:
    curves = {
        k: tamis.plan(epsilon=1.0, delta=1e-6, keys_per_unit=k).curve for k in (1, 3, 10, 100)
    }
    assert isinstance(curves[1], ApproximateCurve)
    assert all(isinstance(curves[k], GaussianCurve) for k in (3, 10, 100))


def test_the_largest_frequency_does_not_matter() -> None:
    plan = tamis.plan(epsilon=1.0, delta=1e-6, scheme=tamis.Ppswor(1e-6))
    start = time.process_time()
    tokens = draw(plan.mechanism, np.array([10**12, 2**62, 10**9]))
    assert (tokens > 10**8).all()
    assert plan.reporting(10**12) == 1.0
    assert plan.interval(10**12)[0] < 10**12 < plan.interval(10**12)[1]
    assert time.process_time() - start < 20  # not proportional to the frequency


BAD: dict[str, list[object]] = {
    "epsilon": [0, -1, float("inf"), float("nan"), "1", None, True, 1e-12],
    "delta": [0, 1, -1e-9, 2, float("nan"), "0.1", None, 1e-30],
    "keys_per_unit": [0, -1, 1.5, True, "4", None],
    "elements_per_key": [0, -1, 1.5, True, "4", None],
    "coverage": [0, 1, -1, 2, float("nan")],
    "tokens": ["coarse", None],
    "scheme": ["everything", 0.1],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD.items() for v in vs])
def test_bad_parameters_are_refused_by_name(name: str, value: object) -> None:
    options = {"epsilon": 1.0, "delta": 1e-6, name: value}
    with pytest.raises(tamis.InvalidInput, match=name):
        str(tamis.plan(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("frequency", [0, -1, 1.5, float("nan"), "3", 2**63])
def test_bad_frequencies_are_refused_by_name(frequency: Any) -> None:
    plan = tamis.plan(epsilon=1.0, delta=1e-6)
    for question in (plan.reporting, plan.interval, plan.bias, plan.error, plan.expected):
        with pytest.raises(tamis.InvalidInput, match="frequency"):
            question(frequency)


@pytest.mark.parametrize("scheme", [tamis.Everything(), tamis.Ppswor(0.05)], ids=repr)
def test_a_plan_that_was_used_can_be_sent_elsewhere(scheme: tamis.Ppswor) -> None:
    made = tamis.plan(epsilon=1.0, delta=1e-6, scheme=scheme)
    before = made.certificate.verify(), made.half, made.estimator.values([3]).tolist()
    draw(made.mechanism, np.array([5, 3000]))
    sent = pickle.loads(pickle.dumps(made))
    assert sent == made
    assert before == (
        sent.certificate.verify(),
        sent.half,
        sent.estimator.values([3]).tolist(),
    )
