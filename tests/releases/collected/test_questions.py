"""What a release of devices' reports answers, and how wrong the answers are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import tamis
from tamis.privacy.answer import Answer
from tamis.releases.collected.collected import Collected
from tamis.releases.collected.sums import clients_with
from tests.releases.collected.making import LANGUAGES, items, mechanism, quantiles

# --- items ----------------------------------------------------------------------------------------


def names(table: pa.Table) -> list[Any]:
    return list(table["item"].to_pylist())


def test_the_most_frequent_come_first() -> None:
    made = items()
    assert names(made.top(2)) == ["en", "de"]
    assert names(made.top(99)) == names(made.top()) == ["en", "de", "fr", "sv", "fi"]
    assert names(made.top(2, "item LIKE 'f%'")) == ["fr", "fi"]


def test_rows_with_a_condition_keep_their_order_and_types() -> None:
    made = items()
    assert made.rows() is made.table
    found = made.rows("item IN ('fi', 'en') OR length(item) > 5")
    assert names(found) == ["en", "fi"]
    assert found.schema == made.table.schema
    assert len(made.rows("item = 'nothing'")) == 0
    assert names(items({7: 50, 40: 20}, domain=99).rows("item BETWEEN 5 AND 9")) == [7]


def test_a_place_is_by_token_and_shared_by_equals() -> None:
    made = items()
    assert [made.rank(item) for item in ("en", "de", "fr", "fi")] == [1, 2.5, 2.5, 5]
    assert made.rank("fi", "item LIKE 'f%'") == 2
    assert items({7: 50, 40: 20}, domain=99).rank(40) == 2


def test_a_sum_is_of_the_named_items_alone_and_says_so() -> None:
    made, p = items(), mechanism().p
    one = made.sum("item = 'en'")
    row = made.top(1).to_pylist()[0]
    assert one.estimate == row["estimate"]
    assert one.standard_error == pytest.approx(np.sqrt(400 * (1 - p)) / p)
    assert (one.low, one.high) == pytest.approx((row["low"], row["high"]), rel=0.01)
    assert one.coverage == 0.95
    assert one.said == (
        "of the named items alone: what stayed below the threshold, such as most items with fewer "
        "than 56 clients, is not in it"
    )
    every = made.sum()
    assert every.estimate == pytest.approx((400 + 120 + 120 + 15) / p + 14)
    assert sum(LANGUAGES.values()) < every.low < every.estimate < every.high


def test_a_sum_of_nothing_is_nothing() -> None:
    for nothing in (items({}).sum(), items().sum("item = 'xx'")):
        assert (nothing.estimate, nothing.standard_error, nothing.low, nothing.high) == (0, 0, 0, 0)


def test_at_least_those_that_were_kept_hold_an_item() -> None:
    for token in (14, 15, 16):
        found = items({"en": token}).sum()
        assert found.low >= token
        assert found.low <= found.estimate <= found.high
        assert found.standard_error > 10


# --- sums, by their law: probabilities, not draws -------------------------------------------------


@pytest.mark.parametrize("clients", [14, 20, 35, 55, 80, 200, 3000])
def test_a_sum_is_right_on_average_given_what_is_named(clients: int) -> None:
    """The sum of estimates is not, where items are seldom named."""
    m = mechanism()
    tokens = np.arange(m.tau, clients + 1)
    law = stats.binom.pmf(tokens, clients, m.p)
    law /= law.sum()
    found = [clients_with(m, np.array([t]), 0.95) for t in tokens.tolist()]
    mean = law @ [answer.estimate for answer in found]
    assert mean == pytest.approx(clients)
    too_high = float(law @ tokens) / m.p > 1.05 * clients
    assert too_high is (clients <= 55)
    spread = law @ (np.array([answer.estimate for answer in found]) - mean) ** 2
    assert law @ np.array([answer.standard_error for answer in found]) ** 2 >= 0.999 * spread


POPULATIONS: dict[str, np.ndarray] = {
    "frequent": np.full(30, 400),
    "at the threshold": np.full(200, 55),
    "seldom named": np.full(500, 35),
    "Zipf": (60_000 / np.arange(1, 3000) ** 1.1).astype(np.int64),
}


@pytest.mark.parametrize("clients", POPULATIONS.values(), ids=POPULATIONS)
def test_intervals_of_sums_hold_the_number_of_clients(clients: np.ndarray) -> None:
    """600 times; of a coverage of 95 % less than 92 % has a probability of 1e-3.

    The plain interval of as many clients fails where items are near the threshold.
    """
    m, rng, held, plain, off = mechanism(), np.random.default_rng(5), 0, 0, list[float]()
    for _ in range(600):
        tokens = rng.binomial(clients, m.p)
        named = tokens >= m.tau
        true, found = clients[named].sum(), clients_with(m, tokens[named], 0.95)
        held += bool(found.low <= true <= found.high)
        kept = tokens[named].sum()
        usual = Answer.normal(kept / m.p, np.sqrt(kept * (1 - m.p)) / m.p)
        plain += bool(usual.low <= true <= usual.high)
        off.append(found.estimate - true)
    assert held >= 0.92 * 600
    assert abs(np.mean(off)) < 5 * np.std(off) / 600**0.5
    assert (plain >= 0.92 * 600) is bool(clients.min() == 400)


# --- quantiles ------------------------------------------------------------------------------------


def test_a_quantile_is_a_row() -> None:
    made = quantiles()
    assert made.quantile(0.5).to_pylist() == [
        {"quantile": 0.5, "estimate": 40, "low": 38, "high": 45}
    ]
    assert made.rows("quantile > 0.3").num_rows == 2
    assert "3 quantiles, from counts of at least 14 clients" in str(made)


# --- what cannot be -------------------------------------------------------------------------------

WRONG: dict[str, tuple[Collected, Callable[[Collected], Any], str]] = {
    "no such item": (items(), lambda c: c.rank("xx"), "was not named"),
    "a number": (items(), lambda c: c.rank(5), "must be of type large_string"),
    "text": (items({7: 50}, domain=9), lambda c: c.rank("x"), "must be of type int64"),
    "no number of items": (items(), lambda c: c.top(0), "count must be a whole number"),
    "a condition on tokens": (items(), lambda c: c.sum("token > 20"), "no column 'token'"),
    "a condition that fails": (items(), lambda c: c.rows("item::INT > 3"), "on the key columns"),
    "no condition": (items(), lambda c: c.rows("item ="), "not a condition"),
    "a subquery": (items(), lambda c: c.rows("item IN (SELECT 'en')"), "the row itself"),
    "a quantile of items": (items(), lambda c: c.quantile(0.5), "asked for by their quantiles"),
    "another quantile": (quantiles(), lambda c: c.quantile(0.3), "are 0.1, 0.5, 0.9, and not 0.3"),
    "no quantile": (quantiles(), lambda c: c.quantile("0.5"), "and not '0.5'"),  # type: ignore[arg-type]
    "top of quantiles": (quantiles(), lambda c: c.top(), "top is about items"),
    "a sum of quantiles": (quantiles(), lambda c: c.sum(), "sum is about items"),
    "a place of a quantile": (quantiles(), lambda c: c.rank(0.5), "rank is about items"),
}


@pytest.mark.parametrize(("made", "ask", "words"), WRONG.values(), ids=WRONG)
def test_questions_that_cannot_be_are_refused(
    made: Collected, ask: Callable[[Collected], Any], words: str
) -> None:
    with pytest.raises(tamis.InvalidInput, match=words):
        ask(made)
