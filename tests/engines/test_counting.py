"""Every engine counts what a person would count, whatever the keys are and are called."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine, Nulls, Request
from tamis.privacy import randomness
from tests.engines.counting import counts, named, plain, table
from tests.sources import Forbidden

COLUMNS = {
    "word": pa.string(),
    "number": pa.int64(),
    "day": pa.date32(),
    "yes": pa.bool_(),
    "age": pa.int32(),
    "n": pa.int64(),
}
ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from(["a", "A", "b", "", "ä", "a\x00b", "it's", '"', "\n"]),
        st.none() | st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]),
        st.none() | st.dates(datetime.date(1, 1, 1), datetime.date(1, 1, 4)),
        st.none() | st.booleans(),
        st.integers(0, 3),
        st.integers(1, 5) | st.just(2**53),
    ),
    max_size=25,
)
KEYS = st.lists(st.sampled_from(["word", "number", "day", "yes"]), min_size=1, unique=True)


@settings(max_examples=40, deadline=None)
@given(ROWS, KEYS, st.sampled_from(["drop", "keep"]), st.booleans())
def test_elements_are_counted_as_in_plain_python(
    engine: Engine, rows: list[tuple[Any, ...]], key: list[str], nulls: Nulls, filtered: bool
) -> None:
    request = Request(tuple(key), where="age >= 2" if filtered else None, nulls=nulls)
    places = [list(COLUMNS).index(name) for name in key]
    wanted = plain(
        (tuple(row[p] for p in places) for row in rows if row[4] >= 2 or not filtered), nulls
    )
    with randomness.using(Forbidden()):
        assert counts(engine, table(COLUMNS, rows), request) == wanted


@settings(max_examples=20, deadline=None)
@given(ROWS, KEYS, st.sampled_from(["drop", "keep"]))
def test_counts_that_are_given_are_added_up_exactly(
    engine: Engine, rows: list[tuple[Any, ...]], key: list[str], nulls: Nulls
) -> None:
    places = [list(COLUMNS).index(name) for name in key]
    wanted: dict[tuple[Any, ...], int] = {}
    for row in rows:
        name = tuple(row[p] for p in places)
        if nulls == "keep" or None not in name:
            wanted[name] = wanted.get(name, 0) + row[5]
    request = Request(tuple(key), count="n", nulls=nulls)
    assert counts(engine, table(COLUMNS, rows), request) == wanted


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float64(), pa.decimal128(21, 2)], ids=str
)
def test_counts_may_be_of_any_type_that_holds_whole_numbers(engine: Engine, kind: Any) -> None:
    data = pa.table({"k": ["a", "b", "a"], "n": pa.array([1, 2, 3]).cast(kind)})
    assert counts(engine, data, Request(("k",), count="n")) == {("a",): 4, ("b",): 2}


@settings(max_examples=30, deadline=None)
@given(ROWS, KEYS, st.sampled_from(["drop", "keep"]))
def test_units_within_their_bounds_lose_nothing(
    engine: Engine, rows: list[tuple[Any, ...]], key: list[str], nulls: Nulls
) -> None:
    places = [list(COLUMNS).index(name) for name in key]
    request = Request(tuple(key), "age", keys_per_unit=25, elements_per_key=25, nulls=nulls)
    wanted = plain((tuple(row[p] for p in places) for row in rows), nulls)
    assert counts(engine, table(COLUMNS, rows), request) == wanted


NAMES = ["n", "code", "place", "rowid", "owner", "many", "k0", "k1", "data", "rows", "named"]
NAMES += ["counted", "found", "wanted", "pairs", "count", "unit", 'with "quotes"', "select", "é"]


@pytest.mark.parametrize("name", NAMES)
def test_columns_may_be_called_anything(engine: Engine, name: str) -> None:
    other = "k0" if name != "k0" else "n"
    data = pa.table({name: ["x", "x", "y"], other: [7, 7, 8], "u": [1, 2, 3]})
    assert counts(engine, data, Request((name,))) == {("x",): 2, ("y",): 1}
    assert counts(engine, data, Request((name, other), "u")) == {("x", 7): 2, ("y", 8): 1}


VALUES: dict[str, tuple[str, list[Any]]] = {
    "TINYINT": ("TINYINT", [-128, 127]),
    "UBIGINT": ("UBIGINT", [0, 2**64 - 1]),
    "HUGEINT": ("HUGEINT", [Decimal(-1), Decimal(0), Decimal(2**64)]),
    "DECIMAL": ("DECIMAL(9,2)", [Decimal("1.50"), Decimal("-0.01")]),
    "TIMESTAMP": ("TIMESTAMP", [datetime.datetime(2020, 2, 29, 1, 2, 3, 4)]),
    "TIME": ("TIME", [datetime.time(1, 2, 3)]),
    "BLOB": ("BLOB", [b"\x00\xff", b""]),
    "UUID": ("UUID", [str(uuid.UUID(int=1)), str(uuid.UUID(int=1 << 64))]),
    "ENUM": ("ENUM('small', 'large', 'never')", ["small", "large"]),
}


@pytest.mark.parametrize(("kind", "values"), VALUES.values(), ids=VALUES)
def test_keys_may_be_of_many_types(
    engine: Engine, tmp_path: Any, kind: str, values: list[Any]
) -> None:
    if kind == "TIME" and not isinstance(engine, DuckDB):
        pytest.skip("Spark has no times of day that it can count")
    path = str(tmp_path / "events.duckdb")
    with duckdb.connect(path) as database:
        database.execute(f"CREATE TABLE events (k {kind}, u INTEGER)")
        rows = [(value, n) for n, value in enumerate(values + values[:1])]
        database.executemany("INSERT INTO events VALUES (?, ?)", rows)
    wanted = plain((value,) for value, _ in rows)
    assert counts(engine, path, Request(("k",)), "events") == wanted
    assert counts(engine, path, Request(("k",), "u"), "events") == wanted


def test_no_type_of_key_brings_values_that_do_not_occur(engine: Engine, tmp_path: Any) -> None:
    seen = ["seen"] * 3
    with duckdb.connect(str(tmp_path / "events.duckdb")) as database:
        database.execute("CREATE TABLE e (k ENUM('seen', 'unseen'))")
        database.executemany("INSERT INTO e VALUES (?)", [(s,) for s in seen])
    whole = pa.array([*seen, "unseen"]).dictionary_encode()
    forms = {
        "arrow": pa.table({"k": whole.slice(0, 3)}),
        "pandas": pd.DataFrame({"k": pd.Categorical(seen, categories=["seen", "unseen"])}),
        "polars enum": pl.DataFrame({"k": pl.Series(seen, dtype=pl.Enum(["seen", "unseen"]))}),
        "polars categories": pl.DataFrame({"k": [*seen, "unseen"]}).cast(pl.Categorical).head(3),
        "duckdb": str(tmp_path / "events.duckdb"),
    }
    for form, data in forms.items():
        where = "e" if form == "duckdb" else None
        if where and not isinstance(engine, DuckDB):
            continue
        keys, _ = named(engine.count(data, Request(("k",)), where).frequencies())
        assert keys.schema.field("k").type == pa.string(), form
        assert b"unseen" not in b"".join(
            bytes(part) for chunk in keys["k"].chunks for part in chunk.buffers() if part
        ), form


def test_text_in_a_database_is_told_apart_whatever_its_collation(
    engine: Engine, tmp_path: Any
) -> None:
    path = str(tmp_path / "events.duckdb")
    with duckdb.connect(path) as database:
        database.execute("CREATE TABLE e (k VARCHAR COLLATE NOCASE, u VARCHAR COLLATE NOCASE)")
        database.execute("INSERT INTO e VALUES ('A', 'x'), ('a', 'X'), ('a', 'y')")
    for unit in (None, "u"):
        assert counts(engine, path, Request(("k",), unit), "e") == {("A",): 1, ("a",): 2}


@pytest.mark.parametrize("unit", [None, "u"])
def test_no_rows_give_no_keys(engine: Engine, unit: str | None) -> None:
    data = pa.table({"k": pa.array([], pa.string()), "u": pa.array([], pa.int64())})
    assert counts(engine, data, Request(("k",), unit)) == {}
    one = pa.table({"k": ["a"], "u": [5]})
    assert counts(engine, one, Request(("k",), unit)) == {("a",): 1}
    assert counts(engine, one, Request(("k",), unit, where="k = 'b'")) == {}


@pytest.mark.parametrize("unit", [None, "u"])
def test_many_keys_keep_their_order(engine: Engine, unit: str | None) -> None:
    many = 300 if unit and getattr(engine, "_at_once", 300) < 300 else 300_000
    data = pa.table({"k": np.arange(many) % (many // 3 * 2), "u": np.arange(many)})
    counted = engine.count(data, Request(("k",), unit)).frequencies()
    keys, tokens = counted.named(lambda found: np.where(found == 2, found + 5, 0))
    assert sorted(keys["k"].to_pylist()) == list(range(many // 3))
    assert (tokens == 7).all()
    assert counted.named(np.zeros_like)[0].num_rows == 0


@settings(max_examples=20, deadline=None)
@given(ROWS, st.sampled_from(["drop", "keep"]))
def test_the_spread_says_how_many_units_have_how_many_keys(
    engine: Engine, rows: list[tuple[Any, ...]], nulls: Nulls
) -> None:
    keys: dict[int, set[Any]] = {}
    for word, *_, age, _ in rows:
        if nulls == "keep" or word is not None:
            keys.setdefault(age, set()).add(word)
    wanted = [0] * 9
    for found in keys.values():
        wanted[(len(found) - 1).bit_length()] += 1
    request = Request(("word",), "age", nulls=nulls)
    with randomness.using(Forbidden()):
        spread = engine.count(table(COLUMNS, rows), request).spread()
    assert spread.tolist() == wanted


def test_what_was_counted_before_is_not_mistaken_for_what_is_counted_now(engine: Engine) -> None:
    first = engine.count(pa.table({"k": ["a"], "u": [1]}), Request(("k",), "u"))
    engine.count(pa.table({"k": ["b"], "u": [1]}), Request(("k",), "u"))
    with pytest.raises(tamis.InvalidInput, match="other data since"):
        first.frequencies()


class OneShot:
    """A stream that can be consumed once, as many objects of other libraries."""

    def __init__(self, table: pa.Table) -> None:
        self.table: pa.Table | None = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        assert self.table is not None, "it was read twice"
        given, self.table = self.table, None
        return given.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("form", [pa.Table.to_reader, OneShot], ids=["reader", "stream"])
def test_data_is_read_once_for_the_spread_and_the_frequencies(engine: Engine, form: Any) -> None:
    data = pa.table({"k": ["a", "a", "b"], "u": [1, 2, 2]})
    counted = engine.count(form(data), Request(("k",), "u", 9))
    assert counted.spread().tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert sorted(named(counted.frequencies())[1].tolist()) == [1, 2]


def test_frequencies_may_be_asked_for_with_another_bound(engine: Engine) -> None:
    data = pa.table({"k": range(50), "u": [1] * 50})
    for bound in (1, 7, 128):
        counted = engine.count(data, Request(("k",), "u", 128))
        assert len(named(counted.frequencies(bound))[1]) == min(50, bound)


def test_data_that_was_changed_in_place_is_counted_anew(engine: Engine) -> None:
    data = pd.DataFrame({"k": ["a", "a"], "u": [1, 2]})
    assert counts(engine, data, Request(("k",), "u")) == {("a",): 2}
    data.loc[1, "k"] = "b"
    assert counts(engine, data, Request(("k",), "u")) == {("a",): 1, ("b",): 1}


def test_moments_with_a_time_zone_are_the_same_moments_in_no_local_time(engine: Engine) -> None:
    day = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
    data = pa.table({"k": pa.array([day, day], pa.timestamp("us", tz="Asia/Tokyo"))})
    keys, _ = named(engine.count(data, Request(("k",))).frequencies())
    assert keys.schema.field("k").type == pa.timestamp("us", tz="UTC")
    assert keys["k"].to_pylist() == [day]
