"""Sums over keys: their intervals hold for what they say they are about."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy import stats

import tamis
from tamis.privacy.answer import Answer
from tamis.privacy.noise import two_sided
from tamis.releases import sums
from tamis.weighted.estimators import MaximumLikelihood
from tamis.weighted.plan import Plan
from tamis.weighted.sample import PrivateSample, tabulate
from tamis.weighted.tokens import draw

Ints = npt.NDArray[np.int64]
RARE = 1e-5
SLOW = pytest.mark.slow
RATE = Fraction(1, 20)

PLANS = {
    "optimum": tamis.plan(1.0, 1e-6),
    "strong": tamis.plan(4.0, 1e-6),
    "sure": tamis.plan(2.0, 1e-6, coverage=0.99),
    "loose": tamis.plan(2.0, 1e-6, coverage=0.8),
    "four keys": tamis.plan(0.3, 1e-8, keys_per_unit=4),
    "sampled": tamis.plan(1.0, 1e-6, scheme=tamis.Ppswor(0.05)),
}
SHAPES = {  # frequencies, as multiples of the one that is named half of the time
    "one key at the half": np.ones(1),
    "four keys at the half": np.ones(4),
    "a thousand at the half": np.ones(1000),
    "a thousand above it": np.full(1000, 1.4),
    "a thousand below it": np.full(1000, 0.8),
    "one large key": np.array([60.0]),
    "a few large ones": np.array([80.0, 200.0, 350.0]),
    "all kinds": np.linspace(0.01, 5, 2000),
}


def quick(kind: str, shape: str) -> bool:
    """Large frequencies under a scheme have many tokens, which take long."""
    few = kind in ("strong", "four keys", "sampled") and SHAPES[shape].tolist() == [1]
    return kind == "optimum" or few


def drawn(plan: Plan, frequencies: Ints, times: int) -> Iterator[tuple[PrivateSample, int]]:
    """Samples, and how much of each is not named."""
    for _ in range(times):
        tokens = draw(plan.mechanism, frequencies)
        named = np.flatnonzero(tokens)
        keys = pa.table({"k": named})
        yield (
            tabulate(plan, keys, tokens[named]),
            int(frequencies.sum() - frequencies[named].sum()),
        )


def often(held: list[bool], coverage: float) -> bool:
    """Whether something that should hold with this probability can have held this often."""
    return bool(stats.binom.cdf(sum(held), len(held), coverage) > RARE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        pytest.param(kind, shape, marks=[] if quick(kind, shape) else SLOW)
        for kind in PLANS
        for shape in SHAPES
    ],
)
def test_low_holds_for_all_keys_and_high_for_those_named_half_of_the_time(
    kind: str, shape: str
) -> None:
    plan = PLANS[kind]
    assert plan.half is not None
    frequencies = np.maximum(1, np.ceil(SHAPES[shape] * plan.half)).astype(np.int64)
    frequent = frequencies[frequencies >= plan.half]
    occurs = MaximumLikelihood(plan.mechanism.law, lambda w: np.minimum(w, 1.0))
    summed, counted, suppressed = [], [], []
    for sample, rest in drawn(plan, frequencies, 100 if len(frequencies) < 9 else 40):
        total = sums.over_keys(sample, plan.estimator)
        many = sums.over_keys(sample, occurs)
        noise = int(two_sided(RATE, 1)[0])
        missing = sums.not_named(sample, int(frequencies.sum()) + noise, RATE)
        summed.append(total.low <= frequencies.sum() and frequent.sum() <= total.high)
        counted.append(many.low <= len(frequencies) and len(frequent) <= many.high)
        suppressed.append(missing.low <= rest <= missing.high)
    for held in (summed, counted, suppressed):
        assert often(held, plan.coverage)


def test_an_interval_by_noise_alone_would_not_hold() -> None:
    """What the intervals were once made of: the test above would have seen it."""
    plan = PLANS["optimum"]
    frequencies = np.full(1000, plan.half, dtype=np.int64)
    held = []
    for sample, _ in drawn(plan, frequencies, 60):
        said = sums.over_keys(sample, plan.estimator)
        narrow = Answer.normal(said.estimate, said.standard_error)
        held.append(narrow.low <= frequencies.sum() <= narrow.high)
    assert not often(held, 0.95)


def test_no_named_key_leaves_room_for_keys_that_chance_left_out() -> None:
    plan = PLANS["optimum"]
    empty = tabulate(plan, pa.table({"k": pa.array([], pa.int64())}), np.empty(0, np.int64))
    said = sums.over_keys(empty, plan.estimator)
    assert (said.estimate, said.low) == (0.0, 0.0)
    assert plan.half is not None
    assert plan.reporting(plan.half) < 0.75
    assert (1 - float(plan.reporting(plan.half))) ** (said.high / plan.half) <= 0.025 * 1.001
    assert "below 14" in said.said


def test_a_scheme_that_seldom_samples_gives_no_upper_end() -> None:
    plan = tamis.plan(1.0, 1e-6, scheme=tamis.Custom({1: 0.25}))
    keys = pa.table({"k": ["a", "b"]})
    said = sums.over_keys(tabulate(plan, keys, np.array([30, 40])), plan.estimator)
    assert said.high == np.inf
    assert said.describe()["high"] is None
    assert "never named" in str(said)


def test_a_noisy_total_holds_as_often_as_it_says() -> None:
    for coverage in (0.8, 0.95, 0.99):
        answers = (sums.of_all(9000 + int(x), RATE, coverage) for x in two_sided(RATE, 4000))
        held = [a.low <= 9000 <= a.high for a in answers]
        assert often(held, coverage)
        assert sum(held) / 4000 < coverage + 0.03  # and not much more often


def test_a_part_is_about_its_own_keys() -> None:
    data = {"word": ["the", "of", "and"], "n": [1000, 800, 30]}
    release = tamis.release(
        pa.table(data), key="word", count="n", epsilon=1.0, delta=1e-6, total_share=0.1
    )
    two = release.top(2)
    assert two.count().low == two.count().high == 2
    assert abs(two.sum().estimate - 1800) < 40
    assert two.sum().high < 1900
    assert two.sum("word = 'the'").high < 1100
