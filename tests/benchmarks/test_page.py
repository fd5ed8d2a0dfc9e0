"""The page of results, and what its figures are made of."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from benchmarks import run
from benchmarks.charts import named_keys, ratios, slopes, times
from benchmarks.events import Events
from benchmarks.measure import Cost, alone, grouped, in_turns
from benchmarks.page import Chart, Extent, Section, table, write
from benchmarks.scale import Size, Stage, _duration, _slopes


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


def test_slopes_are_found_and_none_is_negative() -> None:
    sizes = [Size(n, k) for n, k in ((5, 5), (10, 5), (20, 5), (10, 1), (10, 20))]
    stages = [Stage("rows", "x", size, 0.0, 0.0) for size in sizes]
    exact = [3 + 2 * size.rows + 7 * size.keys for size in sizes]
    assert _slopes(stages, exact) == pytest.approx((2.0, 7.0))
    falling = [100.0 - 2 * size.rows for size in sizes]
    assert min(_slopes(stages, falling)) >= 0
    assert [_duration(n) for n in (59.6, 600, 9000)] == ["60 s", "10 min", "2.5 h"]


def test_a_page_has_its_tables_and_its_charts(tmp_path: Path) -> None:
    points: list[dict[str, object]] = [
        {"rows": 10**6, "keys": "text", "Zipf": 1.2, "of": level, "ratio": 1.5, "seconds": 2.0,
         "stage": "draw", "data": "log", "keys per unit": 4, "library": "a", "family": "a"}
        for level in ("rows", "units")
    ]  # fmt: skip
    drawn = {"ratios": ratios, "keys": named_keys, "times": times, "slopes": slopes}
    charts = tuple(Chart(name, f"shows {name}", draw(points)) for name, draw in drawn.items())
    section = Section("Some", table(("a", "b"), [(1, "**2**")]), charts)
    write(tmp_path / "page.md", "# Results", [section])
    text = (tmp_path / "page.md").read_text()
    assert "| a | b |\n| --- | --- |\n| 1 | **2** |" in text
    for name in drawn:
        assert f"![shows {name}](charts/{name}.svg)" in text
        assert "<svg" in (tmp_path / "charts" / f"{name}.svg").read_text()


def test_a_part_that_fails_is_told_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(extent: Extent) -> Section:
        raise ValueError("no")

    parts = {"bad": broken, "good": lambda extent: Section("Good", str(extent.pick("q", "f")))}
    monkeypatch.setattr(run, "PARTS", parts)
    page = tmp_path / "page.md"
    monkeypatch.setattr("sys.argv", ["run", "--quick", "--output", str(page)])
    assert run.main() == 1
    text = page.read_text()
    assert "This part failed (ValueError)" in text
    assert "## Good\n\nq" in text
    assert "make bench-quick" in text
    assert "ValueError: no" in capsys.readouterr().err


def test_the_page_that_is_shipped_has_every_part() -> None:
    text = run.PAGE.read_text(encoding="utf-8")
    assert "failed" not in text
    for title in ("The main job", "Beside other libraries", "Sanitising", "Building a mechanism",
                  "Summaries", "Importance sampling and k-means", "Spark", "Scale", "Clients",
                  "Collector"):  # fmt: skip
        assert f"\n## {title}\n" in text
    for chart in ("release", "peers-keys", "peers-time", "scale"):
        assert (run.PAGE.parent / "charts" / f"{chart}.svg").exists()
