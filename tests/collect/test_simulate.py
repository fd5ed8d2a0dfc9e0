"""Simulated devices and a real server: whatever goes wrong, what was accepted is counted once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tamis.cli import main
from tamis.collect.collector import Collector
from tamis.collect.enquiry import Asked, Enquiry
from tamis.collect.open import open_store
from tamis.collect.simulation.fleet import Faults, Fleet, Letter
from tamis.collect.simulation.process import ServerProcess
from tamis.collect.simulation.rehearsal import Rehearsal, rehearse
from tamis.collect.simulation.sending import Answered, Sending, settled
from tamis.collect.simulation.simulate import Simulated, Unattended, simulate
from tamis.federated import HeavyHitters, Quantiles, SampleAndThreshold
from tamis.federated.device import Specification
from tamis.federated.hitters import END
from tamis.privacy.errors import InvalidInput
from tamis.privacy.ledger import open_ledger
from tests.collect.fleet import rows
from tests.federated import devices

ALL = Faults.all(0.1)
USUAL = Faults(
    duplicated=0.1, dropped=0.1, reordered=0.3, late=0.05, second=0.02, forged=0.02, garbage=0.02
)


def check(done: Rehearsal, kills: int, folder: Path) -> None:
    """What was accepted is what was counted, and was released and charged once."""
    (sending,) = done.simulated.rounds
    assert all(done.checks.values()), done.checks
    assert min(done.simulated.refused.values()) > 0
    assert min(done.simulated.again, done.simulated.dropped) > 0
    assert len(sending.taken) + done.simulated.refused["late"] == done.simulated.clients

    assert sending.expected
    found = {row["item"]: row["token"] for row in rows(done.simulated.release)}
    assert found == sending.expected
    assert min(found.values()) >= sending.asked.tau

    assert len(done.kills) == kills
    assert all(0 < kill.answered < kill.of and kill.waiting > 0 for kill in done.kills)
    assert len(list(folder.glob("server-*.log"))) == 1 + kills
    with open_ledger(folder / "ledger.sqlite") as ledger:
        (entry,) = ledger.history("simulation")
    assert (entry.epsilon, entry.delta) == (1.0, 1e-6)


def test_reports_count_once_though_all_goes_wrong_and_the_server_is_killed(tmp_path: Path) -> None:
    done = rehearse("histogram", 800, tmp_path, kills=2, faults=ALL)
    check(done, 2, tmp_path)
    files = [file.read_bytes() for file in tmp_path.glob("collector.sqlite*")]
    assert files
    assert not any(report in file for file in files for report in done.simulated.rounds[0].taken)


@pytest.mark.slow
def test_ten_thousand_devices_and_five_kills(where: str, tmp_path: Path) -> None:
    done = rehearse("histogram", 10_000, tmp_path, kills=5, faults=USUAL, store=where)
    check(done, 5, tmp_path)
    with open_store(where) as store:
        assert not list(store.reports(done.release.about.query, 1))


def test_a_database_that_loses_reports_is_found_out(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "collector.sqlite"
    open_store(path).close()
    loses = (
        "CREATE TRIGGER loses AFTER INSERT ON reports WHEN abs(random()) % 20 = 0 "
        "BEGIN DELETE FROM reports WHERE token = NEW.token; END"
    )
    with closing(sqlite3.connect(path)) as link:
        link.execute(loses)
    assert main(["collect", "simulate", "--clients", "300", "--store", str(path)]) == 1
    out, err = capsysbinary.readouterr()
    assert b"accepted reports are stored once     NO" in out
    assert b"charged once                         yes" in out
    assert b"this does not hold: accepted reports are stored once" in err


# --- several rounds -----------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(str(tmp_path / "collector.sqlite"), tmp_path) as started:
        yield started


class Closing(Unattended):
    """Windows end when all have reported; who counts is another."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def close(self, asked: Specification) -> None:
        self._collector.close_window(asked.query)


def run(
    server: ServerProcess, folder: Path, asked: Asked, window: int, items: Sequence[Any]
) -> Simulated:
    """Devices follow the rounds, and an aggregator of this query counts unattended."""
    where = folder / "collector.sqlite"
    with Collector(where, folder / "keys") as mine, Collector(where, folder / "keys") as other:
        longest = None if isinstance(asked, Quantiles) else 10
        query = mine.create(asked, "Which?", window=window, longest=longest)
        enquiry = mine.keys.read(query, "plan", Enquiry.read)
        fleet = Fleet(items, mine.tokens(query, len(items)), Faults(duplicated=0.1, late=0.1))
        ending = Closing(mine) if window > 60 else Unattended()
        with ThreadPoolExecutor(1) as pool:
            released = pool.submit(other.release, query, wait=True)
            done = simulate(server.port, mine.signer, query, enquiry, fleet, ending)
            assert released.result(timeout=30) == done.release
    return done


@pytest.mark.slow
def test_queries_of_several_rounds_run_unattended_beside_each_other(
    server: ServerProcess, tmp_path: Path
) -> None:
    words = ["that"] * 250 + ["then"] * 250 + ["a"] * 250 + ["rare"] * 3
    minutes = [0] * 150 + [2] * 150 + [3] * 150
    hitters = HeavyHitters(1.0, 1e-6, 3, 6)
    quantiles = Quantiles(1.0, 1e-6, 4, (0.25, 0.5), 450)
    with ThreadPoolExecutor(2) as pool:
        tree = pool.submit(run, server, tmp_path, hitters, 600, words)
        search = pool.submit(run, server, tmp_path, quantiles, 3, minutes)
        check_tree(tree.result(timeout=60))
        check_search(search.result(timeout=60), quantiles)


def test_whoever_waits_for_a_release_waits_for_other_aggregators_too(tmp_path: Path) -> None:
    where = tmp_path / "collector.sqlite"
    with Collector(where, tmp_path / "keys") as collector, ThreadPoolExecutor(1) as pool:
        query = collector.create(SampleAndThreshold(1.0, 1e-6), "Which?", window=60, longest=9)
        collector.close_window(query)
        with open_store(where) as another, another.alone():
            released = pool.submit(collector.release, query, wait=True)
            with pytest.raises(TimeoutError):
                released.result(timeout=0.3)
        assert rows(released.result(timeout=10)) == []


def check_tree(done: Simulated) -> None:
    assert [sending.asked.task["length"] for sending in done.rounds] == [2, 4, 6]
    ended = {
        name.removesuffix(END): token
        for sending in done.rounds
        for name, token in sending.expected.items()
        if name.endswith(END) or sending.asked.round == 3
    }
    assert {row["item"]: row["token"] for row in rows(done.release)} == ended
    assert set(ended) == {"that", "then", "a"}
    assert (done.wrong, done.followed) == (0, True)
    assert done.refused["late"] > 0


def check_search(done: Simulated, asked: Quantiles) -> None:
    """By halving, with what was accepted and is said by tau or more."""
    values = []
    for quantile in asked.at:
        low, high = 0, asked.domain
        for sending in done.rounds:
            middle, cuts = (low + high) // 2, sending.asked.task["cuts"]
            below = sum(n for j, n in sending.expected.items() if int(j) <= cuts.index(middle))
            enough = below >= quantile * sum(sending.expected.values())
            low, high = (low, middle) if enough else (middle, high)
        values.append(low)
    assert [row["estimate"] for row in rows(done.release)] == values
    assert (len(done.rounds), done.wrong, done.followed) == (2, 0, True)


# --- what would be found out --------------------------------------------------------------------

FIRST = Letter("report", 0, "token", b"a" * 16, "to be", True)
SECOND = replace(FIRST, kind="second", body=b"b" * 16)
FORGED = replace(FIRST, kind="forged", token="none", body=b"c" * 16)

Case = tuple[list[tuple[Letter, int]], list[tuple[Letter, int]], bool, int]
CASES: dict[str, Case] = {
    "taken, and again": ([(FIRST, 201), (FIRST, 200)], [], False, 0),
    "an answer was lost": ([(FIRST, 200)], [], False, 0),
    "the second is refused": ([(FIRST, 201), (SECOND, 409)], [], False, 0),
    "the second came first": ([(FIRST, 409), (SECOND, 201)], [], False, 0),
    "late": ([], [(FIRST, 410)], False, 0),
    "over before it came": ([(FIRST, 410)], [], True, 0),
    "forged": ([(FORGED, 401)], [], False, 0),
    "refused without reason": ([(FIRST, 409)], [], False, 2),
    "refused before the end": ([(FIRST, 410)], [], False, 2),
    "forgotten meanwhile": ([(FIRST, 201), (FIRST, 201)], [], False, 1),
    "both of one token": ([(FIRST, 201), (SECOND, 201)], [], False, 3),
    "taken after the end": ([], [(FIRST, 201)], False, 1),
    "a forged token": ([(FORGED, 201)], [], False, 1),
    "a failure": ([(FIRST, 500)], [], False, 2),
}


def settle(case: Case) -> Sending:
    timely, late = ([Answered(*pair) for pair in pairs] for pairs in case[:2])
    return settled(devices.asked(tau=1), 1.0, timely, late, case[2])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_answers_that_cannot_be_are_counted(case: Case) -> None:
    assert settle(case).wrong == case[3]


def test_what_must_be_released_follows_from_what_was_accepted() -> None:
    null = replace(FIRST, token="other", body=b"d" * 16, kept=False)
    garbage = Letter("garbage", 2, "third", b"e" * 16)
    sent = [(FIRST, 409), (replace(SECOND, said="not to be"), 201), (null, 200), (garbage, 201)]
    found = settle((sent, [(FIRST, 410)], False, 0))
    assert found.expected == {"not to be": 1}
    assert found.held == {"not to be": 1, "to be": 1}
    assert len(found.taken) == 3
    assert found.refused == {"forged": 0, "second": 1, "late": 1}


BAD: dict[str, Callable[[Path], object]] = {
    "clients": lambda folder: rehearse("histogram", 0, folder),
    "kills": lambda folder: rehearse("histogram", 10, folder, kills=-1),
    "at least 300 clients": lambda folder: rehearse("histogram", 10, folder, kills=3),
    "window": lambda folder: rehearse("histogram", 10, folder, window=0),
    "folder": lambda folder: rehearse("histogram", 9, folder, store=f"{folder}/none/c.sqlite"),
    "late": lambda folder: Faults(late=1.5),
    "token": lambda folder: Fleet(["a"], []),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=name):
        BAD[name](tmp_path)
