"""What the optimal weights of a million points cost: seconds, and beside their l1 norms."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np

from tamis.importance import LaplaceSum, Lloyd, Profile, optimal_weights
from tamis.importance.profiles import Floats, l1_norms

POINTS, DIMENSIONS = 1_000_000, 50
REPEATS = 5
ASKED = 1.0


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


def _seconds(run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times)


if __name__ == "__main__":
    print(weights())
