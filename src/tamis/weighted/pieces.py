"""Fine tokens under a sampling scheme."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from itertools import takewhile

from tamis.privacy.verify import Survival
from tamis.weighted.jump import calm_ranges


class Pieces:
    """Every token is cut where the slope of some row changes (docs/proofs.md, section 8).

    Token number = (whole token - 1) stride + 1 + piece. All in whole numbers, key by key: for
    samples of some ten thousand keys.
    """

    def __init__(self, law: Survival, stride: int) -> None:
        self.law, self.stride, self.width = law, stride, law.width()
        self.calm = calm_ranges(law)
        self.places = lru_cache(None)(self._places)
        self.landing = lru_cache(1 << 16)(self._landing)

    def token(self, frequency: int, word: int) -> int:
        whole, place = self.law.walk(frequency, word)
        above = sum(place < p for p in self.places(whole))
        return (whole - 1) * self.stride + 1 + above

    def _places(self, token: int) -> list[int]:
        """Where a token is cut: by the rows from the next one to the last that can have it."""
        rows = range(token + 1, token + self.width + 1)
        if self._is_calm(token):
            cuts = [self._in_order(rows, token, kind) for kind in (0, 1)]
        else:
            cuts = [[t for row in rows for k, t in self.landing(row) if k == token]]
        return sorted(set().union(*cuts) - {0}, reverse=True)

    def _in_order(self, rows: range, token: int, kind: int) -> list[int]:
        start = bisect_left(rows, token, key=lambda row: self.landing(row)[kind][0])
        landed = (self.landing(row)[kind] for row in rows[start:])
        return [t for _, t in takewhile(lambda place: place[0] == token, landed)]

    def _landing(self, row: int) -> list[tuple[int, int]]:
        """The tokens, and the places in them, at which the changes of slope of a row began."""
        return [self.law.walk(row - 1, s) for s in self.law.kinks(row)]

    def _is_calm(self, token: int) -> bool:
        """Where q is calm, both changes of slope begin in later tokens for later rows."""
        return any(a <= token - 1 and token + self.width <= b for a, b in self.calm)
