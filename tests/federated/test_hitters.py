"""Heavy hitters: what is found at the leaves and along a tree, and what is sent for it."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.federated import HeavyHitters
from tamis.federated.hitters import END, Tree
from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tests.sources import Forbidden, Stream

WORDS = ["the", "then", "there", "a", "an", "and", "tea", "unsurpassable"]


def crowd(seed: int = 1, size: int = 60_000) -> list[str]:
    """Words with Zipf's frequencies: the first of 3,000 is held by about one client in nine."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 3001)
    ranks = rng.choice(3000, size, p=weights / weights.sum())
    return [f"{'abcdefgh'[n % 8]}{n:04d}" for n in ranks]


def found(made: HeavyHitters, items: Any, seed: int = 1) -> dict[str, int]:
    with randomness.using(Stream(seed)):
        table = made.release(items).table
    return dict(zip(table["item"].to_pylist(), table["token"].to_pylist(), strict=True))


# --- what is found ------------------------------------------------------------------------------


@pytest.mark.parametrize(("rounds", "depth"), [(1, None), (1, 5), (2, 5), (5, 5)])
def test_items_of_twice_as_many_clients_as_are_needed_are_found(rounds: int, depth: int) -> None:
    made, items = HeavyHitters(1.0, 1e-6, rounds=rounds, depth=depth), crowd()
    frequent = {w for w, n in Counter(items).items() if n > 2 * made.mechanism.needed}
    assert len(frequent) > 30
    assert frequent <= set(found(made, items))


@pytest.mark.parametrize("rounds", [1, 3])
def test_every_token_counts_kept_clients_of_that_item_and_reaches_tau(rounds: int) -> None:
    made, items = HeavyHitters(1.0, 1e-6, rounds=rounds, depth=6), crowd()
    true, tokens = Counter(items), found(made, items)
    assert all(made.mechanism.tau <= n <= true[w] for w, n in tokens.items())
    sd = np.sqrt(sum(true[w] for w in tokens) * made.mechanism.p)
    expected = made.mechanism.p * sum(true[w] for w in tokens)
    assert abs(sum(tokens.values()) - expected) < 6 * sd


def test_the_leaf_level_finds_more_than_the_tree() -> None:
    items = crowd()
    leaf, tree = (len(found(HeavyHitters(1.0, 1e-6, n, 5), items)) for n in (1, 5))
    assert tree < leaf


def test_items_that_begin_others_are_told_from_them() -> None:
    items = ["the"] * 500 + ["then"] * 400 + ["theremin"] * 300 + ["t"] * 200
    tokens = found(HeavyHitters(1.0, 1e-6, rounds=4, depth=8), items)
    assert set(tokens) == {"the", "then", "theremin", "t"}


def test_items_that_are_longer_than_depth_count_as_their_beginning() -> None:
    items = ["unsurpassable"] * 300 + ["unsurpassed"] * 300
    for rounds in (1, 3):
        made = HeavyHitters(1.0, 1e-6, rounds=rounds, depth=6)
        assert list(found(made, items)) == ["unsurp"]


def test_depth_counts_characters_of_any_alphabet() -> None:
    items = ["été"] * 300 + ["日本語"] * 300 + ["日本"] * 300
    assert set(found(HeavyHitters(1.0, 1e-6, rounds=3, depth=3), items)) == {
        "été",
        "日本語",
        "日本",
    }


def test_what_nobody_holds_often_is_not_found_and_the_search_ends() -> None:
    made = HeavyHitters(1.0, 1e-6, rounds=3, depth=6)
    assert found(made, [f"{n:06d}" for n in range(20_000)][::3]).keys() <= set()
    assert found(made, []) == {}


# --- round by round -----------------------------------------------------------------------------


def test_only_what_grows_out_of_a_frequent_prefix_is_sent() -> None:
    tree = Tree((2, 4), round=1, live=("th", "an"))
    sent = tree.answers(pa.array(WORDS, pa.large_string())).to_pylist()
    assert sent == [f"the{END}", "then", "ther", f"an{END}", f"and{END}"]


def test_a_task_says_all_that_a_client_needs() -> None:
    assert Tree((2, 4)).task == {"length": 2, "known": 0, "prefixes": []}
    assert Tree((2, 4), 1, (), ("th",)).task == {"length": 4, "known": 2, "prefixes": ["th"]}


# --- how it is chosen ---------------------------------------------------------------------------


def test_a_rate_or_a_threshold_can_be_given() -> None:
    usual = HeavyHitters(1.0, 1e-6, 3, 6)
    assert (usual.p, usual.tau) == (usual.mechanism.p, usual.mechanism.tau)
    higher = HeavyHitters(1.0, 1e-6, 3, 6, tau=usual.tau + 10)
    assert (higher.mechanism.tau, higher.mechanism.rounds) == (usual.tau + 10, 3)
    assert higher.p > usual.p
    slower = HeavyHitters(1.0, 1e-6, 3, 6, p=0.1)
    assert slower.tau < usual.tau
    both = HeavyHitters(1.0, 1e-6, 3, 6, p=0.1, tau=40)
    assert both.mechanism.spent < 1e-9


@pytest.mark.parametrize("rounds", [1, 3])
def test_against_colluding_clients_the_threshold_is_larger_by_them(rounds: int) -> None:
    usual, made = (HeavyHitters(1.0, 1e-6, rounds, 6, colluding=c) for c in (0, 7))
    assert (made.tau, made.p) == (usual.tau + 7, usual.p)
    assert made.mechanism.colluding == 7
    assert made.mechanism.spent == usual.mechanism.spent
    assert min(found(made, crowd()).values()) >= made.tau


def test_what_is_shown_has_a_depth_only_if_one_was_given() -> None:
    whole, cut = HeavyHitters(1.0, 1e-6), HeavyHitters(1.0, 1e-6, 2, 6, tau=20, colluding=3)
    assert repr(whole).startswith("HeavyHitters(epsilon=1.0, delta=1e-06, rounds=1, neighbours=")
    assert "tau=14, colluding=0)" in repr(whole)
    assert "rounds=2, depth=6, " in repr(cut)
    assert "tau=20, colluding=3)" in repr(cut)
    assert eval(repr(whole)) == whole
    assert eval(repr(cut)) == cut


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounds": 3, "depth": 6, "tau": 3, "p": 0.1}, "over 3 rounds; the smallest .* is 8"),
        ({"tau": 0}, "tau must be a whole number"),
        ({"p": 0.7}, "p must be at most"),
        ({"colluding": -1}, "colluding must be a whole number"),
        ({"colluding": 5, "tau": 5}, "tau must be more than colluding = 5"),
        ({"rounds": 3}, "depth is missing"),
        ({"rounds": 3, "depth": 2}, "3 rounds cannot share 2 characters"),
        ({"rounds": 0, "depth": 2}, "rounds must be"),
        ({"rounds": 2, "depth": 0}, "depth must be"),
        ({"delta": 0.0}, "delta must be above 0"),
        ({"epsilon": -1.0}, "epsilon must be"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        HeavyHitters(**({"epsilon": 1.0, "delta": 1e-6} | options))


@pytest.mark.parametrize("items", [[1, 2], ["a", None], ["a\0b"], "word", [b"a"]])
def test_items_that_are_no_text_are_refused_before_a_coin_is_tossed(items: Any) -> None:
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match="items"):
        HeavyHitters(1.0, 1e-6).release(items)


# --- real words ---------------------------------------------------------------------------------

PLAYS = Path(__file__).resolve().parents[3] / "shared" / "data" / "shakespeare.txt.gz"


@pytest.mark.skipif(not PLAYS.is_file(), reason="needs the shared data set shakespeare.txt.gz")
@pytest.mark.parametrize(
    ("rounds", "of_100", "of_400"),
    [(1, 1.0, 0.94), pytest.param(5, 0.99, 0.78, marks=pytest.mark.slow), (10, 0.95, 0.65)],
)
def test_words_of_shakespeare_are_found(rounds: int, of_100: float, of_400: float) -> None:
    """204 thousand clients with a word each; the mean of eight draws, whose spread is 0.015."""
    with gzip.open(PLAYS, "rt", encoding="utf-8") as file:
        words = np.array([w[:10] for w in re.findall("[a-z']+", file.read().lower())])
    made = HeavyHitters(1.0, 1e-6, rounds=rounds, depth=10)
    recalls = []
    for seed in range(8):
        held = np.random.default_rng(seed).choice(words, 204_000, replace=False)
        top = [w for w, _ in Counter(held.tolist()).most_common(400)]
        named = found(made, held, seed)
        recalls.append([np.mean([w in named for w in top[:n]]) for n in (100, 400)])
    assert np.all(np.mean(recalls, axis=0) >= (of_100, of_400))
