"""What a release costs beside the plain GROUP BY, in time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import duckdb

REPEATS = 3
EVENTS = """
    SELECT 'query ' || floor(pow(560000.0, random()) + pow(random(), 3) * 330000)::BIGINT
           || ' of the day' AS query,
           floor(pow(random(), 1.5) * 1000000)::BIGINT AS user_id
    FROM range({rows})
"""
NUMBERS = "SELECT floor(pow(random(), 3) * 3300000)::BIGINT AS item FROM range({rows})"
PLAIN = """
import duckdb
database = duckdb.connect()
database.execute("SET enable_progress_bar = false")
database.execute("COPY (SELECT {key}, count(*) FROM '{events}' GROUP BY {key}) TO '{out}'")
"""
RELEASE = """
import tamis
tamis.release('{events}', key='{key}', epsilon=1.0, delta=1e-8, {options}).save('{out}')
"""
MEASURED = """
import time, json
import duckdb, tamis.releases.make, tamis.releases.summary.make, tamis.engines.duckdb
start = time.perf_counter()
{code}
took = time.perf_counter() - start
# of this process alone; getrusage would begin with what the one that started it had used
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps([took, int(status["VmHWM"].split()[0]) / 1024]))
"""


def release() -> str:
    with tempfile.TemporaryDirectory() as folder:
        events, numbers = f"{folder}/events.parquet", f"{folder}/numbers.parquet"
        distinct = make(EVENTS, events, 10_000_000, "query")
        lines = [
            f"10,000,000 rows, {distinct:,} text keys, 1,000,000 users, median of {REPEATS}; "
            "plain: DuckDB's own COPY (SELECT key, count(*) GROUP BY key) TO a Parquet file. "
            "Reading, drawing and writing are timed, importing is not.\n",
            "| release | plain (s) | release (s) | ratio | plain (MB) | release (MB) | ratio |",
            "|---|---|---|---|---|---|---|",
            row("rows", events, "query", ""),
            row("units, 10 keys each", events, "query", "unit='user_id', keys_per_unit=10"),
        ]
        Path(events).unlink()
        distinct = make(NUMBERS, numbers, 100_000_000, "item")
        seconds, used = measured(RELEASE, numbers, "item", "memory='2GB'")
        lines.append(
            f"\n100,000,000 rows, {distinct:,} whole numbers as keys, memory='2GB': "
            f"{seconds:.1f} s, {used:,.0f} MB at most."
        )
    return "\n".join(lines)


def make(query: str, path: str, rows: int, key: str) -> int:
    with duckdb.connect() as database:
        database.execute("SET enable_progress_bar = false")
        database.execute("SELECT setseed(0.5)")
        database.execute(f"COPY ({query.format(rows=rows)}) TO '{path}'")
        found = database.execute(f"SELECT count(DISTINCT {key}) FROM '{path}'").fetchone()
        return int(found[0]) if found else 0


def row(name: str, events: str, key: str, options: str) -> str:
    pairs = [
        (measured(PLAIN, events, key, ""), measured(RELEASE, events, key, options))
        for _ in range(REPEATS)
    ]
    plain, mine = median(a[0] for a, _ in pairs), median(b[0] for _, b in pairs)
    small, large = median(a[1] for a, _ in pairs), median(b[1] for _, b in pairs)
    time = median(b[0] / a[0] for a, b in pairs)
    return (
        f"| {name} | {plain:.2f} | {mine:.2f} | **{time:.2f}** | {small:,.0f} | {large:,.0f} | "
        f"**{large / small:.2f}** |"
    )


def measured(code: str, events: str, key: str, options: str) -> tuple[float, float]:
    """Seconds and MB, in a process of its own."""
    filled = code.format(events=events, key=key, out=f"{events}.out", options=options)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED.format(code=filled)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, used = json.loads(done.stdout)
    return seconds, used
