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
import pyarrow.parquet as pq
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
import duckdb
asked = "CREATE TABLE t AS SELECT {keys}, count(*) FROM '{path}.parquet' GROUP BY {keys}"
duckdb.connect().execute(asked)
"""
_READ = "points = np.load('{path}.npy')"
_WEIGH = f"""
from tamis.importance import LaplaceSum, Lloyd, optimal_weights
{_READ}
optimal_weights({{asked}}, points, {ASKED})
"""
_FIT = f"""
import warnings
from sklearn.cluster import KMeans
from tamis import PrivateKMeans
warnings.simplefilter("ignore")
{_READ}
{{asked}}.fit(points)
"""

_MB = (
    "MB: at most, of one run in a process of its own that holds the points, beside that of the "
    "GROUP BY of the same points in a Parquet file."
)
COVTYPE = "covtype"
ROWS, COLUMNS = 581_012, 54
CLUSTERS, ITERATIONS = 25, 10
_PLAIN = f"KMeans({CLUSTERS}, init='random', n_init=1, max_iter={ITERATIONS}, tol=0)"
_OURS = f"PrivateKMeans({CLUSTERS}, epsilon={ASKED}, bounds=(-1, 1), max_iter={{!r}})"


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
    }
    known = {name: repr(profile) for name, profile in profiles.items()}
    profiles["not linear, by bisection"] = Searched(2 * radius)
    plain = grouped_table(_columns(points), "c0")
    norms = partial(timed, lambda: np.abs(points).sum(axis=1))
    least, *used = _memory(points, "c0", _WEIGH, known.values())
    most = dict(zip(known, used, strict=True))
    found = []
    for name, profile in profiles.items():
        quick, mine = in_turns(plain, [norms, _weigh(profile, points)], REPEATS, warm=1)
        beside, there = f"{Beside(quick.ours, mine.ours).ratio:.1f}", most.get(name)
        memory = (f"{there:,.0f}", f"**{there / least:.2f}**") if there else ("not measured", "")
        found.append((name, f"{mine.seconds:.2f}", f"**{mine.ratio:.2f}**", beside, *memory))
    heads = ("profile", "seconds", "**ratio**", "to the norms", "MB", "**memory**")
    return (
        f"Optimal weights of {len(points):,} points in {DIMENSIONS} dimensions, epsilon = "
        f"{ASKED:g}, medians of {REPEATS}: beside the GROUP BY of one of the columns, and beside "
        "`np.abs(points).sum(axis=1)`. Where epsilon is linear in the weight there is a closed "
        "form; for a profile of your own it is searched for, and takes as long as the profile, "
        f"asked some forty times. {_MB}\n\n{rows_of(heads, found)}"
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
    estimators = [
        PrivateKMeans(CLUSTERS, epsilon=ASKED, bounds=(-1, 1), max_iter=steps)
        for steps in asked.values()
    ]
    runs = [_fit(model, points) for model in (plain, *estimators)]
    counted = _columns(points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten iterations are what is asked for
        grouped = grouped_table(counted, ", ".join(counted.column_names))
        other, *ours = in_turns(grouped, runs, REPEATS, warm=1)
    models = [_PLAIN, *map(_OURS.format, asked.values())]
    least, *used = _memory(points, ", ".join(counted.column_names), _FIT, models)
    lines = [_line("scikit-learn's KMeans", other, "", used[0], least)]
    for name, mine, most in zip(asked, ours, used[1:], strict=True):
        beside = f"{Beside(other.ours, mine.ours).ratio:.2f}"
        lines.append(_line(f"PrivateKMeans, {name}", mine, beside, most, least))
    heads = ("k-means", "seconds", "**ratio**", "to scikit-learn", "MB", "**memory**")
    return (
        f"k-means of {ROWS:,} x {COLUMNS} points ({COVTYPE if found else 'a mixture'}), k = "
        f"{CLUSTERS}, epsilon = {ASKED:g}, medians of {REPEATS}: beside the GROUP BY of all "
        f"columns, and beside one run of scikit-learn's KMeans with {ITERATIONS} iterations, from "
        f"random rows. {_MB}\n\n{rows_of(heads, lines)}"
    )


def _line(name: str, found: Beside, beside: str, used: float, least: float) -> tuple[str, ...]:
    ratio, memory = f"**{found.ratio:.2f}**", f"**{used / least:.2f}**"
    return name, f"{found.seconds:.2f}", ratio, beside, f"{used:,.0f}", memory


def _memory(points: Floats, keys: str, code: str, asked: Iterable[str]) -> list[float]:
    """Of the GROUP BY by these keys, and of a piece of Python for each that is asked of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/points"
        np.save(f"{path}.npy", points)
        pq.write_table(_columns(points), f"{path}.parquet")
        codes = [_GROUP.format(keys=keys, path=path)]
        codes += [code.format(path=path, asked=one) for one in asked]
        return [alone(one, "numpy as np").megabytes for one in codes]


def _fit(model: KMeans | PrivateKMeans, points: Floats) -> Callable[[], Cost]:
    return lambda: timed(lambda: model.fit(points))
