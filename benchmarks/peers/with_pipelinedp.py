"""PipelineDP, of OpenMined and Google, in this process: keys and how many units have each.

Noise is added to each count, which is named if it then is above a threshold: so one draw does for
both, and all of epsilon and delta is spent on it. Its other way, to choose keys first and count
them after, divides the budget between the two, and names fewer with more noise.

It accounts for Gaussian noise and threshold as if a key could be moved and be new at once, and
divides delta between the two. A key is one or the other (`gaussian`), so that each may spend all of
it: it is told twice the delta that is promised.

It is told that no unit has too many keys, so that it enforces no bound; noise and threshold are for
as many keys as ever.
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

pipeline_dp: Any = importlib.import_module("pipeline_dp")


def thresholds(noise: Any) -> Method:
    def method(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
        table = pq.read_table(path)
        rows = list(zip(table["unit"].to_pylist(), table["key"].to_pylist(), strict=True))
        if noise == pipeline_dp.NoiseKind.GAUSSIAN:
            delta = told(epsilon, delta, keys_per_unit).delta
        accountant = pipeline_dp.NaiveBudgetAccountant(epsilon, delta)
        params = pipeline_dp.AggregateParams(
            metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
            noise_kind=noise,
            max_partitions_contributed=keys_per_unit,
            max_contributions_per_partition=1,
            post_aggregation_thresholding=True,
            perform_cross_partition_contribution_bounding=False,
        )
        extractors = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: 0,
        )
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        released = engine.aggregate(rows, params, extractors)
        accountant.compute_budgets()  # what was asked for is computed from here on
        return {key: metrics.privacy_id_count for key, metrics in released}

    return method


METHODS: dict[str, Method] = {
    "laplace": thresholds(pipeline_dp.NoiseKind.LAPLACE),
    "gaussian": thresholds(pipeline_dp.NoiseKind.GAUSSIAN),
}


if __name__ == "__main__":
    main(METHODS)
