"""SQL on a release or a summary, in a database that can see nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

_CLOSED = (
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def run(table: pa.Table, sql: str, name: str) -> pa.Table:
    """The result of one SELECT on a table of this name."""
    import duckdb

    with duckdb.connect() as database:
        database.register(name, table)
        for line in _CLOSED:
            database.execute(line)
        try:
            statements = database.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise InvalidInput(f"the query must be one SELECT on the table {name}.")
            return database.sql(sql).to_arrow_table()
        except duckdb.Error as error:  # it is about a release, so its message may be shown
            table_is = (
                f" The table is {name}." if isinstance(error, duckdb.CatalogException) else ""
            )
            raise InvalidInput(f"the query cannot be run: {_first_line(error)}{table_is}") from None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
