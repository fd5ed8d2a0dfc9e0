"""Keys as they come in: one Arrow column without nulls, of a type that can be compared."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
_OF_NOTHING = (pa.types.is_null, pa.types.is_floating)  # what Arrow and numpy call an empty list


def key_column(keys: pa.Array | pa.ChunkedArray | npt.ArrayLike, name: str = "keys") -> Any:
    """The keys as an Arrow column: text as large_string, signed integers as int64, and so on.

    Takes an Arrow array, anything with ``__arrow_c_stream__`` (a column of pandas or polars), a
    numpy array or a list. One type for each kind of key makes keys of different batches equal.

    >>> print(key_column(["a", "b"]).type)
    large_string
    """
    column = _plain(_column(keys, name))
    if column.null_count:
        raise InvalidInput(f"{name} holds nulls; drop these rows, or give them a key of their own.")
    if len(column) or not any(known(column.type) for known in _OF_NOTHING):
        check_kind(column.type, name)
    _check_text(column, name)
    return column


def check_kind(kind: pa.DataType, name: str = "keys") -> None:
    """Refuse a type that keys cannot have."""
    if not any(known(kind) for known in _COMPARABLE):
        raise InvalidInput(
            f"{name} must be text, whole numbers, dates or the like, not {kind}; "
            "convert them to text first."
        )


def _check_text(column: Any, name: str) -> None:
    """Refuse text that is none, and that nobody could read: Arrow trusts whoever made a column."""
    try:
        column.validate(full=pa.types.is_large_string(column.type))
    except pa.ArrowInvalid:
        raise InvalidInput(
            f"{name} holds text that is not in UTF-8; repair it, or give it as bytes."
        ) from None


def _column(keys: Any, name: str) -> Any:
    if isinstance(keys, (pa.Array, pa.ChunkedArray)):
        return keys
    if isinstance(keys, (str, bytes, dict)):
        raise InvalidInput(f"{name} must be a column of keys, not one {type(keys).__name__}.")
    try:
        return pa.chunked_array(keys) if hasattr(keys, "__arrow_c_stream__") else pa.array(keys)
    except OverflowError:
        raise InvalidInput(
            f"{name} holds whole numbers that 64 bits cannot hold; convert them to text first."
        ) from None
    except (pa.ArrowException, TypeError, ValueError):  # their messages hold values
        raise InvalidInput(f"{name} must be one column of keys of one type.") from None


def _plain(column: Any) -> Any:
    """Without the encodings that Arrow has for repeated values."""
    if pa.types.is_dictionary(column.type):
        parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        plain = [_plain(part.dictionary).take(part.indices) for part in parts]
        return pa.chunked_array(plain, type=_common(column.type.value_type))
    if pa.types.is_run_end_encoded(column.type):
        return _plain(pc.run_end_decode(column))
    return column.cast(_common(column.type))


def _common(kind: Any) -> Any:
    if pa.types.is_signed_integer(kind) or kind in (pa.uint8(), pa.uint16(), pa.uint32()):
        return pa.int64()
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary(kind) or pa.types.is_binary_view(kind):
        return pa.large_binary()
    return kind
