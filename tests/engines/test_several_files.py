"""Several files are one table only if no unit or row could be taken for two."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine, Request
from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tests.engines.counting import counts
from tests.sources import Forbidden


@pytest.fixture
def one(tmp_path: Path) -> Path:
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"k": ["a"], "u": [1]}), path)
    return path


def refused(engine: Engine, data: object, request: Request, why: str) -> None:
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=why):
        engine.count(data, request).frequencies()


def test_a_file_that_is_named_twice_is_refused(engine: Engine, one: Path) -> None:
    link = one.with_name("link.parquet")
    link.symlink_to(one)
    for data in ([one, one], [one, link], str(one.parent / "*.parquet"), [one, one.parent / "o*"]):
        refused(engine, data, Request(("k",)), "named twice")


@pytest.mark.parametrize(
    "other", [{"k": ["a"], "u": ["1"]}, {"k": ["a"], "u": [1.0]}, {"k": ["a"]}]
)
def test_files_with_other_types_are_refused(
    engine: Engine, one: Path, other: dict[str, list[object]]
) -> None:
    pq.write_table(pa.table(other), one.with_name("other.parquet"))
    refused(engine, str(one.parent / "*.parquet"), Request(("k",), "u", 1), "types")


def test_folders_are_no_columns(engine: Engine, tmp_path: Path) -> None:
    for name in ("1", "abc"):
        (tmp_path / f"q={name}").mkdir()
        pq.write_table(pa.table({"k": ["a"]}), tmp_path / f"q={name}" / "part.parquet")
    pattern = str(tmp_path / "*" / "*.parquet")
    assert counts(engine, pattern, Request(("k",))) == {("a",): 2}
    refused(engine, pattern, Request(("q",)), "no column 'q'")


def test_a_condition_cannot_name_the_rows_of_a_table_called_like_a_column(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE visits AS SELECT range::VARCHAR AS visits FROM range(20)")
    with DuckDB() as engine:
        request = Request(("visits",), where="visits.rowid < 10")
        with pytest.raises(InvalidInput, match="plain names"):
            engine.count(path, request, "visits")


def test_a_condition_cannot_use_functions_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE t AS SELECT range::VARCHAR AS k FROM range(20)")
        database.execute("CREATE MACRO lower(x) AS (SELECT count(*) FROM t)::VARCHAR")
    with DuckDB() as engine:
        with pytest.raises(InvalidInput, match="functions of its own"):
            engine.count(path, Request(("k",), where="lower(k) = '20'"), "t")
        assert len(counts(engine, path, Request(("k",)), "t")) == 20
