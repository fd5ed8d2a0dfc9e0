"""A release on Spark: beside its own plain groupBy, beside DuckDB, and as data grows."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tamis
from benchmarks.events import Events
from benchmarks.measure import Cost, alone, grouped, in_turns, timed
from benchmarks.page import Extent, Section, table
from tamis.engines.spark.session import session

ROWS, CORES = 10_000_000, 2
WARM = 3  # turns, until Java has compiled what is used
UNITS: dict[str, Any] = {"unit": "user_id", "keys_per_unit": 4}
PROMISE: dict[str, Any] = {"key": "key", "epsilon": 1.0, "delta": 1e-8}
_DUCKDB = "import tamis\ntamis.release({path!r}, threads={cores}, **{asked!r}).save({out!r})"


def spark(extent: Extent) -> Section:
    """At equal cores, in one run."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = f"{folder}/events.parquet", f"{folder}/out.parquet"
        keys = Events(ROWS, 1.2, text=True).write(path)
        frame = session(CORES, "6g").read.parquet(path)
        cases = {"rows": (frame, dict[str, Any](), extent.pick(7, 11))}
        if not extent.quick:
            pairs = frame.groupBy("user_id", "key").count()
            cases["units, 4 keys each"] = (pairs, UNITS, 2)
        rows = list[tuple[str, ...]]()
        for name, (plain, more, repeats) in cases.items():
            asked = {**PROMISE, **more}
            place = Path(folder)
            (mine,) = in_turns(
                _written(plain, place), [_released(frame, place, asked)], repeats, WARM
            )
            (embedded,) = in_turns(
                grouped(path, "key", out), [_embedded(path, out, asked)], min(repeats, 5)
            )
            to_duckdb = mine.seconds / embedded.plain_seconds
            rows.append(
                (
                    name,
                    f"{embedded.plain_seconds:.2f}",
                    f"{embedded.seconds:.2f}",
                    f"{mine.plain_seconds:.2f}",
                    f"{mine.seconds:.2f}",
                    f"**{to_duckdb:.1f}**",
                    f"**{mine.ratio:.2f}**",
                )
            )
    heads = ("release of", "GROUP BY, DuckDB (s)", "tamis, DuckDB (s)", "groupBy, Spark (s)",
             "tamis, Spark (s)", "**ratio to DuckDB's GROUP BY**",
             "**ratio to Spark's groupBy**")  # fmt: skip
    text = (
        f"{ROWS:,} rows, {keys:,} keys of text, {CORES} cores for everyone (Spark: "
        f"local[{CORES}]), after {WARM} turns that do not count. groupBy: count, and write Parquet "
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
