"""What tests of devices share: specifications, and a small server that plays the collector."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tamis.federated.calibrate import PARTS
from tamis.federated.device import Device, Limits, Specification, sign, token_parts

QUERY = "0123456789abcdef" * 2
TOKEN = "t" * 144
SECRET = token_parts(TOKEN)[1]
NOW = int(time.time())
SIGNER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OPENER = X25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
PUBLIC = base64.b64encode(SIGNER.public_key().public_bytes_raw()).decode()
ROOMY = Limits(epsilon=4, delta=1e-5, tau=10, lifetime_epsilon=100, lifetime_delta=1e-3)

DROP, LOSE = "drop", "lose"  # the connection ends before a report is taken, or after that


def asked(**changes: Any) -> Specification:
    """A histogram of words that is open now, with some fields changed."""
    usual = Specification(
        query=QUERY,
        kind="histogram",
        question="Which word do you use most?",
        round=1,
        rounds=1,
        epsilon=1.0,
        delta=1e-6,
        neighbours="add or remove",
        parts=int(0.25 * PARTS),
        tau=14,
        schema={"type": "text", "bytes": 40},
        task={},
        opens=NOW - 1000,
        closes=NOW + 50_000,
        seal=base64.b64encode(OPENER.public_key().public_bytes_raw()).decode(),
        size=3 + 40,
    )
    return replace(usual, **changes)


def searched(**changes: Any) -> Specification:
    """Heavy hitters that grow by one letter from "th" and "an"."""
    task = {"length": 3, "known": 2, "prefixes": ["th", "an"]}
    return asked(**{"kind": "heavy hitters", "task": task, **changes})


def halved(**changes: Any) -> Specification:
    """Quantiles with three cuts."""
    usual = {"schema": {"type": "integer", "domain": 1024}, "task": {"cuts": [256, 512, 768]}}
    return asked(**{"kind": "quantiles", **usual, **changes})


class Collector:
    """A real HTTP server with the rules of the collector, and faults on demand."""

    def __init__(self) -> None:
        self.shown: dict[str, Any] = {}  # envelopes by query
        self.faults: list[str | int] = []  # what to do instead, one for each of the next reports
        self.sent: list[tuple[str, dict[str, str], bytes]] = []  # path, headers and body of reports
        self.taken: dict[tuple[str, str, int], bytes] = {}
        self.away = 0.0  # seconds by which its clock is wrong
        self.date = True
        self.lock = Lock()
        self.address = ""

    def show(self, *specifications: Specification) -> None:
        self.shown |= {each.query: sign(each, SIGNER) for each in specifications}

    def take(self, query: str, token: str, body: bytes) -> int:
        place = query, token, int.from_bytes(body[16:18], "big")
        if place not in self.taken:
            self.taken[place] = body
            return 201
        return 200 if self.taken[place] == body else 409


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    collector: Collector

    def do_GET(self) -> None:
        shown = self.collector.shown
        if self.path == "/queries":
            self.reply(200, list(shown.values()))
        elif (query := self.path.rpartition("/")[2]) in shown:
            self.reply(200, shown[query])
        else:
            self.reply(404, {"error": "there is no such query."})

    def do_POST(self) -> None:
        here, body = self.collector, self.rfile.read(int(self.headers["Content-Length"]))
        with here.lock:
            here.sent.append((self.path, dict(self.headers), body))
            fault = here.faults.pop(0) if here.faults else 0
            status = 0
            if fault in (0, LOSE):
                token = self.headers["Authorization"].removeprefix("Bearer ")
                status = here.take(self.path.split("/")[2], token, body)
        if isinstance(fault, str):
            self.close_connection = True
        else:
            self.reply(fault or status, {})

    def reply(self, status: int, content: object) -> None:
        raw = json.dumps(content).encode()
        self.send_response_only(status)
        if self.collector.date:
            self.send_header("Date", formatdate(time.time() + self.collector.away, usegmt=True))
        if status in (301, 302, 303, 307, 308):
            self.send_header("Location", f"{self.collector.address}/elsewhere")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def serving() -> Iterator[Collector]:
    collector = Collector()
    handler = type("Handler", (_Handler,), {"collector": collector})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        collector.address = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


def device(collector: Collector, folder: Path, limits: Limits = ROOMY, **options: Any) -> Device:
    options = {"wait": 0.001, "timeout": 5.0, **options}
    return Device(collector.address, PUBLIC, folder / "state", limits, **options)


def state(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "state").read_text()))
