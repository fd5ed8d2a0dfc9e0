"""What the collector keeps, and what can become of a report."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple

from tamis.federated.device import Specification, body_size
from tamis.privacy.errors import BadData

QueryState = Literal["running", "released", "closed without release"]
RoundState = Literal["open", "closed", "done"]


class Outcome(Enum):
    """What became of a report."""

    TAKEN = "taken"
    AGAIN = "taken before, as it is"
    REPORTED = "the token has reported"
    ID_TAKEN = "the id is taken"
    CLOSED = "the window has closed"
    EARLY = "the window is not open yet"
    WRONG_ROUND = "there is no such round"
    WRONG_SIZE = "not the size of the round"


@dataclass(frozen=True)
class Query:
    query: str
    token_key: bytes = field(repr=False)  # the public part: it checks tokens, and makes none
    created: int
    state: QueryState = "running"


@dataclass(frozen=True)
class Round:
    """One round of a query: its signed specification, and what the server must know of it."""

    query: str
    round: int
    envelope: str  # as JSON text
    opens: int
    closes: int
    body_size: int
    state: RoundState = "open"

    @classmethod
    def of(cls, asked: Specification, envelope: dict[str, str]) -> Round:
        """A new round, from its specification and the envelope that holds it."""
        window, text = (asked.opens, asked.closes), json.dumps(envelope)
        return cls(asked.query, asked.round, text, *window, body_size(asked))

    @property
    def asked(self) -> Specification:
        """What it asks, for people: the signature is not checked here."""
        try:
            return Specification.read(json.loads(self.envelope)["specification"])
        except (ValueError, KeyError, TypeError):
            raise BadData(
                f"round {self.round} of the query {self.query} cannot be read: the collector's "
                "database was changed by something other than the aggregator."
            ) from None


class Report(NamedTuple):
    """A sealed report, with the token that came with it."""

    query: str
    round: int
    token: bytes
    report: bytes  # its id
    body: bytes
