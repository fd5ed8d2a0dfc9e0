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

from tamis.federated.calibrate import PARTS, Promise, highest_rate
from tamis.privacy import randomness
from tamis.privacy.answer import check_coverage
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import InvalidInput, counted, shown
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import NEIGHBOURS, REPLACED, Guarantee, as_float, check_bound
from tamis.sampling.arrow import Tabular, column_of
from tamis.sampling.keys import key_column

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Neighbours = Literal["add or remove", "replace"]

CLIENT = "client"
MOST_ROUNDS = 256


@dataclass(frozen=True)
class SampleAndThreshold:
    """Keep every client with probability p; release the counts that are at least tau.

    Guarantee: the released counts are (epsilon, delta)-differentially private for one client that
    holds one item, exactly (docs/proofs.md, section 13), if every client has one coin and is
    counted once, and nothing else is published: not how many clients there were, nor how many were
    kept. And every count that is released stands for at least tau different clients.

    Without ``p`` and ``tau`` those are taken with the least tau / p, the number of clients with
    which an item is seen about half of the time. p is rounded down to a multiple of 2^-32. With
    ``rounds``, the guarantee is for so many releases together, with fresh coins in each.

    >>> made = SampleAndThreshold(epsilon=1.0, delta=1e-6)
    >>> made.tau, round(made.p, 3), round(made.needed, 1)
    (14, 0.254, 55.2)
    """

    epsilon: float
    delta: float
    p: float = None  # type: ignore[assignment]  # chosen, if it is not given
    tau: int = None  # type: ignore[assignment]
    neighbours: Neighbours = "add or remove"
    rounds: int = 1

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if check_bound("rounds", self.rounds) > MOST_ROUNDS:
            raise InvalidInput(f"rounds must be at most {MOST_ROUNDS}, not {self.rounds:,}.")
        promise = self._promise()
        parts, tau = self._given(promise.epsilon)
        if not parts and not tau:
            parts, tau = promise.best()
        elif not parts:
            parts = promise.largest_rate(tau)
        elif not tau:
            tau = promise.smallest_threshold(parts)
        if not parts or not promise.met(parts, tau):
            raise InvalidInput(
                f"tau = {tau} is too small for delta {self.delta:g}"
                + (f" at p = {parts / PARTS:g}" if parts else "")
                + "; take a larger one, or leave it out."
            )
        object.__setattr__(self, "p", parts / PARTS)
        object.__setattr__(self, "tau", tau)

    @property
    def guarantee(self) -> Guarantee:
        """What all rounds together promise to one client."""
        relation = REPLACED if self.neighbours == "replace" else NEIGHBOURS
        return Guarantee(self.epsilon, self.delta, unit=CLIENT, neighbours=relation)

    def _promise(self) -> Promise:
        g = self.guarantee
        if not g.delta:
            raise InvalidInput("delta must be above 0: a threshold always lets something slip.")
        replaced = g.neighbours == REPLACED
        return Promise(exactly(g.epsilon), exactly(g.delta), replaced, self.rounds)

    def _given(self, epsilon: Fraction) -> tuple[int, int]:
        """The parts of p and tau, 0 for what is to be chosen."""
        given, asked = optional(self.p), optional(self.tau)
        tau = 0 if asked is None else check_bound("tau", asked)
        if given is None:
            return 0, tau
        p = as_float(given)
        if not 0 < p < 1:
            raise InvalidInput(f"p must lie strictly between 0 and 1, not {shown(self.p)}.")
        parts = int(Fraction(p) * PARTS)
        if not 0 < parts <= highest_rate(epsilon):
            raise InvalidInput(
                f"p must be at most 1 - e^-epsilon = {highest_rate(epsilon) / PARTS:.6g} (and at "
                f"least 2^-32), not {shown(self.p)}: with more, an absent client would show."
            )
        return parts, tau

    @property
    def spent(self) -> float:
        """The least delta that p and tau need (over several rounds, an upper bound of it)."""
        return float(self._promise().spent(self.parts, self.tau))

    @property
    def parts(self) -> int:
        """p in parts of 2^-32, which is what a coin is compared with."""
        return int(self.p * PARTS)

    @property
    def certificate(self) -> Certificate:
        """What the guarantee rests on, for `tamis verify`."""
        grid = self._promise().grid()
        rule = {
            "name": "sample and threshold",
            "parts": self.parts,
            "tau": self.tau,
            "rounds": self.rounds,
            "base": str(grid.base),
            "span": grid.span,
            "reach": grid.reach,
        }
        return Certificate.of(self.guarantee, rule)

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
        check_coverage(coverage)
        return self.threshold(self.sample(key_column(items, "items")), coverage)

    def sample(self, items: pa.Array) -> pa.Array:
        """The items of the clients that are kept: one toss of a coin for each."""
        words = randomness.words(-(-len(items) // 2)).view(np.uint32)[: len(items)]
        return items.filter(pa.array(words < np.uint32(self.parts)))

    def threshold(self, sampled: pa.Array, coverage: float = 0.95) -> Histogram:
        """The histogram of items that were sampled already, such as by the clients themselves."""
        found = pc.value_counts(sampled)
        many = np.asarray(found.field("counts")).astype(np.int64)
        there = np.flatnonzero(many >= self.tau)
        return Histogram.of(
            self, found.field("values").take(column_of(there)), many[there], coverage
        )


def check_neighbours(relation: object) -> None:
    if relation not in ("add or remove", "replace"):
        raise InvalidInput('neighbours must be "add or remove" or "replace".')


def optional(value: object) -> object:
    """A value that may not have been given, whatever its type says of it later."""
    return value


@dataclass(frozen=True)
class Histogram(Tabular):
    """Items with their sampled counts, estimates of how many clients hold them, and intervals.

    The most frequent come first. A token is the number of clients that were kept; the estimate is
    token / p, which is right on average for an item
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
            "token": many,
            "estimate": many / p,
            "standard_error": np.sqrt(many * (1 - p)) / p,
            "low": many + np.asarray(stats.nbinom.ppf(tail, many, p)).astype(np.int64),
            "high": many + np.asarray(stats.nbinom.ppf(1 - tail, many + 1, p)).astype(np.int64),
        }
        table = pa.table({"item": items, **{name: column_of(c) for name, c in columns.items()}})
        order = pc.sort_indices(table, sort_keys=[("token", "descending"), ("item", "ascending")])
        return cls(table.take(order), mechanism)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def top(self, count: int = 10) -> pa.Table:
        """The most frequent items."""
        return self.table.slice(0, check_bound("count", count))

    def __str__(self) -> str:
        g = self.mechanism.guarantee
        return (
            f"{counted(len(self), 'item')}, each of at least {self.mechanism.tau} clients; "
            f"epsilon {g.epsilon:g}, delta {g.delta:g} for one client"
        )

    __repr__ = __str__
