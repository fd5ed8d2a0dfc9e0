"""Sources of words for tests, to be used with ``tamis.privacy.randomness.using``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tamis.privacy.randomness import OperatingSystem, Words


class Listed:
    """Gives the words of a list, one after the other, and then no more."""

    def __init__(self, words: Iterable[int] | Words) -> None:
        listed = words if isinstance(words, np.ndarray) else list(words)
        self._words, self._next = np.asarray(listed, dtype=np.uint64), 0

    def words(self, n: int) -> Words:
        given = self._words[self._next : self._next + n]
        assert len(given) == n, "more words were drawn than the test expects"
        self._next += n
        return given.copy()

    @property
    def left(self) -> int:
        return len(self._words) - self._next


class Stream:
    """A repeatable source, so that what was drawn can be compared with the integers."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def words(self, n: int) -> Words:
        return self.generator.integers(0, 2**64, n, dtype=np.uint64)


class Counted:
    """Gives the words of the operating system, and counts how many were asked for."""

    def __init__(self) -> None:
        self.drawn = 0

    def words(self, n: int) -> Words:
        self.drawn += n
        return OperatingSystem().words(n)


class Forbidden:
    """Refuses to give any word."""

    def words(self, n: int) -> Words:
        raise AssertionError("a word was drawn")
