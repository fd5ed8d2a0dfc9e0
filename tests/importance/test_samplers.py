"""What is promised for a sampler is the largest loss over all points that there can be."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tamis.importance.amplification import amplified
from tamis.importance.profiles import Count, LaplaceSum, Linear, Lloyd, Profile
from tamis.importance.samplers import Coreset, Optimal, Sampler, Uniform
from tamis.privacy.errors import InvalidInput

Floats = npt.NDArray[np.float64]

LLOYD = Lloyd(count_scale=40.0, sum_scale=100.0, iterations=10)

sizes = st.floats(-2, 3).map(lambda x: 10.0**x)
rates = st.floats(0.005, 1)
mixings = st.one_of(st.just(1.0), st.floats(0.01, 1))
profiles = st.one_of(
    st.builds(Lloyd, st.floats(1, 1e4), st.floats(1, 1e4), st.integers(1, 20)),
    st.builds(LaplaceSum, st.floats(1, 1e4)),
    st.builds(Count, st.floats(1, 1e4)),
)


# --- Proposition 6 ------------------------------------------------------------------------------


def losses(profile: Linear, sampler: Coreset, norms: Floats) -> Floats:
    """psi at these norms, from the formulas of the paper."""
    share = sampler.mixing + (1 - sampler.mixing) * norms / sampler.mean_norm
    q = np.minimum(1, sampler.rate * share)
    u = profile.rate(norms[:, None]) / q
    return np.asarray(u + np.log(q + (1 - q) * np.exp(-u)))


def exact_loss(profile: Linear, sampler: Coreset, norm: float) -> mpmath.mpf:
    """psi at one norm, to 60 digits."""
    with mpmath.workdps(60):
        rate, mean, mixing = map(Fraction, (sampler.rate, sampler.mean_norm, sampler.mixing))
        q = min(Fraction(1), rate * (mixing + (1 - mixing) * Fraction(norm) / mean))
        u = exact_rate(profile, Fraction(norm)) / q
        odds, cost = (mpmath.mpf(x.numerator) / x.denominator for x in (q, u))
        return mpmath.log(1 + odds * mpmath.expm1(cost))


def exact_rate(profile: Linear, norm: Fraction) -> Fraction:
    if isinstance(profile, Lloyd):
        parts = 1 / Fraction(profile.count_scale) + norm / Fraction(profile.sum_scale)
        return profile.iterations * parts
    if isinstance(profile, LaplaceSum):
        return norm / Fraction(profile.scale)
    assert isinstance(profile, Count)
    return 1 / Fraction(profile.scale)


def where_cut(sampler: Coreset) -> float:
    """The norm at which q reaches 1."""
    if sampler.mixing == 1:
        return math.inf
    return (1 / sampler.rate - sampler.mixing) / (1 - sampler.mixing) * sampler.mean_norm


@given(profiles, st.builds(Coreset, rates, sizes, mixings), sizes)
@example(LLOYD, Coreset(0.5, 1.0, 0.5), 100.0)  # cut inside the ball
@example(LLOYD, Coreset(0.01, 1.0, 0.01), 1.0)  # largest at norm 0
@example(LLOYD, Coreset(1.0, 1.0, 1.0), 1.0)  # everything is taken
def test_epsilon_is_the_largest_loss_on_a_fine_grid_of_norms(
    profile: Linear, sampler: Coreset, radius: float
) -> None:
    norms = np.append(np.linspace(0, radius, 20_001), min(radius, where_cut(sampler)))
    largest, promised = losses(profile, sampler, norms).max(), sampler.epsilon(profile, radius)
    assume(largest < 1e4)
    assert promised == pytest.approx(largest, rel=1e-9, abs=1e-9)


@given(profiles, st.builds(Coreset, rates, sizes, mixings), sizes)
@example(LLOYD, Coreset(0.5, 1.0, 0.5), 100.0)
@example(LLOYD, Coreset(0.01, 1.0, 0.01), 1.0)
def test_epsilon_is_never_below_the_true_largest_loss(
    profile: Linear, sampler: Coreset, radius: float
) -> None:
    norms = [*np.linspace(0, radius, 21).tolist(), min(radius, where_cut(sampler))]
    promised, alone = sampler.epsilon(profile, radius), profile.rate(np.array([[radius]]))[0]
    rounding = 4 * math.ulp(promised) if promised == alone else 0  # the profile's own, without q
    assert promised + rounding >= max(exact_loss(profile, sampler, norm) for norm in norms)


def test_epsilon_is_equation_5_where_nothing_is_cut() -> None:
    sampler, radius, m_over_n, mixing, mean = Coreset(0.02, 3.0, 0.25), 30.0, 0.02, 0.25, 3.0
    far, near = (1 / 40 + radius / 100) * 10, 10 / 40
    far_q, near_q = m_over_n * (mixing + (1 - mixing) * radius / mean), mixing * m_over_n
    theta = max((math.exp(u / v) - 1) * v for u, v in ((far, far_q), (near, near_q)))
    assert sampler.epsilon(LLOYD, radius) == pytest.approx(math.log(1 + theta), rel=1e-12)


def test_where_q_is_cut_the_radius_costs_what_it_costs_without_sampling() -> None:
    sampler, radius = Coreset(0.5, 1.0, 0.5), 100.0
    assert where_cut(sampler) < radius
    assert sampler.epsilon(LLOYD, radius) == LLOYD.rate(np.array([[radius]]))[0]


def test_the_norm_where_q_reaches_1_can_be_neither_end_and_still_is_not_the_largest() -> None:
    sampler = Coreset(0.5, 1.0, 0.5)
    cut = where_cut(sampler)
    for radius in np.linspace(cut, 3 * cut, 50).tolist():
        assert sampler.epsilon(LLOYD, radius) >= losses(LLOYD, sampler, np.array([cut]))[0]


@given(profiles, rates, sizes, sizes)
def test_uniform_is_a_coreset_that_mixes_nothing_else_in(
    profile: Profile, rate: float, mean: float, radius: float
) -> None:
    points = np.array([[0.0, 0.0], [1.0, -5.0], [1e308, 1e308]])
    uniform, coreset = Uniform(rate), Coreset(rate, mean, mixing=1)
    assert uniform.probability(points).tolist() == coreset.probability(points).tolist()
    assert uniform.epsilon(profile, radius) == coreset.epsilon(profile, radius)


@given(profiles, st.builds(Coreset, rates, sizes, mixings), sizes)
def test_sampling_never_improves_on_noise_that_grows_with_the_weights(
    profile: Linear, sampler: Coreset, radius: float
) -> None:
    """Proposition 3."""
    assert sampler.epsilon(profile, radius) >= profile.rate(np.array([[radius]]))[0]


def test_a_coreset_costs_less_than_a_uniform_sample_of_the_same_size() -> None:
    mean, radius = 10.0, 40.0
    assert Coreset(0.05, mean).epsilon(LLOYD, radius) < Uniform(0.05).epsilon(LLOYD, radius) / 2


def test_without_mixing_only_a_sum_can_be_private() -> None:
    sampler = Coreset(0.1, 1.0, mixing=0)
    assert sampler.epsilon(LLOYD, 1.0) == math.inf
    t, s = 1 / 5, 0.1
    promised = sampler.epsilon(LaplaceSum(5.0), 1.0)
    assert promised == pytest.approx(math.log1p(s * math.expm1(t / s)), rel=1e-12)


def test_an_epsilon_beyond_the_range_of_exp_is_a_number() -> None:
    assert Uniform(1e-4).epsilon(Count(1.0), 1.0) == pytest.approx(1e4 + math.log(1e-4), rel=1e-9)


# --- probabilities ------------------------------------------------------------------------------


def test_far_points_are_likelier_up_to_certainty() -> None:
    points = np.array([[0.0, 0.0], [1.0, -1.0], [-2.0, 0.0], [3.0, 0.0], [1e308, 1e308]])
    found = Coreset(0.5, mean_norm=2.0, mixing=0.5).probability(points)
    assert found == pytest.approx([0.25, 0.5, 0.5, 0.625, 1.0], rel=1e-11)


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=1, max_size=9))
def test_a_coreset_never_gives_less_than_the_true_norm_asks_for(rows: list[list[float]]) -> None:
    rate, mean, mixing = 0.001, 7.0, 0.5
    norms = [sum(map(abs, map(Fraction, row)), Fraction(0)) for row in rows]
    for norm, q in zip(norms, Coreset(rate, mean, mixing).probability(rows), strict=True):
        true = Fraction(rate) * (Fraction(mixing) + Fraction(1, 2) * norm / Fraction(mean))
        assert Fraction(float(q)) >= min(Fraction(1), true) * (1 - Fraction(2) ** -50)


def test_the_expected_size_is_the_sum_of_probabilities() -> None:
    points = np.random.default_rng(5).laplace(size=(1000, 4))
    mean = float(np.abs(points).sum(axis=1).mean())
    for sampler in (Uniform(0.03), Coreset(0.03, mean, 0.3)):
        assert sampler.expected_size(points) == pytest.approx(30, rel=1e-9)


# --- optimal ------------------------------------------------------------------------------------


@given(st.floats(0.001, 50), st.floats(1.001, 3))
def test_an_optimal_sampler_keeps_its_promise_at_the_odds_it_gives(
    target: float, below: float
) -> None:
    points = np.linspace(0, 1, 50)[:, None]
    profile = Lloyd(below * 2 / target, below * 2 / target, 1)
    q = Optimal(profile, target).probability(points)
    psi = amplified(profile, 1 / q, points)
    assert (psi <= target * (1 + 1e-14)).all()
    assert psi == pytest.approx(np.full(50, target), rel=1e-9)


def test_an_optimal_sampler_promises_its_target_for_its_own_profile_only() -> None:
    sampler = Optimal(LLOYD, 2.0)
    assert sampler.epsilon(LLOYD, 10.0) == 2.0
    with pytest.raises(InvalidInput, match="another profile"):
        sampler.epsilon(Count(4.0), 10.0)


def test_an_optimal_sampler_refuses_a_radius_that_its_target_does_not_reach() -> None:
    assert LLOYD.rate(np.array([[20.0]]))[0] > 2.0
    with pytest.raises(InvalidInput):
        Optimal(LLOYD, 2.0).epsilon(LLOYD, 20.0)


def test_the_optimal_sample_is_the_smallest_at_equal_epsilon() -> None:
    norms = np.random.default_rng(7).gamma(2, 5, (2000, 1)).clip(max=40)
    for other in (Uniform(0.1), Coreset(0.1, 10.0)):
        optimal = Optimal(LLOYD, other.epsilon(LLOYD, 40.0))
        assert optimal.expected_size(norms) < other.expected_size(norms)


# --- what is said and refused -------------------------------------------------------------------


def test_a_sampler_describes_itself() -> None:
    assert Uniform(0.5).describe() == {"sampler": "uniform", "rate": 0.5}
    coreset = {"sampler": "coreset", "rate": 0.5, "mean_norm": 2.0, "mixing": 0.25}
    assert Coreset(0.5, 2, 0.25).describe() == coreset
    optimal = Optimal(Count(2), 1).describe()
    assert optimal == {
        "sampler": "optimal",
        "target": 1.0,
        "profile": {"kind": "Count", "scale": 2},
    }


class Squared(LaplaceSum):
    def rate(self, points: Floats) -> Floats:
        return super().rate(points) ** 2


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "no rate": (lambda: Uniform(0), "rate must be a number above 0, up to 1, not 0"),
    "a rate above 1": (lambda: Coreset(1.5, 1.0), "rate must be a number above 0, up to 1"),
    "a rate that is none": (lambda: Uniform(math.nan), "rate must be"),
    "a rate that is true": (lambda: Uniform(True), "rate must be"),
    "no mean norm": (lambda: Coreset(0.5, 0.0), "mean_norm must be a positive number"),
    "a tiny mean norm": (lambda: Coreset(0.5, 1e-310), "mean_norm must be at least"),
    "a mixing below 0": (lambda: Coreset(0.5, 1.0, -0.1), "mixing must be a number from 0 to 1"),
    "a mixing as text": (lambda: Coreset(0.5, 1.0, "half"), "mixing must be"),  # type: ignore[arg-type]
    "no target": (lambda: Optimal(LLOYD, 0), "target must be a positive number"),
    "no profile": (lambda: Optimal("lloyd", 1.0), "profile must be"),  # type: ignore[arg-type]
    "no radius": (lambda: Uniform(0.5).epsilon(LLOYD, 0), "radius must be a positive number"),
    "an endless radius": (lambda: Coreset(0.5, 1.0).epsilon(LLOYD, math.inf), "radius must be"),
    "an unknown profile": (
        lambda: Uniform(0.5).epsilon(Squared(1.0), 1.0),
        "not for Squared; use Optimal",
    ),
    "points with NaN": (lambda: Coreset(0.5, 1.0).probability([[math.nan]]), "points must be fin"),
}


@pytest.mark.parametrize(("call", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_by_a_sentence(call: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        call()


def test_samplers_are_values() -> None:
    same: list[tuple[Sampler, Sampler]] = [
        (Uniform(0.5), Uniform(0.5)),
        (Coreset(1, 2), Coreset(1.0, 2.0, 0.5)),
        (Optimal(Count(2.0), 1), Optimal(Count(2.0), 1.0)),
    ]
    for one, other in same:
        assert one == other
        assert hash(one) == hash(other)
