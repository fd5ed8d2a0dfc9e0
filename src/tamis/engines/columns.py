"""Which columns of the data are asked for, what they may hold, and what the engine calls them."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.engines.condition import unknown
from tamis.engines.protocol import Request
from tamis.engines.source import identifier
from tamis.privacy.errors import BadData, InvalidInput

Types = dict[str, str]

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
NUMBERS = (*WHOLE, "UBIGINT", "HUGEINT", "DECIMAL")
FLOATS = ("FLOAT", "DOUBLE")
# an ENUM has a list of all its values, and Parquet has no moments in whole seconds
_CASTS = {"ENUM": "::VARCHAR", "TIMESTAMP_S": "::TIMESTAMP_MS"}
_MOMENTS = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_TIMES = ("DATE", "TIME", "TIME_NS", *_MOMENTS)
NO_NUMBER = "what is not a number; repair these rows, or leave them out"
_KEYS = (*NUMBERS, *_TIMES, "VARCHAR", "BOOLEAN", "UUID", "ENUM", "BLOB")


@dataclass(frozen=True)
class Columns:
    """The columns of a request, under names of the engine's own: k0, k1, ..., owner, many.

    So what users call their columns can clash with nothing.
    """

    request: Request
    types: Types
    listed: bool = True  # whether names may be shown: those of a file may be its first row

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
            kind = self._kind(name)
            if kind not in (*_KEYS, *(FLOATS if self.request.floats else ())):
                raise InvalidInput(
                    f"key {name!r} is of type {kind}; keys are text, whole numbers, dates or the "
                    "like: convert it to text first."
                )

    def _kind(self, name: str) -> str:
        """The type without its parameters, which may hold data."""
        kind = self.types[name]
        return "LIST" if kind.endswith("]") else kind.split("(")[0]

    @property
    def keys(self) -> list[str]:
        return [f"k{n}" for n in range(len(self.request.key))]

    @property
    def numbered(self) -> bool:
        """Whether units are whole numbers of 64 bits."""
        return self.request.unit is not None and self._kind(self.request.unit) in WHOLE

    def selected(self, binary: bool) -> str:
        """All columns, named; ``binary`` if their text may come with an order of its own."""
        names = zip((*self.request.key, self.request.unit), (*self.keys, "owner"), strict=True)
        chosen = [f"{self._plain(old, binary)} AS {new}" for old, new in names if old is not None]
        return ", ".join([*chosen, *self._count()])

    def _plain(self, name: str, binary: bool) -> str:
        """Text that is equal is the same text, whatever collation a database gives it."""
        collated = binary and self._kind(name) == "VARCHAR"
        return identifier(name) + (" COLLATE C" if collated else "")

    def _count(self) -> list[str]:
        if self.request.count is None:
            return []
        name, kind = identifier(self.request.count), self._kind(self.request.count)
        if kind == "VARCHAR":
            return [f"TRY_CAST({name} AS DECIMAL(38, 9)) AS many"]
        if kind not in (*NUMBERS, *FLOATS):
            raise BadData(
                f"{self.request.count} must hold whole numbers, but its type is {kind}; convert it."
            )
        return [f"{name} AS many"]

    def named(self) -> str:
        """The key columns under their true names, in types that a release can hold."""
        return ", ".join(
            f"{new}{_CASTS.get(self._kind(old), '')} AS {identifier(old)}"
            for old, new in zip(self.request.key, self.keys, strict=True)
        )

    def bad_counts(self) -> dict[str, str]:
        """Conditions on counts that must not hold, and what to say then."""
        floating = self._kind(self.request.count or "") in FLOATS
        most = "2::HUGEINT ** 53" if floating else "2::HUGEINT ** 62"
        missing = "many IS NULL" + (f" OR {_not_a_number('many')}" if floating else "")
        return {
            missing: NO_NUMBER,
            "many < 1": "values below 1; leave out keys that do not occur",
            "many <> floor(many)": "fractions; give whole numbers",
            f"many > {most}": "values that are too large to be exact; use a coarser unit",
        }

    def no_unit(self) -> str:
        """The condition that a row belongs to no one."""
        floating = self._kind(self.request.unit or "") in FLOATS
        return "owner IS NULL" + (f" OR {_not_a_number('owner')}" if floating else "")


def _not_a_number(column: str) -> str:
    """Asked of the text: the statistics of a Parquet file leave NaN out, so isnan is not asked.

    NaN may have a sign, as some processors compute it.
    """
    return f"ends_with({column}::VARCHAR, 'nan')"
