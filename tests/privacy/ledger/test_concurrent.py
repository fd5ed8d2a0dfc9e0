from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mpmath as mp
import pytest

from tamis.privacy.errors import BudgetRefused
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.ledger import Ledger
from tamis.privacy.ledger.spending import tally
from tests.privacy.ledger.conftest import Place
from tests.privacy.ledger.test_spending import exact_delta
from tests.privacy.ledger.workers import SIZES, WORKERS

ROOT = Path(__file__).parents[3]


def run_workers(place: Place, folder: Path) -> int:
    """How many processes were killed; none may have failed otherwise."""
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # many processes are enough
    command = [sys.executable, "-m", "tests.privacy.ledger.workers", place.where, str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=one_thread, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_32_processes_half_of_them_killed_never_overspend_and_lose_no_charge(
    place: Place, tmp_path: Path
) -> None:
    with place.open() as ledger:
        ledger.create("shared", 1.0, 1e-6, "element")
    logs = tmp_path / "logs"
    logs.mkdir()
    assert run_workers(place, logs) == WORKERS // 2
    with place.open() as ledger:
        ledger.check()
        history = ledger.history("shared")
        smallest_that_were_refused = Guarantee(min(SIZES), 1e-9)
        assert not ledger.can_afford("shared", smallest_that_were_refused)
    kept = {f"{entry.number} {entry.digest}" for entry in history}
    returned = [line for log in logs.glob("*.log") for line in log.read_text().splitlines()]
    assert len(returned) == len(set(returned)) > 15
    assert set(returned) <= kept
    assert len(kept) - len(returned) <= WORKERS // 2  # charged, but killed before it was told
    with mp.workdps(40):
        assert exact_delta(tally(entry.cost for entry in history), 1.0) <= 1e-6


def test_many_may_make_the_same_new_ledger_at_once(place: Place) -> None:
    def make(n: int) -> str:
        with place.open() as ledger:
            ledger.create(f"budget {n}", 1.0, 1e-6, "element")
            return ledger.id

    with ThreadPoolExecutor(16) as pool:
        identities = set(pool.map(make, range(16)))
    assert len(identities) == 1
    with place.open() as ledger:
        assert len(ledger.budgets()) == 16
        ledger.check()


def test_the_last_of_a_budget_goes_to_one_of_many(place: Place, ledger: Ledger) -> None:
    ledger.create("shared", 1.0, 1e-6, "element")

    def take_all(n: int) -> int:
        with place.open() as own:
            try:
                return own.charge("shared", Guarantee(1.0, 1e-6), f"taker {n}").number
            except BudgetRefused:
                return 0

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(take_all, range(8))) == [0] * 7 + [1]


@pytest.mark.parametrize("order", ["first", "second"])
def test_whoever_comes_later_continues_the_chain(place: Place, order: str) -> None:
    with place.open() as one, place.open() as two:
        one.create("shared", 1.0, 1e-6, "element")
        pair = (one, two) if order == "first" else (two, one)
        entries = [ledger.charge("shared", Guarantee(0.1, 1e-9), "") for ledger in pair * 3]
        assert [entry.number for entry in entries] == [1, 2, 3, 4, 5, 6]
        one.check()
        two.check()
