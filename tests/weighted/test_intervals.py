"""Intervals: exact coverage at every frequency, and no more width than that takes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.privacy.errors import InvalidInput
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted import bands
from tamis.weighted.intervals import _ends, intervals
from tamis.weighted.laws import Column, DrawLaw, Law, SurvivalLaw
from tests.plain import algorithm4, gaussian

Floats = npt.NDArray[np.float64]

STEPS = Custom({1: 0.1, 20: 0.5, 40: 1})
LATE = Custom({10: 0.3, 40: 1})
SPARSE = Custom({1: 0.0005, 30: 0.02, 60: 0.9})
SCHEMES: list[Scheme] = [
    Everything(),
    Pps(0.01),
    Pps(0.001, 2.0),
    Pps(0.1, 0.5),
    Ppswor(0.05),
    STEPS,
    LATE,
    SPARSE,
]
LAWS: list[Law] = [
    *(SurvivalLaw(1.0, 1e-6, scheme) for scheme in SCHEMES),
    *(SurvivalLaw(0.3, 1e-3, scheme) for scheme in SCHEMES),
    *(SurvivalLaw(4.0, 0.2, scheme) for scheme in SCHEMES),
    gaussian(0.3, 1e-6),
    gaussian(0.3, 1e-7, 3),
    gaussian(1.5, 1e-3),
    gaussian(1.5, 1e-3, 1),
    DrawLaw(np.array([0.0, 0.25, 0.5, 0.75, 1.0])),
]


def named(law: Law) -> str:
    scheme = law.scheme.rule() if isinstance(law, SurvivalLaw) else law.head_start
    return f"{type(law).__name__}-{law.width}-{scheme}"


def covered(law: Law, last: int, *coverages: float) -> Floats:
    """Pr_i[low <= i <= high | reported], a row for each coverage and a column for i = 1, ..., last.

    Where i is never reported it is 1.
    """
    ahead = law.head_start
    ends = [intervals(law, np.arange(1, last + ahead + 1), c) for c in coverages]
    out = np.ones((len(coverages), last))
    for i, row in enumerate(bands.rows(law, np.arange(1, last + 1)), start=1):
        if row.sum() > 0:
            for n, (low, high) in enumerate(ends):
                mine = slice(i + ahead - len(row), i + ahead)
                inside = (low[mine] <= i) & (i <= high[mine])
                out[n, i - 1] = row[inside].sum() / row.sum()
    return out


# --- coverage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=named)
def test_coverage_holds_at_every_frequency(law: Law) -> None:
    last = 3 * law.width + 60 if law.width < 50 else 160
    wanted = np.array([0.5, 0.8, 0.95, 0.999])
    assert np.all(covered(law, last, *wanted) >= wanted[:, None] - 1e-12)


@st.composite
def laws(draw: st.DrawFn) -> SurvivalLaw:
    """Any budget, and any scheme of a few steps."""
    delta = draw(st.floats(1e-6, 0.9))
    starts = draw(st.lists(st.integers(1, 40), min_size=1, max_size=5, unique=True))
    q = st.one_of(st.floats(0, 1), st.floats(-7, 0).map(lambda x: 10**x))
    heights = draw(st.lists(q, min_size=len(starts), max_size=len(starts)))
    scheme = Custom(dict(zip(sorted(starts), sorted(heights), strict=True)))
    return SurvivalLaw(draw(st.floats(0.5, 8)), delta, scheme)


@settings(max_examples=50, deadline=None)
@given(laws(), st.floats(0.01, 0.999))
def test_coverage_holds_under_any_scheme(law: SurvivalLaw, coverage: float) -> None:
    assert np.all(covered(law, 60, coverage) >= coverage - 1e-12)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_intervals_are_the_rows_of_algorithm_4_inverted(scheme: Scheme) -> None:
    law, plain = SurvivalLaw(1.0, 1e-3, scheme), algorithm4(1.0, 1e-3, scheme, 60)
    low, high = intervals(law, np.arange(1, 61 - law.width), 0.94)
    for j in range(1, 61 - law.width):
        inside = [
            i
            for i in range(j, 61)
            if plain[i, j:].sum() > 0.03 * plain[i, 1:].sum()
            and plain[i, 1 : j + 1].sum() > 0.03 * plain[i, 1:].sum()
        ]
        if plain[:, j].max() > 1e-12:
            assert (low[j - 1], high[j - 1]) == (min(inside), max(inside))


def test_a_tail_of_exactly_alpha_over_two_is_left_out() -> None:
    """Four equally likely draws at coverage one half: two remain, and they are just enough."""
    law = DrawLaw(np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    low, high = intervals(law, [100], 0.5)
    assert (low[0], high[0]) == (101, 102)
    assert covered(law, 40, 0.5)[0, 20:].tolist() == [0.5] * 20
    assert intervals(law, [100], 0.5 + 1e-9)[1][0] == 103


def test_a_frequency_with_one_possible_token_is_in_its_interval() -> None:
    tiny = SurvivalLaw(1.0, 1e-3, Custom([5e-4]))  # q <= delta: token and frequency are the same
    low, high = intervals(tiny, [1, 2, 700], 0.5)
    assert low.tolist() == high.tolist() == [1, 2, 700]
    for law in LAWS:
        if float(law.reporting(1)) > 0:
            assert intervals(law, [1], 0.01)[0][0] == 1


def test_unconditional_coverage_would_be_useless_for_rare_keys() -> None:
    """A key that is reported with probability 2 in 1000 is covered when it is reported."""
    law = SurvivalLaw(1.0, 1e-6, Everything())
    assert float(law.reporting(8)) < 0.002
    assert covered(law, 8, 0.95)[0, 7] >= 0.95


# --- width --------------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("epsilon", [0.05, 0.2])
def test_the_histogram_has_the_width_of_laplace_noise(epsilon: float, coverage: float) -> None:
    law = SurvivalLaw(epsilon, 1e-9, Everything())
    low, high = intervals(law, [10**6], coverage)
    expected = 2 * math.log(1 / (1 - coverage)) / epsilon
    assert high[0] - low[0] == pytest.approx(expected, abs=2.5)


@pytest.mark.parametrize(("coverage", "z"), [(0.5, 0.6745), (0.9, 1.6449), (0.95, 1.9600)])
@pytest.mark.parametrize("mu", [0.02, 0.1])
def test_the_gaussian_curve_has_the_width_of_normal_theory(
    mu: float, coverage: float, z: float
) -> None:
    low, high = intervals(gaussian(mu, 1e-9), [10**6], coverage)
    assert high[0] - low[0] == pytest.approx(2 * z / mu, abs=2.5)


@pytest.mark.parametrize(
    "law",
    [
        SurvivalLaw(0.1, 1e-3, Everything()),
        SurvivalLaw(0.1, 1e-3, Pps(0.002)),
        SurvivalLaw(0.1, 1e-3, Ppswor(0.002)),
        gaussian(0.05, 1e-6),
        gaussian(0.05, 1e-6, 4),
    ],
    ids=named,
)
def test_intervals_cover_hardly_more_than_they_must(law: Law) -> None:
    assert np.all(covered(law, 400, 0.95)[0, 300:] < 0.965)


def test_intervals_shrink_with_coverage_and_move_up_with_the_token() -> None:
    for law in LAWS:
        tokens = np.arange(12, 120)
        nested = [intervals(law, tokens, c) for c in (0.99, 0.9, 0.5)]
        for (wide_low, wide_high), (low, high) in pairwise(nested):
            assert np.all((wide_low <= low) & (high <= wide_high))
        for low, high in nested:
            assert np.all(low <= high)
            assert np.all(np.diff(low) >= 0)
            assert np.all(np.diff(high) >= 0)


# --- edges --------------------------------------------------------------------------------------


def test_a_token_in_a_tail_of_every_frequency_gets_the_least_extreme_one() -> None:
    at_least = np.array([[0.01, 0.02, 0.99]])
    above = np.array([[0.0, 0.01, 0.985]])
    column = Column(np.array([[7, 8, 9]]), np.ones((1, 3)), at_least, above)
    assert _ends(column, 0.025).tolist() == [[1, 1]]
    assert _ends(column, 0.018).tolist() == [[1, 1]]
    assert _ends(column, 0.005).tolist() == [[0, 2]]


def test_high_tokens_repeated_tokens_and_no_tokens() -> None:
    for law in LAWS:
        tokens = np.array([10**15, 3, 77, 3, 10**15 + 1, 10**6])
        low, high = intervals(law, tokens)
        assert low.dtype == high.dtype == np.int64
        assert (low[4] - low[0], high[4] - high[0]) == (1, 1)
        for n, j in enumerate(tokens):
            alone = intervals(law, [j])
            assert (alone[0][0], alone[1][0]) == (low[n], high[n])
    assert [ends.shape for ends in intervals(LAWS[0], [])] == [(0,), (0,)]


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 95, math.nan])
def test_coverage_is_a_probability(coverage: float) -> None:
    with pytest.raises(InvalidInput, match="coverage"):
        intervals(LAWS[0], [1], coverage)


@pytest.mark.parametrize("tokens", [[0], [-3], [2.5], ["a"]])
def test_tokens_are_whole_numbers_from_one_on(tokens: npt.ArrayLike) -> None:
    with pytest.raises(InvalidInput, match="tokens"):
        intervals(LAWS[0], tokens)
