"""The embedded engine: DuckDB reads, filters and groups, on all cores, with disk behind memory."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engines.bounding import Collision, Keys, Secret, bounded_counts
from tamis.engines.condition import check_condition
from tamis.engines.protocol import Counted, Engine, Ints, Request
from tamis.engines.source import Source, identifier, source_of, text
from tamis.privacy import randomness
from tamis.privacy.errors import BadData, InvalidInput

Progress = Callable[[float], None]

AT_ONCE = 25_000_000  # rows of a unit-level release that are bounded at a time
_TRIES = 8  # hashes that are tried before giving up on a set of keys
_COUNTED = ("VARCHAR", "BOOLEAN", "DATE", "TIME", "TIMESTAMP", "UUID", "ENUM", "BLOB", "INTERVAL")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


class DuckDB:
    """An `Engine` with a database of its own in memory.

    Spilled data goes to a folder that only this user can read and that `close` removes.
    """

    def __init__(
        self,
        memory: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        at_once: int = AT_ONCE,
    ) -> None:
        self._folder = tempfile.mkdtemp(prefix="tamis-")
        config: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": self._folder,
            "autoinstall_known_extensions": False,
        }
        if memory is not None:
            config["memory_limit"] = memory
        if threads is not None:
            config["threads"] = threads
        self._progress, self._at_once = progress, at_once
        try:
            self._database = duckdb.connect(config=config)
            self._database.execute("SET enable_progress_bar = false")  # it would go to stdout
        except duckdb.Error:
            self.close()
            raise InvalidInput(
                f"memory={memory!r}, threads={threads!r}: DuckDB takes a memory limit such as "
                "'4GB' and a number of threads of at least 1."
            ) from None

    def close(self) -> None:
        if hasattr(self, "_database"):
            self._database.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> DuckDB:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def count(self, data: Any, request: Request, table: str | None = None) -> Counted:
        """Count the keys of data; nothing is drawn but which keys of a unit survive."""
        source = source_of(data, table)
        self._open(source)
        types = self._types(source, request)
        rows = self._rows(source, request, types)
        if request.unit is None:
            return self._count_elements(rows, request, types)
        return self._count_units(rows, request, types)

    def spread(self, data: Any, request: Request, table: str | None = None) -> Ints:
        """How many units have 1, 2, 3 to 4, 5 to 8, ..., 65 to 128, and more keys."""
        source = source_of(data, table)
        self._open(source)
        rows = self._rows(source, request, self._types(source, request))
        unit, keys = identifier(request.unit or ""), _columns(request.key)
        many = f"SELECT count(DISTINCT ({keys})) AS c FROM {rows} GROUP BY {unit}"
        step = "CASE WHEN c > 128 THEN 8 ELSE ceil(log2(c))::BIGINT END"
        found = self._run(f"SELECT {step} AS step, count(*) AS n FROM ({many}) GROUP BY step")
        spread = np.zeros(9, dtype=np.int64)
        for place, units in found.fetchall():
            spread[place] = units
        return spread

    # --- reading ---------------------------------------------------------------------------------

    def _open(self, source: Source) -> None:
        if source.attach is not None:
            self._run(
                f"ATTACH IF NOT EXISTS {text(source.attach)} AS data (READ_ONLY)",
                f"{source.name} cannot be opened as a DuckDB database",
            )
        if source.registered is not None:
            given = source.registered
            if type(given).__name__ == "DuckDBPyRelation":
                given = given.to_arrow_table()  # it lives in a database of its own
            elif not isinstance(given, pa.Table):
                given = pa.table(given)
            self._database.register("data", given)

    def _types(self, source: Source, request: Request) -> dict[str, str]:
        """The columns that are there and their types; those that are asked for are checked."""
        found = self._run(
            f"DESCRIBE SELECT * FROM {source.table}",
            f"{source.name} cannot be read; is it damaged, or of another kind than its name says?",
        )
        types = {name: kind for name, kind, *_ in found.fetchall()}
        asked = [*request.key, request.unit, request.count]
        for name in filter(None, asked):
            if name not in types:
                raise InvalidInput(_unknown(name, list(types)))
        if len(set(filter(None, asked))) < len(list(filter(None, asked))):
            raise InvalidInput("key, unit and count must name different columns, each once.")
        for name in request.key:
            if not types[name].startswith((*_COUNTED, *_WHOLE, "HUGEINT", "UBIGINT", "DECIMAL")):
                raise InvalidInput(
                    f"key {name!r} is of type {types[name]}; keys are text, whole numbers, dates "
                    "or the like: convert it to text first."
                )
        return types

    def _rows(self, source: Source, request: Request, types: dict[str, str]) -> str:
        """The rows to be counted, as a table in SQL."""
        conditions = [f"({check_condition(request.where)}\n)"] if request.where else []
        if request.nulls == "drop":
            conditions += [f"{identifier(name)} IS NOT NULL" for name in request.key]
        columns = _columns(tuple(filter(None, (*request.key, request.unit, request.count))))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = f"(SELECT {columns} FROM {source.table}{where})"
        if source.quick or request.unit is None:
            return rows
        self._make("rows", f"SELECT * FROM {rows}")  # it is needed twice, and slow to read
        return "rows"

    # --- counting --------------------------------------------------------------------------------

    def _count_elements(self, rows: str, request: Request, types: dict[str, str]) -> Counted:
        keys = _columns(request.key)
        if request.count is None:
            self._make("counted", f"SELECT {keys}, count(*) AS n FROM {rows} GROUP BY {keys}")
            return _Counted(self, request.key)
        n = identifier(request.count)
        self._check_counts(rows, request.count, types[request.count])
        total = f"sum({n}::HUGEINT)"
        self._make("counted", f"SELECT {keys}, {total} AS n FROM {rows} GROUP BY {keys}")
        if self._holds("SELECT 1 FROM counted WHERE n >= 2::HUGEINT ** 62"):
            raise BadData(f"{request.count} adds up to 2^62 or more for some key; divide it.")
        self._run("ALTER TABLE counted ALTER n TYPE BIGINT")
        return _Counted(self, request.key)

    def _check_counts(self, rows: str, name: str, kind: str) -> None:
        n = identifier(name)
        if not kind.startswith((*_WHOLE, "HUGEINT", "UBIGINT", "DECIMAL", "DOUBLE", "FLOAT")):
            raise BadData(f"{name} must hold whole numbers, but its type is {kind}; convert it.")
        floating = kind in ("DOUBLE", "FLOAT")
        most = "2::HUGEINT ** 53" if floating else "2::HUGEINT ** 62"
        tests = {
            f"{n} IS NULL" + (f" OR isnan({n})" if floating else ""): "missing values",
            f"{n} < 1": "values below 1; leave out keys that do not occur",
            f"{n} <> floor({n})": "fractions; give whole numbers",
            f"{n} > {most}": "values that are too large to be exact; use a coarser unit",
        }
        for condition, what in tests.items():
            if self._holds(f"SELECT 1 FROM {rows} WHERE {condition}"):
                raise BadData(f"{name} holds {what}.")

    def _count_units(self, rows: str, request: Request, types: dict[str, str]) -> Counted:
        assert request.unit is not None
        unit = identifier(request.unit)
        if self._holds(f"SELECT 1 FROM {rows} WHERE {unit} IS NULL"):
            raise BadData(
                f"unit {request.unit!r} is missing in some rows: whom they belong to is not known; "
                f"leave them out with where={request.unit + ' IS NOT NULL'!r}, or repair them."
            )
        return _Counted(self, request.key, lambda: self._try(rows, request, types))

    def _try(self, rows: str, request: Request, types: dict[str, str]) -> None:
        for _ in range(_TRIES):
            try:
                return self._bound(rows, request, types[request.unit or ""] in _WHOLE)
            except Collision:
                continue
        raise BadData("the data has too many different keys or units to be told apart.")

    def _bound(self, rows: str, request: Request, numbered: bool) -> None:
        """Hash keys (and units that are not numbers) with a fresh salt, and bound what they are."""
        salt, secret = int(randomness.words(1)[0]), Secret.fresh()
        keys, unit = _columns(request.key), identifier(request.unit or "")
        code = f"hash({keys}, {salt}::UBIGINT)"
        owner = f"{unit}::BIGINT" if numbered else f"hash({unit}, {salt}::UBIGINT)"
        self._make("named", f"SELECT {keys}, {code} AS code FROM {rows} GROUP BY {keys}")
        known = Keys(self._column("named", "code"))
        frequencies, owners = np.zeros(len(known.hashes), dtype=np.int64), 0
        for units, hashes in self._parts(f"SELECT {owner} AS owner, {code} AS code FROM {rows}"):
            bounds = request.keys_per_unit, request.elements_per_key
            counts, found = bounded_counts(units, hashes, known, *bounds, secret)
            frequencies, owners = frequencies + counts, owners + found
        if not numbered:
            true = self._run(f"SELECT count(DISTINCT {unit}) FROM {rows}").fetchone()
            if true is None or true[0] != owners:
                raise Collision
        self._database.register("n", pa.table({"n": frequencies}))
        self._make("counted", f"SELECT {keys}, n FROM named POSITIONAL JOIN n WHERE n > 0")
        self._database.unregister("n")

    def _parts(self, pairs: str) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]]:
        """The pairs in parts that fit into memory; all rows of a unit are in one part."""
        row = self._run(f"SELECT count(*) FROM ({pairs})").fetchone()
        parts = -(-(row[0] if row else 0) // self._at_once)
        if parts > 1:
            self._make("pairs", pairs)
            pairs = "SELECT * FROM pairs"
        for part in range(parts):
            where = f" WHERE hash(owner) % {parts} = {part}" if parts > 1 else ""
            found = self._run(f"SELECT owner, code FROM ({pairs}){where}").fetchnumpy()
            yield found["owner"], found["code"]

    # --- running ---------------------------------------------------------------------------------

    def _make(self, name: str, query: str) -> None:
        self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def _holds(self, query: str) -> bool:
        return self._run(f"{query} LIMIT 1").fetchone() is not None

    def _column(self, table: str, column: str) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = self._run(f"SELECT {column} FROM {table}").fetchnumpy()[column]
        return values

    def _run(self, query: str, wrong: str = "the data cannot be counted") -> Any:
        """Run a query. DuckDB's messages may hold data: only the kind of an error is passed on."""
        try:
            if self._progress is None:
                return self._database.execute(query)
            with _Watch(self._database, self._progress):
                return self._database.execute(query)
        except duckdb.BinderException:
            raise InvalidInput(
                "where is not a condition on single rows of this data: check its columns and types."
            ) from None
        except duckdb.OutOfMemoryException:
            raise BadData("memory (or the disk behind it) was not enough; raise memory.") from None
        except duckdb.Error as error:
            raise BadData(f"{wrong} ({type(error).__name__}).") from None


class _Watch:
    """Reports the progress of a running query, a few times a second."""

    def __init__(self, database: duckdb.DuckDBPyConnection, report: Progress) -> None:
        self._database, self._report, self._done = database, report, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._done.wait(0.2):
            self._report(max(0.0, float(self._database.query_progress())))

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


class _Counted:
    """Keys and frequencies in a table of the engine; its rows keep their order."""

    def __init__(
        self, engine: DuckDB, key: tuple[str, ...], bound: Callable[[], None] | None = None
    ) -> None:
        self._engine, self._key, self._bound = engine, key, bound

    def frequencies(self) -> Ints:
        if self._bound is not None:
            self._bound()
            self._bound = None
        found: Ints = self._engine._column("counted", "n")
        return found

    def keys(self, where: Ints) -> pa.Table:
        engine = self._engine
        engine._database.register("wanted", pa.table({"place": where}))
        query = (
            f"SELECT {_columns(self._key)} FROM counted JOIN wanted "
            "ON counted.rowid = wanted.place ORDER BY wanted.place"
        )
        found = engine._database.sql(query).to_arrow_table()
        engine._database.unregister("wanted")
        return found


def _columns(names: tuple[str, ...]) -> str:
    return ", ".join(map(identifier, names))


def _unknown(name: str, there: list[str]) -> str:
    close = get_close_matches(name, there, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"data has no column {name!r}; its columns are: {', '.join(there)}.{hint}"


_: type[Engine] = DuckDB
