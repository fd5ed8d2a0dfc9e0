"""An engine tells what is going on, and how far it is; it never goes back."""

from __future__ import annotations

from itertools import pairwise

import duckdb
import pyarrow as pa
import pytest

from tamis.engines.duckdb import AT_ONCE, DuckDB
from tamis.engines.protocol import Request

ROWS = 2_000_000
SLOW = "levenshtein(k || u::VARCHAR, 'abcdefghijkl') > 0"
ELEMENTS = ["reading", "counting"]
UNITS = ["reading", "listing keys", "reading units", "bounding units"]
WAYS: dict[str, tuple[Request, int, list[str]]] = {
    "elements": (Request(("k",), where=SLOW), AT_ONCE, ELEMENTS),
    "units": (Request(("k",), "u", where=SLOW), AT_ONCE, UNITS),
    "units in parts": (Request(("k",), "u"), ROWS // 3, UNITS),
}


@pytest.fixture(scope="module", params=["parquet", pytest.param("csv", marks=pytest.mark.slow)])
def events(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Enough for a second of work: DuckDB tells several times how far it is."""
    path = str(tmp_path_factory.mktemp("events") / f"e.{request.param}")
    query = f"SELECT 'key ' || (n % 9) AS k, n AS u FROM range({ROWS}) AS t(n)"
    with duckdb.connect() as database:
        database.execute(f"COPY ({query}) TO '{path}'")
    return path


@pytest.mark.parametrize(("asked", "at_once", "words"), WAYS.values(), ids=WAYS)
def test_all_work_is_one_way_that_never_goes_back(
    events: str, asked: Request, at_once: int, words: list[str]
) -> None:
    told = list[tuple[str, float]]()
    with DuckDB(None, 1, lambda what, done: told.append((what, done)), at_once) as engine:
        engine.count(events, asked).frequencies()
    done = [percent for _, percent in told]
    assert list(dict.fromkeys(what for what, _ in told)) == words
    assert all(0 <= a <= b <= 90 for a, b in pairwise(done))
    assert len(set(done)) > len(words), "DuckDB did not tell how far it was"


def test_the_next_data_begins_at_0_again() -> None:
    told = list[float]()
    with DuckDB(progress=lambda _, done: told.append(done)) as engine:
        for _ in range(2):
            engine.count(pa.table({"k": ["a"], "u": [1]}), Request(("k",), "u")).frequencies()
    steps = [n for n, before in zip(told, [-1.0, *told], strict=False) if n != before]
    assert steps == steps[: len(steps) // 2] * 2  # a slow machine may tell a step twice
    assert told[0] == 0
    assert told[-1] > 50
