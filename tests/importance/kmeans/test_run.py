"""The middle, the seeds and the steps: what they find, and that they spend what they say."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tamis.importance.kmeans import run
from tamis.importance.kmeans.grid import BITS, Floats
from tamis.importance.kmeans.plan import Init, Schedule, Spending
from tamis.importance.kmeans.run import (
    Found,
    Here,
    Middle,
    centre_around,
    mechanism,
    middle_of,
    search,
)
from tamis.importance.kmeans.steps import Drawn, Norms, Step, histogram
from tamis.importance.kmeans.totals import Assigned, Ints, Points, moves
from tamis.privacy import randomness
from tests.sources import Stream

RADIUS = 2**BITS
MUCH = Spending.of(Fraction(10**9))  # next to no noise


def quiet(done: int, whole: int) -> None:
    pass


def around(radius: int) -> Middle:
    """A middle at 0, with all norms at the radius."""
    return Middle(np.zeros(2), Norms(np.append(np.zeros(127, np.int64), 100), radius))


def blobs(many: int = 900, spread: float = 1e4) -> Floats:
    """Three clusters in two dimensions, on the grid."""
    places = np.array([[4e6, 0], [-3e6, 3e6], [-1e6, -5e6]]).repeat(many // 3, axis=0)
    return np.rint(places + np.random.default_rng(1).normal(0, spread, places.shape))


# --- the middle ---------------------------------------------------------------------------------


def test_the_middle_is_the_mean_and_its_radius_covers_most_points() -> None:
    places = blobs() + 2_000_000
    middle = middle_of(Here(places), RADIUS, MUCH)
    assert middle.place == pytest.approx(places.mean(axis=0), abs=1)
    away = np.abs(places - middle.place).sum(axis=1)
    assert np.mean(away <= middle.radius) >= 0.95
    assert middle.norms.size == len(places)
    assert middle.norms.mean == pytest.approx(away.mean(), rel=0.05)
    assert middle.radius <= np.quantile(away, 0.95) + 2 * RADIUS / 128


def test_around_the_middle_no_point_is_beyond_the_radius_and_the_near_ones_only_shift() -> None:
    places = np.vstack([blobs(3000), np.full((20, 2), RADIUS / 2), [[-RADIUS, 0.0]]])
    middle, before = middle_of(Here(places), RADIUS, MUCH), places.copy()
    centre_around(places, middle)
    assert np.abs(places).sum(axis=1).max() <= middle.radius
    assert np.array_equal(places, np.rint(places))
    near = np.abs(before - middle.place).sum(axis=1) <= middle.radius
    assert 0.9 < near.mean() < 1
    assert np.array_equal(places[near], (before - middle.place)[near])


def test_with_much_noise_the_middle_is_still_on_the_grid() -> None:
    for seed in range(20):
        with randomness.using(Stream(seed)):
            middle = middle_of(Here(blobs(3)), RADIUS, Spending.of(Fraction(1, 1000)))
        assert np.abs(middle.place).sum() <= RADIUS
        assert np.array_equal(middle.place, np.rint(middle.place))
        assert 1 <= middle.radius <= 2 * RADIUS


# --- the search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_noise_the_clusters_are_found(max_iter: int, weighted: bool) -> None:
    places = blobs()
    points = Points.weighted(places, np.full(900, 2.0)) if weighted else Points(places)
    plan = Schedule.of(Fraction(10**8), max_iter, "private", weighted)
    with randomness.using(Stream(5)):
        found = search(points, 3, around(RADIUS), plan, quiet)
    order = np.argsort(found.centres[:, 0])
    true = [[-3e6, 3e6], [-1e6, -5e6], [4e6, 0]]
    assert found.centres[order] == pytest.approx(np.array(true), abs=1e5)
    assert found.sizes == pytest.approx(np.full(3, 600 if weighted else 300), rel=0.01)


@pytest.mark.parametrize("clusters", [1, 2, 5, 40])
@pytest.mark.parametrize("init", ["private", "random"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(10**8)])
def test_there_are_as_many_centres_as_are_asked_for(
    clusters: int, init: Init, epsilon: Fraction
) -> None:
    for max_iter in (1, 2, 5):
        plan = Schedule.of(epsilon, max_iter, init, False)
        found = search(Points(blobs(60)), clusters, around(RADIUS), plan, quiet)
        assert found.centres.shape == (clusters, 2)
        assert found.sizes.shape == (clusters,)
        assert (found.sizes >= 0).all()
        assert np.isfinite(found.centres).all()


@pytest.mark.parametrize("sampled", [False, True])
def test_no_points_are_searched_like_any(sampled: bool) -> None:
    """A sample may be empty: to fail would tell that it is."""
    none = np.zeros((0, 2))
    points = Points.weighted(none, np.zeros(0)) if sampled else Points(none)
    plan = Schedule.of(Fraction(1), 4, "private", sampled)
    assert search(points, 3, around(RADIUS), plan, quiet).centres.shape == (3, 2)


def test_centres_stay_within_the_radius_however_many_steps_add_noise() -> None:
    """Or squares of distances would leave the whole numbers that floats hold, below 2^53."""
    seen: list[float] = []

    def looked(points: Points, centres: Floats, *rest: Any) -> tuple[Ints, Ints]:
        seen.append(float(np.abs(centres).sum(axis=1).max()))
        return moves(points, centres, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "moves", looked)
        plan = Schedule.of(Fraction(1, 100), 200, "random", False)
        search(Points(np.zeros((20, 2))), 2, around(2 * RADIUS), plan, quiet)
    assert len(seen) == 200
    assert max(seen) <= 2 * RADIUS


def test_every_centre_that_points_are_compared_with_is_whole_and_near() -> None:
    """Points and centres of norm below 2^26 have scores below 2^53."""
    seen: list[Floats] = []

    def watched(original: Callable[..., object]) -> Callable[..., object]:
        def inner(points: Points, centres: Floats, *rest: Any) -> object:
            seen.append(centres.copy())
            return original(points, centres, *rest)

        return inner

    with pytest.MonkeyPatch.context() as patch:
        for name in ("moves", "totals"):
            patch.setattr(run, name, watched(getattr(run, name)))
        patch.setattr(Assigned, "to", watched(Assigned.to))
        for epsilon in (Fraction(1, 100), Fraction(1), Fraction(1000)):
            plan = Schedule.of(epsilon, 10, "private", False)
            search(Points(blobs()), 4, around(2 * RADIUS), plan, quiet)
    assert len(seen) == 3 * 11
    for centres in seen:
        assert np.array_equal(centres, np.rint(centres))
        assert np.abs(centres).sum(axis=1).max() <= 1.2 * 2 * RADIUS


@pytest.mark.parametrize(("init", "max_iter"), [("private", 1), ("private", 5), ("random", 3)])
def test_progress_is_told_after_every_step(init: Init, max_iter: int) -> None:
    told: list[tuple[int, int]] = []
    plan = Schedule.of(Fraction(1), max_iter, init, False)
    search(Points(blobs(30)), 2, around(RADIUS), plan, lambda *now: told.append(now))
    assert told == [(n, max_iter) for n in range(1, max_iter + 1)]


# --- what is spent ------------------------------------------------------------------------------


class Receipts:
    """Notes the epsilon of all that is drawn, by those who draw."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.steps: list[Step] = []
        self.histograms: list[Fraction] = []
        draw = Step.drawn

        def drawn(step: Step, counts: Ints, sums: Ints) -> Drawn:
            self.steps.append(step)
            return draw(step, counts, sums)

        def counted(counts: Ints, top: int, epsilon: Fraction) -> Norms:
            self.histograms.append(epsilon)
            return histogram(counts, top, epsilon)

        patch.setattr(Step, "drawn", drawn)
        patch.setattr(run, "histogram", counted)

    @property
    def total(self) -> Fraction:
        return sum((step.epsilon for step in self.steps), sum(self.histograms, Fraction(0)))


@pytest.mark.parametrize("max_iter", [1, 2, 3, 7])
@pytest.mark.parametrize("init", ["private", "random"])
@pytest.mark.parametrize("sampled", [False, True])
def test_what_is_drawn_spends_exactly_what_was_planned(
    max_iter: int, init: Init, sampled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    places, spending = blobs(90), Spending.of(Fraction(7, 3))
    receipts = Receipts(monkeypatch)
    middle = middle_of(Here(places), RADIUS, spending)
    assert receipts.total == spending.centre + spending.norms
    centre_around(places, middle)
    points = Points.weighted(places, np.full(90, 1.5)) if sampled else Points(places)
    plan = Schedule.of(spending.search, max_iter, init, sampled)
    search(points, 2, middle, plan, quiet)
    assert receipts.total == Fraction(7, 3)
    assert len(receipts.steps) == 1 + max_iter
    if sampled:  # or the profile of the search would not be the one that samplers know
        assert {step.radius for step in receipts.steps[1:]} == {middle.radius}
        assert {step.unit for step in receipts.steps[1:]} == {1024}


def test_the_profile_of_the_search_is_what_its_steps_spend_on_a_weighted_point() -> None:
    spent, radius, d = Fraction(3, 7), 12345, 2
    plan = Schedule.of(spent, 6, "private", True)
    profile = mechanism(float(spent), d, radius)
    for weight, norm in ((1.0, 12345.0), (1.0, 0.0), (17.5, 3000.0), (1000.0, 1.0)):
        many = [plan.seed_steps, plan.steps]
        steps = [
            Step(part, radius, d, 1024)
            for part, times in zip(plan.each, many, strict=True)
            for _ in range(times)
        ]
        total = sum(
            float(s.count_rate) * weight * 1024 + float(s.sum_rate) * weight * norm for s in steps
        )
        (said,) = profile.epsilon(np.array([weight]), np.array([[norm]]))
        assert said == pytest.approx(total, rel=1e-12)


# --- merging ------------------------------------------------------------------------------------


def test_merging_keeps_what_was_counted_and_looks_at_no_data() -> None:
    generator = np.random.default_rng(3)
    many = Found(
        np.rint(generator.normal(0, 1e6, (40, 2))), generator.integers(1, 99, 40).astype(np.float64)
    )
    merged = run._merged(many, 10, around(RADIUS))
    assert merged.centres.shape == (10, 2)
    assert merged.sizes.sum() == pytest.approx(many.sizes.sum())
    mean = many.sizes @ many.centres / many.sizes.sum()
    assert merged.sizes @ merged.centres / merged.sizes.sum() == pytest.approx(mean, abs=1)


def test_seeds_at_the_same_place_are_one_and_new_ones_are_put_beside() -> None:
    same = Found(np.full((8, 2), 5.0), np.full(8, 3.0))
    merged = run._merged(same, 4, around(RADIUS))
    assert len(np.unique(merged.centres, axis=0)) == 4
    assert sorted(merged.sizes.tolist()) == [0, 0, 0, 24]


def test_seeds_that_have_nothing_but_noise_can_still_be_split() -> None:
    step = Step(Fraction(1, 100), 100, 2)
    nothing = Drawn(np.array([0.0, -5.0, 0.0, -1.0]), np.zeros((4, 2)), 1.0, step)
    found = run._split(nothing, around(RADIUS))
    assert found.centres.shape == (4, 2)
    assert np.isfinite(found.centres).all()
