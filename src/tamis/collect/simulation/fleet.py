"""Simulated devices, each with a secret, a token and an item of its own, and what goes wrong."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Literal

import numpy as np

from tamis.federated.device import Specification, answer, body_size, kept, seal, token_parts
from tamis.privacy.errors import InvalidInput, shown

Kind = Literal["report", "garbage", "second", "forged"]
Dropped = Literal["before", "after"]


@dataclass(frozen=True)
class Faults:
    """How likely each thing goes wrong with a device in a round."""

    duplicated: float = 0.0  # its report is sent twice
    dropped: float = 0.0  # the connection ends before the answer; the same is sent again
    reordered: float = 0.0  # what it sends changes places with what others send
    late: float = 0.0  # it reports after the window
    second: float = 0.0  # another report, of another item, comes with its token
    forged: float = 0.0  # somebody reports with a token that was not issued
    garbage: float = 0.0  # it sends random bytes

    def __post_init__(self) -> None:
        for field in fields(self):
            share = getattr(self, field.name)
            if not isinstance(share, (int, float)) or not 0 <= share <= 1:
                raise InvalidInput(
                    f"faults must be shares from 0 to 1; {field.name} is {shown(share)}."
                )

    @classmethod
    def all(cls, share: float) -> Faults:
        return cls(*[share] * len(fields(cls)))


@dataclass(frozen=True)
class Letter:
    """Something that is sent to the server."""

    kind: Kind
    client: int
    token: str
    body: bytes
    said: str | None = None  # what its sender would answer, if it is kept
    kept: bool = False
    dropped: Dropped | None = None

    @property
    def report(self) -> bytes:
        """Its id."""
        return self.body[:16]


class Fleet:
    """Devices whose state is in memory. Secrets and coins are real; a seed repeats the faults."""

    def __init__(
        self,
        items: Sequence[str] | Sequence[int],
        tokens: Sequence[str],
        faults: Faults | None = None,
        seed: int | None = None,
    ) -> None:
        if len(items) != len(tokens):
            raise InvalidInput("a fleet needs one token for each item.")
        self.items = items
        parts = [token_parts(token) for token in tokens]
        self._tokens, self._hidden = [p[0] for p in parts], [p[1] for p in parts]
        self._faults = faults or Faults()
        self._secrets = [os.urandom(32) for _ in items]
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self.items)

    def letters(self, asked: Specification) -> tuple[list[Letter], list[Letter]]:
        """What all devices send in a round: during the window, and after it."""
        drawn = self._random.random((len(self), len(fields(Faults)))) < astuple(self._faults)
        timely, late = list[Letter](), list[Letter]()
        for client, luck in enumerate(Faults(*row) for row in drawn.tolist()):
            if luck.late:
                late.append(self._report(asked, client))
            else:
                timely += self._sent(asked, client, luck)
        return self._reordered(timely), late

    def _sent(self, asked: Specification, client: int, luck: Faults) -> list[Letter]:
        mine = (self._garbage if luck.garbage else self._report)(asked, client)
        first = replace(mine, dropped=self._dropped()) if luck.dropped else mine
        sent = [first, *[mine] * bool(luck.duplicated)]
        if luck.second:
            sent.append(self._second(asked, client))
        if luck.forged:
            forged = base64.urlsafe_b64encode(os.urandom(48)).decode()
            sent.append(replace(self._second(asked, client), kind="forged", token=forged))
        return sent

    def _report(self, asked: Specification, client: int) -> Letter:
        """As a device makes it, once for each round: whoever repeats it sends the same bytes."""
        said = answer(asked, self.items[client])
        counts = kept(asked, self._secrets[client])
        body = seal(asked, os.urandom(16), said if counts else None, self._hidden[client])
        return Letter("report", client, self._tokens[client], body, _text(said), counts)

    def _second(self, asked: Specification, client: int) -> Letter:
        """From somebody who has the token too, and tosses no coin."""
        said = answer(asked, self.items[int(self._random.integers(len(self)))])
        body = seal(asked, os.urandom(16), said, self._hidden[client])
        return Letter("second", client, self._tokens[client], body, _text(said), True)

    def _garbage(self, asked: Specification, client: int) -> Letter:
        body = os.urandom(16) + asked.round.to_bytes(2, "big")
        body += os.urandom(body_size(asked) - len(body))
        return Letter("garbage", client, self._tokens[client], body)

    def _dropped(self) -> Dropped:
        return "before" if self._random.random() < 0.5 else "after"

    def _reordered(self, letters: list[Letter]) -> list[Letter]:
        """Some change places, among themselves."""
        chosen = np.flatnonzero(self._random.random(len(letters)) < self._faults.reordered)
        moved = list(letters)
        for old, new in zip(chosen, self._random.permutation(chosen), strict=True):
            moved[new] = letters[old]
        return moved


def _text(said: bytes | None) -> str | None:
    return None if said is None else said.decode()
