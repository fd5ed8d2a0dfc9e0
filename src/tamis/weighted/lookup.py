"""Where a key stands in a table of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.privacy.errors import InvalidInput, counted, shown


def place(table: pa.Table, names: Sequence[str], key: tuple[object, ...], nulls: bool) -> int:
    """The row of a key, given part by part; None is the key NULL, if ``nulls`` were counted."""
    if len(key) != len(names):
        parts = counted(len(names), "part")
        raise InvalidInput(f"key must have {parts} ({', '.join(names)}), not {len(key)}.")
    same = pa.chunked_array([pa.repeat(True, len(table))])
    for name, part in zip(names, key, strict=True):
        if part is None and not nulls:
            raise InvalidInput(f"key may not be None: rows without {name} were left out.")
        column = table[name]
        same = pc.and_(same, pc.is_null(column) if part is None else _equal(column, part, name))
    found = int(pc.index(same, True).as_py())
    if found < 0:
        raise InvalidInput("key was not named: it may be absent, rare, or not sampled.")
    return found


def _equal(column: pa.ChunkedArray, part: object, name: str) -> pa.ChunkedArray:
    try:
        value = _scalar(part, column.type)
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
        raise InvalidInput(
            f"key must be of type {column.type} in {name}, not {shown(part)}."
        ) from None
    return pc.fill_null(pc.equal(column, value), False)


def _scalar(part: object, kind: pa.DataType) -> Any:
    """The same value in the type of a column. Arrow alone would make 1 of 1.5."""
    if isinstance(part, pa.Scalar):
        return part.cast(kind)
    value = pa.scalar(part, kind)
    if value.as_py() != part:
        raise ValueError
    return value
