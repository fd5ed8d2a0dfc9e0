"""Keys as they come in: one Arrow column without nulls, of a type that can be compared."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pyarrow as pa

from tamis.privacy.errors import InvalidInput

_COMPARABLE = (
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_large_string,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
    pa.types.is_duration,
)


def key_column(keys: pa.Array | pa.ChunkedArray | npt.ArrayLike, name: str = "keys") -> Any:
    """The keys as an Arrow column: text as large_string, signed integers as int64, and so on.

    Takes an Arrow array, anything with ``__arrow_c_stream__`` (a column of pandas or polars), a
    numpy array or a list. One type for each kind of key makes keys of different batches equal.

    >>> key_column(["a", "b"]).type
    LargeStringType(large_string)
    """
    column = _column(keys, name)
    column = column.cast(_common(column.type))
    if column.null_count:
        raise InvalidInput(f"{name} holds nulls; drop these rows, or give them a key of their own.")
    if len(column) and not any(known(column.type) for known in _COMPARABLE):
        raise InvalidInput(
            f"{name} must be text, whole numbers, dates or the like, not {column.type}; "
            "convert them to text first."
        )
    return column


def _column(keys: Any, name: str) -> Any:
    if isinstance(keys, (pa.Array, pa.ChunkedArray)):
        return keys
    if isinstance(keys, (str, bytes, dict)):
        raise InvalidInput(f"{name} must be a column of keys, not one {type(keys).__name__}.")
    try:
        return pa.chunked_array(keys) if hasattr(keys, "__arrow_c_stream__") else pa.array(keys)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):  # their messages hold values
        raise InvalidInput(f"{name} must be one column of keys of one type.") from None


def _common(kind: Any) -> Any:
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _common(kind.value_type)
    if pa.types.is_signed_integer(kind) or kind in (pa.uint8(), pa.uint16(), pa.uint32()):
        return pa.int64()
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary(kind) or pa.types.is_binary_view(kind):
        return pa.large_binary()
    return kind
