"""Sums over keys: their intervals hold for what they say they are about."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy import stats

import tamis
from tamis.privacy.answer import Answer
from tamis.privacy.exact import exactly
from tamis.releases import sums
from tamis.sparse.noise import two_sided
from tamis.weighted.estimators import MaximumLikelihood
from tamis.weighted.plan import Plan
from tamis.weighted.sample import PrivateSample, tabulate
from tamis.weighted.tokens import draw

Ints = npt.NDArray[np.int64]
RARE = 1e-5
SLOW = pytest.mark.slow

PLANS = {
    "optimum": tamis.plan(1.0, 1e-6),
    "four keys": tamis.plan(0.3, 1e-8, keys_per_unit=4),
    "sampled": tamis.plan(1.0, 1e-6, scheme=tamis.Ppswor(0.05)),
}
SHAPES = {  # frequencies, as multiples of the one that is named half of the time
    "one key at the half": np.ones(1),
    "four keys at the half": np.ones(4),
    "a thousand at the half": np.ones(1000),
    "a thousand above it": np.full(1000, 1.4),
    "a thousand below it": np.full(1000, 0.8),
    "a few large ones": np.array([80.0, 200.0, 350.0]),
    "all kinds": np.linspace(0.01, 5, 2000),
}


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


def often(held: list[bool]) -> bool:
    """Whether something that should hold in 95 of 100 cases can have held this often."""
    return bool(stats.binom.cdf(sum(held), len(held), 0.95) > RARE)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        pytest.param(
            kind, shape, marks=[] if kind == "optimum" or len(SHAPES[shape]) == 4 else SLOW
        )
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
    for sample, rest in drawn(plan, frequencies, 60):
        total = sums.over_keys(sample, plan.estimator)
        many = sums.over_keys(sample, occurs)
        noise = int(two_sided(exactly(0.05), 1)[0])
        missing = sums.not_named(sample, float(frequencies.sum() + noise), 2 / 0.05**2)
        summed.append(total.low <= frequencies.sum() and frequent.sum() <= total.high)
        counted.append(many.low <= len(frequencies) and len(frequent) <= many.high)
        suppressed.append(missing.low <= rest <= missing.high)
    assert often(summed)
    assert often(counted)
    assert often(suppressed)


def test_an_interval_by_noise_alone_would_not_hold() -> None:
    """What the intervals were once made of: the test above would have seen it."""
    plan = PLANS["optimum"]
    frequencies = np.full(1000, plan.half, dtype=np.int64)
    held = []
    for sample, _ in drawn(plan, frequencies, 60):
        said = sums.over_keys(sample, plan.estimator)
        narrow = Answer.normal(said.estimate, said.standard_error)
        held.append(narrow.low <= frequencies.sum() <= narrow.high)
    assert not often(held)


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
