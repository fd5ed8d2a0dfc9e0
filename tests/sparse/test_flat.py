"""A flat summary has the law of the long way: noise in every cell, then a filter or a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import cycle

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from tamis.privacy import randomness
from tamis.sparse import flat
from tamis.sparse.flat import Flat, Table, _between, full, keep, priority
from tamis.sparse.law import Zero
from tamis.sparse.priorities import Priorities
from tests.sources import Forbidden, Listed, Stream
from tests.two_samples import by_cell, homogeneous

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
One = tuple[Ints, Ints, float]  # numbers of cells, values, threshold
LongWay = Callable[[Ints, Floats], tuple[npt.NDArray[np.bool_], float]]

ONES = 2**64 - 1
RARE = 1e-4  # the seeds are fixed
RADICES = (40, 50)
PLACES = np.sort(np.random.default_rng(1).choice(2000, 60, replace=False))
TABLE = Table(RADICES, np.stack(np.unravel_index(PLACES, RADICES)), np.arange(60) % 20 + 1)
RATE = Fraction(1, 5)


# --- both ways, many times ----------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """One kind of summary, made quickly, and the plain rule for what stays of a noisy table."""

    quick: Callable[[], Flat]
    plain: LongWay


def passes(v: Ints, law: Zero) -> npt.NDArray[np.bool_]:
    return v >= law.theta if law.one_sided else np.abs(v) >= law.theta


def kept(law: Zero) -> Method:
    def plain(v: Ints, r: Floats) -> tuple[npt.NDArray[np.bool_], float]:
        if law.tau <= law.theta:
            return passes(v, law), 0.0
        return passes(v, law) & (np.abs(v) >= r * float(law.tau)), float(law.tau)

    return Method(lambda: keep(TABLE, law), plain)


def sampled(size: int, theta: int, guess: Fraction) -> Method:
    def plain(v: Ints, r: Floats) -> tuple[npt.NDArray[np.bool_], float]:
        q = np.where(np.abs(v) >= theta, np.abs(v) / r, 0)
        tau = float(np.sort(q)[-size - 1])
        return q > tau, tau

    return Method(lambda: priority(TABLE, RATE, size, theta, guess), plain)


METHODS = {
    "filter": kept(Zero(RATE, 10)),
    "filter, one-sided": kept(Zero(RATE, 10, one_sided=True)),
    "threshold": kept(Zero(RATE, 1, Fraction(87, 2))),
    "threshold and filter": kept(Zero(RATE, 4, Fraction(31, 3))),
    "threshold, one-sided": kept(Zero(RATE, 4, Fraction(31, 3), one_sided=True)),
    "priority, guess right": sampled(100, 1, Fraction(94)),
    "priority, guess much too high": sampled(100, 1, Fraction(700)),
    "priority, guess too low": sampled(100, 1, Fraction(9, 2)),
    "priority and filter, guess too high": sampled(100, 7, Fraction(120)),
    "priority and filter, guess at theta": sampled(100, 7, Fraction(0)),
}


def quickly(method: Method, times: int) -> Iterator[One]:
    with randomness.using(Stream(2)):
        for _ in range(times):
            flat = method.quick()
            yield np.ravel_multi_index(tuple(flat.codes), RADICES), flat.values, flat.tau


@lru_cache(2)
def noisy(times: int) -> npt.NDArray[np.int16]:
    with randomness.using(Stream(3)):
        return np.array([full(TABLE, RATE) for _ in range(times)], dtype=np.int16)


def laboriously(method: Method, times: int) -> Iterator[One]:
    generator = np.random.default_rng(4)
    for row in noisy(times):
        v = row.astype(np.int64)
        stays, tau = method.plain(v, 1 - generator.random(2000))
        yield np.flatnonzero(stays), v[stays], tau


# --- what is compared ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What many summaries look like: some numbers of each, and some counts over all."""

    each: dict[str, Floats]
    held: Ints
    places: Ints
    values: Ints


def watch(summaries: Iterable[One]) -> Seen:
    each, held = list[tuple[float, ...]](), np.zeros(2000, dtype=np.int64)
    values = np.zeros(121, dtype=np.int64)
    for cells, v, tau in summaries:
        others = ~np.isin(cells, PLACES)
        each.append((len(v), np.abs(v).sum(), (v < 0).sum(), others.sum(), np.abs(v).max(), tau))
        held[cells] += 1
        values += np.bincount(np.clip(v, -60, 60) + 60, minlength=121)
    names = ("size", "sum of |v|", "negative values", "cells not held", "largest |v|", "tau")
    numbers = dict(zip(names, np.array(each).T, strict=True))
    return Seen(numbers, held[PLACES], np.delete(held, PLACES), values)


def differences(one: Seen, other: Seen, times: int) -> dict[str, float]:
    """The p-values of all comparisons."""
    tests = {
        name: float(stats.ks_2samp(x, other.each[name], method="asymp").pvalue)
        for name, x in one.each.items()
    }
    rows = [held.places[:1900].reshape(38, -1).sum(axis=1) for held in (one, other)]
    return tests | {
        "held cells": by_cell(one.held, other.held, times),
        "other cells": by_cell(one.places, other.places, times),
        "rows of other cells": homogeneous(rows[0], rows[1]),
        "values": homogeneous(one.values, other.values),
    }


def compare(name: str, times: int) -> dict[str, float]:
    method = METHODS[name]
    one, other = watch(quickly(method, times)), watch(laboriously(method, times))
    return differences(one, other, times)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("times", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_law_is_that_of_the_long_way(name: str, times: int) -> None:
    found = compare(name, times)
    assert all(p > RARE for p in found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "percent"), [*zip(METHODS, cycle((97, 103)), strict=False)])
def test_a_p_that_is_three_percent_off_is_told_apart(
    name: str, percent: int, chance: Callable[[int], None]
) -> None:
    chance(percent)
    found = compare(name, 10_000)
    assert min(found.values()) < RARE / 100, found


def test_an_extension_that_forgets_the_last_threshold_is_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def careless(law: Zero, n: int, below: Fraction | None) -> tuple[Ints, Priorities]:
        return _between(law, n, None)

    monkeypatch.setattr(flat, "_between", careless)
    found = compare("priority and filter, guess too high", 200)
    assert min(found.values()) < RARE / 100, found


# --- what must always hold ----------------------------------------------------------------------

EMPTY = Table(RADICES, np.zeros((2, 0), dtype=np.int64), np.zeros(0, dtype=np.int64))


def listed(made: Flat) -> list[tuple[int, ...]]:
    return [tuple(cell) for cell in made.codes.T.tolist()]


@pytest.mark.parametrize("table", [TABLE, EMPTY], ids=["some held", "none held"])
@pytest.mark.parametrize("seed", range(3))
def test_cells_are_in_order_each_once_with_values_that_pass(table: Table, seed: int) -> None:
    laws = [Zero(RATE, 8), Zero(RATE, 8, one_sided=True), Zero(RATE, 3, Fraction(25, 2))]
    with randomness.using(Stream(seed)):
        made = [(keep(table, law), law) for law in laws]
        made.append((priority(table, RATE, 50, 5, Fraction(60)), Zero(RATE, 5)))
    for summary, law in made:
        assert listed(summary) == sorted(set(listed(summary)))
        assert len(summary.values) == summary.codes.shape[1] > 0
        assert passes(summary.values, law).all()
        assert (summary.codes >= 0).all()
        assert (summary.codes.T < RADICES).all()
    assert [summary.tau for summary, _ in made[:3]] == [0.0, 0.0, 12.5]


@pytest.mark.parametrize("guess", [1, 30, 1000])
@pytest.mark.parametrize("size", [0, 1, 100, 1000])
def test_a_priority_sample_has_the_size_asked_for_where_so_many_pass(size: int, guess: int) -> None:
    with randomness.using(Stream(size)):
        made = priority(TABLE, RATE, size, 2, Fraction(guess))
    assert len(made.values) == size
    assert made.tau > 2


@pytest.mark.parametrize("guess", [1, 60])
def test_where_fewer_pass_all_stay_and_there_is_no_threshold(guess: int) -> None:
    with randomness.using(Stream(1)):
        made = [priority(TABLE, RATE, 600, 10, Fraction(guess)) for _ in range(100)]
        filtered = [keep(TABLE, Zero(RATE, 10)) for _ in range(100)]
    assert {summary.tau for summary in made} == {0.0}
    sizes, others = ([len(summary.values) for summary in many] for many in (made, filtered))
    assert max(sizes) < 600
    assert stats.ks_2samp(sizes, others, method="asymp").pvalue > RARE


def test_large_counts_are_all_in_with_small_noise() -> None:
    sure = Table(RADICES, TABLE.codes, np.full(60, 10**12))
    with randomness.using(Stream(1)):
        filtered, sampled = keep(sure, Zero(RATE, 10**6)), priority(sure, RATE, 60, 1, Fraction(9))
    for made in (filtered, sampled):
        assert listed(made) == listed(Flat(TABLE.codes, TABLE.counts))
        assert np.abs(made.values - 10**12).max() < 200
    assert sampled.tau < 10**9


@pytest.mark.parametrize("radices", [(2**50, 2**50), (2,) * 100, (10**30 // 10**12, 10**12)])
def test_a_domain_of_any_size_will_do(radices: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    codes = np.array([rng.integers(0, radix, 500) for radix in radices])
    table = Table(radices, codes, np.full(500, 40))
    theta = int(62 / RATE)  # exp(-62) of some 10^30 cells, or about 1,000, pass
    for guess in (Fraction(theta), Fraction(10**6)):
        with randomness.using(Stream(1)):
            made = priority(table, RATE, 5, theta, guess)
        assert len(made.values) == 5
        assert np.abs(made.values).min() >= theta
        assert (made.codes.T < radices).all()
    with randomness.using(Stream(2)):
        unfiltered = priority(table, RATE, 1000, 1, Fraction(table.cells, 100))
    assert (len(unfiltered.values), table.cells) == (1000, np.prod(radices, dtype=object))
    assert unfiltered.tau > 1e24


def test_the_long_way_puts_counts_where_they_belong() -> None:
    table = Table((2, 3), np.array([[0, 1], [2, 1]]), np.array([10**6, 10**9]))
    with randomness.using(Stream(1)):
        noisy = full(table, Fraction(1))
    assert np.abs(noisy - [0, 0, 10**6, 0, 10**9, 0]).max() < 30


def test_places_that_decided_a_comparison_are_kept() -> None:
    law, below = Zero(Fraction(50), 2), Fraction(7)  # at this rate all values are 2
    tie = 2**65 // 7  # a priority of 2 / r is at 7, as far as 64 places can say
    first = [ONES, ONES, 0, 1]  # no digit, no more, a sign; a priority above 7
    others = [ONES] * 10 + [0] * 5 + [tie] + [1] * 17  # the same for 18 items
    with randomness.using(Listed([*first, *others, ONES])):
        values, drawn = _between(law, 1, below)
    assert values.tolist() == [2]
    with randomness.using(Forbidden()):
        assert drawn.interval(0, 128)[1] <= below
