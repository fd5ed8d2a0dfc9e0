"""Sampling schemes: the integers never decrease, the floats agree, bad input is refused."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.privacy import verify
from tamis.privacy.errors import InvalidInput
from tamis.privacy.verify import U
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme

taus = st.floats(1e-12, 10) | st.floats(1e-300, 1e300)
powers = st.sampled_from([1.0, 2.0, 0.5]) | st.floats(0.3, 2)
frequencies = st.integers(1, 10**5) | st.integers(1, 2**63) | st.integers(1, 10**40)
kinds = st.sampled_from([Pps, Ppswor])
chances = st.lists(st.floats(0, 1).map(lambda q: round(q, 12)), min_size=1, max_size=8)


def integers(scheme: Scheme) -> verify.Scheme:
    return verify.Scheme(scheme.rule())


def exactly(scheme: Pps | Ppswor, i: int) -> Any:
    """q(i) in many digits, tau and power read as they are printed."""
    z = mp.mpf(repr(float(scheme.tau))) * mp.mpf(i) ** mp.mpf(repr(float(scheme.power)))
    return min(mp.mpf(1), z) if isinstance(scheme, Pps) else -mp.expm1(-z)


# --- the integers that decide -------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(kinds, taus, powers, frequencies, st.integers(1, 1000))
def test_the_integers_of_q_never_decrease(
    kind: type[Pps | Ppswor], tau: float, power: float, i: int, further: int
) -> None:
    scheme = integers(kind(tau, power))
    assert 0 <= scheme.units(i) <= scheme.units(i + 1) <= scheme.units(i + further) <= U


@pytest.mark.parametrize("kind", [Pps, Ppswor])
@pytest.mark.parametrize("power", [0.3, 0.999999, 1.0, 1.0000001, 1.7, 2.0])
@pytest.mark.parametrize("start", [1, 10**6, 2**53 - 50, 10**18, 10**30])
def test_the_integers_of_q_never_decrease_where_neighbours_are_closest(
    kind: type[Pps | Ppswor], power: float, start: int
) -> None:
    for q in (0.01, 0.5, 0.999):
        z = q if kind is Pps else -math.log1p(-q)
        scheme = integers(kind(z / float(start) ** power, power))
        row = [scheme.units(i) for i in range(start, start + 60)]
        assert row == sorted(row)


@settings(max_examples=80, deadline=None)
@given(kinds, taus, powers, frequencies)
def test_the_integers_are_q_to_within_a_few_words(
    kind: type[Pps | Ppswor], tau: float, power: float, i: int
) -> None:
    scheme = kind(tau, power)
    with mp.workdps(90):
        exact = exactly(scheme, i) * U
        # 28 digits of tau i^power are kept on the way, so q may be off by 1e-27 of itself
        assert abs(integers(scheme).units(i) - exact) <= 2 + exact * mp.mpf("1e-26")


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(1, 10**4), st.sampled_from([5, 28, 60]))
def test_the_integers_do_not_depend_on_the_decimal_settings_of_the_caller(
    i: int, digits: int
) -> None:
    scheme = integers(Ppswor(0.0123456789, 0.7))
    usual = scheme.units(i)
    with decimal.localcontext() as context, mp.workdps(90):
        context.prec = digits
        assert scheme.units(i) == usual
        assert abs(usual - exactly(Ppswor(0.0123456789, 0.7), i) * U) <= 2


@settings(max_examples=40, deadline=None)
@given(kinds, st.floats(1e-6, 10), st.floats(0.5, 2))
def test_from_settled_on_every_key_is_kept_and_just_before_it_not(
    kind: type[Pps | Ppswor], tau: float, power: float
) -> None:
    scheme = integers(kind(tau, power))
    settled = scheme.settled()
    assert scheme.units(settled) == scheme.units(10 * settled) == U
    assert scheme.units(settled - 1) < U


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.integers(1, 200), st.integers(0, 1000), min_size=1, max_size=6))
def test_a_step_function_is_constant_from_settled_on(steps: dict[int, int]) -> None:
    thousandths = zip(sorted(steps), sorted(steps.values()), strict=True)
    scheme = integers(Custom({i: q / 1000 for i, q in thousandths}))
    settled = scheme.settled()
    assert scheme.units(settled) == scheme.units(settled + 1) == scheme.units(10**9)
    assert settled == 1 or scheme.units(settled - 1) < scheme.units(settled)


def test_everything_keeps_every_key_that_occurs() -> None:
    scheme = integers(Everything())
    assert [scheme.units(i) for i in (0, 1, 2, 10**18)] == [0, U, U, U]
    assert scheme.settled() == 1
    assert Everything().probability([0, 1, 7]).tolist() == [0, 1, 1]


# --- the floats that plan -----------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(kinds, st.floats(1e-12, 100), powers, st.integers(1, 2**63 - 1))
def test_the_float_probability_agrees_with_the_integers_to_45_places(
    kind: type[Pps | Ppswor], tau: float, power: float, i: int
) -> None:
    scheme = kind(tau, power)
    units = integers(scheme).units(i)
    found = Fraction(float(scheme.probability([i])[0]))
    assert abs(found - Fraction(units, U)) <= Fraction(units, U << 45) + Fraction(1, U)


@settings(max_examples=60, deadline=None)
@given(chances, st.integers(0, 20))
def test_the_float_probability_of_steps_agrees_with_the_integers(
    values: list[float], i: int
) -> None:
    scheme = Custom(sorted(values))
    found = Fraction(float(scheme.probability(i)))
    exact = Fraction(integers(scheme).units(i), U)
    assert abs(found - exact) <= exact / 2**45 + Fraction(2, U)


def test_a_key_that_does_not_occur_is_never_kept() -> None:
    for scheme in (Everything(), Pps(0.3), Ppswor(0.3, 0.5), Custom([0.4])):
        assert scheme.probability([0]).tolist() == [0]
        assert integers(scheme).units(0) == 0


@settings(max_examples=200, deadline=None)
@given(kinds, st.sampled_from([1e-300, 1e300]) | taus, powers, st.lists(frequencies, max_size=5))
def test_the_float_probability_is_a_probability_for_every_tau_and_power(
    kind: type[Pps | Ppswor], tau: float, power: float, values: list[int]
) -> None:
    found = kind(tau, power).probability([0, 1, 2**63 - 1, *map(float, values)])
    assert ((found >= 0) & (found <= 1)).all()
    assert found[0] == 0 < found[1]


@pytest.mark.parametrize("kind", [Pps, Ppswor])
def test_what_is_beyond_any_float_is_sure_to_be_kept(kind: type[Pps | Ppswor]) -> None:
    assert kind(1e300, 2).probability([1, 2**63 - 1]).tolist() == [1, 1]
    short: Any = np.float32(1e30)
    assert kind(short, 2).probability(2**63 - 1) == 1


# --- ways to give a custom q --------------------------------------------------------------------


def test_a_mapping_a_list_and_a_function_give_the_same_scheme() -> None:
    mapping = Custom({1: 0.1, 3: 0.5, 5: 1})
    listed = Custom([0.1, 0.1, 0.5, 0.5, 1.0])
    asked = Custom(lambda i: 0.1 if i < 3 else 0.5 if i < 5 else 1, upto=9)
    assert mapping == listed == asked
    assert len({mapping, listed, asked}) == 1
    assert mapping.rule() == {"name": "custom", "steps": [[1, "1/10"], [3, "1/2"], [5, "1"]]}


def test_floats_are_read_as_printed_and_fractions_and_text_exactly() -> None:
    assert Custom([0.1]).steps == ((1, Fraction(1, 10)),)
    thirds: Any = [Fraction(1, 3), "2/3"]
    assert Custom(thirds).steps == ((1, Fraction(1, 3)), (2, Fraction(2, 3)))
    array: Any = np.array([0.1, 0.7])
    assert Custom(array) == Custom([0.1, 0.7])


@pytest.mark.parametrize("q", ["1e999999999", "one", 10**400, float("nan"), True, None, -0.1, 1.1])
def test_what_is_no_probability_is_refused_in_one_line(q: Any) -> None:
    with pytest.raises(InvalidInput, match=r"q\(1\) must be a probability") as refused:
        Custom([q])
    assert len(str(refused.value)) < 120


def test_a_number_too_long_to_be_printed_is_refused_all_the_same() -> None:
    with pytest.raises(InvalidInput, match="thousands of digits"):
        Custom([10**5000])


def test_a_long_q_is_printed_in_one_line() -> None:
    assert len(repr(Custom([i / 1000 for i in range(1000)]))) < 100
    assert repr(Custom({1: 0.5})) == "Custom({1: 0.5})"


def test_frequencies_below_the_first_step_are_never_kept() -> None:
    scheme = Custom({4: 0.5})
    assert scheme.probability([1, 3, 4, 5]).tolist() == [0, 0, 0.5, 0.5]
    assert [integers(scheme).units(i) for i in (1, 3, 4)] == [0, 0, U // 2]


@settings(max_examples=60, deadline=None)
@given(chances)
def test_a_list_means_one_value_per_frequency_and_the_last_from_there_on(
    values: list[float],
) -> None:
    ordered = sorted(values)
    scheme = Custom(ordered)
    beyond = [*ordered, ordered[-1], ordered[-1]]
    assert scheme.probability(range(1, len(beyond) + 1)).tolist() == pytest.approx(
        beyond, rel=1e-15
    )


# --- bad input ----------------------------------------------------------------------------------

NAN, INF = math.nan, math.inf
BAD_TAUS: list[Any] = [0, -1, -0.0, 5e-324, 9e-301, 1.1e300, 1e308, NAN, INF, -INF, 10**400]
BAD_TAUS += ["0.1", None, True, 1j, [0.1], np.float32("inf")]


@pytest.mark.parametrize("kind", [Pps, Ppswor])
@pytest.mark.parametrize("tau", BAD_TAUS)
def test_a_bad_tau_is_refused_by_name(kind: type[Pps | Ppswor], tau: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"{kind.__name__}: tau must lie between .* not "):
        kind(tau)


@pytest.mark.parametrize("kind", [Pps, Ppswor])
@pytest.mark.parametrize("power", [0, -1, 2.1, 2.0000000000000004, NAN, INF, "1", None, True])
def test_a_bad_power_is_refused_by_name(kind: type[Pps | Ppswor], power: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"{kind.__name__}: power must lie in \(0, 2\], not "):
        kind(0.1, power)


BAD_Q: list[tuple[Any, str]] = [
    ([0.5, 0.4], r"q must not decrease, but q\(2\) is below q\(1\)"),
    ({1: 0.5, 9: 0.1}, r"q must not decrease, but q\(9\)"),
    ([0.5, 1.1], r"q\(2\) must be a probability in \[0, 1\], not 1.1"),
    ([-0.1], r"q\(1\) must be a probability"),
    ([0.1, NAN], r"q\(2\) must be a probability in \[0, 1\], not nan"),
    ([INF], r"q\(1\) must be a probability"),
    ([None], r"q\(1\) must be a probability"),
    (["half"], r"q\(1\) must be a probability"),
    ([True], r"q\(1\) must be a probability"),
    ([], "q is empty"),
    ({}, "q is empty"),
    ({0: 0.5}, "frequencies are whole numbers from 1 on, not 0"),
    ({-1: 0.5}, "frequencies are whole numbers from 1 on"),
    ({1.5: 0.5}, "frequencies are whole numbers from 1 on, not 1.5"),
    ({True: 0.5}, "frequencies are whole numbers from 1 on, not True"),
    ({NAN: 0.5}, "frequencies are whole numbers from 1 on"),
    (lambda i: 0.5, "a function needs upto"),
]


@pytest.mark.parametrize(("q", "sentence"), BAD_Q, ids=[str(n) for n in range(len(BAD_Q))])
def test_a_bad_custom_q_is_refused_by_a_sentence(q: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"^Custom: {sentence}"):
        Custom(q)


def test_a_function_that_decreases_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"q\(7\) is below q\(6\)"):
        Custom(lambda i: 1 / (1 + max(0, i - 6)), upto=20)


@pytest.mark.parametrize("upto", [0, -3, None])
def test_a_bad_upto_is_refused_by_name(upto: Any) -> None:
    with pytest.raises(InvalidInput, match="upto"):
        Custom(lambda i: 0.5, upto=upto)


LEAKS: list[tuple[str, Callable[[], Any]]] = [
    ("tau beyond any float", lambda: Pps(10**400)),
    ("q is a number", lambda: Custom(5)),  # type: ignore[arg-type]
    ("q is missing", lambda: Custom(None)),  # type: ignore[arg-type]
    ("q divides by zero", lambda: Custom({1: "1/0"})),  # type: ignore[dict-item]
    ("keys of two kinds", lambda: Custom({"a": 0.1, 1: 0.2})),  # type: ignore[dict-item]
    ("upto is a fraction", lambda: Custom(lambda i: 0.5, upto=1.5)),  # type: ignore[arg-type]
    ("upto is text", lambda: Custom(lambda i: 0.5, upto="3")),  # type: ignore[arg-type]
    ("upto is a truth value", lambda: Custom(lambda i: 0.5, upto=True)),
]


@pytest.mark.parametrize("make", [m for _, m in LEAKS], ids=[name for name, _ in LEAKS])
def test_odd_values_are_refused_by_a_sentence_too(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidInput):
        make()
