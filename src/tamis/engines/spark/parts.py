"""Parts of a condition with their types, which are compared as DuckDB compares them."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tamis.privacy.errors import InvalidInput
from tamis.sampling.arrow import quoted

WHOLE_KINDS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")  # from small to large
_DIGITS = dict(zip(WHOLE_KINDS, (3, 5, 10, 19), strict=True))
_ZONED = "TIMESTAMP WITH TIME ZONE"
FLOAT_KINDS = ("FLOAT", "DOUBLE")
DAY_KINDS = ("DATE", "TIMESTAMP", _ZONED)
# the names of Spark's types, in those of DuckDB
KINDS = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": _ZONED,
    "timestamp_ntz": "TIMESTAMP",
}
_SPARK = {kind: name for name, kind in KINDS.items()} | {"NULL": "string"}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,6})?)?", re.ASCII)
_EXACT = 15  # decimal digits that every float holds


def refused(what: str) -> InvalidInput:
    """What to say of what is not known to mean the same to Spark."""
    return InvalidInput(
        f"where may not use {what} on Spark, which may mean another thing there: filter the "
        'DataFrame before you give it, or take engine="duckdb".'
    )


@dataclass(frozen=True)
class Part:
    """What Spark computes for a part of a condition, and of which of DuckDB's types it is."""

    column: Any
    kind: str
    said: str | None = None  # how a literal was written

    @property
    def number(self) -> float:
        """The number that a literal stands for, or 0."""
        written = self.said is not None and (self.kind in WHOLE_KINDS or self.kind not in _SPARK)
        return float(self.said or 0) if written or self.kind == "DOUBLE" else 0.0

    @property
    def decimal(self) -> tuple[int, int] | None:
        """How many digits a decimal number has, and how many of them behind the point."""
        found = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", self.kind)
        if found is not None:
            return int(found[1]), int(found[2])
        return (_DIGITS[self.kind], 0) if self.kind in _DIGITS else None

    def to(self, kind: str) -> Any:
        """The column in another type that holds all of its values."""
        from pyspark.sql import functions as f

        if self.said is not None and self.kind in ("VARCHAR", *DAY_KINDS) and kind in DAY_KINDS:
            return _moment(self.said, kind)
        if self.kind == kind:
            return self.column
        if self.kind == _ZONED:  # as in UTC, whatever zone the session has
            start = f.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
            shown = f.timestamp_add("MICROSECOND", f.unix_micros(self.column), start)
            return shown if kind == "TIMESTAMP" else shown.cast(spark_type(kind))
        return self.column.cast(spark_type(kind))

    def narrowed(self, kind: str) -> Part:
        """The same, refused in rows where a smaller type of whole numbers does not hold it."""
        if kind not in WHOLE_KINDS:
            return Part(self.column, kind)
        return Part(self.column.cast(spark_type(kind)), kind)


def spark_type(kind: str) -> str:
    return _SPARK.get(kind, kind.lower())


def column_part(frame: Any, name: str, kind: str) -> Part:
    """A column of the data. Text that is equal is the same text, whatever collation it has.

    Spark must not ask the statistics of a file in the place of its rows (`frames.row_by_row`), nor
    may those who read for it: it does not see through the first of two that are the same.
    """
    from pyspark.sql import functions as f

    column = f.coalesce(f.col(quoted(name)), f.col(quoted(name)))
    if kind.startswith("decimal"):
        return Part(column, kind.upper())
    if kind.startswith("string"):
        padded = "__CHAR_VARCHAR_TYPE_STRING" in frame.schema[name].metadata
        plain = kind == "string" and not padded
        return Part(column if plain else f.collate(column, "UTF8_BINARY"), "VARCHAR")
    return Part(column, KINDS.get(kind, kind.split("<", maxsplit=1)[0].upper()))


def literal(kind: str, text: str) -> Part:
    """What is written in the condition itself."""
    from pyspark.sql import functions as f

    if kind == "NULL_LITERAL":
        return Part(f.lit(None), "NULL")
    if kind == "STRING":
        return Part(f.lit(text), "VARCHAR", text)
    if kind == "BOOLEAN":
        return Part(f.lit(text.lower() == "true"), "BOOLEAN")
    text = text.replace("_", "")
    if kind == "INTEGER" and -(2**63) <= int(text) < 2**63:
        small = -(2**31) <= int(text) < 2**31
        made = Part(f.lit(text), "INTEGER" if small else "BIGINT", text)
        return Part(f.lit(text).cast(spark_type(made.kind)), made.kind, text)
    if kind == "NUMERIC" and "e" in text.lower():
        return Part(f.lit(float(text)), "DOUBLE", text)
    whole, _, fraction = text.lstrip("+-").partition(".")
    if kind == "NUMERIC" and len(whole) + len(fraction) <= _EXACT:
        digits = max(len(whole) + len(fraction), 1), len(fraction)
        name = f"decimal({digits[0]},{digits[1]})"
        return Part(f.lit(text).cast(name), name.upper(), text)
    raise refused("numbers of so many digits")


def _moment(text: str, kind: str) -> Any:
    """A day or moment that is written down, in UTC."""
    from pyspark.sql import functions as f

    day = kind == "DATE"
    try:
        if not _MOMENT.fullmatch(text) or (day and len(text) > 10):
            raise ValueError
        datetime.fromisoformat(text if "." not in text else text.ljust(26, "0"))
    except ValueError:
        form = "'2024-01-31'" if day else "'2024-01-31' or '2024-01-31 23:59:59'"
        raise InvalidInput(f"where writes a {kind} like {form} on Spark.") from None
    if kind == _ZONED:
        since = datetime.fromisoformat(text if "." not in text else text.ljust(26, "0"))
        return f.timestamp_micros(f.lit(_micros(since)).cast("bigint"))
    return f.lit(text).cast("date" if day else "timestamp_ntz")


def _micros(moment: datetime) -> int:
    passed = moment - datetime(1970, 1, 1)
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def together(parts: Sequence[Part]) -> list[Any]:
    """Columns of one type, that in which DuckDB compares them."""
    kind = common(parts)
    return [part.to(kind) for part in parts]


def common(parts: Sequence[Part]) -> str:
    """The type in which DuckDB compares these; refused if one is text and another is not, say."""
    typed = [part for part in parts if part.kind != "NULL"]
    kinds = {part.kind for part in typed}
    if not kinds:
        return "VARCHAR"
    if kinds & set(DAY_KINDS) and all(is_moment(part) for part in typed):
        return _common_moment(typed)
    if len(kinds) == 1 and kinds <= {"VARCHAR", "BOOLEAN"}:
        return kinds.pop()
    if all(part.decimal or part.kind in FLOAT_KINDS for part in typed):
        return _common_number(typed, kinds)
    raise refused(f"{' with '.join(sorted(kinds))} without a cast")


def is_moment(part: Part) -> bool:
    """Whether it is a day or a moment, or is written down and may be one."""
    return part.kind in DAY_KINDS or (part.kind == "VARCHAR" and part.said is not None)


def _common_moment(parts: Sequence[Part]) -> str:
    columns = {part.kind for part in parts if part.said is None}
    if columns == {_ZONED}:
        return _ZONED
    kinds = {part.kind for part in parts if part.kind != "VARCHAR"}
    return "DATE" if kinds == {"DATE"} else "TIMESTAMP"


def _common_number(parts: Sequence[Part], kinds: set[str]) -> str:
    if kinds <= set(WHOLE_KINDS):
        return _common_whole(parts)
    if "FLOAT" in kinds and "DOUBLE" not in kinds:
        if all(part.kind == "FLOAT" or _is_short(part) for part in parts):
            return "FLOAT"
        raise refused("FLOAT with other numbers without a cast to DOUBLE")
    sizes = [part.decimal for part in parts if part.decimal]
    if "DOUBLE" in kinds:
        if any(scale and digits > _EXACT for digits, scale in sizes):
            raise refused("DOUBLE with DECIMAL of so many digits")
        return "DOUBLE"
    scale = max(scale for _, scale in sizes)
    digits = max(digits - scale for digits, scale in sizes) + scale
    if digits > 38:
        raise refused("DECIMAL of so many digits")
    return f"DECIMAL({digits},{scale})"


def _common_whole(parts: Sequence[Part]) -> str:
    """The largest type, but literals are of that of the columns if they fit."""
    columns = [part.kind for part in parts if part.said is None] or ["INTEGER"]
    largest = max(columns, key=WHOLE_KINDS.index)
    limit = 2 ** (8 * 2 ** WHOLE_KINDS.index(largest) - 1)
    fit = all(-limit <= int(part.said) < limit for part in parts if part.said is not None)
    return largest if fit else max((part.kind for part in parts), key=WHOLE_KINDS.index)


def _is_short(part: Part) -> bool:
    """Whether a literal is a float of 32 bits exactly."""
    if part.said is None or abs(part.number) > 2**24:
        return False
    return bool(struct.unpack("f", struct.pack("f", part.number))[0] == part.number)
