"""What clients hold, one item each: numbers that are drawn, and words of Shakespeare."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt

from papers.federated.settings import CLIENTS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Texts = npt.NDArray[np.str_]

SHAKESPEARE = Path(__file__).resolve().parents[3] / "shared" / "data" / "shakespeare.txt.gz"


@dataclass(frozen=True, eq=False)
class Held:
    """The item of every client, as a number below ``domain``."""

    name: str
    domain: int
    items: Ints

    @cached_property
    def truth(self) -> Ints:
        """How many clients hold each item."""
        return np.bincount(self.items, minlength=self.domain)


@dataclass(frozen=True, eq=False)
class Words:
    """The word of every client."""

    words: Texts

    @cached_property
    def by_frequency(self) -> list[str]:
        """The different words, the most frequent first; of equals the first in the alphabet."""
        many = Counter(self.words.tolist())
        return sorted(many, key=lambda word: (-many[word], word))


@lru_cache
def binomial(domain: int, clients: int = CLIENTS) -> Held:
    """Bin(domain - 1, 1/2) for every client."""
    items = np.random.default_rng(2022).binomial(domain - 1, 0.5, clients)
    return Held("binomial", domain, items.astype(np.int64))


@lru_cache
def shakespeare(path: Path = SHAKESPEARE, clients: int = CLIENTS) -> Words | None:
    """A random choice of all words, in lower case; None when the text is not there."""
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as text:
        words = np.array(re.findall(r"[a-z']+", text.read().lower()), dtype=np.str_)
    rng = np.random.default_rng(1623)
    return Words(rng.choice(words, min(clients, len(words)), replace=False))


@lru_cache
def hashed(words: Words, domain: int) -> Held:
    """Words as numbers: the CRC-32 of a word, modulo the domain."""
    known, which = np.unique(words.words, return_inverse=True)
    numbers = np.array([crc32(word.encode()) % domain for word in known.tolist()], dtype=np.int64)
    return Held("Shakespeare", domain, numbers[which])
