"""The stages of a release on Spark, one after the other: seconds, and what each shuffles."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import tamis
from benchmarks.measure import QUIET, grouped
from benchmarks.scale_law import Flow, Setting, flows, uniform
from tamis.engines.protocol import Request
from tamis.engines.spark.engine import Spark
from tamis.engines.spark.session import session
from tamis.weighted.tokens import draw

CORES = 2
LEVELS = ("rows", "units")
_EVENTS = """
    COPY (
        SELECT 'query ' || floor(random() * {keys})::BIGINT AS key,
               floor(random() * {users})::BIGINT AS user_id
        FROM range({rows})
    ) TO '{path}' (ROW_GROUP_SIZE {group})
"""
_SPLIT = "spark.sql.files.maxPartitionBytes"
_OPEN = "spark.sql.files.openCostInBytes"  # as which a file counts beside its size


@dataclass(frozen=True)
class Shuffle:
    """What one stage of Spark wrote for the next."""

    records: float
    bytes: float


@dataclass(frozen=True)
class Stage:
    """One stage in one setting; shuffles in their order, and keys where they are drawn for."""

    of: str
    name: str
    setting: Setting
    seconds: float
    shuffles: tuple[Shuffle, ...]
    keys: int = 0

    @property
    def flow(self) -> Flow:
        """What went in, and what went out by key, or by unit and key, which was counted."""
        if self.name == "draw, name":
            return Flow(self.keys)
        expected = flows(self.setting, uniform(self.setting.keys))[self.of, self.name]
        return Flow(expected.into, self.shuffles[-1].records)

    @property
    def core_seconds(self) -> float:
        return self.seconds * CORES

    @property
    def bytes(self) -> float:
        return sum(shuffle.bytes for shuffle in self.shuffles)


class Watch:
    """Tells what was done since it was last asked."""

    def __init__(self, running: Any) -> None:
        self._context, self._seen = running.sparkContext, -1
        self.lap()

    def lap(self) -> tuple[float, tuple[Shuffle, ...]]:
        """Seconds, and the shuffles of more than what sums over a partition need."""
        done = time.perf_counter()
        found = [stage for stage in self._stages() if stage.stageId() > self._seen]
        seconds = done - getattr(self, "_start", done)
        self._seen = max((stage.stageId() for stage in found), default=self._seen)
        moved = sorted((s.stageId(), s.shuffleWriteRecords(), s.shuffleWriteBytes(), s.numTasks())
                       for s in found)  # fmt: skip
        shuffles = tuple(Shuffle(many, size) for _, many, size, tasks in moved if many > tasks)
        self._start = time.perf_counter()
        return seconds, shuffles

    def _stages(self) -> Iterator[Any]:
        scala, gateway = self._context._jsc.sc(), self._context._gateway
        scala.listenerBus().waitUntilEmpty()
        nothing, words = gateway.new_array(gateway.jvm.double, 0), gateway.jvm.java.util.ArrayList()
        stages = scala.statusStore().stageList(None, False, False, nothing, words)
        return (stages.apply(n) for n in range(stages.size()))


def measured(setting: Setting, turns: int = 1) -> list[Stage]:
    """Every stage, each the quickest of some turns."""
    found = list[Stage]()
    with _written(setting) as path, _split(setting, path) as running:
        for level in LEVELS:
            runs = [_stages(running, path, setting, level) for _ in range(turns)]
            for stages in zip(*runs, strict=True):
                found.append(min(stages, key=lambda stage: stage.seconds))
    return found


def _stages(running: Any, path: str, setting: Setting, level: str) -> list[Stage]:
    bound = setting.keys_per_unit if level == "units" else None
    request = Request(("key",), "user_id", bound) if bound else Request(("key",))
    plan = tamis.plan(1.0, 1e-8, request.keys_per_unit)
    frame, watch, found = running.read.parquet(path), Watch(running), list[Stage]()
    with Spark(session=running) as engine:
        counted = engine.count(frame, request)
        first = "group by unit and key" if bound else "group by key"
        found.append(Stage(level, first, setting, *watch.lap()))
        frequencies: Any = counted.frequencies()
        if bound:  # else that was all
            found.append(Stage(level, "bound units, group by key", setting, *watch.lap()))
        frequencies.named(partial(draw, plan.mechanism))
        found.append(Stage(level, "draw, name", setting, *watch.lap(), frequencies.many))
    return found


def plain_seconds(setting: Setting) -> float:
    """Of DuckDB's plain GROUP BY of the same rows."""
    with _written(setting) as path:
        run = grouped(path, "key", f"{path}.out", cores=CORES)
        return median(run().seconds for _ in range(3))


@contextmanager
def _written(setting: Setting) -> Iterator[str]:
    """A file of such rows, while it is needed."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        path = f"{folder}/events.parquet"
        group = min(122_880, setting.rows // setting.partitions)
        sizes = {"rows": setting.rows, "keys": setting.keys, "users": setting.users}
        database.execute(QUIET)
        database.execute(_EVENTS.format(**sizes, path=path, group=group))
        yield path


@contextmanager
def _split(setting: Setting, path: str) -> Iterator[Any]:
    """A session that reads the file in so many partitions."""
    running = session(CORES, "6g")
    running.conf.set(_SPLIT, str(-(-Path(path).stat().st_size // setting.partitions)))
    running.conf.set(_OPEN, "0")
    try:
        yield running
    finally:
        running.conf.unset(_SPLIT)
        running.conf.unset(_OPEN)
