"""`tamis report`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tamis import open as opened
from tamis.releases.summary.make import summarize
from tamis.sparse.domain import Domain
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


def test_a_summary_has_a_page_too(tamis: Run, folder: Path) -> None:
    trips = pa.table({"home": [17] * 900 + [4] * 40, "work": [3] * 900 + [2] * 40})
    made = summarize(trips, domain=Domain(home=40, work=40), epsilon=1.0, size=100)
    made.save(folder / "trips.parquet")
    ran = tamis("report", "trips.parquet", "--registry", "entry.yaml")
    assert (ran.code, ran.out) == (0, b""), ran.err
    assert "Private summary of home, work" in (folder / "trips.html").read_text()
    assert made.digest in (folder / "trips.html").read_text()
    assert "Pure DP" in (folder / "entry.yaml").read_text()


def test_what_devices_have_reported_has_a_page_too(
    tamis: Run, reports: str, quantiles: str, folder: Path
) -> None:
    for name in (reports, quantiles):
        ran = tamis("report", name, "--registry", f"{name}.yaml")
        assert (ran.code, ran.out) == (0, b""), ran.err
        text = (folder / name).with_suffix(".html").read_text()
        assert opened(name).digest in text
        assert "Those who run the aggregator." in text
        assert "Sample-and-threshold" in (folder / f"{name}.yaml").read_text()
    assert "Private release of answers of devices" in (folder / "reports.html").read_text()
    assert "Private release of quantiles" in (folder / "quantiles.html").read_text()


def test_what_cannot_be_is_refused(tamis: Run, release: str) -> None:
    assert tamis("report", release, "-o", "x", "--registry", "x").code == 2
    assert tamis("report", release, "-o", "-", "--json").code == 2
    assert tamis("report", release, "-o", "no/where.html").code == 2
    assert tamis("report", release, "-o", release, "--force").code == 2
    assert tamis("report", "nowhere.parquet", "-o", "page.html").code == 4
