"""A DuckDB database in memory that runs queries, and tells nothing of the data when one fails."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import duckdb
import numpy.typing as npt
import pyarrow as pa

from tamis.privacy.errors import BadData, InvalidInput

Progress = Callable[[float], None]
Fetch = Literal["fetchall", "fetchnumpy", "to_arrow_table"]

SETTINGS = (
    "SET enable_progress_bar = false",  # it would go to stdout
    "SET python_enable_replacements = false",  # names in a query are tables, not Python variables
    "SET TimeZone = 'UTC'",  # moments are released in no one's local time
    # Spilled data is encrypted. DuckDB calls its built-in cipher unsafe because keys do not come
    # from the operating system: it keeps data out of what is left on a disk, not from an expert.
    "SET force_mbedtls_unsafe = 'true'",
    "SET temp_file_encryption = true",
)


class Database:
    """Runs queries. Spilled data goes to a folder of this user alone, which `close` removes."""

    def __init__(self, memory: str | None, threads: int | None, progress: Progress | None) -> None:
        self._folder, self._progress = tempfile.mkdtemp(prefix="tamis-"), progress
        self._connection: duckdb.DuckDBPyConnection | None = None
        self.wrong = "the data cannot be counted"
        limits = {"memory_limit": memory, "threads": threads, "temp_directory": self._folder}
        given = {name: value for name, value in limits.items() if value is not None}
        try:
            self._connection = duckdb.connect(
                config={**given, "autoinstall_known_extensions": False}
            )
            for setting in SETTINGS:
                self._connection.execute(setting)
        except duckdb.Error:
            self.close()
            raise InvalidInput(
                f"memory={memory!r}, threads={threads!r}: DuckDB takes a memory limit such as "
                "'4GB' and a number of threads of at least 1."
            ) from None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        assert self._connection is not None
        return self._connection

    def run(self, query: str, fetch: Fetch = "fetchall", wrong: str | None = None) -> Any:
        """What a query finds. DuckDB's messages may hold data: only an error's kind is told."""
        try:
            with self._watched():
                if fetch == "to_arrow_table":
                    return self.connection.sql(query).to_arrow_table()
                return getattr(self.connection.execute(query), fetch)()
        except duckdb.OutOfMemoryException:
            raise BadData("memory (or the disk behind it) was not enough; raise memory.") from None
        except duckdb.Error as error:
            raise BadData(f"{wrong or self.wrong} ({type(error).__name__}).") from None

    def make(self, name: str, query: str) -> None:
        """Keep what a query finds as the table temp.name."""
        self.run(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def show(self, name: str, table: pa.Table) -> None:
        """Make an Arrow table known as temp.name."""
        self.connection.register(name, table)

    def hide(self, name: str) -> None:
        self.connection.unregister(name)

    def holds(self, query: str) -> bool:
        """Whether a query finds anything."""
        return bool(self.run(f"{query} LIMIT 1"))

    def number(self, query: str) -> int:
        """The one number that a query finds."""
        return int(self.run(query)[0][0])

    def column(self, table: str, column: str) -> npt.NDArray[Any]:
        """A column of a table that was made, in the order of its rows."""
        found = self.run(f"SELECT {column} FROM temp.{table}", "fetchnumpy")
        values: npt.NDArray[Any] = found[column]
        return values

    def _watched(self) -> AbstractContextManager[None]:
        return nullcontext() if self._progress is None else _Watch(self.connection, self._progress)


class _Watch(AbstractContextManager[None]):
    """Reports the progress of a running query, a few times a second."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, report: Progress) -> None:
        self._connection, self._report, self._done = connection, report, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._done.wait(0.2):
            self._report(max(0.0, float(self._connection.query_progress())))

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
