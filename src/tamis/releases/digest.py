"""The digest of a release: SHA-256 over what it says about itself and over its rows.

The form that is hashed is plain text and documented (docs/release-file.md), so that it depends on
no library and on no encoding, and can be computed anew in a few lines elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.privacy.errors import BadData

_AT_ONCE = 2**16  # rows
_DIGITS = {"s": 3, "ms": 3, "us": 6, "ns": 9}  # of a second; Parquet keeps no whole ones
_WORDS = {
    pa.string(): "text",
    pa.large_string(): "text",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.float64(): "number",
}


def digest(said: dict[str, Any], table: pa.Table) -> str:
    """64 hexadecimal digits: of the JSON text, and of every row on a line of its own."""
    hashed = hashlib.sha256(json_text(said) + b"\n")
    for lines in lines_of(table):
        hashed.update(lines)
    return hashed.hexdigest()


def json_text(said: dict[str, Any]) -> bytes:
    """JSON that can be written in one way only: sorted, without spaces, in UTF-8.

    >>> json_text({"b": 1, "a": ["ä"]}).decode()
    '{"a":["ä"],"b":1}'
    """
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def type_in_words(kind: pa.DataType) -> str:
    """What a key column holds; whole numbers of all sizes are one type, and so is all text.

    >>> type_in_words(pa.int8()), type_in_words(pa.decimal128(9, 2))
    ('integer', 'decimal(2)')
    """
    types = pa.types
    if types.is_decimal128(kind):
        return f"decimal({kind.scale})"
    if types.is_time64(kind):
        return f"time({_DIGITS[kind.unit]})"
    if types.is_timestamp(kind):
        return f"{'instant' if kind.tz else 'timestamp'}({_DIGITS[kind.unit]})"
    if types.is_integer(kind):
        return "integer"
    if kind in _WORDS:
        return _WORDS[kind]
    raise BadData("the release holds keys of a type that a release file cannot hold.")


def lines_of(table: pa.Table) -> Iterator[memoryview]:
    """The rows as lines of values between commas, many at a time."""
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        columns = [pc.fill_null(_values(column), _bytes(b"")) for column in batch.columns]
        columns[-1] = pc.binary_join_element_wise(columns[-1], _bytes(b"\n"), _bytes(b""))
        lines = pc.binary_join_element_wise(*columns, _bytes(b","))
        _, offsets, data = lines.buffers()
        yield memoryview(data)[: np.frombuffer(offsets, np.int64)[len(lines)]]


def _values(column: pa.Array) -> pa.Array:
    """Text and bytes in quotes, and all else as whole numbers."""
    if _WORDS.get(column.type) in ("text", "binary"):
        doubled = pc.replace_substring(column.cast(pa.large_binary()), b'"', b'""')
        return pc.binary_join_element_wise(_bytes(b'"'), doubled, _bytes(b'"'), _bytes(b""))
    return _whole(column).cast(pa.large_string()).cast(pa.large_binary())


def _whole(column: pa.Array) -> pa.Array:
    """Whole numbers, from the bits in which Parquet holds them where a value is none itself."""
    kind = column.type
    if pa.types.is_integer(kind):
        return column
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    if pa.types.is_decimal(kind):
        return column.view(pa.decimal128(38, 0))
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return column.cast(pa.timestamp("ms", kind.tz)).view(pa.int64())
    return column.view(pa.int32() if kind.bit_width == 32 else pa.int64())


def _bytes(value: bytes) -> pa.Scalar:
    """As `column_of` does it: `pyarrow.scalar` imports pandas."""
    parts = [None, pa.py_buffer(np.array([0, len(value)])), pa.py_buffer(value)]
    return pa.Array.from_buffers(pa.large_binary(), 1, parts)[0]
