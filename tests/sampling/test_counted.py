"""Tables of counted keys: what is read, and that a refusal names the column and what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tamis.privacy.errors import InvalidInput
from tamis.sampling.counted import counted_table

COUNTS = Counter(a=3, b=1)
NO_LISTS = pa.array([], pa.list_(pa.int64()))

SAME: dict[str, Any] = {
    "lists": {"k": ["a", "b"], "n": [3, 1]},
    "arrays": {"k": np.array(["a", "b"]), "n": np.array([3, 1])},
    "views of a dict": {"k": COUNTS.keys(), "n": COUNTS.values()},
    "iterators": {"k": iter(["a", "b"]), "n": iter([3, 1])},
    "decimals": {"k": ["a", "b"], "n": [Decimal(3), Decimal("1.0")]},
    "columns of pandas": {"k": pd.Series(["a", "b"]), "n": pd.Series([3, 1])},
    "columns of polars": {"k": pl.Series(["a", "b"]), "n": pl.Series([3, 1])},
    "arrow": pa.table({"k": ["a", "b"], "n": [3, 1]}),
    "pandas": pd.DataFrame({"k": ["a", "b"], "n": [3, 1]}),
    "polars": pl.DataFrame({"k": ["a", "b"], "n": [3, 1]}),
    "value_counts": pd.Series(list("aaab"), name="k").value_counts(sort=True).reset_index(name="n"),
    "computed": pl.LazyFrame({"k": ["a", "b"], "n": [3, 1]}).collect(),
    "other columns of any kind": {"k": ["a", "b"], "n": [3, 1], "other": [[], "x", 2**70]},
}

REFUSED: dict[str, tuple[Any, str]] = {
    "2^63": ({"k": ["secret"], "n": [2**63]}, r"^n holds values above 2\^63 - 1; "),
    "2^63 in a view": ({"k": ["secret"], "n": {"x": 2**63}.values()}, r"^n holds values above"),
    "2^63 in an iterator": ({"k": ["secret"], "n": iter([2**63])}, r"^n holds values above"),
    "far too large": ({"k": ["secret", "b"], "n": [1, 10**30]}, r"^n holds values above 2\^63 - 1"),
    "far too small": ({"k": ["secret", "b"], "n": [1, -(10**30)]}, "^n holds values below 1"),
    "both": ({"k": ["secret", "b"], "n": [2**63, -1]}, "^n holds values below 1"),
    "mixed with text": ({"k": ["secret", "b"], "n": [1, "x"]}, "^n must hold whole numbers"),
    "mixed with truth": ({"k": ["secret", "b"], "n": [1, True]}, "^n must hold whole numbers"),
    "infinity": ({"k": ["secret"], "n": [float("inf")]}, "^n holds infinite values"),
    "long key": ({"k": [2**64], "n": [1]}, "^k holds whole numbers that 64 bits cannot hold"),
    "keys of two types": ({"k": ["secret", 1], "n": [1, 2]}, "^k must be .* of one type"),
    "one key": ({"k": "secret", "n": [1] * 6}, "^k must be a column"),
    "no lists as keys": (pa.table({"k": NO_LISTS, "n": pa.array([], pa.int64())}), "^k .*not list"),
    "no lists in a mapping": ({"k": NO_LISTS, "n": []}, "^k .*not list"),
    "lengths": ({"k": ["secret"], "n": [1, 2]}, "^k, n must all have the same length"),
    "pandas of two types": (pd.DataFrame({"k": ["secret", 1], "n": [1, 2]}), "read as a table"),
    "keys to counts": (Counter(secret=3), "not keys to frequencies; give {'key': list"),
    "value_counts": (pd.Series(["secret"]).value_counts(), r"reset_index\(\) first"),
    "column of polars": (pl.Series(["secret"]), "must be a pyarrow.Table, .* not Series"),
    "not computed": (pl.LazyFrame({"k": ["secret"], "n": [3]}), r"collect\(\) first"),
    "text": ("secret", "must be a pyarrow.Table, .* not str"),
    "no such column": ({"key": ["secret"], "n": [1]}, "no column 'k'; its columns are: key, n"),
    "names that are not text": ({1: ["secret"], "n": [1]}, "no column 'k'; its columns are: 1, n"),
}


@pytest.mark.parametrize("data", SAME.values(), ids=SAME.keys())
def test_the_same_table_is_read_from_every_form(data: Any) -> None:
    table = counted_table(data, "k", "n")
    assert table.to_pydict() == {"k": ["a", "b"], "n": [3, 1]}
    assert table.schema.types == [pa.large_string(), pa.int64()]


@pytest.mark.parametrize(("data", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refusal_names_the_column_and_what_is_wrong_and_shows_no_data(
    data: Any, sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence) as caught:
        counted_table(data, "k", "n")
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("key", [1, None, ["k", 1]])
def test_a_name_that_is_not_text_is_refused(key: Any) -> None:
    with pytest.raises(InvalidInput, match="names of columns"):
        counted_table({"k": ["a"], "n": [1]}, key, "n")


@pytest.mark.parametrize(
    "form", [dict, pa.table, pd.DataFrame, pl.DataFrame], ids=["dict", "arrow", "pandas", "polars"]
)
def test_an_empty_table_stays_empty(form: Callable[[Any], Any]) -> None:
    assert counted_table(form({"k": [], "n": []}), "k", "n").num_rows == 0
