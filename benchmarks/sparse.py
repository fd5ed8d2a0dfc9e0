"""What a summary of a sparse table costs: beside the plain GROUP BY, and by the number of cells."""

from __future__ import annotations

import tempfile
import time
from statistics import median

import numpy as np
import pyarrow as pa

import tamis
from benchmarks.release import REPEATS, make, measured

CELLS = """
    SELECT floor(random() * 2000000)::BIGINT AS home, floor(random() * 1000000)::BIGINT AS work
    FROM range({rows})
"""
PLAIN = """
import duckdb
database = duckdb.connect()
database.execute("SET enable_progress_bar = false")
database.execute("COPY (SELECT {key}, count(*) FROM '{events}' GROUP BY {key}) TO '{out}'")
"""
HELD = """
import duckdb
database = duckdb.connect()
database.execute("SET enable_progress_bar = false")
database.execute("CREATE TABLE counted AS SELECT {key}, count(*) FROM '{events}' GROUP BY {key}")
"""
SUMMARY = """
import tamis
area = tamis.Domain(home=2000000, work=1000000)
tamis.summarize('{events}', domain=area, epsilon=1.0, {options}).save('{out}')
"""


def cells() -> str:
    lines = [
        f"10,000,000 cells that hold something, of 2 * 10^12, median of {REPEATS}; plain: DuckDB's "
        "own COPY (SELECT home, work, count(*) GROUP BY home, work) TO a Parquet file; held: the "
        "same into a table in memory, with nothing written.\n",
        "| summary | plain (s) | held (s) | summary (s) | to plain | to held | plain (MB) | "
        "summary (MB) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        events = f"{folder}/cells.parquet"
        make(CELLS, events, 10_000_000, "home")
        for method in ("filter-priority", "filter", "priority"):
            options = f"size=100_000, method='{method}'"
            runs = [
                (
                    measured(PLAIN, events, "home, work", ""),
                    measured(HELD, events, "home, work", ""),
                    measured(SUMMARY, events, "", options),
                )
                for _ in range(REPEATS)
            ]
            plain, held, mine = (median(run[n][0] for run in runs) for n in range(3))
            small, large = (median(run[n][1] for run in runs) for n in (0, 2))
            to_plain, to_held = (median(run[2][0] / run[n][0] for run in runs) for n in range(2))
            lines.append(
                f"| {method} | {plain:.2f} | {held:.2f} | {mine:.2f} | **{to_plain:.2f}** | "
                f"**{to_held:.2f}** | {small:,.0f} | {large:,.0f} |"
            )
    return "\n".join(lines)


def domains() -> str:
    """The same number of cells that hold something, in ever larger domains of five attributes."""
    lines = [
        "100,000 cells that hold something (mean 100, standard deviation 20), a summary of "
        f"100,000, epsilon 0.1, five attributes; median of {REPEATS} from an Arrow table.\n",
        "| method | cells in all | seconds |",
        "|---|---|---|",
    ]
    for method in ("filter-priority", "priority"):
        for bits in (4, 10, 20):
            lines.append(f"| {method} | 2^{5 * bits} | {_seconds(method, bits):.2f} |")
    return "\n".join(lines)


def _seconds(method: str, bits: int) -> float:
    rng, n = np.random.default_rng(1), 100_000
    numbers = rng.choice(2**20, n, replace=False)  # different cells also in the smallest domain
    codes = [(numbers >> 4 * k & 15) + 16 * rng.integers(0, 2 ** (bits - 4), n) for k in range(5)]
    data = pa.table({f"a{k}": row for k, row in enumerate(codes)})
    counts = np.maximum(1, np.rint(rng.normal(100, 20, n))).astype(np.int64)
    data = data.append_column("n", pa.array(counts))
    area, times = tamis.Domain({f"a{k}": 2**bits for k in range(5)}), []
    for _ in range(REPEATS):
        start = time.perf_counter()
        tamis.summarize(data, domain=area, epsilon=0.1, size=n, count="n", method=method)
        times.append(time.perf_counter() - start)
    return median(times)
