"""Estimators and their exact errors, against the paper's formulas written out plainly."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.privacy.errors import InvalidInput
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted import bands
from tamis.weighted.baselines import StabilityHistogram
from tamis.weighted.estimators import (
    BiasedDown,
    Centred,
    Estimator,
    MaximumLikelihood,
    Unbiased,
    moments,
    population_error,
)
from tamis.weighted.laws import DrawLaw, Law, SurvivalLaw
from tests.plain import algorithm4, drawn, gaussian, whole_l

Floats = npt.NDArray[np.float64]
Kind = type[MaximumLikelihood] | type[BiasedDown] | type[Unbiased]

STEPS = Custom({1: 0.1, 20: 0.5, 40: 1})
LATE = Custom({10: 0.3, 40: 1})
SCHEMES: list[Scheme] = [
    Everything(),
    Pps(0.01),
    Ppswor(0.05),
    Pps(0.001, 2.0),
    Pps(0.1, 0.5),
    STEPS,
    LATE,
]
BUDGETS = [(1.0, 1e-6), (0.3, 1e-3), (2.0, 0.1), (5.0, 0.3)]
ONE_TO_60 = np.arange(1, 61)


def squared(w: Floats) -> Floats:
    return w**2


def present(w: Floats) -> Floats:
    return (w > 0).astype(np.float64)


FUNCTIONS: list[Callable[[Floats], Floats]] = [lambda w: w, squared, present, np.sqrt]


# --- rows and columns ---------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_rows_and_columns_are_those_of_algorithm_4(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    law, plain = SurvivalLaw(epsilon, delta, scheme), algorithm4(epsilon, delta, scheme, 60)
    for i, row in zip(ONE_TO_60, bands.rows(law, ONE_TO_60), strict=True):
        np.testing.assert_allclose(row, plain[i, i - len(row) + 1 : i + 1], rtol=0, atol=2e-15)
        assert plain[i, 1 : i - len(row) + 1].sum() < 2e-15
    np.testing.assert_allclose(row, law.row(60)[1], rtol=0, atol=2e-15)
    for j, (exactly, above) in enumerate(bands.each_column(law, 1, 60), start=1):
        n = min(len(exactly), 61 - j)
        np.testing.assert_allclose(exactly[:n], plain[j : j + n, j], rtol=0, atol=2e-15)
        expected = plain[j : j + n, j + 1 :].sum(axis=1)
        np.testing.assert_allclose(above[:n], expected, rtol=0, atol=2e-15)


def test_a_row_can_have_more_than_the_papers_2l_plus_1_tokens() -> None:
    epsilon, delta = 0.3, 1e-4
    e = math.exp(epsilon)
    two_l = 2 * math.log((e - 1 + 2 * delta) / (delta * (e + 1))) / epsilon
    plain = algorithm4(epsilon, delta, Pps(0.01), 120)
    longest = max(np.count_nonzero(row[1:] > 1e-12) for row in plain)
    assert two_l + 1 < 50
    assert 63 <= longest <= SurvivalLaw(epsilon, delta, Pps(0.01)).width
    histogram = algorithm4(epsilon, delta, Everything(), 120)
    assert max(np.count_nonzero(row[1:] > 1e-12) for row in histogram) <= math.ceil(two_l + 1)


@pytest.mark.parametrize("scheme", [Pps(0.01), Ppswor(0.02), STEPS, Custom({5: 0.4})], ids=repr)
def test_rows_far_apart_close_together_and_beyond_the_scheme_are_rows_of_the_law(
    scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = SurvivalLaw(0.5, 1e-3, scheme)
    monkeypatch.setattr(bands, "_SPAN", 64)
    at = np.array([1, 2, 7, 40, 41, 63, 64, 65, 300, 301, 2500, 10**6, 10**12, 10**15])
    for i, row in zip(at, bands.rows(law, at), strict=True):
        np.testing.assert_allclose(row, law.row(int(i))[1], rtol=0, atol=1e-14)


def test_a_delta_below_the_rounding_error_of_one_is_no_endless_loop() -> None:
    law = SurvivalLaw(0.5, 1e-17, Everything())
    assert law.memory < law.width
    assert float(law.reporting(10**6)) == pytest.approx(1, abs=1e-15)


# --- maximum likelihood -------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("g", FUNCTIONS)
def test_maximum_likelihood_is_equation_11(scheme: Scheme, g: Callable[[Floats], Floats]) -> None:
    epsilon, delta = 1.0, 1e-3
    law, plain = SurvivalLaw(epsilon, delta, scheme), algorithm4(epsilon, delta, scheme, 60)
    values = MaximumLikelihood(law, g).values(np.arange(1, 61 - law.width))
    for j, value in enumerate(values, start=1):
        if plain[:, j].max() < 1e-15:
            continue
        best = plain[:, j].max()
        i = int(np.flatnonzero(plain[:, j] > best * (1 - 1e-9))[0])
        expected = float(g(np.array([float(i)]))[0] / plain[i, 1:].sum())
        assert value == pytest.approx(expected, rel=1e-12)


def test_of_equally_likely_frequencies_the_lowest_is_taken() -> None:
    law = DrawLaw(np.array([0.0, 0.1, 0.4, 0.7, 1.0]))  # 0.1, then three times 0.3, up to rounding
    assert MaximumLikelihood(law).frequencies([1, 5, 10**9]).tolist() == [2, 6, 10**9 + 1]


@pytest.mark.parametrize(
    "law",
    [
        gaussian(0.3, 1e-6),
        gaussian(0.3, 1e-7, 3),
        SurvivalLaw(1.0, 1e-6, Everything()),
        SurvivalLaw(1.0, 1e-6, Pps(0.1)),
    ],
    ids=["gaussian", "head start", "histogram", "pps"],
)
def test_high_tokens_are_one_shift(law: Law) -> None:
    far = np.array([10**3, 10**6, 10**12, 10**15])
    shift = MaximumLikelihood(law).frequencies(far) - far
    assert len(set(shift.tolist())) == 1
    tokens, probability = law.row(10**6)
    assert shift[0] == 10**6 - tokens[np.argmax(probability)]
    np.testing.assert_array_equal(MaximumLikelihood(law).values(far), (far + shift).astype(float))


def test_maximum_likelihood_need_not_grow_with_the_token() -> None:
    values = MaximumLikelihood(SurvivalLaw(1.0, 1e-6, Everything())).values([1, 2, 3, 4, 50])
    assert values[0] > values[1] > values[2]
    assert values[2] < values[3] < values[4]


def test_order_repetition_and_company_of_tokens_do_not_matter() -> None:
    for scheme in (Pps(0.01), Ppswor(1e-4), STEPS):
        law = SurvivalLaw(0.5, 1e-4, scheme)
        tokens = np.array([400, 3, 3, 77, 10**7, 1, 400, 10**7 + 1])
        for kind in (MaximumLikelihood, BiasedDown):
            some = tokens if kind is MaximumLikelihood else tokens[tokens < 10**6]
            alone = [float(kind(law).values([j])[0]) for j in some]
            np.testing.assert_allclose(kind(law).values(some), alone, rtol=1e-12)
            assert kind(law).values([]).shape == (0,)


def test_a_token_that_never_occurs_is_worth_nothing() -> None:
    law = SurvivalLaw(1.0, 1e-3, LATE)
    assert MaximumLikelihood(law).values([1, 9]).tolist() == [0, 0]
    assert MaximumLikelihood(law).values([10])[0] > 0
    assert BiasedDown(law).values([9]).tolist() == Unbiased(law).values([9]).tolist() == [0]


@pytest.mark.slow
def test_memory_stays_below_200_mb_at_width_5000() -> None:
    law = SurvivalLaw(0.01, 6e-8, Pps(1e-8))
    assert 4900 < law.width < 5000
    tracemalloc.start()
    MaximumLikelihood(law).values(np.arange(1, 10**6, 2000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


# --- biased down --------------------------------------------------------------------------------


def equation_41(plain: Floats, tokens: int) -> Floats:
    """a_1, ..., a_tokens for g(w) = w."""
    a, i = np.zeros(tokens + 1), np.arange(len(plain))
    for j in range(1, tokens + 1):
        possible = plain[:, j] > 1e-14
        if not possible.any():
            a[j] = a[j - 1]
            continue
        share = plain[possible, 1:]
        left = i[possible] - share[:, : j - 1] @ a[1:j]
        a[j] = np.min(left / share[:, j - 1 :].sum(axis=1))
    return a[1:]


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (2.0, 0.1), (0.5, 0.05)])
def test_biased_down_is_equation_41(epsilon: float, delta: float, scheme: Scheme) -> None:
    law = SurvivalLaw(epsilon, delta, scheme)
    plain = algorithm4(epsilon, delta, scheme, 60)
    n = 60 - law.width
    expected = equation_41(plain, n)
    np.testing.assert_allclose(BiasedDown(law).values(np.arange(1, n + 1)), expected, rtol=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-14), (0.3, 1e-4), (2.0, 0.1)])
@pytest.mark.parametrize("g", [squared, np.sqrt])
def test_biased_down_is_never_negative_and_never_over_estimates(
    epsilon: float, delta: float, scheme: Scheme, g: Callable[[Floats], Floats]
) -> None:
    law = SurvivalLaw(epsilon, delta, scheme)
    rule, i = BiasedDown(law, g), np.arange(1, 201)
    assert np.all(rule.values(i) >= 0)
    assert np.all(moments(law, rule, i).bias <= 1e-13 * g(i.astype(float)))


@st.composite
def laws(draw: st.DrawFn) -> SurvivalLaw:
    """Any budget, and any scheme of a few steps."""
    delta = draw(st.floats(1e-6, 0.5))
    starts = draw(st.lists(st.integers(1, 60), min_size=1, max_size=5, unique=True))
    q = st.one_of(st.floats(delta / 2, 1), st.floats(-7, 0).map(lambda x: 10**x))
    heights = draw(st.lists(q, min_size=len(starts), max_size=len(starts)))
    scheme = Custom(dict(zip(sorted(starts), sorted(heights), strict=True)))
    return SurvivalLaw(draw(st.floats(0.3, 6)), delta, scheme)


@pytest.mark.parametrize("kind", [MaximumLikelihood, Centred, BiasedDown])
@pytest.mark.parametrize("start", [1, 3, 7])
def test_with_a_head_start_a_key_is_one_that_is_more_frequent(
    start: int, kind: Kind | type[Centred]
) -> None:
    """Means from the rows without a head start: what is estimated is the frequency all the same."""
    plain, law = gaussian(0.5, 1e-3), gaussian(0.5, 1e-3, start)
    i = np.arange(1, 80)
    values = kind(law).values(np.arange(1, 80 + start))
    rows = [plain.row(int(n) + start) for n in i]
    means = np.array([row @ values[tokens - 1] for tokens, row in rows])
    np.testing.assert_allclose(moments(law, kind(law), i).mean, means, rtol=1e-12)
    far = moments(law, kind(law), [1000])
    if kind is Centred:
        assert abs(far.bias[0]) < 1e-9
    if kind is BiasedDown:
        assert np.all(means <= i * (1 + 1e-12))
    assert abs(far.bias[0]) < 30


def test_with_a_head_start_the_unbiased_estimator_has_no_bias() -> None:
    law, i = gaussian(1.5, 0.05, 2), np.arange(1, 6)
    assert np.abs(moments(law, Unbiased(law), i).bias).max() < 1e-6


@settings(max_examples=40, deadline=None)
@given(laws())
def test_biased_down_never_over_estimates_under_any_scheme(law: SurvivalLaw) -> None:
    i = np.arange(1, 150)
    assert np.all(moments(law, BiasedDown(law), i).bias <= 1e-13 * i)


@pytest.mark.parametrize(
    "law",
    [
        *(SurvivalLaw(epsilon, delta, Everything()) for epsilon, delta in BUDGETS),
        SurvivalLaw(1.0, 1e-14, Everything()),
        gaussian(0.3, 1e-6),
        gaussian(0.4, 1e-5, 2),
        DrawLaw(np.array([0.0, 0.4, 0.5, 0.9, 1.0])),
    ],
    ids=lambda law: f"{type(law).__name__}-{law.width}",
)
def test_without_sampling_biased_down_does_not_decrease(law: Law) -> None:
    for g in FUNCTIONS:
        assert np.all(np.diff(BiasedDown(law, g).values(np.arange(1, 2001))) >= 0)


def test_lemma_e1_fails_when_a_scheme_makes_higher_frequencies_cheaper() -> None:
    """Non-decreasing, says the paper; but where g(i) / pi_i falls with i, the values fall."""
    plain = equation_41(algorithm4(2.0, 0.1, STEPS, 60), 50)
    assert plain[17] > 4 * plain[18]
    ours = BiasedDown(SurvivalLaw(2.0, 0.1, STEPS)).values(np.arange(1, 51))
    np.testing.assert_allclose(ours, plain, rtol=1e-12)
    pps = BiasedDown(SurvivalLaw(1.0, 1e-6, Pps(1e-6, 2.0))).values(np.arange(1, 300))
    assert np.all(np.diff(pps)[:200] < 0)


def test_without_sampling_biased_down_is_a_staircase_and_less_precise_than_likelihood() -> None:
    law, i = SurvivalLaw(1.0, 1e-6, Everything()), np.arange(1000, 1032)
    assert len(np.unique(BiasedDown(law).values(i).round(6))) == 3
    down, likely = (moments(law, rule(law), i).mse for rule in (BiasedDown, MaximumLikelihood))
    assert np.sqrt(down.mean()) > 4 * np.sqrt(likely.mean())


@pytest.mark.parametrize("kind", [BiasedDown, Unbiased])
@pytest.mark.parametrize("scheme", [Everything(), Pps(0.02), LATE], ids=repr)
def test_values_asked_for_little_by_little_are_the_same(kind: Kind, scheme: Scheme) -> None:
    law = SurvivalLaw(0.7, 0.02, scheme)
    slowly = kind(law)
    for j in (1, 2, 3, 10, 11, 60, 120):
        value = slowly.values([j])
    assert slowly.values(np.arange(1, 121)).tolist() == kind(law).values(range(1, 121)).tolist()
    assert value[0] == slowly.values([120])[0]


@pytest.mark.parametrize("kind", [BiasedDown, Unbiased])
def test_too_much_work_is_refused_without_repeating_the_token(kind: Kind) -> None:
    rule = kind(SurvivalLaw(0.1, 1e-6, Pps(1e-9)))
    with pytest.raises(InvalidInput, match="use MaximumLikelihood") as refused:
        rule.values([5, 987_654_321])
    assert "987" not in str(refused.value)


# --- unbiased -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_unbiased_has_no_bias_where_rounding_permits(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    law = SurvivalLaw(epsilon, delta, scheme)
    rule = Unbiased(law)
    size = moments(law, Absolute(rule), ONE_TO_60).mean
    bias = moments(law, rule, ONE_TO_60).bias / ONE_TO_60
    fine = (size * 1e-15 < 1e-8 * ONE_TO_60) & (law.reporting(ONE_TO_60) > 0)
    assert np.count_nonzero(fine) >= 5
    assert np.all(np.abs(bias[fine]) < 1e-6)


class Absolute:
    """|a_j|, to see how much cancels."""

    def __init__(self, rule: Estimator) -> None:
        self.rule, self.law, self.g = rule, rule.law, rule.g

    def values(self, tokens: npt.ArrayLike) -> Floats:
        return np.abs(self.rule.values(tokens))


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_lemma_f1_unbiased_values_are_negative(epsilon: float) -> None:
    delta = 1e-6
    values = Unbiased(SurvivalLaw(epsilon, delta, Everything())).values([1, 2])
    assert values[0] == pytest.approx(1 / delta)
    assert values[1] == pytest.approx((2 - math.exp(epsilon)) / delta, rel=1e-9)
    assert values[1] < 0


def test_unbiased_has_a_variance_of_one_over_delta() -> None:
    law = SurvivalLaw(1.0, 1e-6, Everything())
    variance = moments(law, Unbiased(law), [1, 2, 3]).variance
    assert variance[0] == pytest.approx(1e6 - 1, rel=1e-9)
    assert np.all(variance >= 1e6 - 1)


def test_unbiased_is_refused_where_it_leaves_the_range_of_floats() -> None:
    rule = Unbiased(SurvivalLaw(1.0, 1e-6, Everything()))
    with pytest.raises(InvalidInput, match="range of floating point"):
        rule.values([2000])
    assert np.isfinite(rule.values([100])).all()


# --- moments ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("kind", [MaximumLikelihood, BiasedDown])
@pytest.mark.parametrize("g", FUNCTIONS)
def test_moments_are_the_sums_of_section_7(
    scheme: Scheme, kind: Kind, g: Callable[[Floats], Floats]
) -> None:
    law, plain = SurvivalLaw(0.5, 1e-3, scheme), algorithm4(0.5, 1e-3, scheme, 60)
    rule = kind(law, g)
    values, truth = rule.values(ONE_TO_60), g(ONE_TO_60.astype(float))
    at = np.array([60, 3, 17, 3, 60, 11])  # any order, and repeated
    m = moments(law, rule, at)
    for n, i in enumerate(at):
        row, none, true = plain[i, 1:], plain[i, 0], truth[i - 1]
        mean = row @ values
        mse = none * true**2 + row @ (values - true) ** 2
        assert m.mean[n] == pytest.approx(mean, rel=1e-10)
        assert m.bias[n] == pytest.approx(mean - true, rel=1e-9, abs=1e-12 * true)
        assert m.mse[n] == pytest.approx(mse, rel=1e-10)
        assert m.variance[n] == pytest.approx(mse - (mean - true) ** 2, rel=1e-8, abs=1e-13 * mse)


@pytest.mark.parametrize(
    ("right", "wrong", "i"),
    [
        (SurvivalLaw(0.3, 0.01, Everything()), SurvivalLaw(0.309, 0.01, Everything()), 12),
        (SurvivalLaw(0.3, 0.01, Everything()), SurvivalLaw(0.309, 0.01, Everything()), 45),
        (SurvivalLaw(0.3, 0.01, STEPS), SurvivalLaw(0.309, 0.01, STEPS), 45),
        (SurvivalLaw(0.3, 0.01, Ppswor(0.02)), SurvivalLaw(0.3, 0.01, Ppswor(0.0206)), 12),
        (SurvivalLaw(0.3, 0.01, Ppswor(0.02)), SurvivalLaw(0.3, 0.01, Ppswor(0.0206)), 45),
        (gaussian(0.3, 1e-3), gaussian(0.309, 1e-3), 12),
        (gaussian(0.3, 1e-3, 3), gaussian(0.309, 1e-3, 3), 9),
        (gaussian(0.3, 1e-3, 3), gaussian(0.3, 1e-3, 2), 45),
    ],
    ids=[
        *("histogram-12", "histogram-45", "steps-45", "ppswor-12", "ppswor-45", "gaussian-12"),
        *("head-start-9", "head-start-45"),
    ],
)
def test_simulation_accepts_the_moments_and_rejects_those_of_a_law_3_percent_off(
    right: Law, wrong: Law, i: int
) -> None:
    """|z| > 5 by chance: less than 1e-6 for each of the two averages."""
    rule, n = MaximumLikelihood(right), 1_000_000
    tokens = drawn(right.row(i), n, np.random.default_rng(7)).astype(np.int64)
    estimates = np.append(0.0, rule.values(np.arange(1, i + right.head_start + 1)))[tokens]

    def surprise(law: Law) -> float:
        m = moments(law, rule, [i])
        pairs = ((estimates, m.mean[0]), ((estimates - i) ** 2, m.mse[0]))
        return max(abs(float(x.mean() - c)) / float(x.std()) * math.sqrt(n) for x, c in pairs)

    assert surprise(right) < 5
    assert surprise(wrong) > 5


def test_a_frequency_of_1e12_costs_no_digits() -> None:
    for law in (gaussian(0.3, 1e-6), gaussian(0.3, 1e-6, 2), SurvivalLaw(1.0, 1e-6, Everything())):
        m = moments(law, MaximumLikelihood(law), [10**4, 10**12])
        assert m.bias[1] == pytest.approx(m.bias[0], rel=1e-9)
        assert m.variance[1] == pytest.approx(m.variance[0], rel=1e-9)


def test_the_variance_of_a_key_that_is_hardly_ever_reported_keeps_its_digits() -> None:
    law = SurvivalLaw(1.0, 1e-14, Everything())
    rule = MaximumLikelihood(law)
    variance = moments(law, rule, [1]).variance[0]
    assert variance == pytest.approx(1e-14 * rule.values([1])[0] ** 2, rel=1e-12)


def test_far_apart_and_many_frequencies_agree_with_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    law = SurvivalLaw(0.5, 1e-4, Ppswor(1e-3))
    rule, at = MaximumLikelihood(law), np.array([1, 30, 31, 500, 2000, 2001, 10**5, 10**9])
    alone = [moments(law, rule, [i]).mse[0] for i in at]
    np.testing.assert_allclose(moments(law, rule, at).mse, alone, rtol=1e-10)
    monkeypatch.setattr("tamis.weighted.estimators._TOKENS", 50)
    np.testing.assert_allclose(moments(law, rule, at).mse, alone, rtol=1e-10)
    assert moments(law, rule, []).mse.shape == (0,)


def test_with_integral_l_likelihood_is_unbiased_at_high_frequencies() -> None:
    law = SurvivalLaw(1.0, whole_l(1.0, 8), Everything())
    assert moments(law, MaximumLikelihood(law), [100]).bias[0] == pytest.approx(0, abs=1e-12)
    law = SurvivalLaw(1.0, 1e-6, Everything())  # L = 13.04: the likeliest draw is not the mean
    assert moments(law, MaximumLikelihood(law), [100]).bias[0] == pytest.approx(-0.0675, abs=1e-4)


# --- sums over a population ---------------------------------------------------------------------


def test_errors_of_a_sum_are_equation_12() -> None:
    law = SurvivalLaw(0.5, 1e-3, Ppswor(0.05))
    rule = MaximumLikelihood(law)
    rng = np.random.default_rng(1)
    w, chosen = rng.integers(1, 200, 5000), rng.normal(1, 1, 5000)
    m = moments(law, rule, w)
    error = population_error(law, rule, w, chosen)
    assert error.bias == pytest.approx(float(chosen @ m.bias), rel=1e-9)
    assert error.variance == pytest.approx(float(chosen**2 @ m.variance), rel=1e-9)
    assert error.mse == pytest.approx(error.variance + error.bias**2)
    assert error.nrmse == pytest.approx(math.sqrt(error.mse) / float(chosen @ w))


def test_a_predicate_selects_and_all_is_the_default() -> None:
    law = SurvivalLaw(1.0, 1e-6, Everything())
    rule, w = MaximumLikelihood(law, squared), np.array([3, 20, 20, 50])
    some = population_error(law, rule, w, w == 20)
    assert some.variance == pytest.approx(2 * moments(law, rule, [20]).variance[0])
    assert population_error(law, rule, w) == population_error(law, rule, w, np.ones(4))
    assert math.isnan(population_error(law, rule, w, np.zeros(4)).nrmse)
    with pytest.raises(InvalidInput, match="selection"):
        population_error(law, rule, w, [True])


def test_the_error_of_a_simulated_sum_is_the_stated_one() -> None:
    """A mean of 400 squared errors is within 40 % of its expectation, but for 1e-6 of the time."""
    law, rng = SurvivalLaw(0.5, 1e-3, Pps(0.02)), np.random.default_rng(11)
    rule, w = MaximumLikelihood(law), rng.integers(1, 80, 300)
    values = np.append(0.0, rule.values(np.arange(1, 81)))
    sums = np.zeros(400)
    for i in w:
        sums += values[drawn(law.row(int(i)), 400, rng).astype(np.int64)]
    error = population_error(law, rule, w)
    assert np.mean((sums - w.sum()) ** 2) == pytest.approx(error.mse, rel=0.4)
    assert abs(sums.mean() - w.sum() - error.bias) < 5 * math.sqrt(error.variance / 400)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MaximumLikelihood, BiasedDown, Unbiased])
@pytest.mark.parametrize(
    "g", [lambda w: w + 1, lambda w: -w, lambda w: w.sum()], ids=["starts at 1", "falls", "number"]
)
def test_functions_that_fall_or_do_not_start_at_zero_are_refused(
    kind: Kind, g: Callable[[Floats], Floats]
) -> None:
    with pytest.raises(InvalidInput, match="g must"):
        kind(SurvivalLaw(1.0, 1e-6, Everything()), g)


@pytest.mark.parametrize("kind", [MaximumLikelihood, BiasedDown, Unbiased])
@pytest.mark.parametrize("tokens", [[0], [3, -1], [1.5], ["1"], [[1, 2]]])
def test_tokens_are_whole_numbers_from_one_on(kind: Kind, tokens: npt.ArrayLike) -> None:
    with pytest.raises(InvalidInput, match="tokens"):
        kind(SurvivalLaw(1.0, 1e-6, Everything())).values(tokens)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("keys", [1, 10])
def test_centred_estimates_of_frequent_keys_have_no_bias(epsilon: float, keys: int) -> None:
    law = tamis.plan(epsilon=epsilon, delta=1e-8, keys_per_unit=keys).mechanism.law
    frequent = np.array([4 * law.width, 10 * law.width])
    assert moments(law, Centred(law), frequent).bias == pytest.approx(0, abs=1e-7)
    likeliest = MaximumLikelihood(law)
    assert abs(moments(law, likeliest, frequent).bias).max() > 1e-3


def test_centred_sums_beat_laplace_and_threshold_where_maximum_likelihood_does_not() -> None:
    """A selection with frequencies uniform on 1..200 at (1, 2^-20): claim 8h of the paper."""
    law = tamis.plan(epsilon=1.0, delta=2.0**-20).mechanism.law
    frequencies = np.arange(1, 201).repeat(1000)
    noisy = StabilityHistogram(1.0, 2.0**-20, fair=True)
    bias, variance = noisy.bias(frequencies).sum(), noisy.variance(frequencies).sum()
    classical = np.sqrt(bias**2 + variance) / frequencies.sum()
    assert population_error(law, Centred(law), frequencies).nrmse < 0.85 * classical
    assert population_error(law, MaximumLikelihood(law), frequencies).nrmse > classical
