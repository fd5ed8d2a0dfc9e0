"""What each stage on Spark costs for a row and for a key, and what that makes of 10^12 rows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import duckdb
import numpy as np
from scipy.optimize import nnls

import tamis
from benchmarks.charts import slopes
from benchmarks.measure import QUIET, grouped
from benchmarks.page import Chart, Extent, Section, table
from tamis.engines.protocol import Request
from tamis.engines.spark.engine import Spark
from tamis.engines.spark.session import session
from tamis.weighted.tokens import draw

CORES, KEYS_PER_UNIT = 2, 4
ROWS_THEN, KEYS_THEN, CORES_THEN = 10**12, 10**9, 1000
_REQUESTS = {
    "rows": Request(("key",)),
    "units": Request(("key",), "user_id", KEYS_PER_UNIT),
}
# what is done, and by what its cost grows
_STAGES = {
    "rows": ("read, group by key", "draw, name"),
    "units": ("read, group by unit and key", "bound units, group by key", "draw, name"),
}
_EVENTS = """
    COPY (
        SELECT 'query ' || floor(random() * {keys})::BIGINT AS key,
               floor(random() * {users})::BIGINT AS user_id
        FROM range({rows})
    ) TO '{path}'
"""


@dataclass(frozen=True)
class Size:
    rows: int
    keys: int


@dataclass(frozen=True)
class Stage:
    """Seconds, and megabytes that were shuffled, of one stage at one size."""

    level: str
    name: str
    size: Size
    seconds: float
    shuffled: float


def scale(extent: Extent) -> Section:
    """Measured at some sizes, and a plane laid through them."""
    million = extent.pick(200_000, 1_000_000)
    sizes = [
        Size(n * million, k * million // 10)
        for n, k in ((5, 5), (10, 5), (20, 5), (10, 1), (10, 20))
    ]
    found = [stage for size in sizes for stage in _measured(size)]
    plain = _plain(sizes[1])
    rows, levels = list[tuple[str, ...]](), dict[str, list[float]]()
    for level, names in _STAGES.items():
        for name in names:
            some = [stage for stage in found if (stage.level, stage.name) == (level, name)]
            per_row, per_key = _slopes(some, [stage.seconds * CORES for stage in some])
            row_bytes, key_bytes = _slopes(some, [stage.shuffled for stage in some])
            then = (per_row * ROWS_THEN + per_key * KEYS_THEN) / CORES_THEN
            moved = row_bytes * ROWS_THEN + key_bytes * KEYS_THEN
            levels.setdefault(level, []).append(then)
            rows.append(
                (
                    level,
                    name,
                    f"{1e6 * per_row:.2f}",
                    f"{1e6 * per_key:.2f}",
                    f"{row_bytes:.1f}",
                    f"{key_bytes:.0f}",
                    _duration(then),
                    f"{moved / 1e12:,.1f}",
                )
            )
    heads = ("release of", "stage", "µs of a core for a row", "for a key",
             "bytes shuffled for a row", "for a key", "10^12 rows, 1,000 cores",
             "shuffled (TB)")  # fmt: skip
    sums = "; ".join(f"{level}: {_duration(sum(parts))}" for level, parts in levels.items())
    rows_used, keys_used = [s.rows for s in sizes], [s.keys for s in sizes]
    text = (
        f"Spark local[{CORES}], {min(rows_used):,} to {max(rows_used):,} rows and "
        f"{min(keys_used):,} to {max(keys_used):,} keys of text, a tenth as many users as rows, "
        f"{KEYS_PER_UNIT} keys of each. Each stage is timed, and seconds times cores are fitted by "
        "a constant, a cost for each row and a cost for each key. DuckDB's plain GROUP BY of "
        f"{sizes[1].rows:,} of these rows takes {1e6 * CORES * plain:.2f} µs of a core for a row. "
        f"The last two columns are for {_power(ROWS_THEN)} rows and {_power(KEYS_THEN)} keys, from "
        f"these slopes.\n\n{table(heads, rows)}\n\nAll stages together, {_power(ROWS_THEN)} rows "
        f"on {CORES_THEN:,} cores: {sums}. That is what computing takes; what is shuffled comes on "
        "top where the network is slower than that: at 100 MB a second for each core, a TB takes "
        "10 seconds."
    )
    points = [
        {"of": s.level, "stage": s.name, "rows": s.size.rows, "seconds": s.seconds}
        for s in found
        if s.size.keys == sizes[0].keys
    ]
    chart = Chart("scale", "Seconds of each stage on Spark, by the number of rows", slopes(points))
    return Section("Scale", text, (chart,))


def _measured(size: Size) -> list[Stage]:
    """Every stage at one size, the quicker of two times."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/events.parquet"
        _write(size, path)
        found = list[Stage]()
        for level, names in _STAGES.items():
            turns = [_stages(path, level) for _ in range(2)]
            for name, costs in zip(names, zip(*turns, strict=True), strict=True):
                found.append(Stage(level, name, size, *min(costs)))
        return found


def _stages(path: str, level: str) -> list[tuple[float, float]]:
    """Seconds and bytes shuffled of each stage, one after the other."""
    running = session(CORES, "6g")
    frame, request = running.read.parquet(path), _REQUESTS[level]
    plan = tamis.plan(1.0, 1e-8, request.keys_per_unit)
    found, begun = list[tuple[float, float]](), _shuffled(running)

    def done(seconds: float) -> None:
        nonlocal begun
        now = _shuffled(running)
        found.append((seconds, now - begun))
        begun = now

    with Spark(session=running) as engine:
        start = time.perf_counter()
        counted = engine.count(frame, request)
        done(time.perf_counter() - start)
        start = time.perf_counter()
        frequencies = counted.frequencies()
        if level == "units":  # else there is nothing to do
            done(time.perf_counter() - start)
            start = time.perf_counter()
        frequencies.named(partial(draw, plan.mechanism))
        done(time.perf_counter() - start)
    return found


def _shuffled(running: Any) -> float:
    """Bytes that were written for shuffles so far."""
    executors = running.sparkContext._jsc.sc().statusStore().executorList(False)
    return float(sum(executors.apply(n).totalShuffleWrite() for n in range(executors.size())))


def _write(size: Size, path: str) -> None:
    with duckdb.connect() as database:
        database.execute(QUIET)
        users = size.rows // 10
        database.execute(_EVENTS.format(rows=size.rows, keys=size.keys, users=users, path=path))


def _plain(size: Size) -> float:
    """Seconds for a row of the plain GROUP BY."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/events.parquet"
        _write(size, path)
        run = grouped(path, "key", f"{folder}/out.parquet")
        return median(run().seconds for _ in range(3)) / size.rows


def _slopes(stages: Sequence[Stage], costs: Sequence[float]) -> tuple[float, float]:
    """The cost of a row and of a key, beside a constant, by least squares; neither is negative."""
    sizes = [[1.0, stage.size.rows, stage.size.keys] for stage in stages]
    scales = np.max(sizes, axis=0)
    found, _ = nnls(np.array(sizes) / scales, np.array(costs))
    return float(found[1] / scales[1]), float(found[2] / scales[2])


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _power(number: int) -> str:
    return f"10^{len(str(number)) - 1}"
