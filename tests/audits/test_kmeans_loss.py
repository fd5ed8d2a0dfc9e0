"""Statistical audit: whether one row was there cannot be told from centres better than promised.

Two data sets of three and of two rows are fitted many times. From how often an event (a size and a
place of the centre) comes about for each follows a lower bound on epsilon, which is wrong with
probability 1e-6 at most. It must be below the promise; and above it where noise is too small. Of
samples it could tell next to nothing: see test_kmeans_transcript.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from tamis.importance.kmeans import steps
from tamis.importance.kmeans.estimator import PrivateKMeans
from tamis.privacy.noise import two_sided

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

EPSILON, WRONG = 1.0, 1e-6
MORE, LESS = np.ones((3, 1)), np.ones((2, 1))


class Ahead:
    """The same noise, drawn ahead for many fits, which takes less time; or only a part of it."""

    def __init__(self, part: float) -> None:
        self._part, self._left, self._ahead = part, dict[Fraction, Ints](), dict[Fraction, int]()

    def __call__(self, rate: Fraction, n: int) -> Ints:
        left = self._left.get(rate, np.zeros(0, dtype=np.int64))
        if len(left) < n:  # few of the rates, which depend on what was drawn before, come often
            self._ahead[rate] = min(2 * self._ahead.get(rate, 1), 1024)
            left = np.rint(self._part * two_sided(rate, n * self._ahead[rate])).astype(np.int64)
        self._left[rate] = left[n:]
        return left[:n]


def fitted(rows: Floats, times: int, **settings: Any) -> Floats:
    """Centre and size of each fit."""
    estimator = PrivateKMeans(1, epsilon=EPSILON, bounds=(-1, 1), **settings)
    found = (estimator.fit(rows) for _ in range(times))
    return np.array([[f.cluster_centers_[0, 0], f.cluster_sizes_[0]] for f in found])


def events(found: Floats) -> Iterator[Mask]:
    centre, size = found.T
    for least in range(1, 7):
        yield size < least
        for place in (-2.0, 0.0, 0.5, 0.9):
            yield (size >= least) & (centre >= place)


def told(one: Floats, other: Floats) -> float:
    """A lower bound on epsilon, from the event that tells the two apart best."""
    pairs = [*zip(events(one), events(other), strict=True)]
    pairs += [(b, a) for a, b in pairs]
    return max(surely(a, b, WRONG / len(pairs)) for a, b in pairs)


def surely(one: Mask, other: Mask, wrong: float) -> float:
    """log(p / q) is at least this (Clopper and Pearson)."""
    p = stats.binomtest(int(one.sum()), len(one)).proportion_ci(1 - wrong).low
    q = stats.binomtest(int(other.sum()), len(other)).proportion_ci(1 - wrong).high
    return math.log(p / q) if p > 0 else -math.inf


def audited(monkeypatch: pytest.MonkeyPatch, times: int, part: float, **settings: Any) -> float:
    monkeypatch.setattr(steps, "two_sided", Ahead(part))
    return told(fitted(MORE, times, **settings), fitted(LESS, times, **settings))


def test_an_eighth_of_the_noise_is_noticed_in_few_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert audited(monkeypatch, 200, 1 / 8, max_iter=1) > EPSILON
    assert audited(monkeypatch, 200, 1.0, max_iter=1) < EPSILON


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"max_iter": 1, "init": "random"}, {"max_iter": 2}],
    ids=["residuals", "seeds and residuals"],
)
def test_a_row_cannot_be_told_from_many_fits_better_than_promised(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert audited(monkeypatch, 20_000, 1.0, **settings) < EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("init", ["private", "random"])
def test_half_of_the_noise_is_noticed(init: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert audited(monkeypatch, 4000, 0.5, max_iter=1, init=init) > EPSILON
