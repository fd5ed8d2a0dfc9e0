"""Devices in memory that put their reports straight into a database, as the server would."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tamis.collect.collector import Collector
from tamis.collect.records import Outcome, Report
from tamis.collect.tokens import opened_token
from tamis.federated.device import Specification, answer, kept, seal, token_parts


class Clock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Fleet:
    """One device for each item."""

    collector: Collector
    query: str
    items: Sequence[Any]
    secrets: list[bytes] = field(init=False)
    tokens: list[str] = field(init=False)
    said: Counter[str] = field(init=False)  # what was really answered in the last round

    def __post_init__(self) -> None:
        self.secrets = [os.urandom(32) for _ in self.items]
        self.tokens = self.collector.tokens(self.query, len(self.items)) if self.items else []
        self.said = Counter()

    def asked(self) -> Specification:
        newest = self.collector._store.newest(self.query)
        assert newest is not None
        return newest.asked

    def report(self, now: float) -> list[Outcome]:
        """All devices report to the newest round."""
        asked, reports = self.asked(), []
        self.said = Counter()
        for item, secret, token in zip(self.items, self.secrets, self.tokens, strict=True):
            said = answer(asked, item) if kept(asked, secret) else None
            if said is not None:
                self.said[said.decode()] += 1
            body = seal(asked, os.urandom(16), said, token_parts(token)[1])
            reports.append(self.sealed(asked, token, body))
        return self.collector._store.take(reports, now)

    def sealed(self, asked: Specification, token: str, body: bytes) -> Report:
        found = self.collector._store.query(self.query)
        assert found is not None
        raw = opened_token(found.token_key, self.query, token_parts(token)[0])
        assert raw is not None
        return Report(self.query, asked.round, raw, body[:16], body)

    def named(self, tau: int) -> dict[str, int]:
        """What may be released of the last round."""
        return {name: n for name, n in self.said.items() if n >= tau}


def rows(file: bytes) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq
    from pyarrow import BufferReader

    found: list[dict[str, Any]] = pq.read_table(BufferReader(file)).to_pylist()
    return found


def footer(file: bytes) -> dict[str, Any]:
    import pyarrow.parquet as pq
    from pyarrow import BufferReader

    said: dict[str, Any] = json.loads(pq.read_metadata(BufferReader(file)).metadata[b"tamis"])
    return said
