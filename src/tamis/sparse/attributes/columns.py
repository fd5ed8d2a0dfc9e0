"""Columns of the data as plain numbers, days or text; what cannot be read so is null.

Nothing here raises because of a value: errors of Arrow name the value, which is data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.privacy.errors import BadData
from tamis.sampling.arrow import numbers_of
from tamis.sparse.attributes.public import MOST

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TEXT = pa.large_string()
_WHOLE = r"^(?P<number>[+-]?[0-9]{1,38})(?:\.0*)?$"  # a column with gaps is often saved as 17.0
_NUMBER = r"^(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?)$"
_DAY = (
    r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-]00(?::?00)?)?)?$"
)
_WIDEST = 76  # digits of a decimal
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
NEVER = np.iinfo(np.int64).min  # a day that no calendar has


def plain(column: Any) -> Any:
    """A chunked column without Arrow's encodings of repeated values; text is large_string."""
    chunks = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    kind = chunks.type
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(chunks))
    if pa.types.is_dictionary(kind):
        values = plain(pa.chunked_array([], type=kind.value_type)).type
        parts = [plain(c.dictionary).combine_chunks().take(c.indices) for c in chunks.chunks]
        return pa.chunked_array(parts, type=values)
    if pa.types.is_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return chunks.cast(TEXT)
    return chunks


def is_text(column: Any) -> bool:
    """Whether a plain column is text."""
    return bool(pa.types.is_large_string(column.type))


def wrong(column: Any, of: str, needed: str) -> BadData:
    """What to raise for a column of a type that an attribute cannot take."""
    kind = str(column.type).split("<", maxsplit=1)[0].split("(", maxsplit=1)[0]
    return BadData(f"{of} needs a column of {needed}, but its type is {kind}; convert it.")


def whole(column: Any, of: str) -> Any:
    """Whole numbers of 64 bits."""
    kind = column.type
    if kind == pa.uint64():
        return _where(pc.less_equal(column, pa.scalar(MOST, kind)), column).cast(pa.int64())
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        x = column.cast(pa.float64())
        fits = pc.and_(pc.greater_equal(x, -(2.0**63)), pc.less(x, 2.0**63))
        return _where(pc.and_(fits, pc.equal(pc.trunc(x), x)), x).cast(pa.int64())
    if pa.types.is_decimal(kind) and kind.scale >= 0:
        x = column.cast(pa.decimal256(_WIDEST, kind.scale))
        cut = _where(pc.equal(pc.trunc(x), x), x)
        return _of_64_bits(cut.cast(pa.decimal256(_WIDEST, 0)))
    if is_text(column):
        return _of_64_bits(_read(column, _WHOLE)[0].cast(pa.decimal128(38, 0)))
    raise wrong(column, of, "whole numbers")


def numbers(column: Any, of: str) -> Floats:
    """Numbers as floats of 64 bits, rounded to the nearest; NaN for what is none."""
    kind, x = column.type, column
    if pa.types.is_decimal(kind):
        x = column.cast(TEXT)  # whose way to a float is the one that rounds to the nearest
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_text(column)):
        raise wrong(column, of, "numbers")
    if is_text(x):
        (x,) = _read(x, _NUMBER)
    floats: Floats = x.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
    return floats


def days(column: Any, of: str) -> Ints:
    """Days since 1970-01-01, of moments in UTC; NEVER for what is no date."""
    kind = column.type
    if pa.types.is_date32(kind):
        return filled(column.cast(pa.int32()).cast(pa.int64()), NEVER)
    if pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        moments = filled(column.cast(pa.int64()), NEVER)
        unit = "ms" if pa.types.is_date64(kind) else kind.unit
        return np.where(moments == NEVER, NEVER, moments // _PER_DAY[unit])
    if is_text(column):
        found = _read(column, _DAY)
        return _calendar(*(filled(part.cast(pa.int64()), 0) for part in found))
    raise wrong(column, of, "dates")


def filled(column: Any, missing: int) -> Ints:
    """A column of whole numbers as an array of our own."""
    there = column.fill_null(missing) if column.null_count else column
    found: Ints = np.require(numbers_of(there), np.int64, ["W", "O"])
    return found


def _calendar(year: Ints, month: Ints, of_month: Ints) -> Ints:
    months = (year - 1970) * 12 + month - 1
    found = _first_day(months) + of_month - 1
    real = (1 <= month) & (month <= 12) & (1 <= of_month) & (found < _first_day(months + 1))
    return np.where(real, found, NEVER)


def _first_day(months: Ints) -> Ints:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _read(column: Any, pattern: str) -> list[Any]:
    """The named parts of each text that fits a pattern; null for the others."""
    found = pc.extract_regex(pc.utf8_trim_whitespace(column), pattern)
    return [pc.struct_field(found, [n]) for n in range(found.type.num_fields)]


def _of_64_bits(x: Any) -> Any:
    low, high = (pa.scalar(n, pa.int64()).cast(x.type) for n in (-MOST - 1, MOST))
    fits = pc.and_(pc.greater_equal(x, low), pc.less_equal(x, high))
    return _where(fits, x).cast(pa.int64())


def _where(fits: Any, column: Any) -> Any:
    return pc.if_else(fits, column, pa.scalar(None, column.type))
