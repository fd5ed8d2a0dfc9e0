"""`tamis budget`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import PROMISE, Run

CREATE = ("budget", "create", "visits", "--epsilon", "2", "--delta", "1e-6", "--unit", "user_id")
RELEASE = ("release", "events.parquet", "--key", "query", "--unit", "user_id",
           "--keys-per-unit", "2", *PROMISE, "--budget", "visits")  # fmt: skip


def test_a_budget_from_its_creation_to_its_end(tamis: Run, folder: Path) -> None:
    assert "there is no budget yet" in tamis("budget", "list").err
    assert tamis(*CREATE).code == 0
    assert "nothing was charged" in tamis("budget", "history", "visits").err
    for n in (1, 2):
        ran = tamis(*RELEASE, "-o", f"{n}.parquet", "--purpose", f"number {n}")
        assert ran.code == 0, ran.err
    assert tamis(*RELEASE, "-o", "3.parquet").code == 3
    shown = tamis("budget", "show", "visits", "--json").json
    assert (shown["releases"], shown["unit"]) == (2, "user_id")
    assert 1 < shown["spent_epsilon"] <= 2
    entries = tamis("budget", "history", "visits", "--json").json
    assert [entry["purpose"] for entry in entries] == ["number 1", "number 2"]
    assert tamis("budget", "list", "--json").json[0]["name"] == "visits"
    for words in (("list",), ("show", "visits"), ("history", "visits")):
        ran = tamis("budget", *words)
        assert (ran.code, ran.err) == (0, "")
        assert "user_id" in ran.text


def test_another_ledger_is_named_by_an_option(tamis: Run, folder: Path) -> None:
    made = tamis(*CREATE, "--ledger", "other.sqlite", "--json")
    assert made.json["remaining_epsilon"] == 2
    assert (folder / "other.sqlite").is_file()
    assert tamis("budget", "list", "--json").json == []


def test_what_cannot_be_is_refused(tamis: Run) -> None:
    tamis(*CREATE)
    again = tamis(*CREATE)
    assert (again.code, "already" in again.err) == (2, True)
    unknown = tamis("budget", "show", "visit")
    assert (unknown.code, "did you mean 'visits'?" in unknown.err) == (2, True)
    assert tamis("budget", "create", "x", "--epsilon", "-1", "--delta", "1e-6").code == 2
    assert tamis("budget", "create", "x", "--epsilon", "1").code == 2
    assert tamis("budget", "list", "--ledger", "mysql://x").code == 2
    assert tamis("budget", "spend").code == 2


def test_a_damaged_ledger_fails(tamis: Run, folder: Path) -> None:
    tamis(*CREATE)
    (folder / "ledger.sqlite.head").unlink()
    ran = tamis("budget", "show", "visits")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, b"", 1)


def test_a_missing_package_is_named(tamis: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    ran = tamis("budget", "list", "--ledger", "postgresql://localhost/none")
    assert (ran.code, "tamis[postgres]" in ran.err) == (5, True)
