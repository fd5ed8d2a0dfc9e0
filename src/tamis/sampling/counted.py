"""Counted data as it comes in: a table with one row per key and its frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from tamis.privacy.errors import InvalidInput
from tamis.sampling.frequencies import check_frequencies
from tamis.sampling.keys import key_column


def counted_table(data: Any, key: str | Sequence[str], frequency: str) -> pa.Table:
    """The key columns and the frequency (as int64), checked; the order of rows is kept.

    ``data`` is a pyarrow.Table, anything with ``__arrow_c_stream__`` (pandas and polars have it),
    or a mapping from names to columns. Each key must stand in one row only: a key in two rows would
    be drawn for twice.
    """
    keys = [key] if isinstance(key, str) else list(key)
    table = _select(_table(data), [*keys, frequency])
    columns = {name: key_column(table[name], name) for name in keys}
    whole = pa.array(check_frequencies(table[frequency], frequency))
    checked = pa.table(columns | {frequency: whole})
    if checked.group_by(keys).aggregate([]).num_rows < checked.num_rows:
        raise InvalidInput(
            f"key {', '.join(keys)}: some key stands in more than one row; "
            f"sum {frequency} by key first."
        )
    return checked


def _table(data: Any) -> pa.Table:
    try:
        if isinstance(data, pa.Table):
            return data
        if isinstance(data, Mapping):
            return pa.table(dict(data))
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):  # their messages hold values
        raise InvalidInput(
            "data could not be read as a table: every column must have one type, and all columns "
            "the same length."
        ) from None
    raise InvalidInput(
        "data must be a pyarrow.Table, a mapping from names to columns, or have "
        f"__arrow_c_stream__ (pandas and polars do), not {type(data).__name__}."
    )


def _select(table: pa.Table, columns: list[str]) -> pa.Table:
    if len(columns) < 2 or len(set(columns)) < len(columns):
        raise InvalidInput("key and frequency must name at least one column each, none twice.")
    for name in columns:
        if table.column_names.count(name) != 1:
            raise InvalidInput(_unknown(name, table.column_names))
    return table.select(columns)


def _unknown(name: str, there: list[str]) -> str:
    if name in there:
        return f"data has more than one column {name!r}; rename the others."
    close = get_close_matches(str(name), there, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"data has no column {name!r}; its columns are: {', '.join(there)}.{hint}"
