"""Order statistics with ties, and exact concordance against double sums and simulation."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.privacy.errors import InvalidInput
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted.laws import DrawLaw, Law, SurvivalLaw
from tamis.weighted.order import above, below, concordance, expected_kendall, quantile, rank, top
from tests.plain import algorithm4, drawn, gaussian, whole_l

Floats = npt.NDArray[np.float64]

STEPS = Custom({1: 0.1, 20: 0.5, 40: 1})
SCHEMES: list[Scheme] = [
    Everything(),
    Pps(0.01),
    Pps(0.001, 2.0),
    Ppswor(0.05),
    STEPS,
    Custom({10: 0.3, 40: 1}),
]
PAIRS = [(2, 1), (5, 3), (12, 11), (30, 20), (41, 39), (60, 58), (60, 7)]
tokens = st.lists(st.integers(1, 6), min_size=1, max_size=30)


# --- order statistics ---------------------------------------------------------------------------


@given(tokens, st.integers(0, 40))
def test_top_leaves_out_no_higher_token_and_keeps_the_order_of_equals(
    values: list[int], k: int
) -> None:
    chosen = top(values, k).tolist()
    assert chosen == sorted(range(len(values)), key=lambda n: (-values[n], n))[:k]


@given(tokens, st.data())
def test_ranks_are_the_mean_of_what_ties_share(values: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(0, len(values) - 1))
    higher, lower = above(values, n), below(values, n)
    tied = len(values) - len(higher) - len(lower)
    assert all(values[m] > values[n] for m in higher)
    assert all(values[m] < values[n] for m in lower)
    assert tied == values.count(values[n])
    assert rank(values, n) == len(higher) + (tied + 1) / 2
    assert (
        rank(values, n)
        == sum(1 if v > values[n] else 0.5 if v == values[n] else 0 for v in values) + 0.5
    )  # a key is half above itself


@given(tokens)
def test_ranks_add_up(values: list[int]) -> None:
    n = len(values)
    assert sum(rank(values, m) for m in range(n)) == pytest.approx(n * (n + 1) / 2)


@given(tokens, st.data())
def test_a_quantile_is_the_lowest_value_that_enough_keys_do_not_exceed(
    values: list[int], data: st.DataObject
) -> None:
    k, n = data.draw(st.integers(1, len(values))), len(values)
    at = quantile(values, k / n)
    assert at == sorted(values)[k - 1]
    assert quantile([float(v) for v in values], k / n) == at
    assert quantile(values, 0) == min(values)
    assert quantile(values, 1) == max(values)


def test_rounding_of_p_times_n_does_not_move_a_quantile() -> None:
    values = list(range(1, 101))
    assert [quantile(values, k / 100) for k in range(1, 101)] == values
    assert quantile(values, 0.07 * 10) == 70


# --- concordance of whole tokens ----------------------------------------------------------------


def plain_concordance(plain: Floats, i1: int, i2: int) -> float:
    return sum(
        float(plain[i1, a] * plain[i2, b]) * (1.0 if a > b else 0.5 if a == b else 0.0)
        for a in range(i1 + 1)
        for b in range(i2 + 1)
    )


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (2.0, 0.1), (0.3, 0.01)])
def test_concordance_is_the_double_sum_over_tokens(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    law, plain = SurvivalLaw(epsilon, delta, scheme), algorithm4(epsilon, delta, scheme, 60)
    for i1, i2 in PAIRS[:6]:
        expected = plain_concordance(plain, i1, i2)
        assert concordance(law, i1, i2) == pytest.approx(expected, abs=1e-13)
        assert concordance(law, i2, i1) == concordance(law, i1, i2)


@pytest.mark.parametrize(
    "law",
    [
        gaussian(0.3, 1e-3),
        gaussian(0.3, 1e-3, 2),
        SurvivalLaw(1.0, 1e-3, Pps(0.001)),
        SurvivalLaw(1.0, 1e-3, STEPS),
    ],
    ids=["gaussian", "head start", "pps", "steps"],
)
def test_frequencies_without_a_common_token_are_ordered_unless_the_higher_is_missing(
    law: Law,
) -> None:
    for high, low in ((500, 40), (10**12, 40), (10**12, 10**11), (10**12, 10**12 - law.width)):
        more, less = float(law.reporting(high)), float(law.reporting(low))
        expected = more + (1 - more) * (1 - less) / 2
        assert concordance(law, high, low) == pytest.approx(expected, abs=1e-14)
        if isinstance(law, SurvivalLaw):
            assert concordance(law, high, low, fine=True) == pytest.approx(expected, abs=1e-13)


def simulated(higher: Floats, lower: Floats) -> tuple[float, float]:
    """Mean and standard error of "in the right order", where a tie is one half."""
    right = np.where(higher > lower, 1.0, np.where(higher == lower, 0.5, 0.0))
    return float(right.mean()), float(right.std()) / math.sqrt(len(right))


@pytest.mark.parametrize("scheme", [Everything(), Ppswor(0.05), STEPS], ids=repr)
@pytest.mark.parametrize(("i1", "i2"), [(30, 27), (12, 9)])
def test_simulation_accepts_the_concordance_and_rejects_one_3_percent_off(
    scheme: Scheme, i1: int, i2: int
) -> None:
    """|z| > 5 by chance: less than 1e-6."""
    law, rng = SurvivalLaw(0.4, 0.01, scheme), np.random.default_rng(5)
    mean, error = simulated(*(drawn(law.row(i), 400_000, rng) for i in (i1, i2)))
    exact = concordance(law, i1, i2)
    assert abs(mean - exact) < 5 * error
    assert abs(mean - 1.03 * exact) > 5 * error


# --- concordance of fine tokens -----------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-3), (2.0, 0.1), (0.1, 0.3)])
def test_fine_tokens_order_pairs_at_least_as_well_as_whole_ones(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    law = SurvivalLaw(epsilon, delta, scheme)
    gains = [concordance(law, *pair, fine=True) - concordance(law, *pair) for pair in PAIRS]
    assert min(gains) > -1e-13
    assert max(gains) < 0.05


@pytest.mark.parametrize(("epsilon", "steps"), [(1.0, 5), (0.5, 8), (2.0, 1)])
def test_fine_tokens_gain_nothing_without_sampling_when_l_is_whole(
    epsilon: float, steps: int
) -> None:
    law = SurvivalLaw(epsilon, whole_l(epsilon, steps), Everything())
    for pair in PAIRS:
        assert concordance(law, *pair, fine=True) == pytest.approx(
            concordance(law, *pair), abs=1e-12
        )
    broken = SurvivalLaw(epsilon, whole_l(epsilon, steps) * 1.5, Everything())
    assert concordance(broken, 60, 58, fine=True) > concordance(broken, 60, 58) + 1e-4


def survival(law: SurvivalLaw, i: int, x: Floats) -> Floats:
    """S_i(x) for real x, one token after the other from S_k(x) = min(pi_k, delta) (k - x)."""
    start = np.floor(x).astype(np.int64) + 1  # the token k that x lies in
    s = np.zeros_like(x)
    for k in range(1, i + 1):
        before, now = law.reporting([k - 1, k])
        e, d = math.exp(law.epsilon), law.delta
        terms = (now, d + e * s, 1 - (1 - d - s) / e, now - (before - d - s) / e)
        stepped = np.minimum.reduce(np.broadcast_arrays(*terms))
        born = min(now, d) * (k - x)
        s = np.where(k < start, 0.0, np.where(k == start, born, stepped))
    return s


@pytest.mark.parametrize("scheme", [Everything(), Ppswor(0.05), Pps(0.01), STEPS], ids=repr)
@pytest.mark.parametrize(("i1", "i2"), [(30, 27), (26, 19)])
def test_simulated_real_tokens_have_the_fine_concordance_and_not_the_whole_one(
    scheme: Scheme, i1: int, i2: int
) -> None:
    """|z| > 5 by chance: less than 1e-6. The sum over a fine grid settles what chance leaves."""
    law, rng = SurvivalLaw(2.0, 0.03, scheme), np.random.default_rng(9)
    grid = np.arange(0, i1 * 400 + 1) / 400
    high, low = (survival(law, i, grid) for i in (i1, i2))

    def fine_tokens(s: Floats) -> Floats:
        u = rng.random(400_000)
        return np.where(u < s[0], np.interp(u, s[::-1], grid[::-1]), 0.0)

    exact = concordance(law, i1, i2, fine=True)
    mean, error = simulated(fine_tokens(high), fine_tokens(low))
    assert abs(mean - exact) <= 5 * error
    between = (high[1:] + high[:-1]) / 2 @ -np.diff(low)
    on_grid = float(between + (1 - low[0]) * (1 + high[0]) / 2)
    assert on_grid == pytest.approx(exact, abs=1e-7)
    if i1 - i2 == 3:
        assert concordance(law, i1, i2) < exact - 1e-5


def test_far_pairs_share_no_fine_token() -> None:
    law = SurvivalLaw(1.0, 1e-3, Pps(0.01))
    near = concordance(law, 40 + law.width - 1, 40, fine=True)
    assert near == pytest.approx(concordance(law, 40 + law.width - 1, 40), abs=1e-13)


# --- Kendall's tau ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "law",
    [
        SurvivalLaw(1.0, 1e-3, Everything()),
        SurvivalLaw(0.5, 1e-3, Ppswor(0.01)),
        SurvivalLaw(1.0, 1e-3, STEPS),
        gaussian(0.4, 1e-4),
        gaussian(0.4, 1e-4, 3),
    ],
    ids=["histogram", "ppswor", "steps", "gaussian", "head start"],
)
def test_kendall_is_the_mean_over_pairs_of_different_frequency(law: Law) -> None:
    w = [3, 3, 3, 18, 19, 19, 40, 41, 200, 10**6, 10**6]
    pairs = [(a, b) for a, b in combinations(w, 2) if a != b]
    expected = np.mean([2 * concordance(law, a, b) - 1 for a, b in pairs])
    assert expected_kendall(law, w) == pytest.approx(float(expected), abs=1e-13)
    assert expected_kendall(law, w[::-1]) == expected_kendall(law, w)


def test_kendall_of_simulated_samples() -> None:
    """The mean of 300 samples is within 5 standard errors, but for less than 1e-6 of the time."""
    law, rng = SurvivalLaw(0.5, 1e-2, Pps(0.03)), np.random.default_rng(3)
    w = rng.integers(1, 60, 40)
    columns = np.stack([drawn(law.row(int(i)), 300, rng) for i in w])
    ordered = np.sign(columns[:, None] - columns[None]) * np.sign(w[:, None] - w[None])[..., None]
    tau = ordered.sum(axis=(0, 1)) / np.count_nonzero(w[:, None] != w[None])
    exact = expected_kendall(law, w)
    assert abs(tau.mean() - exact) < 5 * tau.std() / math.sqrt(300)
    assert abs(tau.mean() - expected_kendall(SurvivalLaw(0.5, 1e-2, Pps(0.02)), w)) > 0.05


def test_more_budget_and_more_sampling_order_better() -> None:
    w = np.arange(1, 200)
    by_budget = [expected_kendall(SurvivalLaw(e, 1e-4, Everything()), w) for e in (0.1, 0.3, 1, 3)]
    by_rate = [expected_kendall(SurvivalLaw(1.0, 1e-4, Pps(t)), w) for t in (0.001, 0.01, 0.1, 1)]
    assert by_budget == sorted(by_budget)
    assert by_rate == sorted(by_rate)
    assert 0 < by_rate[0] < by_rate[-1] == pytest.approx(by_budget[2])


# --- bad input ----------------------------------------------------------------------------------


def test_equal_frequencies_have_no_order() -> None:
    law = SurvivalLaw(1.0, 1e-3, Everything())
    with pytest.raises(InvalidInput, match="different frequencies"):
        concordance(law, 5, 5)
    for w in ([], [4], [4, 4]):
        with pytest.raises(InvalidInput, match="different frequencies"):
            expected_kendall(law, w)


def test_fine_tokens_need_the_survival_map() -> None:
    with pytest.raises(InvalidInput, match="SurvivalLaw"):
        concordance(DrawLaw(np.array([0.0, 0.5, 1.0])), 5, 4, fine=True)


@pytest.mark.parametrize("pair", [(0, 3), (3, -1), (2.5, 3), ("a", 1)])
def test_frequencies_are_whole_numbers_from_one_on(pair: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput, match="frequency"):
        concordance(SurvivalLaw(1.0, 1e-3, Everything()), *pair)


@pytest.mark.parametrize("values", [["a"], [[1, 2]], [1.0, math.nan]])
def test_what_has_no_order_is_refused(values: npt.ArrayLike) -> None:
    for call in (lambda: top(values, 1), lambda: quantile(values, 0.5), lambda: rank(values, 0)):
        with pytest.raises(InvalidInput, match="tokens"):
            call()


def test_positions_sizes_and_levels_outside_their_range_are_refused() -> None:
    with pytest.raises(InvalidInput, match="k must"):
        top([1, 2], -1)
    for p in (-0.1, 1.5, math.nan):
        with pytest.raises(InvalidInput, match="p must"):
            quantile([1, 2], p)
    with pytest.raises(InvalidInput, match="nothing was reported"):
        quantile([], 0.5)
    for call in (rank, above, below):
        with pytest.raises(InvalidInput, match="index must"):
            call([1, 2], 2)
    assert top([], 3).shape == (0,)
