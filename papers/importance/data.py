"""Points to cluster, as the paper prepares them: centred, trimmed at a radius, centred again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pyarrow import csv
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

from papers.importance.settings import CLUSTERS, RADII
from tamis.importance.kmeans.grid import Grid
from tamis.importance.profiles import l1_norms

Floats = npt.NDArray[np.float64]

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
REAL = ("letter", "shuttle", "covtype")


@dataclass(frozen=True, eq=False)
class Table:
    """Points around 0, and the l1 norm that none exceeds by more than the second centring moved."""

    name: str
    points: Floats
    radius: float

    @property
    def dimensions(self) -> int:
        return int(self.points.shape[1])

    @cached_property
    def grid(self) -> Grid:
        return Grid.of_radius(self.radius, self.dimensions)

    @cached_property
    def places(self) -> Floats:
        """The points in whole steps of the grid, within the radius."""
        return self.grid.place(self.points)

    @cached_property
    def norms(self) -> Floats:
        """The l1 norms of the places, from the smallest to the largest."""
        return np.sort(l1_norms(self.places))

    @cached_property
    def plain(self) -> float:
        """The cost of k-means without privacy: scikit-learn's, the best of three starts."""
        best = KMeans(CLUSTERS, n_init=3, random_state=1).fit(self.points)
        return float(best.inertia_)

    def cost(self, centres: Floats) -> float:
        """The cost of centres on all points, over that of k-means without privacy."""
        _, squares = pairwise_distances_argmin_min(self.points, centres, metric="sqeuclidean")
        return float(squares.sum()) / self.plain


Tables = Mapping[str, Table]


def missing(folder: Path = FOLDER) -> list[str]:
    """The files that are not there."""
    return [f"{name}.csv.gz" for name in REAL if not (folder / f"{name}.csv.gz").exists()]


@lru_cache
def real(folder: Path = FOLDER) -> Tables:
    """All real tables; without the class, which is the last column."""
    return {name: prepared(name, _read(folder / f"{name}.csv.gz")) for name in REAL}


@lru_cache
def mixture(rows: int = 100_000, dimensions: int = 20) -> Table:
    """25 Gaussian clusters of different sizes and widths, and a thin cloud around all of them."""
    rng = np.random.default_rng(2023)
    centres = rng.uniform(-1, 1, (CLUSTERS, dimensions))
    shares = rng.dirichlet(np.full(CLUSTERS, 5.0))
    which = rng.choice(CLUSTERS, rows, p=shares)
    widths = rng.uniform(0.05, 0.2, CLUSTERS)[which]
    points = centres[which] + rng.normal(0, widths[:, None], (rows, dimensions))
    cloud = rng.random(rows) < 0.05
    points[cloud] = rng.normal(0, 0.7, (int(cloud.sum()), dimensions))
    return prepared("mixture", points)


def prepared(name: str, points: Floats) -> Table:
    """Rows beyond the public radius are dropped.

    The centre is the mean of the data, as in the paper: for an experiment only.
    """
    around = points - points.mean(axis=0)
    kept = around[l1_norms(around) <= RADII[name]]
    return Table(name, kept - kept.mean(axis=0), RADII[name])


def _read(path: Path) -> Floats:
    rows = csv.read_csv(path)
    return np.column_stack([column.to_numpy() for column in rows.columns[:-1]]).astype(np.float64)
