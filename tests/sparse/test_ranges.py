"""Ranges from noisy nodes: exact without noise, epsilon in all, and errors as large as stated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tamis.sparse import consistent
from tamis.sparse.flat import Table
from tamis.sparse.hierarchy import Dyadic, Haar, Plain, Transform
from tamis.sparse.ranges import combined, summarize
from tamis.sparse.rules import Rule, combinations, cost, nodes, plan
from tests.sources import Forbidden, Stream
from tests.sparse.hierarchies import Case, differences, laboriously, quickly

Ints = npt.NDArray[np.int64]
Kinds = tuple[type[Dyadic], ...]

RARE = 1e-4  # the seeds are fixed
RATE = Fraction(1, 4)
SURE = Fraction(10**4)  # at this rate all noise is 0
KINDS = (Plain, Dyadic, Haar)
SIZES = (6, 5, 3)


def table(radices: Sequence[int], held: int, largest: int = 9) -> Table:
    rng = np.random.default_rng(held)
    places = rng.choice(prod(radices), held, replace=False)  # in no order
    codes = np.stack(np.unravel_index(places, radices))
    return Table(tuple(radices), codes, rng.integers(1, largest + 1, held))


def dense(of: Table) -> Ints:
    counts = np.zeros(of.radices, dtype=np.int64)
    counts[tuple(of.codes)] = of.counts
    return counts


def everything(transforms: Sequence[Transform], rate: Fraction) -> list[Rule]:
    return [Rule(levels, rate) for levels in combinations(transforms)]


def boxes(radices: Sequence[int]) -> list[tuple[tuple[int, int], ...]]:
    each = [[(a, b) for a in range(size) for b in range(a, size)] for size in radices]
    return list(product(*each))


def truth(counts: Ints, bounds: Sequence[tuple[int, int]]) -> int:
    return int(counts[tuple(slice(first, last + 1) for first, last in bounds)].sum())


# --- the sums -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kinds", [kinds for d in (1, 2) for kinds in product(KINDS, repeat=d)] + [(Haar, Dyadic, Plain)]
)
@pytest.mark.parametrize("theta", [0, 1])
def test_without_noise_every_range_is_exact(kinds: Kinds, theta: int) -> None:
    of = table(SIZES[: len(kinds)], 4 * len(kinds))
    transforms = [kind(size) for kind, size in zip(kinds, of.radices, strict=True)]
    rules = [replace(rule, theta=theta) for rule in everything(transforms, SURE)]
    made, counts = summarize(of, transforms, rules), dense(of)
    for bounds in boxes(of.radices):
        answer = made.range(bounds)
        assert answer.estimate == truth(counts, bounds)
        assert answer.standard_error == 0


def test_a_sum_is_weighted_for_its_sample() -> None:
    of = Table((8,), np.array([[2, 3, 5]]), np.array([1, 7, 40]))
    rules = [Rule((0,), SURE, tau=Fraction(10))]
    with randomness.using(Stream(1)):
        made = [summarize(of, [Plain(8)], rules) for _ in range(2000)]
    answers = [summary.range([(0, 3)]) for summary in made]
    estimates = np.array([answer.estimate for answer in answers])
    variance = 1 * (10 - 1) + 7 * (10 - 7)
    assert set(estimates) == {0.0, 10.0, 20.0}
    assert abs(estimates.mean() - 8) < 4 * (variance / 2000) ** 0.5
    assert np.mean([a.standard_error**2 for a in answers]) == pytest.approx(variance, rel=0.05)
    assert {summary.range([(5, 5)]).estimate for summary in made} == {40.0}
    assert {summary.range([(5, 5)]).standard_error for summary in made} == {0.0}


# --- the promise --------------------------------------------------------------------------------


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 2**20)), min_size=1, max_size=2),
    st.fractions(Fraction(1, 1000), 10),
    st.integers(1, 20),
    st.data(),
)
def test_the_combinations_cost_epsilon(
    of: list[tuple[type[Dyadic], int]], epsilon: Fraction, change: int, data: st.DataObject
) -> None:
    transforms = [kind(size) for kind, size in of]
    many = len(combinations(transforms))
    assert cost(plan(transforms, epsilon, change, 10**5), change) == epsilon
    some = data.draw(st.lists(st.integers(1, 99), min_size=many, max_size=many))
    budgets = [epsilon * share / sum(some) for share in some]
    rules = plan(transforms, epsilon, change, 10**5, budgets)
    assert cost(rules, change) == epsilon
    assert [rule.rate * change for rule in rules] == budgets


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES)), max_size=12),
    st.tuples(*(st.integers(0, size - 1) for size in SIZES)),
    st.fractions(Fraction(1, 100), 3),
)
def test_a_record_more_costs_epsilon_over_all_combinations(
    kinds: list[type[Dyadic]],
    records: list[tuple[int, ...]],
    one: tuple[int, ...],
    epsilon: Fraction,
) -> None:
    d = len(kinds)
    transforms = [kind(size) for kind, size in zip(kinds, SIZES, strict=False)]
    spent = Fraction(0)
    for rule in plan(transforms, epsilon, 1, 1000):
        changed = [
            dense(combined(counted(some, SIZES[:d]), transforms, rule.levels))
            for some in (records, [*records, one])
        ]
        spent += rule.rate * int(np.abs(changed[0] - changed[1]).sum())
    assert spent == epsilon


def counted(records: Sequence[tuple[int, ...]], radices: Sequence[int]) -> Table:
    cut = np.array([record[: len(radices)] for record in records], dtype=np.int64)
    cells, counts = np.unique(cut.reshape(-1, len(radices)), axis=0, return_counts=True)
    return Table(tuple(radices), cells.T, counts)


# --- the law ------------------------------------------------------------------------------------

PLANE: list[Transform] = [Haar(9), Dyadic(7)]
RULES = [Rule((), Fraction(1, 3), theta=3), Rule((), Fraction(1, 3), size=5, theta=2)]


@pytest.mark.slow
@pytest.mark.parametrize("of", [*RULES, replace(RULES[0], tau=Fraction(19, 2))])
def test_each_combination_has_the_law_of_the_long_way(of: Rule) -> None:
    rules = [
        replace(of if nodes(PLANE, levels) > 5 else Rule((), Fraction(1, 2)), levels=levels)
        for levels in combinations(PLANE)
    ]
    case = Case(table((9, 7), 12), PLANE, rules)
    made = quickly(case, summarize, 150)
    found = differences(case, made, laboriously(case, 150, consistent=False))
    assert all(p > RARE for p in found.values()), found
    wrong = replace(case, rules=[replace(rule, rate=rule.rate * 5 / 4) for rule in rules])
    found = differences(case, made, laboriously(wrong, 150, consistent=False))
    assert min(found.values()) < RARE / 100, found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "percent"), [(Dyadic, 100), (Dyadic, 97), (Haar, 100), (Haar, 103)]
)
def test_two_thousand_cells_have_the_law_of_the_long_way_and_not_three_percent_off(
    kind: type[Dyadic], percent: int, chance: Callable[[int], None]
) -> None:
    split = [kind(2000)]
    kinds = [Rule((), RATE), Rule((), RATE, 8), Rule((), RATE, tau=Fraction(61, 2))]
    kinds.append(Rule((), RATE, 2, size=60))
    levels = combinations(split)
    rules = [replace(kinds[max(0, k - len(levels) + 4)], levels=of) for k, of in enumerate(levels)]
    case = Case(table((2000,), 60, largest=20), split, rules)
    if percent != 100:
        chance(percent)
    made = quickly(case, summarize, 10_000)
    found = differences(case, made, laboriously(case, 10_000, consistent=False))
    if percent == 100:
        assert all(p > RARE for p in found.values()), found
    else:
        assert min(found.values()) < RARE / 100, found


ASKED = [[(0, 63)], [(5, 5)], [(1, 62)], [(17, 40)], [(0, 31)]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("times", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_errors_are_as_large_as_stated_and_intervals_hold_the_truth(
    kind: type[Dyadic], times: int
) -> None:
    of, transforms = table((64,), 20), [kind(64)]
    rules = everything(transforms, Fraction(1, 10))
    with randomness.using(Stream(3)):
        made = [summarize(of, transforms, rules) for _ in range(times)]
    for bounds in ASKED:
        answers, exact = [summary.range(bounds) for summary in made], truth(dense(of), bounds)
        errors = np.array([answer.estimate - exact for answer in answers])
        (stated,) = {answer.standard_error for answer in answers}
        assert abs(errors.mean()) < 4 * stated / times**0.5
        squares = errors**2 / stated**2
        assert abs(squares.mean() - 1) < 4 * (squares.var() / times) ** 0.5
        assert abs(squares.mean() - 2) > 4 * (squares.var() / times) ** 0.5
        inside = sum(answer.low <= exact <= answer.high for answer in answers)
        assert stats.binomtest(inside, times, 0.95, alternative="less").pvalue > RARE
        assert inside < 0.98 * times


@pytest.mark.slow
def test_the_error_of_a_sample_is_stated_too() -> None:
    of, transforms, times = table((256,), 60, largest=40), [Dyadic(256)], 600
    rules = [Rule((level,), Fraction(1, 5), size=30 if level > 5 else None) for level in range(9)]
    with randomness.using(Stream(4)):
        answers = [summarize(of, transforms, rules).range([(35, 180)]) for _ in range(times)]
    exact = truth(dense(of), [(35, 180)])
    errors = np.array([answer.estimate - exact for answer in answers])
    stated = np.mean([answer.standard_error**2 for answer in answers])
    assert abs(errors.mean()) < 4 * errors.std() / times**0.5
    assert np.mean(errors**2) == pytest.approx(stated, rel=0.2)
    assert (
        stats.binomtest(
            sum(a.low <= exact <= a.high for a in answers), times, 0.95, alternative="less"
        ).pvalue
        > RARE
    )


# --- plans --------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS[1:]), st.integers(1, 2**30)), min_size=1, max_size=2),
    st.integers(2000, 10**6),
)
def test_a_plan_keeps_to_its_size_and_small_tables_whole(
    of: list[tuple[type[Dyadic], int]], size: int
) -> None:
    transforms = [kind(m) for kind, m in of]
    rules = plan(transforms, Fraction(1), 2, size)
    rooms = [nodes(transforms, r.levels) if r.whole else r.size or 0 for r in rules]
    assert sum(rooms) <= size
    largest = max(rooms)
    for rule, room in zip(rules, rooms, strict=True):
        assert rule.whole or room >= largest - len(rules)
        if not rule.whole:
            passing = nodes(transforms, rule.levels) * float(rule.law.p(30).high)
            assert 0 < passing <= room * (1 + 1e-9)


def test_a_plan_makes_a_summary_of_its_size_for_a_huge_dimension() -> None:
    rng = np.random.default_rng(1)
    codes = np.unique(rng.integers(0, 2**60, 5000))
    of = Table((2**60,), codes[None], np.full(len(codes), 10**6))
    for kind in (Dyadic, Haar):
        rules = plan([kind(2**60)], Fraction(1), 1, 10_000)
        with randomness.using(Stream(1)):
            made = summarize(of, [kind(2**60)], rules)
        assert 9_500 < len(made) <= 10_000
        answer = made.range([(0, 2**59)])
        assert (
            abs(answer.estimate - np.count_nonzero(codes <= 2**59) * 10**6)
            < 5 * answer.standard_error
        )


def test_whoever_watches_is_told_how_far_it_is() -> None:
    for make in (summarize, consistent.summarize):
        told = list[float]()
        split = [Dyadic(40)]
        make(table((40,), 9), split, everything(split, Fraction(1)), told.append)
        assert told == [(k + 1) / 7 for k in range(7)]


def test_an_empty_table_has_noise_only() -> None:
    none = Table((9, 7), np.zeros((2, 0), dtype=np.int64), np.zeros(0, dtype=np.int64))
    with randomness.using(Stream(1)):
        made = summarize(none, PLANE, plan(PLANE, Fraction(1), 1, 60))
    answer = made.range([(0, 4), (2, 6)])
    assert abs(answer.estimate) < 5 * answer.standard_error


def test_an_answer_says_where_there_is_a_filter() -> None:
    of, split = table((40,), 9), [Dyadic(40)]
    rules = [replace(rule, theta=3) for rule in everything(split, Fraction(1))]
    said = summarize(of, split, rules).range([(1, 30)]).said
    assert said == "nodes with noisy counts below 3 are left out; the interval has room"
    rules[-1] = replace(rules[-1], theta=8)
    said = summarize(of, split, rules).range([(1, 30)]).said
    below = "theta (3 to 8, by level)"
    assert said == f"nodes with noisy counts below {below} are left out; the interval has room"
    assert summarize(of, split, everything(split, Fraction(1))).range([(1, 30)]).said == ""


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        ([(3, 2)], "smaller end first"),
        ([(-1, 2)], "within 0 to 7"),
        ([(0, 8)], "within 0 to 7"),
        ([(0, 1), (0, 1)], "1 dimension, not 2"),
        ([], "1 dimension, not 0"),
    ],
)
def test_a_range_outside_is_refused(bounds: list[tuple[int, int]], match: str) -> None:
    made = summarize(table((8,), 3), [Haar(8)], everything([Haar(8)], SURE))
    with pytest.raises(InvalidInput, match=match):
        made.range(bounds)


def test_what_does_not_belong_together_is_refused_before_anything_is_drawn() -> None:
    of, split = table((8,), 3), [Dyadic(8)]
    rules = everything(split, Fraction(1))
    with randomness.using(Forbidden()):
        with pytest.raises(InvalidInput, match="sizes of the table"):
            summarize(of, [Dyadic(9)], everything([Dyadic(9)], Fraction(1)))
        with pytest.raises(InvalidInput, match="one rule for each combination"):
            summarize(of, split, rules[1:])
        with pytest.raises(InvalidInput, match="one rule for each combination"):
            summarize(of, split, rules[::-1])
        with pytest.raises(InvalidInput, match="size must be at least 4 nodes"):
            plan(split, Fraction(1), 1, 3)
    for budgets in ([Fraction(1, 4)] * 3, [Fraction(1, 3)] * 4, [Fraction(1), Fraction(0)] * 2):
        with pytest.raises(InvalidInput, match="4 positive fractions"):
            plan(split, Fraction(1), 1, 10, budgets)


@pytest.mark.parametrize(
    "wrong",
    [{"theta": -1}, {"tau": Fraction(-1)}, {"size": -1}, {"size": 3, "tau": Fraction(2)},
     {"size": 3, "one_sided": True}],
)  # fmt: skip
def test_a_rule_that_means_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match=r"theta|priority"):
        Rule((0,), Fraction(1), **wrong)  # type: ignore[arg-type]
