"""Points to cluster, in [-1, 1] in every coordinate: real tables, and mixtures that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pyarrow import csv

from benchmarks.peers import files
from benchmarks.peers.files import SHARED

Floats = npt.NDArray[np.float64]


# What is known of the columns beforehand: measures of maps, angles, shades, grey values, sensors.
_FOREST = (
    *((1850, 3860), (0, 360), (0, 66), (0, 1400), (-175, 605), (0, 7120)),
    *((0, 255), (0, 255), (0, 255), (0, 7175)),
    *((0, 1),) * 44,
)
_SHUTTLE = (
    *((35, 105), (-16, 6), (75, 110), (-8, 8), (-42, 72)),
    *((-30, 32), (0, 70), (24, 128), (0, 122)),
)
RANGES: dict[str, Sequence[tuple[float, float]]] = {
    "letter": ((0, 15),) * 16,
    "shuttle": _SHUTTLE,
    "covtype": _FOREST,
}


@dataclass(frozen=True, eq=False)
class Case:
    """Points, and how many clusters are asked for."""

    name: str
    points: Floats
    clusters: int


def there(name: str, folder: Path = SHARED) -> bool:
    """Whether a real table can be read."""
    return files.there(f"{name}.csv.gz", folder)


def table(name: str, folder: Path = SHARED) -> Floats:
    """A real table, scaled by its public ranges and clipped to them; the class is left out."""
    rows = csv.read_csv(folder / f"{name}.csv.gz")
    low, high = np.array(RANGES[name], dtype=np.float64).T
    numbers = np.column_stack([column.to_numpy() for column in rows.columns[: len(low)]])
    return np.ascontiguousarray(np.clip(2 * (numbers - low) / (high - low) - 1, -1, 1))


def mixture(
    sigma: float, rows: int = 100_000, dimensions: int = 20, clusters: int = 16, seed: int = 1
) -> Floats:
    """Gaussian clusters of about equal size, with centres anywhere in [-0.7, 0.7]."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.7, 0.7, (clusters, dimensions))
    drawn = centres[rng.integers(0, clusters, rows)] + rng.normal(0, sigma, (rows, dimensions))
    return np.clip(drawn, -1, 1)


def cases(only: Sequence[str] = ()) -> list[Case]:
    """All that are there, or those whose names begin so."""
    real = [Case(name, table(name), 25) for name in RANGES if there(name)]
    drawn = [Case(f"mixture, sigma {sigma:g}", mixture(sigma), 16) for sigma in (0.05, 0.1)]
    return [case for case in (*real, *drawn) if not only or case.name.startswith(tuple(only))]


def absent() -> list[str]:
    """The real tables that cannot be read."""
    return [name for name in RANGES if not there(name)]


def cost(points: Floats, centres: Floats, at_once: int = 1 << 14) -> float:
    """The sum of squared distances to the nearest centre."""
    total = 0.0
    for start in range(0, len(points), at_once):
        rows = points[start : start + at_once]
        scores = (centres * centres).sum(axis=1) - 2 * rows @ centres.T
        total += float(np.min(scores, axis=1).sum() + (rows * rows).sum())
    return total
