"""One dimension as a hierarchy, so that a range is a sum of few numbers.

A dimension has m values, 0 to m - 1, padded to 2^h by values that nothing holds. On every level of
a transform each value belongs to one node, with a sign, and what is counted for a node is the sum
of the signed counts of its values. So one record changes each level by exactly 1.

References: Cormode, Procopiuc, Srivastava, Tran, "Differentially private summaries for sparse
data" (2012); Xiao, Wang, Gehrke, "Differential privacy via wavelet transforms" (2010), here in
whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tamis.privacy.errors import InvalidInput, shown

Ints = npt.NDArray[np.int64]


class Part(NamedTuple):
    """``many`` neighbouring nodes of a level, and what each weighs in the sum."""

    level: int
    node: int
    weight: float = 1.0
    many: int = 1


class Transform(Protocol):
    """What a dimension is made of."""

    @property
    def size(self) -> int:
        """m."""

    @property
    def levels(self) -> int:
        """How many levels there are."""

    def nodes(self, level: int) -> int:
        """How many nodes of a level can hold something."""

    def node(self, level: int, codes: Ints) -> Ints:
        """The nodes that values belong to."""

    def sign(self, level: int, codes: Ints) -> Ints:
        """1 or -1: how values count for their nodes."""

    def parts(self, first: int, last: int) -> list[Part]:
        """The nodes whose weighted sum is the count of all values from first to last."""


@dataclass(frozen=True)
class Plain:
    """No hierarchy: one level, on which every value is a node."""

    size: int

    def __post_init__(self) -> None:
        _check_size(self.size)

    @property
    def levels(self) -> int:
        return 1

    def nodes(self, level: int) -> int:
        return self.size

    def node(self, level: int, codes: Ints) -> Ints:
        return codes

    def sign(self, level: int, codes: Ints) -> Ints:
        return np.ones(len(codes), dtype=np.int64)

    def parts(self, first: int, last: int) -> list[Part]:
        return [Part(0, first, many=last - first + 1)]


@dataclass(frozen=True)
class _Padded:
    """What has h + 1 levels, for 2^h values."""

    size: int

    def __post_init__(self) -> None:
        _check_size(self.size)

    @property
    def height(self) -> int:
        return (self.size - 1).bit_length()

    @property
    def levels(self) -> int:
        return self.height + 1

    def _end(self, last: int) -> int:
        """Where a range ends, exclusive. Nothing is behind the last value: it may as well go on."""
        return 1 << self.height if last == self.size - 1 else last + 1


@dataclass(frozen=True)
class Dyadic(_Padded):
    """Levels 0 to h: level l has blocks of 2^(h - l) values. A range is at most 2(h - 1) blocks."""

    def nodes(self, level: int) -> int:
        return ((self.size - 1) >> (self.height - level)) + 1

    def node(self, level: int, codes: Ints) -> Ints:
        return codes >> (self.height - level)

    def sign(self, level: int, codes: Ints) -> Ints:
        return np.ones(len(codes), dtype=np.int64)

    def parts(self, first: int, last: int) -> list[Part]:
        return [p for p in self._blocks(first, self._end(last) - 1) if p.node < self.nodes(p.level)]

    def _blocks(self, first: int, last: int) -> Iterator[Part]:
        """From the leaves up: a block at an end whose neighbour is outside cannot be joined."""
        level = self.height
        while first <= last:
            if first % 2:
                yield Part(level, first)
                first += 1
            if last % 2 == 0 and first <= last:
                yield Part(level, last)
                last -= 1
            first, last, level = first >> 1, last >> 1, level - 1


@dataclass(frozen=True)
class Haar(_Padded):
    """The total, and on level l >= 1, for blocks of S = 2^(h - l + 1), D: left less right half.

    A range R is total |R| / 2^h + the sum of D (|R and left| - |R and right|) / S over all blocks,
    of which only those with an end of R inside, at most two on a level, have a weight.
    """

    def nodes(self, level: int) -> int:
        return ((self.size - 1) >> self._shift(level)) + 1

    def node(self, level: int, codes: Ints) -> Ints:
        return codes >> self._shift(level)

    def sign(self, level: int, codes: Ints) -> Ints:
        if level == 0:
            return np.ones(len(codes), dtype=np.int64)
        return 1 - 2 * (codes >> (self._shift(level) - 1) & 1)

    def _shift(self, level: int) -> int:
        return self.height - max(level - 1, 0)

    def parts(self, first: int, last: int) -> list[Part]:
        end = self._end(last)
        found = [Part(0, 0, (end - first) / (1 << self.height))]
        for level in range(1, self.levels):
            shift = self._shift(level)
            for node in sorted({first >> shift, min(end >> shift, self.nodes(level) - 1)}):
                if weight := _weight(first, end, node, shift):
                    found.append(Part(level, node, weight))
        return found


def _weight(first: int, end: int, node: int, shift: int) -> float:
    """(|R and left| - |R and right|) / S, for the range from first to before end."""
    start, half = node << shift, 1 << (shift - 1)
    left = _common(first, end, start, start + half)
    right = _common(first, end, start + half, start + 2 * half)
    return (left - right) / (2 * half)


def _common(first: int, end: int, start: int, stop: int) -> int:
    return max(0, min(end, stop) - max(first, start))


def _check_size(size: int) -> None:
    if not 1 <= size <= 2**62:
        raise InvalidInput(
            f"A dimension must have between 1 and 2^62 values, not {shown(size)}; "
            "give the number of values that its domain allows."
        )
