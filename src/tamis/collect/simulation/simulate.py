"""Thousands of simulated devices report to a real server, and follow it from round to round.

Whatever goes wrong on the way, a device repeats the same bytes until it has an answer. So what was
accepted is known exactly, and from it what must be released.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tamis.collect.enquiry import Enquiry
from tamis.collect.simulation import wire
from tamis.collect.simulation.fleet import Fleet, Letter
from tamis.collect.simulation.sending import REFUSED, Answered, Sending, settled
from tamis.federated import Histogram
from tamis.federated.device import LONGEST_REPLY, Specification, opened, read_json
from tamis.privacy.errors import StoreUnavailable

_POLL = 0.05  # seconds between questions for the next round
_HEARD = 0.05  # seconds in which a server has heard about half of what was sent


@dataclass(frozen=True)
class Sent:
    """How far a round has come: letters that are answered, and those that wait for an answer."""

    asked: Specification
    answered: int
    of: int
    waiting: int


Watch = Callable[[Sent], None]


@dataclass(frozen=True)
class Simulated:
    """What became of all rounds."""

    clients: int
    rounds: tuple[Sending, ...]
    release: bytes  # the file, as the server shows it
    owed: pa.Table  # the rows that must be in it
    followed: bool  # whether each round has asked what follows from the one before

    @property
    def accepted(self) -> int:
        return sum(len(each.taken) for each in self.rounds)

    @property
    def again(self) -> int:
        return sum(each.again for each in self.rounds)

    @property
    def dropped(self) -> int:
        return sum(each.dropped for each in self.rounds)

    @property
    def wrong(self) -> int:
        return sum(each.wrong for each in self.rounds)

    @property
    def refused(self) -> dict[str, int]:
        found = sum((Counter(each.refused) for each in self.rounds), Counter[str]())
        return {kind: found[kind] for kind in REFUSED.values()}

    @property
    def seconds(self) -> float:
        return sum(each.seconds for each in self.rounds)

    @property
    def rate(self) -> float:
        """Reports a second, of all that came in windows."""
        return sum(each.letters for each in self.rounds) / self.seconds


class Aggregator(Protocol):
    """Who ends a window when all devices have reported, and counts when some have come late."""

    def close(self, asked: Specification) -> None: ...

    def count(self, sending: Sending) -> None: ...


class Unattended:
    """Windows end by the clock, and another process counts."""

    def close(self, asked: Specification) -> None:
        time.sleep(max(0.0, asked.closes - time.time()) + _POLL)

    def count(self, sending: Sending) -> None:
        """It happens by itself."""


def simulate(
    port: int,
    signer: str,
    query: str,
    enquiry: Enquiry,
    fleet: Fleet,
    aggregator: Aggregator,
    watch: Watch | None = None,
) -> Simulated:
    """All rounds of a query, on the server at this port of this machine.

    ``signer`` is the aggregator's public key, and ``enquiry`` what is asked in all rounds, from
    which follows what must be released. ``watch`` is called after every answer.
    """
    return asyncio.run(_Simulation(port, signer, query, fleet, watch).run(enquiry, aggregator))


class _Simulation:
    def __init__(
        self, port: int, signer: str, query: str, fleet: Fleet, watch: Watch | None
    ) -> None:
        self._port, self._query, self._fleet, self._watch = port, query, fleet, watch
        self._signer = Ed25519PublicKey.from_public_bytes(base64.b64decode(signer))

    async def run(self, enquiry: Enquiry, aggregator: Aggregator) -> Simulated:
        known, rounds, followed = enquiry.start(), list[Sending](), True
        while isinstance(asked := await self._next(len(rounds)), Specification):
            followed &= not known.done and asked.task == known.task
            sending = await self._round(asked, aggregator)
            rounds.append(sending)
            known = known.after(_histogram(enquiry, sending.expected))
            await asyncio.to_thread(aggregator.count, sending)
        owed = enquiry.result(known)
        return Simulated(len(self._fleet), tuple(rounds), asked, owed, followed and known.done)

    async def _next(self, last: int) -> Specification | bytes:
        """The next round, as soon as it is published, or the release."""
        link, until = wire.Link(self._port), time.monotonic() + wire.PATIENCE
        try:
            while time.monotonic() < until:
                found = await link.insist(wire.get(f"/queries/{self._query}/release"))
                if found.status == 200:
                    return found.body
                shown = await link.insist(wire.get(f"/queries/{self._query}"))
                asked = opened(read_json(shown.body, LONGEST_REPLY), self._signer)
                if asked.round > last:
                    return asked
                await asyncio.sleep(_POLL)
        finally:
            link.close()
        raise StoreUnavailable(f"No round has followed round {last}, and no release.")

    async def _round(self, asked: Specification, aggregator: Aggregator) -> Sending:
        timely, late = self._fleet.letters(asked)
        start = time.perf_counter()
        answered = await self._deliver(asked, timely, self._watch)
        seconds, over = time.perf_counter() - start, time.time() >= asked.closes
        await asyncio.to_thread(aggregator.close, asked)
        return settled(asked, seconds, answered, await self._deliver(asked, late), over)

    async def _deliver(
        self, asked: Specification, letters: list[Letter], watch: Watch | None = None
    ) -> list[Answered]:
        answered, waiting = list[Answered](), 0

        async def send(link: wire.Link, letter: Letter) -> None:
            nonlocal waiting
            waiting += 1
            answered.append(Answered(letter, await _send(link, asked.query, letter)))
            waiting -= 1
            if watch is not None:
                watch(Sent(asked, len(answered), len(letters), waiting))

        await wire.spread(self._port, letters, send)
        return answered


async def _send(link: wire.Link, query: str, letter: Letter) -> int:
    """Until it is answered, with the same bytes; the status."""
    request = wire.post(query, letter.token, letter.body)
    if letter.dropped == "before":
        await link.hang_up(request[: len(request) // 2])
    elif letter.dropped == "after":
        await link.hang_up(request, _HEARD)
    return (await link.insist(request)).status


def _histogram(enquiry: Enquiry, counts: dict[str, int]) -> Histogram:
    items = pa.array(list(counts), pa.large_string())
    tokens = np.array(list(counts.values()), dtype=np.int64)
    return Histogram.of(enquiry.mechanism, items, tokens, enquiry.coverage)
