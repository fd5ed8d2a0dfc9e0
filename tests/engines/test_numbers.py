"""Columns of numbers are read whole, as floats, or refused."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Request
from tamis.privacy.errors import BadData, InvalidInput

TABLE = pa.table(
    {
        "a": pa.array([1.5, -2.0, 1e300]),
        "b": pa.array([1, 2, 2**62]),
        "c": pa.array(["1e3", " 7 ", "-0.5"]),
        "d": pa.array([True, False, True]),
    }
)


def test_columns_come_in_the_order_in_which_they_are_asked_for() -> None:
    with DuckDB() as engine:
        read = engine.numbers(TABLE, ["c", "a", "b", "d"])
        assert read.dtype == np.float64
        assert read.flags.c_contiguous
        assert read.tolist() == [[1000, 1.5, 1, 1], [7, -2, 2, 0], [-0.5, 1e300, 2.0**62, 1]]
        assert engine.numbers(TABLE, ["b"], where="a < 2").tolist() == [[1], [2]]
        assert engine.numbers(TABLE, ["b"], where="a > 1e308").shape == (0, 1)


def test_a_table_of_a_database_is_read_and_odd_names_are_names(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as database:
        database.execute('CREATE TABLE t AS SELECT 3 AS "say ""x""", 4.25 AS "n0"')
    with DuckDB() as engine:
        read = engine.numbers(str(tmp_path / "d.duckdb"), ['say "x"', "n0"], table="t")
        assert read.tolist() == [[3, 4.25]]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None])
def test_a_number_that_is_not_finite_is_refused_and_can_be_left_out(
    value: float | None, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"a": pa.array([1.0, value, 3.0])}), tmp_path / "p.parquet")
    with DuckDB() as engine:
        with pytest.raises(BadData, match="leave them out with where='isfinite") as refused:
            engine.numbers(tmp_path / "p.parquet", ["a"])
        where = str(refused.value).partition("where='")[2].removesuffix("'.")
        assert engine.numbers(tmp_path / "p.parquet", ["a"], where).tolist() == [[1], [3]]


def test_text_that_is_no_number_is_refused_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a,b\n1,2\n3,secret-canary\n4,\n5,nan\n")
    with DuckDB() as engine:
        with pytest.raises(BadData, match="column 'b' holds what is not a finite") as refused:
            engine.numbers(tmp_path / "p.csv", ["a", "b"])
        assert "canary" not in str(refused.value)
        where = str(refused.value).partition("where='")[2].removesuffix("'.")
        assert engine.numbers(tmp_path / "p.csv", ["a", "b"], where).tolist() == [[1, 2]]


def test_columns_that_are_not_there_or_hold_no_numbers_are_refused() -> None:
    other = pa.table({"day": pa.array([0], pa.date32()), "list": [[1]], "bytes": [b"1"]})
    with DuckDB() as engine:
        for name in other.column_names:
            with pytest.raises(InvalidInput, match="and must hold numbers; convert it first"):
                engine.numbers(other, [name])
        with pytest.raises(InvalidInput, match="has no column 'e'; its columns are: a, b, c, d"):
            engine.numbers(TABLE, ["e"])
        with pytest.raises(InvalidInput, match="where may only look at the row itself"):
            engine.numbers(TABLE, ["a"], where="a > (SELECT 1)")


def test_what_was_counted_before_is_not_mixed_up_with_it() -> None:
    with DuckDB() as engine:
        before = engine.count(TABLE, Request(("b",)))
        engine.numbers(TABLE, ["a"])
        with pytest.raises(InvalidInput, match="has counted other data since"):
            before.frequencies()
