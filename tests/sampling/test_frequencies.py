"""Which frequencies are accepted, and what is said about the others."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.privacy.errors import InvalidInput, shown
from tamis.sampling.frequencies import check_frequencies, check_positive, check_whole

LARGEST = 2**63 - 1

ACCEPTED: dict[str, Any] = {
    "list": [3, 1, 2],
    "tuple": (3, 1, 2),
    "whole floats": [3.0, 1.0, 2.0],
    "half precision": np.array([3, 1, 2], dtype=np.float16),
    "8 bits": np.array([3, 1, 2], dtype=np.int8),
    "unsigned": np.array([3, 1, 2], dtype=np.uint64),
    "backwards": np.array([2, 1, 3])[::-1],
    "python objects": np.array([3, 1, 2.0], dtype=object),
    "arrow": pa.array([3, 1, 2], pa.int32()),
    "arrow in chunks": pa.chunked_array([[3], [1, 2]]),
    "arrow decimals": pa.array([Decimal("3.00"), Decimal(1), Decimal(2)]),
    "pandas": pd.Series([3, 1, 2]),
    "pandas, nullable": pd.Series([3, 1, 2], dtype="Int64"),
    "pandas, objects": pd.Series([3, 1, 2], dtype=object),
    "polars": pl.Series([3, 1, 2]),
}

REFUSED: dict[str, tuple[Any, str]] = {
    "zero": ([4, 0], "below 1"),
    "negative": ([4, -7], "below 1"),
    "very negative": ([-(2**70)], "below 1"),
    "fraction": ([1, 2.5], "fractions"),
    "NaN": ([1, float("nan")], "missing"),
    "infinity": ([1, float("inf")], "holds infinite values"),
    "minus infinity": (np.array([-np.inf]), "holds infinite values"),
    "infinity in arrow": (pa.array([1.0, np.inf]), "holds infinite values"),
    "infinity as an object": (np.array([3, np.inf], dtype=object), "holds infinite values"),
    "float that may have been rounded": ([2.0**53 + 2], "2^53"),
    "2^63": ([2**63], "2^63 - 1"),
    "2^63, unsigned": (np.array([2**63], dtype=np.uint64), "2^63 - 1"),
    "2^64": ([1, 2**64], "2^63 - 1"),
    "2^63 and a negative number": ([2**63, -1], "below 1"),  # numpy makes floats of these
    "long integer in pandas": (pd.Series([1, 2**70]), "2^63 - 1"),
    "long decimal": (pa.array([Decimal(2**70)]), "2^63"),
    "decimal fraction": (pa.array([Decimal("1.5")]), "not whole"),
    "None": ([1, None], "missing"),
    "arrow null": (pa.array([1, None]), "missing"),
    "only nulls": (pa.nulls(2), "missing"),
    "pandas NA": (pd.Series([1, None], dtype="Int64"), "missing"),
    "pandas NaN": (pd.Series([1.0, None]), "missing"),
    "boolean among integers": ([1, True], "boolean"),
    "numpy booleans": (np.array([True]), "bool"),
    "arrow booleans": (pa.array([True]), "bool"),
    "boolean object": (np.array([3, True], dtype=object), "whole numbers"),
    "text": (["12"], "whole numbers"),
    "arrow text": (pa.array(["12"]), "string"),
    "complex": (np.array([1 + 0j]), "complex"),
    "durations": (np.array([1], dtype="m8[s]"), "timedelta"),
    "one number": (5, "one dimension"),
    "two dimensions": ([[1, 2]], "one dimension"),
    "ragged": ([[1], [1, 2]], "one column"),
    "a table": (pa.table({"n": [1]}), "whole numbers"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_whole_numbers_come_back_as_64_bit_integers(name: str) -> None:
    checked = check_frequencies(ACCEPTED[name])
    assert checked.dtype == np.int64
    assert checked.tolist() == [3, 1, 2]


@pytest.mark.parametrize("name", REFUSED)
def test_anything_else_is_refused_under_the_name_of_the_parameter(name: str) -> None:
    values, reason = REFUSED[name]
    with pytest.raises(InvalidInput, match=rf"^visits .*{re.escape(reason)}.*\.$"):
        check_frequencies(values, "visits")


@pytest.mark.parametrize("values", [[-98765], [98765.5], [98765 << 60], [98765, None], [[98765]]])
def test_no_value_is_repeated_in_an_error(values: list[Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_frequencies(values)
    assert "987" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("nothing", [[], np.array([]), pa.array([]), pd.Series([]), pl.Series([])])
def test_no_frequencies_are_an_empty_array(nothing: Any) -> None:
    checked = check_frequencies(nothing)
    assert checked.shape == (0,)
    assert checked.dtype == np.int64


@given(st.lists(st.integers(1, LARGEST), min_size=1))
def test_every_integer_in_range_is_kept_exactly(values: list[int]) -> None:
    assert check_frequencies(values).tolist() == values
    assert check_frequencies(pa.array(values)).tolist() == values
    assert check_frequencies(np.array(values, dtype=object)).tolist() == values


def test_floats_are_trusted_up_to_two_to_the_53() -> None:
    assert check_frequencies([2.0**53]).tolist() == [2**53]


@pytest.mark.parametrize("value", [1, LARGEST, np.int8(3), np.uint64(7)])
def test_a_whole_number_is_returned_as_a_python_integer(value: Any) -> None:
    whole = check_whole(value, "k")
    assert (type(whole), whole) == (int, int(value))


@pytest.mark.parametrize("value", [0, -1, 2**63, 1.0, True, None, "3", float("nan")])
def test_what_is_not_a_whole_number_is_refused_with_its_value(value: Any) -> None:
    sentence = re.escape(f"k must be a whole number from 1 to 2^63 - 1, not {value!r}.")
    with pytest.raises(InvalidInput, match=sentence):
        check_whole(value, "k")


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), Fraction(1, 2), 1e-300])
def test_a_positive_number_is_returned_as_a_float(value: Any) -> None:
    assert check_positive(value, "size") == float(value)


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan"), 10**400, True, None, "1"])
def test_what_is_not_positive_is_refused_with_its_value(value: Any) -> None:
    with pytest.raises(InvalidInput, match="size must be a positive number, not ") as refused:
        check_positive(value, "size")
    assert shown(value) in str(refused.value)
    assert len(str(refused.value)) < 100
