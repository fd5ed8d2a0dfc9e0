"""All of a collection on one machine: server, devices and aggregator, and whether it all holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.collect.collector import Collector
from tamis.collect.enquiry import Enquiry
from tamis.collect.open import open_store
from tamis.collect.simulation import world
from tamis.collect.simulation.fleet import Faults, Fleet
from tamis.collect.simulation.process import ServerProcess
from tamis.collect.simulation.sending import Sending
from tamis.collect.simulation.simulate import Sent, Simulated, simulate
from tamis.collect.store import Store
from tamis.federated.device import Specification
from tamis.privacy.errors import BadData, InvalidInput, shown
from tamis.privacy.guarantee import check_bound
from tamis.privacy.ledger import open_ledger
from tamis.privacy.verify import Refused
from tamis.releases.collected.collected import Collected
from tamis.releases.opening import open_release
from tamis.releases.progress import Report, silent

_BUDGET = "simulation"
_PURSE = (4 * world.EPSILON, 4 * world.DELTA)  # enough to be charged more than once, by mistake
_BETWEEN_KILLS = 100  # devices, so that some of them report just then


@dataclass(frozen=True)
class Kill:
    """The server was killed when so many letters were answered, and so many others waited."""

    round: int
    answered: int
    of: int
    waiting: int


@dataclass(frozen=True)
class Rehearsal:
    """What was collected, and what must hold of it."""

    simulated: Simulated
    release: Collected
    truth: dict[Any, int]  # of quantiles and items, released or not
    kills: tuple[Kill, ...]
    checks: dict[str, bool]

    @property
    def holds(self) -> bool:
        return all(self.checks.values())


def rehearse(
    kind: world.Kind,
    clients: int,
    folder: Path,
    *,
    kills: int = 0,
    faults: Faults | None = None,
    window: float = 3600,
    store: str | None = None,
    seed: int | None = None,
    report: Report = silent,
) -> Rehearsal:
    """Everything that a collection needs, in an empty folder; only ``store`` may be elsewhere.

    In each round the server is killed ``kills`` times while devices report, and started again.
    The aggregator closes a window as soon as all have reported.
    """
    if type(kills) is not int or not 0 <= kills <= 100:
        raise InvalidInput(f"kills must be a whole number from 0 to 100, not {shown(kills)}.")
    if check_bound("clients", clients) < _BETWEEN_KILLS * kills:
        raise InvalidInput(
            f"for kills = {kills} take at least {_BETWEEN_KILLS * kills:,} clients: with fewer the "
            "round is over before."
        )
    where = store or str(folder / "collector.sqlite")
    held = world.items(kind, clients, seed)
    report("starting", 0)
    with Collector(where, folder / "keys") as collector, open_store(where) as opened:
        query = _created(kind, clients, collector, window, folder)
        fleet = Fleet(held, collector.tokens(query, clients), faults, seed)
        aggregator = _Attended(collector, opened, query)
        with ServerProcess(where, folder) as server:
            watch, signer = _Watch(server, kills, report), collector.signer
            simulated = simulate(
                server.port, signer, query, aggregator.enquiry, fleet, aggregator, watch
            )
        release = _read(simulated, folder)
        checks = {
            "every answer of the server is right": not simulated.wrong,
            "accepted reports are stored once": all(aggregator.stored),
            "released is what was accepted": _fits(simulated, release),
            "released once": collector.release(query) == simulated.release,
            "charged once": _charges(folder) == 1,
            "raw reports and key are deleted": aggregator.clean(simulated),
            "the release can be verified": _verified(release),
        }
    if kills:
        checks["killed while devices report"] = len(watch.kills) == kills * len(simulated.rounds)
    truth = world.truth(kind, simulated, held)
    return Rehearsal(simulated, release, truth, tuple(watch.kills), checks)


def _created(
    kind: world.Kind, clients: int, collector: Collector, window: float, folder: Path
) -> str:
    ledger = folder / "ledger.sqlite"
    with open_ledger(ledger) as opened:
        opened.create(_BUDGET, *_PURSE, "client")
    return collector.create(
        world.asked(kind, clients),
        world.QUESTIONS[kind],
        window=window,
        longest=None if kind == "quantiles" else world.LONGEST,
        budget=_BUDGET,
        ledger=ledger,
    )


class _Attended:
    """The aggregator, who looks into the database before it counts."""

    def __init__(self, collector: Collector, store: Store, query: str) -> None:
        self._collector, self._store, self._query = collector, store, query
        self.enquiry = collector.keys.read(query, "plan", Enquiry.read)
        self.stored: list[bool] = []  # of each round, whether all is there and nothing else

    def close(self, asked: Specification) -> None:
        self._collector.close_window(self._query)

    def count(self, sending: Sending) -> None:
        there = [body[:16] for _, body in self._store.reports(self._query, sending.asked.round)]
        self.stored.append(sorted(there) == sorted(sending.taken))
        self._collector.advance(self._query)

    def clean(self, simulated: Simulated) -> bool:
        numbers = [sending.asked.round for sending in simulated.rounds]
        left = any(True for number in numbers for _ in self._store.reports(self._query, number))
        keys = self._collector.keys.folder.glob(f"{self._query}.*")
        return not left and [path.suffix for path in keys] == [".released"]


class _Watch:
    """Kills the server at even steps of a round, if others wait for an answer just then."""

    def __init__(self, server: ServerProcess, kills: int, report: Report) -> None:
        self._server, self._many, self._report = server, kills, report
        self._told = -1
        self.kills: list[Kill] = []

    def __call__(self, sent: Sent) -> None:
        number = sent.asked.round
        done = sum(kill.round == number for kill in self.kills)
        due = done < self._many and sent.answered * (self._many + 1) >= sent.of * (done + 1)
        if due and sent.waiting and self._server.up:
            self.kills.append(Kill(number, sent.answered, sent.of, sent.waiting))
            self._server.kill()
        share = (number - 1 + sent.answered / sent.of) / sent.asked.rounds
        if (percent := int(100 * share)) != self._told:
            self._report(f"round {number}", percent)
            self._told = percent


def _read(simulated: Simulated, folder: Path) -> Collected:
    path = folder / "release.parquet"
    path.write_bytes(simulated.release)
    found: Collected = open_release(path)
    return found


def _fits(simulated: Simulated, release: Collected) -> bool:
    return simulated.followed and bool(release.table.equals(simulated.owed))


def _charges(folder: Path) -> int:
    with open_ledger(folder / "ledger.sqlite") as ledger:
        return len(ledger.history(_BUDGET))


def _verified(release: Collected) -> bool:
    try:
        return bool(release.verify())
    except (BadData, Refused):
        return False
