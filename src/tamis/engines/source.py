"""What users give as data, as something that DuckDB can select from."""

from __future__ import annotations

import csv
import glob
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.privacy.errors import BadData, InvalidInput
from tamis.sampling.attempt import attempt
from tamis.sampling.spark import is_frame

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
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_FORMATS = "Parquet, CSV, TSV, JSON lines (also .gz and .zst), or a DuckDB database"
_DELIMITERS = ",\t;|"
_HEADER = 1 << 20  # bytes in which a header must end
_QUERY = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """A table in SQL; what must be attached or registered first; whether reading it is quick.

    Formats without types are read as text (``untyped``): types that are guessed from the data
    would make what happens to one row depend on the others, and show in the release. Where even
    the names of the columns are found in the rows (``loose``), they must be looked up first.
    """

    table: str
    attach: str | None = None
    registered: Any = None
    quick: bool = True
    untyped: bool = False
    loose: bool = False
    name: str = "data"

    def looked_through(self) -> Source:
        """The same, with the names of columns from all rows, and not only from the first ones."""
        return replace(self, table=f"{self.table[:-1]}, sample_size=-1)")

    def as_text(self, columns: list[str]) -> Source:
        """The same, with these columns, all of them text."""
        table = f"{self.table[:-1]}, columns={_text_columns(columns)})"
        return replace(self, table=table, loose=False)


def source_of(data: Any, table: str | None = None) -> Source:
    """Data given as paths or globs, a DuckDB relation or anything with ``__arrow_c_stream__``."""
    paths = paths_of(data)
    if paths is not None:
        return _files(paths, table)
    if table is not None:
        raise InvalidInput("table names a table of a DuckDB database file; data is not a path.")
    if is_frame(data):  # all of its rows would come to the driver
        raise InvalidInput(
            'data is a DataFrame of Spark: leave out engine, or give "spark", and it is counted '
            "there."
        )
    if type(data).__name__ == "DuckDBPyRelation" or hasattr(data, "__arrow_c_stream__"):
        return Source('temp."data"', registered=data)
    check_collected(data)
    raise InvalidInput(
        "data must be a path, a DuckDB relation or a table of Arrow, pandas or polars, "
        f"not {type(data).__name__}."
    )


def check_collected(data: Any) -> None:
    """Refuse what has not been computed yet."""
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        raise InvalidInput("data is a LazyFrame; call collect() first.")


def paths_of(data: Any) -> list[str] | None:
    """Paths, if data is given by paths."""
    if isinstance(data, (str, Path)):
        return [str(data)]
    if isinstance(data, (list, tuple)) and data and all(isinstance(d, (str, Path)) for d in data):
        return [str(path) for path in data]
    return None


def kind_of(paths: list[str]) -> str:
    """The suffix that paths share."""
    suffixes = {_suffix(path) for path in paths}
    if len(suffixes) > 1:
        raise InvalidInput("the files are of different kinds; read them one by one.")
    return suffixes.pop()


def files_of(paths: list[str]) -> list[str]:
    """The files that paths name: all are there, can be read, and are named once."""
    files = [file for path in paths for file in _found(path)]
    if len({Path(file).resolve() for file in files}) < len(files):
        raise InvalidInput(
            "the same file is named twice: each of its rows would count twice, and be protected "
            "half as well; name each file once."
        )
    return files


def _files(paths: list[str], table: str | None) -> Source:
    files, suffix, name = files_of(paths), kind_of(paths), Path(paths[0]).name
    if suffix in _DATABASES and len(files) == 1:
        return _database(files[0], table)
    if table is not None:
        raise InvalidInput(f"table is for one DuckDB database file; {paths[0]!r} is not one.")
    reader = _READERS.get(suffix)
    if reader is None:
        kind = suffix or "no suffix"
        raise InvalidInput(f"{paths[0]!r} is of no known kind ({kind}); give {_FORMATS}.")
    read = f"{reader}([{', '.join(text(glob.escape(file)) for file in files)}]"
    if reader == "read_csv":
        options = f"hive_partitioning=false, {_dialect(files)}"
        return Source(f"{read}, {options})", quick=False, untyped=True, name=name)
    if reader == "read_json":
        lines = ", format='newline_delimited'" if suffix in (".jsonl", ".ndjson") else ""
        # or many names of columns would be taken for the keys of one map
        read += f"{lines}, hive_partitioning=false, map_inference_threshold=-1)"
        return Source(read, quick=False, untyped=True, loose=True, name=name)
    check_schemas(files)
    check_names(names_of(files[0]))
    # the statistics of a file leave NaN out; a condition that they seem to settle is not asked of
    # its rows, so that whether one counts would be a matter of those beside it
    return Source(f"{read}, hive_partitioning=false, can_have_nan=true)", name=name)


def names_of(file: str) -> list[str] | None:
    """The columns of a Parquet file, if it can be read."""
    schema = attempt(lambda: pq.read_schema(file), OSError, pa.ArrowException)
    return None if isinstance(schema, Exception) else schema.names


def check_schemas(files: list[str]) -> None:
    """Refuse Parquet files with other types than the first: values would be changed to fit it."""
    kinds = list[dict[str, str]]()
    for file in files if len(files) > 1 else ():
        schema = attempt(partial(pq.read_schema, file), OSError, pa.ArrowException)
        if isinstance(schema, Exception):
            raise BadData(f"{Path(file).name} cannot be read; it may be damaged.")
        kinds.append({field.name: str(field.type) for field in schema})
    if any(kind != kinds[0] for kind in kinds):
        raise BadData(
            "the files have different columns or types, so that one unit or key could be taken for "
            "two; make them alike, or read them one by one."
        )


def check_names(names: list[str] | None) -> None:
    """Refuse a table without columns, and names that DuckDB would change to tell them apart."""
    if names is None:  # whoever reads it says so
        return
    if not names:
        raise BadData("data has no columns; is it the table that was meant?")
    if len({name.lower() for name in names}) < len(names):
        raise InvalidInput(
            "two columns have names that DuckDB does not tell apart, such as q and Q: rename one, "
            "or leave it out."
        )


def _found(path: str) -> list[str]:
    """The files that a path names; if a file has just this name, it is no pattern."""
    there = attempt(Path(path).exists, OSError, ValueError)
    if isinstance(there, PermissionError):
        raise _forbidden(path)
    files = [path] if there is True else sorted(glob.glob(path, recursive=True))
    if not files:
        what = "no file matches" if glob.has_magic(path) else "there is no file"
        raise BadData(f"{what} {path!r}; check the path.")
    if any(Path(file).is_dir() for file in files):
        raise BadData(f"{path!r} is a folder; name its files, for example with '*.parquet'.")
    for file in files:
        _check_readable(file)
    return files


def _check_readable(file: str) -> None:
    if file.encode(errors="ignore").decode() != file:
        raise BadData(f"the name {file!a} is not in UTF-8; rename the file.")
    failed = attempt(lambda: Path(file).open("rb").close(), OSError)
    if isinstance(failed, PermissionError):
        raise _forbidden(file)
    if isinstance(failed, OSError):
        raise BadData(f"{Path(file).name} cannot be opened: {failed.strerror}.")


def _forbidden(path: str) -> BadData:
    return BadData(f"this user has no permission to read {path!r}; ask its owner for it.")


def _dialect(files: list[str]) -> str:
    """How a CSV file is to be read. The header alone decides: it is no one's data."""
    headers = {_header(file) for file in files}
    if len(headers) > 1:
        raise BadData("the files have different headers; read them one by one.")
    header = headers.pop()
    outside = "".join(header.split('"')[::2])
    delimiter = max(_DELIMITERS, key=outside.count)
    columns = next(csv.reader([header], delimiter=delimiter), [])
    if not all(columns) or len({name.lower() for name in columns}) < len(columns) or not columns:
        raise BadData("the first line must name the columns, each by a name of its own.")
    return (
        f"auto_detect=false, header=true, delim={text(delimiter)}, quote='\"', escape='\"', "
        f"columns={_text_columns(columns)}"
    )


def _header(file: str) -> str:
    start = attempt(lambda: _start(file), OSError, pa.ArrowException)
    if isinstance(start, Exception):
        raise BadData(f"{Path(file).name} cannot be read; it may be damaged.")
    first = start.decode("utf-8-sig", errors="replace")
    return first.splitlines()[0] if first.strip() else ""


def _start(file: str) -> bytes:
    compression = _COMPRESSED.get(Path(file).suffix.lower())
    with pa.input_stream(file, compression=compression) as opened:
        start: bytes = opened.read(_HEADER)
    return start


def _text_columns(names: list[str]) -> str:
    return "{" + ", ".join(f"{text(name)}: 'VARCHAR'" for name in names) + "}"


def _database(path: str, table: str | None) -> Source:
    if table is None:
        raise InvalidInput(f"{path!r} is a database; name a table or give a query with table=.")
    name = Path(path).name
    if _QUERY.match(table):
        return Source(f"({table}\n)", attach=path, quick=False, name=name)
    inside = ".".join(map(identifier, ("data", *table.split("."))))
    return Source(inside, attach=path, name=name)


def _suffix(path: str) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def text(value: str) -> str:
    """A string in SQL."""
    return "'" + value.replace("'", "''") + "'"


def advised(name: str) -> str:
    """A name in SQL that is shown to users: in quotes only if it needs them.

    >>> advised("user_id"), advised("user id")
    ('user_id', '"user id"')
    """
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else identifier(name)


def identifier(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'
