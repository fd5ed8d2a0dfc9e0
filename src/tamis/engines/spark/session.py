"""A Spark session for those who have none yet."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tamis.engines.attempt import attempt
from tamis.engines.spark import java
from tamis.privacy.errors import EngineMissing

_LOG = Path(__file__).with_name("log4j2.properties").as_uri()
# for a session on this machine alone
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG}",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
# these say which cluster there is
_ELSEWHERE = ("SPARK_REMOTE", "MASTER", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS")


def is_frame(data: object) -> bool:
    """Whether data is a DataFrame of Spark, classic or Connect."""
    return type(data).__module__.startswith("pyspark.") and hasattr(data, "mapInArrow")


def session(threads: int | None = None, memory: str | None = None) -> Any:
    """The session there is, or a new one: on this machine, unless the environment says where."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise EngineMissing(
            "the Spark engine needs PySpark 4: pip install 'tamis[spark]'."
        ) from None
    there = SparkSession.getActiveSession()
    if there is not None:
        return there
    builder = SparkSession.builder.appName("tamis")
    if not any(name in os.environ for name in _ELSEWHERE):
        java.prepare()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        cores = threads or os.cpu_count() or 1
        builder = builder.master(f"local[{cores}]")
        builder = builder.config("spark.sql.shuffle.partitions", 2 * cores)
        if memory is not None:
            builder = builder.config("spark.driver.memory", memory.removesuffix("B"))
        for name, value in _LOCAL.items():
            builder = builder.config(name, value)
    with quiet():
        made = attempt(builder.getOrCreate, Exception)
    if isinstance(made, Exception):
        raise EngineMissing(
            f"Spark could not be started ({type(made).__name__}); it needs Java 17 or 21: see "
            "JAVA_HOME, SPARK_REMOTE and SPARK_HOME."
        )
    return made


@contextmanager
def quiet() -> Iterator[None]:
    """PySpark logs what it raises, with the value that was wrong, and warns of new pandas."""
    logger = logging.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            yield
    finally:
        logger.disabled = before
