"""The digest of a release file can be computed from its documentation, and covers all of it."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import struct
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.releases.digest import digest

PAGE = Path(__file__).parents[2] / "docs/release-file.md"
EPOCH = datetime.datetime(1970, 1, 1)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def released(values: Any, **options: Any) -> tamis.Release:
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "nulls": "keep"} | options
    return tamis.release(pa.table({"query": values}), key="query", **asked)


def saved(release: tamis.Release, folder: Path) -> str:
    """The digest that is in the file."""
    release.save(folder / "release.parquet")
    said = json.loads(pq.read_metadata(folder / "release.parquet").metadata[b"tamis"])
    return str(said["digest"])


def loaded(path: str) -> pa.Table:
    """The table of a file, with what the file says about itself."""
    said = pq.read_metadata(path).metadata
    return pq.read_table(path).replace_schema_metadata({b"tamis": said[b"tamis"]})


# --- the recipe of the documentation -------------------------------------------------------------

TRICKY = ["plain", "", '"', '""', 'a "quoted", one\n', "äöü 日本 😀", ",", "\x00", "NULL", None]


@pytest.fixture
def tricky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tamis.Release:
    """A release of text that a careless form would mix up, in the folder where we are."""
    monkeypatch.chdir(tmp_path)
    release = released(pa.array([v for n, v in enumerate(TRICKY) for _ in range(90 + 40 * n)]))
    assert set(release.to_arrow()["query"].to_pylist()) == set(TRICKY)
    release.save("release.parquet")
    return release


def test_the_documented_python_computes_it(tricky: tamis.Release) -> None:
    (recipe,) = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(recipe, "page", "exec"), names)
    assert names["digest"] == tricky.digest


def test_the_documented_python_notices_a_change(tricky: tamis.Release) -> None:
    pq.write_table(loaded("release.parquet").slice(1), "release.parquet")
    with pytest.raises(AssertionError):
        exec(compile(blocks("python")[0], "page", "exec"), {})


def test_the_documented_sql_computes_it_and_notices_a_change(tricky: tamis.Release) -> None:
    shown, recipe = blocks("sql")
    with duckdb.connect() as database:
        for statement in shown.split(";")[:2]:
            assert database.execute(statement).fetchall()
        assert database.execute(recipe).fetchall() == [(True,)]
        pq.write_table(loaded("release.parquet").slice(1), "release.parquet")
        assert database.execute(recipe).fetchall() == [(False,)]


def test_the_documented_sql_computes_that_of_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    released(pa.array([], pa.string())).save("release.parquet")
    with duckdb.connect() as database:
        assert database.execute(blocks("sql")[1]).fetchall() == [(True,)]


# --- keys of every type, by the table of the documentation ---------------------------------------


def plainly(value: Any, word: str) -> bytes:
    """A value as the table of the page says, in plain Python."""
    if value is None:
        return b""
    if word in ("text", "binary"):
        text: bytes = value.encode() if word == "text" else value
        return b'"' + text.replace(b'"', b'""') + b'"'
    name, _, digits = word.rstrip(")").partition("(")
    return b"%d" % WHOLE[name](value, int(digits or 0))


def figures(value: Decimal, _: int) -> int:
    parts = value.as_tuple()
    whole = int("".join(map(str, parts.digits)))
    return -whole if parts.sign else whole


def since(value: datetime.datetime, digits: int) -> int:
    microseconds = (value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1)
    return int(microseconds * 10**digits // 10**6)


WHOLE: dict[str, Callable[[Any, int], int]] = {
    "integer": lambda value, _: int(value),
    "boolean": lambda value, _: int(value),
    "float": lambda value, _: int(struct.unpack("<q", struct.pack("<d", value))[0]),
    "decimal": figures,
    "date": lambda value, _: int((value - EPOCH.date()).days),
    "time": lambda value, digits: since(datetime.datetime.combine(EPOCH, value), digits),
    "timestamp": since,
    "instant": since,
}


def recomputed(path: Path) -> str:
    table = pq.read_table(path)
    said = json.loads(pq.read_metadata(path).metadata[b"tamis"])
    said.pop("digest")
    words = [*said["types"], "integer", "float", "integer", "integer"]
    lines = [json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()]
    for row in table.to_pylist():
        lines.append(b",".join(map(plainly, row.values(), words)))
    return hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()


MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678_000)
KEYS: dict[str, tuple[str, pa.Array]] = {
    "text": ("text", pa.array(["a", "ä\n", None])),
    "categories": ("text", pa.array(["a", 'b"']).dictionary_encode()),
    "bytes": ("binary", pa.array([b"", b'\xff\x00"', None])),
    "whole numbers": ("integer", pa.array([-5, 2**62, None])),
    "small whole numbers": ("integer", pa.array([-128, 127], pa.int8())),
    "the largest whole number": ("integer", pa.array([0, 2**64 - 1], pa.uint64())),
    "truth": ("boolean", pa.array([True, False, None])),
    "decimals": ("decimal(2)", pa.array([Decimal("1.50"), Decimal("-0.01"), None])),
    "tiny decimals": ("decimal(20)", pa.array([Decimal(1).scaleb(-20), Decimal("1.5")],
                                              pa.decimal128(38, 20))),
    "dates": ("date", pa.array([datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None])),
    "times": ("time(6)", pa.array([datetime.time(1, 2, 3, 4), datetime.time(0), None])),
    "milliseconds": ("timestamp(3)", pa.array([MOMENT, EPOCH], pa.timestamp("ms"))),
    "moments": ("timestamp(6)", pa.array([MOMENT, datetime.datetime(1, 1, 1), None])),
    "nanoseconds": ("timestamp(9)", pa.array([MOMENT, EPOCH], pa.timestamp("ns"))),
    "time zones": ("instant(6)", pa.array([MOMENT, None], pa.timestamp("us", "UTC"))),
}  # fmt: skip


@pytest.mark.parametrize(("word", "values"), KEYS.values(), ids=KEYS)
def test_it_follows_the_documented_table_for_keys_of_every_type(
    word: str, values: pa.Array, tmp_path: Path
) -> None:
    release = released(pa.chunked_array([values] * 200))
    kept = saved(release, tmp_path)
    said = json.loads(pq.read_metadata(tmp_path / "release.parquet").metadata[b"tamis"])
    assert said["types"] == [word]
    assert kept == recomputed(tmp_path / "release.parquet") == release.digest
    assert tamis.open(tmp_path / "release.parquet") == release
    assert f"`{re.sub('[0-9]+', 'd', word)}`" in PAGE.read_text()


BEYOND = {
    "the end of time": pa.array([2**31 - 1, -(2**31) + 2], pa.date32()),
    "an endless moment": pa.array([2**63 - 1, -(2**63) + 1], pa.timestamp("us")),
    "a moment of many years": pa.array([10**17], pa.timestamp("ms")),
}


@pytest.mark.parametrize("values", BEYOND.values(), ids=BEYOND)
def test_moments_that_python_cannot_hold_have_one_too(values: pa.Array, tmp_path: Path) -> None:
    release = released(pa.chunked_array([values] * 200))
    assert saved(release, tmp_path) == release.digest
    assert tamis.open(tmp_path / "release.parquet").verify()


def test_whole_numbers_of_128_bits_have_one(tmp_path: Path) -> None:
    with duckdb.connect() as database:
        huge = database.sql(f"SELECT {2**127 - 1}::HUGEINT AS query FROM range(300)")
        release = tamis.release(huge, key="query", epsilon=1.0, delta=1e-6)
    assert saved(release, tmp_path) == recomputed(tmp_path / "release.parquet")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.none() | st.text(), st.none() | st.binary()), max_size=8))
def test_lines_can_be_taken_apart_again(rows: list[tuple[str | None, bytes | None]]) -> None:
    """What is hashed is what the documentation says; so two tables have two forms."""
    kinds = pa.schema([("a", pa.string()), ("b", pa.binary()), ("c", pa.float64())])
    given = [{"a": a, "b": b, "c": float(n)} for n, (a, b) in enumerate(rows)]
    table = pa.Table.from_pylist(given, kinds)
    lines = [
        b",".join(map(plainly, row.values(), ("text", "binary", "float"))) + b"\n" for row in given
    ]
    expected = hashlib.sha256(b'{"x":1}\n' + b"".join(lines)).hexdigest()
    assert digest({"x": 1}, table) == expected
    assert digest({"x": 1}, pa.concat_tables([table.slice(0, 3), table.slice(3)])) == expected


# --- what it covers, and what it does not depend on ----------------------------------------------


def test_it_does_not_depend_on_how_parquet_packs_the_rows(tricky: tamis.Release) -> None:
    table = loaded("release.parquet")
    ways: list[dict[str, Any]] = [
        {"compression": "none"},
        {"compression": "gzip", "row_group_size": 2},
        {"use_dictionary": False, "data_page_version": "2.0", "write_statistics": False},
        {"version": "1.0"},
    ]
    for way in ways:
        pq.write_table(table, "other.parquet", **way)
        assert Path("other.parquet").read_bytes() != Path("release.parquet").read_bytes()
        assert tamis.open("other.parquet").digest == tricky.digest


def test_a_file_that_another_library_wrote_with_the_same_contents_is_the_same_release(
    tricky: tamis.Release,
) -> None:
    said = pq.read_metadata("release.parquet").metadata[b"tamis"].decode()
    with duckdb.connect() as database:
        database.execute(
            "COPY (FROM 'release.parquet') TO 'other.parquet' "
            "(FORMAT parquet, KV_METADATA {tamis: $said})".replace("$said", quoted(said))
        )
    opened = tamis.open("other.parquet")
    assert opened == tricky
    assert opened.verify()


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def test_it_differs_when_anything_in_the_release_does(tmp_path: Path) -> None:
    values = pa.array(["a"] * 500 + ["b"] * 400)
    made = released(values)
    others = [
        made.top(1),
        made.rows("true"),  # the same rows, and yet a part
        released(values, where="true"),
        released(values, coverage=0.9),
        released(values, nulls="drop"),
        released(pa.array([b"a"] * 500 + [b"b"] * 400)),
    ]
    assert len({made.digest, *(other.digest for other in others)}) == 7


def test_the_same_release_has_the_same_bytes_and_comes_back_equal(tmp_path: Path) -> None:
    whole = released(pa.array(["a"] * 500 + ["b"] * 400))
    for release in (whole, whole.top(1), whole.rows("query = 'b'")):
        first, second = saved(release, tmp_path), (tmp_path / "release.parquet").read_bytes()
        assert saved(release, tmp_path) == first == release.digest
        assert (tmp_path / "release.parquet").read_bytes() == second
        opened = tamis.open(tmp_path / "release.parquet")
        assert (opened, opened.digest) == (release, first)


def test_a_million_rows_take_about_a_second() -> None:
    many = 1_000_000
    numbers = np.arange(many)
    text = pa.array([f"query {n}" for n in range(many)])
    table = pa.table({"k": text, "t": numbers, "e": numbers + 0.5, "l": numbers, "h": numbers})
    began = time.process_time()
    assert len(digest({}, table)) == 64
    assert time.process_time() - began < 4  # on a busy machine; about 0.5 on a quiet one
