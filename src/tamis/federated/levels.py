"""Quantiles from one round: every client tells where it is on one level of a tree, at random."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.federated.mechanism import Histogram
from tamis.privacy import answer, randomness
from tamis.sampling.arrow import column_of

Ints = npt.NDArray[np.int64]
Level = tuple[Ints, Ints]


@dataclass(frozen=True)
class Levels:
    """Numbers from 0 to domain - 1 in ranges as wide as powers of ``branching``, the widest first.

    Each client holds one item, the range of its number on the level that it has drawn. So the
    guarantee is that of one round, whatever the levels of the other clients are.
    """

    domain: int
    branching: int = 16

    @property
    def widths(self) -> list[int]:
        widths = [1]
        while widths[-1] * self.branching < self.domain:
            widths.append(widths[-1] * self.branching)
        return widths[::-1]

    @property
    def firsts(self) -> list[int]:
        """The number of the first range of each level; they are numbered one level on the other."""
        sizes = [-(-self.domain // width) for width in self.widths]
        return [0, *np.cumsum(sizes).tolist()]

    def answers(self, values: pa.Array) -> pa.Array:
        """A range that each number is in."""
        words = randomness.words(len(values)) >> np.uint64(32)
        level = (words * np.uint64(len(self.widths)) >> np.uint64(32)).astype(np.int64)
        widths, firsts = np.array(self.widths), np.array(self.firsts)
        return column_of(firsts[level] + np.asarray(values) // widths[level])

    def rows(
        self, counted: Histogram, at: tuple[float, ...], coverage: float
    ) -> list[tuple[int, int, int]]:
        """For each quantile the number, and those at the ends of the interval of its rank."""
        levels = [self._on(level, counted) for level in range(len(self.widths))]
        many = max(1, int(levels[0][1].sum()))  # clients that told the widest range
        margin, found = answer.quantile(coverage) / sqrt(many), []
        for q in at:
            spread = margin * sqrt(q * (1 - q)) + 1 / many
            value = self._at(q, levels, 0.5)
            low, high = self._at(q - spread, levels, 0.0), self._at(q + spread, levels, 1.0)
            found.append((value, min(low, value), max(high, value)))
        return found

    def _on(self, level: int, counted: Histogram) -> Level:
        """The first numbers of the ranges on one level, in order, and how many told them."""
        first, last, width = self.firsts[level], self.firsts[level + 1], self.widths[level]
        items, tokens = (np.asarray(counted.table.column(c)) for c in ("item", "token"))
        here = np.flatnonzero((items >= first) & (items < last))
        order = here[np.argsort(items[here])]
        return (items[order] - first) * width, tokens[order]

    def _at(self, rank: float, levels: list[Level], part: float) -> int:
        """Down the tree: within a range, the next level says how it is shared out.

        Where too few clients tell, it is the place at this part of the range.
        """
        low, size, below, share = 0, self.domain, 0.0, 1.0
        for width, (starts, tokens) in zip(self.widths, levels, strict=True):
            inside = slice(*np.searchsorted(starts, (low, low + size)))
            if not tokens[inside].sum():
                return min(low + int(part * (size - 1)), self.domain - 1)
            parts = share * tokens[inside] / tokens[inside].sum()
            reached = below + np.cumsum(parts)
            place = min(int(np.searchsorted(reached, rank)), len(parts) - 1)
            below, share = float(reached[place] - parts[place]), float(parts[place])
            low, size = int(starts[inside][place]), width
        return low
