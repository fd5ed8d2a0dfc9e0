"""The page of results, and what its figures are made of."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from benchmarks import release
from benchmarks.charts import _best, named_keys, ratios, slopes, times
from benchmarks.events import Events
from benchmarks.measure import Cost, alone, grouped, in_turns, watched
from benchmarks.page import Chart, Page, Section, charts_of, read, rendered, table, write

ROOT = Path(__file__).parents[2]


def test_a_ratio_is_the_median_of_the_ratios_of_turns() -> None:
    plain, ours = (iter([Cost(t, m) for t, m in pairs]) for pairs in (
        [(1.0, 10.0), (2.0, 10.0), (10.0, 10.0)],
        [(3.0, 20.0), (4.0, 30.0), (40.0, 20.0)],
    ))  # fmt: skip
    (found,) = in_turns(lambda: next(plain), [lambda: next(ours)], 3)
    assert found.ratio == 3.0
    assert (found.plain_seconds, found.seconds) == (2.0, 4.0)
    assert (found.memory, found.megabytes) == (2.0, 20.0)


def test_the_plain_query_is_timed_in_a_process_of_its_own(tmp_path: Path) -> None:
    path, out = str(tmp_path / "events.parquet"), str(tmp_path / "out.parquet")
    assert Events(20_000, 1.2, text=True).write(path) > 100
    cost = grouped(path, "key", out)()
    assert 0 < cost.seconds < 60
    assert cost.megabytes > 10
    assert duckdb.execute(f"SELECT sum(n) FROM '{out}'").fetchall() == [(20_000,)]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        alone("1 / 0", "duckdb")


@pytest.mark.parametrize("zipf", [0.8, 1.2, 2.0])
def test_keys_have_the_power_law_that_is_asked_for(tmp_path: Path, zipf: float) -> None:
    path = str(tmp_path / "events.parquet")
    Events(400_000, zipf, text=False).write(path)
    query = "SELECT count(*) FILTER (key = 4), count(*) FILTER (key = 32) FROM '{}'"
    four, many = duckdb.execute(query.format(path)).fetchall()[0]
    # a step of rank is an interval of a continuous law
    power = 1 - zipf
    ideal = (5**power - 4**power) / (33**power - 32**power)
    assert four / many == pytest.approx(ideal, rel=6 * (1 / four + 1 / many) ** 0.5)


def test_a_section_has_its_tables_and_its_charts(tmp_path: Path) -> None:
    points: list[dict[str, object]] = [
        {"rows": 10**6, "keys": 9, "Zipf": 1.2, "of": level, "ratio": 1.5, "seconds": 2.0,
         "predicted": 1.5, "setting": "fitted", "stage": "draw", "data": "log", "keys per unit": 4,
         "library": "tamis", "family": "tamis"}
        for level in ("rows", "units")
    ]  # fmt: skip
    drawn = {"ratios": ratios, "keys": named_keys, "times": times, "slopes": slopes}
    charts = tuple(Chart(name, f"shows {name}", draw(points)) for name, draw in drawn.items())
    section = Section("Some", table(("a", "b"), [(1, "**2**")]), charts)
    text = rendered(section, "Measured.", tmp_path / "results.md")
    assert text.startswith(
        "Measured.\n\n| a | b |\n| --- | --- |\n| 1 | **2** |\n\n![shows ratios]"
    )
    for name in drawn:
        assert f"![shows {name}](charts/{name}.svg)" in text
        assert "<svg" in (tmp_path / "charts" / f"{name}.svg").read_text()


def test_charts_of_two_pages_in_a_folder_are_apart(tmp_path: Path) -> None:
    pages = ("results.md", "results-quick.md", "other.md")
    folders = ["charts", "charts-quick", "other-charts"]
    assert [charts_of(tmp_path / page).name for page in pages] == folders


def test_names_only_are_hollow_and_that_is_told(tmp_path: Path) -> None:
    shared: dict[str, object] = {"data": "log", "keys per unit": 4, "keys": 9, "ratio": 1.5}
    points = [
        {**shared, "library": f"{name}, Laplace", "family": name}
        for name in ("tamis", "OpenDP", "PyDP")
    ]
    for draw in (named_keys, times):
        draw(points).save(str(tmp_path / "some.svg"))
        text = (tmp_path / "some.svg").read_text()
        assert "hollow: names only" in text
        assert text.count('fill-opacity="0"') == 1


def test_keys_are_a_part_of_those_that_ours_names_at_its_best() -> None:
    asked: dict[str, object] = {"data": "log", "keys per unit": 4}
    many = [("tamis", 8), ("tamis", 10), ("OpenDP", 5)]
    found = _best([{**asked, "family": name, "keys": keys} for name, keys in many])
    assert [(one["family"], one["share"]) for one in found] == [("tamis", 1.0), ("OpenDP", 0.5)]


def test_what_sections_come_to_stands_at_the_top_and_is_never_old(tmp_path: Path) -> None:
    path = tmp_path / "results.md"
    fast, plain = Section("Fast", "a table", short="1.2 times."), Section("Plain", "another")
    texts = {one.title: rendered(one, "Measured.", path) for one in (fast, plain)}
    write(path, Page("# Results", texts))
    top = "# Results\n\nIn short:\n\n- **Fast**: 1.2 times.\n\n## Fast\n\nMeasured.\n\n"
    assert path.read_text().startswith(top)
    slow = rendered(Section("Fast", "a table", short="2.1 times."), "Measured.", path)
    write(path, read(path, "").replaced("Fast", slow))
    assert path.read_text() == (
        "# Results\n\nIn short:\n\n- **Fast**: 2.1 times.\n\n"
        "## Fast\n\nMeasured.\n\n<!-- In short: 2.1 times. -->\n\na table\n\n"
        "## Plain\n\nMeasured.\n\nanother\n"
    )


def test_the_figures_of_the_readme_are_those_of_the_page() -> None:
    page, readme = ((ROOT / name).read_text() for name in ("benchmarks/results.md", "README.md"))
    short = page.split("In short:")[1].split("\n## ")[0]
    (told,) = (part for part in readme.split("\n\n") if "as long as the plain GROUP BY" in part)
    figures = re.findall(r"\d+\.\d+", told)
    assert len(figures) == 9
    assert [figure for figure in figures if f" {figure} " not in short] == []


def test_details_are_on_a_page_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "results.md"
    text = rendered(Section("Some", "text", details="| a |"), "Measured.", path)
    assert text.endswith("text\n\nAll figures are in [tables of their own](results-details.md).")
    assert (tmp_path / "results-details.md").read_text() == "# Some\n\nMeasured.\n\n| a |\n"


def test_the_memory_of_what_a_call_has_started_is_watched() -> None:
    code = "import time; held = bytearray(60_000_000); time.sleep(0.4)"
    before = watched(lambda: time.sleep(0.2)).megabytes  # of what other tests have started
    cost = watched(lambda: subprocess.run([sys.executable, "-c", code], check=True))
    assert 55 < cost.megabytes - before < 200
    assert cost.seconds > 0.4


def test_the_main_job_comes_to_the_least_and_the_most() -> None:
    points = [
        {"of": "rows", "ratio": ratio, "memory": 2.0, "distinct": None} for ratio in (1.26, 1.04)
    ] + [{"of": "units", "ratio": 4.0, "memory": 7.0, "distinct": 1.5}]
    said = release._short(points)
    assert "rows takes 1.0 to 1.3 times the plain GROUP BY" in said
    assert "Units take 4.0 to 4.0 times, with 7.0 to 7.0 times the memory" in said
    assert "1.5 to 1.5 times the time" in said
