"""Every kind of data gives the same counts, and nothing about a row depends on the others."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine, Request
from tamis.engines.source import source_of
from tamis.privacy import randomness
from tests.engines.counting import counts, named
from tests.errors import behind, told
from tests.sources import Forbidden

ROWS = [("a", 1, 7), ("a", 2, 5), ("b,c", 2, 1), ('"q"', 1, 2), ("ä\n", 3, 2), ("", 1, 1)]
TABLE = pa.table(
    {n: list(c) for n, c in zip(("k", "u", "n"), zip(*ROWS, strict=True), strict=True)}
)
COUNTS = {("a",): 2, ("b,c",): 1, ('"q"',): 1, ("ä\n",): 1}


def csv_text(delimiter: str = ",") -> bytes:
    cells = [("k", "u", "n"), *ROWS]
    quoted = [[f'"{str(c).replace(chr(34), 2 * chr(34))}"' for c in row] for row in cells[1:]]
    return "\r\n".join(delimiter.join(map(str, row)) for row in [cells[0], *quoted]).encode()


def json_text() -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in TABLE.to_pylist())


def write(path: Path, content: bytes) -> str:
    kinds = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    elif path.suffix in kinds:
        with pa.CompressedOutputStream(str(path), kinds[path.suffix]) as file:
            file.write(content)
    else:
        path.write_bytes(content)
    return str(path)


def parquet(folder: Path) -> str:
    pq.write_table(TABLE, folder / "e.parquet")
    return str(folder / "e.parquet")


def parts(folder: Path) -> str:
    pq.write_table(TABLE.slice(0, 2), folder / "part 1.parquet")
    pq.write_table(TABLE.slice(2), folder / "part 2.parquet")
    return str(folder / "part*.parquet")


def database(folder: Path) -> str:
    with duckdb.connect(folder / "e.duckdb") as made:
        made.register("given", TABLE)
        made.execute("CREATE TABLE selections AS FROM given; CREATE SCHEMA s")
        made.execute("CREATE TABLE s.rows AS FROM given; CREATE TABLE counted AS SELECT 'no' AS k")
    return str(folder / "e.duckdb")


FORMS: dict[str, Callable[[Path], Any]] = {
    "parquet": parquet,
    "path": lambda folder: Path(parquet(folder)),
    "glob": parts,
    "list": lambda folder: [parts(folder).replace("*", " 1"), parts(folder).replace("*", " 2")],
    "csv": lambda folder: write(folder / "e.csv", csv_text()),
    "csv.gz": lambda folder: write(folder / "e.csv.gz", csv_text()),
    "csv.zst": lambda folder: write(folder / "e.csv.zst", csv_text()),
    "tsv": lambda folder: write(folder / "e.tsv", csv_text("\t")),
    "csv with ;": lambda folder: write(folder / "e.txt", csv_text(";")),
    "csv with a mark": lambda folder: write(folder / "e.csv", b"\xef\xbb\xbf" + csv_text()),
    "jsonl": lambda folder: write(folder / "e.jsonl", json_text()),
    "jsonl.gz": lambda folder: write(folder / "e.jsonl.gz", json_text()),
    "ndjson.zst": lambda folder: write(folder / "e.ndjson.zst", json_text()),
    "json": lambda folder: write(folder / "e.json", json.dumps(TABLE.to_pylist()).encode()),
    "arrow": lambda folder: TABLE,
    "reader": lambda folder: TABLE.to_reader(),
    "pandas": lambda folder: TABLE.to_pandas(),
    "polars": lambda folder: pl.from_arrow(TABLE),
    "relation": lambda folder: duckdb.connect().from_arrow(TABLE),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("unit", [None, "u"])
def test_all_kinds_of_data_are_counted_alike(
    engine: Engine, tmp_path: Path, form: Callable[[Path], Any], unit: str | None
) -> None:
    found = counts(engine, form(tmp_path), Request(("k",), unit, 9, where="k <> ''"))
    assert found == COUNTS


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_counts_are_added_up_from_all_kinds_of_data(
    engine: Engine, tmp_path: Path, form: Callable[[Path], Any]
) -> None:
    found = counts(engine, form(tmp_path), Request(("k",), where="k <> ''", count="n"))
    assert found == {("a",): 12, ("b,c",): 1, ('"q"',): 2, ("ä\n",): 2}


TABLES = ["selections", "s.rows", "SELECT * FROM selections", "from s.rows -- all"]
TABLES += ["WITH x AS (FROM selections) SELECT * FROM x", " select\n* from data.s.rows"]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("unit", [None, "u"])
def test_a_database_is_read_by_table_or_query(
    engine: Engine, tmp_path: Path, table: str, unit: str | None
) -> None:
    request = Request(("k",), unit, 9, where="k <> ''")
    assert counts(engine, database(tmp_path), request, table) == COUNTS


def test_a_query_with_chance_in_it_is_run_once(engine: Engine, tmp_path: Path) -> None:
    query = "SELECT (random() * 1e9)::BIGINT AS k, n AS u FROM range(500) AS t(n)"
    found = counts(engine, database(tmp_path), Request(("k",), "u"), query)
    assert sum(found.values()) == 500


def test_a_name_with_brackets_is_no_pattern_if_there_is_such_a_file(
    engine: Engine, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"k": ["right"]}), tmp_path / "x[1].parquet")
    pq.write_table(pa.table({"k": ["wrong"]}), tmp_path / "x1.parquet")
    request = Request(("k",))
    assert counts(engine, str(tmp_path / "x[1].parquet"), request) == {("right",): 1}
    assert counts(engine, str(tmp_path / "x[12].parquet"), request) == {("wrong",): 1}


# --- one row says nothing about another ----------------------------------------------------------

STRANGE = ["text", "1e400", "2020-13-45", "", "true", "-0"]


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_one_strange_value_changes_neither_the_types_nor_the_other_keys(
    engine: Engine, tmp_path: Path, kind: str, strange: str
) -> None:
    def released(values: list[str]) -> tuple[pa.Schema, dict[tuple[Any, ...], int]]:
        path = tmp_path / f"e.{kind}"
        lines = [json.dumps({"k": v}) for v in values] if kind == "jsonl" else ["k", *values]
        path.write_text("\n".join(lines) + "\n")
        request = Request(("k",), where="k <> '5'")
        keys, _ = named(engine.count(str(path), request).frequencies())
        return keys.schema, counts(engine, str(path), request)

    for usual in ("7", "2020-01-01", "true", "0.5", "007"):
        plain_schema, plain_counts = released([usual] * 3)
        schema, found = released([usual] * 3 + [strange])
        assert schema == plain_schema == pa.schema({"k": pa.string()})
        found.pop((strange,), None)
        if strange != usual:
            assert found == plain_counts == {(usual,): 3}


def test_columns_of_files_without_types_are_compared_as_text_or_converted(
    engine: Engine, tmp_path: Path
) -> None:
    path = write(tmp_path / "e.csv", csv_text())
    with pytest.raises(tamis.InvalidInput, match="are text: write age::INTEGER > 30"):
        engine.count(path, Request(("k",), where="u > 1"))
    found = counts(engine, path, Request(("k",), where="u::INTEGER > 1"))
    assert found == {("a",): 1, ("b,c",): 1, ("ä\n",): 1}


# --- what is refused -----------------------------------------------------------------------------


def truncated(folder: Path) -> str:
    whole = Path(parquet(folder)).read_bytes()
    return write(folder / "cut.parquet", whole[: len(whole) // 2])


def corrupt(folder: Path) -> str:
    secret = pa.table({"k": [f"secret {n}" for n in range(3000)]})
    pq.write_table(secret, folder / "bad.parquet", compression="zstd")
    content = bytearray((folder / "bad.parquet").read_bytes())
    content[100:400] = bytes(300)
    return write(folder / "bad.parquet", bytes(content))


def folder_of(folder: Path) -> str:
    (folder / "in.parquet").mkdir()
    return str(folder / "in.parquet")


BAD: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing": (lambda f: str(f / "no.parquet"), "there is no file"),
    "no match": (lambda f: str(f / "no*.csv"), "no file matches"),
    "one of two missing": (lambda f: [parquet(f), str(f / "no.parquet")], "there is no file"),
    "two kinds": (lambda f: [parquet(f), write(f / "e.csv", b"k\n")], "different kinds"),
    "a folder": (folder_of, "is a folder"),
    "empty parquet": (lambda f: write(f / "e.parquet", b""), "cannot be read"),
    "text as parquet": (lambda f: write(f / "e.parquet", b"secret " * 99), "cannot be read"),
    "truncated parquet": (truncated, "cannot be read"),
    "corrupt parquet": (corrupt, "cannot be counted"),
    "odd name": (lambda f: write(f / os.fsdecode(b"\xff.csv"), b"k\n"), "not in UTF-8"),
    "unknown kind": (lambda f: write(f / "e.xlsx", b""), "no known kind"),
    "empty csv": (lambda f: write(f / "e.csv", b""), "first line must name the columns"),
    "headers twice": (lambda f: write(f / "e.csv", b"k,K\n"), "first line must name the columns"),
    "other headers": (
        lambda f: [write(f / "1.csv", b"k,u\na,1\n"), write(f / "2.csv", b"u,k\n1,a\n")],
        "different headers",
    ),
    "not utf-8": (lambda f: write(f / "e.csv", b"k\nsecret\xff\n"), "not in UTF-8"),
    "more cells": (lambda f: write(f / "e.csv", b"k,u\nsecret,1,2\n"), "do not fit"),
    "fewer cells": (lambda f: write(f / "e.csv", b"k,u\nsecret\n"), "do not fit"),
    "open quote": (lambda f: write(f / "e.csv", b'k,u\n"secret,1\na,2\n'), "do not fit"),
    "not gzip": (lambda f: str((f / "e.csv.gz").write_bytes(b"secret") and f / "e.csv.gz"), "read"),
    "broken json": (lambda f: write(f / "e.jsonl", b'{"k": "secret\n'), "cannot be read"),
    "no table named": (database, "name a table"),
    "not a database": (lambda f: write(f / "e.db", b"secret " * 999), "name a table"),
    "a list": (lambda f: [1, 2], "must be a path"),
    "an empty list": (lambda f: [], "must be a path"),
    "nothing": (lambda f: None, "must be a path"),
    "lazy": (lambda f: pl.LazyFrame({"k": ["secret"]}), r"collect\(\) first"),
    "mixed types": (lambda f: pd.DataFrame({"k": ["secret", 3]}), "values of one type"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "words"), BAD.values(), ids=BAD)
def test_data_that_cannot_be_read_is_refused_in_one_sentence(
    engine: Engine, tmp_path: Path, data: Callable[[Path], Any], words: str
) -> None:
    given = data(tmp_path)
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=words) as refused:
        engine.count(given, Request(("k",)))
    said = str(refused.value)
    assert "secret" not in said
    assert said.endswith(".")
    assert "\n" not in said
    assert list(behind(refused.value)) == [refused.value]


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything, so it takes the rights of a user who may not."""
    if os.geteuid() != 0:
        yield
        return
    try:
        os.seteuid(65534)
    except OSError:
        pytest.skip("root cannot give up its rights here, and may read everything")
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="rights are given as on Unix")
@pytest.mark.parametrize("name", ["e.parquet", "e.csv", "e.jsonl", "e.csv.gz", "e.duckdb"])
@pytest.mark.parametrize("closed", ["file", "folder"])
def test_a_file_that_may_not_be_read_is_not_called_damaged(name: str, closed: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(b"secret\n")
        path.chmod(0 if closed == "file" else 0o644)
        Path(folder).chmod(0 if closed == "folder" else 0o755)
        with as_nobody(), pytest.raises(tamis.BadData, match="no permission to read") as refused:
            source_of(str(path), "e" if name.endswith("duckdb") else None)
        Path(folder).chmod(0o700)
    assert list(behind(refused.value)) == [refused.value]


TABLES_REFUSED = ["no_such", "s.no_such", "SELECT * FROM no_such", "SELECT zz FROM selections"]
TABLES_REFUSED += ["SELECT 1; DROP TABLE selections", "SELECT * FROM TABLE", "SELECT (", ""]


@pytest.mark.parametrize("table", TABLES_REFUSED)
def test_tables_and_queries_that_do_not_work_are_refused(
    engine: Engine, tmp_path: Path, table: str
) -> None:
    with pytest.raises(tamis.BadData, match="no such table, or the query"):
        engine.count(database(tmp_path), Request(("k",)), table)


def test_a_table_is_for_databases_only(tmp_path: Path) -> None:
    for data in (TABLE, parquet(tmp_path)):
        with pytest.raises(tamis.InvalidInput, match="table"):
            source_of(data, "events")
    with DuckDB() as engine, pytest.raises(tamis.BadData, match="cannot be opened"):
        engine.count(write(tmp_path / "e.db", b"secret " * 999), Request(("k",)), "t")


def test_the_first_line_of_a_file_is_not_shown_because_it_may_be_a_row(
    engine: Engine, tmp_path: Path
) -> None:
    path = write(tmp_path / "e.csv", b"secret,alice\nsecret,bob\n")
    for request in (Request(("query",)), Request(("secret",), where="query = 'x'")):
        with pytest.raises(tamis.InvalidInput, match="is its first line a header") as refused:
            engine.count(path, request)
        assert "alice" not in str(refused.value)
    for close in ("alise", "bob", "secre"):
        with pytest.raises(tamis.InvalidInput, match=r"no column '\w+'; look at .*\)\.$"):
            engine.count(path, Request((close,)))


@pytest.mark.parametrize("given", ["User ID", "user-id", "USERID", "_user_id"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_name_that_is_only_written_in_another_way_is_guessed(
    engine: Engine, tmp_path: Path, kind: str, given: str
) -> None:
    content = {"csv": b"query,user_id\na,1\n", "jsonl": b'{"query": "a", "user_id": 1}\n'}[kind]
    path = write(tmp_path / f"e.{kind}", content)
    for request in (Request((given,)), Request(("query",), where=f'"{given}" = 1')):
        with pytest.raises(tamis.InvalidInput, match=r"Did you mean 'user_id'\?$"):
            engine.count(path, request)


def test_a_refused_type_does_not_show_the_values_it_lists(engine: Engine, tmp_path: Path) -> None:
    path = str(tmp_path / "e.duckdb")
    with duckdb.connect(path) as made:
        made.execute("CREATE TABLE e (k VARCHAR, n ENUM('secret'), l ENUM('secret')[])")
    for request in (Request(("k",), count="n"), Request(("l",))):
        with pytest.raises(tamis.InvalidInput, match="type") as refused:
            engine.count(path, request, "e")
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "request_", [Request(("late",)), Request(("k",), where="late = 'x'")], ids=["key", "where"]
)
def test_a_column_of_json_lines_may_appear_late(
    engine: Engine, tmp_path: Path, request_: Request
) -> None:
    """Later than in the first rows, which are looked at for names."""
    lines = ['{"k": "a"}'] * 30_000 + ['{"k": "a", "late": "x"}']
    path = write(tmp_path / "e.jsonl", "\n".join(lines).encode())
    assert list(counts(engine, path, request_).values()) == [1]


@pytest.mark.parametrize("options", [{"memory": "much"}, {"threads": 0}, {"threads": -1}])
def test_limits_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(tamis.InvalidInput, match="a memory limit such as"):
        DuckDB(**options)


WRONG_TABLES: dict[str, tuple[pa.Table, str]] = {
    "no columns": (pa.table({}), "data has no columns"),
    "names that are alike": (pa.table({"K": ["a"], "k": ["b"]}), "does not tell apart, such as q"),
    "text": (
        pa.table({"k": pa.array([b"secret\xff"]).view(pa.string())}),
        "a column that is read holds text that is not in UTF-8: repair it, or leave it out.$",
    ),
}


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize(("table", "said"), WRONG_TABLES.values(), ids=WRONG_TABLES)
def test_what_is_wrong_with_a_table_is_said(
    engine: Engine, tmp_path: Path, table: pa.Table, said: str, as_file: bool
) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(table, path)
    with pytest.raises(tamis.InvalidInput, match=said) as refused:
        engine.count(str(path) if as_file else table, Request(("k",)))
    assert "secret" not in told(refused.value)
