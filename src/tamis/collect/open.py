"""Which database: a file, or a PostgreSQL server; and a connection to it that comes back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TypeVar

from tamis.collect.sqlite import SqliteStore
from tamis.collect.store import Store
from tamis.privacy.databases.files import data_folder, make_private, place
from tamis.privacy.databases.wording import COLLECTOR
from tamis.privacy.errors import InvalidInput, StoreUnavailable

VARIABLE = "TAMIS_COLLECTOR"
T = TypeVar("T")


def open_store(where: str | Path) -> Store:
    """Opens a collector's database, and makes it when it is not there.

    A path is a SQLite file; ``postgresql://user@host/database`` is a PostgreSQL server.
    """
    found = place(where, COLLECTOR)
    if isinstance(found, Path):
        return SqliteStore(found.resolve())  # one name, and so one lock
    from tamis.collect.postgres import PostgresStore

    return PostgresStore(found)


def default_store(where: str | None) -> str:
    """What is given, or the environment variable ``TAMIS_COLLECTOR``, or the user's own file."""
    if where is not None:
        return where
    if named := os.environ.get(VARIABLE):
        return named
    make_private(data_folder(), COLLECTOR)
    return str(data_folder() / "collector.sqlite")


class Connection:
    """A database for the threads of a server, one at a time; opened again after it has failed."""

    def __init__(self, where: str | Path) -> None:
        self._where = where
        self._lock = Lock()
        self._store: Store | None = open_store(where)

    def ask(self, question: Callable[[Store], T]) -> T:
        with self._lock:
            try:
                self._store = self._store or open_store(self._where)
                return question(self._store)
            except (StoreUnavailable, InvalidInput) as error:
                self._drop()
                raise StoreUnavailable(str(error)) from error

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = None
