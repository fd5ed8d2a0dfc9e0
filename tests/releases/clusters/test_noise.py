"""What is said of noise without data is what noise does."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pyarrow as pa
import pytest

import tamis
from tamis.privacy.verify import number
from tamis.releases.clusters.noise import Noise, spread, suggested_reach
from tests.releases.clusters.making import CENTRES, COLUMNS, drawn, made, points


def noise(release: tamis.Clusters) -> Noise:
    return Noise(release.about, release.sizes)


def test_errors_fall_with_epsilon_and_with_the_size() -> None:
    at = noise(made(sizes=[1000.0, 500.0, 0.0]))
    errors = at.errors(1.0, 1.0)
    assert errors[1] == pytest.approx(2 * errors[0])
    assert errors[2] == pytest.approx(1000 * errors[0])
    assert at.errors(2.0, 1.0) == pytest.approx(errors / 2)
    assert at.errors(1.0, 3.0) == pytest.approx(3 * errors)


def test_the_cost_is_the_mean_squared_error_of_all_coordinates() -> None:
    at = noise(made(sizes=[1000.0, 500.0, 250.0]))
    errors = at.errors(1.0, 1.0)
    expected = (np.array([1000, 500, 250]) @ (3 * errors**2)) / 1750
    assert at.cost(1.0, 1.0) == pytest.approx(expected)
    assert at.cost(10.0, 1.0) == pytest.approx(expected / 100)


@pytest.mark.slow
def test_centres_are_off_by_what_is_said() -> None:
    """One step, on rows that are 7 to 9 from the middle: so the reach is known, but for a bin.

    The median of 200 errors is off by a twelfth, mostly, and by 40 % in less than one of 10^5 runs.
    (Means would not do: in one of 128 runs all first centres are on one side.) Not all centres are
    made of four sums; so it is below what is said. A figure off by a factor of 2 is noticed.
    """
    rows = pa.table({"x": np.concatenate([np.linspace(-9, -7, 2000), np.linspace(7, 9, 2000)])})
    asked = {"columns": "x", "n_clusters": 2, "epsilon": 1.0, "max_iter": 1, "bounds": (-12, 12)}
    found = [tamis.kmeans(rows, **asked) for _ in range(100)]  # type: ignore[arg-type]
    centres = np.sort([release.centers[:, 0] for release in found], axis=1)
    seen = 1.4826 * np.median(np.abs(centres - [-8, 8]))  # of a normal law, the deviation
    said = noise(found[0]).errors(1.0, 9.0).mean()
    assert 0.5 * said < seen < 1.25 * said


def test_clusters_that_are_apart_are_nearer_to_the_truth_than_centres_suggest() -> None:
    off = list[float]()
    for _ in range(5):
        found = tamis.kmeans(
            points(30_000), columns=COLUMNS, n_clusters=3, epsilon=1.0, bounds=(-1, 1)
        )
        away = ((found.centers[:, None] - CENTRES) ** 2).mean(axis=2).min(axis=1) ** 0.5
        off += (away / noise(found).errors(1.0, suggested_reach(found) or 0.0)).tolist()
    assert 0.02 < np.median(off) < 1


def test_a_sample_costs_what_the_certificate_says() -> None:
    for sampler, rate in (("uniform", 0.5), ("optimal", 0.5), ("coreset", 0.5)):
        release = drawn(sampler=sampler, rate=rate)
        steps = float(number(release.about.rule["sample"]["steps"]))
        assert noise(release)._search(release.guarantee.epsilon) == pytest.approx(steps, rel=1e-6)
    at, target = noise(drawn(sampler="uniform", rate=0.5)), 0.96
    assert at._search(1.0) == pytest.approx(0.5 * log(1 + (exp(target) - 1) / 0.5))
    assert at._search(1000.0) <= 960.0


def test_one_step_mixes_several_sums() -> None:
    one, two = (noise(made(max_iter=n, steps=n)).errors(1.0, 1.0) for n in (1, 2))
    ratio = float(one[0] / two[0])
    assert ratio == pytest.approx(sqrt(4) / 2 / 1.03, rel=0.05)  # all of epsilon, but four sums


def test_the_reach_is_suggested_by_the_centres_alone() -> None:
    assert suggested_reach(made([[0.0]], [5.0], ["x"])) is None
    assert suggested_reach(made([[0.0], [0.4]], [5.0, 5.0], ["x"])) == pytest.approx(0.2)
    assert suggested_reach(made([[0.1], [0.1]], [5.0, 5.0], ["x"])) is None
    assert suggested_reach(made([[0.0, 0.0], [1.0, 1.0]], [5, 5], ["x", "y"])) == pytest.approx(1)
    assert spread(made([[-1.0], [1.0]], [5.0, 5.0], ["x"])) == pytest.approx(1.0)
