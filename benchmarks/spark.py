"""A release on Spark: beside its own plain groupBy, beside DuckDB, and as data grows."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tamis
from benchmarks.events import Events
from benchmarks.measure import Beside, Cost, alone, grouped, in_turns, timed
from benchmarks.page import Extent, Section, table
from tamis.engines.spark.session import session

ROWS, CORES = 10_000_000, 2
UNITS: dict[str, Any] = {"unit": "user_id", "keys_per_unit": 4}
PROMISE: dict[str, Any] = {"key": "key", "epsilon": 1.0, "delta": 1e-8}
_DUCKDB = "import tamis\ntamis.release({path!r}, threads={cores}, **{asked!r}).save({out!r})"


def spark(extent: Extent) -> Section:
    """At equal cores, in one run."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = f"{folder}/events.parquet", f"{folder}/out.parquet"
        keys = Events(ROWS, 1.2, text=True).write(path)
        frame = session(CORES, "6g").read.parquet(path)
        cases = {"rows": (frame, dict[str, Any](), extent.pick(5, 7))}
        if not extent.quick:
            pairs = frame.groupBy("user_id", "key").count()
            cases["units, 4 keys each"] = (pairs, UNITS, 3)
        rows = list[tuple[str, ...]]()
        for name, (plain, more, repeats) in cases.items():
            asked = {**PROMISE, **more}
            runs = [
                _written(plain, Path(folder)),
                _released(frame, Path(folder), asked),
                _embedded(path, out, asked),
            ]
            own, mine, embedded = in_turns(grouped(path, "key", out), runs, repeats, warm=True)
            rows.append(
                (
                    name,
                    f"{own.plain_seconds:.2f}",
                    f"{embedded.seconds:.2f}",
                    f"{own.seconds:.2f}",
                    f"{mine.seconds:.2f}",
                    f"**{mine.ratio:.1f}**",
                    f"**{Beside(own.ours, mine.ours).ratio:.2f}**",
                )
            )
    heads = ("release of", "GROUP BY, DuckDB (s)", "tamis, DuckDB (s)", "groupBy, Spark (s)",
             "tamis, Spark (s)", "**ratio to DuckDB's GROUP BY**",
             "**ratio to Spark's groupBy**")  # fmt: skip
    text = (
        f"{ROWS:,} rows, {keys:,} keys of text, {CORES} cores for everyone (Spark: "
        f"local[{CORES}]), after a turn that does not count. groupBy: count, and writing Parquet "
        "(units: pairs of user and key, then counted by key). tamis: `tamis.release(...)"
        ".save(...)`.\n\n"
    )
    return Section("Spark", text + table(heads, rows))


def _written(frame: Any, place: Path) -> Callable[[], Cost]:
    def run() -> None:
        shutil.rmtree(place / "plain", ignore_errors=True)
        frame.groupBy("key").count().write.parquet(str(place / "plain"))

    return lambda: timed(run)


def _released(frame: Any, place: Path, asked: dict[str, Any]) -> Callable[[], Cost]:
    return lambda: timed(lambda: tamis.release(frame, **asked).save(place / "release.parquet"))


def _embedded(path: str, out: str, asked: dict[str, Any]) -> Callable[[], Cost]:
    return lambda: alone(_DUCKDB.format(path=path, cores=CORES, asked=asked, out=out))
