"""A real Spark on this machine, small and quick to start."""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
import pytest

from tamis.engines.spark.engine import Spark
from tamis.engines.spark.session import session

RARE = [f"rare {n}" for n in range(400)]
EVENTS = pa.table({"q": ["maps"] * 500 + ["news"] * 300 + RARE, "u": [*range(800), *range(400)]})
PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-9}


def spark_session() -> Any:
    """One session for all tests of a process."""
    pytest.importorskip("pyspark", reason="pip install 'tamis[spark]' to test on Spark")
    made = session(2)
    made.conf.set("spark.sql.shuffle.partitions", "2")
    # Python tells Java whenever it has let go of a frame, during the tests of something else too
    logging.getLogger("py4j").setLevel(logging.INFO)
    return made


def spark_engine() -> Spark:
    return Spark(session=spark_session())
