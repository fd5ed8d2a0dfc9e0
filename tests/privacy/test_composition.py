"""Composition: the table of the errata, and bounds that no product of laws exceeds."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import mpmath as mp
import pytest
from dp_accounting.pld import common, privacy_loss_distribution
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tamis.privacy import composition, exact
from tamis.privacy.composition import Composition, approximate, approximate_gaussian, choose
from tamis.privacy.curves import ApproximateCurve, GaussianCurve, gaussian_delta
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Refused, Survival, U, grid_composition, optimal_composition
from tamis.sampling.schemes import Everything, Pps
from tamis.weighted.mechanism import Mechanism

Pair = tuple[list[int], list[int]]

# --- brute force --------------------------------------------------------------------------------


def exp_above(x: Fraction) -> Fraction:
    """A rational a little above exp(x): the truth is then at least what is computed with it."""
    with mp.workdps(60):
        return Fraction(str(mp.exp(mp.mpf(x.numerator) / x.denominator))) * (
            1 + Fraction(1, 10**50)
        )


def loss(pairs: list[Pair], epsilon: Fraction) -> Fraction:
    """The sum of max(0, p - e q) over all outcomes of several keys, each with its own pair."""
    e, scale = exp_above(epsilon), U ** len(pairs)
    total = 0
    for cell in product(*(list(zip(*pair, strict=True)) for pair in pairs)):
        p, q = math.prod(c[0] for c in cell), math.prod(c[1] for c in cell)
        total += max(0, p * e.denominator - q * e.numerator)
    return Fraction(total, scale * e.denominator)


def shifted(law: list[int], shift: int) -> Pair:
    return [*law, *[0] * shift], [*[0] * shift, *law]


def law_of(table: list[int]) -> list[int]:
    return [b - a for a, b in pairwise(table)]


def both(pair: Pair) -> tuple[Pair, Pair]:
    return pair, (pair[1], pair[0])


# --- the table of the errata --------------------------------------------------------------------

ERRATA = [(1, 14, 22), (3, 40, 39), (10, 132, 72), (30, 319, 126), (100, 628, 235)]


@cache
def columns(keys: int) -> tuple[Composition[Any], Composition[Any] | None, Composition[Any]]:
    guarantee = Guarantee(1.0, 1e-6, keys_per_unit=keys)
    return approximate(guarantee), approximate_gaussian(guarantee), choose(guarantee)


@pytest.mark.parametrize(("keys", "plain", "gaussian"), ERRATA)
def test_half_of_the_keys_are_named_at_the_frequencies_of_the_errata(
    keys: int, plain: int, gaussian: int
) -> None:
    first, second, chosen = columns(keys)
    assert second is not None
    assert abs(first.half - plain) <= 1
    assert abs(second.half - gaussian) <= 1
    assert chosen.half == min(first.half, second.half)
    assert abs(chosen.half - min(plain, gaussian)) <= 1


def test_the_better_curve_is_chosen_and_only_epsilon_delta_under_sampling() -> None:
    assert isinstance(columns(1)[2].curve, ApproximateCurve)
    for keys, _, _ in ERRATA[1:]:
        assert isinstance(columns(keys)[2].curve, GaussianCurve)
        guarantee = Guarantee(1.0, 1e-6, keys_per_unit=keys)
        assert choose(guarantee, sampled=True) == columns(keys)[0]


@pytest.mark.parametrize("keys", [1, 3, 10])
def test_optimal_composition_is_at_least_as_good_as_splitting(keys: int) -> None:
    split = ApproximateCurve(1.0 / keys, 1e-6 / keys)
    assert columns(keys)[0].half <= Composition(split, {}).half


# --- optimal composition ------------------------------------------------------------------------


def randomised_response(epsilon: mp.mpf, delta: mp.mpf) -> list[tuple[Any, Any]]:
    """The (p, q) of the four outcomes of the mechanism that is the worst for (epsilon, delta)."""
    e, rest = mp.exp(epsilon), 1 - delta
    return [
        (delta, mp.mpf(0)),
        (rest * e / (1 + e), rest / (1 + e)),
        (rest / (1 + e), rest * e / (1 + e)),
        (mp.mpf(0), delta),
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.fractions(Fraction(1, 100), 2, max_denominator=1000),
    st.fractions(Fraction(1, 10**9), Fraction(1, 2), max_denominator=10**9),
    st.integers(1, 5),
    st.fractions(Fraction(1, 100), 6, max_denominator=1000),
)
def test_optimal_composition_is_that_of_randomised_response(
    epsilon: Fraction, delta: Fraction, times: int, total: Fraction
) -> None:
    bound = optimal_composition(epsilon, delta, times, total)
    with mp.workdps(50):
        cells = randomised_response(
            mp.mpf(epsilon.numerator) / epsilon.denominator,
            mp.mpf(delta.numerator) / delta.denominator,
        )
        e = mp.exp(mp.mpf(total.numerator) / total.denominator)
        true = mp.fsum(
            max(mp.mpf(0), mp.fprod(c[0] for c in cell) - e * mp.fprod(c[1] for c in cell))
            for cell in product(cells, repeat=times)
        )
        found = mp.mpf(bound.numerator) / bound.denominator
        assert true - mp.mpf("1e-45") <= found <= true + mp.mpf("1e-30")


@pytest.mark.parametrize(
    ("epsilon", "delta", "times", "total"),
    [(0.1, 1e-6, 10, 0.5), (0.05, 1e-7, 60, 1.0), (0.5, 1e-9, 7, 2.0), (0.02, 0.0, 200, 0.9)],
)
def test_optimal_composition_agrees_with_dp_accounting(
    epsilon: float, delta: float, times: int, total: float
) -> None:
    loss_law = privacy_loss_distribution.from_privacy_parameters(
        common.DifferentialPrivacyParameters(epsilon, delta), value_discretization_interval=1e-3
    )
    theirs = loss_law.self_compose(times).get_delta_for_epsilon(total)
    step, given_, whole = (Fraction(repr(x)) for x in (epsilon, delta, total))
    ours = optimal_composition(step, given_, times, whole)
    assert float(ours) == pytest.approx(theirs, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 2), st.floats(1e-9, 0.2), st.integers(1, 8), st.floats(0.01, 3))
def test_more_steps_larger_steps_and_a_smaller_total_all_cost_more(
    epsilon: float, delta: float, times: int, total: float
) -> None:
    exactly = [Fraction(repr(x)) for x in (epsilon, delta, total)]
    here = optimal_composition(exactly[0], exactly[1], times, exactly[2])
    assert here <= optimal_composition(exactly[0], exactly[1], times + 1, exactly[2])
    assert here <= optimal_composition(exactly[0] * 2, exactly[1], times, exactly[2])
    assert here <= optimal_composition(exactly[0], exactly[1] * 2, times, exactly[2])
    assert here <= optimal_composition(exactly[0], exactly[1], times, exactly[2] / 2)


# --- composition on a grid ----------------------------------------------------------------------

weights = st.lists(st.integers(1, 1000), min_size=2, max_size=6)


def normed(values: list[int]) -> list[int]:
    law = [v * U // sum(values) for v in values]
    law[0] += U - sum(law)
    return law


@settings(max_examples=60, deadline=None)
@given(
    weights,
    st.integers(1, 3),
    st.fractions(Fraction(1, 10), 4, max_denominator=100),
    st.sampled_from(["1.02", "1.1", "1.5", "1.9"]),
    st.integers(1, 150),
    st.integers(0, 300),
)
def test_no_product_of_a_draw_exceeds_the_bound_of_the_grid(
    values: list[int], times: int, epsilon: Fraction, base: str, span: int, more: int
) -> None:
    """Whatever the law and however bad the grid: never less than brute force."""
    pair = shifted(normed(values), 1)
    assume(span * math.log2(float(base)) < 59)  # a wider grid is refused: see below
    bound = grid_composition(pair, times, epsilon, Fraction(base), span, span + more)
    for direction in both(pair):
        assert loss([direction] * times, epsilon) <= bound


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=5),
    st.integers(2, 3),
    st.fractions(Fraction(1, 10), 3, max_denominator=100),
)
def test_no_product_of_any_pair_of_laws_exceeds_the_bound_of_the_grid(
    cells: list[tuple[int, int]], times: int, epsilon: Fraction
) -> None:
    assume(sum(p for p, _ in cells) and sum(q for _, q in cells))
    pair = (normed([p for p, _ in cells]), normed([q for _, q in cells]))
    bound = grid_composition(pair, times, epsilon, Fraction("1.05"), 60, 150)
    assert max(loss([d] * times, epsilon) for d in both(pair)) <= bound


factors = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=5)


def log_concave(linear: list[tuple[int, int]]) -> list[int]:
    """A product of linear factors with real roots has log-concave coefficients (Newton)."""
    law = [1]
    for a, b in linear:
        law = [a * p + b * q for p, q in zip([*law, 0], [0, *law], strict=True)]
    return law


@settings(max_examples=25, deadline=None)
@given(factors, st.integers(2, 3), st.integers(2, 3), st.data())
def test_keys_with_different_shifts_do_not_exceed_the_bound_of_the_largest(
    linear: list[tuple[int, int]], keys: int, elements: int, data: st.DataObject
) -> None:
    law = normed(log_concave(linear))
    pairs = [shifted(law, s) for s in range(1, elements + 1)]
    epsilon = data.draw(st.fractions(Fraction(1, 2), 3, max_denominator=50))
    bound = grid_composition(pairs[-1], keys, epsilon, Fraction("1.04"), 120, 300)
    either = st.sampled_from([p for pair in pairs for p in both(pair)])
    assert loss([data.draw(either) for _ in range(keys)], epsilon) <= bound


@pytest.mark.parametrize(
    ("mu", "delta", "keys", "epsilon"),
    [(0.05, 1e-8, 10, 0.3), (0.05, 1e-8, 20, 0.5), (0.02, 1e-7, 30, 0.2), (0.1, 1e-6, 5, 0.5)],
)
def test_the_grid_is_within_one_per_cent_of_the_gaussian_delta(
    mu: float, delta: float, keys: int, epsilon: float
) -> None:
    curve = GaussianCurve(mu, delta)
    pair = shifted(law_of(exact.gaussian_table(curve)), 1)
    grid = composition._grid(curve, Guarantee(epsilon, 1e-6, keys))
    bound = grid_composition(
        pair, keys, Fraction(repr(epsilon)), Fraction(grid["base"]), grid["span"], grid["reach"]
    )
    true = 1 - (1 - delta) ** keys * (1 - gaussian_delta(mu * math.sqrt(keys), epsilon))
    assert true <= bound <= 1.01 * true


def test_one_key_on_the_grid_is_the_hockey_stick_at_a_grid_point() -> None:
    pair = shifted(law_of(exact.gaussian_table(GaussianCurve(0.5, 1e-4))), 1)
    with mp.workdps(40):
        epsilon = Fraction(str(10 * mp.log(mp.mpf("1.07"))))
    bound = grid_composition(pair, 1, epsilon, Fraction("1.07"), 60, 60)
    true = max(loss([direction], epsilon) for direction in both(pair))
    assert true <= bound <= true * (1 + Fraction(1, 10**9)) + Fraction(1, 10**30)


@pytest.mark.parametrize(
    ("base", "span", "reach"),
    [("1", 5, 5), ("0.9", 5, 5), ("1.1", 6, 5), ("2", 5, 5), ("1e9", 5, 5), ("1.9", 200, 200)],
)
def test_a_grid_out_of_range_is_refused(base: str, span: int, reach: int) -> None:
    pair = shifted(normed([1, 2, 1]), 1)
    with pytest.raises(Refused, match="grid is out of range"):
        grid_composition(pair, 2, Fraction(1), Fraction(base), span, reach)


# --- several elements per key -------------------------------------------------------------------


@pytest.mark.parametrize("elements", [1, 2, 3, 5])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-4), (3.0, 1e-2)])
def test_a_draw_and_the_draw_m_later_use_just_what_is_allowed(
    epsilon: float, delta: float, elements: int
) -> None:
    mechanism = Mechanism(Guarantee(epsilon, delta, 1, elements), Everything())
    law = law_of(mechanism.draw[0])
    spent = [
        max(loss([d], Fraction(repr(epsilon))) for d in both(shifted(law, s)))
        for s in range(1, elements + 1)
    ]
    allowed = Fraction(repr(delta))
    assert spent == sorted(spent)
    assert allowed * (1 - Fraction(1, 10**6)) <= spent[-1] <= allowed


@pytest.mark.parametrize("tokens", ["whole", "fine"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "keys", "elements"),
    [(4.0, 0.05, 2, 1), (4.0, 0.05, 2, 2), (6.0, 0.02, 2, 3), (5.0, 0.1, 3, 1)],
)
def test_several_keys_and_elements_by_brute_force(
    epsilon: float, delta: float, keys: int, elements: int, tokens: Any
) -> None:
    """All mixtures of shifts of the keys of one unit, all of them in one direction or the other."""
    mechanism = Mechanism(Guarantee(epsilon, delta, keys, elements), Everything(), tokens)
    table, stride = mechanism.draw
    law, total = law_of(table), Fraction(repr(epsilon))
    assert mechanism.certificate.verify()
    for shifts in product(range(1, elements + 1), repeat=keys):
        if shifts != tuple(sorted(shifts)):
            continue
        pairs = [shifted(law, s * stride) for s in shifts]
        for together in (pairs, [(q, p) for p, q in pairs]):
            assert loss(together, total) <= Fraction(repr(delta))


@pytest.mark.parametrize(("keys", "elements"), [(1, 2), (1, 3), (2, 1), (2, 2)])
def test_under_sampling_several_keys_and_elements_by_brute_force(keys: int, elements: int) -> None:
    epsilon, delta, upto = Fraction(3), Fraction(1, 20), 9
    mechanism = Mechanism(Guarantee(3.0, 0.05, keys, elements), Pps(0.15))
    assert mechanism.certificate.verify()
    rows = full_rows(mechanism.integers, upto)
    steps = [(rows[i], rows[i - r]) for r in range(1, elements + 1) for i in range(r, upto + 1)]
    for pairs in product(steps, repeat=keys):
        assert loss(list(pairs), epsilon) <= delta
        assert loss([(q, p) for p, q in pairs], epsilon) <= delta


def full_rows(law: Survival, upto: int) -> list[list[int]]:
    """Words for: not reported, token 1, ..., token upto."""
    column, found = [0] * (upto + 2), [[U] + [0] * upto]
    for i in range(1, upto + 1):
        now, before = law.reporting(i), law.reporting(i - 1)
        for x in range(1, i):
            s = column[x]
            fourth = now + ((s + law.D - before << law.k) // law.M)
            column[x] = min(now, law.cap(s), fourth)
        column[0] = now
        found.append([U - now, *(a - b for a, b in pairwise(column[: upto + 1]))])
        assert column[upto] == 0 or i == upto
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.3, 4),
    st.floats(1e-8, 1e-2),
    st.integers(1, 12),
    st.integers(1, 3),
    st.booleans(),
)
@example(2.914, 1.09e-07, 3, 1, False)
@example(1.919, 7.4e-09, 5, 3, True)
def test_whatever_is_chosen_is_certified(
    epsilon: float, delta: float, keys: int, elements: int, fine: bool
) -> None:
    guarantee = Guarantee(epsilon, delta, keys, elements)
    mechanism = Mechanism(guarantee, Everything(), "fine" if fine else "whole")
    assert mechanism.certificate.verify()


@settings(max_examples=40, deadline=None)
@given(st.floats(0.1, 4), st.floats(1e-9, 1e-2), st.integers(2, 200))
@example(1.105, 5.98e-08, 3)
@example(1.114, 9.19e-09, 5)
@example(20.0, 1e-06, 3)
def test_the_steps_of_several_keys_fit_and_nearly_fill_the_promise(
    epsilon: float, delta: float, keys: int
) -> None:
    curve = approximate(Guarantee(epsilon, delta, keys)).curve
    step, given_ = Fraction(repr(curve.epsilon)), Fraction(repr(curve.delta))
    spent = optimal_composition(step, given_, keys, Fraction(repr(epsilon)))
    assert Fraction(repr(delta)) * (1 - Fraction(1, 10**6)) <= spent <= Fraction(repr(delta))
    assert epsilon / keys * (1 - 1e-12) <= curve.epsilon <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "keys", "elements"), [(1.0, 1, 1000), (2.0, 3, 40), (2.0, 150, 1), (5.0, 2, 50)]
)
def test_large_bounds_are_certified_too(epsilon: float, keys: int, elements: int) -> None:
    mechanism = Mechanism(Guarantee(epsilon, 1e-6, keys, elements), Everything())
    assert mechanism.certificate.verify()


@pytest.mark.parametrize("keys", [1, 2, 20])
@pytest.mark.parametrize("epsilon", [30.0, 60.0, 100.0, 300.0, 700.0, 800.0, 1e5, 1e300])
def test_a_huge_epsilon_is_certified_or_refused_by_a_sentence(epsilon: float, keys: int) -> None:
    try:
        certificate = Mechanism(Guarantee(epsilon, 1e-6, keys), Everything()).certificate
    except InvalidInput:
        return
    assert certificate.verify()


def test_an_epsilon_that_could_only_name_astronomical_keys_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"epsilon is .* too small"):
        choose(Guarantee(1e-7, 1e-6))
    with pytest.raises(InvalidInput, match="smaller bounds"):
        choose(Guarantee(1.0, 1e-6, 1, 10**6))
