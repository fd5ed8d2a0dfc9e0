"""A folder with data to work in, and the command line as a function."""

from __future__ import annotations

import io
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.cli import main
from tests.releases.collected import making

CANARIES = 1000
PROMISE = ("--epsilon", "1", "--delta", "1e-12")


@dataclass(frozen=True)
class Ran:
    """What a run left behind."""

    code: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def text(self) -> str:
        return self.out.decode()


Run = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands run: with events, counted words, trips, points, and a ledger of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAMIS_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("TAMIS_COLLECTOR", str(tmp_path / "collector.sqlite"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("TAMIS_DEBUG", raising=False)
    pq.write_table(events(), tmp_path / "events.parquet")
    counts = "".join(f"word-{n},{3000 // n}\n" for n in range(1, 31))
    (tmp_path / "words.csv").write_text("word,n\n" + counts)
    pq.write_table(trips(), tmp_path / "trips.parquet")
    (tmp_path / "domain.toml").write_text("home = 4001\nwork = 4001\n")
    pq.write_table(points(), tmp_path / "points.parquet")
    return tmp_path


def events() -> pa.Table:
    """Two keys that are surely named, and canaries that must never be seen: one user each."""
    keys = ["maps"] * 900 + ["weather"] * 600 + [f"canary-{n:04x}" for n in range(CANARIES)]
    return pa.table({"query": keys, "user_id": [f"user-{n}" for n in range(len(keys))]})


def trips() -> pa.Table:
    """Two cells of sixteen million that are not empty."""
    home, work = [17] * 900 + [4] * 600, [3999] * 900 + [2] * 600
    return pa.table({"home": home, "work": work, "person": [f"p{n}" for n in range(1500)]})


def points() -> pa.Table:
    """Rows about three places."""
    rng = np.random.default_rng(1)
    places = np.array([[4, 1, 2], [-4, 1, 3], [2, 4, -1]])[np.arange(3000) % 3]
    x, y, z = (places + rng.uniform(-0.3, 0.3, places.shape)).T
    return pa.table({"x": x, "y": y, "z": z, "name": ["somebody"] * 3000})


@pytest.fixture
def tamis(
    folder: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run a command in this process."""

    def run(*words: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main([str(word) for word in words])
        out, err = capsysbinary.readouterr()
        return Ran(code, out, err.decode())

    return run


Shell = Callable[[str], Ran]


@pytest.fixture
def shell(tamis: Run, folder: Path) -> Shell:
    """Run a line of a document; what a shell would do with < and > is done here."""

    def run(line: str) -> Ran:
        rest, _, target = line.partition(" > ")
        words, _, source = rest.partition(" < ")
        program, *arguments = shlex.split(words)
        assert program == "tamis"
        ran = tamis(*arguments, stdin=Path(source).read_bytes() if source else b"")
        if target:
            Path(target).write_bytes(ran.out)
        return ran

    return run


@pytest.fixture
def release(tamis: Run, folder: Path) -> str:
    """A release file."""
    made = tamis("release", "events.parquet", "--key", "query", *PROMISE, "-o", "release.parquet")
    assert made.code == 0, made.err
    return "release.parquet"


@pytest.fixture
def counted(tamis: Run, folder: Path) -> str:
    """A release of thirty counted words, all named."""
    made = tamis("release", "words.csv", "--key", "word", "--count", "n", "--total-share", "0.1",
                 *PROMISE, "-o", "counted.parquet")  # fmt: skip
    assert made.code == 0, made.err
    return "counted.parquet"


SUMMARIZE = ("summarize", "trips.parquet", "--domain", "domain.toml", "--epsilon", "1")


@pytest.fixture
def summary(tamis: Run, folder: Path) -> str:
    """A summary file."""
    made = tamis(*SUMMARIZE, "--size", "1000", "-o", "summary.parquet")
    assert made.code == 0, made.err
    return "summary.parquet"


@pytest.fixture
def reports(folder: Path) -> str:
    """A release of what devices hold."""
    making.items().save(folder / "reports.parquet")
    return "reports.parquet"


@pytest.fixture
def quantiles(folder: Path) -> str:
    """A release of quantiles of what devices hold."""
    making.quantiles().save(folder / "quantiles.parquet")
    return "quantiles.parquet"
