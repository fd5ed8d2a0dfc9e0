"""The baselines against integration, simulation, the printed equations and the ERRATA table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from tamis.privacy.errors import InvalidInput
from tamis.weighted.baselines import (
    SampledStabilityHistogram,
    StabilityHistogram,
)
from tamis.weighted.selections import GaussianThreshold, LaplaceThreshold

Floats = npt.NDArray[np.float64]
Kind = Literal["ppswor", "pps"]
Baseline = StabilityHistogram | SampledStabilityHistogram

KINDS: tuple[Kind, ...] = ("ppswor", "pps")
METHODS = ("reporting", "mean", "bias", "mse", "variance")
epsilons = st.floats(1e-3, 20)
deltas = st.floats(1e-14, 0.4)
taus = st.floats(1e-9, 100)
frequencies = st.integers(1, 10**12)
kinds = st.sampled_from(KINDS)


# --- closed forms against integration -----------------------------------------------------------


def inclusion(law: Baseline) -> Callable[[Any], Any]:
    """q(j) of the law, in many digits."""
    if isinstance(law, StabilityHistogram):
        return lambda j: mp.mpf(1)
    tau = mp.mpf(law.tau)
    if law.kind == "ppswor":
        return lambda j: -mp.expm1(-tau * j)
    return lambda j: min(mp.mpf(1), tau * j)


def integrated(law: Baseline, frequency: int) -> dict[str, Any]:
    """The five figures straight from their definitions, by quadrature in 30 digits."""
    with mp.workdps(30):
        eps, top, i = mp.mpf(law.epsilon), mp.mpf(law.threshold), mp.mpf(frequency)
        marks = {i + k / eps for k in (-40, -8, 0, 8, 40)}
        if isinstance(law, SampledStabilityHistogram):
            marks |= {k / mp.mpf(law.tau) for k in (1, 8, 40)}
        path = [top, *sorted(m for m in marks if top < m < i + 100 / eps), mp.inf]
        q = inclusion(law)

        def expect(f: Callable[[Any], Any]) -> Any:
            return mp.quad(lambda j: f(j) * eps / 2 * mp.exp(-eps * abs(j - i)), path)

        shown, first, second = expect(q), expect(lambda j: j), expect(lambda j: j * j / q(j))
        bias, mse = first - i, second - 2 * i * first + i * i
        return dict(zip(METHODS, (shown, first, bias, mse, second - first**2), strict=True))


def agree(law: Baseline, frequency: int, tolerance: float) -> None:
    for name, value in integrated(law, frequency).items():
        ours = float(getattr(law, name)(frequency))
        assert abs(ours - value) <= tolerance * abs(value) + 1e-25, name


def around(law: Baseline) -> set[int]:
    """Frequencies on both sides of T and, for a sample, of 1/tau."""
    top, scale = law.threshold, 1 / law.epsilon
    places = {1, int(top), int(top + 1 + scale), int(2 * top + 8 * scale)}
    if isinstance(law, SampledStabilityHistogram):
        places.add(int(top + 1 + 1.5 / law.tau))
    return {max(1, place) for place in places}


@pytest.mark.parametrize("fair", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.001, 1e-9), (8.0, 0.05)])
def test_figures_of_the_histogram_are_those_of_integration(
    epsilon: float, delta: float, fair: bool
) -> None:
    law = StabilityHistogram(epsilon, delta, fair)
    for i in around(law):
        agree(law, i, 1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("epsilon", "delta", "ratio"),
    [
        (1.0, 1e-6, 1e-3),
        (1.0, 1e-6, 0.06),  # 1/tau just above T
        (1.0, 1e-2, 1.0),  # epsilon = tau
        (0.001, 1e-9, 0.04),
        (0.1, 1e-3, 4.0),
        (8.0, 0.05, 1e-6),
    ],
)
def test_figures_of_the_sampled_histogram_are_those_of_integration(
    kind: Kind, epsilon: float, delta: float, ratio: float
) -> None:
    law = SampledStabilityHistogram(epsilon, delta, ratio * epsilon, kind)
    for i in around(law):
        agree(law, i, 1e-12)


# --- the equations as printed -------------------------------------------------------------------


@pytest.mark.parametrize("i", [1, 5, 14, 15, 20, 40])
def test_equations_49_and_50_hold_as_printed(i: int) -> None:
    eps, delta = 1.0, 1e-6
    law, top = StabilityHistogram(eps, delta), 1 + math.log(1 / delta)
    if i > top:
        shown = 1 - math.exp(-(i - 1) * eps) / (2 * delta)
        gain = top**2 / 2 - i * top + (i - top) / eps + 1 / eps**2
        mse = 2 / eps**2 - math.exp(-eps * (i - top)) * gain
    else:
        shown = delta * math.exp(eps * (i - 1)) / 2
        loss = top**2 / 2 - i * top - (i - top) / eps + 1 / eps**2
        mse = i**2 + math.exp(-eps * (top - i)) * loss
    assert law.threshold == pytest.approx(top, rel=1e-15)
    assert float(law.reporting(i)) == pytest.approx(shown, rel=1e-12)
    assert float(law.mse(i)) == pytest.approx(mse, rel=1e-12)


def printed_ppswor(i: float, eps: float, tau: float, top: float) -> float:
    """Equation (51)."""
    if i <= top:
        return 0.5 * math.exp(-eps * (top - i)) * (1 - eps / (eps + tau) * math.exp(-top * tau))
    shown = 1 - 0.5 * math.exp(-eps * (i - top)) - eps / (2 * (eps + tau)) * math.exp(-i * tau)
    if eps == tau:
        return shown - 0.5 * eps * (i - top) * math.exp(-eps * i)
    both = math.exp(-eps * (i - top) - tau * top) - math.exp(-tau * i)
    return shown + eps / (2 * (eps - tau)) * both


def printed_pps(i: float, eps: float, tau: float, top: float) -> float:
    """Section G.3, T < 1/tau, cases 1 to 3."""
    if i <= top:
        start, end = math.exp((i - top) * eps), math.exp((i - 1 / tau) * eps)
        return tau / 2 * ((top + 1 / eps) * start - end / eps)
    fallen = 0.5 * (top - 1 / eps) * math.exp(eps * (top - i))
    if i < 1 / tau:
        return tau * (i - math.exp(eps * (i - 1 / tau)) / (2 * eps) - fallen)
    return 1 - tau / (2 * eps) * math.exp(eps * (1 / tau - i)) - tau * fallen


@pytest.mark.parametrize("tau", [0.01, 0.05, 0.3, 1.0, 2.0])
def test_equation_51_and_section_g3_hold_as_printed(tau: float) -> None:
    for i in (1, 10, 14, 16, 19, 25, 99, 130):
        wor = SampledStabilityHistogram(1.0, 1e-6, tau)
        expected = printed_ppswor(i, 1.0, tau, wor.threshold)
        assert float(wor.reporting(i)) == pytest.approx(expected, rel=1e-12)
        pps = SampledStabilityHistogram(1.0, 1e-6, tau, "pps")
        if pps.threshold < 1 / tau:
            expected = printed_pps(i, 1.0, tau, pps.threshold)
        else:
            expected = float(pps.histogram.reporting(i))
        assert float(pps.reporting(i)) == pytest.approx(expected, rel=1e-12)


# --- simulation: each pair accepts the law and rejects one that is 3 % off ------------------------


def simulated(law: SampledStabilityHistogram, i: int, n: int) -> tuple[Floats, Floats]:
    """Indicator of being reported, and estimate, in n runs of the algorithm itself."""
    rng = np.random.default_rng(20240229)
    noisy = i + rng.laplace(scale=1 / law.epsilon, size=n)
    level = law.tau * np.maximum(noisy, law.threshold)
    q = np.minimum(1, level) if law.kind == "pps" else -np.expm1(-level)
    shown = (noisy >= law.threshold) & (rng.random(n) < q)
    return shown.astype(np.float64), np.where(shown, noisy / q, 0.0)


def surprise(law: SampledStabilityHistogram, i: int, shown: Floats, estimate: Floats) -> float:
    """Largest |z| of three averages. Above 5 by chance: less than 2e-6."""
    pairs = (
        (shown, law.reporting(i)),
        (estimate, law.mean(i)),
        ((estimate - i) ** 2, law.mse(i)),
    )
    return max(
        abs(float(x.mean() - claim)) / float(x.std()) * math.sqrt(x.size) for x, claim in pairs
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("i", [5, 9, 30])
def test_simulation_accepts_the_law_and_rejects_one_3_percent_off(kind: Kind, i: int) -> None:
    law = SampledStabilityHistogram(0.5, 0.02, 0.04, kind)
    shown, estimate = simulated(law, i, 1_000_000)
    assert surprise(law, i, shown, estimate) < 5
    wrong = replace(law, tau=1.03 * law.tau)
    assert surprise(wrong, i, shown, estimate) > 5
    if i < 2 * law.threshold:  # further up, epsilon hardly shows behind the sampling
        wrong = replace(law, epsilon=1.03 * law.epsilon)
        assert surprise(wrong, i, shown, estimate) > 5


# --- facts --------------------------------------------------------------------------------------


def test_printed_threshold_spends_half_of_delta_and_the_fair_one_all_of_it() -> None:
    printed, fair = StabilityHistogram(0.3, 1e-7), StabilityHistogram(0.3, 1e-7, fair=True)
    assert float(printed.reporting(1)) == pytest.approx(0.5e-7, rel=1e-13)
    assert float(fair.reporting(1)) == pytest.approx(1e-7, rel=1e-13)
    assert printed.threshold - fair.threshold == pytest.approx(math.log(2) / 0.3)


@pytest.mark.parametrize("delta", [0.5, 0.7, 1 - 1e-12])
def test_fair_threshold_is_one_when_delta_is_a_half_or_more(delta: float) -> None:
    assert StabilityHistogram(0.01, delta, fair=True).threshold == 1
    assert LaplaceThreshold(0.01, delta).threshold == 1


def test_no_baseline_reports_more_than_the_optimum() -> None:
    growth, delta, best = math.e, 1e-6, 0.0
    for i in range(1, 60):
        best = min(1.0, growth * best + delta, 1 - (1 - delta - best) / growth)
        assert float(StabilityHistogram(1.0, delta, fair=True).reporting(i)) <= best * (1 + 1e-12)
        assert float(LaplaceThreshold(1.0, delta).reporting(i)) <= best * (1 + 1e-12)
        assert float(GaussianThreshold(1.0, delta).reporting(i)) <= best * (1 + 1e-12)


@given(epsilons, deltas, frequencies, st.booleans())
def test_neighbouring_frequencies_are_reported_alike(
    epsilon: float, delta: float, i: int, fair: bool
) -> None:
    less, more = StabilityHistogram(epsilon, delta, fair).reporting([i, i + 1])
    slack = 1 + 1e-9
    assert less <= more <= math.exp(epsilon) * less * slack
    rounding = math.exp(epsilon) * 2.0**-52  # of 1 - more, a float
    assert 1 - less <= math.exp(epsilon) * (1 - more) * slack + rounding


@given(epsilons, deltas, taus, kinds, st.lists(frequencies, min_size=1, max_size=8))
def test_sampling_reports_less_and_reporting_grows_with_frequency(
    epsilon: float, delta: float, tau: float, kind: Kind, at: list[int]
) -> None:
    law, i = SampledStabilityHistogram(epsilon, delta, tau, kind), np.sort(np.asarray(at))
    shown = law.reporting(i)
    assert np.all(shown > 0)
    assert np.all(shown <= law.histogram.reporting(i) * (1 + 1e-12))
    assert np.all(np.diff(shown) >= -1e-12 * shown[:-1])


@given(epsilons, deltas, taus, frequencies)
def test_pps_reports_more_than_ppswor_and_varies_less(
    epsilon: float, delta: float, tau: float, i: int
) -> None:
    wor, pps = (SampledStabilityHistogram(epsilon, delta, tau, kind) for kind in KINDS)
    assert wor.reporting(i) <= pps.reporting(i) * (1 + 1e-12)
    assert pps.mse(i) <= wor.mse(i) * (1 + 1e-11)


@given(epsilons, deltas, taus, kinds, frequencies, st.booleans())
def test_mse_is_variance_plus_squared_bias(
    epsilon: float, delta: float, tau: float, kind: Kind, i: int, fair: bool
) -> None:
    for law in (
        StabilityHistogram(epsilon, delta, fair),
        SampledStabilityHistogram(epsilon, delta, tau, kind, fair),
    ):
        assert float(law.variance(i)) > 0
        total = float(law.variance(i) + law.bias(i) ** 2)
        assert total == pytest.approx(float(law.mse(i)), rel=1e-11)
        assert float(law.bias(i)) == pytest.approx(float(law.mean(i)) - i, rel=1e-9, abs=1e-12 * i)


@given(epsilons, deltas, kinds, st.lists(frequencies, min_size=1, max_size=8))
def test_a_large_tau_is_no_sampling(
    epsilon: float, delta: float, kind: Kind, at: list[int]
) -> None:
    law = SampledStabilityHistogram(epsilon, delta, 1e3, kind)
    for name in METHODS:
        plain = getattr(law.histogram, name)(at)
        np.testing.assert_allclose(getattr(law, name)(at), plain, rtol=1e-13, atol=0)


@given(epsilons, deltas, kinds, st.integers(1, 10**5))
def test_a_tiny_tau_reports_in_proportion_to_the_noisy_frequency(
    epsilon: float, delta: float, kind: Kind, i: int
) -> None:
    law = SampledStabilityHistogram(epsilon, delta, 1e-18, kind)
    assert float(law.reporting(i)) == pytest.approx(1e-18 * float(law.mean(i)), rel=1e-11)


@pytest.mark.parametrize("i", [3, 15, 40])
def test_ppswor_is_continuous_through_epsilon_equal_to_tau(i: int) -> None:
    def figures(tau: float) -> list[float]:
        law = SampledStabilityHistogram(1.0, 1e-2, tau)
        return [float(getattr(law, name)(i)) for name in METHODS]

    for step in (1e-15, 1e-12, 1e-9):
        assert figures(1.0 + step) == pytest.approx(figures(1.0), rel=10 * step + 1e-13)
        assert figures(1.0 - step) == pytest.approx(figures(1.0), rel=10 * step + 1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frequency_of_1e12_costs_no_digits(kind: Kind) -> None:
    i, tau = 10**12, 1e-13
    law = SampledStabilityHistogram(1e-3, 1e-9, tau, kind)
    q = 0.1 if kind == "pps" else -math.expm1(-0.1)
    # Noise moves the sampled frequency by 1e-9 of itself.
    assert float(law.reporting(i)) == pytest.approx(q, rel=1e-12)
    assert float(law.mean(i)) == i
    assert float(law.bias(i)) == 0
    assert float(law.mse(i)) == pytest.approx(i**2 * (1 / q - 1), rel=1e-12)
    assert float(law.histogram.mse(i)) == pytest.approx(2e6, rel=1e-15)
    assert float(law.histogram.variance(i)) == pytest.approx(2e6, rel=1e-15)


def test_variance_far_below_the_threshold_keeps_its_digits() -> None:
    law = StabilityHistogram(1.0, 1e-30)
    top = law.threshold
    expected = 0.5e-30 * (top**2 + 2 * top + 2)
    assert float(law.variance(1)) == pytest.approx(expected, rel=1e-12)


# --- thresholds at full budget ------------------------------------------------------------------

TABLE = [(1, 14, 22), (3, 44, 40), (10, 155, 74), (30, 497, 133), (100, 1774, 251)]


@pytest.mark.parametrize(("keys", "laplace", "gaussian"), TABLE)
def test_table_of_errata_section_1(keys: int, laplace: int, gaussian: int) -> None:
    for law, printed in (
        (LaplaceThreshold(1.0, 1e-6, keys), laplace),
        (GaussianThreshold(1.0, 1e-6, keys), gaussian),
    ):
        assert round(law.threshold) == printed
        assert law.half() in (printed, printed + 1)
        before, at = law.reporting([law.half() - 1, law.half()])
        assert before < 0.5 <= at


@given(epsilons, deltas, st.integers(1, 1000))
@settings(max_examples=50, deadline=None)
def test_new_keys_of_one_unit_are_shown_with_exactly_the_deltas_they_have(
    epsilon: float, delta: float, keys: int
) -> None:
    def any_shown(law: LaplaceThreshold | GaussianThreshold) -> float:
        return -math.expm1(keys * math.log1p(-float(law.reporting(1))))

    laplace, gaussian = (
        LaplaceThreshold(epsilon, delta, keys),
        GaussianThreshold(epsilon, delta, keys),
    )
    assert any_shown(laplace) == pytest.approx(delta, rel=1e-9)
    noise, shown = gaussian.split
    assert noise + shown == pytest.approx(delta, rel=1e-12)
    assert any_shown(gaussian) == pytest.approx(shown, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 10.0, 300.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
def test_gaussian_noise_meets_the_condition_of_balle_and_wang(epsilon: float, delta: float) -> None:
    law = GaussianThreshold(epsilon, delta, 7)
    with mp.workdps(40):
        mu = mp.sqrt(7) / mp.mpf(law.scale)
        spent = mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
        assert abs(spent - law.split[0]) <= 1e-8 * law.split[0]


@pytest.mark.parametrize(
    ("epsilon", "delta", "keys"), [(1.0, 1e-6, 1), (0.1, 1e-9, 50), (5, 0.01, 3)]
)
def test_no_other_split_of_delta_has_a_lower_threshold(
    epsilon: float, delta: float, keys: int
) -> None:
    law = GaussianThreshold(epsilon, delta, keys)
    with mp.workdps(20):
        for share in (0.02, 0.1, 0.3, 0.4, 0.45, 0.5, 0.6, 0.9):
            mu = mp.findroot(
                lambda m, goal=(1 - share) * delta: (
                    (mp.ncdf(m / 2 - epsilon / m) - mp.exp(epsilon) * mp.ncdf(-m / 2 - epsilon / m))
                    / goal
                    - 1
                ),
                (math.sqrt(keys) / law.scale * 0.9, math.sqrt(keys) / law.scale * 1.1),
                solver="secant",
            )
            margin = -special.ndtri(-math.expm1(math.log1p(-share * delta) / keys))
            other = 1 + math.sqrt(keys) / float(mu) * margin
            assert law.threshold <= other * (1 + 1e-8)


@pytest.mark.parametrize("kind", [LaplaceThreshold, GaussianThreshold])
def test_threshold_falls_with_budget_and_rises_with_keys(
    kind: type[LaplaceThreshold] | type[GaussianThreshold],
) -> None:
    def falls(values: list[float]) -> bool:
        return all(a > b for a, b in pairwise(values))

    assert falls([kind(e, 1e-6, 5).threshold for e in (1e-3, 0.1, 1.0, 10.0, 100.0)])
    assert falls([kind(1.0, d, 5).threshold for d in (1e-15, 1e-9, 1e-3, 0.1)])
    assert falls([kind(1.0, 1e-6, k).threshold for k in (1000, 100, 10, 2, 1)])


@pytest.mark.parametrize("epsilon", [1e-6, 1e3, 1e8])
@pytest.mark.parametrize("delta", [1e-15, 0.5, 0.999])
def test_extreme_budgets_have_a_threshold(epsilon: float, delta: float) -> None:
    for keys in (1, 10**6):
        for law in (
            LaplaceThreshold(epsilon, delta, keys),
            GaussianThreshold(epsilon, delta, keys),
        ):
            assert 1 <= law.threshold < math.inf


# --- shapes and bad input -----------------------------------------------------------------------

LAWS: list[Baseline | LaplaceThreshold | GaussianThreshold] = [
    StabilityHistogram(1.0, 1e-6),
    SampledStabilityHistogram(1.0, 1e-6, 0.1),
    SampledStabilityHistogram(1.0, 1e-6, 0.01, "pps"),
    LaplaceThreshold(1.0, 1e-6, 3),
    GaussianThreshold(1.0, 1e-6, 3),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_every_method_keeps_the_shape_and_treats_each_frequency_alone(
    law: Baseline | LaplaceThreshold | GaussianThreshold,
) -> None:
    grid = np.array([[1, 14, 15], [16, 200, 10**12]])
    for name in METHODS if hasattr(law, "mse") else ("reporting",):
        method = getattr(law, name)
        values = method(grid)
        assert values.shape == (2, 3)
        assert values.dtype == np.float64
        alone = [float(method(int(i))) for i in grid.flat]
        assert values.ravel().tolist() == alone
        assert method(grid.astype(np.float64)).tolist() == values.tolist()
        assert method(np.array([], dtype=np.int64)).shape == (0,)
        assert np.shape(method(7)) == ()


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("i", [0, -3, 0.5, math.nan, math.inf, [5, 0]])
def test_frequencies_below_one_are_refused(
    law: Baseline | LaplaceThreshold | GaussianThreshold, i: npt.ArrayLike
) -> None:
    with pytest.raises(InvalidInput, match="frequency i"):
        law.reporting(i)


BAD: list[tuple[str, Any]] = [
    *(("epsilon", v) for v in (0, -1.0, math.inf, math.nan, 1e-200, "1", None)),
    *(("delta", v) for v in (0, 1, -1e-6, 1.5, math.nan, math.inf, "1e-6")),
]


@pytest.mark.parametrize(("name", "value"), BAD)
@pytest.mark.parametrize(
    "kind", [StabilityHistogram, SampledStabilityHistogram, LaplaceThreshold, GaussianThreshold]
)
def test_bad_budgets_are_refused_by_name(kind: Any, name: str, value: Any) -> None:
    good = {"epsilon": 1.0, "delta": 1e-6}
    if kind is SampledStabilityHistogram:
        good["tau"] = 0.1
    with pytest.raises(InvalidInput, match=f"{name} must"):
        kind(**{**good, name: value})


@pytest.mark.parametrize("tau", [0, -0.1, math.nan, math.inf, "0.1"])
def test_bad_tau_is_refused_by_name(tau: Any) -> None:
    with pytest.raises(InvalidInput, match="tau must"):
        SampledStabilityHistogram(1.0, 1e-6, tau)


@pytest.mark.parametrize("kind", ["priority", "", None])
def test_unknown_kind_is_refused_by_name(kind: Any) -> None:
    with pytest.raises(InvalidInput, match="kind = "):
        SampledStabilityHistogram(1.0, 1e-6, 0.1, kind)


@pytest.mark.parametrize("keys", [0, -1, 2.5, True, math.nan, "3"])
@pytest.mark.parametrize("kind", [LaplaceThreshold, GaussianThreshold])
def test_bad_keys_per_unit_is_refused_by_name(kind: Any, keys: Any) -> None:
    with pytest.raises(InvalidInput, match="keys_per_unit must"):
        kind(1.0, 1e-6, keys)
