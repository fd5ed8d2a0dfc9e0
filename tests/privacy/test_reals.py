"""Intervals hold the number that they stand for, and become as short as asked."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.privacy.reals import Interval, Real, enclose, exp, exp_minus, ratio

Numbers = st.SearchStrategy[Fraction]

DIGITS = st.integers(3, 60)
NUMBERS = st.builds(
    lambda top, bottom, power: Fraction(top, bottom) * Fraction(10) ** power,
    st.integers(-(10**30), 10**30),
    st.integers(1, 10**30),
    st.integers(-40, 10),
)
POSITIVE = NUMBERS.map(lambda x: abs(x) or Fraction(1))
SHARES = st.sampled_from([Fraction(0), *(Fraction(1, 10**k) for k in (1, 3, 10, 30))])


@st.composite
def known(draw: st.DrawFn, numbers: Numbers = NUMBERS) -> tuple[Fraction, Interval]:
    """A number and some interval around it, short or long."""
    x, digits = draw(numbers), draw(DIGITS)
    low = Interval.of(x - abs(x) * draw(SHARES), digits).low
    high = Interval.of(x + abs(x) * draw(SHARES), digits).high
    return x, Interval(low, high, digits)


def holds(interval: Interval, x: Fraction) -> bool:
    return Fraction(interval.low) <= x <= Fraction(interval.high)


def wide(value: Fraction) -> Any:
    return mp.mpf(value.numerator) / value.denominator


def holds_real(interval: Interval, x: Any) -> bool:
    """The same for a number known to 200 digits; an interval has 60 at most."""
    return interval.low <= Decimal(mp.nstr(x, 180)) <= interval.high


def width(interval: Interval) -> Fraction:
    return Fraction(interval.high) - Fraction(interval.low)


# --- every operation encloses -------------------------------------------------------------------


@given(NUMBERS, DIGITS)
def test_a_fraction_is_in_its_interval(x: Fraction, digits: int) -> None:
    interval = Interval.of(x, digits)
    assert holds(interval, x)
    assert width(interval) <= abs(x) * Fraction(10) ** (1 - digits)


@given(known(), known())
def test_sums_differences_and_products_are_enclosed(
    a: tuple[Fraction, Interval], b: tuple[Fraction, Interval]
) -> None:
    (x, i), (y, j) = a, b
    assert holds(i + j, x + y)
    assert holds(i - j, x - y)
    assert holds(i * j, x * y)
    assert holds(-i, -x)


@given(known(), known(POSITIVE))
def test_quotients_are_enclosed(a: tuple[Fraction, Interval], b: tuple[Fraction, Interval]) -> None:
    assert holds(a[1] / b[1], a[0] / b[0])


@given(known(), NUMBERS, st.integers(-(10**50), 10**50))
def test_plain_numbers_join_on_either_side(
    a: tuple[Fraction, Interval], y: Fraction, n: int
) -> None:
    x, i = a
    assert holds(i + y, x + y)
    assert holds(y + i, y + x)
    assert holds(i - n, x - n)
    assert holds(n - i, n - x)
    assert holds(y * i, y * x)
    if y > 0:
        assert holds(i / y, x / y)


@given(known(POSITIVE), NUMBERS)
def test_a_plain_number_is_divided(a: tuple[Fraction, Interval], y: Fraction) -> None:
    assert holds(y / a[1], y / a[0])


@given(known(NUMBERS.filter(lambda x: abs(x) < 10**6)))
def test_exp_is_enclosed(a: tuple[Fraction, Interval]) -> None:
    with mp.workdps(200):
        assert holds_real(a[1].exp(), mp.exp(wide(a[0])))


@given(known(POSITIVE))
def test_ln_is_enclosed(a: tuple[Fraction, Interval]) -> None:
    with mp.workdps(200):
        assert holds_real(a[1].ln(), mp.log(wide(a[0])))


@given(st.fractions(Fraction(1, 10**12), 20), st.integers(15, 60))  # fewer, and 1 - a may be 0
def test_a_long_computation_is_enclosed(rate: Fraction, digits: int) -> None:
    a = exp(-rate, digits)
    computed = -(1 - a / (a + 1)).ln() * 7 + 3 / (1 - a) - Fraction(1, 3)
    with mp.workdps(200):
        b = mp.exp(-wide(rate))
        expected = -mp.log(1 - b / (b + 1)) * 7 + 3 / (1 - b) - mp.mpf(1) / 3
        assert holds_real(computed, expected)


def test_numbers_at_the_ends_of_the_range_are_enclosed() -> None:
    for rate in (10**9, 10**17, 10**19, 10**40):  # the last two are below the smallest decimal
        small, large = exp(Fraction(-rate), 40), exp(Fraction(rate), 40)
        assert small.low < Decimal("1e-400000000") < large.low <= large.high
        assert small.high > 0
    assert exp(Fraction(0), 40).low < 1 < exp(Fraction(0), 40).high


def test_only_what_is_surely_positive_divides() -> None:
    for divisor in (Interval.of(0, 40), Interval.of(-2, 40), Interval.of(1, 9) - 1):
        with pytest.raises(ZeroDivisionError, match="surely positive"):
            1 / divisor


OPERATIONS: dict[str, Callable[[Interval], Interval]] = {
    "minus": lambda i: -i,
    "1 - x": lambda i: 1 - i,
    "x + x": lambda i: i + i,
    "x * x": lambda i: i * i,
    "1 / x": lambda i: 1 / i,
    "exp": Interval.exp,
    "ln": Interval.ln,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_current_decimal_context_has_no_say(name: str) -> None:
    third = Interval.of(Fraction(1, 3), 60)
    expected = OPERATIONS[name](third)
    with localcontext(prec=5, rounding="ROUND_UP"):
        assert OPERATIONS[name](third) == expected
        assert third.floors(150) == (2**150 // 3, 2**150 // 3 + 1)
    assert width(expected) < Fraction(1, 10**57)


# --- more digits, shorter intervals -------------------------------------------------------------


@given(st.fractions(Fraction(1, 1000), 100))
def test_intervals_shrink_with_digits(x: Fraction) -> None:
    def ln(x: Fraction, digits: int) -> Interval:
        return Interval.of(x, digits).ln()

    for make in (Interval.of, exp, ln):
        size = max(Fraction(1), Fraction(make(x, 40).high))
        for digits in (20, 40, 80, 160):
            assert width(make(x, digits)) <= 1500 * size / 10**digits


# --- whole numbers around it --------------------------------------------------------------------


@given(st.fractions(0, 5), st.integers(0, 700))
def test_a_fraction_is_enclosed_as_closely_as_possible(x: Fraction, places: int) -> None:
    low, high = enclose(ratio(x), places)
    assert low <= x * 2**places <= high
    assert high - low <= 2


@given(st.fractions(0, 100), st.integers(0, 500))
def test_exp_is_enclosed_as_closely_as_asked(rate: Fraction, places: int) -> None:
    low, high = enclose(exp_minus(rate), places)
    with mp.workdps(250):
        assert low <= mp.exp(-wide(rate)) * mp.mpf(2) ** places <= high
    assert high - low <= 2


def test_halves_are_known_exactly() -> None:
    for x in (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(3, 2**16), 1 - Fraction(1, 2**16)):
        assert enclose(ratio(x), 16) == (int(x * 2**16), int(x * 2**16))


def test_numbers_that_are_not_whole_lie_between_neighbours() -> None:
    assert enclose(ratio(Fraction(1, 3)), 16) == (21845, 21846)
    assert enclose(ratio(Fraction(-1, 3)), 16) == (-21846, -21845)
    assert enclose(ratio(Fraction(1, 10**40)), 16) == (0, 1)
    assert enclose(exp_minus(Fraction(1)), 16) == (24109, 24110)


@pytest.mark.parametrize("rate", [10**7, 10**12, 10**25])
def test_tiny_numbers_cost_nothing(rate: int) -> None:
    low, high = enclose(exp_minus(Fraction(rate)), 64)
    assert (max(low, 0), high) == (0, 1)


def test_digits_are_asked_for_only_as_far_as_needed() -> None:
    asked = list[int]()

    def third(digits: int) -> Interval:
        asked.append(digits)
        return Interval.of(Fraction(1, 3), digits)

    assert enclose(Real(third, ()), 64) == (2**64 // 3, 2**64 // 3 + 1)
    assert asked == [40]
    assert enclose(Real(third, ()), 400) == (2**400 // 3, 2**400 // 3 + 1)
    assert asked == [40, 40, 80, 160]
