"""Bottom-k samples have the laws of ppswor and priority sampling, and estimate without bias."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tamis.sampling import Everything, Pps, Ppswor, bottom_k
from tamis.sampling.bottomk import Kind
from tests.sources import Forbidden, Listed

RARE = 1e-6  # a right law fails a statistical test this often

kinds = st.sampled_from(["ppswor", "priority"])


# --- what the parts are -------------------------------------------------------------------------


@given(st.lists(st.integers(1, 10**6), min_size=1), st.integers(1, 20), kinds, st.data())
def test_the_sample_is_the_keys_with_seeds_below_tau(
    counts: list[int], k: int, kind: Kind, data: st.DataObject
) -> None:
    words = data.draw(
        st.lists(st.integers(0, 2**64 - 1), min_size=len(counts), max_size=len(counts))
    )
    draw = randomness.exponentials if kind == "ppswor" else randomness.uniforms
    with randomness.using(Listed(words)):
        seeds = draw(len(counts)) / np.sqrt(counts)
    with randomness.using(Listed(words)):
        sample = bottom_k(counts, k, kind, power=0.5)
    order = sorted(range(len(counts)), key=lambda n: (seeds[n], n))
    assert sample.indices.tolist() == order[:k]
    assert sample.seeds == pytest.approx(seeds[order[:k]], rel=1e-15)
    assert sample.frequencies.tolist() == [counts[n] for n in order[:k]]
    assert sample.tau == (pytest.approx(seeds[order[k]]) if k < len(counts) else math.inf)


def test_equal_seeds_come_in_the_order_of_the_data() -> None:
    with randomness.using(Listed([5 << 50] * 6)):
        sample = bottom_k([3] * 6, 4)
    assert sample.indices.tolist() == [0, 1, 2, 3]
    assert sample.tau == sample.seeds[0]


@pytest.mark.parametrize(("kind", "scheme"), [("ppswor", Ppswor), ("priority", Pps)])
def test_the_scheme_is_the_threshold_scheme_at_tau(kind: Kind, scheme: Any) -> None:
    sample = bottom_k(np.arange(1, 101), 10, kind, power=2)
    assert sample.scheme() == scheme(sample.tau, 2)
    q = scheme(sample.tau, 2).probability(sample.frequencies)
    assert sample.inclusion().tolist() == q.tolist()
    assert len(sample) == 10


@pytest.mark.parametrize("k", [3, 4])
def test_when_every_key_is_taken_nothing_is_sampled_away(k: int) -> None:
    sample = bottom_k([5, 6, 7], k)
    assert (len(sample), sample.tau, sample.scheme()) == (3, math.inf, Everything())
    assert sample.inclusion().tolist() == [1, 1, 1]


def test_no_keys_give_an_empty_sample() -> None:
    assert len(bottom_k([], 3)) == 0


# --- laws, by testing ---------------------------------------------------------------------------


def order_law(weights: list[float]) -> dict[tuple[int, ...], float]:
    """Successive draws without replacement, each in proportion to the weights that are left."""
    law = {}
    for order in permutations(range(len(weights))):
        left, p = sum(weights), 1.0
        for n in order:
            p, left = p * weights[n] / left, left - weights[n]
        law[order] = p
    return law


def fit(drawn: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> float:
    total = sum(drawn.values())
    seen = [drawn[order] for order in law]
    return float(stats.chisquare(seen, [total * p for p in law.values()]).pvalue)


@pytest.mark.parametrize(("kind", "law"), [("ppswor", "expon"), ("priority", "uniform")])
def test_seeds_have_the_law_of_their_kind_and_not_three_percent_off(kind: Kind, law: str) -> None:
    sample = bottom_k(np.tile([1, 5, 80, 1000], 100_000), 400_000, kind, power=1.5)
    draws = sample.seeds * sample.frequencies**1.5
    assert stats.kstest(draws, law).pvalue > RARE
    assert stats.kstest(draws * 1.03, law).pvalue < RARE


def test_ppswor_draws_one_after_the_other_and_not_15_percent_off() -> None:
    drawn = Counter(tuple(bottom_k([2, 3, 7], 3).indices.tolist()) for _ in range(30_000))
    assert fit(drawn, order_law([2, 3, 7])) > RARE
    assert fit(drawn, order_law([2.3, 3, 7])) < RARE


def test_priority_order_of_two_keys_is_right_and_not_12_percent_off() -> None:
    # Pr[u1/2 < u2/5] = (2/5)/2 = 1/5
    many = 30_000
    first = sum(bottom_k([2, 5], 1, "priority").indices[0] == 0 for _ in range(many))
    assert stats.binomtest(first, many, 1 / 5).pvalue > RARE
    assert stats.binomtest(first, many, 1.12 / 5).pvalue < RARE


@pytest.mark.parametrize("kind", ["ppswor", "priority"])
def test_sums_divided_by_inclusion_are_unbiased_and_not_three_percent_off(kind: Kind) -> None:
    counts = np.array([1, 1, 2, 3, 5, 8, 13, 21])
    chosen = counts <= 8
    sums = []
    for _ in range(20_000):
        sample = bottom_k(counts, 5, kind)
        part = chosen[sample.indices]
        sums.append(float((sample.frequencies / sample.inclusion())[part].sum()))
    limit, true = stats.norm.isf(RARE / 2), counts[chosen].sum()
    spread = np.std(sums) / math.sqrt(len(sums))
    assert abs(np.mean(sums) - true) < limit * spread
    assert abs(np.mean(sums) - 1.03 * true) > limit * spread


# --- bad input ----------------------------------------------------------------------------------

BAD: dict[str, tuple[Any, str]] = {
    "zero frequency": (lambda: bottom_k([1, 0], 1), "frequency"),
    "fraction": (lambda: bottom_k([1.5], 1), "frequency"),
    "no k": (lambda: bottom_k([1], 0), "k must be"),
    "fractional k": (lambda: bottom_k([1], 1.5), "k must be"),  # type: ignore[arg-type]
    "kind": (lambda: bottom_k([1], 1, "pps"), "kind must be"),  # type: ignore[arg-type]
    "power": (lambda: bottom_k([1], 1, power=0), "power must"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_by_name_before_any_draw(name: str) -> None:
    call, sentence = BAD[name]
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=sentence):
        call()
