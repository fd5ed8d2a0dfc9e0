"""How many reports a second a collector takes: real server, real HTTP, every answer on the disk."""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import median

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from benchmarks.page import Extent, Section, table
from tamis.collect.open import open_store
from tamis.collect.records import Query, Round
from tamis.collect.simulation import wire
from tamis.collect.tokens import issue, public_part
from tamis.federated.device import Specification, seal, sign, token_parts
from tests.privacy.ledger import server as postgres

REPORTS = 10_000
SERVER = (
    "import sys; from tamis.collect.serve import serve; "
    "serve(sys.argv[1], port=0, ready=lambda host, port: print(port, flush=True))"
)


@dataclass(frozen=True)
class Load:
    """What the clients need to know."""

    port: int
    specification: Specification
    token_key: bytes
    on_the_fly: bool


def collecting(extent: Extent) -> Section:
    """There is nothing here to group: reports a second are what they are."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rows += [row("SQLite", f"{folder}/collector.sqlite", fly) for fly in (False, True)]
    missing = ""
    if (programs := postgres.programs()) is None:
        missing = f"\n\n{postgres.MISSING}"
    else:
        with postgres.running(programs) as place:
            rows += [row("PostgreSQL", postgres.url(place), fly) for fly in (False, True)]
    heads = ("database", "reports are sealed", "reports a second", "median wait (ms)", "99% (ms)")
    text = (
        f"{REPORTS:,} reports over {wire.CONNECTIONS} connections, clients in one process and the "
        f"server in another, on {os.cpu_count()} cores; a flush of the disk takes "
        f"{flush():.1f} ms. There is no GROUP BY to compare with: a report is sealed, and what a "
        "collector does is to take it over HTTP and have it on the disk before it answers, one by "
        "one; the flush is the least that this can cost.\n\n"
    )
    return Section("Collector", text + table(heads, rows) + missing)


def row(name: str, where: str, on_the_fly: bool) -> tuple[str, ...]:
    asked, token_key = new_query(where)
    with serving(where) as port, ProcessPoolExecutor(1, get_context("spawn")) as other:
        load = Load(port, asked, token_key, on_the_fly)
        seconds, waits = other.submit(drive, load).result()
    with open_store(where) as store:
        assert sum(1 for _ in store.reports(asked.query, 1)) == REPORTS
    half, most = median(waits), sorted(waits)[len(waits) * 99 // 100]
    when = "on the fly" if on_the_fly else "beforehand"
    rate = f"**{REPORTS / seconds:,.0f}**"
    return name, when, rate, f"{1000 * half:.0f}", f"{1000 * most:.0f}"


def new_query(where: str) -> tuple[Specification, bytes]:
    now, token_key = int(time.time()), os.urandom(32)
    public = X25519PrivateKey.generate().public_key().public_bytes_raw()
    asked = Specification(
        query=os.urandom(16).hex(),
        kind="histogram",
        question="Which word?",
        round=1,
        rounds=1,
        epsilon=1.0,
        delta=1e-6,
        neighbours="add or remove",
        parts=1 << 30,
        tau=14,
        schema={"type": "text", "bytes": 40},
        task={},
        opens=now - 60,
        closes=now + 3600,
        seal=base64.b64encode(public).decode(),
        size=43,
    )
    with open_store(where) as store:
        first = Round.of(asked, sign(asked, Ed25519PrivateKey.generate()))
        store.add_query(Query(asked.query, public_part(token_key), now), first)
    return asked, token_key


@contextmanager
def serving(where: str) -> Iterator[int]:
    """The port of a server in a process of its own."""
    command = [sys.executable, "-c", SERVER, where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(timeout=30)


def drive(load: Load) -> tuple[float, list[float]]:
    """Seconds for all reports, and what each waited for its answer."""
    tokens = issue(load.token_key, load.specification.query, REPORTS)
    made = [None if load.on_the_fly else request(load, token) for token in tokens]
    todo = zip(tokens, made, strict=True)
    waits: list[float] = []

    async def send(link: wire.Link, report: tuple[str, bytes | None]) -> None:
        token, made = report
        sent = made or request(load, token)
        start = time.perf_counter()
        reply = await link.ask(sent)
        assert reply == wire.Reply(201, b""), reply
        waits.append(time.perf_counter() - start)

    start = time.perf_counter()
    asyncio.run(wire.spread(load.port, todo, send))
    return time.perf_counter() - start, waits


def request(load: Load, token: str) -> bytes:
    asked = load.specification
    shown, secret = token_parts(token)
    return wire.post(asked.query, shown, seal(asked, os.urandom(16), b"the", secret))


def flush() -> float:
    """Milliseconds that the disk takes to keep 4 KB, where the databases will be."""
    with tempfile.TemporaryFile() as file:
        taken = []
        for _ in range(50):
            start = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            taken.append(1000 * (time.perf_counter() - start))
    return median(taken)
