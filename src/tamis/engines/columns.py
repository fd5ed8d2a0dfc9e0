"""Which columns of the data are asked for, what they may hold, and what the engine calls them."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.engines.condition import unknown
from tamis.engines.protocol import Request
from tamis.engines.source import advised, identifier
from tamis.privacy.errors import BadData, InvalidInput

Types = dict[str, str]

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
NUMBERS = (*WHOLE, "UBIGINT", "HUGEINT", "DECIMAL")
FLOATS = ("FLOAT", "DOUBLE")
# an ENUM has a list of all its values, and Parquet has no moments in whole seconds
_CASTS = {"ENUM": "::VARCHAR", "TIMESTAMP_S": "::TIMESTAMP_MS"}
_MOMENTS = (
    *("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
    *("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ_NS"),
)
_TIMES = ("DATE", "TIME", "TIME_NS", *_MOMENTS)
NO_NUMBER = "what is not a number; repair these rows, or leave them out"
# Asked of the text, which may have a sign: the statistics of Parquet files leave NaN out, so that
# DuckDB's isnan finds none.
NAN = "ends_with({}::VARCHAR, 'nan')"
_KEYS = (*NUMBERS, *_TIMES, "VARCHAR", "BOOLEAN", "UUID", "ENUM", "BLOB")


@dataclass(frozen=True)
class Columns:
    """The columns of a request, under names of the engine's own: k0, k1, ..., owner, many.

    So what users call their columns can clash with nothing.
    """

    request: Request
    types: Types
    listed: bool = True  # whether names may be shown: those of a file may be its first row
    nan: str = NAN  # how to ask whether a column is NaN

    def __post_init__(self) -> None:
        asked = [
            n for n in (*self.request.key, self.request.unit, self.request.count) if n is not None
        ]
        for name in asked:
            if name not in self.types:
                raise InvalidInput(unknown(name, list(self.types), self.listed))
        if len(set(asked)) < len(asked):
            raise InvalidInput("key, unit and count must name different columns, each once.")
        for name in self.request.key:
            kind = self.kind(name)
            if kind not in (*_KEYS, *(FLOATS if self.request.floats else ())):
                raise InvalidInput(
                    f"key {name!r} is of type {kind}; keys are text, whole numbers, dates or the "
                    "like: convert it to text first."
                )

    def kind(self, name: str) -> str:
        """The type without its parameters, which may hold data."""
        kind = self.types[name]
        return "LIST" if kind.endswith("]") else kind.split("(")[0]

    @property
    def keys(self) -> list[str]:
        return [f"k{n}" for n in range(len(self.request.key))]

    @property
    def numbered(self) -> bool:
        """Whether units are whole numbers of 64 bits."""
        return self.request.unit is not None and self.kind(self.request.unit) in WHOLE

    def selected(self, binary: bool) -> str:
        """All columns, named; ``binary`` if their text may come with an order of its own."""
        names = zip((*self.request.key, self.request.unit), (*self.keys, "owner"), strict=True)
        chosen = [f"{self._plain(old, binary)} AS {new}" for old, new in names if old is not None]
        return ", ".join([*chosen, *self._count()])

    def _plain(self, name: str, binary: bool) -> str:
        """Text that is equal is the same text, whatever collation a database gives it."""
        collated = binary and self.kind(name) == "VARCHAR"
        return identifier(name) + (" COLLATE C" if collated else "")

    def _count(self) -> list[str]:
        if self.request.count is None:
            return []
        name = identifier(self.request.count)
        if self.count_kind() == "VARCHAR":
            return [f"TRY_CAST({name} AS DECIMAL(38, 9)) AS many"]
        return [f"{name} AS many"]

    def count_kind(self) -> str:
        """The type of the column of counts, if it can hold counts."""
        kind = self.kind(self.request.count or "")
        if kind not in (*NUMBERS, *FLOATS, "VARCHAR"):
            raise BadData(
                f"{self.request.count} must hold whole numbers, but its type is {kind}; convert it."
            )
        return kind

    def named(self) -> str:
        """The key columns under their true names, in types that a release can hold."""
        return ", ".join(
            f"{new}{_CASTS.get(self.kind(old), '')} AS {identifier(old)}"
            for old, new in zip(self.request.key, self.keys, strict=True)
        )

    def bad_counts(self) -> dict[str, str]:
        """Conditions on counts that must not hold, and what to say then."""
        floating = self.kind(self.request.count or "") in FLOATS
        missing = "many IS NULL" + (f" OR {self._nan('many')}" if floating else "")
        small, large = "many < 1", f"many > {2**53 if floating else 2**62}"
        # what is infinite has no whole part for Spark
        fraction = f"CASE WHEN {small} OR {large} THEN false ELSE many <> floor(many) END"
        return {
            missing: NO_NUMBER,
            small: "values below 1; leave out keys that do not occur",
            fraction: "fractions; give whole numbers",
            large: "values that are too large to be exact; use a coarser unit",
        }

    def no_unit(self) -> str:
        """The condition that a row belongs to no one."""
        floating = self.kind(self.request.unit or "") in FLOATS
        return "owner IS NULL" + (f" OR {self._nan('owner')}" if floating else "")

    def lost(self) -> BadData:
        """What to say if there is such a row."""
        unit = self.request.unit or ""
        there = f"{advised(unit)} IS NOT NULL"
        if self.kind(unit) in FLOATS:
            there += f" AND NOT isnan({advised(unit)})"
        return BadData(
            f"unit {unit!r} is missing in some rows: whom they belong to is not known; leave them "
            f"out with where={there!r}, or repair them."
        )

    def _nan(self, column: str) -> str:
        return self.nan.format(column)


def no_text(column: str = "a key column") -> BadData:
    """What to say of text that no reader of a release could read."""
    return BadData(f"{column} holds text that is not in UTF-8: repair it, or leave it out.")
