"""The aggregator: what it releases, when, how often, and what becomes of the reports."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis.collect import counting
from tamis.collect.collector import Collector, Status, WindowOpen
from tamis.collect.records import Outcome, Report, Round
from tamis.collect.tokens import public_part
from tamis.federated import HeavyHitters, Quantiles, SampleAndThreshold
from tamis.federated.device import seal, token_parts
from tamis.federated.hitters import Tree
from tamis.privacy.errors import AggregatorBusy, BadData, BudgetRefused, InvalidInput
from tamis.privacy.ledger import open_ledger
from tamis.releases.collected.collected import Collected
from tests.collect.fleet import Clock, Fleet, footer, rows

MADE = SampleAndThreshold(1.0, 1e-6)
WORDS = ["apple"] * 200 + ["pear"] * 120 + ["quince"] * 3
HOUR = 3600


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(where: str, tmp_path: Path, clock: Clock) -> Iterator[Callable[[], Collector]]:
    """Opens aggregators of the same database and the same keys."""
    made: list[Collector] = []

    def another() -> Collector:
        made.append(Collector(where, tmp_path / "keys", clock))
        return made[-1]

    yield another
    for each in made:
        each.close()


def asked(collector: Collector, **others: Any) -> str:
    options = {"window": HOUR, "longest": 20, **others}
    return collector.create(MADE, "Which fruit did you eat?", **options)


# --- what is released ---------------------------------------------------------------------------


def test_what_tau_sampled_devices_say_is_released_and_nothing_else(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector = opened()
    fleet = Fleet(collector, asked(collector), WORDS)
    assert set(fleet.report(clock.now)) == {Outcome.TAKEN}
    clock.now += HOUR
    found = rows(collector.release(fleet.query))
    assert {row["item"]: row["token"] for row in found} == fleet.named(MADE.tau)
    assert "quince" not in {row["item"] for row in found}
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in found)


def test_whole_numbers_are_released_as_numbers(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector = opened()
    query = asked(collector, longest=None, domain=12)
    fleet = Fleet(collector, query, [3] * 300 + [11] * 200)
    fleet.report(clock.now)
    collector.close_window(query)
    assert {row["item"] for row in rows(collector.release(query))} == {3, 11}


def test_heavy_hitters_are_found_round_by_round(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector, made = opened(), HeavyHitters(2.0, 1e-5, rounds=3, depth=6)
    query = collector.create(made, "Which fruit?", window=HOUR, longest=20)
    fleet = Fleet(collector, query, ["apple"] * 300 + ["apples"] * 200 + ["fig"] * 300)
    steps, named = [], dict[str, int]()
    for _ in range(3):
        fleet.report(clock.now)
        named |= {k: n for k, n in fleet.named(made.mechanism.tau).items() if k.endswith("\0")}
        clock.now += HOUR
        last = fleet.named(made.mechanism.tau)
        steps.append(collector.advance(query))
    assert steps == ["next round", "next round", "released"]
    tokens = {row["item"]: row["token"] for row in rows(collector.release(query))}
    assert tokens == {k.removesuffix("\0"): n for k, n in (named | last).items()}
    assert set(tokens) == {"apple", "apples", "fig"}


def test_quantiles_are_searched_for_round_by_round(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector, made = opened(), Quantiles(2.0, 1e-5, 8, (0.25, 0.75))
    query = collector.create(made, "How many?", window=HOUR)
    held = np.random.default_rng(1).integers(0, 8, 1000)
    fleet = Fleet(collector, query, held.tolist())
    for _ in range(made.rounds):
        fleet.report(clock.now)
        clock.now += HOUR
        step = collector.advance(query)
    assert step == "released"
    low, high = (row["estimate"] for row in rows(collector.release(query)))
    assert abs(low - 1) <= 1
    assert abs(high - 5) <= 1


def test_the_release_says_nothing_of_who_or_how_many_reported(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector, files = opened(), []
    for many in (WORDS, WORDS + ["rare"] * 2):
        fleet = Fleet(collector, asked(collector), many)
        fleet.report(clock.now)
        collector.close_window(fleet.query)
        files.append(footer(collector.release(fleet.query)))
    own = ("query", "digest")
    assert {k: v for k, v in files[0].items() if k not in own} == {
        k: v for k, v in files[1].items() if k not in own
    }


def test_the_status_of_a_query_tells_no_numbers_of_reports(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector = opened()
    fleet = Fleet(collector, asked(collector), WORDS)
    before = collector.status()
    fleet.report(clock.now)
    assert collector.status() == before
    assert [field.name for field in fields(Status)] == [
        *("query", "kind", "question", "epsilon", "delta", "p", "tau"),
        *("round", "rounds", "opens", "closes", "state", "signed"),
    ]


# --- what counts --------------------------------------------------------------------------------


def test_reports_that_cannot_be_opened_or_say_something_else_do_not_count(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector = opened()
    query = asked(collector)
    fleet = Fleet(collector, query, [])
    spec, tokens = fleet.asked(), collector.tokens(query, 400)
    bad: list[Callable[[bytes], bytes]] = [
        lambda _: os.urandom(16) + spec.round.to_bytes(2, "big") + os.urandom(spec.size + 48),
        lambda secret: seal(spec, os.urandom(16), b"\xff\xfe", secret),
        lambda secret: seal(spec, os.urandom(16), b"apple\0", secret),
        lambda secret: os.urandom(16) + seal(spec, os.urandom(16), b"apple", secret)[16:],
    ]
    bodies = [bad[n % 4](token_parts(token)[1]) for n, token in enumerate(tokens)]
    taken = [fleet.sealed(spec, t, body) for t, body in zip(tokens, bodies, strict=True)]
    assert set(collector._store.take(taken, clock.now)) == {Outcome.TAKEN}
    collector.close_window(query)
    assert rows(collector.release(query)) == []


def test_a_device_counts_once_however_often_it_reports(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector = opened()
    query = asked(collector)
    fleet = Fleet(collector, query, [])
    spec, tokens = fleet.asked(), collector.tokens(query, MADE.tau - 1)
    for _ in range(5):
        bodies = [seal(spec, os.urandom(16), b"apple", token_parts(t)[1]) for t in tokens]
        sent = [fleet.sealed(spec, t, b) for t, b in zip(tokens, bodies, strict=True)]
        collector._store.take(sent, clock.now)
    collector.close_window(query)
    assert rows(collector.release(query)) == []


def test_a_report_that_somebody_has_copied_in_the_database_counts_once(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector = opened()
    query = asked(collector)
    spec = Fleet(collector, query, []).asked()
    fleet, tokens = Fleet(collector, query, []), collector.tokens(query, 30)
    body = seal(spec, os.urandom(16), b"apple", token_parts(tokens[0])[1])  # under many tokens
    raw = [fleet.sealed(spec, token, body).token for token in tokens]
    copies = [Report(query, 1, token, os.urandom(16), body) for token in raw]
    with collector._store.writing():
        assert len(collector._store._insert_new(copies)) == 30
    collector.close_window(query)
    assert rows(collector.release(query)) == []


def test_reports_without_a_token_of_the_aggregator_do_not_count(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    """Whoever has the database has what checks tokens, and cannot make any."""
    collector = opened()
    query = asked(collector)
    spec = Fleet(collector, query, []).asked()
    bodies = [seal(spec, os.urandom(16), b"apple") for _ in range(30)]
    forged = [Report(query, 1, os.urandom(84), body[:16], body) for body in bodies]
    assert set(collector._store.take(forged, clock.now)) == {Outcome.TAKEN}
    found = collector._store.query(query)
    assert found is not None
    assert found.token_key == public_part(collector.keys.issuer(query))
    collector.close_window(query)
    assert rows(collector.release(query)) == []


def test_what_the_server_puts_in_place_of_reports_does_not_count(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    """It sees what devices show of their tokens, and not the secret that they seal with."""
    collector = opened()
    fleet = Fleet(collector, asked(collector), ["apple"] * 300)
    fleet.report(clock.now)
    store, spec = collector._store, fleet.asked()
    seen = [token for token, _ in store.reports(fleet.query, 1)]
    with store.writing():
        store._ask("DELETE FROM {reports} WHERE query = ?", fleet.query)
        bodies = [seal(spec, os.urandom(16), b"guess") for _ in seen]
        pairs = zip(seen, bodies, strict=True)
        assert (
            len(store._insert_new([Report(fleet.query, 1, t, b[:16], b) for t, b in pairs])) == 300
        )
    clock.now += HOUR
    assert rows(collector.release(fleet.query)) == []


# --- what whoever can write into the database can do ---------------------------------------------


def rewritten(collector: Collector, query: str, column: str, change: Callable[[Any], Any]) -> None:
    store = collector._store
    ((old,),) = store._ask(f"SELECT {column} FROM {{rounds}} WHERE query = ?", query)
    assert change(old) != old
    with store.writing():
        store._ask(f"UPDATE {{rounds}} SET {column} = ? WHERE query = ?", change(old), query)


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("envelope", lambda text: text.replace('\\"tau\\": 14', '\\"tau\\": 1')),
        ("envelope", lambda text: text.replace('\\"seal\\": \\"', '\\"seal\\": \\"A')),
        ("envelope", lambda text: "{}"),
        ("round", lambda number: number + 1),
    ],
    ids=["a lower threshold", "another key", "another specification", "another round"],
)
def test_what_was_changed_in_the_database_is_not_believed(
    opened: Callable[[], Collector], clock: Clock, column: str, change: Callable[[Any], Any]
) -> None:
    collector = opened()
    query = asked(collector)
    Fleet(collector, query, WORDS).report(clock.now)
    rewritten(collector, query, column, change)
    clock.now += HOUR
    with pytest.raises(BadData, match="was changed by something other than the aggregator"):
        collector.release(query)
    collector.abandon(query)


class Died(Exception):
    """Stands for a process that ends at once."""


def two_rounds(collector: Collector, clock: Clock) -> Fleet:
    """A query of two rounds, the first of which has been reported to and has closed."""
    made = HeavyHitters(2.0, 1e-5, rounds=2, depth=6)
    query = collector.create(made, "Which fruit?", window=HOUR, longest=20)
    fleet = Fleet(collector, query, ["apple"] * 300 + ["fig"] * 300)
    fleet.report(clock.now)
    clock.now += HOUR
    return fleet


def put_back(collector: Collector, first: Round, reports: list[Report]) -> None:
    """The database as it was before its first round was counted, with other reports."""
    store = collector._store
    with store.writing():
        store._ask("DELETE FROM {rounds} WHERE query = ?", first.query)
        store._ask("DELETE FROM {reports} WHERE query = ?", first.query)
        store._insert("rounds", [astuple(replace(first, state="closed"))])
        store._insert_new(reports)


def test_a_round_that_was_counted_is_not_counted_again_with_some_reports_left_out(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector = opened()
    fleet = two_rounds(collector, clock)
    query, store = fleet.query, collector._store
    first = store.newest(query)
    assert first is not None
    copies = [Report(query, 1, t, b[:16], b) for t, b in store.reports(query, 1)]
    collector.advance(query)
    found = fleet.asked().task
    assert found["prefixes"] == ["app", "fig"]
    put_back(collector, first, copies[::20])
    clock.now += 5 * HOUR
    assert collector.advance(query) == "next round"
    assert fleet.asked().task == found
    assert fleet.asked().opens == int(clock.now)


def test_a_query_whose_later_round_was_taken_from_the_keys_is_not_counted(
    opened: Callable[[], Collector], clock: Clock, tmp_path: Path
) -> None:
    """Such as after an older copy of the folder of keys was put back."""
    collector = opened()
    fleet = two_rounds(collector, clock)
    kept = tmp_path / "keys" / f"{fleet.query}.progress"
    older = kept.read_bytes()
    collector.advance(fleet.query)
    kept.write_bytes(older)
    fleet.report(clock.now)
    clock.now += HOUR
    with pytest.raises(BadData, match="was changed by something other than the aggregator"):
        collector.advance(fleet.query)


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_query_that_was_released_is_not_counted_again_from_an_older_copy_of_all_but_the_ledger(
    opened: Callable[[], Collector], clock: Clock, tmp_path: Path, forgotten: bool
) -> None:
    """Two releases with one device between them would show that device."""
    collector, ledger, keys = opened(), tmp_path / "ledger.sqlite", tmp_path / "keys"
    with open_ledger(ledger) as book:
        book.create("devices", 2.0, 2e-6, "client")
    query = asked(collector, budget="devices", ledger=ledger)
    Fleet(collector, query, WORDS).report(clock.now)
    first = collector._store.newest(query)
    assert first is not None
    copies = [Report(query, 1, t, b[:16], b) for t, b in collector._store.reports(query, 1)]
    older = {path: path.read_bytes() for path in keys.glob(f"{query}.*")}
    clock.now += HOUR
    collector.release(query)
    for path, content in older.items():
        path.write_bytes(content)
    if forgotten:  # the whole folder is the older one
        (keys / f"{query}.released").unlink()
    with collector._store.writing():
        collector._store._ask("UPDATE {queries} SET state = 'running' WHERE query = ?", query)
        collector._store._ask("DELETE FROM {releases} WHERE query = ?", query)
    put_back(collector, first, copies[:-1])
    with pytest.raises(BadData, match=r"has been counted before: .* nothing was counted"):
        collector.release(query)
    with open_ledger(ledger) as book:
        assert len(book.history("devices")) == 1
    collector.abandon(query)
    assert collector.status(query)[0].state == "closed without release"


def test_reports_that_are_put_back_after_the_release_are_named(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector = opened()
    query = asked(collector)
    Fleet(collector, query, WORDS).report(clock.now)
    first = collector._store.newest(query)
    assert first is not None
    clock.now += HOUR
    collector.release(query)
    with collector._store.writing():
        collector._store._ask("UPDATE {queries} SET state = 'running' WHERE query = ?", query)
        collector._store._ask("DELETE FROM {releases} WHERE query = ?", query)
    put_back(collector, first, [])
    with pytest.raises(BadData, match="has been counted before"):
        collector.release(query)


def test_an_aggregator_that_dies_before_it_keeps_the_digest_is_followed_by_one_that_releases(
    opened: Callable[[], Collector], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = opened()
    fleet = Fleet(collector, asked(collector), WORDS)
    fleet.report(clock.now)
    clock.now += HOUR

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as dying:
        dying.setattr(collector.keys, "keep_release", die)
        with pytest.raises(Died):
            collector.release(fleet.query)
    found = rows(opened().release(fleet.query))
    assert {row["item"]: row["token"] for row in found} == fleet.named(MADE.tau)


def test_the_status_says_whether_a_query_is_signed_with_the_keys_that_are_here(
    opened: Callable[[], Collector], where: str, tmp_path: Path, clock: Clock
) -> None:
    collector = opened()
    query = asked(collector)
    assert collector.status(query)[0].signed is True
    with Collector(where, tmp_path / "none", clock) as server:
        assert server.status(query)[0].signed is None

    def lowered(envelope: str) -> str:
        said = json.loads(envelope)
        text = said["specification"].replace(f'"tau": {MADE.tau}', '"tau": 2')
        assert text != said["specification"]
        return json.dumps(said | {"specification": text})

    rewritten(collector, query, "envelope", lowered)
    assert (collector.status(query)[0].tau, collector.status(query)[0].signed) == (2, False)


@pytest.mark.parametrize("step", ["next_round", "release"])
def test_an_aggregator_that_dies_before_it_publishes_is_followed_by_one_that_publishes_the_same(
    opened: Callable[[], Collector], clock: Clock, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    collector = opened()
    fleet = two_rounds(collector, clock)
    if step == "release":
        collector.advance(fleet.query)
        fleet.report(clock.now)
        clock.now += HOUR
    written = list[Any]()

    def die(*values: Any) -> None:
        written.append(values[-1])
        raise Died

    with monkeypatch.context() as dying:
        dying.setattr(collector._store, step, die)
        with pytest.raises(Died):
            collector.advance(fleet.query)
    collector._store.delete_reports(fleet.query, 2 if step == "release" else 1)
    follower = opened()
    if step == "release":
        assert follower.release(fleet.query) == written[0]
    else:
        assert follower.advance(fleet.query) == "next round"
        assert fleet.asked().task == written[0].asked.task != {}


def test_a_release_that_somebody_else_has_put_into_the_database_is_refused(
    opened: Callable[[], Collector], clock: Clock, tmp_path: Path
) -> None:
    collector = opened()
    fleet = Fleet(collector, asked(collector), WORDS)
    fleet.report(clock.now)
    before = sorted((tmp_path / "keys").iterdir())
    with collector._store.writing():
        collector._store._insert("releases", [(fleet.query, b"anything at all")])
    with pytest.raises(BadData, match="was not made here"):
        collector.release(fleet.query)
    assert sorted((tmp_path / "keys").iterdir()) == before
    with collector._store.writing():
        collector._store._ask("DELETE FROM {releases} WHERE query = ?", fleet.query)
    clock.now += HOUR
    assert {row["item"] for row in rows(collector.release(fleet.query))} == {"apple", "pear"}


def test_when_the_next_round_opens_does_not_tell_how_long_counting_took(
    opened: Callable[[], Collector], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = opened()
    fleet = two_rounds(collector, clock)
    ended, really = clock.now, counting.counted

    def slowly(*values: Any) -> Any:
        clock.now += 100
        return really(*values)

    monkeypatch.setattr(counting, "counted", slowly)
    collector.advance(fleet.query)
    assert fleet.asked().opens == int(ended)


def test_two_aggregators_with_the_same_keys_do_not_work_at_once(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    """Such as one whose connection to the database, and so its lock there, was lost."""
    collector = opened()
    fleet = two_rounds(collector, clock)
    with collector.keys.alone(), pytest.raises(AggregatorBusy, match="Another aggregator"):
        opened().advance(fleet.query)


@pytest.mark.parametrize("kind", ["plan", "progress", "tokens"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"{"])
def test_what_is_damaged_among_the_keys_is_named(
    opened: Callable[[], Collector],
    clock: Clock,
    tmp_path: Path,
    kind: str,
    content: bytes | None,
) -> None:
    collector = opened()
    query = asked(collector)
    clock.now += HOUR
    path = tmp_path / "keys" / f"{query}.{kind}"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(BadData, match=rf"{query}\.{kind}' in the folder of keys is damaged"):
        collector.release(query)


def test_the_database_says_nothing_of_budgets_and_ledgers(
    opened: Callable[[], Collector], tmp_path: Path
) -> None:
    collector, ledger = opened(), tmp_path / "secret-ledger.sqlite"
    with open_ledger(ledger) as book:
        book.create("secret budget", 1.0, 1e-6, "client")
    query = asked(collector, budget="secret budget", ledger=ledger)
    store = collector._store
    told = [store._ask(f"SELECT * FROM {{{name}}}") for name in ("queries", "rounds", "releases")]
    assert query in str(told)
    assert "secret" not in str(told)


def test_every_round_is_sealed_for_the_key_of_the_query(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector, made = opened(), HeavyHitters(2.0, 1e-5, rounds=2, depth=4)
    query = collector.create(made, "Which fruit?", window=HOUR, longest=20)
    fleet = Fleet(collector, query, ["apple"] * 300)
    first = fleet.asked()
    fleet.report(clock.now)
    clock.now += HOUR
    collector.advance(query)
    assert fleet.asked().round == 2
    assert fleet.asked().seal == first.seal


def test_a_tree_that_is_too_large_for_a_specification_keeps_the_most_frequent_prefixes() -> None:
    live = tuple(f"{n:05d}" + "é" * 40 for n in range(5000))
    tree = Tree((45, 50), round=1, live=live).within(900_000)
    assert live[: len(tree.live)] == tree.live
    assert 3000 < len(tree.live) < 5000
    assert len(json.dumps(tree.task)) < 910_000


# --- once ---------------------------------------------------------------------------------------


def test_nothing_is_counted_while_the_window_is_open(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    collector = opened()
    query = asked(collector)
    clock.now += HOUR - 1
    with pytest.raises(WindowOpen, match=r"Round 1 .* is open until 2027-01-15 09:00:00 UTC"):
        collector.release(query)
    clock.now += 1
    assert rows(collector.release(query)) == []


def test_a_release_is_made_once_and_charged_once(
    opened: Callable[[], Collector], clock: Clock, tmp_path: Path
) -> None:
    collector, ledger = opened(), tmp_path / "ledger.sqlite"
    with open_ledger(ledger) as book:
        book.create("devices", 1.0, 1e-6, "client")
    query = asked(collector, budget="devices", ledger=ledger)
    fleet = Fleet(collector, query, WORDS)
    fleet.report(clock.now)
    clock.now += HOUR
    first = collector.release(query)
    assert collector.release(query) == opened().release(query) == first
    with pytest.raises(InvalidInput, match="has ended: it is released"):
        collector.advance(query)
    with open_ledger(ledger) as book:
        (entry,) = book.history("devices")
    assert footer(first)["ledger"]["digest"] == entry.digest


def test_an_aggregator_that_dies_after_the_charge_is_followed_by_one_that_charges_no_more(
    opened: Callable[[], Collector],
    clock: Clock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collector, ledger = opened(), tmp_path / "ledger.sqlite"
    with open_ledger(ledger) as book:
        book.create("devices", 1.0, 1e-6, "client")
    query = asked(collector, budget="devices", ledger=ledger)
    fleet = Fleet(collector, query, WORDS)
    fleet.report(clock.now)
    clock.now += HOUR
    with monkeypatch.context() as dying:
        dying.setattr(Collected, "to_bytes", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            collector.release(query)
    assert collector.status(query)[0].state == "closed"
    found = rows(opened().release(query))
    assert {row["item"]: row["token"] for row in found} == fleet.named(MADE.tau)
    with open_ledger(ledger) as book:
        assert len(book.history("devices")) == 1


def test_two_aggregators_at_once_release_once(
    opened: Callable[[], Collector], clock: Clock, tmp_path: Path
) -> None:
    collector, ledger = opened(), tmp_path / "ledger.sqlite"
    with open_ledger(ledger) as book:
        book.create("devices", 1.0, 1e-6, "client")
    query = asked(collector, budget="devices", ledger=ledger)
    Fleet(collector, query, WORDS).report(clock.now)
    clock.now += HOUR
    files, busy = list[bytes](), list[str]()

    def work(mine: Collector) -> None:
        try:
            files.append(mine.release(query))
        except (AggregatorBusy, InvalidInput) as error:
            busy.append(str(error))

    threads = [threading.Thread(target=work, args=(opened(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert files
    assert len(files) + len(busy) == 4
    assert set(files) == {collector.release(query)}
    with open_ledger(ledger) as book:
        assert len(book.history("devices")) == 1


def test_while_one_aggregator_works_another_is_told_so(
    opened: Callable[[], Collector], clock: Clock
) -> None:
    one, other = opened(), opened()
    query = asked(one)
    clock.now += HOUR
    with one._store.alone(), pytest.raises(AggregatorBusy, match="Another aggregator"):
        other.release(query)
    assert rows(other.release(query)) == []


# --- afterwards ---------------------------------------------------------------------------------


def test_reports_and_the_key_that_opens_them_are_gone_after_the_release(
    opened: Callable[[], Collector], clock: Clock, tmp_path: Path
) -> None:
    collector = opened()
    fleet = Fleet(collector, asked(collector), WORDS)
    fleet.report(clock.now)
    assert len(list(collector._store.reports(fleet.query, 1))) == len(WORDS)
    clock.now += HOUR
    (tmp_path / "keys" / f"{fleet.query}.1a2b3c4d.new").write_bytes(b"of one that died")
    collector.release(fleet.query)
    assert list(collector._store.reports(fleet.query, 1)) == []
    left = {path.name for path in (tmp_path / "keys").iterdir()}
    assert left == {".lock", "signer.key", f"{fleet.query}.released"}
    assert fleet.report(clock.now) == [Outcome.CLOSED] * len(WORDS)


def test_a_query_can_be_abandoned_with_its_reports_unseen(
    opened: Callable[[], Collector], clock: Clock, tmp_path: Path
) -> None:
    collector = opened()
    fleet = Fleet(collector, asked(collector), WORDS)
    fleet.report(clock.now)
    collector.abandon(fleet.query)
    assert list(collector._store.reports(fleet.query, 1)) == []
    assert collector.status(fleet.query)[0].state == "closed without release"
    with pytest.raises(InvalidInput, match="has ended: it is closed without release"):
        collector.release(fleet.query)


def test_keys_are_for_their_owner_alone(opened: Callable[[], Collector], tmp_path: Path) -> None:
    collector = opened()
    query = asked(collector)
    folder = tmp_path / "keys"
    assert folder.stat().st_mode & 0o777 == 0o700
    names = {"signer.key", *(f"{query}.{kind}" for kind in ("key", "plan", "progress", "tokens"))}
    assert {path.name for path in folder.iterdir()} == names
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert opened().signer == collector.signer


def test_reports_can_be_opened_only_with_the_keys_of_the_query(
    opened: Callable[[], Collector], where: str, clock: Clock, tmp_path: Path
) -> None:
    collector = opened()
    query = asked(collector)
    clock.now += HOUR
    with (
        Collector(where, tmp_path / "others", clock) as stranger,
        pytest.raises(InvalidInput, match="can be opened only where the query was created"),
    ):
        stranger.release(query)
    assert collector.status(query)[0].state == "closed"


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"longest": 0}, "longest must be a whole number from 1"),
        ({"domain": 5}, "say what clients hold"),
        ({"longest": 5000}, "longest must be a whole number from 1 to 4095"),
        ({"longest": None}, "say what clients hold"),
        ({"longest": None, "domain": 0}, "domain must be a whole number from 1"),
        ({"longest": None, "domain": -1}, "domain must be"),
        ({"window": 0}, "window must be 1 second to 366 days"),
        ({"window": 1e9}, "window must be"),
        ({"opens": 1000.0}, "opens must be a time"),
        ({"opens": float("nan")}, "opens must be a time"),
        ({"coverage": 1.5}, "coverage must lie"),
        ({"ledger": "somewhere"}, "ledger is for a budget"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    with Collector(tmp_path / "c.sqlite", tmp_path / "keys") as collector:
        with pytest.raises(InvalidInput, match=words):
            asked(collector, **options)
        assert collector.status() == []
        assert not list((tmp_path / "keys").glob("[0-9a-f]*.key"))


@pytest.mark.parametrize(
    ("made", "options", "words"),
    [
        (SampleAndThreshold(1.0, 1e-6, rounds=2), {"longest": 9}, "a histogram has one round"),
        (HeavyHitters(1.0, 1e-6), {"domain": 9}, "heavy hitters are of text"),
        (HeavyHitters(1.0, 1e-6, 2, 50), {"longest": 9}, "fewer characters than depth 50"),
        (Quantiles(1.0, 1e-6, 1), {}, "a domain of 1 has nothing to search for"),
        (Quantiles(1.0, 1e-6, 9), {"domain": 9}, "of the domain that they have"),
        (Quantiles(1.0, 1e-6, 9, interactive=False), {}, "by search"),
        ("histogram", {"longest": 9}, "must be a SampleAndThreshold"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, made: Any, options: dict[str, Any], words: str
) -> None:
    with (
        Collector(tmp_path / "c.sqlite", tmp_path / "keys") as collector,
        pytest.raises(InvalidInput, match=words),
    ):
        collector.create(made, "Which?", window=60, **options)


def test_an_unknown_query_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with Collector(tmp_path / "c.sqlite", tmp_path / "keys") as collector:
        query = asked(collector)
        with pytest.raises(InvalidInput, match=f"Did you mean '{query}'"):
            collector.status(query[:-1])
        for act in (collector.release, collector.abandon, collector.close_window):
            with pytest.raises(InvalidInput, match="There is no query"):
                act("f" * 32)


def test_a_budget_that_cannot_pay_is_refused_before_anything_is_asked_and_before_a_release(
    tmp_path: Path, clock: Clock
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with open_ledger(ledger) as book:
        book.create("small", 0.5, 1e-6, "client")
        book.create("once", 1.0, 1e-6, "client")
    with Collector(tmp_path / "c.sqlite", tmp_path / "keys", clock) as collector:
        with pytest.raises(BudgetRefused):
            asked(collector, budget="small", ledger=ledger)
        assert collector.status() == []
        queries = [asked(collector, budget="once", ledger=ledger) for _ in range(2)]
        clock.now += HOUR
        collector.release(queries[0])
        with pytest.raises(BudgetRefused):
            collector.release(queries[1])
        assert collector.status(queries[1])[0].state == "closed"
