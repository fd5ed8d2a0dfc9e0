"""Statistical audits: the tokens that come out have the law that is promised, and no other.

Each audit comes as a pair: it accepts the right law, and rejects one that is slightly off. The
probability of a false alarm is at most 1e-6 per audit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from tamis.privacy.curves import GaussianCurve
from tamis.privacy.guarantee import Guarantee
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted.laws import Law, SurvivalLaw
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.tokens import draw
from tests.plain import gaussian

FALSE_ALARM = 1e-6
CASES: list[tuple[Scheme, int]] = [
    (Everything(), 40),
    (Pps(0.02), 30),
    (Ppswor(0.05), 33),
    (Ppswor(1e-6), 700_000),
    (Custom({1: 0.2, 20: 0.9}), 24),
]


def p_value(tokens: npt.NDArray[np.int64], frequency: int, law: Law) -> float:
    """Chi-square test of tokens against a row; cells are joined until each expects 20."""
    places, row = law.row(frequency)
    named = tokens[tokens > 0]
    if ((named < places[0]) | (named > places[-1])).any():
        return 0.0
    cells = np.concatenate([[1 - row.sum()], row]) * len(tokens)
    seen = np.bincount(np.where(tokens == 0, 0, tokens - places[0] + 1), minlength=len(cells))
    joined = join(cells)
    return float(stats.chisquare(np.bincount(joined, seen), np.bincount(joined, cells)).pvalue)


def join(cells: npt.NDArray[np.float64], least: float = 20.0) -> list[int]:
    """The group of each cell, so that neighbours share one until it expects ``least``."""
    groups, group, filled = list[int](), 0, 0.0
    for cell in cells.tolist():
        groups.append(group)
        filled += cell
        if filled >= least:
            group, filled = group + 1, 0.0
    return [min(g, group - 1) for g in groups]


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


@pytest.mark.parametrize("wrong", [0.98, 1.02])
@pytest.mark.parametrize(("scheme", "frequency"), CASES, ids=repr)
def test_tokens_of_a_mechanism_whose_epsilon_is_two_per_cent_off_are_noticed(
    scheme: Scheme, frequency: int, wrong: float
) -> None:
    epsilon, delta = 0.4, 1e-4
    mechanism = Mechanism(Guarantee(epsilon * wrong, delta), scheme)
    tokens = draw(mechanism, np.full(1_000_000, frequency))
    assert p_value(tokens, frequency, SurvivalLaw(epsilon, delta, scheme)) < FALSE_ALARM


@pytest.mark.parametrize("frequency", [15, 26])
def test_tokens_of_several_keys_follow_a_gaussian_curve_with_a_head_start_and_no_other(
    frequency: int,
) -> None:
    mechanism = Mechanism(Guarantee(1.0, 1e-4, 4), Everything())
    curve = mechanism.curve
    assert isinstance(curve, GaussianCurve)
    assert curve.head_start > 0
    tokens = draw(mechanism, np.full(1_000_000, frequency))
    parameters = curve.mu, curve.delta, curve.head_start
    assert p_value(tokens, frequency, gaussian(*parameters)) > FALSE_ALARM
    for wrong in (0.98, 1.02):
        law = gaussian(curve.mu * wrong, curve.delta, curve.head_start)
        assert p_value(tokens, frequency, law) < FALSE_ALARM
    for start in (curve.head_start - 1, curve.head_start + 1):
        assert p_value(tokens, frequency, gaussian(curve.mu, curve.delta, start)) < FALSE_ALARM


@pytest.mark.slow
def test_a_key_of_frequency_one_is_named_with_probability_delta() -> None:
    draws, delta = 10**8, 1e-6
    mechanism = Mechanism(Guarantee(1.0, delta), Everything())
    ones = np.ones(10**6, dtype=np.int64)
    named = sum(int(np.count_nonzero(draw(mechanism, ones))) for _ in range(draws // len(ones)))
    low, high = stats.binom.interval(1 - FALSE_ALARM, draws, delta)
    assert low <= named <= high
    assert not low <= draws * 2 * delta <= high  # twice as many would be noticed
