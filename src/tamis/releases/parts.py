"""The parts of what was spent, and where a release came from: what all kinds of files say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

TOTAL = "the number of elements, with two-sided geometric noise"


@dataclass(frozen=True)
class Part:
    """A part of what was spent: for what, and how much."""

    purpose: str
    epsilon: float
    delta: float = 0.0
    value: int | None = None  # what was released for it, if it is one number

    def describe(self) -> dict[str, Any]:
        said = {"purpose": self.purpose, "epsilon": repr(self.epsilon), "delta": repr(self.delta)}
        return said | ({"value": self.value} if self.value is not None else {})


def read_part(said: dict[str, Any]) -> Part:
    return Part(said["purpose"], float(said["epsilon"]), float(said["delta"]), said.get("value"))


class Origin(Protocol):
    """What is only repeated: nothing follows from it."""

    @property
    def parts(self) -> tuple[Part, ...]: ...
    @property
    def counted(self) -> str: ...
    @property
    def filtered(self) -> bool: ...
    @property
    def entry(self) -> dict[str, Any] | None: ...
    @property
    def day(self) -> str: ...
    @property
    def library(self) -> str: ...


def plain_origin(about: Origin) -> bool:
    """Whether it is of the kind that a release writes."""
    entry = {"ledger": str, "budget": str, "entry": int, "digest": str}
    known = about.entry is None or (
        set(about.entry) == set(entry)
        and all(type(about.entry[name]) is kind for name, kind in entry.items())
    )
    numbers = all(part.value is None or type(part.value) is int for part in about.parts)
    words = about.counted in ("rows", "counts") and type(about.filtered) is bool
    day, library = (text if type(text) is str else "" for text in (about.day, about.library))
    dated = re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    return known and numbers and words and all((dated, re.fullmatch(r"[\w.+]{1,40}", library)))
