"""The embedded engine: DuckDB reads, filters and groups, on all cores, with disk behind memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tamis.engines.columns import Columns, Types
from tamis.engines.condition import check_condition, columns_of
from tamis.engines.database import Database
from tamis.engines.numbers import Floats, Numbers
from tamis.engines.pairs import Pairs
from tamis.engines.protocol import (
    Counted,
    Draw,
    Encode,
    Engine,
    Frequencies,
    Ints,
    Progress,
    Request,
)
from tamis.engines.source import Source, check_names, identifier, source_of
from tamis.privacy.errors import BadData, InvalidInput
from tamis.sampling.arrow import column_of
from tamis.sampling.attempt import attempt

AT_ONCE = 25_000_000  # rows of a unit-level release that are bounded at a time, at most
_BYTES = 48  # for each of them, beside what DuckDB uses
_FLOATS = re.compile("FLOAT|DOUBLE|VARIANT")
_OWN_FUNCTIONS = "SELECT 1 FROM duckdb_functions() WHERE database_name = 'data' AND NOT internal"


class DuckDB:
    """An `Engine` with a database of its own in memory. It counts one data set at a time."""

    def __init__(
        self,
        memory: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        at_once: int = AT_ONCE,
    ) -> None:
        self._database = Database(memory, threads, progress)
        self._at_once, self._turn = at_once, 0

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> DuckDB:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def count(self, data: Any, request: Request, table: str | None = None) -> Counted:
        """Read and check all of the data, and count its keys, or the pairs of units and keys."""
        self._database.step("reading", 0)
        rows, columns = self._read(data, request, table)
        if request.unit is None:
            self._database.step("counting", 90)
            self._count_elements(rows, columns)
            return _Counted(self, columns)
        if self._database.holds(f"SELECT 1 FROM {rows} WHERE {columns.no_unit()}"):
            raise columns.lost()
        at_once = min(self._at_once, self._database.memory // (2 * _BYTES) + 1)
        pairs = Pairs(self._database, rows, columns, at_once)
        return _Counted(self, columns, pairs)

    def numbers(
        self,
        data: Any,
        names: Sequence[str],
        where: str | None = None,
        table: str | None = None,
    ) -> Floats:
        """These columns of all rows, as floats: read whole, and refused if one is not finite."""
        self._database.step("reading", 0)
        source = self._opened(data, table)
        source, types = self._typed(source, {*names} | columns_of(where))
        wanted = Numbers(tuple(names), types, listed=not source.untyped)
        self._database.step("reading", 50)
        chosen = self._chosen(source, where, types, {*names}, set())
        return wanted.matrix(
            self._database.run(f"SELECT {wanted.selected()} FROM {chosen}", "to_arrow_table")
        )

    # --- reading ---------------------------------------------------------------------------------

    def _read(self, data: Any, request: Request, table: str | None) -> tuple[str, Columns]:
        """The rows to be counted, as a table in SQL, and their columns."""
        source = self._opened(data, table)
        source, columns = self._columns(source, request)
        chosen = self._chosen(
            source, request.where, columns.types, _named(request), {request.unit or ""}
        )
        rows = f"(SELECT {columns.selected(binary=source.attach is not None)} FROM {chosen})"
        if request.nulls == "drop":
            there = " AND ".join(f"{key} IS NOT NULL" for key in columns.keys)
            rows = f"(SELECT * FROM {rows} WHERE {there})"
        if source.quick or request.unit is None:
            return rows, columns
        self._database.step("reading", 30)
        self._database.make("rows", f"SELECT * FROM {rows}")  # it is needed twice, and slow to read
        return "temp.rows", columns

    def _opened(self, data: Any, table: str | None) -> Source:
        """The data, in the place of what was read before."""
        self._turn += 1
        source = source_of(data, table)
        self._database.wrong = f"{source.name} cannot be counted; is it damaged, or changing?"
        if source.untyped:
            self._database.wrong = (
                f"{source.name} has lines that do not fit, or text that is not in UTF-8"
            )
        self._database.attach(source, f"{source.name} cannot be opened as a DuckDB database")
        if source.registered is not None:
            rows = self._arrow(source.registered)
            check_names(rows.column_names)
            shown = attempt(lambda: self._database.show("data", rows), duckdb.Error)
            if isinstance(shown, duckdb.Error):
                raise BadData(
                    "data has a column of a type that DuckDB does not know, such as decimals of "
                    "256 bits: convert it, or leave it out."
                )
        return source

    def _arrow(self, data: Any) -> pa.Table:
        """Data as an Arrow table."""
        relation = type(data).__name__ == "DuckDBPyRelation"  # of another database
        table = attempt(lambda: data.to_arrow_table() if relation else pa.table(data), Exception)
        if isinstance(table, Exception):
            raise BadData(
                f"data cannot be read as a table ({type(table).__name__}); each column must "
                "hold values of one type."
            )
        return table

    def _columns(self, source: Source, request: Request) -> tuple[Source, Columns]:
        """The columns that are there."""
        source, types = self._typed(source, _named(request) | columns_of(request.where))
        return source, Columns(request, types, listed=not source.untyped)

    def _typed(self, source: Source, wanted: set[str]) -> tuple[Source, Types]:
        wrong = f"{source.name} cannot be read; is it damaged, or of another kind than it says?"
        if source.attach is not None:
            wrong = f"{source.name} has no such table, or the query in table= is not valid"
        return self._database.typed(source, wrong, wanted)

    def _chosen(
        self, source: Source, where: str | None, types: Types, read: set[str], compared: set[str]
    ) -> str:
        """The rows with a condition, as a table in SQL, which has at least the columns read.

        Of those that are compared with something, floats are looked at row by row.
        """
        if where is not None:
            self._check_where(source, where, types)
            compared = compared | columns_of(where)
        low = {name.lower() for name in compared}
        floats = any(n.lower() in low and _FLOATS.search(kind) for n, kind in types.items())
        table = source.table
        if floats and source.attach is not None:
            # it may be a view of Parquet files, whose statistics leave NaN out: see `source`
            low |= {name.lower() for name in read}
            names = ", ".join(identifier(name) for name in types if name.lower() in low)
            self._database.make("looked_at", f"SELECT {names} FROM {table}")
            table = "temp.looked_at"
        return f"(SELECT * FROM {table} WHERE ({where or 'true'}\n))"

    def _check_where(self, source: Source, where: str, types: Types) -> None:
        check_condition(where, types, listed=not source.untyped)
        if source.attach is not None and self._database.holds(_OWN_FUNCTIONS):
            raise InvalidInput(
                f"{source.name} has functions of its own, which could look at other rows: filter "
                "with a query in table= instead of where, and see that it looks at single rows."
            )
        hint = "; columns of CSV and JSON files are text: write age::INTEGER > 30"
        query = f"EXPLAIN SELECT 1 FROM {source.table} WHERE ({where}\n)"
        failed = attempt(lambda: self._database.connection.execute(query).fetchall(), duckdb.Error)
        if isinstance(failed, duckdb.Error):
            raise InvalidInput(
                "where is not a condition on single rows of this data: check its functions and "
                f"types{hint if source.untyped else ''}."
            )

    # --- counting --------------------------------------------------------------------------------

    def _count_elements(self, rows: str, columns: Columns) -> None:
        keys, name = ", ".join(columns.keys), columns.request.count
        if name is None:
            self._database.make(
                "counted", f"SELECT {keys}, count(*) AS n FROM {rows} GROUP BY {keys}"
            )
            return
        for condition, what in columns.bad_counts().items():
            if self._database.holds(f"SELECT 1 FROM {rows} WHERE {condition}"):
                raise BadData(f"{name} holds {what}.")
        total = "sum(many::HUGEINT) AS n"
        self._database.make("counted", f"SELECT {keys}, {total} FROM {rows} GROUP BY {keys}")
        if self._database.holds("SELECT 1 FROM temp.counted WHERE n >= 2::HUGEINT ** 62"):
            raise BadData(f"{name} adds up to 2^62 or more for some key; divide it.")
        self._database.run("ALTER TABLE temp.counted ALTER n TYPE BIGINT")


def _named(request: Request) -> set[str]:
    return {n for n in (*request.key, request.unit, request.count) if n is not None}


class _Counted:
    """Keys in a table of the engine, whose rows keep their order."""

    def __init__(self, engine: DuckDB, columns: Columns, pairs: Pairs | None = None) -> None:
        self._engine, self._columns, self._pairs = engine, columns, pairs
        self._turn, self._cells = engine._turn, _NO_CELLS
        self._found: _Frequencies | None = None

    def spread(self) -> Ints:
        self._check_turn()
        if self._pairs is None or self._found is not None:
            raise InvalidInput("only units that are not bounded yet have a spread.")
        return self._pairs.spread()

    def join(self, encode: Encode) -> None:
        self._check_turn()
        if self._found is not None:
            raise InvalidInput("only keys that are not bounded yet can be joined.")
        every = "counted" if self._pairs is None else "named"
        cells = encode(self._keys(f"SELECT {self._columns.named()} FROM temp.{every}"))
        self._cells = cells if self._pairs is None else self._pairs.join(cells)

    def frequencies(self, keys_per_unit: int | None = None) -> Frequencies:
        self._check_turn()
        if self._found is None:
            self._found = self._frequencies(keys_per_unit)
        return self._found

    def _frequencies(self, keys_per_unit: int | None) -> _Frequencies:
        if self._pairs is None:
            return _Frequencies(self, self._cells, self._engine._database.column("counted", "n"))
        asked = self._columns.request
        found = self._pairs.frequencies(
            keys_per_unit or asked.keys_per_unit, asked.elements_per_key
        )
        there = found > 0
        if self._cells is _NO_CELLS:
            self._name(found)
            return _Frequencies(self, _NO_CELLS, found[there])
        return _Frequencies(self, self._cells[:, there], found[there])

    def _name(self, frequencies: Ints) -> None:
        """Put keys beside their frequencies."""
        database, keys = self._engine._database, ", ".join(self._columns.keys)
        database.show("found", pa.table({"n": column_of(frequencies)}))
        database.make(
            "counted", f"SELECT {keys}, n FROM temp.named POSITIONAL JOIN temp.found WHERE n > 0"
        )
        database.hide("found")

    def keys(self, where: Ints) -> pa.Table:
        """The key columns at these ascending places."""
        self._check_turn()
        database = self._engine._database
        database.show("wanted", pa.table({"place": column_of(where)}))
        found = self._keys(
            f"SELECT {self._columns.named()} FROM temp.counted AS c JOIN temp.wanted AS w "
            "ON c.rowid = w.place ORDER BY w.place"
        )
        database.hide("wanted")
        return found

    def _keys(self, query: str) -> pa.Table:
        return self._engine._database.run(query, "to_arrow_table")

    def _check_turn(self) -> None:
        if self._turn != self._engine._turn:
            raise InvalidInput("this engine has counted other data since; use an engine for each.")


_NO_CELLS: Ints = np.empty((0, 0), dtype=np.int64)


class _Frequencies:
    """Frequencies in memory, in the order of the keys that the engine holds."""

    def __init__(self, counted: _Counted, cells: Ints, frequencies: Ints) -> None:
        self._counted, self._cells, self._frequencies = counted, cells, frequencies

    @property
    def total(self) -> int:
        """Exactly, also beyond 64 bits."""
        high, low = self._frequencies >> 32, self._frequencies & 0xFFFFFFFF
        return (int(high.sum()) << 32) + int(low.sum())

    @property
    def largest(self) -> int:
        return int(self._frequencies.max(initial=0))

    def named(self, draw: Draw) -> tuple[pa.Table, Ints]:
        tokens = draw(self._frequencies)
        named = np.flatnonzero(tokens)
        return self._counted.keys(named), tokens[named]

    def cells(self) -> tuple[Ints, Ints]:
        return self._cells, self._frequencies


_: type[Engine] = DuckDB
