"""Randomness comes from the operating system, through one module, and has the laws it states."""

from __future__ import annotations

import ast
import math
import os
import random
import secrets
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import tamis
from tamis.privacy import randomness
from tamis.sampling import (
    Custom,
    Ppswor,
    PpsworStream,
    bottom_k,
    private_tau,
    threshold_sample,
)
from tests.sources import Counted, Listed

SAMPLERS: dict[str, Callable[[], object]] = {
    "words": lambda: randomness.words(3),
    "below": lambda: randomness.below(10),
    "exp_coin": lambda: randomness.exp_coin(1, 2),
    "two_sided_geometric": lambda: randomness.two_sided_geometric(Fraction(1, 3)),
    "uniforms": lambda: randomness.uniforms(3),
    "exponentials": lambda: randomness.exponentials(3),
    "threshold_sample": lambda: threshold_sample([1, 5, 9], Ppswor(0.1)),
    "threshold_sample, steps": lambda: threshold_sample([1, 5, 9], Custom([0.5])),
    "private_tau": lambda: private_tau(1000, 10, 0.5),
    "bottom_k, ppswor": lambda: bottom_k([1, 5, 9], 2),
    "bottom_k, priority": lambda: bottom_k([1, 5, 9], 2, "priority"),
    "PpsworStream, tau": lambda: PpsworStream(tau=0.5).update(["a", "b", "a"]),
    "PpsworStream, k": lambda: PpsworStream(k=1).update([1, 2, 3]),
}


# --- where it comes from ------------------------------------------------------------------------


def poison(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError(f"{module.__name__} was used")

    for name in dir(module):
        if not name.startswith("_") and callable(getattr(module, name)):
            monkeypatch.setattr(module, name, refuse)


@pytest.mark.parametrize("name", SAMPLERS)
def test_no_sampler_uses_another_generator(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    SAMPLERS[name]()  # what is imported late is imported now
    for module in (random, np.random, secrets):
        poison(monkeypatch, module)
    with pytest.raises(AssertionError, match=r"numpy\.random was used"):
        np.random.default_rng()
    SAMPLERS[name]()


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_asks_the_operating_system(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, real = [], os.urandom

    def urandom(n: int) -> bytes:
        asked.append(n)
        return real(n)

    monkeypatch.setattr(os, "urandom", urandom)
    SAMPLERS[name]()
    assert sum(asked) >= 8


def generators(file: Path) -> set[str]:
    """The names in a file that stand for a generator of random numbers."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}", *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    banned = {"random", "secrets", "numpy.random", "urandom", "getrandom", "default_rng", "rvs"}
    return found & banned


def test_no_other_module_of_the_package_names_a_generator() -> None:
    """But for keys and ids: of devices, which stand alone, and of the collector.

    Simulated devices and their items are no release.
    """
    package = Path(str(tamis.__path__[0]))
    by_file = {file.relative_to(package): generators(file) for file in package.rglob("*.py")}
    found = {f.as_posix(): n for f, n in by_file.items() if n and "simulation" not in f.parts}
    assert found == {
        "privacy/randomness.py": {"urandom"},
        "federated/device.py": {"urandom"},
        "collect/keys.py": {"urandom"},
        "collect/tokens.py": {"urandom"},
    }


def test_many_words_are_asked_for_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    def urandom(n: int) -> bytes:
        asked.append(n)
        return bytes([len(asked)]) * n

    monkeypatch.setattr(os, "urandom", urandom)
    words = randomness.words((1 << 18) + 5)
    assert asked == [1 << 20, 1 << 20, 40]
    first, last = int.from_bytes(b"\1" * 8), int.from_bytes(b"\3" * 8)
    assert (int(words[0]), int(words[-1]), len(words)) == (first, last, (1 << 18) + 5)


def test_using_puts_the_source_back_after_an_error() -> None:
    before = randomness._source
    with pytest.raises(KeyError), randomness.using(Listed([1])):
        raise KeyError
    assert randomness._source is before


def test_no_words_are_an_empty_array() -> None:
    assert randomness.words(0).shape == (0,)
    assert randomness.words(0).dtype == np.uint64


# --- laws that hold exactly ---------------------------------------------------------------------


@given(st.integers(1, 2**200))
def test_below_stays_below(bound: int) -> None:
    assert 0 <= randomness.below(bound) < bound


def test_below_takes_the_top_bits_and_rejects_what_is_too_large() -> None:
    with randomness.using(Listed([7 << 61, 6 << 61, 5 << 61])):
        assert randomness.below(6) == 5
    with randomness.using(Listed([])):
        assert randomness.below(1) == 0  # nothing to choose, nothing drawn
    with randomness.using(Listed([3, 4])):
        assert randomness.below(2**128) == 4 * 2**64 + 3


def test_the_exponential_coin_counts_the_tosses_until_one_fails() -> None:
    success, failure = 0, 2**63
    for successes, came_up in ((0, True), (1, False), (2, True), (5, False)):
        with randomness.using(Listed([success] * successes + [failure])):
            assert randomness.exp_coin(1, 2) is came_up


def test_the_sum_behind_the_exponential_coin_is_exp() -> None:
    for x in (Fraction(0), Fraction(1, 3), Fraction(1)):
        first_fails = [x**n / math.factorial(n) for n in range(25)]
        odd = sum(first_fails[n - 1] - first_fails[n] for n in range(1, 24, 2))
        assert float(odd) == pytest.approx(math.exp(-x), abs=1e-15)


def test_uniforms_are_strictly_between_zero_and_one() -> None:
    with randomness.using(Listed([0, 2**64 - 1])):
        assert randomness.uniforms(2).tolist() == [2.0**-53, 1 - 2.0**-53]


def test_exponentials_are_positive_and_finite() -> None:
    with randomness.using(Listed([0, 2**64 - 1])):
        large, small = randomness.exponentials(2)
    assert (large, small) == (53 * math.log(2), -math.log1p(-(2.0**-53)))


# --- laws, by testing ---------------------------------------------------------------------------
# A right law fails one of these tests once in 10^6 runs; the wrong ones are some five standard
# deviations past the point of rejection.

RARE = 1e-6


def geometric(rate: float, x: int) -> float:
    return math.tanh(rate / 2) * math.exp(-rate * abs(x))


def fit(drawn: Counter[int], rate: float, reach: int) -> float:
    """The p-value of the two-sided geometric law, with one cell for each tail."""
    total, inside = sum(drawn.values()), range(-reach + 1, reach)
    tail = math.exp(-rate * reach) / (1 + math.exp(-rate))
    law = [tail, *(geometric(rate, x) for x in inside), tail]
    assert sum(law) == pytest.approx(1)
    tails = [sum(n for x, n in drawn.items() if sign * x >= reach) for sign in (-1, 1)]
    seen = [tails[0], *(drawn[x] for x in inside), tails[1]]
    return float(stats.chisquare(seen, [total * p for p in law]).pvalue)


@pytest.mark.parametrize(("rate", "reach"), [(Fraction(1, 2), 9), (Fraction(3, 4), 6)])
def test_the_noise_is_two_sided_geometric_and_not_three_percent_off(
    rate: Fraction, reach: int
) -> None:
    with randomness.using(Listed(randomness.words(5_000_000))):  # faster than word by word
        drawn = Counter(randomness.two_sided_geometric(rate) for _ in range(200_000))
    assert fit(drawn, float(rate), reach) > RARE
    assert fit(drawn, float(rate) * 1.03, reach) < RARE
    assert fit(drawn, float(rate) / 1.03, reach) < RARE


def test_uniforms_are_uniform_and_not_three_percent_off() -> None:
    drawn = randomness.uniforms(400_000)
    assert stats.kstest(drawn, "uniform").pvalue > RARE
    assert stats.kstest(drawn**1.03, "uniform").pvalue < RARE


def test_exponentials_are_exponential_and_not_three_percent_off() -> None:
    drawn = randomness.exponentials(400_000)
    assert stats.kstest(drawn, "expon").pvalue > RARE
    assert stats.kstest(drawn * 1.03, "expon").pvalue < RARE


def test_noise_of_any_size_takes_few_words() -> None:
    source = Counted()
    with randomness.using(source):
        for rate in (Fraction(1, 10**12), Fraction(1, 3), Fraction(50)):
            for _ in range(200):
                randomness.two_sided_geometric(rate)
    assert source.drawn < 600 * 40
