"""Releases of clusters: of real draws on small tables, and made without any draw."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tamis
from tamis.importance.kmeans.plan import Schedule, Spending
from tamis.privacy.certificate import Certificate
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import Guarantee
from tamis.releases.clusters.about import AboutClusters
from tamis.releases.clusters.clusters import Clusters, table_of
from tests.releases.collected.making import Said

CENTRES = np.array([[0.5, -0.5, 0.0], [-0.75, 0.25, 0.5], [0.25, 0.75, -0.5]])
SIZES = np.array([1200.0, 3001.0, 0.0])
COLUMNS = ("x", "y", "z")


def points(rows: int = 3000, seed: int = 1) -> pa.Table:
    """Rows about three places, in a box from -1 to 1."""
    rng = np.random.default_rng(seed)
    near = CENTRES[np.arange(rows) % 3] + rng.uniform(-0.1, 0.1, (rows, 3))
    return pa.table({name: near[:, n] for n, name in enumerate(COLUMNS)})


@lru_cache
def drawn(**options: Any) -> Clusters:
    """A real one."""
    asked: dict[str, Any] = {"columns": COLUMNS, "n_clusters": 3, "epsilon": 2.0} | options
    if "radius" not in asked:
        asked["bounds"] = (-1, 1)
    return tamis.kmeans(points(), **asked)


def made(
    centres: npt.ArrayLike = CENTRES,
    sizes: npt.ArrayLike = SIZES,
    columns: Sequence[str] = COLUMNS,
    epsilon: float = 1.0,
    **more: Any,
) -> Clusters:
    """With these centres and sizes; nothing was drawn."""
    places, many = np.asarray(centres, np.float64), np.asarray(sizes, np.float64)
    guarantee = Guarantee(epsilon, 0.0, unit="row")
    spending, steps = Spending.of(exactly(epsilon)), more.get("steps", 4)
    schedule = Schedule.of(spending.search, steps, more.get("init", "private"), sampled=False)
    rule = spending.rule(len(columns), schedule, None)
    said: dict[str, Any] = {
        "bounds": ((-1.0, 1.0),) * len(columns),
        "radius": None,
        "sampler": "full",
        "rate": None,
        "mixing": None,
        "init": "private",
        "max_iter": "auto",
        "steps": 4,
        "day": "2026-02-03",
        "library": "9.8.7",
    }
    about = AboutClusters(
        guarantee, Certificate.of(guarantee, rule), tuple(columns), len(many), **(said | more)
    )
    return Clusters(table_of(columns, places, many), about)


def changed(said: Said, **values: Any) -> Said:
    """What a file says, with other values, whose parts are given as a__b."""
    copy = json.loads(json.dumps(said))
    for name, value in values.items():
        *parts, last = name.split("__")
        place = copy
        for part in parts:
            place = place[part]
        place[last] = value
    return copy  # type: ignore[no-any-return]
