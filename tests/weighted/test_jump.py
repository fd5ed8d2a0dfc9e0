"""A jump gives the token that the walk in whole numbers gives, or none."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tamis.privacy import randomness
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Survival, U
from tamis.sampling.schemes import Custom, Pps, Ppswor, Scheme
from tamis.weighted.jump import Jump, calm_ranges
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.tokens import draw
from tests.sources import Listed

STEPS = Custom({1: 0.01, 300: 0.3, 301: 0.35, 2_000: 0.8, 9_000: 1})
SCHEMES: list[Scheme] = [
    Pps(1e-3),
    Pps(1e-5),
    Pps(1e-7, 2),
    Pps(0.01, 0.5),
    Ppswor(1e-4),
    Ppswor(0.01),
    Ppswor(1e-7, 2),
    Ppswor(1e-5, 1.5),
    Ppswor(0.01, 0.5),
    Custom({1: 0.5}),
    STEPS,
]
BUDGETS = [(0.02, 1e-6), (0.05, 1e-6), (0.5, 1e-3), (1.0, 1e-12), (5.0, 1e-6)]
EVERY_CASE = [pytest.param(s, *b, id=f"{s!r}-{b}") for s in SCHEMES for b in BUDGETS]


def law_of(scheme: Scheme, epsilon: float, delta: float) -> Survival:
    return Mechanism(Guarantee(epsilon, delta), scheme).integers


def jump(law: Survival, scheme: Scheme, frequency: int, words: list[int]) -> list[int]:
    found = Jump(law, scheme.probability).tokens(
        np.full(len(words), frequency),
        scheme.probability(np.full(len(words), frequency)),
        np.array([((w >> 64) + 0.5) / 2.0**64 for w in words]),
    )
    tokens: list[int] = found.tolist()
    return tokens


def some_frequencies(law: Survival, seed: int) -> list[int]:
    """In and around the calm ranges, and far out."""
    generator, ends = np.random.default_rng(seed), {1, 2, 10**9}
    for start, stop in calm_ranges(law):
        near = np.append(generator.integers(0, 3 * len(law.draw()), 3), 0).tolist()
        ends |= {start + n for n in near} | {stop - n for n in near if stop < 2**60}
        ends |= {int(i) for i in generator.integers(start, min(stop, 10**7) + 1, 3)}
    return sorted(i for i in ends if i > 0)


@pytest.mark.parametrize(("scheme", "epsilon", "delta"), EVERY_CASE)
def test_a_jump_ends_where_the_walk_ends(scheme: Scheme, epsilon: float, delta: float) -> None:
    law, generator = law_of(scheme, epsilon, delta), np.random.default_rng(1)
    clear = 0
    for i in some_frequencies(law, 2):
        highest = law.reporting(i)
        words = [int(highest * share) for share in generator.random(20)]
        words += [int(highest * 0.9**n) for n in range(0, 300, 20)] + [highest - 1, 0]
        words += [highest - 1 - int(highest * 0.5**n) for n in range(1, 120, 10)]
        found = jump(law, scheme, i, words)
        clear += sum(t > 0 for t in found)
        assert all(t in (0, law.walk(i, w)[0]) for t, w in zip(found, words, strict=True))
    assert clear > 50


@pytest.mark.parametrize(("scheme", "epsilon", "delta"), EVERY_CASE)
def test_words_next_to_a_bound_are_left_to_the_integers_or_decided_rightly(
    scheme: Scheme, epsilon: float, delta: float
) -> None:
    law, generator = law_of(scheme, epsilon, delta), np.random.default_rng(3)
    places = some_frequencies(law, 4)
    for i in (places[n] for n in generator.integers(0, len(places), 4).tolist()):
        word = int(law.reporting(i) * generator.random())
        token = law.walk(i, word)[0]
        bound = _bound(law, i, word, token)
        words = [bound + side * (bound >> bits) for side in (-1, 1) for bits in range(20, 128, 6)]
        words = [w for w in [*words, bound, bound - 1] if 0 <= w < law.reporting(i)]
        found = jump(law, scheme, i, words)
        assert all(t in (0, law.walk(i, w)[0]) for t, w in zip(found, words, strict=True))


def _bound(law: Survival, i: int, word: int, token: int) -> int:
    """The least word that gives a lower token than this one: T_i(token - 1)."""
    low, high = word, law.reporting(i)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if law.walk(i, middle)[0] == token else (low, middle)
    return high


RARE: list[tuple[Scheme, float, float, int]] = [
    (Ppswor(1e-15), 1.0, 1e-12, 100_000),
    (Ppswor(1e-15), 1.0, 1e-12, 10**6),
    (Pps(1e-13), 0.5, 1e-14, 10**5),
    (Custom({1: 1e-12}), 0.1, 1e-15, 2_000),
    (Custom({1: 1e-14}), 0.1, 1e-17, 2_000),
    (Custom({1: 1e-8}), 0.01, 1e-9, 5_000),
]


@pytest.mark.parametrize(("scheme", "epsilon", "delta", "frequency"), RARE, ids=repr)
def test_where_q_is_tiny_the_first_half_of_a_word_does_not_decide_alone(
    scheme: Scheme, epsilon: float, delta: float, frequency: int
) -> None:
    """All words on either side of all bounds of the row, as the draw really decides them."""
    mechanism = Mechanism(Guarantee(epsilon, delta), scheme)
    law, words = mechanism.integers, list[int]()
    generator = np.random.default_rng(7)
    for share in generator.random(12).tolist():
        word = int(law.reporting(frequency) * share)
        bound = _bound(law, frequency, word, law.walk(frequency, word)[0])
        words += [bound + n for n in (-(2**63), -(2**40), -1, 0, 1, 2**40, 2**63)]
    words = [w for w in words if 0 <= w < law.reporting(frequency)]
    for word in words:
        with randomness.using(Listed([word >> 64, word & (2**64 - 1)])):
            token = draw(mechanism, np.array([frequency]))[0]
        assert token == law.walk(frequency, word)[0]


@pytest.mark.parametrize(("epsilon", "delta"), [(2.5, 1e-14), (4.0, 1e-12), (5.0, 1e-15)])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_words_for_which_two_ways_back_tie_at_a_bound_are_not_guessed(
    epsilon: float, delta: float, m: int
) -> None:
    """For q = c (g^m (g + 1) - 2) the tie of a and a + 1 falls on a bound between tokens."""
    growth = math.exp(epsilon)
    q = delta / (growth - 1) * (growth**m * (growth + 1) - 2)
    scheme, i = Custom({1: Fraction(int(q * 10**30), 10**30)}), 3_000
    law = law_of(scheme, epsilon, delta)
    q = law.reporting(i)
    for word in {int(q * share) for share in np.random.default_rng(8).random(6)}:
        bound = _bound(law, i, word, law.walk(i, word)[0])
        halves = [(bound >> 64) + n for n in (-2, -1, 0, 1, 2) if 0 <= (bound >> 64) + n < q >> 64]
        found = jump(law, scheme, i, [h << 64 for h in halves])
        for half, token in zip(halves, found, strict=True):
            possible = {law.walk(i, w)[0] for w in (half << 64, (half + 1 << 64) - 1)}
            assert token == 0 or possible == {token}


def test_a_word_that_was_once_guessed_is_left_to_the_integers() -> None:
    scheme = Custom({1: Fraction(51182896983619623773978983293, U)})
    law, half = law_of(scheme, 5.0, 1e-12), 0xA448067E
    assert {law.walk(3000, w)[0] for w in (half << 64, (half + 1 << 64) - 1)} == {2998, 2999}
    assert jump(law, scheme, 3000, [half << 64]) == [0]


@pytest.mark.parametrize(("scheme", "epsilon", "delta"), EVERY_CASE)
def test_the_conditions_hold_wherever_q_is_called_calm(
    scheme: Scheme, epsilon: float, delta: float
) -> None:
    law, generator = law_of(scheme, epsilon, delta), np.random.default_rng(5)
    M, one, q = law.M, 1 << law.k, law.scheme.units
    few = 4 * (M // one + 1)  # words: q is rounded
    for start, stop in calm_ranges(law):
        inside = generator.integers(start, min(stop, 10**7) + 1, 40).tolist()
        for i in {start, start + 1, *inside, min(stop, 10**15)}:
            assert all(law.reporting(j) == q(j) >= law.D for j in (i, i - 1, i - 2))
            assert (U - q(i - 1)) * one <= M * (U - q(i)) + few * one
            twice = M * M + one * one
            assert (q(i) + q(i - 2) - few) * M * one <= twice * q(i - 1)


@pytest.mark.parametrize("scheme", [Ppswor(1e-4), Pps(1e-5), Custom({1: 0.5})], ids=repr)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_hardly_any_key_of_a_calm_frequency_must_be_walked(scheme: Scheme, epsilon: float) -> None:
    generator, law = np.random.default_rng(6), law_of(scheme, epsilon, 1e-6)
    frequencies = generator.integers(10**4, 9 * 10**4, 50_000)
    q = scheme.probability(frequencies)
    found = Jump(law, scheme.probability).tokens(frequencies, q, q * generator.random(50_000))
    assert np.mean(found == 0) < 0.002


def test_nothing_is_calm_where_q_changes_at_every_frequency() -> None:
    ragged = Custom([0.5 + 0.001 * (i // 2) for i in range(100)])
    assert calm_ranges(law_of(ragged, 1.0, 1e-6)) == [(101, 2**63 - 1)]
