"""A database in a schema of a PostgreSQL server, for several machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from tamis.privacy.databases.database import Database, Row
from tamis.privacy.databases.wording import Wording
from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import psycopg


class PostgresDatabase(Database):
    """Every transaction that writes waits for the server's disk."""

    schema: ClassVar[str]  # with its dot, as it stands before a table's name
    known_by: ClassVar[str]  # a table that is there when all are
    making: ClassVar[int]  # one key for all who might make the tables at the same time
    scope: ClassVar[str]  # whether being durable lasts for a transaction (LOCAL) or a SESSION

    def __init__(self, url: str) -> None:
        self._link = _connect(url, self.wording)
        self.prepare_or_close()

    def run(self, sql: str, values: Row = ()) -> list[Row]:
        with self._errors():
            cursor = self._link.execute(sql.replace("?", "%s").encode(), values or None)
            return list(cursor.fetchall()) if cursor.description else []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._errors(), self._link.transaction():
            yield

    def close(self) -> None:
        self._link.close()

    def prepare(self) -> None:
        with self.transaction():
            self.be_durable()
            if not self._has_tables():
                self.run("SELECT pg_advisory_xact_lock(?)", (self.making,))
                if not self._has_tables():  # someone else may have been first
                    self.run(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
                    self.make()
            self.recognise()

    def be_durable(self) -> None:
        """Wait for the disk at the end of a transaction, and not for ever on the way."""
        self.run(f"SET {self.scope} synchronous_commit TO on")
        self.run(f"SET {self.scope} lock_timeout TO '{self.patience:.0f}s'")
        if self.run("SHOW fsync")[0][0] != "on":
            raise self.wording.unavailable(
                "The PostgreSQL server does not wait for its disk (fsync is off), so "
                f"{self.wording.lost} could be lost; switch fsync on, or use another server."
            )

    @property
    def _schema(self) -> str:
        return self.schema.rstrip(".")

    def _has_tables(self) -> bool:
        """By a query of the catalogue: what names stand for may be remembered from before."""
        sql = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = ?"
        return bool(self.run(sql, (self._schema, self.known_by)))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of the server as sentences; its own words may quote what was sent."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise self._sentence(error) from None

    def _sentence(self, error: psycopg.Error) -> Exception:
        from psycopg import OperationalError
        from psycopg.errors import InsufficientPrivilege, LockNotAvailable

        if isinstance(error, LockNotAvailable):
            return self.busy(self.wording.locked)
        if isinstance(error, InsufficientPrivilege):
            said = (
                f"The PostgreSQL user may not use the {self.wording.name}; ask the owner for the "
                f"right to {self.wording.rights} in the schema {self._schema}, or to create it."
            )
        elif isinstance(error, OperationalError):
            said = f"The PostgreSQL server went away; {self.wording.went_away}"
        else:
            said = (
                f"The PostgreSQL server refused a statement ({type(error).__name__}); check that "
                f"the schema {self._schema} is the one that tamis made."
            )
        return self.wording.unavailable(said)


def _connect(url: str, wording: Wording) -> psycopg.Connection[tuple[Any, ...]]:
    """Never with the address in a message: it may hold a password."""
    try:
        import psycopg
    except ImportError:
        raise wording.unavailable(
            f"A {wording.name} in PostgreSQL needs the package psycopg, which is not installed; "
            "install tamis with its extra: pip install 'tamis[postgres]'."
        ) from None
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=10, prepare_threshold=None)
    except psycopg.ProgrammingError:
        raise InvalidInput(
            f"The address of the {wording.name} is not one that PostgreSQL understands; write it "
            "as postgresql://user@host:5432/database."
        ) from None
    except psycopg.Error:
        raise wording.unavailable(
            f"The PostgreSQL server of the {wording.name} cannot be reached, or refused the user; "
            "check host, port, database, user and password, and that the server runs."
        ) from None
