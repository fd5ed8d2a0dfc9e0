"""A release on Spark beside the plain groupBy that it replaces, in the same session, in turns."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import tamis
from tamis.engines.spark.session import session

ROWS, CORES, REPEATS = 10_000_000, 2, 7
_EVENTS = f"""
COPY (
    SELECT 'query ' || floor(exp(random() * 13.8))::BIGINT AS query,
           (random() * 1e6)::BIGINT AS person
    FROM range({ROWS})
) TO '{{path}}' (FORMAT parquet)
"""


def spark() -> str:
    """Element level and unit level, each with its own plain query."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        duckdb.execute(_EVENTS.format(path=place / "events.parquet"))
        events = session(CORES, "6g").read.parquet(str(place / "events.parquet"))
        keys = events.select("query").distinct().count()
        lines = [
            f"{ROWS:,} rows, {keys:,} keys of text, Spark local[{CORES}], medians of {REPEATS} "
            "after one that does not count. Plain: groupBy, count, and writing Parquet (units: "
            "pairs of person and query, counted by query). Ours: `tamis.release(...).save(...)`.\n",
            "| release | plain (s) | ours (s) | ratio |",
            "|---|---|---|---|",
        ]
        pairs = events.groupBy("person", "query").count()
        units = {"unit": "person", "keys_per_unit": 4}
        for name, plain, more in (("elements", events, {}), ("units, 4 keys each", pairs, units)):
            lines.append(_row(name, _written(plain, place), _released(events, place, more)))
    return "\n".join(lines)


def _written(frame: Any, place: Path) -> Callable[[], object]:
    def run() -> None:
        shutil.rmtree(place / "plain", ignore_errors=True)
        frame.groupBy("query").count().write.parquet(str(place / "plain"))

    return run


def _released(events: Any, place: Path, more: dict[str, Any]) -> Callable[[], object]:
    def run() -> None:
        made = tamis.release(events, key="query", epsilon=1.0, delta=1e-8, **more)
        made.save(place / "release.parquet")

    return run


def _row(name: str, plain: Callable[[], object], ours: Callable[[], object]) -> str:
    times = [(_once(plain), _once(ours)) for _ in range(REPEATS + 1)][1:]
    ratio = median(mine / other for other, mine in times)
    first, second = (median(side) for side in zip(*times, strict=True))
    return f"| {name} | {first:.2f} | {second:.2f} | **{ratio:.2f}** |"


def _once(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    print(spark())
