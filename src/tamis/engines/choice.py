"""Which engine does the work: the one that is given or named, or the one that suits the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from tamis.engines.protocol import Engine, NumbersEngine, Progress
from tamis.sampling.spark import is_frame

Name = Literal["duckdb", "spark"]
Choice = Engine | Name | None
NAMES = ("duckdb", "spark")


@contextmanager
def engine_for(
    data: Any, choice: Choice, memory: str | None, threads: int | None, progress: Progress
) -> Iterator[Engine]:
    """The engine: one that is made here is closed afterwards."""
    if choice is not None and not isinstance(choice, str):
        yield choice
        return
    with made_for(data, choice, memory, threads, progress) as made:
        yield made


@contextmanager
def made_for(
    data: Any, choice: Name | None, memory: str | None, threads: int | None, progress: Progress
) -> Iterator[NumbersEngine]:
    """An engine of tamis, which is closed afterwards."""
    if choice == "spark" or (choice is None and is_frame(data)):
        from tamis.engines.spark.engine import Spark

        with Spark(memory, threads, progress) as spark:
            yield spark
        return
    from tamis.engines.duckdb import DuckDB

    with DuckDB(memory, threads, progress) as duckdb:
        yield duckdb
