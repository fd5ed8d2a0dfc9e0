"""What the hash chain and the head file notice, and what a crash leaves behind."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tamis.privacy.errors import LedgerDamaged, LedgerUnavailable
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.ledger import Entry, Ledger
from tamis.privacy.ledger.budget import DELTA_UNIT, EPSILON_UNIT, units
from tamis.privacy.ledger.chain import entry_digest
from tamis.privacy.ledger.head import Head
from tamis.privacy.ledger.sqlite import SqliteStore
from tests.privacy.ledger.conftest import Place, sqlite_place

SMALL = Guarantee(0.1, 1e-9)


def with_charges(place: Place, count: int = 3) -> None:
    with place.open() as ledger:
        ledger.create("words", 1.0, 1e-6, "element")
        ledger.create("unused", 1.0, 1e-6, "element")
        for n in range(count):
            ledger.charge("words", SMALL, f"release {n}")


def noticed(place: Place, match: str, name: str = "words") -> None:
    """By looking, by checking and by charging, which changes nothing."""
    with place.open() as ledger:
        for use in (
            ledger.check,
            lambda: ledger.check(name),
            lambda: ledger.show(name),
            lambda: ledger.charge(name, SMALL, "after the damage"),
        ):
            with pytest.raises(LedgerDamaged, match=match):
                use()


@pytest.mark.parametrize(
    "change",
    [
        "epsilon = '0.01'",
        "epsilon = '0.01', epsilon_units = 10000000000",
        "epsilon_units = 1",
        "epsilon = '0.10'",
        "epsilon = 'much'",
        "delta = '1e-12'",
        "delta_units = '1'",
        "keys_per_unit = 7",
        "elements_per_key = 7",
        "unit = 'user_id'",
        "purpose = 'something else'",
        "day = '1999-01-01'",
        "day = 'then'",
        "previous = '00'",
        "digest = '00'",
    ],
)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_edited_entry_is_noticed(place: Place, change: str, number: int) -> None:
    with_charges(place)
    place.meddle(f"UPDATE entries SET {change} WHERE budget = 'words' AND number = {number}")
    noticed(place, f"entry {number}")


@pytest.mark.parametrize("change", ["epsilon = '9.0', epsilon_units = 9000000000000", "unit = 'x'"])
def test_an_edited_budget_is_noticed_with_and_without_entries(place: Place, change: str) -> None:
    with_charges(place)
    place.meddle(f"UPDATE budgets SET {change} WHERE name = 'unused'")
    noticed(place, "written anew", "unused")
    place.meddle(f"UPDATE budgets SET {change} WHERE name = 'words'")
    with place.open() as ledger, pytest.raises(LedgerDamaged, match="the budget itself"):
        ledger.charge("words", SMALL, "")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_removed_entry_is_noticed(place: Place, number: int) -> None:
    with_charges(place)
    place.meddle(f"DELETE FROM entries WHERE number = {number}")
    noticed(place, "there are 2 entries where there had been 3")


def test_removed_budgets_are_noticed(place: Place) -> None:
    with_charges(place)
    place.meddle("DELETE FROM budgets WHERE name = 'unused'")
    noticed(place, "budget 'unused' is gone")


def test_a_history_that_was_written_anew_is_noticed(place: Place) -> None:
    with_charges(place, 1)
    with place.open() as ledger:
        forged = replace(ledger.history("words")[0], epsilon=0.01)
    cost = f"epsilon = '0.01', epsilon_units = {units(0.01, EPSILON_UNIT)}"
    place.meddle(f"UPDATE entries SET {cost}, digest = '{entry_digest(forged)}'")
    noticed(place, "history up to entry 1 was written anew")


def test_whole_units_are_rounded_up() -> None:
    assert units(0.1, EPSILON_UNIT) == 10**11
    assert units(1e-13, EPSILON_UNIT) == 1
    assert units(1 / 3, EPSILON_UNIT) == 333_333_333_334
    assert units(1e-8, DELTA_UNIT) == 10**22
    assert units(1e-300, DELTA_UNIT) == 1


# --- crashes ----------------------------------------------------------------------------------


class Crash(BaseException):
    pass


def crash(*_: object) -> None:
    raise Crash


def test_a_crash_before_the_commit_leaves_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_charges(place, 1)
    with place.open() as ledger:
        add = ledger._store.add_entry

        def add_and_crash(entry: Entry) -> None:
            add(entry)
            raise Crash

        with monkeypatch.context() as patch:
            patch.setattr(ledger._store, "add_entry", add_and_crash)
            with pytest.raises(Crash):
                ledger.charge("words", SMALL, "interrupted")
        assert len(ledger.history("words")) == 1
        assert ledger.charge("words", SMALL, "again").number == 2


def test_a_crash_after_the_commit_leaves_the_charge_and_moves_the_head_on_later(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_charges(place, 1)
    with place.open() as ledger, monkeypatch.context() as patch:
        patch.setattr(ledger._store, "write_head", crash)
        with pytest.raises(Crash):
            ledger.charge("words", SMALL, "interrupted")
    with place.open() as ledger:
        ledger.check()
        assert [e.purpose for e in ledger.history("words")] == ["release 0", "interrupted"]
        assert marks(ledger).marks["words"].entries == 1
        ledger.charge("words", SMALL, "next")
        assert marks(ledger).marks["words"].entries == 3


def marks(ledger: Ledger) -> Head:
    head = ledger._store.head.read()
    assert head is not None
    return head


def test_the_head_only_moves_forwards(place: Place) -> None:
    with_charges(place, 2)
    with place.open() as ledger:
        first = marks(ledger)
        ledger.charge("words", SMALL, "")
        last = marks(ledger)
        ledger._move_head("words", first.marks["words"])
        assert marks(ledger) == last != first


# --- files ------------------------------------------------------------------------------------


def copy_database(folder: Path, to: Path) -> None:
    to.mkdir(exist_ok=True)
    for end in ("", "-wal"):
        if (file := folder / f"ledger.sqlite{end}").exists():
            shutil.copy(file, to)


@pytest.mark.parametrize("closed", [True, False])
def test_an_old_copy_of_the_database_is_noticed(tmp_path: Path, closed: bool) -> None:
    place = sqlite_place(tmp_path)
    with_charges(place, 2)
    other = place.open()
    other.charge("words", SMALL, "in the log when it is copied")
    if closed:
        other.close()
    copy_database(tmp_path, tmp_path / "backup")
    assert (tmp_path / "backup" / "ledger.sqlite-wal").exists() is not closed
    with place.open() as ledger:
        ledger.charge("words", SMALL, "since")
    other.close()
    for end in ("-wal", "-shm"):
        (tmp_path / f"ledger.sqlite{end}").unlink(missing_ok=True)
    copy_database(tmp_path / "backup", tmp_path)
    noticed(place, "there are 3 entries where there had been 4, as in an old copy")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (None, "is missing"),
        ("{", "cannot be understood"),
        ('{"ledger": "x", "budgets": []}', "cannot be understood"),
        ('{"ledger": "x", "budgets": {}}', "another ledger"),
    ],
)
def test_a_head_file_that_is_gone_or_foreign_is_noticed(
    tmp_path: Path, content: str | None, match: str
) -> None:
    place = sqlite_place(tmp_path)
    with_charges(place)
    (tmp_path / "ledger.sqlite.head").unlink()
    if content is not None:
        (tmp_path / "ledger.sqlite.head").write_text(content)
    noticed(place, match)


def test_a_ledger_that_was_deleted_is_not_silently_begun_anew(tmp_path: Path) -> None:
    place = sqlite_place(tmp_path)
    with_charges(place)
    (tmp_path / "ledger.sqlite").unlink()
    with place.open() as ledger, pytest.raises(LedgerDamaged, match="belongs to another ledger"):
        ledger.create("words", 1.0, 1e-6, "element")


def test_a_charge_whose_head_cannot_be_written_does_not_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = sqlite_place(tmp_path)
    with_charges(place, 1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with place.open() as ledger:
        with monkeypatch.context() as patch:
            patch.setattr("tamis.privacy.ledger.head.write_durably", full)
            with pytest.raises(LedgerUnavailable, match=r"counts, but .*No space left"):
                ledger.charge("words", SMALL, "")
        assert ledger.show("words").entries == 2


def test_every_commit_waits_for_the_disk(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ledger.sqlite")
    try:
        assert store.run("PRAGMA synchronous") == [(2,)]  # FULL
        assert store.run("PRAGMA journal_mode") == [("wal",)]
    finally:
        store.close()
