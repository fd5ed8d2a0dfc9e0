"""The collector's database in a PostgreSQL schema: several machines, one collection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar

from tamis.collect.lock import ANOTHER
from tamis.collect.store import Store
from tamis.privacy.databases.postgres import PostgresDatabase
from tamis.privacy.databases.wording import COLLECTOR, Wording
from tamis.privacy.errors import AggregatorBusy

_ALONE = 0x74616D6361  # one key for all aggregators


class PostgresStore(PostgresDatabase, Store):
    """Every transaction waits for the server's disk.

    The server keeps deleted rows in its files until it cleans up by itself, and in its log and
    copies for as long as these are kept: they are sealed, and end with the aggregator's key.
    """

    wording: ClassVar[Wording] = COLLECTOR
    schema: ClassVar[str] = "tamis_collector."
    known_by: ClassVar[str] = "reports"
    making: ClassVar[int] = 0x74616D6363
    scope: ClassVar[str] = "SESSION"
    bytes_type: ClassVar[str] = "BYTEA"
    shared: ClassVar[str] = " FOR SHARE"

    def writing(self) -> AbstractContextManager[None]:
        return self.transaction()

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

    def make(self) -> None:
        self.make_tables()

    def recognise(self) -> None:
        self.check_version()
