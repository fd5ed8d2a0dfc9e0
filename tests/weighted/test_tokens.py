"""The draw gives every key exactly the token that the integers define."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.privacy import randomness
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Survival, U
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted.mechanism import Mechanism, Tokens
from tamis.weighted.tokens import draw
from tamis.weighted.walk import SchemeSampler
from tamis.weighted.words import Words
from tests.sources import Forbidden, Listed, Stream

STEPS = Custom({1: 0.01, 10: 0.3, 40: 0.8})
SCHEMES = [Everything(), Pps(0.03), Pps(1e-5), Ppswor(0.05), Ppswor(0.01, 2), Ppswor(1e-4), STEPS]


def mechanism(
    scheme: Scheme,
    epsilon: float = 1.0,
    delta: float = 1e-3,
    tokens: Tokens = "whole",
    sampler_error: float | None = None,
) -> Mechanism:
    return Mechanism(Guarantee(epsilon, delta), scheme, tokens, sampler_error)


def token_of(mech: Mechanism, frequency: int, word: int) -> int:
    """One key, one prepared 128-bit word."""
    with randomness.using(Listed([word >> 64, word & (2**64 - 1)])):
        return int(draw(mech, np.array([frequency]))[0])


def rows(law: Survival, upto: int) -> Iterator[tuple[int, dict[int, int]]]:
    """(i, {x: T_i(x)}) by the plain recursion over all columns, none left out."""
    column: dict[int, int] = {}
    for i in range(1, upto + 1):
        before, now = law.reporting(i - 1), law.reporting(i)
        column[i - 1] = 0
        for x, s in column.items():
            terms = (
                now,
                law.D + (s * law.M >> law.k),
                U + (((s + law.D - U) << law.k) // law.M),
                now + (((s + law.D - before) << law.k) // law.M),
            )
            column[x] = now if x == 0 else min(terms)
        yield i, dict(column)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_words_on_either_side_of_every_integer_get_the_tokens_on_either_side(
    scheme: Scheme, epsilon: float
) -> None:
    mech = mechanism(scheme, epsilon)
    for i, column in rows(mech.integers, 60):
        if i not in (1, 2, 9, 10, 11, 34, 60):
            continue
        for bound in sorted(set(column.values()) - {0}):
            for word in (bound - 1, min(bound, U - 1)):
                expected = sum(t > word for t in column.values())
                highest = max((x + 1 for x, t in column.items() if t > word), default=0)
                assert expected == highest
                assert token_of(mech, i, word) == highest


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_word_at_any_frequency_gets_the_token_of_the_integers(
    scheme: Scheme, data: st.DataObject
) -> None:
    mech = mechanism(scheme, *data.draw(st.sampled_from([(0.1, 1e-6), (1.0, 1e-9), (5.0, 1e-4)])))
    frequency = data.draw(st.integers(1, 10**12) | st.integers(1, 300))
    word = data.draw(st.integers(0, U - 1) | st.integers(0, mech.integers.D * 4))
    reported = word < mech.integers.reporting(frequency)
    expected = mech.integers.walk(frequency, word)[0] if reported else 0
    assert token_of(mech, frequency, word) == expected


@pytest.mark.parametrize(("epsilon", "keys", "elements"), [(1.0, 10, 1), (3.0, 5, 2)])
def test_with_a_head_start_words_on_either_side_of_every_integer_get_their_tokens(
    epsilon: float, keys: int, elements: int
) -> None:
    mech = Mechanism(Guarantee(epsilon, 1e-5, keys, elements), Everything())
    table, start = mech.draw[0], mech.head_start
    assert start > 0
    for i in (1, 2, 9, 10**12):
        for d in range(1, len(table), 3):
            for word, less in ((table[d] - 1, d - 1), (min(table[d], U - 1), d)):
                expected = i + start - min(less, len(table) - 2)
                assert token_of(mech, i, word) == max(0, expected)


def test_a_key_that_does_not_occur_has_no_head_start() -> None:
    mech = Mechanism(Guarantee(1.0, 1e-5, 10), Everything())
    assert mech.head_start > 0
    words = [0, 1, mech.draw[0][1] - 1, mech.draw[0][mech.head_start] - 1]
    assert [token_of(mech, 0, word) for word in words] == [0] * 4
    assert token_of(mech, 1, 0) == 1 + mech.head_start


@pytest.mark.parametrize("error", [None, 0.0, 2.0**-50])
@pytest.mark.parametrize("scheme", SCHEMES[1:], ids=repr)
def test_arrays_are_drawn_as_the_integers_say_key_by_key(
    scheme: Scheme, error: float | None
) -> None:
    mech = mechanism(scheme, 0.5, 1e-6, sampler_error=error)
    frequencies = np.concatenate([np.arange(1, 1500), np.geomspace(1500, 10**12, 500).astype(int)])
    with randomness.using(Stream(1)):
        tokens = draw(mech, frequencies)
    with randomness.using(Stream(1)):
        words = Words.draw(len(frequencies))
        sampler = SchemeSampler(mech)
        for n, i in enumerate(frequencies.tolist()):
            word = sampler.word(i, words, n)
            expected = mech.integers.walk(i, word)[0] if word < mech.integers.reporting(i) else 0
            assert tokens[n] == expected


@pytest.mark.parametrize(
    ("scheme", "epsilon"),
    [(Pps(0.1), 0.01), (Pps(0.03), 0.3), (Ppswor(1e-3), 0.1), (STEPS, 0.3), (Ppswor(1e-7), 1.0)],
    ids=repr,
)
def test_up_to_where_q_binds_tokens_are_those_without_sampling(
    scheme: Scheme, epsilon: float
) -> None:
    mech = mechanism(scheme, epsilon, 1e-6)
    sampler, p = SchemeSampler(mech), mech.integers.reporting
    free = next((i for i in range(400) if p(i + 1) != mech.integers.cap(p(i))), 400)
    assert min(sampler.free, 400) == free
    assert free in (0, 400) or 10 < free < 200
    frequencies = np.tile(np.append(np.arange(1, 300), [1000, 10**6]), 4)
    with randomness.using(Stream(5)):
        tokens = sampler.draw(frequencies)
    with randomness.using(Stream(5)):
        words = Words.draw(len(frequencies))
        for n, i in enumerate(frequencies.tolist()):
            word, law = words.full(n), mech.integers
            assert tokens[n] == (law.walk(i, word)[0] if word < law.reporting(i) else 0)


def test_the_second_half_of_a_word_is_drawn_only_when_the_first_does_not_decide() -> None:
    mech = mechanism(Everything())
    bound = mech.draw[0][5]
    with randomness.using(Listed([(bound >> 64) + 1])):
        assert draw(mech, np.array([50]))[0] == 45
    with pytest.raises(AssertionError, match="more words"), randomness.using(Listed([bound >> 64])):
        draw(mech, np.array([50]))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [Everything(), Pps(0.03), Ppswor(0.05), STEPS], ids=repr)
def test_fine_tokens_refine_whole_ones_and_keep_the_order_of_words(scheme: Scheme) -> None:
    fine, whole = mechanism(scheme, 1.0, 1e-3, "fine"), mechanism(scheme, 1.0, 1e-3)
    stride = fine.stride
    words = sorted(int(w) << 64 for w in Stream(2).words(300))
    for i in (7, 33, 60):
        tokens = [token_of(fine, i, w) for w in words]
        assert tokens == sorted(tokens, reverse=True)
        assert [-(-t // stride) for t in tokens] == [token_of(whole, i, w) for w in words]
    assert len(set(tokens)) > len({-(-t // stride) for t in tokens})


@pytest.mark.parametrize("z", [20, 36, 38, 41, 44, 50, 80, 88])
def test_words_near_the_top_are_decided_exactly_where_q_is_almost_one(z: int) -> None:
    mech = mechanism(Ppswor(0.05))
    frequency = 20 * z
    bound = mech.integers.reporting(frequency)
    assert U - bound < 2**115
    for word in (bound - 1, min(bound, U - 1), U - 1, U - 2**64, U - 2**74, bound - 2**64):
        expected = mech.integers.walk(frequency, word)[0] if word < bound else 0
        assert token_of(mech, frequency, word) == expected


def test_the_second_half_of_a_word_is_drawn_once_also_beside_a_key_that_q_does_not_bind() -> None:
    mech = mechanism(Custom({1: 0.5}), 0.5, 1e-12)
    word = 0x7FFFFFFFFFE1D1778080FA10D152A26C  # so near to P that its first half decides nothing
    source = Listed([5, word >> 64, word & (2**64 - 1), 2**64 - 1])
    with randomness.using(source):
        tokens = draw(mech, np.array([1, 104]))
    assert tokens[1] == mech.integers.walk(104, word)[0] == 2
    assert source.left == 1


def test_an_empty_array_draws_nothing() -> None:
    with randomness.using(Forbidden()):
        for scheme in SCHEMES:
            assert len(draw(mechanism(scheme), np.array([], dtype=np.int64))) == 0
