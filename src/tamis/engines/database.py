"""A DuckDB database in memory that runs queries, and tells nothing of the data when one fails."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Callable, Collection
from typing import Any, Literal

import duckdb
import numpy.typing as npt
import pyarrow as pa

from tamis.engines.columns import no_text
from tamis.engines.protocol import Progress
from tamis.engines.source import Source, text
from tamis.privacy.errors import BadData, InvalidInput, shown
from tamis.sampling.attempt import attempt

Fetch = Literal["fetchall", "fetchnumpy", "to_arrow_table"]

SETTINGS = (
    # DuckDB 2.0 lets the CSV reader cast where TRY_CAST is asked for, and then it fails
    "SET disabled_optimizers = 'type_pushdown'",
    "SET enable_progress_bar = true",  # or DuckDB would not say how far it is
    "SET enable_progress_bar_print = false",  # it would go to stdout
    "SET python_enable_replacements = false",  # names in a query are tables, not Python variables
    "SET TimeZone = 'UTC'",  # moments are released in no one's local time
    # Spilled data is encrypted. DuckDB calls its built-in cipher unsafe because keys do not come
    # from the operating system: it keeps data out of what is left on a disk, not from an expert.
    "SET force_mbedtls_unsafe = 'true'",
    "SET temp_file_encryption = true",
)
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
# how DuckDB begins to say that text is not in UTF-8; what follows may be data
_UNREADABLE = re.compile("Invalid Input Error: Invalid (unicode|string encoding)")
_THREADS = 1024  # at most: as many as are asked for are started at once
_LOOK = 0.1  # seconds between looks at a running query


def connected(memory: str | None, threads: int | None, **more: str) -> duckdb.DuckDBPyConnection:
    """A database in memory within these limits; limits that cannot be are refused."""
    limits = {"memory_limit": memory, "threads": threads, **more}
    config: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    config["autoinstall_known_extensions"] = False
    many = isinstance(threads, int) and threads > _THREADS
    connect = lambda: _set(duckdb.connect(config=config))  # noqa: E731
    made = None if many else attempt(connect, duckdb.Error, RuntimeError)
    if made is None or isinstance(made, Exception):
        given = {"memory": memory, "threads": threads}
        told = (f"{name}={shown(value)}" for name, value in given.items() if value is not None)
        raise InvalidInput(
            f"{', '.join(told)}: there is a memory limit such as '4GB', and a number of threads "
            f"from 1 to {_THREADS:,}."
        )
    return made


def _set(database: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    for setting in SETTINGS:
        database.execute(setting)
    return database


def check_limits(memory: str | None, threads: int | None) -> int | None:
    """Refuse what DuckDB would refuse, for any engine; the memory in bytes, if it is limited."""
    if memory is None and threads is None:
        return None
    database = connected(memory, threads)
    found = None if memory is None else attempt(lambda: _memory_of(database), duckdb.Error)
    database.close()
    if isinstance(found, Exception):
        raise InvalidInput(f"memory={shown(memory)} is too little to begin with.")
    return found


def _memory_of(database: duckdb.DuckDBPyConnection) -> int:
    said = database.execute("SELECT current_setting('memory_limit')").fetchall()
    number, unit = said[0][0].split()
    return int(float(number) * 1024 ** _UNITS.index(unit))


class Database:
    """Runs queries. Spilled data goes to a folder of this user alone, which `close` removes."""

    def __init__(self, memory: str | None, threads: int | None, progress: Progress | None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tamis-", ignore_cleanup_errors=True)
        self._progress, self._percent, self._step = progress, 0.0, ("reading", 0.0, 0.0)
        self._connection: duckdb.DuckDBPyConnection | None = None
        self.wrong = "the data cannot be counted"
        try:
            self._connection = connected(memory, threads, temp_directory=self._folder.name)
        except InvalidInput:
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            attempt(self._connection.close, duckdb.Error)  # busy, if it was interrupted twice
        self._folder.cleanup()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        assert self._connection is not None
        return self._connection

    @property
    def memory(self) -> int:
        """How many bytes DuckDB may use."""
        return _memory_of(self.connection)

    @property
    def threads(self) -> int:
        """On how many threads work is done."""
        said = self.connection.execute("SELECT current_setting('threads')").fetchall()
        return int(said[0][0])

    def step(self, what: str, end: float) -> None:
        """What is going on from here to ``end`` per cent of all; with 0, all begins anew."""
        self._step = what, min(self._step[2], end), end
        self._percent = self._step[1]
        self._report(0.0)

    def run(self, query: str, fetch: Fetch = "fetchall", wrong: str | None = None) -> Any:
        """What a query finds. DuckDB's messages may hold data: only an error's kind is told."""
        call = _Call(lambda: self._fetch(query, fetch))
        try:
            call.start()
            while call.running(_LOOK):
                self._report(self.connection.query_progress())
        except BaseException:  # Ctrl-C, say: without this, the query would go on to its end
            while call.ident is not None and call.running(0):
                self.connection.interrupt()
                call.running(_LOOK)
            raise
        if isinstance(call.found, Exception):
            raise _refusal(call.found, wrong or self.wrong)
        return call.found

    def attach(self, source: Source, wrong: str | None = None) -> None:
        """Put the tables of a source that is a database in the place of those before."""
        self.run("USE memory")
        self.run("DETACH DATABASE IF EXISTS data")
        if source.attach is not None:
            self.run(f"ATTACH {text(source.attach)} AS data (READ_ONLY)", wrong=wrong)
            self.run("USE data")

    def typed(
        self, source: Source, wrong: str | None = None, wanted: Collection[str] = ()
    ) -> tuple[Source, dict[str, str]]:
        """A source, and the types of its columns; in files without types, all of them are text.

        Where names are found in the rows, the first rows are looked at, and all of them only if
        some that are ``wanted`` are not there: that takes longer than counting.
        """
        types = self._types(source, wrong)
        if source.loose and not types.keys() >= set(wanted):
            types = self._types(source.looked_through(), wrong)
        if source.loose:
            source = source.as_text(list(types))
            types = self._types(source, wrong)
        return source, types

    def _types(self, source: Source, wrong: str | None) -> dict[str, str]:
        found = self.run(f"DESCRIBE SELECT * FROM {source.table}", wrong=wrong)
        return {name: kind for name, kind, *_ in found}

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

    def _fetch(self, query: str, fetch: Fetch) -> Any:
        if fetch == "to_arrow_table":
            return self.connection.sql(query).to_arrow_table()
        return getattr(self.connection.execute(query), fetch)()

    def _report(self, done: float) -> None:
        """Tell how far this step is; never less than was told before."""
        if self._progress is not None:
            what, start, end = self._step
            self._percent = max(self._percent, start + (end - start) * done / 100)
            self._progress(what, self._percent)


class _Call(threading.Thread):
    """A call in a thread of its own, so that whoever waits for it can be interrupted."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._call, self._done = call, threading.Event()
        self.found: Any = None

    def run(self) -> None:
        self.found = attempt(self._call, Exception)
        self._done.set()

    def running(self, seconds: float) -> bool:
        """Whether it still runs, after waiting for it so long at most.

        An interrupted `join` would take it for finished (in Python 3.11).
        """
        return not self._done.wait(seconds)


def _refusal(error: Exception, wrong: str) -> Exception:
    if isinstance(error, (duckdb.OutOfMemoryException, MemoryError)):
        return MemoryError(
            "memory, or the disk for temporary files behind it, was not enough: make room there, "
            "or raise memory="
        )
    if isinstance(error, (duckdb.ConversionException, duckdb.OutOfRangeException)):
        return BadData(
            "a cast or a sum in where=, or in a query or view that is read, fails on some row: put "
            "TRY(...) around it, as in TRY(age::INTEGER) > 30, which gives NULL there."
        )
    if _UNREADABLE.match(str(error)) and "UTF-8" not in wrong:
        return no_text("a column that is read")
    if isinstance(error, duckdb.Error):
        return BadData(f"{wrong} ({type(error).__name__}).")
    return error
