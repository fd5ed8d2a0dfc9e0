"""Attributes of dates: each day, week, month or year between two dates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.privacy.errors import InvalidInput, meant, shown
from tamis.sparse.attributes.base import Attribute, Ints
from tamis.sparse.attributes.columns import days
from tamis.sparse.attributes.public import day

_UNITS = {"day": "D", "week": "D", "month": "M", "year": "Y"}
_MONDAY = 3  # 1970-01-01 was a Thursday


@dataclass(frozen=True, repr=False)
class Dates(Attribute):
    """The periods from that of the first date to that of the last. Weeks begin on Monday.

    A period goes by the first of its days that is in the domain. Moments count for their day in
    UTC.

    >>> quarter = Dates("2024-01-01", "2024-03-31", by="month")
    >>> str(quarter.decode(quarter.codes(pa.array(["2024-02-29"])))[0])
    '2024-02-01'
    """

    first: date | str
    last: date | str
    by: str = "day"
    other: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", day(self.first, "first"))
        object.__setattr__(self, "last", day(self.last, "last"))
        if self.by not in list(_UNITS):
            raise InvalidInput(
                f"by must be day, week, month or year, not {shown(self.by)}."
                f"{meant(self.by, _UNITS)}"
            )
        if self._days[1] < self._days[0]:
            raise InvalidInput(
                f"first, {self.first}, is after last, {self.last}: such an attribute would have no "
                "values."
            )
        self.check()

    @property
    def _days(self) -> Ints:
        return np.array([self.first, self.last], dtype="datetime64[D]").astype(np.int64)

    @property
    def values(self) -> int:
        first, last = self._periods(self._days)
        return int(last - first) + 1

    @property
    def extent(self) -> str:
        return f"a date from {self.first} to {self.last}" + (
            "" if self.by == "day" else f", by {self.by}"
        )

    def find(self, column: Any, of: str) -> Ints:
        x, (first, last) = days(column, of), self._days
        inside = (first <= x) & (x <= last)
        periods = self._periods(np.where(inside, x, first))
        return np.where(inside, periods - self._periods(self._days)[0], -1)

    def _periods(self, x: Ints) -> Ints:
        if self.by == "week":
            return (x + _MONDAY) // 7
        return x.astype("datetime64[D]").astype(f"datetime64[{_UNITS[self.by]}]").astype(np.int64)

    def named(self, codes: Ints) -> Any:
        periods = codes + self._periods(self._days)[0]
        if self.by == "week":
            periods = periods * 7 - _MONDAY
        begins = periods.astype(f"datetime64[{_UNITS[self.by]}]").astype("datetime64[D]")
        return pa.array(np.maximum(begins, np.datetime64(self.first)), pa.date32())

    def describe(self) -> dict[str, Any]:
        return self.described(first=str(self.first), last=str(self.last), by=self.by)
