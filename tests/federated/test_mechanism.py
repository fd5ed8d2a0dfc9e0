"""Sample-and-threshold: what is chosen, what comes out, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from tamis.federated import Histogram, SampleAndThreshold
from tamis.federated.calibrate import PARTS, Promise, highest_rate
from tamis.federated.profile import added
from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import REPLACED
from tests.sources import Forbidden, Stream

RARE = 1e-5
ONE = Fraction(1)
MILLIONTH = Promise(ONE, Fraction(1, 10**6))


# --- what is chosen -----------------------------------------------------------------------------


def test_the_best_needs_55_clients() -> None:
    made = SampleAndThreshold(1.0, 1e-6)
    assert (made.tau, round(made.p, 4)) == (14, 0.2537)
    assert made.needed == pytest.approx(55.18, abs=0.01)
    assert 0.99e-6 < made.spent <= 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("replaced", [False, True])
def test_no_other_threshold_needs_fewer(epsilon: float, replaced: bool) -> None:
    e, most = Fraction(repr(epsilon)), Fraction(1, 10**6)
    promise = Promise(e, most, replaced)
    parts, tau = promise.best()
    assert promise.met(parts, tau)
    more = 1 if promise.exact else parts // 1000  # nearly all of delta is spent
    assert not promise.met(parts + more, tau) or parts == highest_rate(e)
    for other in range(1, 3 * tau):
        rate = (parts + more) * other // tau + 1  # what would need fewer
        if other != tau and rate <= highest_rate(e):
            assert not promise.met(rate, other)


def test_a_rate_or_a_threshold_can_be_given() -> None:
    slow = SampleAndThreshold(1.0, 1e-6, p=0.1)
    assert slow.p == int(0.1 * PARTS) / PARTS
    assert slow.tau == 8
    assert not MILLIONTH.met(int(slow.p * PARTS), 7)
    high = SampleAndThreshold(1.0, 1e-6, tau=30)
    assert high.tau == 30
    assert not MILLIONTH.met(int(high.p * PARTS) + 1, 30)
    both = SampleAndThreshold(1.0, 1e-4, p=0.1, tau=6)
    assert both.spent == pytest.approx(float(added(Fraction(both.p), 6, ONE).low))


def test_replacing_a_client_costs_more() -> None:
    alone, swapped = (
        SampleAndThreshold(1.0, 1e-6, neighbours=n) for n in ("add or remove", "replace")
    )
    assert swapped.guarantee.neighbours == REPLACED
    assert alone.needed < swapped.needed < 1.2 * alone.needed


def test_replacing_is_private_by_trying_it_out() -> None:
    """One client less with an item, and one more with another, of all numbers up to 40."""
    made = SampleAndThreshold(1.0, 1e-3, neighbours="replace")
    laws = [_law(n, made) for n in range(41)]
    largest = 0.0
    for a in range(40):
        for b in range(40):
            before = np.outer(laws[a + 1], laws[b])
            after = np.outer(laws[a], laws[b + 1])
            largest = max(largest, float(np.maximum(0, before - np.e * after).sum()))
    assert 0.4 * made.delta < largest <= made.delta


def _law(n: int, made: SampleAndThreshold) -> Any:
    counts = stats.binom.pmf(np.arange(60), n, made.p)
    return np.concatenate([[counts[: made.tau].sum()], counts[made.tau :]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"p": 0.7}, r"at most 1 - e\^-epsilon = 0.632"),
        ({"p": 0.0}, "p must lie strictly between 0 and 1"),
        ({"p": -0.1}, "p must lie strictly between 0 and 1"),
        ({"p": 1.5}, "p must lie strictly between 0 and 1"),
        ({"p": float("nan")}, "p must lie strictly between 0 and 1"),
        ({"p": 1e-12}, "at least 2\\^-32"),
        ({"tau": 0}, "tau must be a whole number"),
        ({"tau": -1}, "tau must be a whole number"),
        ({"tau": 0.5}, "tau must be a whole number"),
        ({"tau": 3, "p": 0.1}, "tau = 3 is too small for delta 1e-06 at p = 0.1"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": float("inf")}, "epsilon must be"),
        ({"delta": 0.0}, "delta must be above 0"),
        ({"delta": 2.0}, "delta must lie"),
        ({"neighbours": "swap"}, "neighbours must be"),
        ({"delta": 1e-12, "tau": 1}, "tau = 1 is too small"),
    ],
)
def test_what_hides_nobody_is_refused(options: dict[str, Any], words: str) -> None:
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=words):
        SampleAndThreshold(**({"epsilon": 1.0, "delta": 1e-6} | options))


# --- what comes out -----------------------------------------------------------------------------

MADE = SampleAndThreshold(1.0, 1e-4)


def released(clients: dict[str, int], times: int, seed: int = 1) -> list[dict[str, int]]:
    items = pa.array([item for item, n in clients.items() for _ in range(n)])
    with randomness.using(Stream(seed)):
        tables = [MADE.release(items).to_arrow() for _ in range(times)]
    columns = [(table["item"].to_pylist(), table["token"].to_pylist()) for table in tables]
    return [dict(zip(*pair, strict=True)) for pair in columns]


def test_counts_have_the_law_of_a_coin_for_each_client_and_not_three_percent_off() -> None:
    times, n = 4000, 60
    found = np.array([made.get("a", 0) for made in released({"a": n, "b": 5, "c": 200}, times)])
    for factor, right in ((1.0, True), (1.03, False), (0.97, False)):
        law = stats.binom.pmf(np.arange(n + 1), n, MADE.p * factor)
        law = np.concatenate([[law[: MADE.tau].sum()], law[MADE.tau :]])
        seen = np.bincount(np.where(found, found - MADE.tau + 1, 0), minlength=len(law))
        usual = law * times > 5
        expected = np.append(law[usual], law[~usual].sum()) * times
        there = np.append(seen[usual], seen[~usual].sum())
        p = stats.chisquare(there, expected).pvalue
        assert (p > RARE) == right, (factor, p)


def test_what_is_released_reaches_the_threshold_and_comes_in_order() -> None:
    for made in released({f"item {n}": 5 * n for n in range(1, 30)}, 50):
        assert made
        assert min(made.values()) >= MADE.tau
        assert list(made.values()) == sorted(made.values(), reverse=True)


def test_the_chance_to_be_missed_is_as_stated() -> None:
    clients, times = int(MADE.needed), 2000
    gone = sum("a" not in made for made in released({"a": clients}, times))
    assert stats.binomtest(gone, times, float(MADE.missed(clients))).pvalue > RARE
    assert stats.binomtest(gone, times, float(MADE.missed(clients)) * 0.85).pvalue < RARE
    assert MADE.missed([0, MADE.tau - 1]).tolist() == [1, 1]


def test_estimates_are_unbiased_and_intervals_hold() -> None:
    n, times = 400, 1500
    with randomness.using(Stream(2)):
        rows = [MADE.release(["a"] * n).to_arrow().to_pylist()[0] for _ in range(times)]
    estimates = np.array([row["estimate"] for row in rows])
    error = float(np.mean([row["standard_error"] for row in rows]))
    assert abs(estimates.mean() - n) < 5 * error / times**0.5
    assert estimates.std() == pytest.approx(error, rel=0.08)
    held = sum(row["low"] <= n <= row["high"] for row in rows)
    assert stats.binom.cdf(held, times, 0.95) > RARE
    assert held < 0.985 * times


@pytest.mark.parametrize("sampled", [14, 15, 40, 300])
def test_intervals_are_those_numbers_of_clients_that_are_likely_enough(sampled: int) -> None:
    made = Histogram.of(MADE, pa.array(["a"]), np.array([sampled]), 0.9).to_arrow().to_pylist()[0]
    n = np.arange(sampled, 20 * sampled)
    enough = (stats.binom.sf(sampled - 1, n, MADE.p) >= 0.05) & (
        stats.binom.cdf(sampled, n, MADE.p) >= 0.05
    )
    assert (made["low"], made["high"]) == (n[enough].min(), n[enough].max())


def test_items_are_of_any_kind() -> None:
    for items in ([1] * 900, pa.array(["ä"] * 900), np.full(900, 7), [b"x"] * 900, [True] * 900):
        made = MADE.release(items)
        assert len(made) == 1
        assert made.to_arrow()["item"].to_pylist() == [pa.array(items[:1])[0].as_py()]
    assert len(MADE.release([])) == 0
    assert "0 items, each of at least" in str(MADE.release([]))
    with pytest.raises(InvalidInput, match="items holds nulls"):
        MADE.release([1, None])
