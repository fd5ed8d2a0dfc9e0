"""What users give as data, as something that DuckDB can select from."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.privacy.errors import BadData, InvalidInput

_READERS = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
_DATABASES = (".duckdb", ".ddb", ".db")
_COMPRESSED = (".gz", ".zst", ".zstd")
_FORMATS = "Parquet, CSV, TSV, JSON lines (also .gz and .zst), or a DuckDB database"


@dataclass(frozen=True)
class Source:
    """A table in SQL; what must be attached or registered first; whether reading it is quick."""

    table: str
    attach: str | None = None
    registered: Any = None
    quick: bool = True
    name: str = "data"


def source_of(data: Any, table: str | None = None) -> Source:
    """Data given as a path, a glob, a DuckDB relation or anything with ``__arrow_c_stream__``."""
    if isinstance(data, (str, Path)):
        return _file(str(data), table)
    if table is not None:
        raise InvalidInput("table names a table of a DuckDB database file; data is not a path.")
    if type(data).__name__ == "DuckDBPyRelation" or hasattr(data, "__arrow_c_stream__"):
        return Source('"data"', registered=data)
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        raise InvalidInput("data is a LazyFrame; call collect() first.")
    raise InvalidInput(
        "data must be a path, a DuckDB relation or a table of Arrow, pandas or polars, "
        f"not {type(data).__name__}."
    )


def _file(path: str, table: str | None) -> Source:
    if not glob.glob(path) and not Path(path).exists():
        what = "no file matches" if glob.has_magic(path) else "there is no file"
        raise BadData(f"{what} {path!r}; check the path.")
    suffix = _suffix(path)
    if suffix in _DATABASES:
        return _database(path, table)
    if table is not None:
        raise InvalidInput(f"table is for DuckDB database files; {path!r} is not one.")
    reader = _READERS.get(suffix)
    if reader is None:
        raise InvalidInput(f"{path!r} is of no known kind ({suffix or 'no suffix'}); {_FORMATS}.")
    options = ", format='newline_delimited'" if suffix in (".jsonl", ".ndjson") else ""
    return Source(
        f"{reader}({text(path)}{options})", quick=reader == "read_parquet", name=Path(path).name
    )


def _database(path: str, table: str | None) -> Source:
    if table is None:
        raise InvalidInput(f"{path!r} is a database; name a table or give a query with table=.")
    inside = f"({table})" if table.lstrip().lower().startswith(("select", "with", "from")) else None
    target = inside or ".".join(map(identifier, ("data", *table.split("."))))
    return Source(target, attach=path, name=Path(path).name)


def _suffix(path: str) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def text(value: str) -> str:
    """A string in SQL."""
    return "'" + value.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'
