"""Releases in folders, which Spark writes: whole or not at all, and none is paid for in vain."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.privacy import randomness
from tamis.privacy.ledger import open_ledger
from tamis.releases.folder import filing, make, place, writing
from tamis.releases.folder.reading import _files
from tests.sources import Forbidden
from tests.sparks import EVENTS, PROMISE


@pytest.fixture
def paid(tmp_path: Path) -> dict[str, Any]:
    """A release that is paid for."""
    with open_ledger(tmp_path / "ledger.sqlite") as opened:
        opened.create("rows", 1.0, 1e-6, "element")
    return {"budget": "rows", "ledger": tmp_path / "ledger.sqlite", **PROMISE}


def charges(paid: dict[str, Any]) -> int:
    with open_ledger(paid["ledger"]) as opened:
        return len(opened.history("rows"))


KINDS = [
    "cast(id % 40 AS string) AS k",
    "cast(id % 40 AS decimal(9, 2)) AS d",
    "timestamp_micros(id % 40) AS t",
    "if(id % 40 = 7, NULL, date_add(DATE'2020-01-01', 3)) AS y",
]


@pytest.mark.slow
def test_a_release_too_large_for_one_file_is_a_folder(
    session: Any, tmp_path: Path, paid: dict[str, Any]
) -> None:
    frame = session.range(8000).selectExpr(*KINDS)
    folder = tmp_path / "release"
    asked = {"key": ["k", "d", "t", "y"], "nulls": "keep", **PROMISE}
    made = tamis.release_folder(frame, folder, **paid | asked, engine=None)
    assert charges(paid) == 1
    assert made.to_spark().count() == 40
    whole = tamis.open(folder)
    assert whole.about == made.about
    assert len(whole) == 40
    assert whole.verify()
    assert whole.to_arrow().schema == tamis.release(frame, **asked).to_arrow().schema
    with pytest.raises(tamis.InvalidInput, match="exists already"):
        tamis.release_folder(frame, folder, **asked)


def test_what_was_changed_in_a_folder_is_refused(frame: Any, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    tamis.release_folder(frame, folder, key="q", **PROMISE)
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


def test_what_was_added_to_a_folder_is_refused(frame: Any, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    tamis.release_folder(frame, folder, key="q", **PROMISE)
    part = next(folder.glob("part-*.parquet"))
    for name in ("added.parquet", "part-7.parquet", "q=evil/part-00000-a.parquet"):
        added = folder / name
        added.parent.mkdir(exist_ok=True)
        shutil.copy(part, added)
        with pytest.raises(tamis.BadData, match="was changed"):
            tamis.open(folder)
        added.unlink()
    added.parent.rmdir()
    empty = folder / "part-00009-a.parquet"
    pq.write_table(pq.read_table(part).slice(0, 0), empty)
    with pytest.raises(tamis.BadData, match="it was added"):
        tamis.open(folder)
    empty.unlink()
    empty.mkdir()
    with pytest.raises(tamis.BadData, match="was changed"):
        tamis.open(folder)
    empty.rmdir()
    (folder / "_SUCCESS.txt").touch()  # what readers leave alone
    assert len(tamis.open(folder)) == 2


def test_files_of_a_folder_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = [f"part-{n:05}-x-c000.zstd.parquet" for n in (0, 7, 99_999, 100_000, 1_000_000)]
    for name in reversed(names):
        (tmp_path / name).touch()
    assert [path.name for _, path in _files(tmp_path)] == names


SLOW = pytest.mark.slow


FOLLOWING = 200  # more keys than are named, each of which is far from being so


def ends(folder: Path, key: str) -> list[tuple[int, str]]:
    """How many rows each file has, and its first key."""
    tables = [pq.read_table(path) for _, path in _files(folder)]
    return [(len(table), table[key][0].as_py()) for table in tables]


def test_where_files_end_is_told_by_what_is_named_and_by_nothing_else(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the order of the input, nor what is not named, nor in how many parts it comes."""
    monkeypatch.setattr(filing, "ROWS", 7)
    named = "sequence(0, 999 + 1000 * id)"  # never in another order than that of id
    many = session.range(40).selectExpr("format_string('key %02d', id) AS k", f"explode({named})")
    rare = session.range(FOLLOWING).selectExpr("concat('rare ', id) AS k")
    whole = many.select("k").repartition(3).unionByName(rare)
    inputs = {
        "as it is": many.select("k"),
        "with others": whole,
        "backwards": whole.orderBy("k", ascending=False).coalesce(2),
        "in parts": whole.repartition(11),
    }
    found = []
    for name, frame in inputs.items():
        made = tamis.release_folder(frame, tmp_path / name, key="k", **PROMISE)
        keys = [f"key {n:02}" for n in reversed(range(40))]
        assert tamis.open(tmp_path / name).to_arrow()["k"].to_pylist() == keys
        assert made.top(3).to_pydict()["k"] == keys[:3]
        found.append(ends(tmp_path / name, "k"))
    assert found[0] == [(7, f"key {n:02}") for n in (39, 32, 25, 18, 11)] + [(5, "key 04")]
    assert found == found[:1] * 4


@pytest.mark.parametrize(
    "name", ["_part", *(pytest.param(name, marks=SLOW) for name in ("a.b", "a`b", "token 1"))]
)
def test_a_folder_takes_keys_of_any_name(session: Any, tmp_path: Path, name: str) -> None:
    frame = session.createDataFrame(EVENTS.select(["q"])).toDF(name)
    session.conf.set("spark.sql.files.maxRecordsPerFile", 1)
    try:
        made = tamis.release_folder(frame, tmp_path / "r", key=name, **PROMISE)
    finally:
        session.conf.unset("spark.sql.files.maxRecordsPerFile")
    assert made.top(1).to_pylist()[0][name] == "maps"
    assert tamis.open(tmp_path / "r").to_arrow()[name].to_pylist() == ["maps", "news"]


def test_what_is_drawn_for_a_folder_is_drawn_once(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that could be computed again is dropped between writing rows and reading their digest."""
    digests = writing._digests

    def dropped(ordered: Any) -> Any:
        ordered.unpersist(blocking=True)
        return digests(ordered)

    monkeypatch.setattr(writing, "_digests", dropped)
    session.conf.set("spark.sql.shuffle.partitions", 1)  # where rows go is decided anew, too
    frame = session.range(40_000).selectExpr("id % 400 AS k")
    try:
        tamis.release_folder(frame, tmp_path / "r", key="k", **PROMISE)
    finally:
        session.conf.set("spark.sql.shuffle.partitions", 2)
    assert len(tamis.open(tmp_path / "r")) == 400


SPECULATIVE = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from tamis.engines.spark import java
java.prepare()
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[2]").config("spark.speculation", "true").getOrCreate()
import tamis
frame = session.range(40_000).selectExpr("id % 400 AS k")
try:
    tamis.release_folder(frame, "r", key="k", epsilon=1.0, delta=1e-9)
except tamis.InvalidInput as error:
    print("set spark.checkpoint.dir" in str(error), os.path.exists("r"))
session.sparkContext.setCheckpointDir("checkpoints")
os.rmdir(session.sparkContext.getCheckpointDir().removeprefix("file:"))
os.rmdir("checkpoints")
open("checkpoints", "w").close()
try:
    tamis.release_folder(frame, "r", key="k", epsilon=1.0, delta=1e-9)
except tamis.InvalidInput as error:
    print("cannot use spark.checkpoint.dir" in str(error), os.path.exists("r"))
os.remove("checkpoints")
tamis.release_folder(frame, "r", key="k", epsilon=1.0, delta=1e-9)
print(len(tamis.open("r")))
session.stop()
from tamis.sampling.stream import PpsworStream
for call in (
    lambda: tamis.release(frame, key="k", epsilon=1.0, delta=1e-9),
    lambda: tamis.release_folder(frame, "s", key="k", epsilon=1.0, delta=1e-9),
    lambda: PpsworStream(k=3).update_frame(frame, "k"),
):
    try:
        call()
    except tamis.InvalidInput as error:
        print("was stopped" in str(error))
"""


@pytest.mark.slow
def test_tasks_that_may_run_twice_at_once_need_files_to_settle_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SPECULATIVE],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["True False", "True False", "400", "True", "True", "True"]
    assert list((tmp_path / "checkpoints").rglob("part-*"))


def test_a_folder_is_refused_before_anything_is_charged(
    frame: Any, tmp_path: Path, paid: dict[str, Any]
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for folder, wrong, more in (
        (5, "folder must be a path", {}),
        (tmp_path / "r*", "takes for a pattern", {}),
        (tmp_path / "r", "is written by Spark", {"engine": "duckdb"}),
        (tmp_path / "r", "threads must be a whole number", {"threads": "2"}),
        (tmp_path / "r", "memory must be text", {"memory": 4}),
        (tmp_path / "r", "progress must be", {"progress": "yes"}),
        (tmp_path, "exists already", {}),
        (tmp_path / "empty", "exists already", {}),
        (tmp_path / "file", "exists already", {}),
        (f"file://{tmp_path}/file", "exists already", {}),
        (tmp_path / "file" / "r", "Spark cannot", {}),
        (tmp_path / ("r" * 300), r"Spark cannot write to '[^']*': Mkdirs failed", {}),
        (tmp_path / "r\0", "Spark cannot", {}),
        ("foo://there/r", 'No FileSystem for scheme "foo"', {}),
        ("foo:/there/r", 'No FileSystem for scheme "foo"', {}),
        ("s3a://there/r", "Spark cannot look at .*S3AFileSystem not found", {}),
    ):
        with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=wrong):
            tamis.release_folder(frame, folder, key="q", **more, **paid)  # type: ignore[arg-type]
    assert charges(paid) == 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("r")]


def test_a_release_that_is_refused_leaves_no_folder(
    frame: Any, tmp_path: Path, paid: dict[str, Any]
) -> None:
    tamis.release_folder(frame, tmp_path / "first", key="q", **paid)
    with pytest.raises(tamis.BudgetRefused):
        tamis.release_folder(frame, tmp_path / "second", key="q", **paid)
    assert not (tmp_path / "second").exists()
    assert tamis.release_folder(frame, tmp_path / "second", key="q", **PROMISE).count() == 2
    assert {path.name for path in tmp_path.glob("second/_*")} == {"_SUCCESS", "_tamis"}


@pytest.mark.parametrize("what", ["file", pytest.param("release", marks=SLOW)])
def test_what_others_write_there_meanwhile_stays_and_costs_nothing(
    frame: Any, tmp_path: Path, paid: dict[str, Any], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """They come after the first look, and before the place is taken."""
    take = place.Place.take

    def late(mine: place.Place) -> None:
        monkeypatch.undo()
        if what == "release":
            tamis.release_folder(frame, tmp_path / "r", key="q", **PROMISE)
        else:
            (tmp_path / "r" / "a=1").mkdir(parents=True)
            (tmp_path / "r" / "a=1" / "rows.csv").write_text("1\n")
        take(mine)

    monkeypatch.setattr(place.Place, "take", late)
    with pytest.raises(tamis.InvalidInput, match="exists already"):
        tamis.release_folder(frame, tmp_path / "r", key="q", **paid)
    assert charges(paid) == 0
    if what == "release":
        assert len(tamis.open(tmp_path / "r")) == 2
    else:
        assert [path.name for path in (tmp_path / "r").rglob("*")] == ["a=1", "rows.csv"]


def test_of_two_that_take_a_folder_at_once_neither_is_charged_nor_removes_the_others_mark(
    frame: Any, tmp_path: Path, paid: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have found nothing there: the other's mark comes at the very moment of ours."""
    write = place.Place._write

    def both(mine: place.Place, text: str, inside: str) -> None:
        write(mine, text, inside)
        (tmp_path / "r" / "_begun" / "part-00000-other.txt").write_text("another mark\n")

    monkeypatch.setattr(place.Place, "_write", both)
    with pytest.raises(tamis.InvalidInput, match="others write there too"):
        tamis.release_folder(frame, tmp_path / "r", key="q", **paid)
    assert charges(paid) == 0
    assert (tmp_path / "r" / "_begun" / "part-00000-other.txt").exists()


def test_draws_that_are_lost_are_an_error_and_no_new_draws(
    session: Any, frame: Any, tmp_path: Path, paid: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is kept on executors is dropped between the draw and the writing."""
    written = writing.written

    def dropped(*given: Any) -> Any:
        for kept in session.sparkContext._jsc.getPersistentRDDs().values():
            kept.unpersist(True)
        return written(*given)

    monkeypatch.setattr(make, "written", dropped)
    words = "could not write the release .* what it cost is spent"
    with pytest.raises(tamis.ReleaseFailed, match=words):
        tamis.release_folder(frame, tmp_path / "r", key="q", **paid)
    assert charges(paid) == 1
    with pytest.raises(tamis.BadData, match="no release that was finished"):
        tamis.open(tmp_path / "r")


# Spark's server may say so of an answer that it has sent, on a machine with much to do
CANCELLED = re.compile(r"^.*SQLSTATE: HY109\n(\s+at .*\n)+", re.MULTILINE)
OWN = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from tamis.engines.spark import java
java.prepare()
from pyspark.sql import SparkSession
builder = SparkSession.builder{start}
session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
import tamis
frame = session.range(40_000).selectExpr("id % 400 AS k")
tamis.release_folder(frame, "r", key="k", epsilon=1.0, delta=1e-9)
print(len(tamis.open("r")))
print("finished", file=sys.stderr, flush=True)  # what a server says as it ends is not of this
"""


@pytest.mark.slow
@pytest.mark.parametrize("start", ['.master("local[2]")', '.remote("local[2]")'])
def test_a_session_of_ones_own_logs_no_errors_of_a_release_that_succeeds(
    tmp_path: Path, start: str
) -> None:
    """Spark warns, with a stack trace, of a path that is not there, which is as it should be."""
    done = subprocess.run(
        [sys.executable, "-c", OWN.format(start=start)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout.splitlines()[-1:] == ["400"], done.stderr
    said = CANCELLED.sub("", done.stderr.split("finished")[0])
    for sign in ("FileStreamSink", "NotFoundException", "\tat ", "Traceback"):
        assert sign not in said
