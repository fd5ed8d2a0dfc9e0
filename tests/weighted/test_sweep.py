"""A sweep over rows gives the token that the walk in whole numbers gives, or none."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.privacy import randomness
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Survival
from tamis.sampling.schemes import Custom, Pps, Ppswor, Scheme
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.reporting import Reporting
from tamis.weighted.sweep import Sweep
from tamis.weighted.walk import SchemeSampler
from tests.sources import Listed, Stream

STEPS = Custom({1: 0.01, 30: 0.3, 31: 0.35, 200: 0.8, 900: 1})
SCHEMES: list[Scheme] = [
    Pps(1e-3),
    Pps(0.01, 0.5),
    Ppswor(0.1),
    Ppswor(1e-4),
    Ppswor(0.01, 2),
    Ppswor(1e-5, 1.5),
    Custom({1: 0.5}),
    Custom({1: 0, 20: 1e-9, 21: 1}),
    STEPS,
]
BUDGETS = [(0.02, 1e-6), (0.05, 1e-12), (0.5, 1e-3), (1.0, 1e-12), (5.0, 1e-6), (12.0, 1e-9)]
EVERY_CASE = [pytest.param(s, *b, id=f"{s!r}-{b}") for s in SCHEMES for b in BUDGETS]


def law_of(scheme: Scheme, epsilon: float, delta: float) -> Survival:
    return Mechanism(Guarantee(epsilon, delta), scheme).integers


def swept(law: Survival, scheme: Scheme, keys: list[tuple[int, int]]) -> list[int]:
    """Tokens of (frequency, first half of a word)."""
    found = Sweep(law, Reporting(law, scheme).p).tokens(
        np.array([i for i, _ in keys], dtype=np.int64),
        np.array([(half + 0.5) / 2.0**64 for _, half in keys]),
    )
    tokens: list[int] = found.tolist()
    return tokens


def right(law: Survival, key: tuple[int, int], token: int) -> bool:
    """Whether it is the token of every word with that first half, or -1."""
    i, half = key
    words = half << 64, (half + 1 << 64) - 1
    ends = {law.walk(i, word)[0] if word < law.reporting(i) else 0 for word in words}
    return token == -1 or ends == {token}


@pytest.mark.parametrize(("scheme", "epsilon", "delta"), EVERY_CASE)
def test_a_sweep_ends_where_the_walk_ends(scheme: Scheme, epsilon: float, delta: float) -> None:
    law, generator = law_of(scheme, epsilon, delta), np.random.default_rng(1)
    levels = [i for i in generator.integers(21, 1200, 60).tolist() if law.reporting(i) >> 64]
    keys = [
        (i, int(share * (law.reporting(i) >> 64))) for i in levels for share in generator.random(4)
    ]
    tokens = swept(law, scheme, keys)
    assert all(right(law, key, token) for key, token in zip(keys, tokens, strict=True))
    assert np.count_nonzero(np.array(tokens) > 0) >= 0.9 * len(keys) > 0


@pytest.mark.parametrize(("scheme", "epsilon", "delta"), EVERY_CASE)
def test_words_next_to_a_bound_are_left_to_the_integers_or_decided_rightly(
    scheme: Scheme, epsilon: float, delta: float
) -> None:
    law, generator = law_of(scheme, epsilon, delta), np.random.default_rng(2)
    keys = list[tuple[int, int]]()
    wanted = set(generator.integers(1, 400, 8).tolist()) | {1, 2, 21, 30, 31, 32, 200, 201}
    for i, _, (_, top, *row) in law.rows(1, {}):
        for bound in (
            generator.choice(len(row), min(3, len(row)), replace=False) if i in wanted else ()
        ):
            half = row[bound] >> 64
            around = [half + n for n in (-1, 0, 1)]
            around += [half + side * (half >> k) for k in range(20, 60, 4) for side in (-1, 1)]
            around += [(top >> 64) - (top >> 64 + k) for k in range(20, 60, 4)]
            around += [(top >> 64) + side * n for n in (0, 1, 2, 2**20, 2**30) for side in (-1, 1)]
            keys += [(i, w) for w in around if 0 <= w < 2**64]
        if i == 400:
            break
    tokens = swept(law, scheme, keys)
    assert all(right(law, key, token) for key, token in zip(keys, tokens, strict=True))
    assert max(tokens) > 0


def test_frequencies_far_apart_are_swept_in_stretches() -> None:
    law = law_of(STEPS, 0.5, 1e-6)
    keys = [(i, (law.reporting(i) >> 64) // 3) for i in (10**9 + 7, 40, 10**6, 10**9, 41, 2**62)]
    tokens = swept(law, STEPS, keys)
    assert tokens == [law.walk(i, half << 64)[0] for i, half in keys]


def test_no_keys_give_no_tokens() -> None:
    assert swept(law_of(STEPS, 0.5, 1e-6), STEPS, []) == []


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("scheme", [*SCHEMES[:5], STEPS], ids=repr)
def test_swept_keys_get_the_same_tokens_as_walked_ones(
    scheme: Scheme, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.weighted.walk._ROW", 0)  # rows cost nothing: sweep what can be
    monkeypatch.setattr("tamis.weighted.walk._CELL", 0)
    error = 0.0 if elsewhere else None
    mechanism = Mechanism(Guarantee(0.5, 1e-6), scheme, sampler_error=error)
    frequencies = np.tile(np.arange(1, 1200), 30)
    by_rows, by_walks = SchemeSampler(mechanism, 1200), SchemeSampler(mechanism)
    by_walks.gaps = by_walks.gaps[:0]
    with randomness.using(Stream(3)):
        tokens = by_rows.draw(frequencies)
    with randomness.using(Stream(3)):
        assert np.array_equal(tokens, by_walks.draw(frequencies))
    assert (tokens > 0).any()
    assert not len(by_walks.swept)
    assert len(by_rows.swept) or not len(by_rows.gaps)


def test_rows_that_do_not_fit_are_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    law = law_of(STEPS, 0.5, 1e-6)
    sweep = Sweep(law, Reporting(law, STEPS).p)
    frequencies = np.tile(np.arange(150, 260), 20)
    words = np.random.default_rng(5).random(len(frequencies))
    kept = sweep.tokens(frequencies, words)
    assert np.array_equal(kept, sweep.tokens(frequencies, words))
    monkeypatch.setattr(Sweep, "room", 500)
    other = Sweep(law, Reporting(law, STEPS).p)
    assert np.array_equal(kept, other.tokens(frequencies, words))
    assert np.array_equal(kept, other.tokens(frequencies, words))


def test_a_gap_without_end_is_not_swept() -> None:
    """Nothing is calm where q is below the gift; the length of such a range is almost 2^63."""
    mechanism = Mechanism(Guarantee(1.0, 1e-6), Custom({1: 1e-8}), sampler_error=0.0)
    sampler = SchemeSampler(mechanism, 2**40)
    frequencies = np.random.default_rng(1).integers(1, 10**12, 20_000)
    with randomness.using(Stream(4)):
        assert (sampler.draw(frequencies) > 0).any()
    assert not len(sampler.swept)


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("scheme", [Pps(0.01), Ppswor(0.1), STEPS], ids=repr)
def test_the_highest_words_are_swept_too(
    scheme: Scheme, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where almost every word names the key, none may be taken to be above P without a look."""
    monkeypatch.setattr("tamis.weighted.walk._ROW", 0)
    monkeypatch.setattr("tamis.weighted.walk._CELL", 0)
    mechanism = Mechanism(Guarantee(0.5, 1e-6), scheme, sampler_error=0.0 if elsewhere else None)
    law, sampler = mechanism.integers, SchemeSampler(mechanism)
    frequencies = np.array([i for low, high in sampler.gaps.tolist() for i in range(low, high)])
    for first in (2**64 - 1, 2**64 - 2, 2**64 - 2**11, 2**64 - 2**12):
        words = [first] * len(frequencies) + [0] * len(frequencies)  # all second halves are 0
        with randomness.using(Listed(words)):
            tokens = sampler.draw(frequencies)
        for i, token in zip(frequencies.tolist(), tokens.tolist(), strict=True):
            word = first << 64
            word = word * law.scheme.units(i) >> 128 if elsewhere else word
            assert token == (law.walk(i, word)[0] if word < law.reporting(i) else 0)
    assert len(sampler.swept)
