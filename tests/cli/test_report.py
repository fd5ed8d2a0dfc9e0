"""`tamis report`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_a_page_is_written_next_to_the_release(tamis: Run, release: str, folder: Path) -> None:
    ran = tamis("report", release)
    assert (ran.code, ran.out) == (0, b""), ran.err
    assert (folder / "release.html").read_text().lower().startswith("<!doctype html>")
    assert (tamis("report", release).code, tamis("report", release, "--force").code) == (2, 0)


def test_page_and_registry_go_where_they_are_told(tamis: Run, release: str, folder: Path) -> None:
    ran = tamis("report", release, "-o", "page.html", "--registry", "entry.yaml", "--json")
    assert ran.json == {"report": "page.html", "registry": "entry.yaml"}
    assert "epsilon" in (folder / "entry.yaml").read_text()
    assert tamis("report", release, "-o", "-").text.lower().startswith("<!doctype html>")


def test_what_cannot_be_is_refused(tamis: Run, release: str) -> None:
    assert tamis("report", release, "-o", "x", "--registry", "x").code == 2
    assert tamis("report", release, "-o", "-", "--json").code == 2
    assert tamis("report", release, "-o", "no/where.html").code == 2
    assert tamis("report", release, "-o", release, "--force").code == 2
    assert tamis("report", "nowhere.parquet", "-o", "page.html").code == 4
