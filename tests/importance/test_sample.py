"""Each point is sampled by a coin of its own, at the odds that its weight says, and no other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tamis.importance.amplification import amplified
from tamis.importance.profiles import LaplaceSum, Profile
from tamis.importance.sample import WeightedSample, poisson
from tamis.importance.samplers import Coreset, Optimal, Sampler, Uniform
from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tests.sources import Counted, Forbidden, Listed

Floats = npt.NDArray[np.float64]
Draw = Callable[[Floats], WeightedSample]

RARE = 1e-6  # a right law fails a statistical test this often


class Given(Sampler):
    """Any odds: the first coordinate of a point is its own."""

    def probability(self, points: npt.ArrayLike) -> Floats:
        return np.asarray(points)[:, 0]

    def epsilon(self, profile: Profile, radius: float) -> float:
        return math.inf

    def describe(self) -> dict[str, Any]:
        return {}


# --- exact coins --------------------------------------------------------------------------------


def sampled(q: float, word: int) -> bool:
    """Is a point of these odds sampled when the word is this one?"""
    with randomness.using(Listed([word])):
        return len(poisson([[q]], Given())) == 1


@given(st.one_of(st.floats(0, 1), st.floats(0, 1e-14), st.floats(1 - 1e-14, 1)))
def test_a_point_is_sampled_for_as_many_words_as_its_odds_rounded_up(q: float) -> None:
    units = math.ceil(Fraction(q) * 2**53)
    assert units == 0 or sampled(q, (units << 11) - 1)
    assert units == 2**53 or not sampled(q, units << 11)


@given(st.floats(0, 1, exclude_min=True))
def test_a_weight_is_one_over_the_odds_rounded_down(q: float) -> None:
    with randomness.using(Listed([0])):
        weight = Fraction(float(poisson([[q]], Given()).weights[0]))
    true = Fraction(2**53, math.ceil(Fraction(q) * 2**53))
    assert true * (1 - Fraction(1, 2**51)) <= weight <= true


coordinates = st.lists(st.floats(-10, 10), min_size=3, max_size=3)
samplers = st.one_of(
    st.builds(Uniform, st.floats(1e-3, 1)),
    st.builds(Coreset, st.floats(1e-3, 1), st.floats(0.1, 100), st.floats(0.01, 1)),
    st.builds(Optimal, st.just(LaplaceSum(15.0)), st.floats(2.1, 30)),
)


@given(coordinates, samplers)
def test_no_rounding_of_coins_and_weights_breaks_the_promise(
    point: list[float], sampler: Sampler
) -> None:
    """The loss at the odds and the weight that are really used, to 60 digits."""
    q = math.ceil(Fraction(float(sampler.probability([point])[0])) * 2**53)
    if q == 0:
        return
    with randomness.using(Listed([0])), mpmath.workdps(60):
        weight = mpmath.mpf(float(poisson([point], sampler).weights[0]))
        norm = sum(mpmath.mpf(abs(x)) for x in point)
        lost = mpmath.log(1 + mpmath.mpf(q) / 2**53 * mpmath.expm1(weight * norm / 15))
        assert lost <= sampler.epsilon(LaplaceSum(15.0), max(float(norm), 30.0))


@pytest.mark.parametrize("power", range(54))
def test_weights_that_are_powers_of_two_are_exact(power: int) -> None:
    with randomness.using(Listed([0])):
        assert poisson([[2.0**-power]], Given()).weights.tolist() == [2.0**power]


def test_what_is_certain_is_always_there_and_what_has_no_odds_never() -> None:
    with randomness.using(Listed([2**64 - 1, 0])):
        assert poisson([[1.0, 7.0], [0.0, 8.0]], Given()).points.tolist() == [[1.0, 7.0]]


def test_each_point_takes_one_word_and_the_order_is_kept() -> None:
    points, source = np.arange(300_000.0).reshape(-1, 1), Counted()
    with randomness.using(source):
        kept = poisson(points, Uniform(0.5)).points[:, 0]
    assert source.drawn == len(points)
    assert (np.diff(kept) > 0).all()


# --- the coins, many times over -----------------------------------------------------------------


def p_value(q: float, used: float, times: int) -> float:
    """How surprising the number of heads at odds ``used`` is, if the odds were q."""
    points = np.broadcast_to(np.array([[used]]), (times, 1))
    return float(stats.binomtest(len(poisson(points, Given())), times, q).pvalue)


@pytest.mark.parametrize("q", [0.5, 0.001, 0.999])
def test_points_are_sampled_as_often_as_their_odds_say(q: float) -> None:
    assert p_value(q, q, 1_000_000) > RARE


@pytest.mark.parametrize(
    ("q", "times"),
    [
        (0.5, 1_000_000),
        pytest.param(0.001, 30_000_000, marks=pytest.mark.slow),
        pytest.param(0.999, 30_000_000, marks=pytest.mark.slow),
    ],
)
def test_odds_that_are_off_by_a_few_per_cent_would_be_noticed(q: float, times: int) -> None:
    """6 per cent of the rarer side are 10 standard deviations or more."""
    off = 0.06 * min(q, 1 - q)
    assert p_value(q, q, times) > RARE
    assert p_value(q, q - off, times) < RARE
    assert p_value(q, q + off, times) < RARE


def bits(source: randomness.Source, odds: Floats) -> npt.NDArray[np.bool_]:
    """Which points were sampled."""
    with randomness.using(source):
        points = np.stack([odds, np.arange(len(odds))], axis=1)
        kept = poisson(points, Given()).points[:, 1].astype(np.int64)
    found = np.zeros(len(odds), dtype=np.bool_)
    found[kept] = True
    return found


def covariance_score(found: npt.NDArray[np.bool_], odds: Floats, lag: int) -> float:
    """The covariance of points that stand ``lag`` apart, in standard deviations."""
    off = (found - odds) / np.sqrt(odds * (1 - odds))
    return float((off[lag:] * off[:-lag]).mean() * math.sqrt(len(off) - lag))


class Twice:
    """Gives every word twice: neighbours share a coin."""

    def words(self, n: int) -> randomness.Words:
        return np.repeat(randomness.OperatingSystem().words(-(-n // 2)), 2)[:n]


MIXED = np.random.default_rng(3).uniform(0.05, 0.95, 1_000_000)


@pytest.mark.parametrize("lag", [1, 2, 3, 64, 2**17])
def test_the_coins_of_two_points_are_independent(lag: int) -> None:
    found = bits(randomness.OperatingSystem(), MIXED)
    assert abs(covariance_score(found, MIXED, lag)) < stats.norm.isf(RARE / 2)


def test_coins_that_two_points_share_would_be_noticed() -> None:
    assert covariance_score(bits(Twice(), MIXED), MIXED, 1) > 100


def sum_score(points: Floats, sampler: Sampler, draw: Draw) -> Floats:
    """How far weighted sums are from the sums of all points, in standard deviations."""
    q, times = sampler.probability(points), 400
    deviation = np.sqrt((points**2 * (1 / q - 1)[:, None]).sum(axis=0) / times)
    drawn = [draw(points) for _ in range(times)]
    mean = np.mean([sample.weights @ sample.points for sample in drawn], axis=0)
    return np.asarray((mean - points.sum(axis=0)) / deviation)


POINTS = np.random.default_rng(11).gamma(1.0, 1.0, (5000, 3))
SAMPLERS = {
    "uniform": Uniform(0.1),
    "coreset": Coreset(0.1, 3.0),
    "optimal": Optimal(LaplaceSum(16.0), 1.0),
}


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_weighted_sums_are_right_on_average(sampler: Sampler) -> None:
    scores = sum_score(POINTS, sampler, lambda points: poisson(points, sampler))
    assert np.abs(scores).max() < stats.norm.isf(RARE / 2)


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_weights_that_are_off_by_5_per_cent_would_be_noticed(sampler: Sampler) -> None:
    def heavier(points: Floats) -> WeightedSample:
        sample = poisson(points, sampler)
        return WeightedSample(sample.points, sample.weights * 1.05)

    assert np.abs(sum_score(POINTS, sampler, heavier)).max() > 10


# --- what is really lost ------------------------------------------------------------------------
#
# The law of a sampled mechanism, written down. For a few points, what `poisson` does with each is
# found out by trying words; all samples are listed, and the mechanism adds two-sided geometric
# noise to the weighted sum of each. How well two laws can be told apart is compared with psi.


def coins_of(points: Floats, draw: Draw) -> list[tuple[float, float]]:
    """The true odds and weight of each point: halving finds how many of all words sample it."""
    low, high = np.zeros(len(points), dtype=object), np.full(len(points), 2**64, dtype=object)
    weights = np.ones(len(points))
    while (low < high).any():
        middle = np.minimum((low + high) // 2, 2**64 - 1)
        with randomness.using(Listed(middle)):
            sample = draw(points)
        kept = (points == sample.points[:, 0]).any(axis=1)
        weights[kept] = sample.weights
        low, high = np.where(kept, middle + 1, low), np.where(kept, high, middle)
    odds = [float(Fraction(many, 2**64)) for many in low]
    return list(zip(odds, weights.tolist(), strict=True))


def output_law(
    values: Sequence[float], coins: Sequence[tuple[float, float]], scale: float, outputs: Floats
) -> Floats:
    """The chances of the outputs, but for a factor that is the same for all data."""
    chances = np.zeros(len(outputs))
    for there in product([False, True], repeat=len(values)):
        odds = math.prod(q if yes else 1 - q for (q, _), yes in zip(coins, there, strict=True))
        rows = zip(values, coins, there, strict=True)
        centre = math.fsum(x * w for x, (_, w), yes in rows if yes)
        chances += odds * np.exp(-np.abs(outputs - centre) / scale)
    return chances


def measured(points: Floats, draw: Draw, scale: float, outputs: Floats) -> list[float]:
    """For each point, the largest loss over all outputs when it is left out.

    Beyond all centres, ratios no longer change, so that a bounded range of outputs is all of them.
    """
    values, coins = points[:, 0].tolist(), coins_of(points, draw)
    whole, found = output_law(values, coins, scale, outputs), list[float]()
    for i in range(len(values)):
        rest = [*values[:i], *values[i + 1 :]], [*coins[:i], *coins[i + 1 :]]
        ratio = np.log(whole / output_law(*rest, scale, outputs))
        found.append(float(np.abs(ratio).max()))
    return found


def check(points: Floats, draw: Draw, scale: float, psi: Floats, outputs: Floats) -> None:
    """The loss is what was computed: not more, and not less either."""
    lost = np.array(measured(points, draw, scale, outputs))
    assert (lost <= psi + 1e-9).all(), "more is lost than was computed"
    assert (lost >= psi - 1e-9).all(), "less is lost than was computed: the weights are not used"


SCALE = 5.0
WHOLE = np.arange(-60.0, 61.0)  # the noise is a whole number; so are all weighted points below
EXAMPLES: dict[str, tuple[Sampler, list[float]]] = {
    "whole weights": (Uniform(0.5), [1, 2, -3]),
    "halves": (Uniform(2 / 3), [2, -4, 6]),
    "a coreset": (Coreset(0.5, mean_norm=2.0, mixing=0.5), [2, -2, 6]),
    "a coreset, cut at 1": (Coreset(0.5, mean_norm=2.0, mixing=0.5), [2, -2, 10]),
}


def claimed(points: Floats, sampler: Sampler) -> Floats:
    return amplified(LaplaceSum(SCALE), 1 / sampler.probability(points), points)


def column(values: list[float]) -> Floats:
    return np.array(values, dtype=np.float64)[:, None]


@pytest.mark.parametrize(("sampler", "values"), EXAMPLES.values(), ids=EXAMPLES)
def test_what_is_lost_is_what_was_computed(sampler: Sampler, values: list[float]) -> None:
    points = column(values)
    psi = claimed(points, sampler)
    check(points, lambda p: poisson(p, sampler), SCALE, psi, WHOLE)
    assert psi.max() <= sampler.epsilon(LaplaceSum(SCALE), max(map(abs, values)))


def test_what_is_lost_with_optimal_weights_is_the_target_for_every_point() -> None:
    """Weights are any real numbers here, so the noise is Laplace, and outputs lie close."""
    points, outputs = column([1.0, -2.0, 3.0]), np.linspace(-400, 400, 20_001)
    sampler = Optimal(LaplaceSum(SCALE), 0.8)
    check(points, lambda p: poisson(p, sampler), SCALE, np.full(3, 0.8), outputs)


def without_weights(sampler: Sampler) -> Draw:
    def draw(points: Floats) -> WeightedSample:
        sample = poisson(points, sampler)
        return WeightedSample(sample.points, np.ones(len(sample)))

    return draw


def with_coins_of(other: Sampler, sampler: Sampler) -> Draw:
    """Coins of one sampler, weights of another."""

    def draw(points: Floats) -> WeightedSample:
        kept = poisson(points, other).points
        return WeightedSample(kept, 1 / sampler.probability(kept))

    return draw


@pytest.mark.parametrize(("sampler", "values"), EXAMPLES.values(), ids=EXAMPLES)
def test_a_sampler_that_ignores_its_weights_is_caught(
    sampler: Sampler, values: list[float]
) -> None:
    points = column(values)
    with pytest.raises(AssertionError, match="the weights are not used"):
        check(points, without_weights(sampler), SCALE, claimed(points, sampler), WHOLE)


@pytest.mark.parametrize(("sampler", "values"), EXAMPLES.values(), ids=EXAMPLES)
@pytest.mark.parametrize("other", [Uniform(0.75), Uniform(0.52)], ids=["far off", "by 4 per cent"])
def test_a_sampler_whose_coins_do_not_match_its_weights_is_caught(
    other: Sampler, sampler: Sampler, values: list[float]
) -> None:
    points = column(values)
    with pytest.raises(AssertionError, match="than was computed"):
        check(points, with_coins_of(other, sampler), SCALE, claimed(points, sampler), WHOLE)


@pytest.mark.parametrize(("sampler", "values"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_account_that_ignores_the_weights_is_caught(
    sampler: Sampler, values: list[float]
) -> None:
    """Amplification by subsampling as it is for mechanisms without weights (Proposition 1)."""
    points = column(values)
    q, alone = sampler.probability(points), LaplaceSum(SCALE).rate(points)
    with pytest.raises(AssertionError, match="more is lost than was computed"):
        check(points, lambda p: poisson(p, sampler), SCALE, np.log1p(q * np.expm1(alone)), WHOLE)


# --- what is refused ----------------------------------------------------------------------------

BAD: dict[str, tuple[Any, str]] = {
    "NaN": ([[1.0, math.nan]], "points must be finite"),
    "infinite": ([[1.0], [-math.inf]], "points must be finite"),
    "one dimension": ([1.0, 2.0], "points must be a table"),
    "no columns": (np.empty((3, 0)), "points must be a table"),
    "text": ([["a"]], "points must be an array of numbers"),
    "ragged": ([[1.0], [1.0, 2.0]], "points must be"),
    "masked": (np.ma.masked_array([[1.0], [2.0]], [[True], [False]]), "points are masked"),
}


@pytest.mark.parametrize(("points", "said"), BAD.values(), ids=BAD)
def test_bad_points_are_refused_before_a_coin_is_tossed(points: Any, said: str) -> None:
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=said):
        poisson(points, Uniform(0.5))


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan])
def test_odds_that_are_none_are_refused(q: float) -> None:
    class Wrong(Given):
        def probability(self, points: npt.ArrayLike) -> Floats:
            return np.full(2, q)

    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match="a probability from 0"):
        poisson([[1.0], [2.0]], Wrong())


def test_a_sampler_must_be_one() -> None:
    with pytest.raises(InvalidInput, match="sampler must be a sampler such as Uniform"):
        poisson([[1.0]], 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [[0.5], [math.nan], [math.inf], [1.0, 1.0]])
def test_weights_below_1_make_no_sample(weights: list[float]) -> None:
    with pytest.raises(InvalidInput, match="weight"):
        WeightedSample(np.ones((1, 1)), np.array(weights))


def test_no_points_make_an_empty_sample() -> None:
    sample = poisson(np.empty((0, 4)), Uniform(0.5))
    assert sample.points.shape == (0, 4)
    assert len(sample) == 0
