"""A sample needs more noise, and with it loses no more than the search may: at every norm."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.importance.amplification import amplified
from tamis.importance.kmeans.grid import Floats
from tamis.importance.kmeans.plan import Schedule, Spending
from tamis.importance.kmeans.run import Middle, mechanism
from tamis.importance.kmeans.sampled import Kind, Sampling, least_spent, sampling
from tamis.importance.kmeans.steps import Norms, Step
from tamis.importance.kmeans.totals import COUNT_BITS, Points
from tamis.importance.sample import poisson
from tamis.privacy import randomness
from tamis.privacy.certificate import Certificate
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Refused
from tests.sources import Listed

KINDS: list[Kind] = ["optimal", "coreset", "uniform"]
EPSILONS = [0.01, 0.1, 1.0, 10.0, 100.0, 700.0]
RATES = [0.001, 0.03, 0.5, 1.0]
MIDDLE = Middle(np.zeros(3), Norms(np.array([50, 30, 15, 4, 1, 0, 0, 0]), 8_000_000))


def chosen(kind: Kind, epsilon: float, rate: float, d: int = 3, mixing: float = 0.5) -> Sampling:
    return sampling(kind, rate, mixing, Spending.of(Fraction(repr(epsilon))).search, d, MIDDLE)


def norms() -> Floats:
    """From 0 to the radius, in whole steps, close at both ends and where q reaches 1."""
    radius = MIDDLE.radius
    near = [0, 1, 2, radius - 1, radius]
    places = np.unique(np.r_[near, np.rint(np.linspace(0, radius, 200)), np.geomspace(1, radius)])
    return np.asarray(np.rint(places)[:, None])


def words_for(many: int) -> Listed:
    """Coins that all show heads: every point is sampled."""
    return Listed(np.zeros(many, dtype=np.uint64))


# --- the promise --------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_point_loses_more_than_the_search_may_spend(
    kind: Kind, epsilon: float, rate: float
) -> None:
    search, made = Spending.of(Fraction(repr(epsilon))).search, chosen(kind, epsilon, rate)
    q = made.sampler.probability(norms())
    psi = amplified(mechanism(float(made.spent), 3, MIDDLE.radius), 1 / q, norms())
    assert psi.max() <= float(search)
    assert psi.max() == pytest.approx(float(search), rel=1e-9)


@pytest.mark.parametrize("rate", [0.001, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_at_what_is_really_drawn_is_within_the_search_to_60_digits(
    kind: Kind, epsilon: float, rate: float
) -> None:
    """Exact coins, the whole numbers that are added, and the rates of the noise of all steps."""
    search, made = Spending.of(Fraction(repr(epsilon))).search, chosen(kind, epsilon, rate)
    places = norms()[::9] * np.array([[1.0, 0, 0]])
    with randomness.using(words_for(len(places))):
        sample = poisson(places, made.sampler)
    points = Points.weighted(sample.points, sample.weights)
    assert points.heavy is not None
    assert points.counts is not None
    plan = Schedule.of(made.spent, 5, "private", True)
    each = [(plan.each[0], plan.seed_steps), (plan.each[1], plan.steps)]
    steps = [(Step(part, MIDDLE.radius, 3, points.unit), many) for part, many in each]
    odds = [math.ceil(Fraction(q) * 2**53) for q in made.sampler.probability(places).tolist()]
    for units, heavy, count in zip(odds, points.heavy, points.counts, strict=True):
        norm = int(np.abs(heavy).sum())
        lost = sum(many * (s.count_rate * int(count) + s.sum_rate * norm) for s, many in steps)
        with mpmath.workdps(60):
            cost = mpmath.mpf(lost.numerator) / lost.denominator
            psi = mpmath.log1p(mpmath.mpf(units) / 2**53 * mpmath.expm1(cost))
            assert psi <= mpmath.mpf(search.numerator) / search.denominator


@settings(deadline=None)  # a bisection of 100 steps, on however busy a machine
@given(
    st.sampled_from(KINDS),
    st.floats(-2, 2.8).map(lambda x: 10.0**x),
    st.floats(0.001, 1),
    st.floats(0.001, 1),
    st.integers(1, 500),
)
def test_the_promise_holds_for_any_settings(
    kind: Kind, epsilon: float, rate: float, mixing: float, d: int
) -> None:
    search = Spending.of(Fraction(epsilon)).search
    made = sampling(kind, rate, mixing, search, d, MIDDLE)
    q = made.sampler.probability(norms())
    psi = amplified(mechanism(float(made.spent), d, MIDDLE.radius), 1 / q, norms())
    assert psi.max() <= float(search)
    assert 0 < made.spent <= search
    assert least_spent(kind, rate, mixing, search) <= made.spent


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_optimal_sampler_at_rate_1_needs_no_more_noise(epsilon: float) -> None:
    made = chosen("optimal", epsilon, 1.0)
    assert float(made.spent) == pytest.approx(0.96 * epsilon, rel=1e-9)
    q = made.sampler.probability(norms())
    assert q[-1] == pytest.approx(1.0, abs=1e-6)
    assert q[0] < 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_points_need_more_noise(kind: Kind) -> None:
    spent = [chosen(kind, 1.0, rate).spent for rate in RATES]
    assert spent == sorted(spent)
    assert spent[0] < spent[-1] / 20


@pytest.mark.parametrize("kind", KINDS)
def test_who_ignores_the_weights_breaks_the_promise(kind: Kind) -> None:
    """As if all were taken at the noise for one in thirty, but counted thirty times."""
    made = chosen(kind, 1.0, 0.03)
    profile = mechanism(float(made.spent), 3, MIDDLE.radius)
    far = np.array([[float(MIDDLE.radius)]])
    (weight,) = 1 / made.sampler.probability(far)
    assert profile.epsilon(np.array([weight]), far)[0] > 1.5 * 0.96


def test_weights_that_points_add_are_rounded_down() -> None:
    made, places = chosen("optimal", 1.0, 0.5), norms() * np.array([[1.0, 0, 0]])
    with randomness.using(words_for(len(places))):
        sample = poisson(places, made.sampler)
    points = Points.weighted(sample.points, sample.weights)
    assert points.heavy is not None
    assert points.counts is not None
    for x, w, heavy, count in zip(
        places[:, 0], sample.weights, points.heavy[:, 0], points.counts, strict=True
    ):
        weight = Fraction(float(w))
        assert weight * int(x) - 1 - abs(int(x)) / 1024 < int(heavy) <= weight * int(x)
        assert int(count) <= weight * 2**COUNT_BITS < int(count) + 1


# --- the certificate ----------------------------------------------------------------------------


def certificate(kind: Kind, epsilon: float, rate: float, mixing: float = 0.5) -> dict[str, Any]:
    spending = Spending.of(Fraction(repr(epsilon)))
    sample = chosen(kind, epsilon, rate, mixing=mixing)
    rule = spending.rule(3, Schedule.of(sample.spent, 4, "private", sampled=True), sample.rule())
    text = Certificate.of(Guarantee(epsilon, 0.0, unit="row"), rule).text
    return dict(json.loads(text))


def verify(content: dict[str, Any]) -> str:
    return Certificate(json.dumps(content)).verify()


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("epsilon", [*EPSILONS, 1000.0])
@pytest.mark.parametrize("kind", KINDS)
def test_every_certificate_of_a_sample_is_verified(kind: Kind, epsilon: float, rate: float) -> None:
    said = verify(certificate(kind, epsilon, rate))
    assert f"epsilon {epsilon}" in said
    assert f"rows are sampled ({kind!r})" in said


def changed(content: dict[str, Any], name: str, by: Fraction) -> dict[str, Any]:
    """One number of the sample, larger by this part of it."""
    sample = content["rule"]["sample"]
    value = str(Fraction(sample[name]) * (1 + by))
    rule = {**content["rule"], "sample": {**sample, name: value}}
    if name == "steps":  # and so is what they spend
        search = rule["search"]
        parts = {part: str(Fraction(search[part]) * (1 + by)) for part in ("seeds", "lloyd")}
        rule["search"] = {**search, **parts}
    return {**content, "rule": rule}


TINY = Fraction(1, 10**6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_with_a_little_less_noise_is_refused(kind: Kind, epsilon: float) -> None:
    good = certificate(kind, epsilon, 0.1)
    verify(changed(good, "steps", -TINY))
    with pytest.raises(Refused, match="the sample spends too much"):
        verify(changed(good, "steps", TINY))


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_whose_farthest_points_are_a_little_rarer_is_refused(kind: Kind) -> None:
    good = certificate(kind, 1.0, 0.1, mixing=0.9)  # lose most of all
    verify(changed(good, "far", TINY))
    with pytest.raises(Refused, match="the sample spends too much"):
        verify(changed(good, "far", -TINY))


def test_a_certificate_whose_nearest_points_are_a_little_rarer_is_refused() -> None:
    good = certificate("coreset", 1.0, 0.1, mixing=0.01)  # lose most of all
    verify(changed(good, "near", TINY))
    verify(changed(good, "far", -TINY))
    with pytest.raises(Refused, match="the sample spends too much"):
        verify(changed(good, "near", -TINY))
