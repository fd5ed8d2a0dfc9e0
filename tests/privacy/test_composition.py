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

from tamis.privacy import composition, exact, verify
from tamis.privacy.composition import Composition, approximate, approximate_gaussian, choose
from tamis.privacy.curves import (
    ApproximateCurve,
    GaussianCurve,
    gaussian_delta,
    gaussian_mu,
)
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


# --- many keys ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "delta", "keys"),
    [
        (4.0, 1e-9, 1500),
        (1.0, 1e-6, 3000),
        pytest.param(1.0, 1e-6, 10_000, marks=pytest.mark.slow),
        pytest.param(0.3, 1e-9, 10_000, marks=pytest.mark.slow),
    ],
)
def test_many_keys_cost_one_per_cent_of_the_gaussian_mu(
    epsilon: float, delta: float, keys: int
) -> None:
    mechanism = Mechanism(Guarantee(epsilon, delta, keys), Everything())
    curve = mechanism.curve
    assert isinstance(curve, GaussianCurve)
    given_away = -math.expm1(keys * math.log1p(-curve.delta))
    assert 0.01 * delta < given_away < 0.99 * delta
    best = gaussian_mu(epsilon, delta - given_away) / math.sqrt(keys)
    assert 0.99 * best < curve.mu < best
    assert f"{keys} keys composed" in mechanism.certificate.verify()


@pytest.mark.slow
def test_the_frequency_of_one_half_grows_like_the_square_root_of_the_keys() -> None:
    halves = [choose(Guarantee(1.0, 1e-4, keys)).half for keys in (500, 1000, 1001, 2000)]
    assert halves[1] <= halves[2] <= halves[1] + 2
    assert 2 < halves[3] / halves[0] < 2.3


@pytest.mark.parametrize("keys", [10_001, 10**6, 10**9])
def test_too_many_keys_are_refused_by_a_sentence(keys: int) -> None:
    with pytest.raises(InvalidInput, match=rf"keys_per_unit is {keys:,}; at most 10,000 can"):
        choose(Guarantee(1.0, 1e-6, keys))


@pytest.mark.parametrize(("scheme", "tokens"), [(Pps(0.1), "whole"), (Everything(), "fine")])
def test_samples_and_fine_tokens_have_a_lower_limit_and_the_sentence_says_so(
    scheme: Any, tokens: Any
) -> None:
    assert Mechanism(Guarantee(1.0, 1e-6, 1000), scheme, tokens).curve.delta > 0
    with pytest.raises(InvalidInput, match="at most 1,000 with a sampling scheme or fine tokens"):
        Mechanism(Guarantee(1.0, 1e-6, 1001), scheme, tokens).curve.describe()


@pytest.mark.parametrize(
    ("epsilon", "delta", "elements", "said"),
    [
        (1e-3, 1e-6, 1, "too small"),
        (1.0, 1e-6, 10**6, "smaller bounds"),
        (1.0, 1e-32, 1, "delta is 1e-32: too small"),
        (1.0, 1e-300, 1, "delta is 1e-300: too small"),
        (1000.0, 1e-6, 1, "take at most 1,000"),
    ],
)
def test_many_keys_that_no_curve_serves_are_refused_by_a_sentence(
    epsilon: float, delta: float, elements: int, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        choose(Guarantee(epsilon, delta, 10_000, elements))


@pytest.mark.parametrize("asked", [(500.0, 1e-9, 3, 100), (1e-4, 1e-30, 2, 1), (0.5, 1e-20, 10, 3)])
def test_what_floats_cannot_divide_is_certified_or_refused_by_a_sentence(asked: Any) -> None:
    try:
        certificate = Mechanism(Guarantee(*asked), Everything()).certificate
    except InvalidInput:
        return
    assert certificate.verify()


@pytest.mark.parametrize("keys", [2, 10, 100])
@pytest.mark.parametrize("delta", [1e-20, 1e-30, 1e-33, 1e-36, 1e-60, 1e-300])
def test_a_tiny_delta_is_certified_or_refused_by_a_sentence(delta: float, keys: int) -> None:
    try:
        certificate = Mechanism(Guarantee(2.0, delta, keys), Everything()).certificate
    except InvalidInput:
        return
    assert certificate.verify()


@pytest.mark.parametrize(("epsilon", "keys"), [(1.0, 2), (1.0, 3), (4.0, 3), (0.2, 5)])
def test_a_curve_that_cannot_win_is_not_certified_and_the_winner_is_the_same(
    epsilon: float, keys: int
) -> None:
    guarantee = Guarantee(epsilon, 1e-6, keys)
    plain, gaussian = approximate(guarantee), approximate_gaussian(guarantee)
    assert gaussian is not None
    assert choose(guarantee) == (plain if plain.half <= gaussian.half else gaussian)
    assert approximate_gaussian(guarantee, gaussian.half) is None
    assert approximate_gaussian(guarantee, gaussian.half + 1) == gaussian


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


def by_the_theorem(epsilon: Fraction, delta: Fraction, times: int, total: Fraction) -> mp.mpf:
    """Kairouz, Oh, Viswanath (2017), theorem 3.3, as printed, in 400 digits."""
    e, z = (mp.exp(mp.mpf(x.numerator) / x.denominator) for x in (epsilon, total))
    over = mp.fsum(
        mp.binomial(times, n) * max(mp.mpf(0), e ** (times - n) - z * e**n)
        for n in range(times + 1)
    )
    rest = 1 - mp.mpf(delta.numerator) / delta.denominator
    return 1 - rest**times * (1 - over / (1 + e) ** times)


@pytest.mark.parametrize(
    ("epsilon", "delta", "times", "total"),
    [
        ("0.005", "1e-9", 1000, "1"),
        ("0.01", "1e-9", 1000, "1"),
        ("3", "1e-9", 300, "700"),
        ("0.001", "1e-100", 1000, "1"),
        ("900", "1e-12", 3, "1000"),
        ("0.3", "0.5", 40, "0.01"),
    ],
)
def test_many_and_large_steps_lose_nothing_to_rounding(
    epsilon: str, delta: str, times: int, total: str
) -> None:
    exact_ones = Fraction(epsilon), Fraction(delta), times, Fraction(total)
    bound = optimal_composition(*exact_ones)
    with mp.workdps(1000):
        true, found = by_the_theorem(*exact_ones), mp.mpf(bound.numerator) / bound.denominator
        assert true <= found <= true + mp.mpf("1e-60")


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


words = st.integers(0, U) | st.integers(0, 5)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(words, words), max_size=8),
    st.sets(st.fractions(Fraction(1, 10), 9, max_denominator=16), min_size=1, max_size=7),
)
def test_the_hockey_sticks_of_a_grid_are_those_taken_one_by_one(
    cells: list[tuple[int, int]], places: set[Fraction]
) -> None:
    p, q = [a for a, _ in cells], [b for _, b in cells]
    x = sorted(int(place * 2**verify._F) for place in places)
    assert verify._hockeys(p, q, x) == [verify.hockey(p, q, v, verify._F) for v in x]


def naive_sums(a: list[int], b: list[int]) -> list[int]:
    sums = [0] * (len(a) + len(b) - 1)
    for i, j in product(range(len(a)), range(len(b))):
        sums[i + j] += a[i] * b[j]
    return [(s >> verify._F) + 1 for s in sums]


masses = st.lists(st.integers(0, 2**verify._F) | st.just(0), min_size=1, max_size=9)


@settings(max_examples=100, deadline=None)
@given(masses.filter(lambda a: len(a) % 2), masses.filter(lambda a: len(a) % 2), st.integers(0, 9))
def test_laws_are_multiplied_exactly_and_what_leaves_the_grid_goes_up(
    a: list[int], b: list[int], reach: int
) -> None:
    sums = naive_sums(a, b)
    cut = max(0, len(sums) // 2 - reach)
    kept, beyond = verify._convolve(a, b, reach, 7)
    inside = sums[cut : len(sums) - cut]
    assert kept == [inside[0] + sum(sums[:cut]), *inside[1:]]
    assert beyond == 7 + sum(sums[len(sums) - cut :])


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


# --- keys that are new --------------------------------------------------------------------------


def row(law: list[int], frequency: int, ahead: int, tokens: int) -> list[int]:
    """Words for not named, and for tokens 1, 2, ...: from the definition of the draw."""
    words = [0] * (tokens + 1)
    for d, w in enumerate(law):
        words[max(0, frequency + ahead - d) if frequency else 0] += w
    return words


@settings(max_examples=40, deadline=None)
@given(factors, st.integers(2, 3), st.integers(1, 2), st.integers(1, 3), st.data())
def test_no_unit_with_new_and_moved_keys_exceeds_the_bound(
    linear: list[tuple[int, int]], keys: int, elements: int, ahead: int, data: st.DataObject
) -> None:
    """Real rows, whatever the keys of the unit were before it came: brute force over outcomes."""
    law = normed(log_concave(linear))
    epsilon = data.draw(st.fractions(Fraction(1, 2), 3, max_denominator=50))
    named = sum(law[: elements + ahead])
    bound = verify.new_and_moved(
        shifted(law, elements), named, keys, epsilon, Fraction("1.04"), 120, 300
    )
    pairs: list[Pair] = []
    for _ in range(keys):
        before, more = data.draw(st.integers(0, 4)), data.draw(st.integers(0, elements))
        tokens = before + more + ahead
        one, other = (row(law, i, ahead, tokens) for i in (before + more, before))
        pairs.append((one, other))
    for direction in (pairs, [(q, p) for p, q in pairs]):
        assert loss(direction, epsilon) <= bound


@pytest.mark.parametrize(
    ("epsilon", "delta", "keys", "elements"),
    [
        (1.0, 1e-8, 2, 1),
        (1.0, 1e-8, 4, 1),
        (1.0, 1e-6, 10, 1),
        (0.1, 1e-8, 50, 1),
        (2.0, 1e-4, 5, 3),
    ],
)
def test_new_keys_and_moved_keys_may_each_spend_delta_and_hardly_less_is_spent(
    epsilon: float, delta: float, keys: int, elements: int
) -> None:
    """By the closed form of the Gaussian, for every number of new keys."""
    found = approximate_gaussian(Guarantee(epsilon, delta, keys, elements))
    assert found is not None
    curve = found.curve
    assert curve.head_start > 0
    levels = [0.0]
    for _ in range(elements + curve.head_start):
        levels.append(float(curve.power(levels[-1])))
    named, gift = levels[-1], levels[elements]

    def spent(new: int) -> float:
        moved = keys - new
        rest = 1 - gaussian_delta(curve.mu * elements * math.sqrt(moved), epsilon) if moved else 1
        return 1 - (1 - named) ** new * (1 - gift) ** moved * rest

    all_ = [spent(new) for new in range(keys + 1)]
    assert max(all_) <= delta
    assert min(all_[0], all_[-1]) > 0.97 * delta


@pytest.mark.parametrize("keys", [2, 3, 10, 50])
def test_a_head_start_names_keys_at_lower_frequencies(keys: int) -> None:
    """And with less noise for all others."""
    guarantee = Guarantee(1.0, 1e-8, keys)
    found = approximate_gaussian(guarantee)
    assert found is not None
    ahead, plain = composition._best_gaussians(guarantee)
    assert (found.curve.head_start, plain.head_start) == (ahead.head_start, 0)
    assert found.curve.mu > plain.mu
    assert found.half < Composition(plain, {}).half


@settings(max_examples=50, deadline=None)
@given(weights, st.integers(1, 6), st.fractions(Fraction(1, 4), 4, max_denominator=20))
def test_no_delta_is_above_the_moments(values: list[int], times: int, epsilon: Fraction) -> None:
    x, fall = verify.powers(Fraction("1.05"), 60, 400)
    mass, beyond = verify._worse(shifted(normed(values), 1), x)
    bounds = verify._moments(mass, beyond, x, times, epsilon)
    assert bounds[0] == 0
    for n in range(1, times + 1):
        law, lost = verify._power(mass, beyond, n, 400)
        delta = min(Fraction(1), verify._excess(law, lost, epsilon, fall))
        assert delta <= Fraction(bounds[n] + 9, 1 << verify._F)


def test_the_moments_of_many_losses_are_not_far_above_delta() -> None:
    curve = GaussianCurve(0.05, 1e-12)
    pair = shifted(law_of(exact.gaussian_table(curve)), 1)
    grid = composition._grid(curve, Guarantee(1.0, 1e-8, 12))
    x, _ = verify.powers(Fraction(grid["base"]), grid["span"], grid["reach"])
    bounds = verify._moments(*verify._worse(pair, x), x, 12, Fraction(1))
    for n in (6, 9, 12):
        true = gaussian_delta(0.05 * math.sqrt(n), 1.0)
        assert true < bounds[n] / 2**verify._F < 10 * (true + n * 1e-12)


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
