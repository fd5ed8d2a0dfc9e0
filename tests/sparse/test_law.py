"""A cell that holds nothing: its closed form is the sum it stands for, and keeps the promise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from tamis.privacy import randomness
from tamis.privacy.reals import Interval, Real, enclose
from tamis.sparse.law import Zero
from tests.sources import Stream

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DIGITS = 80
CLOSE = mp.mpf(10) ** -50
RARE = 1e-4  # the seeds are fixed; a wrong law is at least five standard deviations away


def number(value: Fraction | int) -> Any:
    return mp.mpf(Fraction(value).numerator) / Fraction(value).denominator


def middle(interval: Interval) -> Any:
    return (mp.mpf(str(interval.low)) + mp.mpf(str(interval.high))) / 2


def stays(law: Zero, v: int) -> Any:
    """The probability that a noisy value is in the summary: the definition."""
    if (v if law.one_sided else abs(v)) < law.theta:
        return mp.mpf(0)
    return min(mp.mpf(1), abs(v) / number(law.tau)) if law.tau > law.theta else mp.mpf(1)


def laborious(law: Zero, count: int, reach: int) -> list[Any]:
    """How likely the values -reach, ..., reach are for a cell of this count, the long way."""
    a = mp.exp(-number(law.rate))
    noise = [(1 - a) / (1 + a) * a**x for x in range(reach + count + 1)]
    return [noise[abs(v - count)] * stays(law, v) for v in range(-reach, reach + 1)]


def chosen(law: Zero, count: int) -> Any:
    """The sum of these over all values: term by term, and from where all stay as a series."""
    a, reach = mp.exp(-number(law.rate)), max(law.theta, law.whole + 1, count)
    values = laborious(law, count, reach)
    return mp.fsum(values) + (values[0] + values[-1]) * a / (1 - a)


GRID = [
    Zero(rate, theta, tau, one_sided)
    for rate, theta, tau, one_sided in product(
        (Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(4)),
        (1, 2, 9),
        (Fraction(0), Fraction(5, 7), Fraction(2), Fraction(5, 2), Fraction(9), Fraction(97, 10)),
        (False, True),
    )
] + [Zero(Fraction(1, 10), 30, Fraction(2001, 7)), Zero(Fraction(1, 10), 1, Fraction(300))]


# --- the probability ----------------------------------------------------------------------------


def test_p_is_the_sum_over_all_values() -> None:
    with mp.workdps(100):
        for law in GRID:
            assert abs(middle(law.p(DIGITS)) / chosen(law, 0) - 1) < CLOSE, law


def by_moments(rate: Fraction, theta: int, tau: Fraction) -> Any:
    """The same in a form that cancels badly, and so with very many digits: any tau will do."""
    a, t = mp.exp(-number(rate)), int(tau)

    def below(n: int) -> Any:  # the sum of x a^x over x < n
        return a * (1 - n * a ** (n - 1) + (n - 1) * a**n) / (1 - a) ** 2

    inner = (below(t + 1) - below(theta)) / number(tau)
    return 2 * (1 - a) / (1 + a) * (inner + a ** (t + 1) / (1 - a))


@pytest.mark.parametrize(
    "law",
    [
        Zero(Fraction(1, 10**12), 1, Fraction(10**9)),
        Zero(Fraction(1, 10**12), 1, Fraction(10**10 + 1, 10)),
        Zero(Fraction(1, 10**12), 10**6, Fraction(10**9)),
        Zero(Fraction(1, 10), 1, Fraction(10**26)),
        Zero(Fraction(1, 10), 500, Fraction(10**26 + 1, 3)),
        Zero(Fraction(1, 3), 2, Fraction(97, 10)),
    ],
    ids=repr,
)
def test_nothing_cancels_where_the_noise_or_the_threshold_is_large(law: Zero) -> None:
    with mp.workdps(400):
        expected = by_moments(law.rate, law.theta, law.tau)
        assert abs(middle(law.p(DIGITS)) / expected - 1) < CLOSE
        assert law.p(40).high - law.p(40).low < law.p(40).high / 10**20


def test_a_threshold_at_most_theta_samples_nothing() -> None:
    plain = Zero(Fraction(1, 3), 5)
    for tau in (Fraction(1, 2), Fraction(4), Fraction(5)):
        law = replace(plain, tau=tau)
        assert not law.sampled
        assert law.p(40) == plain.p(40)
    just_above = replace(plain, tau=5 + Fraction(1, 10**30))
    assert just_above.sampled
    with mp.workdps(100):
        assert abs(middle(just_above.p(DIGITS)) / middle(plain.p(DIGITS)) - 1) < 1e-30


def test_the_papers_p_is_right_for_whole_tau_only() -> None:
    rate = Fraction(1, 3)
    with mp.workdps(100):
        a = mp.exp(-number(rate))
        for tau in (Fraction(4), Fraction(9, 2)):
            printed = 2 * a * (1 - a ** number(tau)) / (number(tau) * (1 - a**2))
            off = abs(printed / chosen(Zero(rate, 1, tau), 0) - 1)
            assert off < CLOSE if tau.denominator == 1 else off > 1e-3


# --- the values ---------------------------------------------------------------------------------


def shortcut(law: Zero, reach: int) -> list[Any]:
    """The same for a cell of count 0 from what is drawn: p, then J by its weights, G and a sign."""
    p, sizes = middle(law.p(DIGITS)), given_chosen(law, reach)
    if law.one_sided:
        return [0] * (reach + 1) + [p * size for size in sizes[1:]]
    return [p * sizes[abs(v)] / 2 for v in range(-reach, reach + 1)]


def given_chosen(law: Zero, reach: int) -> list[Any]:
    """Pr[J + G = x] for x = 0, ..., reach."""
    a, starts = mp.exp(-number(law.rate)), start(law)
    sizes = [mp.mpf(0)]
    for x in range(1, reach + 1):
        sizes.append(a * sizes[-1] + (1 - a) * starts.get(x, 0))
    return sizes


def start(law: Zero) -> dict[int, Any]:
    """Pr[J = j]."""
    if not law.sampled:
        return {law.theta: mp.mpf(1)}
    first, last = (middle(Real(share, (law,))(DIGITS)) for share in (Zero._first, Zero._last))
    a, steps = mp.exp(-number(law.rate)), law.whole - law.theta
    starts = {law.theta: first, law.whole + 1: (1 - first) * last}
    for i in range(steps):  # what is left of a geometric variable after division by steps
        starts[law.theta + 1 + i] = (1 - first) * (1 - last) * (1 - a) * a**i / (1 - a**steps)
    return starts


def test_a_value_is_as_likely_as_the_long_way() -> None:
    with mp.workdps(100):
        for law in GRID:
            pairs = zip(shortcut(law, 14), laborious(law, 0, 14), strict=True)
            assert all(abs(short - long) <= CLOSE * long for short, long in pairs), law


VALUES = [
    Zero(Fraction(1, 10), 20),
    Zero(Fraction(1, 10), 20, one_sided=True),
    Zero(Fraction(1, 10), 1, Fraction(25, 2)),
    Zero(Fraction(1, 10), 4, Fraction(25), one_sided=True),
    Zero(Fraction(1, 2), 3, Fraction(7, 2)),  # nothing between theta and tau
    Zero(Fraction(1, 2), 3, Fraction(10)),
    Zero(Fraction(1, 1000), 50, Fraction(6001, 2)),
    Zero(Fraction(1, 10), 1, Fraction(10) ** 26),  # T does not fit into 64 bits
]


def fit(sizes: Ints, law: Zero, rate: float) -> float:
    """The p-value of Pr[x] proportional to min(x, tau) a^x, in classes of at least 2 %."""
    x = np.arange(law.theta, law.theta + int(60 / law.rate))
    weight = np.minimum(x, float(law.tau) if law.sampled else 1.0) * np.exp(-rate * (x - x[0]))
    reached = np.cumsum(weight) / weight.sum()
    ends = np.searchsorted(reached, np.arange(0.02, 0.99, 0.02))
    ends = np.unique(ends[ends < len(x) - 1])
    seen = np.bincount(np.searchsorted(x[ends], sizes), minlength=len(ends) + 1)
    share = np.diff(reached[ends], prepend=0, append=1)
    return float(stats.chisquare(seen, share * len(sizes)).pvalue)


@pytest.mark.parametrize("law", VALUES, ids=repr)
def test_values_have_their_law_and_not_one_three_percent_off(law: Zero) -> None:
    with randomness.using(Stream(1)):
        values = law.values(300_000)
    assert fit(np.abs(values), law, float(law.rate)) > RARE
    assert fit(np.abs(values), law, float(law.rate) * 1.03) < RARE
    assert fit(np.abs(values), law, float(law.rate) / 1.03) < RARE
    positive = int(np.count_nonzero(values > 0))
    if law.one_sided:
        assert positive == len(values)
    else:
        assert stats.binomtest(positive, len(values)).pvalue > RARE


@pytest.mark.parametrize("wrong", [Fraction(97, 100), Fraction(103, 100)])
def test_values_at_a_threshold_three_percent_off_are_told_apart(wrong: Fraction) -> None:
    law = Zero(Fraction(1, 10), 1, Fraction(25, 2))
    with randomness.using(Stream(2)):
        sizes = np.abs(replace(law, tau=law.tau * wrong).values(1_000_000))
    assert fit(sizes, law, float(law.rate)) < RARE
    assert fit(sizes, replace(law, tau=law.tau * wrong), float(law.rate)) > RARE


# --- privacy ------------------------------------------------------------------------------------


def row(law: Zero, count: int, reach: int) -> list[Any]:
    """The law of one cell: the values -reach, ..., reach, and "absent".

    A count of 0 is taken from the shortcut, others from the definition.
    """
    if count == 0:
        return [*shortcut(law, reach), 1 - middle(law.p(DIGITS))]
    return [*laborious(law, count, reach), 1 - chosen(law, count)]


def largest_loss(law: Zero, count: int) -> Any:
    """The largest |log-ratio| of an output between this count and one more.

    From some value on ratios no longer change. What one of the two cannot give, neither can.
    """
    reach = max(law.theta, law.whole + 1, count + 1) + 2
    both = list(zip(row(law, count, reach), row(law, count + 1, reach), strict=True))
    assert all(bool(p) == bool(q) for p, q in both)
    return max(abs(mp.log(p / q)) for p, q in both if p)


def test_no_output_of_a_cell_tells_more_than_epsilon() -> None:
    with mp.workdps(100):
        for law in GRID:
            for count in {0, 1, law.theta - 1, law.theta, law.whole, law.whole + 1}:
                loss = largest_loss(law, count)
                assert loss <= number(law.rate) * (1 + CLOSE), (law, count)


def test_the_promise_is_used_up() -> None:
    with mp.workdps(100):
        for law in GRID:
            assert largest_loss(law, 0) > number(law.rate) * (1 - CLOSE)


@pytest.mark.parametrize(
    ("percent", "one_sided"),
    [(97, False), (103, False), (97, True)],  # one-sided: too large a p only hides more
)
def test_a_p_that_is_three_percent_off_breaks_the_promise(
    percent: int, one_sided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Zero._p
    monkeypatch.setattr(Zero, "_p", lambda law, digits: right(law, digits) * Fraction(percent, 100))
    with mp.workdps(100):
        for law in GRID:
            if law.one_sided == one_sided:
                assert largest_loss(law, 0) > number(law.rate) + 0.029


@pytest.mark.parametrize("tau", [Fraction(5, 2), Fraction(97, 10)])
def test_values_drawn_for_the_whole_part_of_tau_break_the_promise(
    tau: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    law, right = Zero(Fraction(1, 3), 1, tau), Zero.weights
    monkeypatch.setattr(
        Zero, "weights", lambda law, digits: (*right(law, digits)[:2], Interval.of(0, digits))
    )
    with mp.workdps(100):
        assert largest_loss(law, 0) > number(law.rate) * 1.01


def test_a_coin_is_compared_with_this_p() -> None:
    for law in GRID:
        low, high = enclose(law.p, 200)
        with mp.workdps(100):
            assert low <= chosen(law, 0) * mp.mpf(2) ** 200 <= high
