"""A real PostgreSQL server for tests, in a temporary folder, reached by a socket in it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

MISSING = "PostgreSQL is not installed: as root, install the Debian package postgresql"


def programs() -> Path | None:
    """The folder with initdb and postgres; Debian keeps them off the search path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
    found = [f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()]
    if found:
        return found[-1]
    named = shutil.which("initdb")
    return Path(named).resolve().parent if named else None


def _someone_else() -> dict[str, Any]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    entry = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@contextmanager
def running(folder_of_programs: Path) -> Iterator[Path]:
    """The folder of a running server's socket."""
    folder, someone = Path(tempfile.mkdtemp(prefix="tamis-pg-")), _someone_else()
    if someone:
        os.chown(folder, someone["user"], someone["group"])
    data, common = str(folder / "data"), {"cwd": folder, **someone}
    initdb = [str(folder_of_programs / "initdb"), "-D", data, "-U", "tamis", "-A", "trust"]
    made = subprocess.run(
        [*initdb, "-E", "UTF8", "--locale=C"], capture_output=True, check=False, **common
    )
    assert made.returncode == 0, made.stderr
    start = [str(folder_of_programs / "postgres"), "-D", data, "-k", str(folder)]
    for setting in ("listen_addresses=", "max_connections=60", "shared_buffers=16MB"):
        start += ["-c", setting]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(start, stdout=quiet, stderr=quiet, **common) as server:
        try:
            _wait(folder, server)
            yield folder
        finally:
            server.send_signal(signal.SIGQUIT)  # what it holds is thrown away
            server.wait(timeout=30)
            shutil.rmtree(folder, ignore_errors=True)


def url(folder: Path, database: str = "postgres") -> str:
    return f"postgresql://tamis@/{database}?host={folder}"


def execute(address: str, sql: str) -> None:
    with psycopg.connect(address, autocommit=True) as link:
        link.execute(sql.encode())


@contextmanager
def without_fsync(address: str) -> Iterator[None]:
    """While the server does not wait for its disk."""
    try:
        _set_fsync(address, "off")
        yield
    finally:
        _set_fsync(address, "on")


def _set_fsync(address: str, value: str) -> None:
    execute(address, f"ALTER SYSTEM SET fsync TO {value}")
    execute(address, "SELECT pg_reload_conf()")
    until = time.monotonic() + 30
    while _fsync(address) != value:
        assert time.monotonic() < until, "the server does not change its settings"
        time.sleep(0.01)


def _fsync(address: str) -> str:
    """As a new connection sees it."""
    with psycopg.connect(address, autocommit=True) as link:
        row = link.execute("SHOW fsync").fetchone()
    assert row is not None
    return str(row[0])


def _wait(folder: Path, server: subprocess.Popen[Any]) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            return execute(url(folder), "SELECT 1")
        except psycopg.OperationalError:
            assert server.poll() is None, "the server stopped"
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.05)
