"""Functions of DuckDB, in those of Spark that find the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import duckdb

from tamis.engines.spark.parts import (
    DAY_KINDS,
    FLOAT_KINDS,
    WHOLE_KINDS,
    Part,
    common,
    refused,
    together,
)


def called(name: str, parts: Sequence[Part]) -> Part:
    """What a function finds."""
    names = [part.kind for part in parts]
    for kinds, functions in _FUNCTIONS:
        if name in functions and len(kinds) == len(parts):
            fits = all(
                part.kind in (*known, "NULL") for part, known in zip(parts, kinds, strict=True)
            )
            if not fits:
                raise refused(f"{name} of {' and '.join(names)}")
            return functions[name](*parts)
    if name in _OF_ANY and parts:
        return _OF_ANY[name](parts)
    raise refused(name)


def matched(name: str, parts: Sequence[Part]) -> Part:
    """LIKE with a pattern that is written down."""
    text, pattern = parts[:2]
    escape = parts[2].said if len(parts) > 2 else ""
    if text.kind != "VARCHAR" or pattern.kind != "VARCHAR" or pattern.said is None:
        raise refused("LIKE of what is not text, or with what is not a pattern that is written out")
    if escape is None or len(escape) > 1:
        raise refused("such an ESCAPE")
    found = text.column.like(_pattern(pattern.said, escape))
    return Part(~found if name.startswith(("!", "not")) else found, "BOOLEAN")


def _pattern(pattern: str, escape: str) -> str:
    """A pattern in which a backslash escapes, as in Spark's."""
    made, rest = "", iter(pattern)
    for sign in rest:
        if escape and sign == escape:
            following = next(rest, "")
            if not following:
                raise refused("a pattern that ends with its ESCAPE")
            made += "\\" + following if following in "%_\\" else following
        else:
            made += "\\\\" if sign == "\\" else sign
    return made


@cache
def _cases() -> dict[str, tuple[str, str]]:
    """The letters that DuckDB's lower and upper change, and what they become."""
    made = {}
    with duckdb.connect() as database:
        for name in ("lower", "upper"):
            rows = database.execute(
                f"SELECT chr(n), {name}(chr(n)) FROM (SELECT range::INTEGER AS n "
                f"FROM range(1, 1114112) WHERE range NOT BETWEEN 55296 AND 57343) "
                f"WHERE {name}(chr(n)) <> chr(n)"
            ).fetchall()
            assert all(len(after) == 1 for _, after in rows)
            made[name] = "".join(a for a, _ in rows), "".join(b for _, b in rows)
    return made


@cache
def _blanks() -> str:
    """What DuckDB's trim takes away."""
    with duckdb.connect() as database:
        rows = database.execute(
            "SELECT chr(n) FROM (SELECT range::INTEGER AS n FROM range(1, 1114112) "
            "WHERE range NOT BETWEEN 55296 AND 57343) WHERE trim(chr(n)) = ''"
        ).fetchall()
    return "".join(sign for (sign,) in rows)


def _cased(name: str) -> Callable[[Part], Part]:
    """Letter by letter, as DuckDB does it: Spark would also look at the letters around."""

    def made(text: Part) -> Part:
        from pyspark.sql import functions as f

        return Part(f.translate(text.to("VARCHAR"), *_cases()[name]), "VARCHAR")

    return made


def _trimmed(name: str) -> Callable[[Part], Part]:
    def made(text: Part) -> Part:
        from pyspark.sql import functions as f

        return Part(getattr(f, name)(text.to("VARCHAR"), f.lit(_blanks())), "VARCHAR")

    return made


def _field(name: str, less: int = 0) -> Callable[[Part], Part]:
    """A field of a day or moment, in UTC."""

    def made(moment: Part) -> Part:
        from pyspark.sql import functions as f

        found = getattr(f, name)(moment.to("DATE" if moment.kind == "DATE" else "TIMESTAMP"))
        return Part((found - less).cast("bigint"), "BIGINT")

    return made


def _part(name: Part, moment: Part) -> Part:
    """extract(year FROM day), say."""
    found = _FIELDS.get((name.said or "").lower())
    if found is None:
        raise refused(f"extract of {name.said or 'what is not written out'}")
    if moment.kind == "DATE" and name.said is not None and name.said.lower() in _CLOCK:
        raise refused(f"{name.said.lower()} of DATE")
    return found(moment)


def _simple(name: str, kind: str) -> Callable[..., Part]:
    """A function of text that is Spark's own."""

    def made(*parts: Part) -> Part:
        from pyspark.sql import functions as f

        return Part(getattr(f, name)(*(part.to("VARCHAR") for part in parts)), kind)

    return made


def _cut(name: str, least: int) -> Callable[..., Part]:
    """A part of a text, from and for numbers that are written down."""

    def made(text: Part, *numbers: Part) -> Part:
        from pyspark.sql import functions as f

        if any(
            n.said is None or not low <= n.number < _FAR
            for n, low in zip(numbers, (least, 0), strict=False)
        ):
            raise refused(f"{name} with such numbers")
        return Part(getattr(f, name)(text.to("VARCHAR"), *(n.column for n in numbers)), "VARCHAR")

    return made


def _finite(name: str) -> Callable[[Part], Part]:
    def made(value: Part) -> Part:
        from pyspark.sql import functions as f

        number = value.to("DOUBLE")
        none, endless = f.isnan(number), f.abs(number) == float("inf")
        found = {"isnan": none, "isinf": endless, "isfinite": ~(none | endless)}[name]
        return Part(f.when(number.isNotNull(), found), "BOOLEAN")

    return made


def _size(value: Part) -> Part:
    from pyspark.sql import functions as f

    if value.kind in WHOLE_KINDS:
        return Part(f.abs(value.to("BIGINT")), "BIGINT").narrowed(value.kind)
    return Part(f.abs(value.to("DOUBLE")), "DOUBLE")


def _joined(parts: Sequence[Part]) -> Part:
    """concat, to which NULL is nothing."""
    from pyspark.sql import functions as f

    if any(part.kind not in ("VARCHAR", "NULL") for part in parts):
        raise refused("concat of what is not text")
    texts = (f.coalesce(part.to("VARCHAR"), f.lit("")) for part in parts)
    return Part(f.concat(*texts), "VARCHAR")


def _nothing_if(parts: Sequence[Part]) -> Part:
    from pyspark.sql import functions as f

    if len(parts) != 2 or common(parts) not in (parts[0].kind, "NULL"):
        raise refused("nullif of different types")
    left, right = together(parts)
    return Part(f.when(f.coalesce(left != right, f.lit(True)), left), parts[0].kind)


def _either(parts: Sequence[Part]) -> Part:
    from pyspark.sql import functions as f

    if len(parts) != 3 or parts[0].kind not in ("BOOLEAN", "NULL"):
        raise refused("if in this way")
    yes, no = together(parts[1:])
    return Part(f.when(parts[0].to("BOOLEAN"), yes).otherwise(no), common(parts[1:]))


_FAR = 1 << 31  # from there on, Spark does not take a number for a place in a text
_TEXT, _ANY_NUMBER = ("VARCHAR",), (*WHOLE_KINDS, *FLOAT_KINDS)
_CLOCK = ("hour", "minute", "second")
_FIELDS: dict[str, Callable[[Part], Part]] = {
    **{name: _field(name) for name in ("year", "quarter", "month", "day", *_CLOCK)},
    "doy": _field("dayofyear"),
    "dow": _field("dayofweek", 1),
    "isodow": _field("weekday", -1),
    "week": _field("weekofyear"),
}
_DAY_FIELDS = {
    **{name: made for name, made in _FIELDS.items() if name not in (*_CLOCK, "doy", "dow")},
    "dayofmonth": _field("day"),
    "dayofyear": _field("dayofyear"),
    "dayofweek": _field("dayofweek", 1),
    "weekday": _field("dayofweek", 1),
    "weekofyear": _field("weekofyear"),
}
# the types of arguments, and what is called with them
_FUNCTIONS: list[tuple[list[tuple[str, ...]], dict[str, Callable[..., Part]]]] = [
    (
        [_TEXT],
        {
            **dict.fromkeys(
                ("length", "len", "char_length", "character_length"), _simple("length", "BIGINT")
            ),
            **dict.fromkeys(("lower", "lcase"), _cased("lower")),
            **dict.fromkeys(("upper", "ucase"), _cased("upper")),
            **{name: _trimmed(name) for name in ("trim", "ltrim", "rtrim")},
        },
    ),
    (
        [_TEXT, _TEXT],
        {
            "||": _simple("concat", "VARCHAR"),
            "contains": _simple("contains", "BOOLEAN"),
            **dict.fromkeys(
                ("starts_with", "startswith", "^@", "prefix"), _simple("startswith", "BOOLEAN")
            ),
            **dict.fromkeys(("ends_with", "suffix"), _simple("endswith", "BOOLEAN")),
        },
    ),
    ([_TEXT, DAY_KINDS], {"date_part": _part, "datepart": _part}),
    ([_TEXT, WHOLE_KINDS], {"left": _cut("left", 0), "right": _cut("right", 0)}),
    (
        [_TEXT, WHOLE_KINDS, WHOLE_KINDS],
        dict.fromkeys(("substring", "substr"), _cut("substring", 1)),
    ),
    ([DAY_KINDS], dict(_DAY_FIELDS)),
    ([DAY_KINDS[1:]], {name: _FIELDS[name] for name in _CLOCK}),
    ([FLOAT_KINDS], {name: _finite(name) for name in ("isnan", "isinf", "isfinite")}),
    ([_ANY_NUMBER], dict.fromkeys(("abs", "@"), _size)),
]
_OF_ANY: dict[str, Callable[[Sequence[Part]], Part]] = {
    "concat": _joined,
    "nullif": _nothing_if,
    "if": _either,
}
