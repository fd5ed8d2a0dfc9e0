"""SmartNoise SQL 1.0: a query that counts units by key, with rare keys censored.

What it states is more than what a unit spends here, which moves k counts by one each: its Laplace
threshold and its Gaussian noise are those of a unit that moves one count by k. So it is told more
than is promised, just so much that the true guarantee is what is promised.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.peers.gaussian import told
    from benchmarks.peers.worker import Found, Method, main
else:  # run as a script, whose folder is where it looks
    from gaussian import told
    from worker import main

pandas: Any = importlib.import_module("pandas")
snsql: Any = importlib.import_module("snsql")

_QUERY = "SELECT key, COUNT(DISTINCT unit) AS units FROM pairs GROUP BY key"


def laplace(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """Told more than delta, because its threshold is higher than what it is told needs.

    It adds noise of scale k / epsilon and censors what is not above k + k / epsilon
    log(k / (2 delta)). A unit alone has counts of 1, not k: with 1 + k / epsilon log(k / (2 delta))
    its k keys stay unseen but for delta. So a delta that is exp(epsilon (k - 1) / k) times as much
    leaves the true one as it should be. The counts of the query are those that are compared to the
    threshold, and are paid for once.
    """
    more = delta * math.exp(epsilon * (keys_per_unit - 1) / keys_per_unit)
    return _counted(path, snsql.Privacy(epsilon=epsilon, delta=more), keys_per_unit)


def gaussian(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """Told so much that it takes the least noise and the least threshold of (epsilon, delta)."""
    promise = told(epsilon, delta, keys_per_unit)
    privacy = snsql.Privacy(epsilon=promise.epsilon, delta=promise.delta)
    for stat in (snsql.Stat.count, snsql.Stat.threshold):
        privacy.mechanisms.map[stat] = snsql.Mechanism.gaussian
    return _counted(path, privacy, keys_per_unit)


def _counted(path: str, privacy: Any, keys_per_unit: int) -> Found:
    reader = snsql.from_df(
        pandas.read_parquet(path),
        privacy=privacy,
        metadata={"": {"": {"pairs": _table(keys_per_unit)}}},
    )
    _, *rows = reader.execute(_QUERY)
    return dict(rows)


def _table(keys_per_unit: int) -> dict[str, Any]:
    """No rows are sampled: no unit has more than it may."""
    return {
        "max_ids": keys_per_unit,
        "row_privacy": False,
        "sample_max_ids": False,
        "censor_dims": True,
        "use_dpsu": False,
        "unit": {"type": "int", "private_id": True},
        "key": {"type": "string"},
    }


METHODS: dict[str, Method] = {"laplace": laplace, "gaussian": gaussian}

if __name__ == "__main__":
    main(METHODS)
