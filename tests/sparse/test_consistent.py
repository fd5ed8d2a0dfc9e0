"""Consistent ranges have the law of noising every node and dropping what has lost an ancestor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tamis.sparse import consistent, ranges
from tamis.sparse.consistent import _below, positions
from tamis.sparse.flat import Flat, Table
from tamis.sparse.hierarchy import Dyadic, Haar, Plain, Transform
from tamis.sparse.rules import Rule, combinations, plan
from tests.sources import Stream
from tests.sparse.hierarchies import Case, differences, laboriously, quickly

Ints = npt.NDArray[np.int64]

RARE = 1e-4  # the seeds are fixed
RATE = Fraction(1, 4)


def case(transforms: Sequence[Transform], held: int, *rules: Rule) -> Case:
    """Rules are for the first combinations; the last of them is for all that follow."""
    radices = tuple(t.size for t in transforms)
    rng = np.random.default_rng(held)
    places = np.sort(rng.choice(np.prod(radices), held, replace=False))
    table = Table(radices, np.stack(np.unravel_index(places, radices)), rng.integers(1, 9, held))
    levels = combinations(transforms)
    chosen = [rules[min(k, len(rules) - 1)] for k in range(len(levels))]
    pairs = zip(chosen, levels, strict=True)
    return Case(table, transforms, [replace(rule, levels=of) for rule, of in pairs])


def rule(
    theta: int, tau: int | Fraction = 0, size: int | None = None, rate: Fraction = RATE
) -> Rule:
    return Rule((), rate, theta, Fraction(tau), size)


LINE, PLANE = [Dyadic(150)], [Dyadic(7), Dyadic(8)]
MIXED: list[Transform] = [Plain(5), Dyadic(20)]

CASES = {
    "one dimension": case(LINE, 12, rule(4)),
    "one dimension, other filters by level": case(LINE, 12, rule(0), rule(0), rule(2), rule(5)),
    "one dimension, one-sided": case(LINE, 12, replace(rule(3), one_sided=True)),
    "one dimension, other rates by level": case(LINE, 12, rule(3, rate=Fraction(1, 9)), rule(3)),
    "one dimension, threshold": case(LINE, 12, rule(0), rule(3, Fraction(31, 3))),
    "one dimension, priority": case(LINE, 12, rule(0), rule(0), rule(0), rule(2, size=6)),
    "two dimensions": case(PLANE, 10, rule(2)),
    "two dimensions, priority": case(PLANE, 10, rule(0), rule(2, size=4)),
    "one dimension of two": case(MIXED, 10, rule(3)),
}
TWICE = (rule(0), rule(0), rule(0), rule(8), rule(8), rule(8), rule(4, size=12))
LARGE = {"two thousand cells": case([Dyadic(2000)], 60, *TWICE)}


def compare(name: str, times: int) -> dict[str, float]:
    of = (CASES | LARGE)[name]
    made = quickly(of, consistent.summarize, times)
    return differences(of, made, laboriously(of, times, consistent=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "times"),
    [
        *((name, 100) for name in CASES),
        *(pytest.param(name, 10_000, marks=pytest.mark.slow) for name in CASES | LARGE),
    ],
)
def test_the_law_is_that_of_the_long_way(name: str, times: int) -> None:
    found = compare(name, times)
    assert all(p > RARE for p in found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "percent"),
    [("one dimension", 97), ("two dimensions", 103), ("two thousand cells", 103)],
)
def test_a_p_that_is_three_percent_off_is_told_apart(
    name: str, percent: int, chance: Callable[[int], None]
) -> None:
    chance(percent)
    found = compare(name, 10_000)
    assert min(found.values()) < RARE / 100, found


@pytest.mark.slow
def test_looking_at_one_parent_of_several_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(
        radices: Sequence[int],
        above: Sequence[tuple[int, tuple[int, ...]]],
        stayed: Mapping[tuple[int, ...], Flat],
    ) -> Ints:
        return _below(radices, above[:1], stayed)

    monkeypatch.setattr(consistent, "_below", careless)
    found = compare("two dimensions", 200)
    assert min(found.values()) < RARE / 100, found


@pytest.mark.slow
def test_no_consistency_is_told_apart() -> None:
    of = CASES["one dimension"]
    made = quickly(of, ranges.summarize, 200)
    found = differences(of, made, laboriously(of, 200, consistent=True))
    assert min(found.values()) < RARE / 100, found


# --- what must always hold ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["one dimension", "two dimensions", "one dimension of two"])
def test_every_node_has_all_its_parents(name: str) -> None:
    of = CASES[name]
    with randomness.using(Stream(1)):
        made = [consistent.summarize(of.table, of.transforms, of.rules) for _ in range(20)]
    for summary in made:
        assert summary.consistent
        stayed = {level.rule.levels: nodes(level.flat) for level in summary.levels}
        for levels, cells in stayed.items():
            assert cells == sorted(set(cells))
            for j in (j for j, level in enumerate(levels) if level):
                above = set(stayed[(*levels[:j], levels[j] - 1, *levels[j + 1 :])])
                assert {(*c[:j], c[j] // 2, *c[j + 1 :]) for c in cells} <= above


def nodes(flat: Flat) -> list[tuple[int, ...]]:
    return [tuple(cell) for cell in flat.codes.T.tolist()]


def test_a_sample_comes_after_and_has_its_size() -> None:
    rules = plan([Dyadic(2**30)], Fraction(1), 1, 500)
    rng = np.random.default_rng(1)
    table = Table((2**30,), np.unique(rng.integers(0, 2**30, 3000))[None], np.full(3000, 5000))
    with randomness.using(Stream(1)):
        made = consistent.summarize(table, [Dyadic(2**30)], rules)
    sizes = [len(level.flat.values) for level in made.levels]
    assert sizes == [min(2**level, rule.size or 2**level) for level, rule in enumerate(rules)]
    assert 490 < len(made) <= 500
    assert made.levels[-1].flat.tau > 5000


def test_nothing_is_below_an_empty_root() -> None:
    of = CASES["one dimension"]
    with randomness.using(Stream(1)):
        made = consistent.summarize(of.table, of.transforms, case(LINE, 12, rule(10**6)).rules)
    assert len(made) == 0
    assert made.range([(3, 100)]).estimate == 0


def test_wavelets_are_refused() -> None:
    of = case([Haar(8)], 2, rule(3))
    with pytest.raises(InvalidInput, match="Only dyadic ranges can be made consistent"):
        consistent.summarize(of.table, of.transforms, of.rules)


CELL = st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(st.lists(CELL, unique=True), st.lists(CELL))
def test_positions_are_those_of_a_list(
    among: list[tuple[int, int]], cells: list[tuple[int, int]]
) -> None:
    held, asked = (np.array(some, dtype=np.int64).reshape(-1, 2).T for some in (among, cells))
    expected = [among.index(cell) if cell in among else -1 for cell in cells]
    assert positions(asked, held).tolist() == expected
