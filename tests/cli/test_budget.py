"""`tamis budget`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tamis.privacy.guarantee import Guarantee
from tamis.privacy.ledger import open_ledger
from tests.cli.conftest import PROMISE, Ran, Run

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
    assert (unknown.code, "Did you mean 'visits'?" in unknown.err) == (2, True)
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


def shown(tamis: Run) -> dict[str, str]:
    lines = tamis("budget", "show", "visits").text.splitlines()
    return dict(re.split("  +", line, maxsplit=1) for line in lines)


def spend(tamis: Run, epsilon: str, delta: str, name: str) -> Ran:
    return tamis("release", "events.parquet", "--key", "query", "--unit", "user_id",
                 "--keys-per-unit", "1", "--epsilon", epsilon, "--delta", delta,
                 "--budget", "visits", "-o", name)  # fmt: skip


def test_amounts_are_what_people_expect(tamis: Run) -> None:
    tamis(*CREATE)
    assert shown(tamis)["epsilon"] == "2"
    assert shown(tamis)["remaining epsilon"] == "2 (for one more release, with delta 5e-07)"
    spend(tamis, "1.4", "1e-8", "1.parquet")
    said = shown(tamis)
    assert (said["spent epsilon"], said["remaining delta"]) == ("1.4", "9.9e-07")
    assert said["remaining epsilon"] == "0.6 (for one more release, with delta 4.95e-07)"
    assert tamis("budget", "show", "visits", "--json").json["remaining_epsilon"] == 0.6
    refused = spend(tamis, "0.7", "1e-8", "2.parquet")
    assert (refused.code, "at most epsilon 0.6 is left" in refused.err) == (3, True)
    assert "of which 1 release has spent epsilon 1.4" in refused.err
    assert "1.4" in tamis("budget", "list").text


@pytest.mark.parametrize("spent", ["1", "0.7654321", "1.98765432", "0.3333333333"])
def test_what_is_shown_as_left_can_be_spent(tamis: Run, spent: str) -> None:
    tamis(*CREATE)
    assert spend(tamis, spent, "1.23456789e-7", "1.parquet").code == 0
    found = re.fullmatch(r"(\S+) \(for one more release, with delta (\S+)\)",
                         shown(tamis)["remaining epsilon"])  # fmt: skip
    assert found is not None
    assert 0 < float(found[1]) <= 2 - float(spent) + 1e-12
    last = spend(tamis, found[1], found[2], "2.parquet")
    assert last.code == 0, last.err


def test_what_is_left_is_told_with_a_delta_that_leaves_something(tamis: Run) -> None:
    tamis("budget", "create", "visits", "--epsilon", "1", "--delta", "1e-6", "--unit", "user_id")
    with open_ledger(None) as ledger:
        for _ in range(25):
            ledger.charge("visits", Guarantee(0.05, 1e-9, unit="user_id"), "")
    found = re.fullmatch(r"(\S+) \(for one more release, with delta (\S+)\)",
                         shown(tamis)["remaining epsilon"])  # fmt: skip
    assert found is not None
    assert float(found[1]) > 0.05
    said = tamis("budget", "show", "visits", "--json").json
    assert said["remaining_epsilon_with_delta"] == pytest.approx(float(found[2]), rel=1e-4)
    assert spend(tamis, found[1], found[2], "26.parquet").code == 0


@pytest.mark.parametrize(
    ("epsilon", "delta", "why"),
    [("0.5", "1e-6", "no delta is left"), ("2", "5e-7", "or less than a millionth of the budget")],
)
def test_why_nothing_is_left_is_told(tamis: Run, epsilon: str, delta: str, why: str) -> None:
    tamis(*CREATE)
    assert spend(tamis, epsilon, delta, "1.parquet").code == 0
    assert shown(tamis)["remaining epsilon"] == f"0 ({why})"
