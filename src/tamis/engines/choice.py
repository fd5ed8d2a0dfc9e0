"""Which engine does the work: the one that is given or named, or the one that suits the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from tamis.engines.protocol import Engine, Progress
from tamis.engines.spark.session import is_frame

Choice = Engine | Literal["duckdb", "spark"] | None
NAMES = ("duckdb", "spark")


@contextmanager
def engine_for(
    data: Any, choice: Choice, memory: str | None, threads: int | None, progress: Progress
) -> Iterator[Engine]:
    """The engine: one that is made here is closed afterwards."""
    if choice is not None and not isinstance(choice, str):
        yield choice
        return
    if choice == "spark" or (choice is None and is_frame(data)):
        from tamis.engines.spark.engine import Spark

        with Spark(memory, threads, progress) as spark:
            yield spark
        return
    from tamis.engines.duckdb import DuckDB

    with DuckDB(memory, threads, progress) as duckdb:
        yield duckdb
