"""Casts of DuckDB, in those of Spark that find the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tamis.engines.spark.parts import FLOAT_KINDS, WHOLE_KINDS, Part, is_moment, refused, spark_type

_NAMES = {
    "INT": "INTEGER",
    "INT1": "TINYINT",
    "INT2": "SMALLINT",
    "SHORT": "SMALLINT",
    "INT4": "INTEGER",
    "SIGNED": "INTEGER",
    "INT8": "BIGINT",
    "LONG": "BIGINT",
    "FLOAT8": "DOUBLE",
    "TEXT": "VARCHAR",
    "STRING": "VARCHAR",
    "BOOL": "BOOLEAN",
    "DATETIME": "TIMESTAMP",
}
_TYPES = (*WHOLE_KINDS, "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP")
# what all engines read in the same way, and what none takes for a value; the rest is refused
_NUMBER = r"^[+-]?[0-9]{1,300}(\.[0-9]{1,300})?$"
_READ = {
    **dict.fromkeys(WHOLE_KINDS, r"^[+-]?[0-9]{1,300}$"),
    "DOUBLE": _NUMBER,
    "DATE": r"^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "TIMESTAMP": r"^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}( ([01][0-9]|2[0-3])"
    r":[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?)?$",
}
_UNREAD = r"^[^0-9]*$"
_NAMED = r"(?i)inf|nan|epoch"


def converted(part: Part, name: str, tried: bool, strict: Callable[[], None]) -> Part:
    """A cast, of which those from text read what all engines read alike."""
    kind = _NAMES.get(name.upper(), name.upper())
    if part.kind in (kind, "NULL") and kind in _TYPES:
        return Part(part.to(kind), kind)
    if kind in ("DATE", "TIMESTAMP") and is_moment(part):
        return Part(part.to(kind), kind, part.said)
    if kind == "VARCHAR" and part.kind in (*WHOLE_KINDS, "BOOLEAN", "DATE"):
        return Part(part.column.cast("string"), kind)
    if kind == "DOUBLE" and part.kind in (*WHOLE_KINDS, "FLOAT"):
        return Part(part.to(kind), kind)
    return _checked_cast(part, kind, tried, strict)


def _checked_cast(part: Part, kind: str, tried: bool, strict: Callable[[], None]) -> Part:
    """A cast that fails for some values."""
    strict()
    if part.kind == "VARCHAR" and kind in _READ:
        return Part(_read(part.column, kind, tried), kind)
    if kind in WHOLE_KINDS and part.kind in (*WHOLE_KINDS, *FLOAT_KINDS):
        value = _rounded(part)
        made = value.try_cast(spark_type(kind)) if tried else value.cast(spark_type(kind))
        return Part(made, kind)
    raise refused(f"a cast of {part.kind} to {kind}")


def _rounded(part: Part) -> Any:
    """Half to even, as DuckDB rounds floats; 2^63, which Spark would make smaller, is too large."""
    from pyspark.sql import functions as f

    if part.kind in WHOLE_KINDS:
        return part.column
    value = f.rint(part.to("DOUBLE"))
    return f.when(value >= 2.0**63, f.lit(float("inf"))).otherwise(value)


def _read(text: Any, kind: str, tried: bool) -> Any:
    """Text as a value. Where engines may read it in different ways, the cast fails."""
    from pyspark.sql import functions as f

    name = spark_type(kind)
    plain = text.rlike(_READ[kind])
    fails = f.raise_error(f.lit("text in another form")).cast(name)  # without the text itself
    if not tried:
        return f.when(plain, text.cast(name)).otherwise(fails)
    empty = text.rlike(_UNREAD) & ~text.rlike(_NAMED)
    return f.when(plain, text.try_cast(name)).when(~empty, fails)
