"""Every test of the ledger runs on a SQLite file and on a PostgreSQL server."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tamis.privacy.ledger import Ledger, open_ledger
from tests.privacy.ledger import server


@dataclass(frozen=True)
class Place:
    """Where a fresh ledger is, and how to change its tables behind its back."""

    where: str
    meddle: Callable[[str], None]

    def open(self) -> Ledger:
        return open_ledger(self.where)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    if (programs := server.programs()) is None:
        pytest.skip(server.MISSING)
    with server.running(programs) as folder:
        yield folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's own ledger."""
    monkeypatch.delenv("TAMIS_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return sqlite_place(tmp_path)
    where = server.url(request.getfixturevalue("postgres"))
    server.execute(where, "SET client_min_messages TO error; DROP SCHEMA IF EXISTS tamis CASCADE")
    return Place(where, lambda sql: server.execute(where, "SET search_path TO tamis; " + sql))


def sqlite_place(folder: Path) -> Place:
    path = folder / "ledger.sqlite"

    def meddle(sql: str) -> None:
        with closing(sqlite3.connect(path)) as link, link:
            link.execute(sql)

    return Place(str(path), meddle)


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    with place.open() as opened:
        yield opened
