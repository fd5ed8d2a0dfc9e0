"""PyDP, OpenMined's wrapper of Google's C++ library: which keys to name, without counts.

Its strategies are asked for each key in turn, given how many units have it. They allow for the
keys that a unit may have, and all of epsilon and delta is spent on names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from benchmarks.peers.gaussian import told
    from benchmarks.peers.worker import Found, Method, main
else:  # run as a script, whose folder is where it looks
    from gaussian import told
    from worker import main

selection: Any = importlib.import_module("pydp.algorithms.partition_selection")


def selects(strategy: str) -> Method:
    def method(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
        if strategy == "gaussian":  # which divides delta between noise and threshold
            delta = told(epsilon, delta, keys_per_unit).delta
        keys, units = pq.read_table(path, columns=["key"])["key"].value_counts().flatten()
        chosen = selection.create_partition_strategy(strategy, epsilon, delta, keys_per_unit)
        pairs = zip(keys.to_pylist(), units.to_pylist(), strict=True)
        return {key: None for key, count in pairs if chosen.should_keep(count)}

    return method


METHODS: dict[str, Method] = {
    "truncated geometric": selects("truncated_geometric"),
    "laplace": selects("laplace"),
    "gaussian": selects("gaussian"),
}


if __name__ == "__main__":
    main(METHODS)
