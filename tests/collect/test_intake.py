"""The writer of a server: what it says is on the disk, and it outlives what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tamis.collect import intake as module
from tamis.collect.intake import Intake, Overloaded
from tamis.collect.open import open_store
from tamis.collect.records import Outcome
from tamis.collect.store import Store
from tamis.privacy.errors import StoreUnavailable
from tests.collect.conftest import ask, fresh
from tests.federated.devices import NOW
from tests.privacy.ledger import server


@asynccontextmanager
async def taking(where: str, waiting: int = module.WAITING) -> AsyncIterator[Intake]:
    intake = Intake(where, lambda: NOW, waiting)
    try:
        yield intake
    finally:
        await intake.close()


def test_many_reports_at_once_are_each_settled(store: Store, where: str) -> None:
    asked = ask(store)
    reports = asked.reports(300)

    async def send() -> tuple[list[Outcome], int]:
        async with taking(where) as intake:
            outcomes = await asyncio.gather(*map(intake.take, reports + reports[:50]))
            return outcomes, len(list(store.reports(asked.query, 1)))

    outcomes, on_disk = asyncio.run(send())
    assert on_disk == outcomes.count(Outcome.TAKEN) == 300
    assert outcomes.count(Outcome.AGAIN) == 50


def test_its_clock_decides_the_window(store: Store, where: str) -> None:
    early, late = ask(store, opens=NOW + 1), ask(store, closes=NOW)

    async def send() -> list[Outcome]:
        async with taking(where) as intake:
            return [await intake.take(asked.reports(1)[0]) for asked in (early, late)]

    assert asyncio.run(send()) == [Outcome.EARLY, Outcome.CLOSED]


def test_more_than_may_wait_are_refused_and_the_others_taken(tmp_path: Path) -> None:
    where = str(tmp_path / "collector.sqlite")

    async def send(blocked: Store) -> list[Outcome | BaseException]:
        async with taking(where, waiting=3) as intake:
            with blocked.writing():
                first = asyncio.ensure_future(intake.take(reports[0]))
                await asyncio.sleep(0.2)  # until the writer has it, and waits for the database
                others = [asyncio.ensure_future(intake.take(each)) for each in reports[1:]]
                await asyncio.sleep(0)
            return await asyncio.gather(first, *others, return_exceptions=True)

    with open_store(where) as store:
        reports = ask(store).reports(6)
        outcomes = asyncio.run(send(store))
    assert outcomes[:4] == [Outcome.TAKEN] * 4
    assert [type(outcome) for outcome in outcomes[4:]] == [Overloaded] * 2


def test_what_waits_when_it_ends_is_settled_and_nothing_more(tmp_path: Path) -> None:
    where = str(tmp_path / "collector.sqlite")

    async def send() -> list[Outcome]:
        async with taking(where) as intake:
            waiting = [asyncio.ensure_future(intake.take(each)) for each in reports]
            await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await intake.take(reports[0])
        return await asyncio.gather(*waiting)

    with open_store(where) as store:
        reports = ask(store).reports(200)
        assert asyncio.run(send()) == [Outcome.TAKEN] * 200


def test_whoever_goes_away_takes_nobody_along(tmp_path: Path) -> None:
    where = str(tmp_path / "collector.sqlite")

    async def send() -> list[Outcome | BaseException]:
        async with taking(where) as intake:
            waiting = [asyncio.ensure_future(intake.take(each)) for each in reports]
            await asyncio.sleep(0)
            waiting[1].cancel()
            return await asyncio.gather(*waiting, return_exceptions=True)

    with open_store(where) as store:
        asked = ask(store)
        reports = asked.reports(3)
        one, gone, two = asyncio.run(send())
        assert (one, two) == (Outcome.TAKEN, Outcome.TAKEN)
        assert isinstance(gone, asyncio.CancelledError)
        assert len(list(store.reports(asked.query, 1))) == 3  # it had been sent


def test_it_comes_back_when_the_database_does(
    postgres: Path, caplog: pytest.LogCaptureFixture
) -> None:
    where = fresh(postgres)
    others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'postgres'"

    async def send() -> list[Outcome]:
        async with taking(where) as intake:
            first = await intake.take(reports[0])
            server.execute(where, f"SELECT pg_terminate_backend(pid) {others}")
            with pytest.raises(StoreUnavailable, match="went away"):
                await intake.take(reports[1])
            return [first, await intake.take(reports[1])]

    with open_store(where) as store:
        reports = ask(store).reports(2)
    assert asyncio.run(send()) == [Outcome.TAKEN] * 2
    assert "went away" in caplog.text
