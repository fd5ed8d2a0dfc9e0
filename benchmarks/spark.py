"""A release on Spark: beside its own plain groupBy, beside DuckDB, and as data grows."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tamis
from benchmarks.events import Events
from benchmarks.measure import Beside, Cost, alone, grouped, in_turns, watched
from benchmarks.page import Extent, Section, table
from tamis.engines.spark.session import session

ROWS, CORES, MEMORY = 10_000_000, 2, "6g"
UNITS: dict[str, Any] = {"unit": "user_id", "keys_per_unit": 4}
PROMISE: dict[str, Any] = {"key": "key", "epsilon": 1.0, "delta": 1e-8}
_DUCKDB = "import tamis\ntamis.release({path!r}, threads={cores}, **{asked!r}).save({out!r})"


_HEADS = ("release of", "GROUP BY, DuckDB (s)", "tamis, DuckDB (s)", "groupBy, Spark (s)",
          "tamis, Spark (s)", "**ratio to DuckDB's GROUP BY**", "**ratio to Spark's groupBy**",
          "**ratio to tamis, DuckDB**")  # fmt: skip
_MEMORY_HEADS = ("release of", "GROUP BY, DuckDB (MB)", "tamis, DuckDB (MB)", "**memory**",
                 "groupBy, Spark (MB)", "**memory**", "tamis, Spark (MB)",
                 "**memory**")  # fmt: skip
_ASKED = """
import tamis
from tamis.engines.spark.session import session
frame = session({cores}, {memory!r}).read.parquet({path!r})
{work}
"""
_PLAIN_WORK = "{frame}.groupBy('key').count().write.parquet({out!r})"
_OUR_WORK = "tamis.release(frame, **{asked!r}).save({out!r})"
_PAIRS = "frame.groupBy('user_id', 'key').count()"


@dataclass(frozen=True)
class Case:
    """What is released, the frame whose keys Spark counts beside it, and how many turns.

    Those that do not count are for Java, which compiles what is used often.
    """

    name: str
    plain: Any
    more: dict[str, Any]
    warm: int
    repeats: int
    folder: bool = False  # written by Spark, and not by the driver


def spark(extent: Extent) -> Section:
    """At equal cores, in one run."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/events.parquet"
        keys = Events(ROWS, 1.2, text=True).write(path)
        memory = table(_MEMORY_HEADS, _memory(path, Path(folder), extent))  # before there is a Java
        frame = session(CORES, MEMORY).read.parquet(path)
        first = _first(frame, Path(folder))
        cases = _cases(frame, extent)
        rows = [_measured(case, frame, path, Path(folder)) for case in cases]
        named = len(tamis.release(path, **PROMISE))
    short = "; ".join(f"{row[0]}: {row[6].strip('*')} times" for row in rows)
    return Section(
        "Spark",
        "\n\n".join([_explained(keys, named, cases), table(_HEADS, rows), first, _MEMORY, memory]),
        short=f"a release of {ROWS:,} rows beside Spark's own groupBy, count and write: {short}.",
    )


def _cases(frame: Any, extent: Extent) -> list[Case]:
    pairs = frame.groupBy("user_id", "key").count()
    return [
        Case("rows", frame, {}, 8, extent.pick(9, 11)),
        Case("rows, into a folder", frame, {}, 1, extent.pick(2, 5), folder=True),
        Case("units, 4 keys each", pairs, UNITS, extent.pick(0, 2), extent.pick(1, 3)),
    ]


def _first(frame: Any, place: Path) -> str:
    """What a session takes that has done nothing yet, which no turn below counts."""
    runs = (_written(frame, place), _released(frame, place, PROMISE))
    plain, mine = (run().seconds for run in runs)
    return (
        "The very first of a session, when Java has compiled nothing, and Python has not been "
        f"started on the executors: groupBy {plain:.1f} s, and after it, with what Java has "
        f"compiled for that, tamis (rows) {mine:.1f} s."
    )


def _measured(case: Case, frame: Any, path: str, place: Path) -> tuple[str, ...]:
    """All four in turns, so that a ratio is one of neighbours."""
    asked, out = {**PROMISE, **case.more}, str(place / "out.parquet")
    released = _into_folder if case.folder else _released
    runs = [_embedded(path, out, asked), _written(case.plain, place),
            released(frame, place, asked)]  # fmt: skip
    found = in_turns(grouped(path, "key", out, cores=CORES), runs, case.repeats, case.warm)
    embedded, grouping, mine = found
    return (
        case.name,
        f"{mine.plain_seconds:.2f}",
        f"{embedded.seconds:.2f}",
        f"{grouping.seconds:.2f}",
        f"{mine.seconds:.2f}",
        f"**{mine.ratio:.1f}**",
        f"**{Beside(grouping.ours, mine.ours).ratio:.2f}**",
        f"**{Beside(embedded.ours, mine.ours).ratio:.1f}**",
    )


def _explained(keys: int, named: int, cases: Sequence[Case]) -> str:
    turns = [f"{case.warm} ({case.name})" for case in cases]
    return (
        f"{ROWS:,} rows, {keys:,} keys of text, {CORES} cores for everyone (Spark: "
        f"local[{CORES}]), all four in turns, after {', '.join(turns)} turns that do not count; a "
        "ratio is the median of those of turns. groupBy: count, and write all keys as Parquet "
        "(units: pairs of user and key, then counted by key). tamis, which writes those that are "
        f"named, some {named:,} of rows: "
        "`tamis.release(...).save(...)`, or `tamis.release_folder`, which keeps what was drawn, "
        "sorts it and writes it with a digest. "
        "Units cost what the groupBy of "
        "pairs does not do: pairs are kept, because they "
        "are checked before a budget is charged and used after it, and go once more over the "
        "network, by unit, where each unit's are sorted; docs/scale.md has what each stage takes."
    )


_MEMORY = (
    f"Memory, at most, of one run in a new process: of DuckDB's, or of Python, its Java, which is "
    f"allowed {MEMORY}, and the Pythons that this starts. **memory**: to DuckDB's GROUP BY. Much "
    "of Java's is what it was allowed and has not given back yet."
)


def _memory(path: str, place: Path, extent: Extent) -> list[tuple[str, ...]]:
    """Each in a process of its own: one Java would keep what another run has made it take."""
    frames: dict[str, tuple[str, dict[str, Any]]] = {"rows": ("frame", {})}
    if not extent.quick:
        frames["units, 4 keys each"] = (_PAIRS, UNITS)
    plain = grouped(path, "key", str(place / "out.parquet"), cores=CORES)().megabytes
    rows = list[tuple[str, ...]]()
    for name, (frame, more) in frames.items():
        asked, out = {**PROMISE, **more}, str(place / f"{name}.parquet")
        works = [_PLAIN_WORK.format(frame=frame, out=f"{out}.plain")]
        works.append(_OUR_WORK.format(asked=asked, out=out))
        found = [_embedded(path, out, asked)().megabytes]
        found += [_new_spark(path, work) for work in works]
        cells = [cell for mb in found for cell in (f"{mb:,.0f}", f"**{mb / plain:.1f}**")]
        rows.append((name, f"{plain:,.0f}", *cells))
    return rows


def _new_spark(path: str, work: str) -> float:
    """Megabytes of a Spark that does only this, and of the Python that asks it."""
    code = _ASKED.format(cores=CORES, memory=MEMORY, path=path, work=work)
    words = [sys.executable, "-c", code]
    return watched(lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL)).megabytes


def _written(frame: Any, place: Path) -> Callable[[], Cost]:
    def run() -> None:
        shutil.rmtree(place / "plain", ignore_errors=True)
        frame.groupBy("key").count().write.parquet(str(place / "plain"))

    return lambda: watched(run)


def _released(frame: Any, place: Path, asked: dict[str, Any]) -> Callable[[], Cost]:
    return lambda: watched(lambda: tamis.release(frame, **asked).save(place / "release.parquet"))


def _into_folder(frame: Any, place: Path, asked: dict[str, Any]) -> Callable[[], Cost]:
    def run() -> None:
        shutil.rmtree(place / "folder", ignore_errors=True)
        tamis.release_folder(frame, place / "folder", **asked)

    return lambda: watched(run)


def _embedded(path: str, out: str, asked: dict[str, Any]) -> Callable[[], Cost]:
    return lambda: alone(_DUCKDB.format(path=path, cores=CORES, asked=asked, out=out))
