"""The frequencies that the figures are computed on, as distinct frequencies and their keys."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Rounding = Literal["down", "to nearest", "up"]
_ROUNDINGS: dict[Rounding, Callable[[Floats], Floats]] = {
    "down": np.floor,
    "to nearest": np.rint,
    "up": np.ceil,
}

ROOT = Path(__file__).resolve().parents[2]
HEADLINES = ROOT.parent / "shared" / "data" / "abc_headlines.csv.gz"
ZIPF_KEYS = 10**5


@dataclass(frozen=True, eq=False)
class Counts:
    """``keys[n]`` keys have the frequency ``frequency[n]``."""

    name: str
    frequency: Ints
    keys: Ints

    @property
    def distinct(self) -> int:
        """How many keys there are."""
        return int(self.keys.sum())

    @property
    def largest(self) -> int:
        """The highest frequency."""
        return int(self.frequency[-1])

    def share(self, reporting: Floats) -> float:
        """Expected share of the keys that are reported, from a probability per frequency."""
        return float(self.keys @ reporting) / self.distinct


def tally(name: str, frequencies: npt.ArrayLike) -> Counts:
    """Count the keys of each frequency."""
    distinct, keys = np.unique(np.asarray(frequencies, dtype=np.int64), return_counts=True)
    return Counts(name, distinct, keys)


@lru_cache(maxsize=32)
def zipf(alpha: float, keys: int = ZIPF_KEYS, rounding: Rounding = "down") -> Counts:
    """Frequency (n / r)^alpha, rounded, at rank r = 1..n: the rarest key has frequency 1."""
    exact = (keys / np.arange(1.0, keys + 1)) ** alpha
    whole = _ROUNDINGS[rounding](exact)
    note = "" if rounding == "down" else f", rounded {rounding}"
    return tally(f"Zipf[{alpha:g}]{note}", whole)


@lru_cache(maxsize=32)
def zipf_from_top(alpha: float, keys: int, largest: int) -> Counts:
    """Frequency max(1, round(largest / r^alpha)): how rare the rarest are depends on the size."""
    ranks = np.arange(1.0, keys + 1)
    return tally(
        f"Zipf[{alpha:g}], by its largest", np.maximum(1, np.round(largest * ranks**-alpha))
    )


def headline_words(path: Path = HEADLINES) -> Counts | None:
    """Words of the news headlines (ABC), split on blanks; None when the data set is not there."""
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        words = Counter(word for row in csv.DictReader(lines) for word in _words(row))
    return tally("ABC", list(words.values()))


def _words(row: dict[str, str]) -> list[str]:
    return row["headline_text"].split()
