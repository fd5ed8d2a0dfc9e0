"""Quantiles of whole numbers that clients hold: by a search over rounds, or from one round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.federated.calibrate import PARTS, Promise
from tamis.federated.levels import Levels
from tamis.federated.mechanism import (
    Histogram,
    Neighbours,
    SampleAndThreshold,
    check_colluding,
    check_neighbours,
    optional,
    settings_of,
)
from tamis.privacy import answer
from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import as_float, check_bound, check_delta, check_epsilon
from tamis.sampling.arrow import Tabular, column_of
from tamis.sampling.keys import key_column

Ints = npt.NDArray[np.int64]

Range = tuple[int, int]
Row = tuple[int, int, int]

_ROOMY = 8  # times tau: so many clients that were kept make two ranges that are surely named
_NUMBERS = "values must be one column of whole numbers; round them, or number their classes."
_SHARE = 300  # a threshold may hide this part of the clients: far less than the sampling error


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of whole numbers from 0 to ``domain`` - 1, one held by each client.

    By binary search: in each round clients say in which of a few ranges they are. All quantiles in
    ``at`` are searched for at once, at no further cost: with m of them there are m + 1 ranges. If
    not ``interactive``, there is one round, in which every client tells its range on one level of
    a tree that it draws at random: no search, and larger errors.

    Guarantee: that of `SampleAndThreshold`, for all rounds together: ceil(log2(domain)), or 1.

    ``clients`` is about how many there are, a public guess: the more, the higher a threshold
    may be, and with it the share of clients that is asked. Or give ``p`` or ``tau`` themselves,
    which are those of `SampleAndThreshold` in every round, and so is ``colluding``.

    >>> Quantiles(epsilon=1.0, delta=1e-6, domain=1024).rounds
    10
    """

    epsilon: float
    delta: float
    domain: int
    at: Sequence[float] = (0.5,)
    clients: int = 10_000
    interactive: bool = True
    neighbours: Neighbours = "add or remove"
    p: float = None  # type: ignore[assignment]  # chosen, if it is not given
    tau: int = None  # type: ignore[assignment]
    colluding: int = 0

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_bound("clients", self.clients)
        check_neighbours(self.neighbours)
        object.__setattr__(self, "domain", check_domain(self.domain))
        object.__setattr__(self, "at", check_quantiles(self.at))
        object.__setattr__(self, "colluding", check_colluding(self.colluding))
        object.__setattr__(self, "tau", self.mechanism.tau)
        object.__setattr__(self, "p", self.mechanism.p)

    def __repr__(self) -> str:
        return settings_of(self, self.mechanism.hint)

    @property
    def rounds(self) -> int:
        return max(1, (self.domain - 1).bit_length()) if self.interactive else 1

    @cached_property
    def mechanism(self) -> SampleAndThreshold:
        """What happens in each of the rounds."""
        p, tau = optional(self.p), optional(self.tau)
        if self.interactive and p is None and tau is None:  # else the finest ranges hold few
            p, tau = self._suited()
        return SampleAndThreshold(
            self.epsilon,
            self.delta,
            p,  # type: ignore[arg-type]
            tau,  # type: ignore[arg-type]
            self.neighbours,
            self.rounds,
            self.colluding,
        )

    def _suited(self) -> tuple[float, int]:
        """The rate and the threshold for so many clients."""
        replaced = self.neighbours == "replace"
        promise = Promise(exactly(self.epsilon), exactly(self.delta), replaced, self.rounds)
        parts, tau = promise.with_needed(self.clients / _SHARE)
        return parts / PARTS, tau + self.colluding

    def start(self) -> Search:
        whole = (0, self.domain)
        return Search(tuple(self.at), self.domain, (whole,) * len(self.at), self.mechanism.tau)

    def release(self, values: Any, coverage: float = 0.95) -> QuantileTable:
        """The quantiles of values, one held by each client.

        Each call tosses every client's coins anew, and **spends the budget again**.
        """
        answer.check_coverage(coverage)
        held, search = value_column(values, self.domain), self.start()
        if not self.interactive:
            levels = Levels(self.domain)
            found = self.mechanism.threshold(levels.answers(self.mechanism.sample(held)))
            rows = levels.rows(found, tuple(self.at), coverage)
            return QuantileTable.of(self.at, rows, self.mechanism)
        while not search.done:
            answers = search.answers(self.mechanism.sample(held))
            search = search.after(self.mechanism.threshold(answers))
        return search.table(self.mechanism, coverage)


@dataclass(frozen=True)
class Cut:
    """What a round has said of a number: how many clients that were kept lie below it, of all.

    Ranges that were not named are counted on both sides: each may hide up to tau - 1 clients.
    """

    at: int
    below: int
    of: int
    hidden_below: int = 0
    hidden_above: int = 0

    @property
    def share(self) -> float:
        return self.below / self.of

    def shares(self, q: float, tau: int, p: float, z: float) -> tuple[float, float]:
        """The least and the largest share that may lie below it, near the quantile q."""
        down, up = (self.hidden_below * (tau - 1), self.hidden_above * (tau - 1))
        spread = max(q * (1 - q), self.share * (1 - self.share)) * (1 - p) / self.of
        low, high = self.below / (self.of + up), (self.below + down) / (self.of + down)
        return low - z * sqrt(spread), high + z * sqrt(spread)


@dataclass(frozen=True)
class Search:
    """What is known between rounds: for each quantile, the first number and the one after it.

    In each round the middle of its range is asked for, and one further number, on the side where
    its interval is wide: so that both ends of the interval are found on the way.
    """

    at: tuple[float, ...]
    domain: int
    ranges: tuple[Range, ...]
    tau: int
    cuts: tuple[Cut, ...] = ()
    blind: bool = False  # a round has named no range: there are too few clients

    @property
    def done(self) -> bool:
        return self.blind or all(high - low <= 1 for low, high in self.ranges)

    @property
    def asked(self) -> list[int]:
        """The numbers at which all others are cut into ranges."""
        middles = {_middle(known) for known in self.ranges if known[1] - known[0] > 1}
        guards = {self._guard(q, known) for q, known in zip(self.at, self.ranges, strict=True)}
        return sorted(middles | (guards - {0}))

    @property
    def task(self) -> dict[str, Any]:
        """What clients are asked for in the next round."""
        return {"cuts": self.asked}

    def answers(self, values: pa.Array) -> pa.Array:
        """Which range each number is in."""
        return column_of(np.searchsorted(np.array(self.asked), np.asarray(values), side="right"))

    def after(self, counted: Histogram) -> Search:
        """With the results of a round."""
        names, many = (counted.table.column(c).to_pylist() for c in ("item", "token"))
        tokens, asked = {int(name): n for name, n in zip(names, many, strict=True)}, self.asked
        counts = np.array([tokens.get(n, 0) for n in range(len(asked) + 1)])
        if not counts.any():
            return replace(self, blind=True)
        below, hidden, whole = np.cumsum(counts), np.cumsum(counts == 0), int(counts.sum())
        cuts = [
            Cut(at, int(n), whole, int(gone), int(hidden[-1] - gone))
            for at, n, gone in zip(asked, below[:-1], hidden[:-1], strict=True)
        ]
        shares = {cut.at: cut.share for cut in cuts}
        pairs = zip(self.at, self.ranges, strict=True)
        ranges = tuple(_narrowed(q, known, shares) for q, known in pairs)
        return replace(self, ranges=ranges, cuts=(*self.cuts, *cuts))

    def table(self, mechanism: SampleAndThreshold, coverage: float = 0.95) -> QuantileTable:
        rows = []
        for q, (first, end) in zip(self.at, self.ranges, strict=True):
            low, high = self._interval(q, mechanism.p, coverage)
            value = (first + end - 1) // 2
            rows.append((value, min(low, value), max(high, value)))
        return QuantileTable.of(self.at, rows, mechanism)

    def _interval(self, q: float, p: float, coverage: float) -> Range:
        """Between the nearest cuts that differ from q by more than chance.

        Every cut is a chance to be wrong, so the chances are shared out among them.
        """
        z = answer.quantile(1 - (1 - coverage) / max(1, len(self.cuts)))
        low, high = 0, self.domain - 1
        for cut in self.cuts:
            least, most = cut.shares(q, self.tau, p, z)
            low = max(low, cut.at) if most < q else low
            high = min(high, cut.at - 1) if least > q else high
        return low, high

    def _guard(self, q: float, known: Range) -> int:
        """A number that may end the interval, where it is wide and many clients are; or 0."""
        low, high = self._interval(q, 0.0, 0.95)
        start, end = max((known[1], high + 1), (low, known[0]), key=lambda side: side[1] - side[0])
        shares = {0: 0.0, self.domain: 1.0} | {cut.at: cut.share for cut in self.cuts}
        if end - start < 2 or not self.cuts or start not in shares or end not in shares:
            return 0
        many = (shares[end] - shares[start]) * self.cuts[-1].of
        return (start + end) // 2 if many >= _ROOMY * self.tau else 0


def _middle(known: Range) -> int:
    return (known[0] + known[1]) // 2


def _narrowed(q: float, known: Range, shares: dict[int, float]) -> Range:
    """The half in which the share of smaller numbers reaches q."""
    low, high = known
    if high - low <= 1:
        return known
    middle = _middle(known)
    return (low, middle) if shares[middle] >= q else (middle, high)


@dataclass(frozen=True)
class QuantileTable(Tabular):
    """One row for each quantile: the estimated number, and an interval for it."""

    table: pa.Table
    mechanism: SampleAndThreshold

    @classmethod
    def of(
        cls, at: Sequence[float], rows: Sequence[Row], mechanism: SampleAndThreshold
    ) -> QuantileTable:
        names = ("estimate", "low", "high")
        columns = dict(zip(names, np.array(rows, dtype=np.int64).T, strict=True))
        values = {name: column_of(column) for name, column in columns.items()}
        return cls(pa.table({"quantile": pa.array(list(at), pa.float64()), **values}), mechanism)

    @property
    def values(self) -> list[int]:
        """The estimates, in the order that was asked for."""
        return [int(v) for v in self.table.column("estimate").to_pylist()]

    def __str__(self) -> str:
        g = self.mechanism.guarantee
        rows = [list(row.values()) for row in self.table.to_pylist()]
        said = ", ".join(f"{q:g}: {value} ({low} to {high})" for q, value, low, high in rows)
        return f"quantiles {said}; epsilon {g.epsilon:g}, delta {g.delta:g} for one client"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in self.table.column_names)
        rows = "".join(
            f"<tr>{''.join(f'<td>{value:,}</td>' for value in row.values())}</tr>"
            for row in self.table.to_pylist()
        )
        g = self.mechanism.guarantee
        said = f"epsilon {g.epsilon:g}, delta {g.delta:g} for one client"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{said}</p>"


def check_domain(domain: object) -> int:
    whole = isinstance(domain, (int, np.integer)) and not isinstance(domain, bool)
    if whole and 1 <= int(domain) <= 1 << 62:  # type: ignore[call-overload]
        return int(domain)  # type: ignore[call-overload, no-any-return]
    raise InvalidInput(
        f"domain must be a whole number from 1 to 2^62, how many different values there may be, "
        f"not {shown(domain)}."
    )


def check_quantiles(at: object) -> tuple[float, ...]:
    several = at if isinstance(at, (list, tuple, np.ndarray)) else [at]
    found = tuple(as_float(q) for q in several)
    if found and all(0 <= q <= 1 for q in found):
        return found
    raise InvalidInput("at must be numbers from 0 to 1, such as [0.25, 0.5, 0.75].")


def value_column(values: Any, domain: int) -> pa.Array:
    """Whole numbers inside of the domain."""
    try:
        column = key_column(values, "values")
    except InvalidInput:  # it would say what else a key may be
        raise InvalidInput(_NUMBERS) from None
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if len(whole) and not pa.types.is_integer(whole.type):
        raise InvalidInput(_NUMBERS)
    whole = whole.cast(pa.int64())
    if len(whole):
        ends = pc.min_max(whole).as_py()
        if ends["min"] < 0 or ends["max"] >= domain:
            raise InvalidInput(
                f"values must lie from 0 to {domain - 1:,}, the domain; clip those that do not."
            )
    return whole
