"""Ctrl-C ends a query that runs, at once and in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.privacy.ledger import open_ledger

PROGRAM = """
import signal, tamis
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
slow = "levenshtein(rpad(k, 300, 'x'), rpad(k, 300, 'y')) > 0"  # for a minute or more
asked = dict(key="k", epsilon=1.0, delta=1e-8, where=slow, engine="{engine}")
tamis.release("events.parquet", **asked, {options})
"""
WAYS = [
    pytest.param("budget='rows', progress=True", id="elements with a bar"),
    pytest.param("budget='rows'", id="elements", marks=pytest.mark.slow),
    pytest.param("unit='u', keys_per_unit=1, budget='units'", id="units", marks=pytest.mark.slow),
]


# seconds from the first file that an engine makes until it is at work for sure
ENGINES = [
    pytest.param("duckdb", "*", 1, id="duckdb"),
    pytest.param("spark", "blockmgr*", 8, id="spark", marks=pytest.mark.slow),
]


def wait_for(folder: Path, made: str, seconds: float) -> None:
    """Until the engine has made its folder, and is at work."""
    deadline = time.monotonic() + 60
    while not list(folder.glob(made)) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(seconds)


def emptied(folder: Path) -> bool:
    """Java removes its folders when the program has ended."""
    deadline = time.monotonic() + 20
    while list(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not list(folder.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on Unix")
@pytest.mark.parametrize(("name", "made", "seconds"), ENGINES)
@pytest.mark.parametrize("options", WAYS)
def test_an_interruption_ends_the_query_and_leaves_nothing(
    tmp_path: Path, options: str, name: str, made: str, seconds: float
) -> None:
    if name == "spark":
        pytest.importorskip("pyspark")
    spill = tmp_path / "spill"
    spill.mkdir()
    data = pa.table({"k": [f"key {n % 9}" for n in range(600_000)], "u": range(600_000)})
    pq.write_table(data, tmp_path / "events.parquet", row_group_size=10_000)
    with open_ledger(tmp_path / "ledger") as ledger:
        ledger.create("rows", 1.0, 1e-6, "element")
        ledger.create("units", 1.0, 1e-6, "u")
    before = sorted(tmp_path.iterdir())
    program = [sys.executable, "-c", PROGRAM.format(options=options, engine=name)]
    env = os.environ | {
        "TMPDIR": str(spill),
        "SPARK_LOCAL_DIRS": str(spill),
        "TAMIS_LEDGER": str(tmp_path / "ledger"),
    }
    with subprocess.Popen(program, cwd=tmp_path, env=env, stderr=subprocess.PIPE) as running:
        wait_for(spill, made, seconds)
        assert running.poll() is None, "it was over too soon: this shows nothing"
        start = time.monotonic()
        running.send_signal(signal.SIGINT)
        running.wait(60)
        took = time.monotonic() - start
        assert running.stderr is not None
        said = running.stderr.read()
    assert running.returncode == -signal.SIGINT
    assert said.endswith(b"KeyboardInterrupt\n")
    assert took < 10  # less than one on a machine that does nothing else
    assert emptied(spill)
    assert sorted(tmp_path.iterdir()) == before
    with open_ledger(tmp_path / "ledger") as ledger:
        assert ledger.history("rows") == ledger.history("units") == []
