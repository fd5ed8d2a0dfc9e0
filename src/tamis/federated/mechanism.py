"""Histograms of items that clients hold, one each, where sampling itself is the noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from tamis.federated.calibrate import (
    PARTS,
    best,
    highest_rate,
    largest_rate,
    smallest_threshold,
    spent,
)
from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput, counted, shown
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import NEIGHBOURS, REPLACED, Guarantee, as_float, check_bound
from tamis.sampling.arrow import Tabular, column_of
from tamis.sampling.keys import key_column

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Neighbours = Literal["add or remove", "replace"]

CLIENT = "client"


@dataclass(frozen=True)
class SampleAndThreshold:
    """Keep every client with probability p; release the counts that are at least tau.

    Guarantee: the released counts are (epsilon, delta)-differentially private for one client that
    holds one item, exactly (docs/proofs.md, section 13), if every client has one coin and is
    counted once, and nothing else is published: not how many clients there were, nor how many were
    kept. And every count that is released stands for at least tau different clients.

    Without ``p`` and ``tau`` those are taken with the least tau / p, the number of clients with
    which an item is seen about half of the time. p is rounded down to a multiple of 2^-32.

    >>> made = SampleAndThreshold(epsilon=1.0, delta=1e-6)
    >>> made.tau, round(made.p, 3), round(made.needed, 1)
    (14, 0.254, 55.2)
    """

    epsilon: float
    delta: float
    p: float = 0.0
    tau: int = 0
    neighbours: Neighbours = "add or remove"

    def __post_init__(self) -> None:
        if self.neighbours not in ("add or remove", "replace"):
            raise InvalidInput('neighbours must be "add or remove" or "replace".')
        promise = self.guarantee
        epsilon, most, replaced = exactly(promise.epsilon), exactly(promise.delta), self._replaced
        if not most:
            raise InvalidInput("delta must be above 0: a threshold always lets something slip.")
        parts, tau = self._given(epsilon)
        if not parts and not tau:
            parts, tau = best(epsilon, most, replaced)
        elif not parts:
            parts = largest_rate(tau, epsilon, most, replaced)
        elif not tau:
            tau = smallest_threshold(parts, epsilon, most, replaced)
        if not parts or spent(parts, tau, epsilon, replaced) > most:
            raise InvalidInput(
                f"tau = {tau} is too small for delta {promise.delta:g}"
                + (f" at p = {parts / PARTS:g}" if parts else "")
                + "; take a larger one, or leave it out."
            )
        object.__setattr__(self, "p", parts / PARTS)
        object.__setattr__(self, "tau", tau)

    @property
    def guarantee(self) -> Guarantee:
        relation = REPLACED if self._replaced else NEIGHBOURS
        return Guarantee(self.epsilon, self.delta, unit=CLIENT, neighbours=relation)

    @property
    def _replaced(self) -> bool:
        return self.neighbours == "replace"

    def _given(self, epsilon: Fraction) -> tuple[int, int]:
        """The parts of p and tau, 0 for what is to be chosen."""
        p, tau = as_float(self.p), 0 if self.tau == 0 else check_bound("tau", self.tau)
        if not 0 <= p < 1:
            raise InvalidInput(f"p must be a probability above 0, not {shown(self.p)}.")
        parts = int(Fraction(p) * PARTS)
        if (p and not parts) or parts > highest_rate(epsilon):
            raise InvalidInput(
                f"p must be at most 1 - e^-epsilon = {highest_rate(epsilon) / PARTS:.6g} (and at "
                f"least 2^-32), not {shown(self.p)}: with more, an absent client would show."
            )
        return parts, tau

    @property
    def spent(self) -> float:
        """The least delta that p and tau need, to float precision: at most ``delta``."""
        parts = int(self.p * PARTS)
        return float(spent(parts, self.tau, exactly(self.epsilon), self._replaced))

    @property
    def needed(self) -> float:
        """tau / p: of so many clients with an item, tau are kept on average."""
        return self.tau / self.p

    def missed(self, clients: npt.ArrayLike) -> Floats:
        """The probability that an item of so many clients is not released."""
        return np.asarray(stats.binom.cdf(self.tau - 1, np.asarray(clients), self.p))

    def release(self, items: Any, coverage: float = 0.95) -> Histogram:
        """The histogram of items, one for each client, in any order.

        Each call tosses every client's coin anew, and **spends the budget again**.
        """
        held = key_column(items, "items")
        kept = randomness.words(-(-len(held) // 2)).view(np.uint32)[: len(held)]
        sampled = held.filter(pa.array(kept < np.uint32(int(self.p * PARTS))))
        found = pc.value_counts(sampled)
        many = np.asarray(found.field("counts")).astype(np.int64)
        there = np.flatnonzero(many >= self.tau)
        return Histogram.of(
            self, found.field("values").take(column_of(there)), many[there], coverage
        )


@dataclass(frozen=True)
class Histogram(Tabular):
    """Items with their sampled counts, estimates of how many clients hold them, and intervals.

    The most frequent come first. The estimate is sampled / p, which is right on average for an item
    that is always released; the interval holds the number of clients with probability
    ``coverage`` or more, or the item is not there.
    """

    table: pa.Table
    mechanism: SampleAndThreshold

    @classmethod
    def of(
        cls, mechanism: SampleAndThreshold, items: pa.Array, many: Ints, coverage: float
    ) -> Histogram:
        p, tail = mechanism.p, (1 - coverage) / 2
        columns = {
            "sampled": many,
            "estimate": many / p,
            "standard_error": np.sqrt(many * (1 - p)) / p,
            "low": many + stats.nbinom.ppf(tail, many, p),
            "high": many + stats.nbinom.ppf(1 - tail, many + 1, p),
        }
        table = pa.table({"item": items, **{name: column_of(c) for name, c in columns.items()}})
        order = pc.sort_indices(table, sort_keys=[("sampled", "descending"), ("item", "ascending")])
        return cls(table.take(order), mechanism)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __str__(self) -> str:
        g = self.mechanism.guarantee
        return (
            f"{counted(len(self), 'item')}, each of at least {self.mechanism.tau} clients; "
            f"epsilon {g.epsilon:g}, delta {g.delta:g} for one client"
        )

    __repr__ = __str__
