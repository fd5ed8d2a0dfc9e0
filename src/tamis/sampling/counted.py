"""Counted data as it comes in: a table with one row per key and its frequency."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from typing import Any

import pyarrow as pa

from tamis.privacy.errors import InvalidInput, meant
from tamis.sampling.arrow import column_of
from tamis.sampling.frequencies import check_frequencies
from tamis.sampling.keys import key_column
from tamis.sampling.spark import is_frame

_UNREADABLE = (pa.ArrowException, OverflowError, TypeError, ValueError)  # messages hold values


def counted_table(data: Any, key: str | Sequence[str], frequency: str) -> pa.Table:
    """The key columns and the frequency (as int64), checked; the order of rows is kept.

    ``data`` is a pyarrow.Table, anything with ``__arrow_c_stream__`` (pandas and polars have it),
    or a mapping from names to columns. Each key must stand in one row only: a key in two rows would
    be drawn for twice.
    """
    keys = [key] if isinstance(key, str) or not isinstance(key, Iterable) else list(key)
    held = _columns(data)
    _check_names([*keys, frequency], held.column_names if isinstance(held, pa.Table) else [*held])
    columns = {name: key_column(held[name], name) for name in keys}
    whole = column_of(check_frequencies(_arrow(held[frequency]), frequency))
    if any(len(column) != len(whole) for column in columns.values()):
        raise InvalidInput(f"{', '.join([*keys, frequency])} must all have the same length.")
    checked = pa.table(columns | {frequency: whole})
    if distinct(checked.select(keys)) < checked.num_rows:
        raise InvalidInput(
            f"key {', '.join(keys)}: some key stands in more than one row; "
            f"sum {frequency} by key first."
        )
    return checked


def distinct(keys: pa.Table) -> int:
    """How many rows differ. Text is hashed once, column by column: grouping it takes far longer."""
    if keys.num_columns == 1:
        return len(keys.column(0).unique())
    codes = [column.combine_chunks().dictionary_encode().indices for column in keys.columns]
    table = pa.table(codes, names=keys.column_names)
    return int(table.group_by(keys.column_names).aggregate([]).num_rows)


def _columns(data: Any) -> pa.Table | Mapping[str, Any]:
    """A table, or columns by name that are not read yet, so that errors can name them."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, Mapping):
        if all(isinstance(column, Iterable) for column in data.values()):
            return data
        raise InvalidInput(
            "data must map names to columns, not keys to frequencies; "
            "give {'key': list(data), 'frequency': list(data.values())}."
        )
    if is_frame(data):  # all of its keys would come to the driver
        raise InvalidInput(
            "data is a DataFrame of Spark: tamis.release with count= sanitises it there."
        )
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "to_frame"):
        try:
            return pa.table(data)
        except _UNREADABLE:
            raise InvalidInput(
                "data could not be read as a table: every column must have a name of its own and "
                "values of one type; look at key and frequency first."
            ) from None
    raise InvalidInput(_not_a_table(data))


def _arrow(column: Any) -> Any:
    """The column as Arrow reads it; as it is if Arrow cannot, to be refused by name."""
    if isinstance(column, (Iterator, ValuesView)):
        column = list(column)
    with contextlib.suppress(*_UNREADABLE):
        return pa.table({"column": column})["column"]
    return column


def _not_a_table(data: Any) -> str:
    kind = type(data).__name__
    if hasattr(data, "reset_index"):
        return f"data is one column with an index ({kind}), not a table; call reset_index() first."
    if kind == "LazyFrame":
        return "data is a LazyFrame, which has not been computed yet; call collect() first."
    return (
        "data must be a pyarrow.Table, a mapping from names to columns, or have "
        f"__arrow_c_stream__ (tables of pandas and polars do), not {kind}."
    )


def _check_names(columns: list[str], there: list[str]) -> None:
    if not all(isinstance(name, str) for name in columns):
        raise InvalidInput("key and frequency must be names of columns, as text.")
    if len(columns) < 2 or len(set(columns)) < len(columns):
        raise InvalidInput("key and frequency must name at least one column each, none twice.")
    for name in columns:
        if there.count(name) != 1:
            raise InvalidInput(_unknown(name, [str(other) for other in there]))


def _unknown(name: str, there: list[str]) -> str:
    if name in there:
        return f"data has more than one column {name!r}; rename the others."
    return f"data has no column {name!r}; its columns are: {', '.join(there)}.{meant(name, there)}"
