"""People at a terminal see one bar, with a word for what is going on. Nobody else sees any."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import tamis

PROGRAM = """
import tamis
slow = "levenshtein(k || u::VARCHAR, 'abcdefghijkl') > 0"
tamis.release({path!r}, key="k", epsilon=1.0, delta=1e-8, where=slow, threads=1, {options})
"""
UNITS = "unit='u', keys_per_unit=1"
WORDS = {
    "": ["reading", "counting", "drawing"],
    UNITS: ["reading", "listing keys", "reading units", "bounding units", "drawing"],
}


def at_a_terminal(program: str) -> str:
    """What a program writes to standard error, without colours."""
    pty = pytest.importorskip("pty", reason="terminals are made as on Unix")
    mine, theirs = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([sys.executable, "-c", program], stderr=theirs, env=env) as running:
        os.close(theirs)
        written = b""
        while part := _read(mine):
            written += part
    os.close(mine)
    assert running.returncode == 0
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", written.decode())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize("options", WORDS)
def test_there_is_one_bar_that_never_goes_back(tmp_path: Path, options: str) -> None:
    path = str(tmp_path / "e.parquet")
    with duckdb.connect() as database:
        query = "SELECT 'key ' || (n % 9) AS k, n AS u FROM range(1_500_000) AS t(n)"
        database.execute(f"COPY ({query}) TO '{path}'")
    written = at_a_terminal(PROGRAM.format(path=path, options=options))
    seen = re.findall(r"([a-z ]+?) [━╸╺ ]+ (\d+)% \d", written)
    words = list(dict.fromkeys(word for word, _ in seen))
    assert words == WORDS[options]
    done = [int(percent) for _, percent in seen]
    assert all(a <= b for a, b in pairwise(done))
    assert len(set(done)) > 3
    assert written.count("\n") == 1  # one line, which is wiped in the end


@pytest.mark.parametrize("options", [{}, {"unit": "u", "keys_per_unit": 1}], ids=str)
def test_nothing_is_written_where_nobody_looks(
    options: dict[str, object], capfd: pytest.CaptureFixture[str]
) -> None:
    data = pa.table({"k": ["a"] * 500, "u": range(500)})
    tamis.release(data, key="k", epsilon=1.0, delta=1e-8, **options)  # type: ignore[arg-type]
    assert capfd.readouterr() == ("", "")
