"""Points from columns of numbers: of Arrow tables, and of Parquet files larger than memory."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.importance.profiles import Floats
from tamis.privacy.errors import BadData, InvalidInput, meant

Progress = Callable[[str, float], None]  # what is going on, and how many per cent of all are done
Paths = str | Path | Sequence[str | Path]

_CELLS = 1 << 20  # coordinates worked on at a time
_BUFFER = 1 << 20  # bytes of a column that are read at a time
_UNREADABLE = (OSError, pa.ArrowException)  # messages may hold values
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)


def at_once(dimensions: int) -> int:
    """How many points are worked on at a time."""
    return max(1, _CELLS // dimensions)


def points_of(data: Any, columns: Sequence[str]) -> Floats:
    """The columns of a table side by side: a row for each point. None may be missing.

    ``data`` is a pyarrow.Table or anything with ``__arrow_c_stream__``.

    >>> points_of(pa.table({"x": [1, 2], "y": [0.5, 0.0]}), ["y", "x"]).tolist()
    [[0.5, 1.0], [0.0, 2.0]]
    """
    names, table = check_names(columns), _table(data)
    _check_columns(table.schema, names)
    return _matrix(table, names)


@dataclass(frozen=True)
class Files:
    """Parquet files, the columns that are read of them, and how many rows there are in all."""

    paths: tuple[str, ...]
    names: list[str]
    rows: int

    @classmethod
    def of(cls, paths: Paths, columns: Sequence[str]) -> Files:
        """The files that paths and patterns name; names and types of columns are checked."""
        names, files, rows = check_names(columns), _files(paths), 0
        for file in files:
            with _open(file) as opened:
                _check_columns(opened.schema_arrow, names)
                rows += opened.metadata.num_rows
        return cls(tuple(files), names, rows)

    def points(self, progress: Progress | None = None) -> Iterator[Floats]:
        """All points, some at a time."""
        done = 0
        for file in self.paths:
            for batch in _batches(file, self.names):
                yield _matrix(batch, self.names)
                done += batch.num_rows
                if progress is not None:
                    progress("sampling", 100 * done / self.rows)


def _table(data: Any) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if hasattr(data, "__arrow_c_stream__"):
        with suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
            return pa.table(data)
        raise BadData("data could not be read as a table: each column must be of one type.")
    raise InvalidInput(
        "data must be a pyarrow.Table or have __arrow_c_stream__ (tables of pandas and polars do), "
        f"not {type(data).__name__}."
    )


def check_names(columns: Sequence[str]) -> list[str]:
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidInput("columns must be names of columns, as text, at least one.")
    if len(set(names)) < len(names):
        raise InvalidInput("columns must name each column once.")
    return names


def _check_columns(schema: pa.Schema, names: list[str]) -> None:
    for name in names:
        many = schema.names.count(name)
        if many != 1:
            what = "more than one" if many else "no"
            raise InvalidInput(f"data has {what} column {name!r}.{meant(name, schema.names)}")
        kind = schema.field(name).type
        if not any(is_a(kind) for is_a in _NUMBERS):
            raise InvalidInput(f"column {name!r} is of type {kind}; a coordinate is a number.")


def _matrix(table: pa.Table | pa.RecordBatch, names: list[str]) -> Floats:
    """The columns side by side, as floats; none may be missing."""
    matrix = np.empty((table.num_rows, len(names)))
    for place, name in enumerate(names):
        column = table.column(name)
        if column.null_count:
            raise BadData(f"column {name!r} holds missing values; drop or fill these rows first.")
        # whole numbers beyond 2^53 are rounded: asked to be safe, Arrow would name them
        matrix[:, place] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    _check_finite(matrix, names)
    return matrix


def _check_finite(points: Floats, names: list[str]) -> None:
    finite = np.isfinite(points)
    if not finite.all():
        name = names[int(np.argmin(finite.all(axis=0)))]
        raise BadData(f"column {name!r} holds NaN or infinity; drop or fill these rows first.")


# --- files ----------------------------------------------------------------------------------------


def _files(paths: Paths) -> list[str]:
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    files = [file for path in given for file in _found(str(path))]
    if not files:
        raise InvalidInput("paths must name at least one Parquet file.")
    if len({Path(file).resolve() for file in files}) < len(files):
        raise InvalidInput(
            "the same file is named twice: each of its rows would count twice, and be protected "
            "half as well; name each file once."
        )
    return files


def _found(path: str) -> list[str]:
    """The files that a path names; if a file has just this name, it is no pattern."""
    files = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))
    if not files:
        what = "no file matches" if glob.has_magic(path) else "there is no file"
        raise BadData(f"{what} {path!r}; check the path.")
    if any(Path(file).is_dir() for file in files):
        raise BadData(f"{path!r} is a folder; name its files, for example with '*.parquet'.")
    return files


def _open(file: str) -> pq.ParquetFile:
    with suppress(*_UNREADABLE):
        # with a buffer, a column is not held as a whole, however large the row groups are
        return pq.ParquetFile(
            file, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
        )
    raise _damaged(file)


def _batches(file: str, names: list[str]) -> Iterator[pa.RecordBatch]:
    with _open(file) as opened:
        batches = opened.iter_batches(at_once(len(names)), columns=names, use_threads=False)
        while (batch := _next(batches, file)) is not None:
            yield batch


def _next(batches: Iterator[pa.RecordBatch], file: str) -> pa.RecordBatch | None:
    with suppress(*_UNREADABLE):
        return next(batches, None)
    raise _damaged(file)


def _damaged(file: str) -> BadData:
    return BadData(f"{Path(file).name} cannot be read as Parquet; it may be damaged.")
