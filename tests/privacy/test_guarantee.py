"""Guarantees: plain values, checked when they are made, with errors that name the parameter."""

from __future__ import annotations

import dataclasses
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import REPLACED, Guarantee

NAN, INF = math.nan, math.inf
NO_NUMBERS: list[Any] = [
    None,
    "1e-6",
    "",
    True,
    False,
    [1.0],
    {},
    1j,
    Fraction(1, 2),
    Decimal("0.5"),
]


@given(
    st.floats(1e-6, 1e3),
    st.floats(1e-15, 0.999),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
)
def test_a_guarantee_holds_what_it_was_given(
    epsilon: float, delta: float, keys: int, elements: int
) -> None:
    made = Guarantee(epsilon, delta, keys, elements, "user")
    assert (made.epsilon, made.delta) == (epsilon, delta)
    assert (made.keys_per_unit, made.elements_per_key, made.unit) == (keys, elements, "user")
    assert made == Guarantee(epsilon, delta, keys, elements, "user")
    assert hash(made) == hash(Guarantee(epsilon, delta, keys, elements, "user"))


def test_bounds_are_one_unless_said_otherwise() -> None:
    made = Guarantee(1.0, 1e-6)
    assert (made.keys_per_unit, made.elements_per_key) == (1, 1)


def test_numbers_of_numpy_and_whole_numbers_are_taken_as_plain_ones() -> None:
    values: list[Any] = [np.int64(1), np.float64(1e-6), np.int32(4), np.uint8(2)]
    odd = Guarantee(*values)
    assert odd == Guarantee(1.0, 1e-6, 4, 2)
    assert [type(v) for v in dataclasses.astuple(odd)] == [float, float, int, int, str, str]


@pytest.mark.parametrize("field", ["epsilon", "delta", "keys_per_unit", "elements_per_key", "unit"])
def test_a_guarantee_cannot_be_changed(field: str) -> None:
    made = Guarantee(1.0, 1e-6)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, field, 0.5)


@pytest.mark.parametrize(
    "epsilon", [0, 0.0, -0.0, -1, -1e-300, NAN, INF, -INF, 1001, *NO_NUMBERS], ids=repr
)
def test_a_bad_epsilon_is_refused_by_name(epsilon: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^epsilon must .* not "):
        Guarantee(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [1, 1.0, -1e-9, 1.5, NAN, INF, -INF, *NO_NUMBERS], ids=repr)
def test_a_bad_delta_is_refused_by_name(delta: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^delta must lie strictly between 0 and 1, not "):
        Guarantee(1.0, delta)


@pytest.mark.parametrize(
    "bound", [0, -1, 10**9 + 1, 1.5, 2.0, NAN, INF, np.float64(2), *NO_NUMBERS], ids=repr
)
@pytest.mark.parametrize("name", ["keys_per_unit", "elements_per_key"])
def test_a_bad_bound_is_refused_by_name(name: str, bound: Any) -> None:
    with pytest.raises(
        InvalidInput, match=rf"^{name} must be a whole number from 1 to 10\^9, not "
    ):
        Guarantee(1.0, 1e-6, **{name: bound})


@pytest.mark.parametrize("value", [10**400, -(10**400)], ids=["large", "very negative"])
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_whole_number_beyond_any_float_is_refused_by_name(name: str, value: int) -> None:
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, name: value}
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        Guarantee(**options)


def test_errors_quote_the_value_and_say_what_is_usual() -> None:
    with pytest.raises(InvalidInput, match=r"not -3; 0\.1 to 2 are usual"):
        Guarantee(-3, 1e-6)
    with pytest.raises(InvalidInput, match=r"not 2; take much less than one over the number"):
        Guarantee(1, 2)


@given(st.floats(1e-6, 1e3), st.floats(1e-15, 0.999))
def test_the_description_keeps_every_digit_and_no_binary_float(
    epsilon: float, delta: float
) -> None:
    said = Guarantee(epsilon, delta, 3, 2).describe()
    assert said["neighbours"] == "add or remove one unit"
    assert (said["keys_per_unit"], said["elements_per_key"]) == (3, 2)
    assert (float(said["epsilon"]), float(said["delta"])) == (epsilon, delta)
    json.loads(json.dumps(said), parse_float=pytest.fail)


def test_a_promise_without_delta_is_one_but_names_no_keys() -> None:
    pure = Guarantee(1.0, 0)
    assert pure.describe()["delta"] == "0.0"
    with pytest.raises(InvalidInput, match=r"^delta must lie strictly between 0 and 1, not 0"):
        tamis.plan(1.0, 0.0)


def test_units_are_added_or_replaced() -> None:
    assert Guarantee(1.0, 0).describe()["neighbours"] == "add or remove one unit"
    assert Guarantee(1.0, 0, neighbours=REPLACED).describe()["neighbours"] == "replace one unit"
    with pytest.raises(InvalidInput, match="neighbours must be"):
        Guarantee(1.0, 0, neighbours="change one unit")
