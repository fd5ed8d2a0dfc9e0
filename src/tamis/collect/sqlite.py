"""The collector's database in one SQLite file: the default, for one machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar

from tamis.collect.lock import locked
from tamis.collect.store import Store
from tamis.privacy.databases.sqlite import SqliteDatabase
from tamis.privacy.databases.wording import COLLECTOR, Wording


class SqliteStore(SqliteDatabase, Store):
    """A file in which nothing is left of reports that were deleted."""

    wording: ClassVar[Wording] = COLLECTOR
    application: ClassVar[int] = 0x74616D63  # no ledger: tamc
    # What is written aside by a clean-up stays in memory: it would be left on another disk.
    settings: ClassVar[tuple[str, ...]] = ("secure_delete = ON", "temp_store = MEMORY")
    unchanged: ClassVar[str] = ""  # a clean-up waits too, and comes after a change
    bytes_type: ClassVar[str] = "BLOB"

    def writing(self) -> AbstractContextManager[None]:
        return self.transaction("BEGIN IMMEDIATE")

    @contextmanager
    def alone(self) -> Iterator[None]:
        with locked(self.path.with_name(self.path.name + ".aggregator")):
            self.scrub()  # whoever was alone before may have died before it came to this
            yield

    def delete_reports(self, query: str, number: int) -> None:
        super().delete_reports(query, number)
        self.run("PRAGMA user_version = 1")  # a part of the transaction: there is something to do

    def scrub(self) -> None:
        """Deleted rows are overwritten, but pages that were split keep stale copies of some rows.

        So all that is left is written anew, and the log, which holds the old pages, is emptied.
        """
        if self.run("PRAGMA user_version") == [(0,)]:
            return
        self.run("VACUUM")
        until = time.monotonic() + self.patience
        while self.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
            if time.monotonic() > until:
                raise self.busy(f"the {self.wording.name}")
            time.sleep(0.02)
        self.run("PRAGMA user_version = 0")

    def make(self) -> None:
        self.make_tables()

    def recognise(self) -> None:
        self.check_version()
