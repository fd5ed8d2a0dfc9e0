"""Nothing that is not released is seen: in no output, message or file."""

from __future__ import annotations

from pathlib import Path

import pytest

import tamis as library
from tests.cli.conftest import PROMISE, Ran, Run

KEY = ("--key", "query", *PROMISE)
UNIT = ("--unit", "user_id", "--keys-per-unit", "2")

RUNS: dict[str, tuple[str, ...]] = {
    "parquet": ("release", "events.parquet", *KEY, *UNIT, "-o", "out.parquet"),
    "csv": ("release", "events.parquet", *KEY, *UNIT, "-o", "out.csv"),
    "json": ("release", "events.parquet", *KEY, *UNIT, "-o", "out.json"),
    "printed": ("release", "events.parquet", *KEY),
    "document": ("release", "events.parquet", *KEY, "--json"),
    "stdout": ("release", "events.parquet", *KEY, "-o", "-"),
    "cast": ("release", "events.parquet", *KEY, "--where", "query::INTEGER > 0"),
    "error in where": ("release", "events.parquet", *KEY, "--where", "error(query) IS NULL"),
    "count of text": ("release", "events.parquet", *KEY, "--count", "user_id"),
    "plan": ("plan", *PROMISE, "--histogram", "events.parquet", "--frequency", "query"),
    "sanitize": ("sanitize", "events.parquet", *KEY, "--frequency", "user_id"),
    "verify": ("verify", "events.parquet"),
    "query": ("query", "events.parquet", "rows"),
}


def seen(ran: Ran, folder: Path) -> bytes:
    """Everything that a run has written."""
    made = [p for p in folder.rglob("*") if p.is_file() and p.name != "events.parquet"]
    return ran.out + ran.err.encode() + b"".join(path.read_bytes() for path in made)


@pytest.mark.parametrize("case", RUNS)
def test_no_rare_key_and_no_unit_is_seen(tamis: Run, folder: Path, case: str) -> None:
    ran = tamis(*RUNS[case])
    assert b"canary" not in seen(ran, folder)
    assert b"user-" not in seen(ran, folder)
    assert "Traceback" not in ran.err


def test_an_unexpected_error_keeps_its_message(tamis: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("canary-0001")

    monkeypatch.setattr(library, "release", fail)
    ran = tamis("release", "events.parquet", *KEY)
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith("tamis: internal error (RuntimeError)")
    assert "canary" not in ran.err
    monkeypatch.setenv("TAMIS_DEBUG", "1")
    assert "Traceback" in tamis("release", "events.parquet", *KEY).err


def test_neighbouring_data_gives_as_many_lines(tamis: Run, folder: Path) -> None:
    ran = tamis("release", "events.parquet", *KEY, "--where", "query <> 'canary-0001'")
    again = tamis("release", "events.parquet", *KEY)
    assert ran.err.count("\n") == again.err.count("\n")
