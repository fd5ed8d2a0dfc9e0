"""Summaries for ranges made many times, quickly and the long way, and what is compared of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from tamis.privacy import randomness
from tamis.privacy.noise import two_sided
from tamis.sparse.flat import Table
from tamis.sparse.hierarchy import Transform
from tamis.sparse.ranges import Ranges, combined
from tamis.sparse.rules import Rule
from tests.sources import Stream
from tests.two_samples import by_cell, homogeneous

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Summarize = Callable[[Table, Sequence[Transform], Sequence[Rule]], Ranges]


@dataclass(frozen=True)
class Case:
    """A table, and what is asked for."""

    table: Table
    transforms: Sequence[Transform]
    rules: Sequence[Rule]

    def nodes(self, rule: Rule) -> Table:
        return combined(self.table, self.transforms, rule.levels)

    def dense(self, rule: Rule) -> Ints:
        """The counts of all nodes of a combination, one after the other."""
        nodes = self.nodes(rule)
        counts = np.zeros(nodes.cells, dtype=np.int64)
        counts[np.ravel_multi_index(tuple(nodes.codes), nodes.radices)] = nodes.counts
        return counts


@dataclass(frozen=True)
class Made:
    """One combination, many times: which nodes stayed, with what values, and the thresholds."""

    stays: Mask
    values: Ints
    tau: Floats


def quickly(case: Case, summarize: Summarize, times: int) -> list[Made]:
    shapes = [(times, case.nodes(rule).cells) for rule in case.rules]
    made = [
        Made(np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int64), np.zeros(times))
        for shape in shapes
    ]
    radices = [case.nodes(rule).radices for rule in case.rules]
    with randomness.using(Stream(5)):
        for k in range(times):
            levels = summarize(case.table, case.transforms, case.rules).levels
            for one, level, of in zip(made, levels, radices, strict=True):
                places = np.ravel_multi_index(tuple(level.flat.codes), of)
                one.stays[k, places], one.values[k, places] = True, level.flat.values
                one.tau[k] = level.flat.tau
    return made


def laboriously(case: Case, times: int, consistent: bool) -> list[Made]:
    """Noise in all nodes of all combinations, the filter, what is missing above, the sample."""
    noisy, passed = list[Ints](), dict[tuple[int, ...], Mask]()
    with randomness.using(Stream(6)):
        for rule in case.rules:
            counts = case.dense(rule)
            noise = two_sided(rule.rate, times * len(counts)).reshape(times, -1)
            noisy.append(counts + noise)
            large = noisy[-1] if rule.one_sided else np.abs(noisy[-1])
            passes = (large >= rule.theta) | (rule.theta == 0)
            passed[rule.levels] = passes.reshape(times, *case.nodes(rule).radices)
    if consistent:
        for levels, mask in passed.items():
            _drop(mask, levels, passed)
    flat = [passed[rule.levels].reshape(times, -1) for rule in case.rules]
    generator = np.random.default_rng(7)
    return [
        _sample(rule, v, stays, 1 - generator.random(v.shape))
        for rule, v, stays in zip(case.rules, noisy, flat, strict=True)
    ]


def _drop(mask: Mask, levels: tuple[int, ...], passed: dict[tuple[int, ...], Mask]) -> None:
    for j, level in enumerate(levels):
        if level:
            above = passed[(*levels[:j], level - 1, *levels[j + 1 :])]
            mask &= np.take(above, np.arange(mask.shape[j + 1]) // 2, axis=j + 1)


def _sample(rule: Rule, v: Ints, stays: Mask, r: Floats) -> Made:
    tau = np.zeros(len(v))
    priorities = np.where(stays, np.abs(v) / r, 0.0)
    if rule.size is not None and rule.size < v.shape[1]:
        tau = np.sort(priorities, axis=1)[:, -rule.size - 1]
        stays = priorities > tau[:, None]
    elif rule.tau > max(rule.theta, 1):
        tau = np.full(len(v), float(rule.tau))
        stays = priorities >= tau[:, None]
    return Made(stays, np.where(stays, v, 0), tau)


def differences(case: Case, one: list[Made], other: list[Made]) -> dict[str, float]:
    """The p-values of all comparisons."""
    free = [case.dense(rule) == 0 for rule in case.rules]
    tests = {
        name: float(stats.ks_2samp(numbers, _each(other, free)[name], method="asymp").pvalue)
        for name, numbers in _each(one, free).items()
    }
    times, (ours, theirs) = len(one[0].tau), (_pooled(one), _pooled(other))
    return tests | {
        "places": by_cell(ours[0], theirs[0], times),
        "values": homogeneous(ours[1], theirs[1]),
        "values by level": homogeneous(ours[2], theirs[2]),
    }


def _each(made: list[Made], free: list[Mask]) -> dict[str, Floats]:
    """Some numbers of each summary."""
    sizes = np.array([m.stays.sum(axis=1) for m in made])
    return {
        "size": sizes.sum(axis=0),
        "nodes not held": np.sum(
            [m.stays[:, f].sum(axis=1) for m, f in zip(made, free, strict=True)], axis=0
        ),
        "sum of |v|": np.sum([np.abs(m.values).sum(axis=1) for m in made], axis=0),
        "leaves": sizes[-1],
        "tau": np.sum([m.tau for m in made], axis=0),
        "levels with any": (sizes > 0).sum(axis=0),
    }


def _pooled(made: list[Made]) -> tuple[Ints, Ints, Ints]:
    """Over all summaries: how often each node stayed, and how often each value came."""
    places = np.concatenate([m.stays.sum(axis=0) for m in made])
    by_level = np.array([_histogram(m) for m in made])
    return places, by_level.sum(axis=0), by_level.reshape(-1)


def _histogram(made: Made) -> Ints:
    return np.bincount(np.clip(made.values[made.stays], -60, 60) + 60, minlength=121)
