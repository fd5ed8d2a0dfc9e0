"""Queries really signed, reports really sealed, databases and servers that run."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tamis.collect.open import open_store
from tamis.collect.records import Query, Report, Round
from tamis.collect.store import Store
from tamis.collect.tokens import issue, opened_token, public_part
from tamis.federated.device import SHOWN, Specification, seal, sign
from tests.federated import devices
from tests.federated.devices import NOW, SIGNER
from tests.privacy.ledger import server
from tests.privacy.ledger.conftest import postgres

__all__ = ["postgres"]  # a server that all tests of this run share

SERVER = (
    "import sys; from tamis.collect.serve import serve; "
    "serve(sys.argv[1], port=int(sys.argv[2]), ready=lambda _, port: print(port, flush=True))"
)
OCTETS = "application/octet-stream"


@dataclass(frozen=True)
class Asked:
    """A query's first round, with what only the aggregator knows."""

    specification: Specification
    token_key: bytes

    @property
    def query(self) -> str:
        return self.specification.query

    @property
    def path(self) -> str:
        return f"/queries/{self.query}/reports"

    def round(self, number: int = 1) -> Round:
        asked = replace(self.specification, round=number)
        return Round.of(asked, sign(asked, SIGNER))

    def tokens(self, count: int) -> list[str]:
        """What the server sees of tokens."""
        return [token[:SHOWN] for token in self.whole_tokens(count)]

    def whole_tokens(self, count: int) -> list[str]:
        return issue(self.token_key, self.query, count)

    def body(self, word: str = "to be", number: int = 1, report: bytes = b"") -> bytes:
        asked = replace(self.specification, round=number)
        return seal(asked, report or os.urandom(16), word.encode())

    def report(self, token: str, body: bytes) -> Report:
        raw = opened_token(public_part(self.token_key), self.query, token)
        assert raw is not None
        number = int.from_bytes(body[16:18], "big")
        return Report(self.query, number, raw, body[:16], body)

    def reports(self, count: int, number: int = 1) -> list[Report]:
        return [self.report(token, self.body(number=number)) for token in self.tokens(count)]


def ask(
    store: Store, opens: int = NOW - 3600, closes: int = NOW + 50_000, longest: int = 40
) -> Asked:
    """A new query in a database."""
    specification = devices.asked(
        query=os.urandom(16).hex(),
        rounds=8,
        schema={"type": "text", "bytes": longest},
        size=longest + 3,
        opens=opens,
        closes=closes,
    )
    asked = Asked(specification, os.urandom(32))
    store.add_query(Query(asked.query, public_part(asked.token_key), NOW), asked.round())
    return asked


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a fresh database is."""
    if request.param == "sqlite":
        return str(tmp_path / "collector.sqlite")
    return fresh(request.getfixturevalue("postgres"))


def fresh(folder: Path) -> str:
    where = server.url(folder)
    quiet = "SET client_min_messages TO error; "
    server.execute(where, quiet + "DROP SCHEMA IF EXISTS tamis_collector CASCADE")
    return where


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    with open_store(where) as opened:
        yield opened


# --- a server in a process of its own -----------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Server:
    port: int
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Over a new connection; underscores in names of headers are dashes."""
        link = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            link.request(method, path, body, named)
            found = link.getresponse()
            said = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, said, found.read())
        finally:
            link.close()

    def post(self, asked: Asked, token: str, body: Any) -> Answer:
        return self.ask(
            "POST", asked.path, body, Authorization=f"Bearer {token}", Content_Type=OCTETS
        )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def start(where: str, port: int = 0, code: str = SERVER) -> Server:
    process = subprocess.Popen(
        [sys.executable, "-c", code, where, str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return Server(int(process.stdout.readline() or 0), process)


@contextmanager
def running(where: str, port: int = 0, told: str = "") -> Iterator[Server]:
    """Whoever runs it is told nothing, or one sentence with these words."""
    started = start(where, port)
    with started.process:
        try:
            yield started
        finally:
            started.process.terminate()
            _, said = started.process.communicate(timeout=30)
    assert told in said
    assert said.count("\n") == bool(told)


def kill(started: Server) -> None:
    with started.process:
        started.process.kill()
