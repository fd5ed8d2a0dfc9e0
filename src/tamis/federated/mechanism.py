"""Histograms of items that clients hold, one each, where sampling itself is the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.federated.calibrate import MOST_TAU, PARTS, Promise, highest_rate, most_tau
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
_ROWS = 10  # of a histogram are shown


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

    With ``colluding``, it also holds against a reader who controls up to so many clients, which
    report what they are told, coin or not. For that reader the threshold of the others is
    tau - colluding, so p is that of such a threshold: tau is larger by ``colluding`` than without.

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
    colluding: int = 0

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if check_bound("rounds", self.rounds) > MOST_ROUNDS:
            raise InvalidInput(f"rounds must be at most {MOST_ROUNDS}, not {self.rounds:,}.")
        object.__setattr__(self, "colluding", check_colluding(self.colluding))
        promise = self._promise()
        parts, others = _chosen(promise, *self._given(promise.epsilon))
        if not parts or not promise.met(parts, others):
            raise self._too_small(promise, parts, others)
        self._check_certain(promise, parts, others + self.colluding)
        object.__setattr__(self, "p", parts / PARTS)
        object.__setattr__(self, "tau", others + self.colluding)

    def __repr__(self) -> str:
        return settings_of(self, self.hint)

    @property
    def _others(self) -> int:
        """The threshold of all clients but those that collude: tau, if none do."""
        return self.tau - self.colluding

    @property
    def hint(self) -> str:
        """What should be known of a threshold of one client; or nothing."""
        if self._others > 1:
            return ""
        to = (
            f", to a reader who controls {counted(self.colluding, 'other')}"
            if self.colluding
            else ""
        )
        return (
            f"tau = {self.tau}: an item that a single client holds is released with probability "
            f"p = {self.p:.3g}{to}; a smaller delta or a larger tau hides it."
        )

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

    def _too_small(self, promise: Promise, parts: int, others: int) -> InvalidInput:
        """An error that says which tau is enough."""
        enough = promise.smallest_threshold(parts or 1) + self.colluding
        at = f" at p = {parts / PARTS:g}" if parts else " at any p"
        over = f" over {self.rounds} rounds" if self.rounds > 1 else ""
        against = f" and colluding = {self.colluding}" if self.colluding else ""
        return InvalidInput(
            f"tau = {others + self.colluding} is too small for delta {self.delta:g}{at}{over}"
            f"{against}; the smallest that is enough is {enough}. Take it, or leave tau out."
        )

    def _check_certain(self, promise: Promise, parts: int, tau: int) -> None:
        """Whoever has only p and tau must be able to check the promise, such as a device."""
        if tau > most_tau(parts):
            raise InvalidInput(
                f"tau = {tau:,} is too large at p = {parts / PARTS:g}, where up to "
                f"{most_tau(parts):,} can be checked; take a smaller one"
                + (", or fewer colluding." if self.colluding else ".")
            )
        if self.colluding and not promise.met(parts, tau):  # rounds are only bounded
            raise InvalidInput(
                f"what {self.rounds} rounds cost with tau = {tau} is not known well enough for "
                "colluding; take a smaller delta."
            )

    def _given(self, epsilon: Fraction) -> tuple[int, int]:
        """The parts of p, and the threshold of others; 0 for what is to be chosen."""
        given, asked = optional(self.p), optional(self.tau)
        tau = 0 if asked is None else self._threshold(asked)
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

    def _threshold(self, asked: object) -> int:
        tau = check_bound("tau", asked)
        if tau > MOST_TAU:
            raise InvalidInput(f"tau must be at most {MOST_TAU:,}, not {tau:,}.")
        if tau <= self.colluding:
            raise InvalidInput(
                f"tau must be more than colluding = {self.colluding}, which can reach {tau} alone; "
                f"take at least {self.colluding + 1}."
            )
        return tau - self.colluding

    @property
    def spent(self) -> float:
        """The least delta that p and tau need (over several rounds, an upper bound of it).

        With ``colluding``, against them.
        """
        return float(self._promise().spent(self.parts, self._others))

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
            "colluding": self.colluding,
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
        """The probability that an item of so many honest clients is not released."""
        from scipy import stats  # slow to load, and much is done without it

        return np.asarray(stats.binom.cdf(self.tau - 1, _whole_numbers(clients), self.p))

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


def _chosen(promise: Promise, parts: int, tau: int) -> tuple[int, int]:
    """A rate and a threshold, of which those that are 0 are to be chosen."""
    if not parts and not tau:
        return promise.best()
    if not parts:
        return promise.largest_rate(tau), tau
    return parts, tau or promise.smallest_threshold(parts)


def _whole_numbers(clients: npt.ArrayLike) -> npt.NDArray[Any]:
    """How many clients, checked: anything else would make a probability of nonsense."""
    try:
        found = np.asarray(clients)
    except (TypeError, ValueError):  # rows of different lengths
        found = np.array("")
    if found.dtype.kind in "iuf":
        whole = np.isfinite(found) & (found >= 0) & (np.floor(found) == found)
        if np.all(whole):
            return found
    raise InvalidInput(
        f"clients must be whole numbers from 0 on, or an array of them, not {shown(clients)}."
    )


def settings_of(made: Any, hint: str) -> str:
    """A value as Python writes it, without what was not given, and a hint as a comment."""
    there = ((field.name, getattr(made, field.name)) for field in fields(made))
    said = ", ".join(f"{name}={value!r}" for name, value in there if value is not None)
    return f"{type(made).__name__}({said})" + (f"  # {hint}" if hint else "")


def check_colluding(colluding: object) -> int:
    whole = isinstance(colluding, (int, np.integer)) and not isinstance(colluding, bool)
    if whole and 0 <= int(colluding) < MOST_TAU:  # type: ignore[call-overload]
        return int(colluding)  # type: ignore[call-overload, no-any-return]
    raise InvalidInput(
        f"colluding must be a whole number from 0 to {MOST_TAU - 1:,}, how many clients a reader "
        f"may control, not {shown(colluding)}."
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
    token / p, which is right on average for an item that is always released; the interval holds the
    number of clients with probability ``coverage`` or more, or the item is not there.
    """

    table: pa.Table
    mechanism: SampleAndThreshold

    @classmethod
    def of(
        cls, mechanism: SampleAndThreshold, items: pa.Array, many: Ints, coverage: float
    ) -> Histogram:
        from scipy import stats

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
        head, *body = self._cells()
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        lines = [
            f"{row[0]:<{widths[0]}}"
            + "".join(f"  {c:>{w}}" for c, w in zip(row[1:], widths[1:], strict=True))
            for row in (head, *body)
        ]
        return "\n".join([*(lines if body else []), *self._closing()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        rows = "".join(_html_row(row, "td") for row in body)
        ends = "".join(f"<p>{escape(line)}</p>" for line in self._closing())
        # without these classes, notebooks read what stands between dollar signs as formulas
        return (
            '<div class="tex2jax_ignore mathjax_ignore">'
            f"<table><thead>{_html_row(head, 'th')}</thead><tbody>{rows}</tbody></table>"
            f"{ends}</div>"
        )

    def _cells(self) -> list[list[str]]:
        """The names of the columns, and the first rows below them."""
        rows = self.table.slice(0, _ROWS).to_pylist()
        return [self.table.column_names, *([_cell(*pair) for pair in row.items()] for row in rows)]

    def _closing(self) -> list[str]:
        m, g, more = self.mechanism, self.mechanism.guarantee, len(self) - _ROWS
        rest = [f"... and {counted(more, 'more item')}"] if more > 0 else []
        return [
            *rest,
            f"{counted(len(self), 'item')}, each of at least {counted(m.tau, 'client')}; "
            f"epsilon {g.epsilon:g}, delta {g.delta:g} for one client",
            *([m.hint] if m.hint else []),
        ]


def _cell(name: str, value: Any) -> str:
    """Text is data, and written as Python writes it: nothing in it moves a cursor."""
    if name == "item":
        return shown(value) if isinstance(value, (str, bytes)) else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _html_row(row: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
