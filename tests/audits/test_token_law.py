"""Statistical audits: the tokens that come out have the law that is promised, and no other.

Each audit comes as a pair: it accepts the right law, and rejects one that is slightly off. The
probability of a false alarm is at most 1e-6 per audit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from tamis.privacy.guarantee import Guarantee
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted.laws import SurvivalLaw
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.tokens import draw

FALSE_ALARM = 1e-6
CASES: list[tuple[Scheme, int]] = [
    (Everything(), 40),
    (Pps(0.02), 30),
    (Ppswor(0.05), 33),
    (Ppswor(1e-6), 700_000),
    (Custom({1: 0.2, 20: 0.9}), 24),
]


def p_value(tokens: npt.NDArray[np.int64], frequency: int, law: SurvivalLaw) -> float:
    """Chi-square test of tokens against a row; cells are joined until each expects 20."""
    places, row = law.row(frequency)
    cells = np.concatenate([[1 - row.sum()], row]) * len(tokens)
    seen = np.bincount(np.where(tokens == 0, 0, tokens - places[0] + 1), minlength=len(cells))
    joined = np.minimum(np.cumsum(cells) // 20, cells.sum() // 20 - 1).astype(int)
    expected, observed = np.bincount(joined, cells), np.bincount(joined, seen)
    full = expected > 0
    return float(stats.chisquare(observed[full], expected[full]).pvalue)


@pytest.mark.parametrize(("scheme", "frequency"), CASES, ids=repr)
def test_tokens_follow_their_law_and_not_one_whose_epsilon_is_two_per_cent_off(
    scheme: Scheme, frequency: int
) -> None:
    epsilon, delta = 0.4, 1e-4
    mechanism = Mechanism(Guarantee(epsilon, delta), scheme)
    tokens = draw(mechanism, np.full(1_000_000, frequency))
    assert p_value(tokens, frequency, SurvivalLaw(epsilon, delta, scheme)) > FALSE_ALARM
    for wrong in (0.98, 1.02):
        law = SurvivalLaw(epsilon * wrong, delta, scheme)
        assert p_value(tokens, frequency, law) < FALSE_ALARM


def test_a_key_of_frequency_one_is_named_with_probability_delta() -> None:
    draws, delta = 10**8, 1e-6
    mechanism = Mechanism(Guarantee(1.0, delta), Everything())
    ones = np.ones(10**6, dtype=np.int64)
    named = sum(int(np.count_nonzero(draw(mechanism, ones))) for _ in range(draws // len(ones)))
    low, high = stats.binom.interval(1 - FALSE_ALARM, draws, delta)
    assert low <= named <= high
    assert not low <= draws * 2 * delta <= high  # twice as many would be noticed
