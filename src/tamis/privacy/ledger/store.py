"""Tables of a ledger, alike in every database: who may be where is for the databases to say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from datetime import date
from typing import ClassVar

from tamis.privacy.databases.database import Row
from tamis.privacy.errors import LedgerDamaged
from tamis.privacy.ledger.budget import DELTA_UNIT, EPSILON_UNIT, Budget, Entry, units
from tamis.privacy.ledger.chain import damaged
from tamis.privacy.ledger.head import Head, HeadFile

VERSION = 1

# delta in units of 1e-30 needs more than 64 bits, so it is written as text.
TABLES = (
    "CREATE TABLE {ledger} (id TEXT NOT NULL, version BIGINT NOT NULL)",
    "CREATE TABLE {budgets} (name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, "
    "epsilon_units BIGINT NOT NULL, delta_units TEXT NOT NULL, unit TEXT NOT NULL, "
    "created TEXT NOT NULL)",
    "CREATE TABLE {entries} (budget TEXT NOT NULL REFERENCES {budgets} (name), "
    "number BIGINT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, "
    "epsilon_units BIGINT NOT NULL, delta_units TEXT NOT NULL, keys_per_unit BIGINT NOT NULL, "
    "elements_per_key BIGINT NOT NULL, unit TEXT NOT NULL, purpose TEXT NOT NULL, "
    "day TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL, "
    "PRIMARY KEY (budget, number))",
)
_COST = "epsilon, delta, epsilon_units, delta_units"
_BUDGET = f"name, {_COST}, unit, created"
_ENTRY = f"number, {_COST}, keys_per_unit, elements_per_key, unit, purpose, day, previous, digest"


class Store(ABC):
    """A database with the tables of one ledger."""

    schema: ClassVar[str] = ""  # what stands before a table's name
    head: HeadFile
    head_needed: ClassVar[bool] = True  # whether a ledger with budgets must have its head file
    id: str

    @abstractmethod
    def run(self, sql: str, values: Row = ()) -> list[Row]:
        """Runs one statement; values stand for question marks."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """A transaction that sees the ledger at one moment."""

    @abstractmethod
    def writing(self, budget: str | None = None) -> AbstractContextManager[None]:
        """A transaction that is alone with a budget (or with all) and durable when it ends."""

    @abstractmethod
    def close(self) -> None: ...

    def write_head(self, head: Head) -> None:
        self.head.write(head)

    def table(self, sql: str) -> str:
        return sql.format(**{t: self.schema + t for t in ("ledger", "budgets", "entries")})

    def make_tables(self, identity: str) -> None:
        for sql in TABLES:
            self.run(self.table(sql))
        self.run(self.table("INSERT INTO {ledger} VALUES (?, ?)"), (identity, VERSION))

    def identify(self) -> str:
        rows = self.run(self.table("SELECT id, version FROM {ledger}"))
        if len(rows) != 1 or not isinstance(rows[0][0], str):
            raise LedgerDamaged("The ledger does not say which one it is; put back a copy of it.")
        if rows[0][1] != VERSION:
            raise LedgerDamaged(
                f"The ledger has format {rows[0][1]} and this version of tamis knows format "
                f"{VERSION}; use the version of tamis that wrote it, or a newer one."
            )
        return str(rows[0][0])

    def budgets(self) -> dict[str, Budget]:
        """All budgets, without what was spent."""
        rows = self.run(self.table(f"SELECT {_BUDGET} FROM {{budgets}}"))
        found = map(_budget, rows)
        return {budget.name: budget for budget in sorted(found, key=lambda b: b.name)}

    def counts(self) -> dict[str, int]:
        """How many entries each budget has."""
        sql = "SELECT budget, count(*) FROM {entries} GROUP BY budget"
        return {str(name): int(n) for name, n in self.run(self.table(sql))}

    def entries(self, name: str) -> list[Entry]:
        sql = f"SELECT {_ENTRY} FROM {{entries}} WHERE budget = ? ORDER BY number"
        return [_entry(self.id, name, row) for row in self.run(self.table(sql), (name,))]

    def add_budget(self, b: Budget) -> None:
        row = (b.name, *_cost(b.epsilon, b.delta), b.unit, b.created.isoformat())
        self._insert(f"{{budgets}} ({_BUDGET})", row)

    def add_entry(self, e: Entry) -> None:
        said = (e.keys_per_unit, e.elements_per_key, e.unit, e.purpose, e.day.isoformat())
        row = (e.budget, e.number, *_cost(e.epsilon, e.delta), *said, e.previous, e.digest)
        self._insert(f"{{entries}} (budget, {_ENTRY})", row)

    def _insert(self, into: str, row: Row) -> None:
        marks = ", ".join("?" * len(row))
        self.run(self.table(f"INSERT INTO {into} VALUES ({marks})"), row)


def _cost(epsilon: float, delta: float) -> tuple[str, str, int, str]:
    parts = units(epsilon, EPSILON_UNIT), str(units(delta, DELTA_UNIT))
    return (repr(epsilon), repr(delta), *parts)


def _read_cost(row: Row) -> tuple[float, float]:
    """Text and whole numbers must say the same, in the form in which they are written."""
    epsilon, delta = float(row[0]), float(row[1])
    if tuple(row) != _cost(epsilon, delta):
        raise ValueError
    return epsilon, delta


def _budget(row: Row) -> Budget:
    try:
        return Budget(str(row[0]), *_read_cost(row[1:5]), str(row[5]), date.fromisoformat(row[6]))
    except (ValueError, TypeError, OverflowError):
        raise damaged(str(row[0]), "the budget itself is not what was created") from None


def _entry(ledger: str, name: str, row: Row) -> Entry:
    try:
        costs = _read_cost(row[1:5])
        bounds = int(row[5]), int(row[6])
        day = date.fromisoformat(row[9])
        return Entry(ledger, name, row[0], *costs, *bounds, row[7], row[8], day, row[10], row[11])
    except (ValueError, TypeError, OverflowError):
        raise damaged(name, f"entry {row[0]} is not what was charged") from None
