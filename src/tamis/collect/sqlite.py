"""The collector's database in one SQLite file: the default, for one machine."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from tamis.collect.store import ANOTHER, PATIENCE, Row, Store
from tamis.privacy.errors import AggregatorBusy, InvalidInput, StoreUnavailable
from tamis.privacy.ledger.head import sync_folder

_APPLICATION = 0x74616D63  # says whose file it is, and that it is no ledger: tamc
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# What is written aside by a clean-up stays in memory: it would be left on another disk.
_SETTINGS = (
    "synchronous = FULL",
    "fullfsync = ON",
    "foreign_keys = ON",
    "secure_delete = ON",
    "temp_store = MEMORY",
)


class SqliteStore(Store):
    """Write-ahead log, FULL synchronisation: a commit has reached the disk when it returns."""

    bytes_type: ClassVar[str] = "BLOB"

    def __init__(self, path: Path) -> None:
        self.path = path
        _create_file(path)
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
        with self._errors():
            return self._link.execute(sql, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.run("BEGIN IMMEDIATE")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            if self._link.in_transaction:
                self.run("ROLLBACK")
            raise

    @contextmanager
    def alone(self) -> Iterator[None]:
        file = self.path.with_name(self.path.name + ".aggregator")
        with _locked(file):
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
        until = time.monotonic() + PATIENCE
        while self.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
            if time.monotonic() > until:
                raise self._busy()
            time.sleep(0.02)
        self.run("PRAGMA user_version = 0")

    def close(self) -> None:
        self._link.close()

    def _prepare(self) -> None:
        self._check_owner()
        self._log_ahead()
        for setting in _SETTINGS:
            self.run(f"PRAGMA {setting}")
        if not self._has_tables():
            with self.writing():
                if not self._has_tables():  # someone else may have been first
                    self.make_tables()
                    self.run(f"PRAGMA application_id = {_APPLICATION}")
        self.check_version()

    def _has_tables(self) -> bool:
        return bool(self.run("SELECT 1 FROM sqlite_master WHERE name = 'reports'"))

    def _check_owner(self) -> None:
        """Files of other programs are left alone."""
        self.run("BEGIN")  # both of one moment: somebody may be making the tables
        used = self.run("SELECT 1 FROM sqlite_master LIMIT 1")
        owner = self.run("PRAGMA application_id")[0][0]
        self.run("COMMIT")
        if owner != _APPLICATION and used:
            raise InvalidInput(
                f"{str(self.path)!r} is another database, not one of a collector; "
                "name another file."
            )

    def _log_ahead(self) -> None:
        """The change of mode does not wait for other processes by itself."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                if self._link.execute("PRAGMA journal_mode = WAL").fetchall() == [("wal",)]:
                    return
            except sqlite3.OperationalError as error:
                if _code(error) not in _BUSY or time.monotonic() > until:
                    raise self._sentence(error) from error
                time.sleep(0.02)
            else:
                raise StoreUnavailable(
                    "The file system of the collector's database does not support a write-ahead "
                    "log; keep it on a local disk, or use PostgreSQL."
                )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of SQLite as sentences."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._sentence(error) from error

    def _sentence(self, error: sqlite3.Error) -> StoreUnavailable:
        if (code := _code(error)) in _BUSY:
            return self._busy()
        if code in _BROKEN:
            return StoreUnavailable(
                f"{str(self.path)!r} is not a collector's database, or its file is damaged; name "
                "another file, or put back the newest copy."
            )
        return StoreUnavailable(
            f"The collector's database {str(self.path)!r} cannot be read or written ({error}); "
            "check its permissions and the free space."
        )

    def _busy(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"Other processes have held the collector's database for {PATIENCE:.0f} seconds; "
            "try again, and look for a process that hangs."
        )


def _create_file(path: Path) -> None:
    """Empty, and for the owner only; SQLite gives its helper files the same permissions."""
    try:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            sync_folder(path.parent)
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidInput(
            f"The folder {str(path.parent)!r} for the collector's database does not exist; make "
            "it, or name another place."
        ) from None
    except OSError as error:
        raise _unavailable(path, error) from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """A lock that the system takes back when the process dies."""
    import fcntl  # not on every system; the server does without it

    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise _unavailable(path, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AggregatorBusy(ANOTHER) from None
        yield
    finally:
        os.close(handle)


def _unavailable(path: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"The file {str(path)!r} of the collector cannot be read or written "
        f"({error.strerror or 'unknown reason'}); check its permissions and the free space."
    )


def _code(error: sqlite3.Error) -> int:
    """Which error, without its finer distinctions."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
