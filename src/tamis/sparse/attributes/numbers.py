"""Attributes of numbers: whole ones each, or bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.privacy.errors import InvalidInput, shown
from tamis.sampling.arrow import column_of
from tamis.sparse.attributes.base import Attribute, Ints
from tamis.sparse.attributes.columns import TEXT, Floats, filled, is_text, numbers, whole
from tamis.sparse.attributes.public import check_many, check_public, listed, whole_number


@dataclass(frozen=True, repr=False)
class Whole(Attribute):
    """Whole numbers from low to high, both included.

    >>> Whole(1990, 2024).span(2000, 2009)
    (10, 19)
    """

    low: int
    high: int
    other: str | None = None

    def __post_init__(self) -> None:
        low, high = whole_number(self.low, "low"), whole_number(self.high, "high")
        if high < low:
            raise InvalidInput(
                f"low, {low}, is above high, {high}: such an attribute would have no values."
            )
        self.check()

    @property
    def values(self) -> int:
        return self.high - self.low + 1

    @property
    def extent(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def find(self, column: Any, of: str) -> Ints:
        missing = self.low - 1 if self.low > -(2**63) else self.high + 1
        x = filled(whole(column, of), missing)
        x -= np.int64(self.low)  # around the corner of 64 bits, what is outside is still too large
        outside = x.view(np.uint64) > np.uint64(self.values - 1)
        if outside.any():
            x[outside] = -1
        return x

    def named(self, codes: Ints) -> Any:
        return column_of(codes + np.int64(self.low))

    def describe(self) -> dict[str, Any]:
        return self.described(low=self.low, high=self.high)


def cardinality(given: Any) -> Whole:
    """The whole numbers 0, 1, ..., that many of them."""
    check_public(given, "cardinality")
    if type(given) is not int or given < 1:
        raise InvalidInput(
            f"cardinality must be a whole number, 1 or more, not {shown(given)}: so many values "
            "the attribute can have, whether they occur or not."
        )
    check_many(given)
    return Whole(0, given - 1)


@dataclass(frozen=True, repr=False)
class Bins(Attribute):
    """Numbers in bins [e0, e1), [e1, e2), ..., of which the last also has its upper end.

    Numbers are compared as floats of 64 bits. A bin is also known by its name, such as "[18, 30)".

    >>> age = Bins([0, 18, 65, 120])
    >>> age.decode(age.codes(pa.array([17.5, 18, 120]))).to_pylist()
    ['[0, 18)', '[18, 65)', '[65, 120]']
    """

    edges: Sequence[float]
    other: str | None = None

    def __post_init__(self) -> None:
        edges = tuple(_edge(given) for given in listed(self.edges, "bins"))
        object.__setattr__(self, "edges", edges)
        if len(edges) < 2 or any(b <= a for a, b in pairwise(edges)):
            raise InvalidInput("bins must have two edges or more, each larger than the one before.")
        self.check()

    @cached_property
    def _floats(self) -> Floats:
        return np.array(self.edges, dtype=np.float64)

    @cached_property
    def _names(self) -> Any:
        names = [f"[{a}, {b})" for a, b in pairwise(self.edges)]
        return pa.array([*names[:-1], names[-1][:-1] + "]"], TEXT)

    @property
    def values(self) -> int:
        return len(self.edges) - 1

    @property
    def extent(self) -> str:
        return f"a number from {self.edges[0]} to {self.edges[-1]}"

    def find(self, column: Any, of: str) -> Ints:
        x, e = numbers(column, of), self._floats
        inside = (e[0] <= x) & (x <= e[-1])
        found = np.minimum(np.searchsorted(e, x, side="right"), self.values) - 1
        found = np.where(inside, found, -1)
        if is_text(column):
            found = np.maximum(found, filled(pc.index_in(column, value_set=self._names), -1))
        return found

    def ends(self, low: Any, high: Any, of: str) -> tuple[int, int]:
        """Between two edges, up to the second; by names of bins, or by one number in a bin."""
        first, last = super().ends(low, high, of)
        start, stop = _as_number(low), _as_number(high)
        if start is None or stop is None or start == stop:
            return first, last
        for end, code in ((start, first), (stop, last)):
            if end not in self.edges:
                raise InvalidInput(
                    f"{of}: the range from {shown(low)} to {shown(high)} cuts a bin in two; the "
                    f"edges next to {end:g} are {self.edges[code]} and {self.edges[code + 1]}."
                )
        return self.edges.index(start), self.edges.index(stop) - 1

    def named(self, codes: Ints) -> Any:
        return self._names.take(column_of(codes))

    def describe(self) -> dict[str, Any]:
        return self.described(bins=list(self.edges))


def _edge(given: Any) -> float:
    """An edge that a float holds exactly; a whole number if it is one, because it reads better."""
    try:
        exact = type(given) in (int, float) and isfinite(given) and float(given) == given
    except OverflowError:
        exact = False
    if not exact:
        raise InvalidInput(
            f"bins must be edges that are finite numbers which a float holds, not {shown(given)}."
        )
    return int(given) if abs(given) < 2**53 and int(given) == given else given


def _as_number(end: Any) -> float | None:
    """An end of a range, if it is a number and not the name of a bin."""
    try:
        return float(end)
    except ValueError:
        return None
