"""Priorities are compared as real numbers: ties of 64 places are settled by further places."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tamis.privacy import randomness
from tamis.sparse.priorities import Priorities, _cut, largest
from tests.sources import Forbidden, Listed, Stream

NONE = Fraction(0)
ONES = 2**64 - 1
RARE = 1e-4  # the seeds are fixed; a wrong law is at least five standard deviations away


def priorities(sizes: list[int], words: list[int], least: Fraction = NONE) -> Priorities:
    return Priorities(np.array(sizes), least, np.array(words, dtype=np.uint64))


def reached(size: int, tau: Fraction, words: list[int], least: Fraction = NONE) -> tuple[bool, int]:
    """Whether one item with these words has q >= tau, and how many of the words that took."""
    source = Listed(words[1:])
    with randomness.using(source):
        answer = bool(priorities([size], words[:1], least).at_least(tau)[0])
    return answer, len(words) - source.left


# --- one threshold ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "least", "tau"),
    [
        (3, NONE, Fraction(7)),
        (3, Fraction(10, 3), Fraction(101, 10)),
        (2**61 + 1, NONE, Fraction(2**62 + 5)),
    ],
)
def test_a_word_that_ties_with_the_threshold_goes_on_until_it_differs(
    size: int, least: Fraction, tau: Fraction
) -> None:
    share = max(Fraction(size), least) / tau  # q >= tau just if r is at most this
    for words in (1, 2, 4):
        place = floor(share * 2 ** (64 * words))
        for away, answer in ((-1, True), (1, False)):
            digits = place + away
            listed = [digits >> 64 * (words - 1 - k) & ONES for k in range(words)]
            assert reached(size, tau, listed, least) == (answer, words)
    listed = [floor(share * 2 ** (64 * (k + 1))) & ONES for k in range(3)]
    assert reached(size, tau, [*listed, 0], least) == (True, 4)


def test_a_word_at_a_threshold_of_few_places_is_decided_at_once() -> None:
    assert reached(2, Fraction(4), [2**63 - 1]) == (True, 1)  # r is at most 1/2
    assert reached(2, Fraction(4), [2**63]) == (False, 1)  # r is above 1/2
    assert reached(2, Fraction(2), [ONES]) == (True, 1)  # r is at most 1


def test_words_of_zeros_are_very_large_priorities() -> None:
    assert reached(1, Fraction(2**64), [0, ONES]) == (True, 2)
    assert reached(1, Fraction(2**65), [0, 2**63 - 1]) == (True, 2)
    assert reached(1, Fraction(2**65), [0, 2**63]) == (False, 2)
    assert reached(1, Fraction(2**200), [0, 0, 0, 2**56 - 1]) == (True, 4)
    assert reached(1, Fraction(2**200), [0, 0, 0, 2**56]) == (False, 4)


@given(
    st.integers(1, 2**62),
    st.integers(0, ONES),
    st.fractions(0, 2**70),
    st.fractions(1, 2**80),
)
def test_any_item_is_on_the_right_side(
    size: int, word: int, least: Fraction, tau: Fraction
) -> None:
    answer, drawn = reached(size, tau, [word, 2**63, 2**63], least)
    c, places = max(Fraction(size), least), 64 * drawn
    known = int(f"{word:064b}" + f"{2**63:064b}" * 2, 2) >> (192 - places)
    assert (c * 2**places >= tau * (known + 1)) if answer else (c * 2**places <= tau * known)


@given(st.lists(st.tuples(st.integers(1, 2**62), st.integers(0, ONES))), st.fractions(0, 2**70))
def test_bounds_hold_the_priority(items: list[tuple[int, int]], least: Fraction) -> None:
    part = priorities([c for c, _ in items], [w for _, w in items], least)
    for (size, word), low, high in zip(items, *part.bounds(), strict=True):
        c = max(Fraction(size), least) * 2**64
        assert Fraction(low) <= c / (word + 1)
        assert high == np.inf if word == 0 else Fraction(high) >= c / word


def test_places_once_drawn_stay() -> None:
    part = priorities([3], [floor(Fraction(3, 7) * 2**64)])
    with randomness.using(Listed([0])):
        assert part.at_least(Fraction(7)).all()
    with randomness.using(Forbidden()):
        assert part.at_least(Fraction(7)).all()
        assert part.interval(0, 128)[0] >= 7


def test_replaced_items_take_their_places_along() -> None:
    tie = floor(Fraction(3, 7) * 2**64)
    part, other = priorities([3, 3, 3], [tie] * 3), priorities([3, 3], [tie, 5])
    with randomness.using(Listed([0, 0, 0, ONES])):
        assert part.at_least(Fraction(7)).tolist() == [True] * 3
        assert other.at_least(Fraction(7)).tolist() == [False, True]
    part.replace(np.array([2, 0]), other, np.array([0, 1]))
    with randomness.using(Forbidden()):
        assert part.at_least(Fraction(7)).tolist() == [True, True, False]


@pytest.mark.parametrize(("size", "least"), [(3, NONE), (1, Fraction(3))])
def test_items_reach_a_threshold_as_often_as_stated_and_not_three_percent_off(
    size: int, least: Fraction
) -> None:
    n, tau = 400_000, Fraction(71, 10)
    with randomness.using(Stream(1)):
        passed = int(np.count_nonzero(Priorities.draw(np.full(n, size), least).at_least(tau)))
    assert stats.binomtest(passed, n, 3 / 7.1).pvalue > RARE
    assert stats.binomtest(passed, n, 3 / 7.1 * 1.03).pvalue < RARE
    assert stats.binomtest(passed, n, 3 / 7.1 / 1.03).pvalue < RARE


# --- the largest --------------------------------------------------------------------------------


def exact(parts: list[Priorities]) -> list[tuple[Fraction, Fraction]]:
    """The intervals of all items, from the places that were drawn and no others."""
    with randomness.using(Forbidden()):
        return [part.interval(i) for part in parts for i in range(len(part.sizes))]


ITEMS = st.tuples(st.integers(1, 5), st.integers(1, 2) | st.integers(1, ONES))


@given(st.lists(st.lists(ITEMS), min_size=1, max_size=3), st.fractions(0, 5), st.data())
def test_the_largest_are_those_of_a_plain_sort(
    groups: list[list[tuple[int, int]]], least: Fraction, data: st.DataObject
) -> None:
    parts = [
        priorities([c for c, _ in group], [w for _, w in group], least if k else NONE)
        for k, group in enumerate([*groups, [(1, 1)]])
    ]
    n = sum(len(part.sizes) for part in parts)
    size = data.draw(st.integers(0, n - 1))
    with randomness.using(Stream(data.draw(st.integers(0, 100)))):
        masks, tau = largest(parts, size)
    assert [len(mask) for mask in masks] == [len(part.sizes) for part in parts]
    order = sorted(zip(exact(parts), np.concatenate(masks), strict=True), reverse=True)
    assert [kept for _, kept in order] == [True] * size + [False] * (n - size)
    chosen, (next_low, next_high) = [q for q, _ in order[:size]], order[size][0]
    assert all(low >= next_high for low, _ in chosen)  # the places drawn leave no doubt
    assert tau == _cut(next_low) == _cut(next_high)


def test_many_items_without_ties_agree_with_floating_point() -> None:
    with randomness.using(Stream(2)):
        parts = [Priorities.draw(np.arange(1, n)) for n in (1000, 1, 500)]
        masks, tau = largest(parts, 300)
    q = np.concatenate([part.sizes / (part.words + 0.5) * 2.0**64 for part in parts])
    order = np.argsort(-q)
    assert set(np.flatnonzero(np.concatenate(masks))) == set(order[:300])
    assert tau <= q[order[300]] < tau * (1 + 2.0**-39)


def test_a_tie_at_the_boundary_is_settled_by_further_places() -> None:
    for further, first in (([5, 9], True), ([9, 5], False), ([7, 7, 1, 2], True)):
        parts = [priorities([4, 8], [100, 1]), priorities([4], [100])]
        with randomness.using(Listed(further)):
            masks, _ = largest(parts, 2)
        assert [mask.tolist() for mask in masks] == [[first, True], [not first]]


def test_different_sizes_tie_where_their_words_have_the_same_ratio() -> None:
    for further, first in (([0, ONES], True), ([ONES, 1], False)):
        parts = [priorities([1, 3, 1], [2**62, 3 * 2**62, ONES])]
        with randomness.using(Listed(further)):
            assert largest(parts, 1)[0][0].tolist() == [first, not first, False]


def test_words_of_zeros_are_ranked_too() -> None:
    source = Listed([0, 7, 8, 2**63])  # two for the first, one for the second, one to round it
    with randomness.using(source):
        masks, tau = largest([priorities([1, 1, 1], [0, 0, ONES])], 1)
    assert masks[0].tolist() == [True, False, False]
    assert tau == _cut(Fraction(2**128 * 2, 17))
    assert source.left == 0


# --- the published threshold --------------------------------------------------------------------


@given(st.fractions(Fraction(1, 2**70), 2**90).filter(bool))
def test_a_threshold_is_rounded_down_to_forty_places(x: Fraction) -> None:
    shown = Fraction(_cut(x))
    assert shown <= x < shown * (1 + Fraction(1, 2**39))
    steps = shown / Fraction(2) ** (floor_log2(x) - 39)
    assert steps.denominator == 1
    assert 2**39 <= steps < 2**40
    assert _cut(shown) == shown


def floor_log2(x: Fraction) -> int:
    power = 0
    while 2**power > x:
        power -= 1
    while Fraction(2) ** (power + 1) <= x:
        power += 1
    return power


@given(st.integers(2**39, 2**40 - 1), st.integers(-60, 60), st.integers(1, 10**9))
def test_the_places_do_not_depend_on_how_a_number_is_written(
    steps: int, power: int, bottom: int
) -> None:
    whole = steps * Fraction(2) ** power
    for inside in (Fraction(0), Fraction(1, bottom + 1), Fraction(bottom, bottom + 1)):
        assert _cut(whole + inside * Fraction(2) ** power) == whole


def test_a_threshold_next_to_a_step_is_known_before_it_is_rounded() -> None:
    part = priorities([1, 9], [2**63, 1])  # q of the first is just below 2
    with randomness.using(Listed([1])):
        assert largest([part], 1)[1] == 2 - 2.0**-39
    part = priorities([1, 9], [2**63 - 1, 1])  # and here at least 2
    with randomness.using(Forbidden()):
        assert largest([part], 1)[1] == 2.0
