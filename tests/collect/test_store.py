"""What the collector's database promises, in SQLite and in PostgreSQL."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tamis.collect.open import open_store
from tamis.collect.records import Outcome, Query, Report
from tamis.collect.sqlite import SqliteStore
from tamis.collect.store import PAGE, Store
from tamis.collect.tokens import public_part
from tamis.privacy.errors import AggregatorBusy, InvalidInput, StoreUnavailable
from tamis.privacy.ledger import open_ledger
from tests.collect.conftest import Asked, ask, fresh
from tests.federated.devices import NOW
from tests.privacy.ledger import server

TAKEN, AGAIN, REPORTED, ID_TAKEN = (
    Outcome.TAKEN,
    Outcome.AGAIN,
    Outcome.REPORTED,
    Outcome.ID_TAKEN,
)


def held(store: Store, asked: Asked, number: int = 1) -> list[bytes]:
    return [body for _, body in store.reports(asked.query, number)]


# --- queries and rounds -------------------------------------------------------------------------


def test_a_query_is_there_with_its_first_round(store: Store, where: str) -> None:
    asked = ask(store)
    with open_store(where) as other:
        assert other.query(asked.query) == Query(asked.query, public_part(asked.token_key), NOW)
        assert other.queries() == [other.query(asked.query)]
        assert other.newest(asked.query) == asked.round()
        assert other.rounds(asked.query) == other.open_rounds(NOW) == [asked.round()]
        assert (other.query("0" * 32), other.newest("0" * 32)) == (None, None)


def test_a_query_is_not_made_twice(store: Store) -> None:
    asked = ask(store)
    with pytest.raises(InvalidInput, match="already"):
        store.add_query(Query(asked.query, b"another", NOW), asked.round())
    assert store.queries() == [Query(asked.query, public_part(asked.token_key), NOW)]


def test_rounds_are_open_in_their_window_only(store: Store) -> None:
    one, two = sorted((ask(store, NOW, NOW + 10), ask(store, NOW + 5, NOW + 10)), key=_id)
    sooner = one if one.specification.opens == NOW else two
    assert store.open_rounds(NOW - 0.1) == store.open_rounds(NOW + 10) == []
    assert store.open_rounds(NOW) == store.open_rounds(NOW + 4.9) == [sooner.round()]
    assert store.open_rounds(NOW + 5) == store.open_rounds(NOW + 9.9) == [one.round(), two.round()]
    store.close_round(one.query, 1)
    assert store.open_rounds(NOW + 5) == [two.round()]


def _id(asked: Asked) -> str:
    return asked.query


def test_a_key_for_tokens_is_not_shown(store: Store) -> None:
    asked = ask(store)
    assert repr(public_part(asked.token_key)) not in repr(store.query(asked.query))


# --- taking reports -----------------------------------------------------------------------------


def test_a_report_is_taken_once_however_often_it_is_sent(store: Store, where: str) -> None:
    asked = ask(store)
    reports = asked.reports(5)
    assert store.take(reports, NOW) == [TAKEN] * 5
    assert store.take(reports[::-1], NOW) == [AGAIN] * 5
    assert store.take([], NOW) == []
    with open_store(where) as other:
        assert held(other, asked) == sorted(report.body for report in reports)


@pytest.mark.parametrize("together", [True, False])
def test_a_token_reports_once_and_an_id_counts_once(store: Store, together: bool) -> None:
    asked = ask(store)
    one, two, three = asked.tokens(3)
    body, other = asked.body(), asked.body()
    changed = body[:-1] + bytes([body[-1] ^ 1])
    sent = [(one, body), (one, other), (one, changed), (one, body), (two, body), (three, other)]
    reports = [asked.report(token, content) for token, content in sent]
    batches = [reports] if together else [[report] for report in reports]
    outcomes = [outcome for batch in batches for outcome in store.take(batch, NOW)]
    assert outcomes == [TAKEN, REPORTED, REPORTED, AGAIN, ID_TAKEN, TAKEN]
    assert held(store, asked) == sorted([body, other])


def test_reports_of_many_queries_are_taken_together(store: Store) -> None:
    queries = [ask(store), ask(store, closes=NOW - 10), ask(store)]
    reports = [report for asked in queries for report in asked.reports(2)]
    mixed = reports[::2] + reports[1::2]
    assert store.take(mixed, NOW) == [TAKEN, Outcome.CLOSED, TAKEN] * 2
    assert [len(held(store, asked)) for asked in queries] == [2, 0, 2]


@pytest.mark.parametrize(
    ("after", "outcome"),
    [(-100.1, Outcome.EARLY), (-100, TAKEN), (99.9, TAKEN), (100, Outcome.CLOSED)],
)
def test_the_window_is_from_when_it_opens_until_just_before_it_closes(
    store: Store, after: float, outcome: Outcome
) -> None:
    asked = ask(store, NOW - 100, NOW + 100)
    assert store.take(asked.reports(1), NOW + after) == [outcome]
    assert len(held(store, asked)) == (outcome is TAKEN)


def test_a_round_that_was_closed_takes_nothing_whatever_the_clock_says(store: Store) -> None:
    asked = ask(store)
    early, late = asked.reports(2)
    store.take([early], NOW)
    for _ in range(2):
        store.close_round(asked.query, 1)
    assert store.take([early, late], NOW) == [Outcome.CLOSED] * 2
    assert held(store, asked) == [early.body]


def test_other_rounds_and_other_sizes_are_refused(store: Store) -> None:
    asked = ask(store)
    good, cut, wrong = asked.reports(3)
    sent = [
        good._replace(body=good.body + b"\0"),
        cut._replace(body=cut.body[:-1]),
        wrong._replace(round=2),
        wrong._replace(query="0" * 32),
    ]
    sizes = [Outcome.WRONG_SIZE] * 2
    assert store.take(sent, NOW) == sizes + [Outcome.WRONG_ROUND] * 2
    assert held(store, asked) == []


def test_many_who_send_the_same_at_once_are_one(store: Store, where: str) -> None:
    asked = ask(store)
    reports = asked.reports(40)

    def send(n: int) -> list[Outcome]:
        with open_store(where) as own:
            return own.take(reports[n:] + reports[:n], NOW)

    with ThreadPoolExecutor(8) as pool:
        outcomes = [outcome for sent in pool.map(send, range(0, 40, 5)) for outcome in sent]
    assert outcomes.count(TAKEN) == 40
    assert outcomes.count(AGAIN) == 40 * 7
    assert len(held(store, asked)) == 40


def test_a_round_is_closed_in_the_midst_of_reports_and_takes_none_after(
    store: Store, where: str
) -> None:
    asked = ask(store)
    size = asked.round().body_size

    def send(_: int) -> int:
        """Until it is told that the round is closed."""
        taken = 0
        with open_store(where) as own:
            while True:
                bodies = [os.urandom(size) for _ in range(5)]
                reports = [Report(asked.query, 1, os.urandom(16), b[:16], b) for b in bodies]
                outcomes = own.take(reports, NOW)
                taken += outcomes.count(TAKEN)
                if Outcome.CLOSED in outcomes:
                    assert set(outcomes) == {Outcome.CLOSED}
                    return taken

    with ThreadPoolExecutor(2) as pool:
        sending = [pool.submit(send, part) for part in range(2)]
        while len(held(store, asked)) < 100:
            time.sleep(0.01)
        store.close_round(asked.query, 1)
        at_close = held(store, asked)
        assert sum(part.result() for part in sending) == len(at_close)
    assert held(store, asked) == at_close


def test_reports_come_page_by_page_in_the_order_of_their_ids(store: Store) -> None:
    asked = ask(store)
    reports = asked.reports(PAGE + 5)
    assert set(store.take(reports, NOW)) == {TAKEN}
    assert held(store, asked) == sorted(report.body for report in reports)


# --- the end of a round -------------------------------------------------------------------------


def test_the_next_round_opens_as_the_reports_of_the_last_go(store: Store) -> None:
    asked, other = ask(store), ask(store)
    tokens = asked.tokens(3)
    store.take([asked.report(token, asked.body()) for token in tokens], NOW)
    store.take(other.reports(2), NOW)
    store.close_round(asked.query, 1)
    store.next_round(asked.round(2))
    assert [r.state for r in store.rounds(asked.query)] == ["done", "open"]
    assert store.newest(asked.query) == asked.round(2)
    assert (held(store, asked), len(held(store, other))) == ([], 2)
    again = [asked.report(tokens[0], asked.body()), asked.report(tokens[0], asked.body(number=2))]
    assert store.take(again, NOW) == [Outcome.CLOSED, TAKEN]


def test_a_release_is_made_once_and_the_reports_are_gone(store: Store, where: str) -> None:
    asked = ask(store)
    store.take(asked.reports(3), NOW)
    store.close_round(asked.query, 1)
    assert store.release_file(asked.query) is None
    store.release(asked.query, 1, b"PAR1 first")
    with open_store(where) as other:
        with pytest.raises(AggregatorBusy, match="nothing was changed"):
            other.release(asked.query, 1, b"PAR1 second")
        with pytest.raises(AggregatorBusy, match="nothing was changed"):
            other.abandon(asked.query, 1)
        with pytest.raises(AggregatorBusy, match="nothing was changed"):
            other.next_round(asked.round(2))
    assert store.release_file(asked.query) == b"PAR1 first"
    found = store.query(asked.query)
    assert found is not None
    assert found.state == "released"
    assert [r.state for r in store.rounds(asked.query)] == ["done"]
    assert held(store, asked) == []


def test_a_query_may_end_without_a_release(store: Store) -> None:
    asked = ask(store)
    store.take(asked.reports(3), NOW)
    store.close_round(asked.query, 1)
    store.abandon(asked.query, 1)
    assert store.queries() == [
        Query(asked.query, public_part(asked.token_key), NOW, "closed without release")
    ]
    assert store.release_file(asked.query) is None
    assert held(store, asked) == []


def test_an_open_round_cannot_be_released(store: Store) -> None:
    asked = ask(store)
    store.take(asked.reports(3), NOW)
    for number in (1, 2):
        with pytest.raises(AggregatorBusy, match="not closed"):
            store.release(asked.query, number, b"PAR1")
    assert len(held(store, asked)) == 3
    assert store.newest(asked.query) == asked.round()


def test_what_cannot_be_finished_is_not_begun(store: Store) -> None:
    asked = ask(store)
    store.take(asked.reports(3), NOW)
    store.close_round(asked.query, 1)
    damaged = replace(asked.round(2), envelope=None)  # type: ignore[arg-type]
    with pytest.raises(StoreUnavailable):
        store.next_round(damaged)
    assert len(held(store, asked)) == 3
    assert [r.state for r in store.rounds(asked.query)] == ["closed"]


# --- one aggregator -----------------------------------------------------------------------------


def test_two_aggregators_do_not_work_at_once(store: Store, where: str) -> None:
    with open_store(where) as other:
        with (
            store.alone(),
            pytest.raises(AggregatorBusy, match="Another aggregator"),
            other.alone(),
        ):
            pytest.fail("both were alone")
        with other.alone():
            ask(other)


def test_the_lock_of_an_aggregator_dies_with_it(store: Store, where: str) -> None:
    code = (
        "import sys; from tamis.collect.open import open_store\n"
        "with open_store(sys.argv[1]).alone(): print('alone', flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code, where]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as aggregator:
        assert aggregator.stdout is not None
        assert aggregator.stdout.readline() == "alone\n"
        assert not is_alone(store)
        aggregator.kill()
        aggregator.wait()
    until = time.monotonic() + 10  # a server of PostgreSQL takes a moment to see it
    while not is_alone(store):
        assert time.monotonic() < until


def is_alone(store: Store) -> bool:
    try:
        with store.alone():
            return True
    except AggregatorBusy:
        return False


# --- what is left in a SQLite file --------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "collector.sqlite"


def traces(file: Path, reports: list[Report]) -> int:
    """Of how many reports there is anything in the database's files."""
    left = b"".join(each.read_bytes() for each in file.parent.iterdir())
    return sum(any(part in left for part in parts(report)) for report in reports)


def parts(report: Report) -> list[bytes]:
    pieces = [report.body[at : at + 16] for at in range(0, len(report.body) - 15, 16)]
    return [report.token, report.report, *pieces]


def filled(store: Store, file: Path) -> tuple[Asked, list[Report], list[Report]]:
    """A closed round between reports of other queries, that come and go."""
    asked, *others = [ask(store, longest=size) for size in (150, 40, 600)]
    mine, theirs = [], []
    for _ in range(40):
        mine += asked.reports(20)
        store.take(mine[-20:], NOW)
        for other in others:
            theirs += other.reports(10)
            store.take(theirs[-10:], NOW)
    store.close_round(asked.query, 1)
    assert traces(file, mine) == 800
    return asked, mine, theirs


def test_deleted_reports_are_in_no_file_while_others_read_and_write(file: Path) -> None:
    with open_store(file) as store, open_store(file) as server:
        asked, mine, theirs = filled(store, file)
        assert len(held(server, asked)) == 800
        store.release(asked.query, 1, b"PAR1")
        assert traces(file, mine) == 0
        assert traces(file, theirs) == 800
        assert server.take(theirs[:10], NOW) == [AGAIN] * 10


def test_whoever_dies_before_cleaning_up_is_cleaned_up_after(file: Path) -> None:
    with open_store(file) as store:
        asked, mine, theirs = filled(store, file)
        with store.writing():
            store.delete_reports(asked.query, 1)
        assert held(store, asked) == []
        assert traces(file, mine) > 0  # or this test shows nothing
        with open_store(file) as later, later.alone():
            assert traces(file, mine) == 0
        assert traces(file, theirs) == 800


def test_nothing_but_the_report_is_kept(file: Path) -> None:
    with open_store(file) as store:
        columns = [row[1] for row in store.run("PRAGMA table_info(reports)")]
    assert columns == ["query", "round", "token", "report", "body"]


def test_all_files_are_for_their_owner_only(file: Path) -> None:
    before = os.umask(0)
    try:
        with open_store(file) as store, store.alone():
            ask(store)
            names = {each.name: stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()}
    finally:
        os.umask(before)
    assert set(names.values()) == {0o600}
    ends = {name.removeprefix("collector.sqlite") for name in names}
    assert ends == {"", "-wal", "-shm", ".aggregator"}


# --- what cannot be opened ----------------------------------------------------------------------


def make_ledger(file: Path) -> None:
    open_ledger(file).close()


def make_garbage(file: Path) -> None:
    file.write_bytes(b"not a database" * 1000)


def make_newer(file: Path) -> None:
    with open_store(file) as store:
        store.run("UPDATE collector SET version = 2")


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (Path.mkdir, InvalidInput, "is a folder"),
        (make_ledger, InvalidInput, "is another database"),
        (make_garbage, StoreUnavailable, "not a collector's database"),
        (make_newer, StoreUnavailable, "another version of tamis"),
    ],
)
def test_what_is_no_database_of_a_collector_is_refused(
    file: Path, make: Callable[[Path], None], error: type[Exception], said: str
) -> None:
    make(file)
    before = file.read_bytes() if file.is_file() else b""
    with pytest.raises(error, match=said):
        open_store(file)
    assert not file.is_file() or file.read_bytes() == before


@pytest.mark.parametrize(
    ("where", "error", "said"),
    [
        ("", InvalidInput, "must be a file"),
        ("no/such/folder/collector.sqlite", InvalidInput, "does not exist"),
        ("mysql://here/collector", InvalidInput, "other addresses are not known"),
        ("postgresql://user:hidden@127.0.0.1:1/none", StoreUnavailable, "cannot be reached"),
        (
            "postgresql://127.0.0.1/none?hidden=1",
            InvalidInput,
            "not one that PostgreSQL understands",
        ),
    ],
)
def test_a_place_that_is_not_there_is_refused(
    where: str, error: type[Exception], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=said) as caught:
        open_store(where)
    assert "hidden" not in str(caught.value)


def test_a_server_that_does_not_wait_for_its_disk_is_refused(postgres: Path) -> None:
    where = fresh(postgres)
    with (
        server.without_fsync(where),
        pytest.raises(StoreUnavailable, match=r"fsync is off\), so a report could be lost"),
    ):
        open_store(where)
    with open_store(where) as store:  # switched on again, and nothing was half made
        assert store.queries() == []


def test_every_commit_waits_for_the_disk_and_deleted_rows_are_overwritten(file: Path) -> None:
    with open_store(file) as store:
        assert store.run("PRAGMA journal_mode") == [("wal",)]
        settings = ("synchronous", "fullfsync", "secure_delete", "temp_store", "foreign_keys")
        found = [store.run(f"PRAGMA {setting}")[0][0] for setting in settings]
    assert found == [2, 1, 1, 2, 1]  # FULL, on, on, MEMORY, on


def test_on_a_server_a_commit_waits_for_the_disk_and_not_for_ever_for_others(
    postgres: Path,
) -> None:
    with open_store(fresh(postgres)) as store:
        found = [store.run(f"SHOW {name}")[0][0] for name in ("synchronous_commit", "lock_timeout")]
    assert found == ["on", "30s"]


def test_a_file_that_others_hold_is_waited_for_and_then_given_up(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteStore, "patience", 0.2)
    with open_store(file) as store, open_store(file) as other:
        asked = ask(store)
        with other.writing(), pytest.raises(StoreUnavailable, match="have held the collector's"):
            store.take(asked.reports(1), NOW)
        assert store.take(asked.reports(1), NOW) == [TAKEN]


def test_many_may_make_the_same_new_database_at_once(where: str) -> None:
    def make(_: int) -> str:
        with open_store(where) as own:
            return ask(own).query

    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(make, range(8)))
    with open_store(where) as store:
        assert {query.query for query in store.queries()} == made
