"""What the optimal weights of a million points cost, and private k-means beside the plain one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from benchmarks.kmeans_data import mixture, table, there
from tamis import PrivateKMeans
from tamis.importance import LaplaceSum, Lloyd, Profile, optimal_weights
from tamis.importance.profiles import Floats, l1_norms

POINTS, DIMENSIONS = 1_000_000, 50
REPEATS = 5
ASKED = 1.0

COVTYPE = "covtype"
ROWS, COLUMNS = 581_012, 54
CLUSTERS, ITERATIONS = 25, 10


@dataclass(frozen=True)
class Searched(Profile):
    """epsilon(w, x) = c ||x||_1 w^2: no closed form is known to the program."""

    scale: float

    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        return weights**2 * l1_norms(points) / self.scale

    def slope(self, weights: Floats, points: Floats) -> Floats:
        return 2 * weights * l1_norms(points) / self.scale

    def convexity(self, points: Floats) -> Floats:
        rate = l1_norms(points) / self.scale
        return np.asarray((2 * rate + 4 * rate**2) * np.exp(rate))


def weights() -> str:
    points = np.random.default_rng(1).normal(size=(POINTS, DIMENSIONS))
    radius = float(np.abs(points).sum(axis=1).max())
    profiles: dict[str, Profile] = {
        "Laplace sum": LaplaceSum(2 * radius),
        "DP-Lloyd, 10 iterations": Lloyd(40.0, 40 * radius, 10),
        "not linear, by bisection": Searched(2 * radius),
    }
    plain = _seconds(lambda: np.abs(points).sum(axis=1))
    lines = [
        f"Optimal weights of {POINTS:,} points in {DIMENSIONS} dimensions, epsilon = {ASKED:g}, "
        f"median of {REPEATS}; `np.abs(points).sum(axis=1)` takes {plain:.2f} s.\n",
        "| profile | seconds | to the plain norms |",
        "|---|---|---|",
    ]
    for name, profile in profiles.items():
        seconds = _seconds(_weigh(profile, points))
        lines.append(f"| {name} | {seconds:.2f} | {seconds / plain:.1f} |")
    return "\n".join(lines)


def _weigh(profile: Profile, points: Floats) -> Callable[[], object]:
    return lambda: optimal_weights(profile, points, ASKED)


def kmeans() -> str:
    """Private k-means beside one plain run of as many iterations, in turns."""
    found = there(COVTYPE)
    points = table(COVTYPE) if found else mixture(0.1, ROWS, COLUMNS, CLUSTERS)
    plain = KMeans(CLUSTERS, init="random", n_init=1, max_iter=ITERATIONS, tol=0, random_state=1)
    asked: dict[str, int | Literal["auto"]] = {
        f"max_iter={ITERATIONS}": ITERATIONS,
        "default settings": "auto",
    }
    timed: dict[str, list[float]] = {name: [] for name in asked}
    plain_times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten iterations are what is asked for
        for _ in range(REPEATS):
            plain_times.append(_once(lambda: plain.fit(points)))
            for name, steps in asked.items():
                model = PrivateKMeans(CLUSTERS, epsilon=ASKED, bounds=(-1, 1), max_iter=steps)
                timed[name].append(_once(_fit(model, points)))
    lines = [
        f"k-means of {ROWS:,} x {COLUMNS} points ({COVTYPE if found else 'a mixture'}), k = "
        f"{CLUSTERS}, epsilon = {ASKED:g}, medians of {REPEATS}; one run of scikit-learn's KMeans "
        f"with {ITERATIONS} iterations takes {median(plain_times):.2f} s.\n",
        "| PrivateKMeans | seconds | ratio |",
        "|---|---|---|",
    ]
    for name, times in timed.items():
        ratio = median(ours / plain for ours, plain in zip(times, plain_times, strict=True))
        lines.append(f"| {name} | {median(times):.2f} | **{ratio:.2f}** |")
    return "\n".join(lines)


def _fit(model: PrivateKMeans, points: Floats) -> Callable[[], object]:
    return lambda: model.fit(points)


def _seconds(run: Callable[[], object]) -> float:
    run()
    return median(_once(run) for _ in range(REPEATS))


def _once(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    print(weights(), "\n")
    print(kmeans())
