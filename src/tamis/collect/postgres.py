"""The collector's database in a PostgreSQL schema: several machines, one collection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from tamis.collect.store import ANOTHER, PATIENCE, Row, Store
from tamis.privacy.errors import AggregatorBusy, InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    import psycopg

_MAKING = 0x74616D6363  # one key for all who might make the tables at the same time
_ALONE = 0x74616D6361  # and one for aggregators


class PostgresStore(Store):
    """Every transaction waits for the server's disk.

    The server keeps deleted rows in its files until it cleans up by itself, and in its log and
    copies for as long as these are kept: they are sealed, and end with the aggregator's key.
    """

    schema: ClassVar[str] = "tamis_collector."
    bytes_type: ClassVar[str] = "BYTEA"
    shared: ClassVar[str] = " FOR SHARE"

    def __init__(self, url: str) -> None:
        self._link = _connect(url)
        try:
            self._prepare()
        except BaseException:
            self._link.close()
            raise

    def run(self, sql: str, values: Row = ()) -> list[Row]:
        with _errors():
            cursor = self._link.execute(sql.replace("?", "%s").encode(), values or None)
            return list(cursor.fetchall()) if cursor.description else []

    @contextmanager
    def writing(self) -> Iterator[None]:
        with _errors(), self._link.transaction():
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """The lock is the connection's: whoever loses it can no longer write either."""
        if not self.run("SELECT pg_try_advisory_lock(?)", (_ALONE,))[0][0]:
            raise AggregatorBusy(ANOTHER)
        try:
            yield
        finally:
            if not self._link.closed:
                self.run("SELECT pg_advisory_unlock(?)", (_ALONE,))

    def scrub(self) -> None:
        """Files of the server are the server's business."""

    def close(self) -> None:
        self._link.close()

    def _prepare(self) -> None:
        self._be_durable()
        with self.writing():
            if not self._has_tables():
                self.run("SELECT pg_advisory_xact_lock(?)", (_MAKING,))
                if not self._has_tables():  # someone else may have been first
                    self.run(f"CREATE SCHEMA IF NOT EXISTS {self.schema.rstrip('.')}")
                    self.make_tables()
            self.check_version()

    def _has_tables(self) -> bool:
        """By a query of the catalogue: what names stand for may be remembered from before."""
        sql = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = 'reports'"
        return bool(self.run(sql, (self.schema.rstrip("."),)))

    def _be_durable(self) -> None:
        """For this connection: wait for the disk at every commit, and not for ever on the way."""
        self.run("SET synchronous_commit TO on")
        self.run(f"SET lock_timeout TO '{PATIENCE:.0f}s'")
        if self.run("SHOW fsync")[0][0] != "on":
            raise StoreUnavailable(
                "The PostgreSQL server does not wait for its disk (fsync is off), so a report "
                "could be lost; switch fsync on, or use another server."
            )


def _connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Never with the address in a message: it may hold a password."""
    try:
        import psycopg
    except ImportError:
        raise StoreUnavailable(
            "A collector in PostgreSQL needs the package psycopg, which is not installed; "
            "install tamis with its extra: pip install 'tamis[postgres]'."
        ) from None
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=10, prepare_threshold=None)
    except psycopg.ProgrammingError:
        raise InvalidInput(
            "The address of the collector's database is not one that PostgreSQL understands; "
            "write it as postgresql://user@host:5432/database."
        ) from None
    except psycopg.Error:
        raise StoreUnavailable(
            "The collector's PostgreSQL server cannot be reached, or refused the user; check "
            "host, port, database, user and password, and that the server runs."
        ) from None


@contextmanager
def _errors() -> Iterator[None]:
    """Errors of the server as sentences, without its own words: they may quote what was sent."""
    import psycopg

    try:
        yield
    except psycopg.errors.LockNotAvailable:
        raise StoreUnavailable(
            f"Other processes have held the collector's database for {PATIENCE:.0f} seconds, and "
            "nothing was changed; try again, and look for a process that hangs."
        ) from None
    except psycopg.errors.InsufficientPrivilege:
        raise StoreUnavailable(
            "The PostgreSQL user may not use the collector's database; ask the owner for the right "
            "to SELECT, INSERT, UPDATE and DELETE in the schema tamis_collector, or to create it."
        ) from None
    except psycopg.OperationalError:
        raise StoreUnavailable(
            "The PostgreSQL server went away; whether what was under way was done is not known. "
            "Check that the server runs, and try again."
        ) from None
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"The PostgreSQL server refused a statement ({type(error).__name__}); check that the "
            "schema tamis_collector is the one that tamis made."
        ) from None
