"""What the optimal weights of a million points cost, and private k-means beside the plain one."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from benchmarks.kmeans_data import mixture, table, there
from benchmarks.measure import Beside, Cost, alone, grouped_table, in_turns, timed
from benchmarks.page import Extent, Section
from benchmarks.page import table as rows_of
from tamis import PrivateKMeans
from tamis.importance import LaplaceSum, Lloyd, Profile, optimal_weights
from tamis.importance.profiles import Floats, l1_norms

POINTS, DIMENSIONS = 1_000_000, 50
REPEATS = 3
ASKED = 1.0

_GROUP = """
import duckdb, pyarrow as pa
data = pa.table({{f"c{{n}}": column for n, column in enumerate(np.load({path!r}).T)}})
keys = ", ".join(data.column_names)
duckdb.connect().execute(f"CREATE TABLE t AS SELECT {{keys}}, count(*) FROM data GROUP BY {{keys}}")
"""
_FIT = """
import warnings
from sklearn.cluster import KMeans
from tamis import PrivateKMeans
warnings.simplefilter("ignore")
points = np.load({path!r})
"""

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


def importance(extent: Extent) -> Section:
    """Weights, and k-means."""
    return Section("Importance sampling and k-means", f"{_weights(extent)}\n\n{_kmeans()}")


def _weights(extent: Extent) -> str:
    points = np.random.default_rng(1).normal(size=(extent.pick(200_000, POINTS), DIMENSIONS))
    radius = float(np.abs(points).sum(axis=1).max())
    profiles: dict[str, Profile] = {
        "Laplace sum": LaplaceSum(2 * radius),
        "DP-Lloyd, 10 iterations": Lloyd(40.0, 40 * radius, 10),
        "not linear, by bisection": Searched(2 * radius),
    }
    plain = grouped_table(_columns(points), "c0")
    norms = partial(timed, lambda: np.abs(points).sum(axis=1))
    found = []
    for name, profile in profiles.items():
        least, mine = in_turns(plain, [norms, _weigh(profile, points)], REPEATS, warm=1)
        beside = f"{Beside(least.ours, mine.ours).ratio:.1f}"
        found.append((name, f"{mine.seconds:.2f}", f"**{mine.ratio:.2f}**", beside))
    heads = ("profile", "seconds", "**ratio**", "to the norms")
    return (
        f"Optimal weights of {len(points):,} points in {DIMENSIONS} dimensions, epsilon = "
        f"{ASKED:g}, medians of {REPEATS}: beside the GROUP BY of one of the columns, and beside "
        "`np.abs(points).sum(axis=1)`. Where epsilon is linear in the weight there is a closed "
        "form; for a profile of your own it is searched for, and takes as long as the profile, "
        f"asked some forty times.\n\n{rows_of(heads, found)}"
    )


def _columns(points: Floats) -> pa.Table:
    return pa.table({f"c{n}": column for n, column in enumerate(points.T)})


def _weigh(profile: Profile, points: Floats) -> Callable[[], Cost]:
    return lambda: timed(lambda: optimal_weights(profile, points, ASKED))


def _kmeans() -> str:
    """Private k-means beside one plain run of as many iterations, in turns."""
    found = there(COVTYPE)
    points = table(COVTYPE) if found else mixture(0.1, ROWS, COLUMNS, CLUSTERS)
    plain = KMeans(CLUSTERS, init="random", n_init=1, max_iter=ITERATIONS, tol=0, random_state=1)
    asked: dict[str, int | Literal["auto"]] = {
        f"`max_iter={ITERATIONS}`": ITERATIONS,
        "default settings": "auto",
    }
    models = [
        PrivateKMeans(CLUSTERS, epsilon=ASKED, bounds=(-1, 1), max_iter=steps)
        for steps in asked.values()
    ]
    runs = [_fit(model, points) for model in (plain, *models)]
    counted = _columns(points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten iterations are what is asked for
        grouped = grouped_table(counted, ", ".join(counted.column_names))
        other, *ours = in_turns(grouped, runs, REPEATS, warm=1)
    least, *used = _memory(points, asked.values())
    lines = [_line("scikit-learn's KMeans", other, "", used[0], least)]
    for name, mine, most in zip(asked, ours, used[1:], strict=True):
        beside = f"{Beside(other.ours, mine.ours).ratio:.2f}"
        lines.append(_line(f"PrivateKMeans, {name}", mine, beside, most, least))
    heads = ("k-means", "seconds", "**ratio**", "to scikit-learn", "MB", "**memory**")
    return (
        f"k-means of {ROWS:,} x {COLUMNS} points ({COVTYPE if found else 'a mixture'}), k = "
        f"{CLUSTERS}, epsilon = {ASKED:g}, medians of {REPEATS}: beside the GROUP BY of all "
        f"columns, and beside one run of scikit-learn's KMeans with {ITERATIONS} iterations, from "
        "random rows. MB: at most, in a process of its own, with the points, beside that of the "
        f"GROUP BY.\n\n{rows_of(heads, lines)}"
    )


def _line(name: str, found: Beside, beside: str, used: float, least: float) -> tuple[str, ...]:
    ratio, memory = f"**{found.ratio:.2f}**", f"**{used / least:.2f}**"
    return name, f"{found.seconds:.2f}", ratio, beside, f"{used:,.0f}", memory


def _memory(points: Floats, steps: Iterable[int | str]) -> list[float]:
    """Of the GROUP BY, of the plain k-means, and of ours with so many steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/points.npy"
        np.save(path, points)
        plain = f"KMeans({CLUSTERS}, init='random', n_init=1, max_iter={ITERATIONS}, tol=0)"
        asked = f"PrivateKMeans({CLUSTERS}, epsilon={ASKED}, bounds=(-1, 1), max_iter="
        models = [plain, *(f"{asked}{many!r})" for many in steps)]
        codes = [_GROUP, *(_FIT + f"{model}.fit(points)" for model in models)]
        return [alone(code.format(path=path), "numpy as np").megabytes for code in codes]


def _fit(model: KMeans | PrivateKMeans, points: Floats) -> Callable[[], Cost]:
    return lambda: timed(lambda: model.fit(points))
