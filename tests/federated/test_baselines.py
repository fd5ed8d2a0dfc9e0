"""The baselines: what each promises, the laws that they draw from, and what is refused.

Draws come from a fixed seed. Over seeds, a right law would be taken for wrong with a probability of
`RARE`, and a law that is 3 % off for right with less than that: the samples are large enough.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from tamis.federated.baselines import (
    BernoulliNoise,
    CentralNoise,
    HadamardResponse,
    TrieHH,
    delta_of,
)
from tamis.federated.baselines.local import transformed
from tamis.federated.baselines.shuffle import _table, binomials, smallest_rate
from tamis.federated.baselines.trie import drawn, spent
from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tests.sources import Forbidden, Stream

RARE = 1e-5
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Baseline = CentralNoise | HadamardResponse | BernoulliNoise

SHUFFLED = BernoulliNoise(1.0, 1e-6, 1000)
ALL: list[Baseline] = [CentralNoise(1.0), HadamardResponse(1.0), SHUFFLED]
WORDS = TrieHH(1.0, 1e-6, 1)


def fits(seen: Ints, law: Floats) -> float:
    """Pearson's test, with what is expected fewer than five times put together."""
    times = seen.sum()
    usual = law * times > 5
    expected = np.append(law[usual], max(1 - law[usual].sum(), 1e-300)) * times
    there = np.append(seen[usual], seen[~usual].sum())
    keep = expected > 1e-9
    return float(stats.chisquare(there[keep], expected[keep], sum_check=False).pvalue)


# --- the central model --------------------------------------------------------------------------


def two_sided(epsilon: float, reach: int) -> Floats:
    a = math.exp(-epsilon)
    return (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))


def test_central_noise_is_two_sided_geometric_and_not_three_percent_off() -> None:
    epsilon, many, reach = 0.7, 200_000, 60
    with randomness.using(Stream(1)):
        noise = CentralNoise(epsilon).release([], many)
    seen = np.bincount(noise + reach, minlength=2 * reach + 1)
    for factor, right in ((1.0, True), (1.03, False), (0.97, False)):
        p = fits(seen, two_sided(epsilon * factor, reach))
        assert (p > RARE) == right, (factor, p)


def test_neighbouring_counts_differ_by_epsilon_at_every_value() -> None:
    law = two_sided(0.7, 40)
    assert np.abs(np.log(law[1:] / law[:-1])).max() == pytest.approx(0.7)


# --- the local model ----------------------------------------------------------------------------


def response(epsilon: float, item: int, size: int) -> Floats:
    """Pr[row j, sign s] in the order j + size (s is minus)."""
    signs = linalg.hadamard(size)[:, item + 1]
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    plus = np.where(signs > 0, true, 1 - true) / size
    return np.concatenate([plus, 1 / size - plus])


def test_reports_have_the_law_of_the_matrix_and_not_three_percent_off() -> None:
    epsilon, item, domain, size, many = 1.1, 2, 6, 8, 1_200_000
    with randomness.using(Stream(2)):
        rows, minus = HadamardResponse(epsilon).reports(np.full(many, item), domain)
    seen = np.bincount(rows + size * minus, minlength=2 * size)
    for factor, right in ((1.0, True), (1.03, False), (0.97, False)):
        p = fits(seen, response(epsilon * factor, item, size))
        assert (p > RARE) == right, (factor, p)


@pytest.mark.parametrize("domain", [1, 2, 3, 7, 8, 20])
def test_no_report_tells_two_items_apart_by_more_than_epsilon(domain: int) -> None:
    size = 1 << domain.bit_length()
    assert size > domain >= size // 2
    laws = np.array([response(1.1, item, size) for item in range(domain)])
    assert np.log(laws.max(axis=0) / laws.min(axis=0)).max() <= 1.1 + 1e-12
    assert laws.sum(axis=1) == pytest.approx(1)


def test_the_quick_transform_is_the_matrix() -> None:
    for size in (1, 2, 4, 32):
        sums = np.random.default_rng(size).integers(-50, 50, size)
        assert transformed(sums).tolist() == (linalg.hadamard(size) @ sums).tolist()


# --- the shuffle model --------------------------------------------------------------------------


def tried(n: int, q: float, epsilon: float) -> mp.mpf:
    """The larger hockey-stick divergence, over all numbers of bits."""
    with mp.workdps(40):
        rate, e = mp.mpf(q), mp.exp(mp.mpf(epsilon))
        law = [mp.binomial(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
        pairs = list(zip([*law, mp.mpf(0)], [mp.mpf(0), *law], strict=True))
        few = mp.fsum(max(mp.mpf(0), a - e * b) for a, b in pairs)
        many = mp.fsum(max(mp.mpf(0), b - e * a) for a, b in pairs)
        return max(few, many)


@settings(deadline=None)
@given(st.integers(1, 120), st.floats(1e-6, 1 - 1e-6), st.floats(0.01, 8))
def test_delta_is_that_of_trying_all_numbers_of_bits(n: int, q: float, epsilon: float) -> None:
    expected = tried(n, q, epsilon)
    assert abs(delta_of(n, q, epsilon) - expected) <= mp.mpf(10) ** -11 * expected


@pytest.mark.parametrize(
    ("n", "q", "epsilon"), [(2000, 0.02, 1.0), (2000, 0.5, 0.1), (1500, 0.9, 0.05), (3000, 1e-3, 3)]
)
def test_delta_of_many_clients_is_that_of_trying(n: int, q: float, epsilon: float) -> None:
    expected = tried(n, q, epsilon)
    assert abs(delta_of(n, q, epsilon) - expected) <= mp.mpf(10) ** -11 * expected


@pytest.mark.parametrize(("n", "epsilon"), [(10**7, 0.1), (10**5, 1.0), (10**6, 0.03)])
def test_what_is_left_out_of_delta_of_many_clients_is_nothing(n: int, epsilon: float) -> None:
    q = smallest_rate(n, epsilon, 1e-6)
    k = np.arange(int(n * q - 30 * math.sqrt(n * q)) if n * q > 900 else 0, int(n * q) + 1)
    law = stats.binom.pmf(np.append(k[0] - 1, k), n, q)
    whole = np.maximum(0, law[1:] - math.exp(epsilon) * law[:-1]).sum()
    assert delta_of(n, q, epsilon) == pytest.approx(float(whole), rel=1e-10)


def test_many_bits_hide_as_few_do() -> None:
    for n, q, epsilon in ((50, 0.25, 0.7), (1000, 0.125, 0.2)):
        assert delta_of(n, q, epsilon) == pytest.approx(delta_of(n, 1 - q, epsilon), rel=1e-11)


@pytest.mark.parametrize(
    ("n", "epsilon", "delta"),
    [(60, 0.5, 0.05), (60, 1.0, 1e-3), (200, 0.3, 2e-3), (1000, 1.0, 1e-6), (10**5, 0.2, 1e-6)],
)
def test_no_lower_rate_is_enough(n: int, epsilon: float, delta: float) -> None:
    q = smallest_rate(n, epsilon, delta)
    assert 0.999999 * delta < delta_of(n, q, epsilon) <= delta
    lower = q * (1 - np.concatenate([np.logspace(-6, -1, 150), np.linspace(0.1, 0.99, 50)]))
    assert min(delta_of(n, float(x), epsilon) for x in lower) > delta


def test_what_an_event_needs_rises_and_then_falls_with_the_rate() -> None:
    """The search for the least rate rests on it; all events of 25 clients are looked at."""
    n, e = 25, math.exp(0.6)
    rates = np.linspace(0.001, 0.999, 400)
    below = np.asarray(stats.binom.cdf(np.arange(-1, n + 2)[:, None], n, rates))
    few = below[1:] - e * below[:-1]
    many = (1 - below[:-1]) - e * (1 - below[1:])
    for needs in np.concatenate([few, many]):
        steps = np.diff(needs)
        steps = steps[np.abs(steps) > 1e-12]
        assert np.all(np.diff(np.sign(steps)) <= 0)


def test_noise_is_binomial_and_not_three_percent_off() -> None:
    n, q, many = 5000, 0.011, 200_000
    with randomness.using(Stream(3)):
        seen = np.bincount(binomials(n, q, many), minlength=n + 1)
    for factor, right in ((1.0, True), (1.03, False), (0.97, False)):
        p = fits(seen, stats.binom.pmf(np.arange(n + 1), n, q * factor))
        assert (p > RARE) == right, (factor, p)


@pytest.mark.parametrize(("n", "q"), [(1, 0.5), (7, 0.3), (40, 0.02), (40, 0.9), (300, 0.5)])
def test_words_are_compared_with_the_binomial_law(n: int, q: float) -> None:
    first, ends = _table(n, q)
    rate, total = Fraction(q), Fraction(0)
    law = [math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
    total = sum(law[:first], Fraction(0))
    assert total < Fraction(1, 2**100)
    for k, end in enumerate(ends.tolist(), first):
        total += law[k]
        assert abs(total * 2**64 - end) <= 2


def test_clients_without_an_item_add_noise_too() -> None:
    made = BernoulliNoise(1.0, 1e-6, 1000)
    with randomness.using(Stream(4)):
        noise = made.release([], 50_000)
    assert abs(noise.mean()) < 5 * math.sqrt(34 / 50_000)
    assert noise.var() == pytest.approx(1000 * made.q * (1 - made.q), rel=0.03)


# --- all of these -------------------------------------------------------------------------------

SPREADS: dict[type, Callable[[int], float]] = {
    CentralNoise: lambda n: 2 * math.exp(-1) / (1 - math.exp(-1)) ** 2,
    HadamardResponse: lambda n: n / math.tanh(0.5) ** 2,  # but for the item's own count
    BernoulliNoise: lambda n: 1000 * SHUFFLED.q * (1 - SHUFFLED.q),
}


@pytest.mark.parametrize("made", ALL, ids=lambda made: type(made).__name__)
def test_estimates_are_unbiased_with_the_spread_that_the_law_has(made: Baseline) -> None:
    """Means of 600 draws: 5 standard errors are passed with a probability of 6e-7 each."""
    domain, times = 5, 600
    items = np.repeat(np.arange(domain), [700, 200, 0, 1, 60])
    with randomness.using(Stream(5)):
        found = np.array([made.release(items, domain) for _ in range(times)])
    spread = SPREADS[type(made)](len(items))
    assert found.shape == (times, domain)
    error = np.abs(found.mean(axis=0) - np.bincount(items, minlength=domain))
    assert error.max() < 5 * math.sqrt(spread / times)
    assert found[:, 2].var() == pytest.approx(spread, rel=0.3)


@pytest.mark.parametrize("made", ALL, ids=lambda made: type(made).__name__)
@pytest.mark.parametrize(
    ("items", "domain", "words"),
    [
        ([0, 1], 0, "domain must be a whole number from 1"),
        ([], 0, "domain must be a whole number from 1"),
        ([0], -3, "domain must be"),
        ([0], 2.0, "domain must be"),
        ([0, 5], 5, "items must be whole numbers from 0 to domain - 1 = 4"),
        ([0, -1], 5, "items must be whole numbers from 0 to domain - 1 = 4"),
        (np.array([2**63 + 1], dtype=np.uint64), 5, "items must be whole numbers from 0"),
        ([0.5, 1.0], 5, "items must be one column of whole numbers"),
        ([[0, 1]], 5, "items must be one column of whole numbers"),
        ([[0], [0, 1]], 5, "items must be one column of whole numbers"),
        ([True, False], 5, "items must be one column of whole numbers"),
        ([10**30], 5, "items must be one column of whole numbers"),
        (["a"], 5, "items must be one column of whole numbers"),
        (pa.array([1, None]), 5, "items must be one column of whole numbers"),
    ],
)
def test_items_outside_of_the_domain_are_refused(
    made: Baseline, items: Any, domain: Any, words: str
) -> None:
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=words):
        made.release(items, domain)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, "1", True])
def test_epsilon_must_be_above_0(epsilon: Any) -> None:
    makers: list[Callable[[], object]] = [
        lambda: CentralNoise(epsilon),
        lambda: HadamardResponse(epsilon),
        lambda: BernoulliNoise(epsilon, 1e-6, 1000),
        lambda: TrieHH(epsilon, 1e-6, 10),
        lambda: delta_of(10, 0.1, epsilon),
    ]
    for make in makers:
        with pytest.raises(InvalidInput, match="epsilon must be a number above 0"):
            make()


NONSENSE: dict[str, tuple[Callable[[], object], str]] = {
    "delta 0": (lambda: BernoulliNoise(1.0, 0.0, 100), "delta must lie strictly between"),
    "delta 1": (lambda: BernoulliNoise(1.0, 1.0, 100), "delta must lie strictly between"),
    "no clients": (lambda: BernoulliNoise(1.0, 1e-6, 0), "clients must be a whole number from 1"),
    "clients below 0": (lambda: BernoulliNoise(1.0, 1e-6, -5), "clients must be a whole number"),
    "one client": (lambda: BernoulliNoise(1.0, 1e-6, 1), "clients = 1 are too few"),
    "too few": (lambda: BernoulliNoise(0.1, 1e-6, 1000), "clients = 1000 are too few"),
    "too many items": (lambda: SHUFFLED.release([0] * 1001, 2), "more items than clients = 1000"),
    "q 0": (lambda: delta_of(10, 0.0, 1.0), "q must be a probability"),
    "q 1": (lambda: delta_of(10, 1.0, 1.0), "q must be a probability"),
    "n 0": (lambda: delta_of(0, 0.5, 1.0), "n must be a whole number from 1"),
    "delta 0 of words": (lambda: TrieHH(1.0, 0.0, 10), "delta must lie strictly between"),
    "depth 0": (lambda: TrieHH(1.0, 1e-6, 0), "depth must be a whole number from 1"),
    "too few words": (lambda: WORDS.release(["a"] * 1000), "needs about 1,582 clients"),
    "no words": (lambda: WORDS.release(pa.array([], pa.string())), "needs about 1,582 clients"),
    "numbers": (lambda: WORDS.release([1] * 9999), "words must be text"),
    "an end mark": (lambda: WORDS.release(["a\0"] * 9999), "the character of code 0"),
    "nulls": (lambda: WORDS.release(["a", None] * 9999), "words holds nulls"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_what_makes_no_sense_is_refused(case: str) -> None:
    make, words = NONSENSE[case]
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=words):
        make()


@pytest.mark.slow
def test_ten_million_clients_take_seconds() -> None:
    items = np.random.default_rng(1).integers(0, 2**14, 10**7)
    for made in (CentralNoise(0.1), HadamardResponse(1.0), BernoulliNoise(0.1, 1e-6, 10**7)):
        start = time.process_time()
        assert made.release(items, 2**14).shape == (2**14,)
        assert time.process_time() - start < 10


# --- TrieHH -------------------------------------------------------------------------------------


def test_theta_is_the_least_that_the_theorem_allows() -> None:
    assert TrieHH(1.0, 1e-6, 10).theta == 10
    assert spent(10) <= Fraction(1, 10**6) < spent(9)
    assert TrieHH(1.0, 0.5, 10).theta == 4
    assert TrieHH(1.0, 1e-6, 10).voters(204_000) == 1941
    assert TrieHH(2.0, 1e-6, 1).voters(10_000) == int(1000 * (1 - math.exp(-2)))


def reached(passing: float, rounds: int) -> Floats:
    """The probabilities that a word gets 0, 1, ..., all rounds far."""
    far = np.arange(rounds + 1.0)
    return np.asarray(passing**far * np.where(far < rounds, 1 - passing, 1.0))


@pytest.mark.parametrize(
    ("epsilon", "delta", "depth", "n"),
    [(1.0, 1e-6, 10, 204_000), (1.0, 1e-2, 1, 3000), (4.0, 1e-6, 2, 5000), (0.5, 1e-3, 4, 50_000)],
)
def test_the_way_to_one_word_is_as_private_as_stated(
    epsilon: float, delta: float, depth: int, n: int
) -> None:
    """One client more with a word that k others hold: exactly, for all k, both ways."""
    made, e = TrieHH(epsilon, delta, depth), math.exp(epsilon)
    m, worst = made.voters(n), 0.0
    for k in range(30 * n // m):
        one = stats.hypergeom.sf(made.theta - 1, n - 1, k, m)
        other = stats.hypergeom.sf(made.theta - 1, n, k + 1, m)
        for rounds in range(1, depth + 1):
            pair = reached(float(one), rounds), reached(float(other), rounds)
            for a, b in (pair, pair[::-1]):
                worst = max(worst, float(np.maximum(0, a - e * b).sum()))
    assert 0 < worst <= spent(made.theta) <= delta


def test_few_voters_would_tell_too_much() -> None:
    """Of m = 2 (theta - 1) + 1 voters for two words one word has theta; of one less, maybe none."""
    theta, n = 10, 361
    m = 2 * (theta - 1) + 1
    split = stats.hypergeom.pmf(theta - 1, n - 1, (n - 1) // 2, m - 1)
    seen = m / n * split  # the client with a third word is drawn, and then nothing stays
    assert seen > 1e4 * spent(theta)
    assert m < 10 * theta


def test_voters_are_drawn_without_replacement_each_as_often() -> None:
    n, m, times = 12, 5, 20_000
    with randomness.using(Stream(6)):
        sets = [drawn(n, m) for _ in range(times)]
    assert all(len(np.unique(found)) == m for found in sets)
    pairs = np.zeros((n, n), dtype=np.int64)
    for found in sets:
        pairs[np.ix_(found, found)] += 1
    once = pairs[np.triu_indices(n, 1)]
    share = m * (m - 1) / (n * (n - 1))
    assert np.abs(once / times - share).max() < 5 * math.sqrt(share / times)


@pytest.mark.slow
def test_a_word_is_found_as_often_as_votes_say_and_not_ten_percent_off() -> None:
    made, n, held, times = TrieHH(2.0, 1e-3, 2), 2000, 115, 2000
    words = ["a"] * held + ["b" + chr(97 + k % 25) for k in range(n - held)]
    with randomness.using(Stream(7)):
        found = sum("a" in made.release(words) for _ in range(times))
    once = stats.hypergeom.sf(made.theta - 1, n, held, made.voters(n))
    for factor, right in ((1.0, True), (1.1, False), (0.9, False)):
        p = stats.binomtest(found, times, float(once**2) * factor).pvalue
        assert (p > RARE) == right, (factor, p)


def test_words_are_found_up_to_one_letter_less_than_rounds() -> None:
    made, each = TrieHH(4.0, 1e-2, 4), 3000
    words = ["", "a", "ab", "abc", "abcd", "ä€𝄞"]
    items = [word for word in words for _ in range(each)] + [f"x{k}" for k in range(400)]
    with randomness.using(Stream(8)):
        assert made.release(items) == sorted(w for w in words if len(w) < 4)
        assert made.release(pa.array(items).dictionary_encode()) == made.release(np.array(items))
