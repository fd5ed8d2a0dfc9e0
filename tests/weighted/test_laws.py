"""The paper's Algorithms 4 and 5, plainly and in 50 digits, against the integers and the floats.

The integers are rebuilt here column by column; a fine column begins inside a token, at the share of
its first words that stands for a real x between two whole ones.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.privacy import exact
from tamis.privacy.curves import ApproximateCurve
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Survival, U
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted.laws import DrawLaw, Law, SurvivalLaw
from tamis.weighted.mechanism import Mechanism

Real = Any  # an mpmath number
Rest = Callable[[Real, Real, Real], Real]
DIGITS, ROWS = 50, 40
CASES: list[tuple[float, float, Scheme]] = [
    (1.0, 1e-3, Everything()),
    (0.3, 1e-4, Everything()),
    (0.3, 1e-2, Pps(0.05)),
    (1.0, 1e-4, Pps(0.03)),
    (0.5, 1e-3, Ppswor(0.1)),
    (2.0, 1e-6, Ppswor(0.3, 0.5)),
    (0.4, 1e-3, Ppswor(0.01, 2)),
    (1.0, 1e-6, Custom({1: 0.01, 8: 0.4, 20: 0.9})),
    (0.2, 1e-2, Custom({1: 0.3, 5: 0.35, 12: 1})),
]


@pytest.fixture(autouse=True)
def _fifty_digits() -> Any:
    with mp.workdps(DIGITS):
        yield


def chance(scheme: Scheme, i: int) -> Real:
    """q(i) in many digits."""
    if isinstance(scheme, Pps | Ppswor):
        z = mp.mpf(repr(scheme.tau)) * mp.mpf(i) ** mp.mpf(repr(scheme.power))
        return min(mp.mpf(1), z) if isinstance(scheme, Pps) else -mp.expm1(-z)
    if isinstance(scheme, Custom):
        q = next(q for start, q in reversed(scheme.steps) if start <= i)
        return mp.mpf(q.numerator) / q.denominator
    return mp.mpf(1)


def reporting(e: Real, d: Real, scheme: Scheme, rows: int) -> list[Real]:
    """Algorithm 3."""
    pi = [mp.mpf(0)]
    for i in range(1, rows + 1):
        pi.append(min(chance(scheme, i), e * pi[-1] + d, 1 + (pi[-1] + d - 1) / e))
    return pi


def algorithm4(e: Real, d: Real, scheme: Scheme, rows: int = ROWS) -> list[list[Real]]:
    """Rows [pi_{i,0}, pi_{i,1}, ..., pi_{i,i}] as the paper prints them, line by line."""
    table = [[mp.mpf(1)]]
    for i, pi in enumerate(reporting(e, d, scheme, rows)[1:], start=1):
        old, new = table[-1], [1 - pi] + [mp.mpf(0)] * i
        spare = max(old[0] / e - new[0], mp.mpf(0))
        for j in range(1, i):
            least = (sum(old[1 : j + 1]) - d) / e - sum(new[1:j]) + spare
            new[j] = max(least, mp.mpf(0))
        left = pi - sum(new[1:i])
        for j in range(i, 0, -1):
            if left == 0:
                break
            most = e * sum(old[j:i]) + d - sum(new[j + 1 :])
            if most - new[j] <= left:
                left -= most - new[j]
                new[j] = most
            else:
                new[j] += left
                left = mp.mpf(0)
        table.append(new)
    return table


@dataclass(frozen=True)
class Density:
    """A law with a mass at 0 and a density that is constant between breakpoints."""

    zero: Real
    breaks: list[Real]
    heights: list[Real]  # one per stretch

    @cached_property
    def upto(self) -> list[Real]:
        """The mass between 0 and each breakpoint."""
        parts = zip(pairwise(self.breaks), self.heights, strict=True)
        return list(accumulate((h * (b - a) for (a, b), h in parts), initial=mp.mpf(0)))

    def mass(self, start: Real, stop: Real) -> Real:
        return self._below(stop) - self._below(start)

    def _below(self, x: Real) -> Real:
        n = min(bisect_right(self.breaks, x), len(self.breaks)) - 1
        spare = self.heights[n] * (x - self.breaks[n]) if n < len(self.heights) else mp.mpf(0)
        return self.upto[n] + spare

    def at(self, x: Real) -> Real:
        """The density just below x."""
        n = bisect_left(self.breaks, x) - 1
        return self.heights[n] if 0 <= n < len(self.heights) else mp.mpf(0)


def rest_corrected(e: Real, old: Real, new: Real) -> Real:
    return max(mp.mpf(0), old - e * new)


def rest_printed(e: Real, old: Real, new: Real) -> Real:
    return max(mp.mpf(0), old / e - new)


def solve(breaks: list[Real], value: Callable[[Real], Real], target: Real) -> Real:
    """Where a function that is linear between breakpoints and monotone takes a value."""
    values = [value(x) for x in breaks]
    for (a, b), (left, right) in zip(pairwise(breaks), pairwise(values), strict=True):
        if min(left, right) <= target <= max(left, right) and left != right:
            return a + (b - a) * (target - left) / (right - left)
    return min(zip(breaks, values, strict=True), key=lambda pair: abs(pair[1] - target))[0]


def next_density(e: Real, d: Real, old: Density, pi: Real, rest: Rest) -> Density:
    """One turn of the loop of Algorithm 5."""
    zero, top, end = 1 - pi, min(pi, d), old.breaks[-1]
    spare = rest(e, old.zero, zero)
    b = end  # f_L is 0 up to b, and f_{i-1} / e after it
    if spare + old.mass(mp.mpf(0), end) > d:
        b = solve(old.breaks, lambda z: spare + old.mass(mp.mpf(0), z), d)
    marks = sorted({*old.breaks, b})
    c = solve(marks, lambda z: old.mass(min(b, z), z) / e + e * old.mass(z, end), pi - top)
    breaks, heights = sorted({*marks, c, end + 1}), []
    for x in breaks[1:]:
        lower = old.at(x) / e if x > b else mp.mpf(0)
        heights.append(top if x > end else e * old.at(x) if x > c else lower)
    return Density(zero, breaks, heights)


def algorithm5(
    e: Real, d: Real, scheme: Scheme, rows: int, rest: Rest = rest_corrected
) -> list[Density]:
    """The densities f_i, with b_i as ``rest`` says: corrected, or as printed."""
    laws = [Density(mp.mpf(1), [mp.mpf(0)], [])]
    for pi in reporting(e, d, scheme, rows)[1:]:
        laws.append(next_density(e, d, laws[-1], pi, rest))
    return laws


def excess(e: Real, one: Density, other: Density) -> Real:
    """The sum of max(0, one - e other): the true delta of a pair of laws."""
    breaks = sorted({*one.breaks, *other.breaks})
    total = max(mp.mpf(0), one.zero - e * other.zero)
    for a, b in pairwise(breaks):
        total += (b - a) * max(mp.mpf(0), one.at(b) - e * other.at(b))
    return total


class Integers:
    """T_i of any column, from the rule alone: T_k = t inside token k, and then the map."""

    def __init__(self, epsilon: float, delta: float, scheme: Scheme, rows: int = ROWS) -> None:
        self.law: Survival = exact.survival(ApproximateCurve(epsilon, delta), scheme.rule())
        self.P = [self.law.reporting(i) for i in range(rows + 1)]

    def column(self, k: int, t: int = 0) -> dict[int, int]:
        """{i: T_i} from i = k on."""
        M, one, D, found = self.law.M, 1 << self.law.k, self.law.D, {k: t}
        for i in range(k + 1, len(self.P)):
            s, now, before = found[i - 1], self.P[i], self.P[i - 1]
            third, fourth = -((U - D - s) * one // -M), -((before - D - s) * one // -M)
            found[i] = min(now, D + s * M // one, U - third, now - fourth)
        return found


def agrees(words: int, true: Real) -> bool:
    return bool(abs(mp.mpf(words) / U - true) <= mp.mpf("1e-15") * true + mp.mpf("1e-30"))


# --- Algorithm 4 and whole tokens ---------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), CASES, ids=repr)
def test_the_integers_are_algorithm_4(epsilon: float, delta: float, scheme: Scheme) -> None:
    table = algorithm4(mp.exp(mp.mpf(repr(epsilon))), mp.mpf(repr(delta)), scheme)
    integers = Integers(epsilon, delta, scheme)
    for x in range(ROWS):
        for i, words in integers.column(x).items():
            assert agrees(words, sum(table[i][x + 1 :], mp.mpf(0)))
    for i, words in enumerate(integers.P):
        assert agrees(words, 1 - table[i][0])


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), CASES, ids=repr)
def test_the_rows_that_the_checker_sees_are_algorithm_4(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    table = algorithm4(mp.exp(mp.mpf(repr(epsilon))), mp.mpf(repr(delta)), scheme)
    law = exact.survival(ApproximateCurve(epsilon, delta), scheme.rule())
    for i, _, new in law.rows(1, {}):
        true = [sum(table[i][x + 1 :], mp.mpf(0)) for x in range(i - len(new) + 2, i)]
        assert new[:2] == [U, law.reporting(i)]
        assert all(agrees(t, s) for t, s in zip(new[2:], true, strict=True))
        if i == ROWS:
            break


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), CASES, ids=repr)
def test_algorithm_4_is_private(epsilon: float, delta: float, scheme: Scheme) -> None:
    e, d = mp.exp(mp.mpf(repr(epsilon))), mp.mpf(repr(delta))
    for old, new in pairwise(algorithm4(e, d, scheme)):
        for one, other in (([*old, mp.mpf(0)], new), (new, [*old, mp.mpf(0)])):
            spent = sum(max(mp.mpf(0), a - e * b) for a, b in zip(one, other, strict=True))
            assert spent <= d * (1 + mp.mpf("1e-40"))


# --- Algorithm 5 and fine tokens ----------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), CASES, ids=repr)
def test_the_integers_are_the_corrected_algorithm_5(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    rows = 30
    laws = algorithm5(mp.exp(mp.mpf(repr(epsilon))), mp.mpf(repr(delta)), scheme, rows)
    integers = Integers(epsilon, delta, scheme, rows)
    pieces = integers.law.pieces(0, rows + 20)
    for k in range(1, rows + 1):
        top = min(integers.P[k], integers.law.D)
        for t in {0, top // 3, *pieces.get(k, [])}:
            x = k - mp.mpf(t) / top  # S_k falls linearly from top to 0 on (k - 1, k]
            for i, words in integers.column(k, t).items():
                assert agrees(words, laws[i].mass(x, mp.mpf(i)))


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), CASES, ids=repr)
def test_the_corrected_algorithm_5_is_private(epsilon: float, delta: float, scheme: Scheme) -> None:
    e, d = mp.exp(mp.mpf(repr(epsilon))), mp.mpf(repr(delta))
    for old, new in pairwise(algorithm5(e, d, scheme, 30)):
        assert excess(e, new, old) <= d * (1 + mp.mpf("1e-40"))
        assert excess(e, old, new) <= d * (1 + mp.mpf("1e-40"))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_algorithm_5_as_printed_spends_too_much_by_the_factor_of_the_errata(epsilon: float) -> None:
    e, d = mp.exp(mp.mpf(repr(epsilon))), mp.mpf("1e-3")
    laws = algorithm5(e, d, Everything(), 30, rest_printed)
    spent = max(excess(e, old, new) for old, new in pairwise(laws))
    assert spent > mp.mpf("1.2") * d
    assert abs(spent / d - (2 - 1 / e)) < mp.mpf("1e-6")


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), CASES, ids=repr)
def test_cutting_tokens_where_the_pieces_say_loses_nothing_against_the_continuum(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    """Every kink of a row lies on a column, so a row is a line between columns."""
    rows = 18
    integers = Integers(epsilon, delta, scheme, rows)
    pieces = integers.law.pieces(0, rows)
    for k in range(1, rows):
        top = min(integers.P[k], integers.law.D)
        places = [0, *sorted(pieces.get(k, [])), top]
        for a, b in pairwise(places):
            if b - a < 2**60:
                continue
            ends, middle = (integers.column(k, a), integers.column(k, b)), (a + b) // 2
            for i, words in integers.column(k, middle).items():
                line = (ends[0][i] + ends[1][i]) // 2
                assert abs(words - line) <= 2**40


# --- the law in floating point ------------------------------------------------------------------


def law_of(epsilon: float, delta: float, scheme: Scheme) -> Law:
    return Mechanism(Guarantee(epsilon, delta), scheme).law


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), CASES, ids=repr)
def test_rows_in_floating_point_are_the_integers(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    law, integers = law_of(epsilon, delta, scheme), Integers(epsilon, delta, scheme, 60)
    columns = [integers.column(x) for x in range(60)]
    for i in (1, 2, 7, 30, 60):
        tokens, chances = law.row(i)
        true = {x + 1: columns[x][i] - columns[x + 1].get(i, 0) for x in range(i - 1)}
        true[1] = integers.P[i] - (columns[1].get(i, 0) if i > 1 else 0)
        true[i] = columns[i - 1][i] if i > 1 else integers.P[i]
        found = dict(zip(tokens.tolist(), chances.tolist(), strict=True))
        assert sum(chances) == pytest.approx(integers.P[i] / U, rel=1e-12)
        for token, words in true.items():
            assert found.get(token, 0) == pytest.approx(words / U, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), CASES, ids=repr)
def test_reporting_in_floating_point_is_the_integers(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    law, integers = law_of(epsilon, delta, scheme), Mechanism(Guarantee(epsilon, delta), scheme)
    frequencies = np.array([0, 1, 2, 3, 10, 50, 51, 200, 10**4, 10**9, 10**15])
    exactly = [integers.integers.reporting(int(i)) / U for i in frequencies]
    assert law.reporting(frequencies) == pytest.approx(exactly, rel=1e-11)
    assert law.reporting(frequencies.reshape(-1, 1)).shape == (11, 1)


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), CASES, ids=repr)
def test_columns_and_rows_tell_the_same(epsilon: float, delta: float, scheme: Scheme) -> None:
    law = law_of(epsilon, delta, scheme)
    tokens = np.array([1, 2, 5, 17, 10**6])
    found = law.columns(tokens)
    assert found.frequencies[:, 0].tolist() == tokens.tolist()
    for n, token in enumerate(tokens):
        for m in (0, 1, found.frequencies.shape[1] // 2, found.frequencies.shape[1] - 1):
            i = int(found.frequencies[n, m])
            places, chances = law.row(i)
            row = dict(zip(places.tolist(), chances.tolist(), strict=True))
            assert found.exactly[n, m] == pytest.approx(row.get(int(token), 0), rel=1e-7, abs=1e-13)
            above = sum(chance for j, chance in row.items() if j > token)
            assert found.above[n, m] == pytest.approx(above, rel=1e-9, abs=1e-13)
            assert found.reporting[n, m] == pytest.approx(sum(row.values()), rel=1e-9)


def floats_fall(values: npt.NDArray[np.float64]) -> bool:
    return bool((np.diff(values) <= 1e-15).all())


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.2, 5),
    st.floats(-9, -2).map(lambda x: 10**x),
    st.sampled_from([Everything(), Pps(0.01), Ppswor(0.02), Ppswor(1e-3, 2), Custom([0.1, 0.5])]),
    st.integers(1, 10**6),
)
def test_a_higher_frequency_never_lowers_the_token(
    epsilon: float, delta: float, scheme: Scheme, i: int
) -> None:
    law = law_of(epsilon, delta, scheme)
    assert law.reporting([i])[0] <= law.reporting([i + 1])[0] <= 1
    low, high = law.row(i), law.row(i + 1)
    for x in np.linspace(max(0, i - 40), i, 9):
        below = float(low[1][low[0] > x].sum())
        above = float(high[1][high[0] > x].sum())
        assert below <= above + 1e-12
    assert (low[1] >= -1e-12).all()
    assert floats_fall(-low[0].astype(np.float64))
    assert len(low[0]) <= law.width


@pytest.mark.parametrize("start", [0, 1, 3])
def test_a_head_start_adds_to_the_frequency_of_keys_that_occur_and_of_no_other(start: int) -> None:
    """From the definition: token = frequency + start - D, and not named if that is below 1."""
    cumulative = np.array([0.0, 0.1, 0.3, 0.7, 0.9, 1.0])
    law, mass = DrawLaw(cumulative, start), np.diff(cumulative)
    probability = np.zeros((40, 50))
    for i in range(1, 40):
        for d, p in enumerate(mass):
            probability[i, max(0, i + start - d)] += p
    probability[0, 0] = 1
    named = 1 - probability[:, 0]
    np.testing.assert_allclose(law.reporting(np.arange(-3, 40))[3:], named, atol=1e-15)
    assert not law.reporting([-3, -1, 0]).any()
    for i in range(1, 40):
        tokens, row = law.row(i)
        np.testing.assert_allclose(row, probability[i, tokens], atol=1e-15)
        assert row.sum() == pytest.approx(named[i])
    said = law.columns([1, 2, 3, 4, 20])
    for n, j in enumerate([1, 2, 3, 4, 20]):
        i = said.frequencies[n]
        inside = np.where(i > 0, i, 0)
        occurs = i > 0
        np.testing.assert_allclose(said.exactly[n], probability[inside, j] * occurs, atol=1e-15)
        above = probability[inside, j + 1 :].sum(axis=1) * occurs
        np.testing.assert_allclose(said.above[n], above, atol=1e-15)
        np.testing.assert_allclose(said.reporting[n], named[inside], atol=1e-15)
        assert probability[1:, j].sum() == pytest.approx(said.exactly[n].sum())


def test_width_in_floating_point_bounds_the_integers() -> None:
    for epsilon, delta in ((0.1, 1e-9), (0.3, 1e-4), (1.0, 1e-6), (5.0, 1e-3)):
        law = SurvivalLaw(epsilon, delta, Pps(0.01))
        integers = exact.survival(ApproximateCurve(epsilon, delta), Pps(0.01).rule())
        assert abs(law.width - integers.width()) <= 3
        assert law.width >= 3 * math.log(1 / delta) / epsilon
        assert DrawLaw(np.array([0, 0.5, 1.0])).width == 2
