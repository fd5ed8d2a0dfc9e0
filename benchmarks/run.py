"""Run every benchmark: `make bench`. Figures are ratios within one run, or say their machine."""

from __future__ import annotations

import os
import platform

from benchmarks import collector, federated, importance, real, release, spark, sparse, weighted


def main() -> None:
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}\n")
    parts = (weighted.sanitising, weighted.readiness, release.release, real.real, real.log)
    for part in (
        *parts,
        sparse.cells,
        sparse.domains,
        federated.clients,
        collector.collecting,
        importance.weights,
        importance.kmeans,
        spark.spark,
    ):
        print(part(), "\n", flush=True)


if __name__ == "__main__":
    main()
