"""Sample-and-threshold: what is chosen, what comes out, and what is refused."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from tamis.collect.enquiry import Enquiry
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
        ({"delta": 1e-12, "tau": 1}, "tau = 1 is too small for delta 1e-12 at any p"),
        ({"tau": 200_000}, "tau must be at most 100,000"),
        ({"tau": 9000, "p": 0.1}, "tau = 9,000 is too large at p = 0.1"),
        ({"colluding": -1}, "colluding must be a whole number from 0"),
        ({"colluding": 1.5}, "colluding must be a whole number from 0"),
        ({"colluding": True}, "colluding must be a whole number from 0"),
        ({"colluding": "2"}, "colluding must be a whole number from 0"),
        ({"colluding": 20_000}, "take a smaller one, or fewer colluding"),
        ({"colluding": 3, "tau": 3}, "tau must be more than colluding = 3.* take at least 4"),
    ],
)
def test_what_hides_nobody_is_refused(options: dict[str, Any], words: str) -> None:
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=words):
        SampleAndThreshold(**({"epsilon": 1.0, "delta": 1e-6} | options))


@pytest.mark.parametrize(
    "options",
    [
        {"p": 0.1, "tau": 3},
        {"p": 0.2, "tau": 5, "colluding": 2},
        {"p": 0.1, "tau": 3, "rounds": 4},
        {"p": 0.1, "tau": 5, "neighbours": "replace", "colluding": 1},
        {"tau": 1, "delta": 1e-12},
    ],
)
def test_a_threshold_that_is_too_small_is_refused_with_the_smallest_that_is_enough(
    options: dict[str, Any],
) -> None:
    settings = {"epsilon": 1.0, "delta": 1e-6} | options
    with pytest.raises(InvalidInput, match=r"the smallest that is enough is [0-9]+") as refused:
        SampleAndThreshold(**settings)
    enough = int(str(refused.value).partition("is enough is ")[2].partition(".")[0])
    assert SampleAndThreshold(**settings | {"tau": enough}).tau == enough
    with pytest.raises(InvalidInput, match=f"tau = {enough - 1} is too small"):
        SampleAndThreshold(**settings | {"tau": enough - 1})


@pytest.mark.parametrize("options", [{}, {"p": 0.2}, {"tau": 1}])
def test_a_threshold_of_one_client_is_hinted_at(options: dict[str, Any]) -> None:
    made = SampleAndThreshold(1.0, 0.3, **options)
    assert made.tau == 1
    assert made.hint.startswith("tau = 1: an item that a single client holds is released with")
    assert repr(made).endswith(f")  # {made.hint}")
    assert eval(repr(made)) == made
    assert str(made.release(["a"] * 900)).endswith(f"for one client\n{made.hint}")
    usual = SampleAndThreshold(1.0, 1e-6)
    assert (usual.hint, repr(usual)[-1]) == ("", ")")


# --- clients in league with a reader ------------------------------------------------------------


def told(k: int, p: float, tau: int, c: int) -> Any:
    """The law of what is released of an item that k clients hold, and c more report for certain."""
    law = np.zeros(80)
    for t in range(k + 1):
        law[t + c if t + c >= tau else 0] += stats.binom.pmf(t, k, p)
    return law


@pytest.mark.parametrize(
    ("p", "tau", "c", "epsilon"),
    [(0.25, 9, 3, 1.0), (0.1, 4, 1, 0.5), (0.3, 6, 5, 2.0), (0.05, 3, 1, 0.1), (0.6, 12, 2, 1.0)],
)
def test_certain_reports_of_a_reader_leave_the_delta_of_a_threshold_that_is_lower_by_them(
    p: float, tau: int, c: int, epsilon: float
) -> None:
    """By trying all numbers of others out, and all sets of outcomes, in both directions."""
    largest = []
    for certain in range(c + 1):
        laws = [told(k, p, tau, certain) for k in range(61)]
        pairs = [*pairwise(laws), *pairwise(laws[::-1])]
        over = [float(np.maximum(0, a - np.exp(epsilon) * b).sum()) for a, b in pairs]
        largest.append(max(over))
    exact = float(added(Fraction(p), tau - c, Fraction(epsilon)).high)
    assert largest[-1] == pytest.approx(exact, rel=1e-12)
    assert largest == sorted(largest)  # fewer tell less


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("neighbours", ["add or remove", "replace"])
def test_against_colluding_clients_the_threshold_is_larger_by_them(
    rounds: int, neighbours: Any
) -> None:
    alone = SampleAndThreshold(1.0, 1e-6, neighbours=neighbours, rounds=rounds)
    made = SampleAndThreshold(1.0, 1e-6, neighbours=neighbours, rounds=rounds, colluding=5)
    assert (made.tau, made.p) == (alone.tau + 5, alone.p)
    assert made.needed == made.tau / made.p
    many = ceil(made.needed)
    assert made.missed(many) == pytest.approx(stats.binom.cdf(made.tau - 1, many, made.p))
    assert made.spent == alone.spent
    said = made.certificate.verify()
    assert f"items of {made.tau} or more are named" in said
    assert said.endswith("of delta, also to a reader who controls 5 of them")
    spent = re.compile("a client spends ([0-9.]+) of delta")
    assert spent.findall(said) == spent.findall(alone.certificate.verify())
    assert "colluding=5" in repr(made)
    with randomness.using(Stream(1)):
        tokens = made.release(np.arange(8).repeat(many)).table["token"].to_pylist()
    assert min(tokens) >= made.tau


def test_a_rate_or_a_threshold_can_be_given_against_colluding_clients() -> None:
    slow = SampleAndThreshold(1.0, 1e-6, p=0.1, colluding=4)
    assert slow.tau == SampleAndThreshold(1.0, 1e-6, p=0.1).tau + 4
    high = SampleAndThreshold(1.0, 1e-6, tau=30, colluding=4)
    assert high.p == SampleAndThreshold(1.0, 1e-6, tau=26).p
    both = SampleAndThreshold(1.0, 1e-6, 0.1, 20, colluding=4)
    assert both.spent == SampleAndThreshold(1.0, 1e-6, 0.1, 16).spent
    hint = SampleAndThreshold(1.0, 0.3, colluding=1).hint
    assert hint.startswith("tau = 2: ")
    assert "to a reader who controls 1 other;" in hint


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("neighbours", ["add or remove", "replace"])
def test_whoever_reads_only_p_and_tau_finds_the_promise_kept(rounds: int, neighbours: Any) -> None:
    """As devices do, which are not told how many were thought to collude."""
    made = SampleAndThreshold(1.0, 1e-6, neighbours=neighbours, rounds=rounds, colluding=6)
    read = SampleAndThreshold(1.0, 1e-6, made.p, made.tau, neighbours, rounds)
    assert (read.parts, read.tau, read.guarantee) == (made.parts, made.tau, made.guarantee)
    assert read.spent < made.spent
    assert f"items of {made.tau} or more are named" in read.certificate.verify()
    if rounds == 1:
        plan = Enquiry.of(made, "Which?", 60, 9, None)
        assert Enquiry.read(plan.text()).mechanism == made


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


@pytest.mark.parametrize(
    "clients", [-1, 2.5, float("nan"), float("inf"), "12", None, True, [3, -3], [1, [2]], 10**30]
)
def test_a_number_of_clients_that_is_none_is_missed_with_no_probability(clients: Any) -> None:
    with pytest.raises(InvalidInput, match="clients must be whole numbers from 0 on"):
        MADE.missed(clients)


def test_numbers_of_clients_come_in_any_array() -> None:
    expected = [float(MADE.missed(n)) for n in (0, 50, 90)]
    for clients in ([0, 50, 90], np.array([0.0, 50.0, 90.0]), np.array([0, 50, 90], np.uint8)):
        assert MADE.missed(clients).tolist() == expected
    assert MADE.missed([[0], [50]]).shape == (2, 1)
    assert MADE.missed([]).shape == (0,)


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


# --- what is shown ------------------------------------------------------------------------------


def shown(items: list[Any], tokens: list[int]) -> Histogram:
    return Histogram.of(SampleAndThreshold(1.0, 1e-6), pa.array(items), np.array(tokens), 0.95)


def test_a_histogram_shows_its_first_rows_in_columns() -> None:
    made = shown([f"item {n}" for n in range(12)], [5000, *range(40, 29, -1)])
    first, *rows, more, closing = str(made).splitlines()
    assert first.split() == ["item", "token", "estimate", "standard_error", "low", "high"]
    assert rows[0].split()[:4] == ["'item", "0'", "5,000", "19,705.5"]
    assert len(rows) == 10
    assert len({len(row) for row in (first, *rows)}) == 1
    assert more == "... and 2 more items"
    assert closing.startswith("12 items, each of at least 14 clients; epsilon 1, delta 1e-06")
    assert repr(made) == str(made)


def test_few_rows_are_shown_without_more_and_none_as_one_line() -> None:
    assert str(shown([7], [20])).splitlines()[1].split()[:2] == ["7", "20"]
    assert "more" not in str(shown([7], [20]))
    assert str(shown([], [])).startswith("0 items, each of at least 14 clients")
    assert "1 item, each of at least 1 client;" in str(
        Histogram.of(SampleAndThreshold(1.0, 0.3, 0.3, 1), pa.array([7]), np.array([20]), 0.95)
    )


def test_items_that_are_shown_move_no_cursor_and_are_no_markup() -> None:
    made = shown(["a\x1b[2Jb\nc", "<b>$x$</b>", "x" * 500, "y\u202e"], [23, 22, 21, 20])
    text = str(made)
    assert len(text.splitlines()) == 6
    assert all(c.isprintable() or c == "\n" for c in text)
    assert max(map(len, text.splitlines())) < 120
    html = made._repr_html_()
    assert "&lt;b&gt;$x$&lt;/b&gt;" in html
    assert html.count("<tr>") == 5
    assert 'class="tex2jax_ignore mathjax_ignore"' in html
    assert "<p>4 items, each of at least 14 clients" in html
