"""Flat summaries: every cell gets noise, some stay. The long way's law without its work.

The cells that hold something are noised one by one; which of the others stay, and with what value,
is drawn directly (`zeros`, `law`). Real cells and others cannot be told apart in the result.

Guarantee: all that is returned is a function of the table with two-sided geometric noise of rate
epsilon / s in every cell, where one unit changes the table by at most s in total. So it is
epsilon-differentially private, exactly (docs/proofs.md, section 12).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tamis.privacy.noise import two_sided
from tamis.privacy.reals import Interval, Real
from tamis.sparse.law import Zero
from tamis.sparse.priorities import Priorities, largest
from tamis.sparse.zeros import throw, without

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Choose = Callable[[Ints], tuple[Mask, Ints]]  # which of some counts stay, and what they become


class Held(Protocol):
    """The cells that hold something, each once, wherever they are; a cell has a code per radix."""

    @property
    def radices(self) -> tuple[int, ...]: ...

    @property
    def many(self) -> int:
        """How many cells hold something."""
        ...

    @property
    def total(self) -> int:
        """The sum of their counts."""
        ...

    def stayed(self, choose: Choose) -> tuple[Ints, Ints]:
        """The codes and new values of the cells that stay; each count is given to it once."""
        ...

    def without(self, cells: Ints) -> Ints:
        """Those of these cells, each there once, that hold nothing."""
        ...


@dataclass(frozen=True)
class Table:
    """Cells that hold something, in memory: codes (a row for each radix), and counts."""

    radices: tuple[int, ...]
    codes: Ints
    counts: Ints

    @property
    def cells(self) -> int:
        """How many cells there are in all."""
        return prod(self.radices)

    @property
    def many(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def stayed(self, choose: Choose) -> tuple[Ints, Ints]:
        stay, values = choose(self.counts)
        return self.codes[:, stay], values

    def without(self, cells: Ints) -> Ints:
        return without(cells, self.codes)


@dataclass(frozen=True)
class Flat:
    """Cells that stay, in order, their noisy values, and the threshold of the sample (0: none)."""

    codes: Ints
    values: Ints
    tau: float = 0.0


def keep(held: Held, law: Zero) -> Flat:
    """A filter, and a sample at a fixed threshold if the law has one."""
    codes, values = held.stayed(partial(_sampled, law))
    zeros = held.without(throw(held.radices, law.p))
    return in_order(
        np.concatenate([codes, zeros], axis=1),
        np.concatenate([values, law.values(zeros.shape[1])]),
        float(law.tau) if law.sampled else 0.0,
    )


def _sampled(law: Zero, counts: Ints) -> tuple[Mask, Ints]:
    """Noise, the filter, and the sample."""
    noisy = counts + two_sided(law.rate, len(counts))
    kept = noisy >= law.theta if law.one_sided else np.abs(noisy) >= law.theta
    if law.sampled:
        kept[kept] = Priorities.draw(np.abs(noisy[kept])).at_least(law.tau)
    return kept, noisy[kept]


def priority(held: Held, rate: Fraction, size: int, theta: int, guess: Fraction) -> Flat:
    """The ``size`` cells of the largest priorities |v| / r among those with |v| >= theta.

    The result does not depend on the guess at the threshold; only the time does.
    """
    some, noisy = held.stayed(partial(_sampled, Zero(rate, theta)))
    codes, values = [some], [noisy]
    drawn = [Priorities.draw(np.abs(noisy))]
    law, before = Zero(rate, theta, max(guess, Fraction(theta))), Zero(rate, theta)
    while True:
        first = len(drawn) == 1
        cells = held.without(throw(held.radices, law.p if first else Real(_more, (law, before))))
        if not first:
            cells = without(cells, np.concatenate(codes[1:], axis=1))
        new, order = _between(law, cells.shape[1], None if first else before.tau)
        codes, values, drawn = [*codes, cells], [*values, new], [*drawn, order]
        reached = drawn[0].at_least(law.tau)
        enough = np.count_nonzero(reached) + sum(len(v) for v in values[1:]) > size
        if enough:  # and so the others that do not reach it are not among the largest
            codes[0], values[0] = codes[0][:, reached], values[0][reached]
            drawn[0] = drawn[0].only(reached)
        if enough or not law.sampled:
            return _choose(codes, values, drawn, size)
        law, before = Zero(rate, theta, max(law.tau / 2, Fraction(theta))), law


def _more(law: Zero, before: Zero, digits: int) -> Interval:
    """(p' - p) / (1 - p): a cell that was not chosen at one threshold is at a lower one."""
    p = before.p(digits)
    return (law.p(digits) - p) / (1 - p)


def _between(law: Zero, n: int, below: Fraction | None) -> tuple[Ints, Priorities]:
    """Values and priorities of n cells that hold nothing, given law.tau <= q (< below)."""
    values = law.values(n)
    drawn = Priorities.draw(np.abs(values), law.tau)
    if below is None:
        return values, drawn
    again = np.flatnonzero(drawn.at_least(below))
    while len(again):
        new = law.values(2 * len(again) + 16)  # about half of them are refused
        order = Priorities.draw(np.abs(new), law.tau)
        fit = np.flatnonzero(~order.at_least(below))[: len(again)]
        done, again = again[: len(fit)], again[len(fit) :]
        values[done] = new[fit]
        drawn.replace(done, order, fit)
    return values, drawn


def _choose(codes: list[Ints], values: list[Ints], drawn: list[Priorities], size: int) -> Flat:
    cells, noisy = np.concatenate(codes, axis=1), np.concatenate(values)
    if len(noisy) <= size:
        return in_order(cells, noisy, 0.0)
    masks, tau = largest(drawn, size)
    chosen = np.concatenate(masks)
    return in_order(cells[:, chosen], noisy[chosen], tau)


def full(table: Table, rate: Fraction) -> Ints:
    """The long way: noise in every cell, in the order of their numbers."""
    noisy = two_sided(rate, table.cells)
    place = np.ravel_multi_index(tuple(table.codes), table.radices)
    noisy[place] += table.counts
    return noisy


def in_order(codes: Ints, values: Ints, tau: float = 0.0) -> Flat:
    """The cells in the order of their codes."""
    order = np.lexsort(codes[::-1])
    return Flat(codes[:, order], values[order], tau)
