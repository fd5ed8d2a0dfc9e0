"""A ledger in a PostgreSQL schema, for teams: several machines, one record."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tamis.privacy.errors import InvalidInput, LedgerUnavailable
from tamis.privacy.ledger.head import Head, HeadFile, make_private
from tamis.privacy.ledger.store import PATIENCE, Row, Store

if TYPE_CHECKING:
    import psycopg

_MAKING = 0x74616D6973  # one key for all who might make the tables at the same time


class PostgresStore(Store):
    """One transaction per charge, with the budget's row locked and the commit on the disk."""

    schema: ClassVar[str] = "tamis."
    head_needed: ClassVar[bool] = False  # another machine may have made the budgets

    def __init__(self, url: str, heads: Path) -> None:
        self._link = _connect(url)
        try:
            self._prepare()
        except BaseException:
            self._link.close()
            raise
        self.head = HeadFile(heads / f"{self.id}.head")

    def run(self, sql: str, values: Row = ()) -> list[Row]:
        cursor = self._link.execute(sql.replace("?", "%s").encode(), values or None)
        return list(cursor.fetchall()) if cursor.description else []

    @contextmanager
    def reading(self) -> Iterator[None]:
        with _errors(), self._link.transaction():
            self.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield

    @contextmanager
    def writing(self, budget: str | None = None) -> Iterator[None]:
        with _errors(), self._link.transaction():
            self._be_durable()
            if budget is None:
                self.run("SELECT id FROM tamis.ledger FOR UPDATE")
            else:
                self.run("SELECT name FROM tamis.budgets WHERE name = ? FOR UPDATE", (budget,))
            yield

    def write_head(self, head: Head) -> None:
        """As well as this machine can: the record itself is on the server."""
        with suppress(LedgerUnavailable):
            make_private(self.head.path.parent.parent)
            make_private(self.head.path.parent)
            self.head.write(head)

    def close(self) -> None:
        self._link.close()

    def _prepare(self) -> None:
        with _errors(), self._link.transaction():
            self._be_durable()
            if not self._has_tables():
                self.run("SELECT pg_advisory_xact_lock(?)", (_MAKING,))
                if not self._has_tables():  # someone else may have been first
                    self.run("CREATE SCHEMA IF NOT EXISTS tamis")
                    self.make_tables(uuid.uuid4().hex)
            self.id = self.identify()

    def _has_tables(self) -> bool:
        """By a query of the catalogue: what names stand for may be remembered from before."""
        sql = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = ?"
        return bool(self.run(sql, ("tamis", "entries")))

    def _be_durable(self) -> None:
        """For this transaction: wait for the disk at its end, and not for ever on the way."""
        self.run("SET LOCAL synchronous_commit TO on")
        self.run(f"SET LOCAL lock_timeout TO '{PATIENCE:.0f}s'")
        if self.run("SHOW fsync")[0][0] != "on":
            raise LedgerUnavailable(
                "The PostgreSQL server does not wait for its disk (fsync is off), so a charge "
                "could be lost; switch fsync on, or use another server."
            )


def _connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Never with the address in a message: it may hold a password."""
    try:
        import psycopg
    except ImportError:
        raise LedgerUnavailable(
            "A ledger in PostgreSQL needs the package psycopg, which is not installed; "
            "install tamis with its extra: pip install 'tamis[postgres]'."
        ) from None
    try:
        link = psycopg.connect(url, autocommit=True, connect_timeout=10, prepare_threshold=None)
    except psycopg.ProgrammingError:
        raise InvalidInput(
            "The ledger's address is not one that PostgreSQL understands; "
            "write it as postgresql://user@host:5432/database."
        ) from None
    except psycopg.Error:
        raise LedgerUnavailable(
            "The ledger's PostgreSQL server cannot be reached, or refused the user; check host, "
            "port, database, user and password, and that the server runs."
        ) from None
    return link


@contextmanager
def _errors() -> Iterator[None]:
    """Errors of the server as sentences."""
    import psycopg

    try:
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise LedgerUnavailable(
            f"Other processes have held the budget for {PATIENCE:.0f} seconds, and nothing was "
            "changed; try again, and look for a process that hangs."
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise LedgerUnavailable(
            "The PostgreSQL user may not use the ledger; ask the owner for the right to SELECT, "
            "INSERT and UPDATE in the schema tamis, or to create it."
        ) from error
    except psycopg.OperationalError as error:
        raise LedgerUnavailable(
            "The PostgreSQL server went away; whether a charge that was under way was made is not "
            "known: see the budget's history, and try again."
        ) from error
    except psycopg.Error as error:
        raise LedgerUnavailable(
            f"The PostgreSQL server refused a statement ({type(error).__name__}); check that the "
            "schema tamis is the one that tamis made."
        ) from error
