"""A database in one SQLite file, for one machine."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from tamis.privacy.databases.database import Database, Row
from tamis.privacy.databases.files import create_file
from tamis.privacy.errors import InvalidInput

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SETTINGS = ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON")


class SqliteDatabase(Database):
    """Write-ahead log, FULL synchronisation: a commit has reached the disk when it returns."""

    application: ClassVar[int]  # says whose file it is
    settings: ClassVar[tuple[str, ...]] = ()  # besides those that make it durable

    def __init__(self, path: Path) -> None:
        self.path = path
        create_file(path, self.wording)
        with self._errors():
            self._link = sqlite3.connect(
                path, timeout=self.patience, isolation_level=None, check_same_thread=False
            )
        self.prepare_or_close()

    def run(self, sql: str, values: Row = ()) -> list[Row]:
        with self._errors():
            return self._link.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        self.run(begin)
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            if self._link.in_transaction:
                self.run("ROLLBACK")
            raise

    def close(self) -> None:
        self._link.close()

    def prepare(self) -> None:
        self._check_owner()
        self._log_ahead()
        for setting in (*_SETTINGS, *self.settings):
            self.run(f"PRAGMA {setting}")
        if not self._is_used():
            with self.transaction("BEGIN IMMEDIATE"):
                if not self._is_used():  # someone else may have been first
                    self.make()
                    self.run(f"PRAGMA application_id = {self.application}")
        with self.transaction("BEGIN"):
            self.recognise()

    def _is_used(self) -> bool:
        return bool(self.run("SELECT 1 FROM sqlite_master LIMIT 1"))

    def _check_owner(self) -> None:
        """Files of other programs are left alone."""
        with self.transaction("BEGIN"):  # both of one moment: somebody may be making the tables
            used = self._is_used()
            owner = self.run("PRAGMA application_id")[0][0]
        if owner != self.application and used:
            raise InvalidInput(f"{str(self.path)!r} is {self.wording.foreign}; name another file.")

    def _log_ahead(self) -> None:
        with self._errors():
            mode = self._change_mode()
        if mode != [("wal",)]:
            raise self.wording.unavailable(
                f"The file system of the {self.wording.name} does not support a write-ahead log; "
                "keep it on a local disk, or use PostgreSQL."
            )

    def _change_mode(self) -> list[Row]:
        """The change does not wait for other processes by itself."""
        until = time.monotonic() + self.patience
        while True:
            try:
                return self._link.execute("PRAGMA journal_mode = WAL").fetchall()
            except sqlite3.OperationalError as error:
                if _code(error) not in _BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of SQLite as sentences."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._sentence(error) from error

    def _sentence(self, error: sqlite3.Error) -> Exception:
        name = self.wording.name
        if (code := _code(error)) in _BUSY:
            return self.busy(f"the {name}")
        if code in _BROKEN:
            return self.wording.damaged(
                f"{str(self.path)!r} is not a {name}, or its file is damaged; name another file, "
                "or put back the newest copy."
            )
        return self.wording.unavailable(
            f"The {name} {str(self.path)!r} cannot be read or written ({error}); check its "
            "permissions and the free space."
        )


def _code(error: sqlite3.Error) -> int:
    """Which error, without its finer distinctions."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
