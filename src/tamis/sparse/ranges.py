"""Summaries for ranges: the counts of all nodes of a hierarchy in each dimension, with noise.

Guarantee: one unit changes the counts of the cells by at most s in total, and so those of every
combination of levels. Combination l gets two-sided geometric noise of rate e_l / s, and what is
published of it is a function of its noisy table; so all of them together are epsilon-differentially
private with epsilon the sum of the e_l, exactly (docs/proofs.md, section 12). `rules.cost` is that
sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

import numpy as np
import numpy.typing as npt

from tamis.privacy.answer import Answer, quantile
from tamis.privacy.errors import InvalidInput, counted, shown
from tamis.privacy.noise import fourth, passing, variance
from tamis.sparse.flat import Flat, Held, Table, full, keep, priority
from tamis.sparse.hierarchy import Haar, Part, Transform
from tamis.sparse.intervals import Unseen, answer
from tamis.sparse.rules import Rule, combinations
from tamis.sparse.zeros import grouped

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bounds = Sequence[tuple[int, int]]
Watch = Callable[[float], None]  # is told which share of the work is done


@dataclass(frozen=True)
class Level:
    """What is published of one combination of levels."""

    rule: Rule
    flat: Flat
    above: tuple[Rule, ...] = ()  # if they are not passed, no node below is there

    def sum(self, asked: Sequence[Sequence[Part]]) -> Floats:
        """The weighted sum of the nodes asked for, its variance, and its fourth cumulant."""
        total = self.noise(_powers(asked, 2), _powers(asked, 4))
        for p in asked[0]:
            here, weights = self._weights(p, asked[1:])
            total += self.kept(self.flat.values[here], weights)
        return total

    def unseen(self, absent: float, heaviest: float = 1.0, signed: bool = False) -> Unseen:
        """What nodes that are not there could hold: so many, by weight, and the heaviest.

        Where nodes have signs, what a filter left out of them is not of one sign, and is a part of
        the variance (`differences`).
        """
        rules = (self.rule, *self.above)
        theta, rate = max(rule.theta for rule in rules), min(rule.rate for rule in rules)
        filtered = theta > 1 and absent > 0
        return Unseen(
            absent * theta if filtered and not signed else 0.0,
            heaviest / float(rate) if filtered else 0.0,
            heaviest * self.flat.tau,
            absent * self.flat.tau,
            signed,
        )

    def differences(self, asked: Sequence[Sequence[Part]]) -> float:
        """The variance of what a filter left out of differences: each is anything below theta."""
        theta = self.rule.theta if self.rule.theta > 1 else 0
        return theta**2 / 3 * self.absent(asked, 2)

    def absent(self, asked: Sequence[Sequence[Part]], power: int = 1) -> float:
        """The sum of a power of the weights of nodes asked for that are not there."""
        there = 0.0
        for p in asked[0]:
            there += float((np.abs(self._weights(p, asked[1:])[1]) ** power).sum())
        return max(0.0, _powers(asked, power) - there)

    def noise(self, squares: float, fourths: float) -> Floats:
        """What noise does to nodes whose weights have these sums of powers, and that hold nothing.

        A node that holds something has all of the noise; where there is a filter, that is counted
        with those that stay.
        """
        if self.rule.theta > 1:
            return np.array([0.0, passing(self.rule.rate, self.rule.theta) * squares, 0.0])
        return np.array([0.0, variance(self.rule.rate) * squares, fourth(self.rule.rate) * fourths])

    def kept(self, values: Ints, weights: Floats) -> Floats:
        """The sum of nodes that stayed, and what its variance and cumulant have more than that."""
        powers = np.stack([weights, weights**2, weights**4])
        total: Floats = np.sum(powers * self.single(values), axis=1)
        return total

    def single(self, values: Ints) -> Floats:
        """The same for each node alone: a row each for sum, variance and cumulant."""
        tau, sizes = self.flat.tau, np.abs(values)
        spread = tau * np.maximum(tau - sizes, 0.0)  # on average |v| (tau - |v|), the variance
        tails = np.zeros(len(values))
        if self.rule.theta > 1:  # one that stayed stands for others that the sample left out
            more = np.maximum(1.0, tau / sizes)
            spread += variance(self.rule.rate) * more
            tails += fourth(self.rule.rate) * more
        return np.stack([self.estimates(values), spread, tails])

    def estimates(self, values: Ints) -> Floats:
        """What each node that stayed counts: its value, made up for those left out of a sample."""
        found: Floats = np.sign(values) * np.maximum(np.abs(values), self.flat.tau)
        return found

    def _weights(self, p: Part, others: Sequence[Sequence[Part]]) -> tuple[slice, Floats]:
        """Where the nodes under one part stand, and their weights."""
        here = slice(*np.searchsorted(self.flat.codes[0], [p.node, p.node + p.many]))
        weights = np.full(here.stop - here.start, p.weight)
        for codes, parts in zip(self.flat.codes[1:, here], others, strict=True):
            weights *= _weights(codes, parts)
        return here, weights


def _powers(asked: Sequence[Sequence[Part]], power: int) -> float:
    """The sum of a power of the weights, without signs, of all nodes asked for."""
    return prod(sum(p.many * abs(p.weight) ** power for p in parts) for parts in asked)


def _weights(codes: Ints, parts: Sequence[Part]) -> Floats:
    weights = np.zeros(len(codes))
    for p in parts:
        weights[(codes >= p.node) & (codes < p.node + p.many)] = p.weight
    return weights


@dataclass(frozen=True)
class Ranges:
    """A summary that answers ranges; ``consistent`` if nodes under missing ones are left out."""

    transforms: tuple[Transform, ...]
    levels: tuple[Level, ...]
    consistent: bool = False

    def __len__(self) -> int:
        """How many nodes are published."""
        return sum(len(level.flat.values) for level in self.levels)

    def range(self, bounds: Bounds, coverage: float = 0.95) -> Answer:
        """How many records have codes from first to last, inclusive, in every dimension.

        The standard error holds the noise of every node asked for and the sample. What a filter
        left out, and a sample by chance, is in the interval: ``said`` tells where it can be much.
        """
        parts = self._parts(bounds)
        total, filtered, unseen = np.zeros(3), list[int](), Unseen()
        signed, left_out = any(isinstance(t, Haar) for t in self.transforms), 0.0
        for level in self.levels:
            chosen = zip(parts, level.rule.levels, strict=True)
            asked = [[p for p in of if p.level == k] for of, k in chosen]
            if all(asked):
                total += level.sum(asked)
                filtered += [level.rule.theta] * (level.rule.theta > 1)
                heaviest = prod(max(abs(p.weight) for p in of) for of in asked)
                unseen = unseen.plus(level.unseen(level.absent(asked), heaviest, signed))
                left_out += level.differences(asked) if signed else 0.0
        estimate, spread, tails = total.tolist()
        unseen = unseen.plus(Unseen(hidden=quantile(coverage) * sqrt(left_out)))
        return answer(estimate, spread, tails, coverage, self._said(filtered), unseen)

    def _parts(self, bounds: Bounds) -> list[list[Part]]:
        if len(bounds) != len(self.transforms):
            raise InvalidInput(
                f"A range needs a first and a last code for each of "
                f"{counted(len(self.transforms), 'dimension')}, not {len(bounds)} of them."
            )
        for (first, last), t in zip(bounds, self.transforms, strict=True):
            if not 0 <= first <= last < t.size:
                raise InvalidInput(
                    f"The range from {shown(first)} to {shown(last)} must lie within 0 to "
                    f"{t.size - 1} and have its smaller end first."
                )
        pairs = zip(bounds, self.transforms, strict=True)
        return [t.parts(int(first), int(last)) for (first, last), t in pairs]

    def _said(self, filtered: Sequence[int]) -> str:
        if not filtered:
            return ""
        low, high = min(filtered), max(filtered)
        below = f"{low}" if low == high else f"theta ({low} to {high}, by level)"
        under = ", and all under them," if self.consistent else ""
        what = "cells" if all(t.levels == 1 for t in self.transforms) else "nodes"
        return f"{what} with noisy counts below {below}{under} are left out; the interval has room"


def unwatched(share: float) -> None:
    """Nobody wants to know how far it is."""


def summarize(
    table: Table,
    transforms: Sequence[Transform],
    rules: Sequence[Rule],
    watch: Watch = unwatched,
) -> Ranges:
    """Noise in all combinations of levels, and what stays of them by their rules."""
    check(table, transforms, rules)
    levels = list[Level]()
    for rule in rules:
        levels.append(Level(rule, made(combined(table, transforms, rule.levels), rule)))
        watch(len(levels) / len(rules))
    return Ranges(tuple(transforms), tuple(levels))


def made(table: Table, rule: Rule) -> Flat:
    """Noise in one table, and what stays of it."""
    return whole(table, rule.rate) if rule.whole else some(table, rule)


def some(held: Held, rule: Rule) -> Flat:
    """Noise, and what stays where a rule leaves something out."""
    if rule.size is None:
        return keep(held, rule.law)
    return priority(held, rule.rate, rule.size, rule.law.theta, rule.guess(prod(held.radices)))


def whole(table: Table, rate: Fraction) -> Flat:
    """Every node with its noisy count."""
    codes = np.indices(table.radices).reshape(len(table.radices), -1)
    return Flat(codes, full(table, rate))


def combined(table: Table, transforms: Sequence[Transform], levels: Sequence[int]) -> Table:
    """The nodes of a combination of levels that some held cell belongs to, and their counts."""
    each = list(zip(transforms, levels, table.codes, strict=True))
    codes = np.stack([t.node(level, code) for t, level, code in each])
    counts = table.counts.copy()
    for t, level, code in each:
        counts *= t.sign(level, code)
    radices = tuple(t.nodes(level) for t, level, _ in each)
    return Table(radices, *grouped(codes, counts))


def check(table: Table, transforms: Sequence[Transform], rules: Sequence[Rule]) -> None:
    """Refuse what does not belong together, before anything is drawn."""
    if table.radices != tuple(t.size for t in transforms):
        raise InvalidInput(
            f"The transforms must have the sizes of the table, {shown(table.radices)}, in order."
        )
    if [rule.levels for rule in rules] != combinations(transforms):
        raise InvalidInput(
            "There must be one rule for each combination of levels, in the order of "
            "rules.combinations; start from rules.plan."
        )
