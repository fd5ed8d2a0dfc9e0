"""A ledger in one SQLite file: the default, for one machine."""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from tamis.privacy.errors import InvalidInput, LedgerDamaged, LedgerUnavailable
from tamis.privacy.ledger.head import Head, HeadFile, sync_folder, unavailable
from tamis.privacy.ledger.store import PATIENCE, Row, Store

_APPLICATION = 0x74616D69  # says whose file it is: the first letters of tamis
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SqliteStore(Store):
    """Write-ahead log, FULL synchronisation: a commit has reached the disk when it returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head = HeadFile(path.with_name(path.name + ".head"))
        with suppress(FileExistsError):
            self._create_file()
        with self._errors():
            self._link = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare()
        except BaseException:
            self._link.close()
            raise

    def run(self, sql: str, values: Row = ()) -> list[Row]:
        return self._link.execute(sql, values).fetchall()

    def reading(self) -> AbstractContextManager[None]:
        return self._transaction("BEGIN")

    def writing(self, budget: str | None = None) -> AbstractContextManager[None]:
        return self._transaction("BEGIN IMMEDIATE")

    def close(self) -> None:
        self._link.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._errors():
            self.run(begin)
            try:
                yield
                self.run("COMMIT")
            except BaseException:
                if self._link.in_transaction:
                    self.run("ROLLBACK")
                raise

    def _create_file(self) -> None:
        """Empty, and for the owner only; SQLite gives its helper files the same permissions."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            sync_folder(self.path.parent)
        except FileNotFoundError:
            raise InvalidInput(
                f"The folder {str(self.path.parent)!r} for the ledger does not exist; make it, or "
                "name another place."
            ) from None
        except FileExistsError:
            raise
        except OSError as error:
            raise unavailable(self.path, error) from error

    def _prepare(self) -> None:
        with self.reading():
            self._check_owner()
        with self._errors():
            self._log_ahead()
            for setting in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
                self.run(f"PRAGMA {setting}")
        if not self._has_tables():
            with self.writing():
                if not self._has_tables():  # someone else may have been first
                    self.make_tables(uuid.uuid4().hex)
                    self.run(f"PRAGMA application_id = {_APPLICATION}")
        with self.reading():
            self.id = self.identify()
        if not self.budgets() and self.head.read() is None:
            with self.writing():
                if self.head.read() is None:
                    self.head.write(Head(self.id))

    def _has_tables(self) -> bool:
        with self._errors():
            return bool(self.run("SELECT 1 FROM sqlite_master WHERE name = 'entries'"))

    def _check_owner(self) -> None:
        """Files of other programs are left alone."""
        owner = self.run("PRAGMA application_id")[0][0]
        if owner != _APPLICATION and self.run("SELECT 1 FROM sqlite_master LIMIT 1"):
            raise InvalidInput(
                f"{str(self.path)!r} is a database of another program, not a ledger; "
                "name another file."
            )

    def _log_ahead(self) -> None:
        """The change of mode does not wait for other processes by itself."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                if self.run("PRAGMA journal_mode = WAL") == [("wal",)]:
                    return
                raise LedgerUnavailable(
                    "The ledger's file system does not support a write-ahead log; keep the ledger "
                    "on a local disk, or use PostgreSQL."
                )
            except sqlite3.OperationalError as error:
                if _code(error) not in _BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of SQLite as sentences."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if (code := _code(error)) in _BUSY:
                raise LedgerUnavailable(
                    f"Other processes have held the ledger for {PATIENCE:.0f} seconds, and nothing "
                    "was changed; try again, and look for a process that hangs."
                ) from error
            if code in _BROKEN:
                raise LedgerDamaged(
                    f"{str(self.path)!r} is not a ledger, or its file is damaged; name another "
                    "file, or put back the newest copy."
                ) from error
            raise LedgerUnavailable(
                f"The ledger {str(self.path)!r} cannot be read or written ({error}); check its "
                "permissions and the free space."
            ) from error


def _code(error: sqlite3.Error) -> int:
    """Which error, without its finer distinctions."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
