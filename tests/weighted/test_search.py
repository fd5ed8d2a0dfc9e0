"""A search for wrong tokens: random mechanisms, and words next to where a decision changes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Survival, U
from tamis.sampling.schemes import Custom, Pps, Ppswor, Scheme
from tamis.weighted import walk
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.words import Words
from tests.sources import Listed

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("error")]


@dataclass
class Case:
    mechanism: Mechanism
    keys: list[tuple[int, int]]  # frequency and word


def some_scheme(pick: random.Random) -> Scheme:
    if pick.random() < 0.4:
        steps = sorted({1, *(int(10 ** pick.uniform(0, 4)) for _ in range(pick.randint(0, 8)))})
        return Custom(dict(zip(steps, sorted(some_share(pick) for _ in steps), strict=True)))
    kind = pick.choice([Pps, Ppswor])
    return kind(10 ** pick.uniform(-7, 0), pick.choice([1.0, 0.5, 2.0, pick.uniform(0.1, 2)]))


def some_share(pick: random.Random) -> Fraction:
    near = Fraction(1, 2 ** pick.randint(1, 60))
    return pick.choice([near, 1 - near, Fraction(pick.randint(1, 999), 1000)])


def some_keys(law: Survival, pick: random.Random, gaps: list[int]) -> list[tuple[int, int]]:
    keys = list[tuple[int, int]]()
    for _ in range(12):
        i = max(1, pick.choice([*gaps, int(10 ** pick.uniform(0, 6))]) + pick.randint(-3, 40))
        top = law.reporting(i)
        if top == 0:
            continue
        bounds = {top, top * pick.randrange(1, 1000) // 1000}
        token = law.walk(i, min(bounds))[0]
        bounds.add(edge(law, i, token, top))
        for bound in bounds:
            shift = 1 << pick.randrange(0, 128)
            near = [bound, bound - 1, bound + 2**64, bound - 2**64, bound + shift, bound - shift]
            keys += [(i, word) for word in near if 0 <= word < U]
    return keys


def edge(law: Survival, i: int, token: int, top: int) -> int:
    """The first word of i whose token is below ``token``, or P."""
    low, high = 0, top
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if law.walk(i, middle)[0] >= token else (low, middle)
    return low


def some_case(pick: random.Random) -> Case | None:
    budget = Guarantee(10 ** pick.uniform(-1.5, 1.2), 10 ** pick.uniform(-12, -1))
    try:
        mechanism = Mechanism(budget, some_scheme(pick))
        law = mechanism.integers
    except InvalidInput:
        return None
    gaps = walk.SchemeSampler(mechanism).gaps.ravel().tolist()
    return Case(mechanism, some_keys(law, pick, [g for g in gaps if g < 2**40]))


@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_no_word_gets_another_token_than_the_integers_give_it(
    seed: int, swept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pick = random.Random(seed)
    if swept:
        monkeypatch.setattr(walk, "_ROW", 0)
        monkeypatch.setattr(walk, "_CELL", 0)
    monkeypatch.setattr(walk, "CHUNK", pick.choice([7, 64, 1 << 16]))
    case = some_case(pick)
    if case is None or not case.keys:
        pytest.skip("this mechanism cannot be made")
    seconds = {word >> 64: word & (2**64 - 1) for _, word in case.keys}
    monkeypatch.setattr(
        Words, "full", lambda self, n: int(self.first[n]) << 64 | seconds[int(self.first[n])]
    )
    frequencies = np.array([i for i, _ in case.keys])
    sampler = walk.SchemeSampler(case.mechanism, pick.choice([0, 100, 10**6]))
    with randomness.using(Listed([word >> 64 for _, word in case.keys])):
        tokens = sampler.draw(frequencies).tolist()
    law = case.mechanism.integers
    for (i, word), token in zip(case.keys, tokens, strict=True):
        whole = word & ~(2**64 - 1) | seconds[word >> 64]  # of equal first halves, the last counts
        assert token == (law.walk(i, whole)[0] if whole < law.reporting(i) else 0), (i, hex(whole))
