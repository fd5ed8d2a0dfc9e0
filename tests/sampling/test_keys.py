"""Which columns of keys are accepted, and that equal keys stay equal between batches."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis.privacy.errors import InvalidInput
from tamis.sampling.keys import key_column

TEXT = pa.array(["b", "a", "b"])

SAME_TEXT: dict[str, Any] = {
    "list": ["b", "a", "b"],
    "numpy": np.array(["b", "a", "b"]),
    "numpy objects": np.array(["b", "a", "b"], dtype=object),
    "arrow": TEXT,
    "arrow, large": TEXT.cast(pa.large_string()),
    "arrow, views": TEXT.cast(pa.string_view()),
    "arrow, dictionary": TEXT.dictionary_encode(),
    "arrow, runs": pc.run_end_encode(TEXT),
    "arrow, dictionaries in chunks": pa.chunked_array(
        [TEXT[:1].dictionary_encode(), TEXT[1:].dictionary_encode()]
    ),
    "pandas": pd.Series(["b", "a", "b"]),
    "pandas, categories": pd.Series(["b", "a", "b"], dtype="category"),
    "polars": pl.Series(["b", "a", "b"]),
    "polars, categories": pl.Series(["b", "a", "b"], dtype=pl.Categorical),
}

SAME_INTEGERS: dict[str, Any] = {
    "list": [2, 1],
    "8 bits": np.array([2, 1], dtype=np.int8),
    "32 bits, unsigned": np.array([2, 1], dtype=np.uint32),
    "arrow, dictionary": pa.array([2, 1], pa.int16()).dictionary_encode(),
    "pandas": pd.Series([2, 1]),
    "polars": pl.Series([2, 1], dtype=pl.Int32),
}

OTHER_KINDS: dict[str, list[Any]] = {
    "booleans": [True, False],
    "bytes": [b"x", b"y"],
    "decimals": [Decimal("1.5"), Decimal("2.5")],
    "dates": [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)],
    "times": [datetime.time(1), datetime.time(2)],
    "timestamps": [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2)],
    "durations": [datetime.timedelta(1), datetime.timedelta(2)],
}

NOT_TEXT = pa.Array.from_buffers(pa.string(), 2, pa.array([b"secret\xff", b"b"]).buffers())

REFUSED: dict[str, tuple[Any, str]] = {
    "not UTF-8": (NOT_TEXT, "text that is not in UTF-8"),
    "not UTF-8, dictionary": (NOT_TEXT.dictionary_encode(), "text that is not in UTF-8"),
    "not UTF-8, chunks": (pa.chunked_array([TEXT, NOT_TEXT]), "text that is not in UTF-8"),
    "null": (["secret", None], "nulls"),
    "only nulls": ([None], "nulls"),
    "pandas null": (pd.Series(["secret", None]), "nulls"),
    "null in a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["secret", None])),
        "nulls",
    ),
    "null as an index": (
        pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.array(["secret"])),
        "nulls",
    ),
    "floats": ([1.5], "not double"),
    "lists": ([[1, 2]], "not list"),
    "a table": (pa.table({"column": ["secret"]}), "not struct"),
    "different types": (["secret", 1], "one type"),
    "too long integers": ([2**64], "64 bits cannot hold"),
    "too long integers among others": ([-1, 2**63], "64 bits cannot hold"),
    "no lists": (pa.array([], pa.list_(pa.int64())), "not list"),
    "no structs": (pa.array([], pa.struct([("a", pa.int64())])), "not struct"),
    "no maps": (pa.array([], pa.map_(pa.string(), pa.int64())), "not map"),
    "a dictionary of no lists": (
        pa.DictionaryArray.from_arrays(
            pa.array([], pa.int32()), pa.array([], pa.list_(pa.int64()))
        ),
        "not list",
    ),
    "two dimensions": (np.array([[1, 2]]), "one column"),
    "one text": ("secret", "not one str"),
    "a number": (5, "one column"),
}


@pytest.mark.parametrize("name", SAME_TEXT)
def test_text_is_the_same_however_it_is_held(name: str) -> None:
    column = key_column(SAME_TEXT[name])
    assert column.type == pa.large_string()
    assert column.to_pylist() == ["b", "a", "b"]


@pytest.mark.parametrize("name", SAME_INTEGERS)
def test_integers_are_the_same_however_they_are_held(name: str) -> None:
    column = key_column(SAME_INTEGERS[name])
    assert column.type == pa.int64()
    assert column.to_pylist() == [2, 1]


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_other_kinds_that_can_be_compared_are_kept(name: str) -> None:
    assert key_column(OTHER_KINDS[name]).to_pylist() == OTHER_KINDS[name]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_a_column_of_keys_is_refused_without_naming_one(name: str) -> None:
    keys, reason = REFUSED[name]
    with pytest.raises(InvalidInput, match=f"^queries .*{reason}") as caught:
        key_column(keys, "queries")
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("nothing", [[], np.array([]), pa.array([]), pd.Series([]), pl.Series([])])
def test_no_keys_are_an_empty_column(nothing: Any) -> None:
    assert len(key_column(nothing)) == 0
