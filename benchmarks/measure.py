"""Seconds and megabytes, always beside the plain GROUP BY of the same data in the same run.

What is timed begins after imports and ends when the result is written. Two things that are compared
run in turns, so that a noisy machine hits both, and a ratio is the median of the ratios of turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import duckdb
import pyarrow as pa

QUIET = "SET enable_progress_bar = false"

_ALONE = """
import time, json
import {imports}
start = time.perf_counter()
{code}
took = time.perf_counter() - start
# of this process alone; getrusage would begin with what the one that started it had used
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps([took, int(status["VmHWM"].split()[0]) / 1024]))
"""
OURS = "duckdb, tamis.releases.make, tamis.releases.summary.make, tamis.engines.duckdb"
_QUERY = """
database = duckdb.connect(config={config!r})
database.execute({quiet!r})
database.execute({query!r})
"""


@dataclass(frozen=True)
class Cost:
    """What one run took: seconds, and megabytes at most."""

    seconds: float
    megabytes: float = 0.0


@dataclass(frozen=True)
class Beside:
    """Some runs, each beside a run of something plain."""

    plain: tuple[Cost, ...]
    ours: tuple[Cost, ...]

    @property
    def seconds(self) -> float:
        return median(cost.seconds for cost in self.ours)

    @property
    def plain_seconds(self) -> float:
        return median(cost.seconds for cost in self.plain)

    @property
    def ratio(self) -> float:
        """Of the times."""
        turns = zip(self.ours, self.plain, strict=True)
        return median(mine.seconds / other.seconds for mine, other in turns)

    @property
    def megabytes(self) -> float:
        return median(cost.megabytes for cost in self.ours)

    @property
    def plain_megabytes(self) -> float:
        return median(cost.megabytes for cost in self.plain)

    @property
    def memory(self) -> float:
        """The ratio of what is used of memory."""
        turns = zip(self.ours, self.plain, strict=True)
        return median(mine.megabytes / other.megabytes for mine, other in turns)


def in_turns(
    plain: Callable[[], Cost], ours: Sequence[Callable[[], Cost]], repeats: int, warm: int = 0
) -> list[Beside]:
    """Each of ours beside the plain one, after ``warm`` turns that do not count."""
    for _ in range(warm):
        _ = [run() for run in (plain, *ours)]
    turns = [(plain(), [run() for run in ours]) for _ in range(repeats)]
    base = tuple(one for one, _ in turns)
    return [Beside(base, tuple(many[n] for _, many in turns)) for n in range(len(ours))]


def alone(code: str, imports: str = OURS) -> Cost:
    """A piece of Python in a process of its own, which has imported what it needs."""
    words = [sys.executable, "-c", _ALONE.format(imports=imports, code=code)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-2000:])
    return Cost(*json.loads(done.stdout))


def timed(run: Callable[[], object]) -> Cost:
    """A call in this process."""
    start = time.perf_counter()
    run()
    return Cost(time.perf_counter() - start)


def watched(run: Callable[[], object]) -> Cost:
    """A call in this process, and the memory of all that it has started, at most meanwhile."""
    looks, done = [0.0], threading.Event()

    def look() -> None:
        while not done.wait(0.05):
            looks.append(sum(map(megabytes, _children(os.getpid()))))

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        try:
            cost = timed(run)
        finally:
            done.set()
        looking.result()
    return Cost(cost.seconds, max(looks))


def megabytes(pid: int) -> float:
    """Of a process and all that it has started."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0  # it has just ended
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20 + sum(map(megabytes, _children(pid)))


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(c) for t in tasks for c in (t / "children").read_text().split()]
    except OSError:
        return []


def grouped(
    path: str, key: str, out: str, count: str = "count(*)", cores: int | None = None
) -> Callable[[], Cost]:
    """The plain GROUP BY of a file, written as Parquet, in a process of its own."""
    query = f"COPY (SELECT {key}, {count} AS n FROM '{path}' GROUP BY {key}) TO '{out}'"
    return queried(query, cores)


def queried(query: str, cores: int | None = None) -> Callable[[], Cost]:
    """A query of DuckDB in a process of its own, on all cores or so many."""
    config = {} if cores is None else {"threads": cores}
    return lambda: alone(_QUERY.format(config=config, quiet=QUIET, query=query), "duckdb")


def grouped_table(table: pa.Table, key: str, count: str = "count(*)") -> Callable[[], Cost]:
    """The plain GROUP BY of a table in memory, in this process."""

    def run() -> None:
        with duckdb.connect() as database:
            database.execute(QUIET)
            database.register("data", table)
            database.execute(
                f"CREATE TABLE counted AS SELECT {key}, {count} AS n FROM data GROUP BY {key}"
            )

    return lambda: timed(run)
