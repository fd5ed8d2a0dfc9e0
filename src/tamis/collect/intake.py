"""The one writer of a server: reports that wait are taken together, in one durable commit.

A commit takes the disk some milliseconds, whether it holds one report or hundreds. While one is
under way the next reports gather, so the more there are, the less each costs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread

from tamis.collect.open import Connection
from tamis.collect.records import Outcome, Report
from tamis.privacy.errors import StoreUnavailable

WAITING = 4096  # reports, at most
TOGETHER = 1024  # in one commit, at most

Waiting = tuple[Report, "asyncio.Future[Outcome]"]
_log = logging.getLogger(__name__)


class Overloaded(Exception):
    """More reports wait than may; nothing became of this one."""


class Intake:
    """Takes reports from a running event loop. What it says of a report is on the disk."""

    def __init__(
        self, where: str | Path, clock: Callable[[], float], waiting: int = WAITING
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = Connection(where)
        self._clock = clock
        self._queue: Queue[Waiting | None] = Queue(waiting)
        self._closing = False
        # a server that is told twice to stop does not wait for it
        self._thread = Thread(target=self._work, name="intake", daemon=True)
        self._thread.start()

    async def take(self, report: Report) -> Outcome:
        """Waits until it is settled; StoreUnavailable if it may or may not have been taken."""
        future: asyncio.Future[Outcome] = self._loop.create_future()
        try:
            if self._closing:
                raise Full
            self._queue.put_nowait((report, future))
        except Full:
            raise Overloaded from None
        return await future

    async def close(self) -> None:
        """Settles what waits, and takes nothing more."""
        self._closing = True
        await asyncio.to_thread(self._queue.put, None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()

    def _work(self) -> None:
        more = True
        while more:
            batch, more = self._gather()
            if batch:
                settled = self._settle([report for report, _ in batch])
                futures = [future for _, future in batch]
                with suppress(RuntimeError):  # the loop is gone, and so are those who asked
                    self._loop.call_soon_threadsafe(_answer, futures, settled)

    def _gather(self) -> tuple[list[Waiting], bool]:
        """All that wait, and whether there may be more."""
        batch: list[Waiting] = []
        next_one = self._queue.get()
        while next_one is not None:
            batch.append(next_one)
            if len(batch) == TOGETHER:
                return batch, True
            try:
                next_one = self._queue.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _settle(self, reports: list[Report]) -> list[Outcome] | StoreUnavailable:
        try:
            return self._connection.ask(lambda store: store.take(reports, self._clock()))
        except StoreUnavailable as error:
            _log.warning("%s", error)
            return error
        except Exception as error:  # the writer must outlive whatever it is
            _log.error("reports could not be taken: %s", type(error).__name__)
            return StoreUnavailable("Reports could not be taken.")


def _answer(
    futures: list[asyncio.Future[Outcome]], settled: list[Outcome] | StoreUnavailable
) -> None:
    """Those who have gone in the meantime need no answer."""
    for place, future in enumerate(futures):
        if future.done():
            continue
        if isinstance(settled, list):
            future.set_result(settled[place])
        else:
            future.set_exception(settled)
