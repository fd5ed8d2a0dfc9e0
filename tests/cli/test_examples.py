"""Every example in the help of a command runs as it stands, but for words in capitals."""

from __future__ import annotations

import gzip
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tamis.cli import demo
from tamis.cli.app import app
from tests.cli.conftest import Run, Shell, events
from tests.cli.test_program import COMMANDS

PROMISE = "--epsilon 1 --delta 1e-8"
MADE = {
    '"visits 2024"': 'tamis budget create "visits 2024" --epsilon 5 --delta 1e-6 --unit user_id',
    '"sales 2024"': 'tamis budget create "sales 2024" --epsilon 5 --delta 1e-6 --unit customer',
    '"trips 2024"': 'tamis budget create "trips 2024" --epsilon 5 --delta 1e-6 --unit person',
    '"points 2024"': 'tamis budget create "points 2024" --epsilon 5 --delta 1e-6 --unit row',
    "centers.parquet": "tamis kmeans points.parquet --columns x,y,z -k 3 --epsilon 1 --radius 10 "
    "-o centers.parquet",
    "summary.parquet": "tamis summarize trips.parquet --domain domain.toml --epsilon 1 "
    "--size 1000 -o summary.parquet",
    "release.parquet": f"tamis release events.parquet --key query {PROMISE} -o release.parquet",
    "certificate.json": f"tamis sanitize words.csv --key word --frequency n {PROMISE} -o made.csv "
    "--certificate certificate.json",
}


CREATE = (
    "tamis collect create --kind histogram --question Which --longest 9 --epsilon 1 "
    "--delta 1e-6 --window {}"
)


def examples() -> Iterator[str]:
    """The lines that begin with the program, each with what continues it."""
    for command in ("", *COMMANDS):
        found = app
        for name in command.split():
            found = found[name]
        text = str(found.help_epilogue).removeprefix("Examples:\n").partition("\n\n")[0]
        for line in text.replace("\\\n", " ").splitlines():
            yield " ".join(line.split())


def words(folder: Path, name: str) -> None:
    (folder / name).write_bytes((folder / "words.csv").read_bytes())


def logs(folder: Path, name: str) -> None:
    (folder / "logs").mkdir()
    for day in (1, 2):
        rows = "page,status\n" + "/home,200\n" * 400 + "/nowhere,404\n"
        (folder / "logs" / f"{day}.csv.gz").write_bytes(gzip.compress(rows.encode()))


def database(folder: Path, name: str) -> None:
    with duckdb.connect(str(folder / name)) as made:
        made.register("events", events())
        made.execute("CREATE TABLE sales AS SELECT query product, user_id customer FROM events")


def sample(folder: Path, name: str) -> None:
    with duckdb.connect() as made:
        made.execute(f"COPY (SELECT word, n::BIGINT AS n FROM 'words.csv') TO '{name}'")


FILES: dict[str, Callable[[Path, str], None]] = {
    "public.csv": words,
    "logs/*.csv.gz": logs,
    "sales.duckdb": database,
    "sample.parquet": sample,
}


@pytest.fixture
def flights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small package in the place of the one with the data of the demo."""
    data = tmp_path / "packages" / demo.PACKAGE / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").touch()
    with zipfile.ZipFile(data / "flights.csv.zip", "w") as archive:
        rows = "".join(f"N{n},ATL\n" for n in range(2000))
        archive.writestr("flights.csv", f"tailnum,dest\n{rows}")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))


def marked() -> list[Any]:
    """Simulations of faults and of rounds take longer."""
    slow = ("--kills", "simulate --kind")
    return [
        pytest.param(line, marks=pytest.mark.slow if any(word in line for word in slow) else ())
        for line in sorted(set(examples()))
    ]


@pytest.mark.usefixtures("flights")
@pytest.mark.parametrize("example", marked())
def test_every_example_runs_as_it_stands(shell: Shell, folder: Path, example: str) -> None:
    for name, make in FILES.items():
        if name in example:
            make(folder, name)
    for name, line in MADE.items():
        written = ("budget create", f"-o {name}", f"--certificate {name}")
        if name in example and not any(word in example for word in written):
            assert shell(line).code == 0, line
    if "collect serve" in example:  # it runs until it is stopped: tests/cli/test_collect.py
        return
    if "--budget devices" in example:
        made = "tamis budget create devices --epsilon 5 --delta 1e-5 --unit client"
        assert shell(made).code == 0
    if "QUERY" in example:  # as it was printed when it was created
        window = "1s" if "release" in example else "1h"
        query = shell(CREATE.format(window)).text.strip()
        example = example.replace("QUERY", query)
        time.sleep(1.1 if "release" in example and "--wait" not in example else 0)
    if "DIGEST" in example:  # it stands for what others have published
        found = shell("tamis verify release.parquet --json").json["digest"]
        example = example.replace("DIGEST", found)
    ran = shell(example)
    assert ran.code == 0, ran.err
    if "--json" in example:
        assert ran.json is not None


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_examples_are_of_their_command(tamis: Run, command: str) -> None:
    shown = tamis(*command.split(), "--help").text
    assert shown.partition("Examples:\n")[2].startswith(f"  tamis {command}".rstrip())


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_no_line_of_prose_or_examples_is_broken_at_80_columns(
    tamis: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = app
    for name in command.split():
        found = found[name]
    written = f"{found.help}\n{found.help_epilogue}".splitlines()
    shown = tamis(*command.split(), "--help").text.splitlines()
    assert {line.strip() for line in written} <= {line.strip() for line in shown}
