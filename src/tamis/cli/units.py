"""How many keys units have: stated, or a public table. Never the data itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tamis.cli import inputs
from tamis.privacy.errors import InvalidInput
from tamis.releases.bound import CHOICES

Floats = npt.NDArray[np.float64]

KEYS, UNITS = "keys", "units"  # the columns of a public table
_MOST = 1_000_000  # keys of one unit
_NUMBER = r"\d+(?:\.\d+)?"
_ONE = re.compile(_NUMBER)
_LIST = re.compile(rf"{_NUMBER}:{_NUMBER}(?:,{_NUMBER}:{_NUMBER})*")
_ZIPF = re.compile(rf"zipf:({_NUMBER}):(\d+)")


@dataclass(frozen=True)
class Units:
    """Numbers of keys, how many units (or which share of them) have so many, and a name for it."""

    name: str
    keys: Floats
    many: Floats

    def __post_init__(self) -> None:
        if not len(self.keys) or self.keys.min() < 1 or self.keys.max() > _MOST:
            raise InvalidInput(
                f"units must have from 1 to {_MOST:,} keys; those without do not count."
            )
        if self.many.sum() <= 0:
            raise InvalidInput(
                "--units-have states that there are no units; say how many there are."
            )

    def kept(self, bound: int) -> float:
        """The share of all pairs of a unit and a key that a bound leaves.

        A unit with c keys keeps min(c, bound) of them.

        >>> stated("12").kept(3), stated("1:2,4:1").kept(2)
        (0.25, 0.6666666666666666)
        """
        return float(np.minimum(self.keys, bound) @ self.many / (self.keys @ self.many))

    def bounds(self, own: int) -> list[int]:
        """Bounds to compare: those that a release chooses from, the user's own, and all keys."""
        every = int(np.ceil(self.keys.max()))
        return sorted({*CHOICES, own, *([every] if every <= CHOICES[-1] else [])})


def units_of(text: str) -> Units:
    """What --units-have says."""
    if (found := stated(text)) is not None:
        return found
    if not Path(text).exists():
        raise InvalidInput(
            "--units-have must be a number of keys (12), numbers with how many units have so many "
            "(1:500,4:300,30:200), zipf:exponent:most (zipf:1.5:1000), or a file with the columns "
            f"{KEYS} and {UNITS}, not {text!r}."
        )
    read = inputs.counted(text, (KEYS, UNITS))
    columns = (read[name].to_numpy().astype(np.float64) for name in (KEYS, UNITS))
    return Units(f"as many keys as {text} says", *columns)


def stated(text: str) -> Units | None:
    """Numbers that are given as such.

    >>> stated("zipf:1:4").many.tolist()
    [1.0, 0.5, 0.3333333333333333, 0.25]
    """
    if _ONE.fullmatch(text):
        what = "key" if float(text) == 1 else "keys"
        return Units(f"{text} {what} each", np.array([float(text)]), np.ones(1))
    if _LIST.fullmatch(text):
        pairs = np.array([pair.split(":") for pair in text.split(",")], dtype=np.float64)
        return Units(f"{text} keys", pairs[:, 0], pairs[:, 1])
    if found := _ZIPF.fullmatch(text):
        keys = np.arange(1.0, min(int(found[2]), _MOST + 1) + 1)
        return Units(f"{text} keys", keys, keys ** -float(found[1]))
    return None
