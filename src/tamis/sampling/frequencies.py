"""Frequencies and other whole numbers as they come in, checked before anything is drawn."""

from __future__ import annotations

import contextlib
import math
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.privacy.errors import InvalidInput, shown

Ints = npt.NDArray[np.int64]

LARGEST = 2**63 - 1
_LARGEST_FLOAT = 2**53  # above it, floats skip whole numbers


def check_frequencies(values: npt.ArrayLike, name: str = "frequency") -> Ints:
    """The frequencies as 64-bit integers: whole numbers from 1 to 2^63 - 1, none missing.

    ``values`` is a list, a numpy array, or a column of Arrow, pandas or polars. Floats are accepted
    only when every one is a whole number up to 2^53; decimals only when every one is whole.
    Booleans, text, nulls, NaN and infinity are refused. No value is repeated in the error.

    >>> check_frequencies([3, 1, 2]).tolist()
    [3, 1, 2]
    >>> check_frequencies([1, 2.5])
    Traceback (most recent call last):
    tamis.privacy.errors.InvalidInput: frequency holds fractions; give whole numbers.
    """
    array = _from_arrow(values, name)
    if array is None:
        array = _from_python(values, name)
    if array.ndim != 1:
        raise InvalidInput(f"{name} must have one dimension, not {array.ndim}; give one column.")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    whole = _whole(array, name)
    if whole.min() < 1:
        raise _too_small(name)
    if whole.max() > LARGEST:
        raise _too_large(name)
    return whole.astype(np.int64, copy=False)


def check_whole(value: object, name: str, least: int = 1) -> int:
    """One whole number, from ``least`` to 2^63 - 1."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        whole = int(value)
        if least <= whole <= LARGEST:
            return whole
    raise InvalidInput(
        f"{name} must be a whole number from {least} to 2^63 - 1, not {shown(value)}."
    )


def check_positive(value: object, name: str) -> float:
    """One positive, finite number."""
    if not isinstance(value, bool) and isinstance(value, Real):
        with contextlib.suppress(OverflowError, TypeError):
            number = float(value)
            if 0 < number < math.inf:
                return number
    raise InvalidInput(f"{name} must be a positive number, not {shown(value)}.")


def _from_arrow(values: Any, name: str) -> npt.NDArray[Any] | None:
    """The column as a numpy array, or None if it is not Arrow data."""
    column = _arrow(values)
    if column is None:
        return None
    if column.null_count:
        raise _missing(name)
    if pa.types.is_null(column.type):
        return np.empty(0, dtype=np.int64)
    if pa.types.is_decimal(column.type):
        column = _from_decimals(column, name)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise _not_numbers(name, column.type)
    array: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return array


def _arrow(values: Any) -> Any:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if hasattr(values, "__arrow_c_stream__"):
        # a column of Python objects need not have an Arrow type; numpy looks at it then
        with contextlib.suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
            return pa.chunked_array(values)
    return None


def _from_decimals(column: Any, name: str) -> Any:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:  # its message holds a value
        raise InvalidInput(
            f"{name} holds decimals that are not whole or not below 2^63; give whole numbers."
        ) from None


def _from_python(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        raise InvalidInput(f"{name} must be one column of whole numbers.") from None
    kinds = set(map(type, values)) if isinstance(values, (list, tuple)) else set()
    if kinds & {bool, np.bool_}:
        raise _not_numbers(name, "boolean")  # among integers, numpy would read them as 0 and 1
    if kinds == {int} and array.dtype.kind == "f":  # negative ones and ones from 2^63 on
        array = np.array(values, dtype=object)
    return _from_objects(array, name) if array.dtype == object else array


def _from_objects(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Python numbers that numpy left as they were: long integers, or a column of objects."""
    values = array.ravel().tolist()
    if any(v is None or (isinstance(v, float) and math.isnan(v)) for v in values):
        raise _missing(name)
    if not all(isinstance(v, (Integral, float)) and not isinstance(v, bool) for v in values):
        raise _not_numbers(name, "mixed")
    if any(v in (math.inf, -math.inf) for v in values):
        raise _infinite(name)
    if any(v < 1 for v in values):
        raise _too_small(name)
    if any(v > LARGEST for v in values):
        raise _too_large(name)
    return np.asarray(values).reshape(array.shape)


def _whole(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind != "f":
        raise _not_numbers(name, array.dtype)
    if np.isnan(array).any():
        raise _missing(name)
    if np.isinf(array).any():
        raise _infinite(name)
    if float(np.abs(array).max()) > _LARGEST_FLOAT:
        raise InvalidInput(
            f"{name} holds floating-point values above 2^53, which cannot be trusted to be exact; "
            "give integers."
        )
    if (array != np.floor(array)).any():
        raise InvalidInput(f"{name} holds fractions; give whole numbers.")
    return array.astype(np.int64)


def _missing(name: str) -> InvalidInput:
    return InvalidInput(f"{name} holds missing values; drop or fill these rows first.")


def _infinite(name: str) -> InvalidInput:
    return InvalidInput(f"{name} holds infinite values; give whole numbers.")


def _not_numbers(name: str, kind: object) -> InvalidInput:
    return InvalidInput(f"{name} must hold whole numbers, but its type is {kind}; convert it.")


def _too_small(name: str) -> InvalidInput:
    return InvalidInput(f"{name} holds values below 1; leave out keys that do not occur.")


def _too_large(name: str) -> InvalidInput:
    return InvalidInput(f"{name} holds values above 2^63 - 1; use a coarser unit.")
