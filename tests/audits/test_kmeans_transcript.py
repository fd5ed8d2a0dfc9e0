"""Exact audit: what one row loses in all that is drawn, summed up along one course of events.

A fit is run with one row more than another, and made to release the very same numbers, whatever
the row adds to the true ones. Noise is two-sided geometric, so that the likelihoods of a release
differ by a factor of at most exp(rate |shift|), and by no less somewhere; all of them together must
be within epsilon, whichever course the fit takes. Where rows are sampled, the row's weight is in
the shift, and its odds turn the loss c into log(1 + q (exp(c) - 1)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tamis.importance.kmeans import elsewhere, run, sampled, steps
from tamis.importance.kmeans import estimator as estimators
from tamis.importance.kmeans.estimator import PrivateKMeans
from tamis.importance.kmeans.plan import Spending
from tamis.importance.sample import WeightedSample, _units, _weights, poisson
from tamis.privacy import randomness
from tests.sources import Stream

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

KINDS = ("full", "optimal", "coreset", "uniform")
DRAWN, HISTOGRAM, OF = steps.Step.drawn, steps.histogram, Spending.of


@dataclass
class Course:
    """True numbers with their rates, as they are asked for, and what was released for them."""

    seed: int
    released: list[Ints] = field(default_factory=list)
    true: list[tuple[Fraction, Ints]] = field(default_factory=list)
    rates: list[Fraction] = field(default_factory=list)
    odds: Fraction = Fraction(1)
    sampled_from: int | None = None  # the place in `true` from which on only a sample is looked at

    def follow(self) -> Course:
        """The same course, for other data."""
        return replace(self, true=[], sampled_from=None)

    def no_noise(self, rate: Fraction, n: int) -> Ints:
        self.rates.append(rate)
        return np.zeros(n, dtype=np.int64)

    @contextmanager
    def noise_of(self, *rates: Fraction) -> Iterator[None]:
        """Sees that noise of these rates is asked for, in this order."""
        self.rates.clear()
        yield
        assert self.rates == [*rates]

    def release(self, rate: Fraction, true: Ints) -> Ints:
        place = len(self.true)
        self.true.append((rate, true))
        if place == len(self.released):
            wide = min(float(3 / rate), 2.0**40)
            noise = np.random.default_rng([self.seed, place]).normal(0, wide, true.shape)
            self.released.append(true + np.rint(noise).astype(np.int64))
        return self.released[place]


@contextmanager
def along(course: Course, alone: bool) -> Iterator[None]:
    """Fits release what the course says; ``alone`` is without the last row, which comes first."""

    def drawn(self: steps.Step, counts: Ints, sums: Ints) -> steps.Drawn:
        known = course.release(self.count_rate, counts), course.release(self.sum_rate, sums)
        with course.noise_of(self.count_rate, self.sum_rate):
            return DRAWN(self, *known)

    def histogram(counts: Ints, top: int, epsilon: Fraction) -> steps.Norms:
        with course.noise_of(epsilon):
            true = HISTOGRAM(counts, top, epsilon)
        return replace(true, counts=course.release(epsilon, true.counts))

    def tossed(places: Floats, sampler: Any) -> WeightedSample:
        course.sampled_from = len(course.true)
        others = poisson(places if alone else places[:-1], sampler)  # the same coins in both
        if alone:
            return others
        units = _units(sampler.probability(places[-1:]), 1)
        course.odds = Fraction(int(units[0]), 2**53)
        points = np.vstack([others.points, places[-1:]])
        return WeightedSample(points, np.append(others.weights, _weights(units)))

    with pytest.MonkeyPatch.context() as patch, randomness.using(Stream(course.seed)):
        patch.setattr(steps, "two_sided", course.no_noise)
        patch.setattr(steps.Step, "drawn", drawn)
        patch.setattr(run, "histogram", histogram)
        patch.setattr(estimators, "poisson", tossed)
        patch.setattr(elsewhere, "poisson", tossed)
        yield


@dataclass(frozen=True)
class OnePart:
    """Rows that are asked as those on many machines are: `ScatteredRows`."""

    rows: Floats

    @property
    def shape(self) -> tuple[int, int]:
        many, dimensions = self.rows.shape
        return many, dimensions

    def total(self, work: Any) -> Ints:
        return np.asarray(work(self.rows))

    def gather(self, work: Any) -> Floats:
        return np.asarray(work(self.rows))


def lost(one: Course, other: Course) -> float:
    """What the two tell of the row, in all, over the part of epsilon that is promised."""
    costs = [
        rate * int(np.abs(a.astype(object) - b.astype(object)).sum())
        for (rate, a), (same, b) in zip(one.true, other.true, strict=True)
        if rate == same
    ]
    assert len(costs) == len(one.true), "the course of events was not the same"
    first = len(costs) if other.sampled_from is None else other.sampled_from
    loss, q = float(sum(costs[first:], Fraction(0))), float(other.odds)
    # log(1 + q (e^loss - 1)), also where that is beyond any float
    later = loss + math.log(q + (1 - q) * math.exp(-loss)) if other.sampled_from else loss
    return float(sum(costs[:first], Fraction(0))) + later


def audited(kind: str, seed: int, given: Callable[[Floats], Any] = np.asarray) -> float:
    """The loss of a row over epsilon, for settings and data that are chosen at random."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    d, k, many = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(4, 30))
    rows = rng.normal(0, rng.choice([0.01, 0.3, 3.0]), (many, d))
    extra = rng.choice([0.0, 0.3, 1.0, 50.0]) * rng.choice([-1.0, 1.0], (1, d))
    epsilon = float(rng.choice([0.05, 1.0, 7.0]))
    model = PrivateKMeans(
        k,
        epsilon=epsilon,
        sampler=kind,  # type: ignore[arg-type]
        rate=None if kind == "full" else float(rng.choice([0.2, 0.7, 1.0])),
        mixing=float(rng.choice([0.1, 0.5, 1.0])),
        init=rng.choice(["private", "random"]),
        max_iter=int(rng.integers(1, 8)),
        **({"bounds": (-1, 1)} if rng.random() < 0.5 else {"radius": 1.0}),
    )
    one = Course(seed)
    with along(one, alone=True):
        model.fit(given(rows))
    other = one.follow()
    with along(other, alone=False):
        model.fit(given(np.vstack([rows, extra])))
    return lost(one, other) / epsilon


@cache
def losses_of(kind: str) -> list[float]:
    return [audited(kind, seed) for seed in range(60)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_loses_no_more_than_epsilon_whatever_is_released(kind: str) -> None:
    losses = losses_of(kind)
    assert max(losses) <= 1 + 1e-9
    assert max(losses) > 0.97, "the worst row was not tried"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "full"])
def test_a_row_elsewhere_loses_no_more_than_epsilon_either(kind: str) -> None:
    assert [audited(kind, seed, OnePart) for seed in range(60)] == losses_of(kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_loses_no_more_than_epsilon_in_many_settings(kind: str) -> None:
    assert max(audited(kind, seed) for seed in range(60, 1000)) <= 1 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_two_per_cent_too_much_are_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def more(epsilon: Fraction) -> Spending:
        good = OF(epsilon)
        return replace(good, search=good.search + epsilon / 50)

    monkeypatch.setattr(Spending, "of", more)
    assert max(audited(kind, seed) for seed in range(30)) > 1.01


def test_weights_that_nobody_pays_for_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sampling = sampled.sampling

    def unpaid(kind: Any, rate: float, mixing: float, search: Fraction, *where: Any) -> Any:
        return replace(sampling(kind, rate, mixing, search, *where), spent=search)

    monkeypatch.setattr(estimators, "sampling", unpaid)
    for kind in ("coreset", "uniform"):
        assert max(audited(kind, seed) for seed in range(20)) > 1.5
