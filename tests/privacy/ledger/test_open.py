"""Where ledgers are, and what is said when one cannot be used."""

from __future__ import annotations

import builtins
import sqlite3
import stat
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tamis.privacy.errors import InvalidInput, LedgerDamaged, LedgerUnavailable
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.ledger import open_ledger
from tamis.privacy.ledger.postgres import PostgresStore
from tamis.privacy.ledger.sqlite import SqliteStore
from tests.privacy.ledger import server


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_users_own_ledger_is_private(home: Path) -> None:
    with open_ledger() as ledger:
        ledger.create("words", 1.0, 1e-6, "element")
        files = {file.name: mode(file) for file in (home / "tamis").iterdir()}
    assert mode(home / "tamis") == 0o700
    assert {"ledger.sqlite", "ledger.sqlite.head"} <= files.keys()
    assert set(files.values()) == {0o600}


def test_the_environment_may_name_a_ledger(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMIS_LEDGER", str(tmp_path / "team.sqlite"))
    with open_ledger() as ledger, open_ledger(tmp_path / "team.sqlite") as same:
        assert ledger.id == same.id
    assert not home.exists()


def test_a_relative_data_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    open_ledger().close()
    assert (tmp_path / ".local" / "share" / "tamis" / "ledger.sqlite").exists()


def test_a_missing_folder_a_folder_and_a_strange_address_are_refused(tmp_path: Path) -> None:
    cases: list[tuple[Path | str, str]] = [
        (tmp_path / "no" / "ledger.sqlite", "does not exist"),
        (Path(__file__) / "ledger.sqlite", "does not exist"),
        (tmp_path, "is a folder"),
        ("mysql://host/db", "begins with postgresql://"),
    ]
    for where, match in cases:
        with pytest.raises(InvalidInput, match=match):
            open_ledger(where)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as link, link:
        link.execute("CREATE TABLE things (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="database of another program"):
        open_ledger(path)
    text = tmp_path / "words.csv"
    text.write_text("word,count\n" * 100)
    with pytest.raises(LedgerDamaged, match="not a ledger"):
        open_ledger(text)
    assert (path.read_bytes(), text.read_text()) == (before, "word,count\n" * 100)


def test_a_ledger_of_a_later_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    open_ledger(path).close()
    with closing(sqlite3.connect(path)) as link, link:
        link.execute("UPDATE ledger SET version = 2")
    with pytest.raises(LedgerDamaged, match="format 2"):
        open_ledger(path)


def test_a_ledger_that_others_hold_is_waited_for_and_then_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteStore, "patience", 0.2)
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as ledger:
        ledger.create("words", 1.0, 1e-6, "element")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerUnavailable, match="Other processes have held the ledger"):
                ledger.charge("words", Guarantee(0.1, 1e-9), "")
            with open_ledger(path) as reader:  # looking needs no turn
                assert reader.show("words").entries == 0
        assert ledger.charge("words", Guarantee(0.1, 1e-9), "").number == 1


# --- PostgreSQL -------------------------------------------------------------------------------

SECRET = "postgresql://someone:hunter2@127.0.0.1:1/ledger"


def test_a_server_that_does_not_answer_is_reported_without_the_password() -> None:
    with pytest.raises(LedgerUnavailable, match="cannot be reached") as error:
        open_ledger(SECRET)
    assert "hunter2" not in str(error.value)
    with pytest.raises(InvalidInput, match="not one that PostgreSQL understands") as refused:
        open_ledger("postgresql://someone:hunter2@host/db?nonsense=1")
    assert "hunter2" not in str(refused.value)


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> object:
        if name == "psycopg":
            raise ImportError(name)
        return real(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(LedgerUnavailable, match=r"pip install 'tamis\[postgres\]'"):
        open_ledger(SECRET)


def test_a_locked_budget_on_a_server_is_waited_for_and_then_given_up(
    postgres: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    where = server.url(postgres)
    server.execute(where, "SET client_min_messages TO error; DROP SCHEMA IF EXISTS tamis CASCADE")
    monkeypatch.setattr(PostgresStore, "patience", 1.0)
    with open_ledger(where) as ledger:
        ledger.create("words", 1.0, 1e-6, "element")
        with psycopg.connect(where) as other:
            other.execute("SELECT * FROM tamis.budgets FOR UPDATE")
            with pytest.raises(LedgerUnavailable, match="Other processes have held the budget"):
                ledger.charge("words", Guarantee(0.1, 1e-9), "")
        assert ledger.show("words").entries == 0


def test_a_user_without_rights_is_told_which_are_needed(postgres: Path) -> None:
    where = server.url(postgres)
    server.execute(where, "SET client_min_messages TO error; DROP SCHEMA IF EXISTS tamis CASCADE")
    open_ledger(where).close()
    server.execute(where, "DROP ROLE IF EXISTS guest")
    server.execute(where, "CREATE ROLE guest LOGIN")
    with pytest.raises(LedgerUnavailable, match="may not use the ledger"):
        open_ledger(where.replace("tamis@", "guest@"))


def test_a_server_that_does_not_wait_for_its_disk_is_refused(postgres: Path) -> None:
    where = server.url(postgres)
    server.execute(where, "SET client_min_messages TO error; DROP SCHEMA IF EXISTS tamis CASCADE")
    with open_ledger(where) as ledger:
        ledger.create("words", 1.0, 1e-6, "element")
        with server.without_fsync(where):
            with pytest.raises(LedgerUnavailable, match=r"fsync is off\), so a charge could be"):
                open_ledger(where)
            with pytest.raises(LedgerUnavailable, match="fsync is off"):
                ledger.charge("words", Guarantee(0.1, 1e-9), "")
        assert ledger.charge("words", Guarantee(0.1, 1e-9), "").number == 1


def test_the_head_of_a_server_is_kept_in_the_users_folder(postgres: Path, home: Path) -> None:
    where = server.url(postgres)
    with open_ledger(where) as ledger:
        ledger.create("kept here", 1.0, 1e-6, "element")
        file = home / "tamis" / "heads" / f"{ledger.id}.head"
    assert (mode(file), mode(file.parent), mode(home / "tamis")) == (0o600, 0o700, 0o700)
    file.unlink()
    with open_ledger(where) as ledger:  # another machine
        ledger.check()
