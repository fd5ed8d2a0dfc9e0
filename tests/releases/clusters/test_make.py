"""`tamis.kmeans`: from any table to clusters, with nothing spent on what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.privacy import randomness
from tamis.privacy.ledger import open_ledger
from tamis.releases.report.page import page
from tests.releases.clusters.making import CENTRES, COLUMNS, points
from tests.releases.test_progress import at_a_terminal
from tests.sources import Forbidden, Stream

ASKED: dict[str, Any] = {"columns": COLUMNS, "n_clusters": 3, "epsilon": 5.0}
BOX = ASKED | {"bounds": (-1, 1)}


def parquet(folder: Path) -> Any:
    pq.write_table(points().append_column("name", pa.array(["?"] * 3000)), folder / "p.parquet")
    return folder / "p.parquet"


def several(folder: Path) -> Any:
    for n in range(3):
        pq.write_table(points().slice(1000 * n, 1000), folder / f"p{n}.parquet")
    return str(folder / "p?.parquet")


def csv(folder: Path) -> Any:
    pyarrow.csv.write_csv(points(), folder / "p.csv")
    return str(folder / "p.csv")


def relation(folder: Path) -> Any:
    return duckdb.connect().from_arrow(points())


SOURCES: dict[str, Callable[[Path], Any]] = {
    "a Parquet file": parquet,
    "several files": several,
    "a CSV file": csv,
    "an Arrow table": lambda _: points(),
    "a pandas frame": lambda _: points().to_pandas(),
    "a polars frame": lambda _: __import__("polars").from_arrow(points()),
    "a DuckDB relation": relation,
}


@pytest.mark.parametrize("name", SOURCES)
def test_clusters_are_found_in_any_table(name: str, tmp_path: Path) -> None:
    found = tamis.kmeans(SOURCES[name](tmp_path), **BOX)
    away = np.abs(found.centers[:, None] - CENTRES).max(axis=2).min(axis=0)
    assert away.max() < 0.1
    assert found.sizes == pytest.approx(1000, abs=100)
    assert found.guarantee == tamis.Guarantee(5.0, 0.0, unit="row")
    assert found.verify().startswith("epsilon 5.0 when one unit ('row') is added or removed")


def test_numbers_of_all_types_are_taken(tmp_path: Path) -> None:
    whole = np.arange(2000) % 2
    table = pa.table(
        {
            "a": pa.array(whole, pa.uint8()),
            "b": pa.array(whole, pa.float32()),
            "c": pa.array(whole, pa.int64()).cast(pa.decimal128(25, 2)),
            "d": pa.array(whole == 1),
            "e": pa.array(whole.astype(str)),
        }
    )
    found = tamis.kmeans(table, columns=list("abcde"), n_clusters=2, epsilon=20.0, bounds=(0, 1))
    assert np.sort(found.centers, axis=0) == pytest.approx(np.array([[0] * 5, [1] * 5]), abs=0.1)


def test_one_column_is_named_as_it_is_and_only_rows_with_a_condition_count() -> None:
    found = tamis.kmeans(
        points(), columns="x", n_clusters=1, epsilon=20.0, bounds=(-1, 1), where="x > 0.38"
    )
    assert found.centers == pytest.approx(0.5, abs=0.05)
    assert found.about.filtered
    assert found.sizes == pytest.approx(1000, abs=30)


@pytest.mark.parametrize("sampler", ["full", "optimal"])
def test_the_order_of_rows_leaves_no_trace(sampler: Any) -> None:
    shuffled = points().take(pa.array(np.random.default_rng(5).permutation(3000)))

    def under_the_same_words(table: pa.Table) -> bytes:
        with randomness.using(Stream(9)):
            return tamis.kmeans(table, **BOX, sampler=sampler).to_bytes()

    if sampler == "full":
        assert under_the_same_words(points()) == under_the_same_words(shuffled)
    assert under_the_same_words(points()) == under_the_same_words(points())


def test_bounds_may_be_given_in_several_ways() -> None:
    same = (
        {"x": (-1, 1), "y": (-2, 2), "z": [0, 1]},
        {"z": (0, 1), "y": (-2, 2), "x": (-1, 1)},
        ([-1, -2, 0], [1, 2, 1]),
    )
    for bounds in same:
        found = tamis.kmeans(points(), **ASKED, bounds=bounds)
        assert found.about.bounds == ((-1.0, 1.0), (-2.0, 2.0), (0.0, 1.0))
        assert found.centers[:, 2].min() >= 0


def test_a_radius_is_the_other_way() -> None:
    found = tamis.kmeans(points(), **ASKED, radius=3)
    assert (found.about.bounds, found.about.radius) == (None, 3.0)
    away = np.abs(found.centers[:, None] - CENTRES).max(axis=2).min(axis=0)
    assert away.max() < 0.15


# --- budgets --------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    with open_ledger(tmp_path / "ledger.sqlite") as made:
        made.create("b", 8.0, 1e-9, "row")
    return tmp_path / "ledger.sqlite"


def entries(ledger: Path) -> int:
    with open_ledger(ledger) as opened:
        return len(opened.history("b"))


def test_a_budget_is_charged_once_and_named_in_the_file(ledger: Path) -> None:
    found = tamis.kmeans(points(), **BOX, budget="b", ledger=ledger, purpose="segments")
    assert found.about.entry is not None
    assert (found.about.entry["budget"], found.about.entry["entry"]) == ("b", 1)
    assert entries(ledger) == 1
    with pytest.raises(tamis.BudgetRefused, match="nothing was charged"):
        tamis.kmeans("there is no such file", **BOX, budget="b", ledger=ledger)
    assert entries(ledger) == 1


def with_value(value: Any) -> pa.Table:
    """One number of all is another."""
    held = points()["y"].to_pylist()
    held[1234] = value
    return points().set_column(1, "y", pa.array(held, pa.float64()))


FINITE = "column 'y' holds what is not a finite number in some rows .* where='isfinite"
REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "NaN": (with_value(float("nan")), {}, FINITE),
    "infinity": (with_value(float("inf")), {}, FINITE),
    "minus infinity": (with_value(float("-inf")), {}, FINITE),
    "NULL": (with_value(None), {}, FINITE),
    "text": (pa.table({n: ["1", "a"] for n in COLUMNS}), {}, "TRY_CAST"),
    "a missing whole number": (
        pa.table({n: pa.array([None, 1]) for n in COLUMNS}), {}, "where='x IS NOT NULL'",
    ),
    "dates": (points(), {"columns": "d"}, "has no column 'd'; its columns are: x, y, z"),
    "lists": (pa.table({"x": [[1]]}), {"columns": "x"}, "'x' is of type LIST, and must hold num"),
    "no column": (points(), {"columns": []}, "columns must name one column of numbers or more"),
    "a column twice": (points(), {"columns": ["x", "X"]}, "columns must be different"),
    "a column called size": (points(), {"columns": ["x", "Size"]}, "may not be called 'Size'"),
    "more clusters than rows": (points(2), {}, "n_clusters = 3 is more than there are rows"),
    "no row": (points(0), {"n_clusters": 1}, "or there are fewer than two"),
    "no row with a condition": (points(), {"where": "x > 5"}, "is more than there are rows"),
    "no cluster": (points(), {"n_clusters": 0}, "n_clusters must be a whole number from 1"),
    "no radius": (points(), {"radius": 0, "bounds": None}, "radius must be a number above 0"),
    "neither": (points(), {"bounds": None}, "give either bounds or a radius, which must be known"),
    "both": (points(), {"radius": 1}, "give either bounds or a radius"),
    "bounds that are none": (points(), {"bounds": 3}, "bounds must be a pair"),
    "bounds upside down": (points(), {"bounds": (1, -1)}, "the low ones not above the high ones"),
    "infinite bounds": (points(), {"bounds": (0, float("inf"))}, "bounds must be finite"),
    "bounds without width": (points(), {"bounds": (1, 1)}, "bounds must leave some width"),
    "bounds of some": (points(), {"bounds": {"x": (0, 1)}}, "bounds of the column 'y' are missing"),
    "bounds of others": (points(), {"bounds": {"xx": (0, 1)}}, "none of the columns. Did you mean"),
    "a bound alone": (points(), {"bounds": dict.fromkeys(COLUMNS, 1)}, "'x' must be a pair"),
    "no epsilon": (points(), {"epsilon": 0.0}, "epsilon must be a number above 0"),
    "a sampler": (points(), {"sampler": "best"}, "sampler must be one of full, optimal"),
    "a rate without one": (points(), {"rate": 0.5}, "rate is for a sampler"),
    "a rate of 0": (points(), {"rate": 0.0, "sampler": "uniform"}, "rate must be a number above 0"),
    "a start": (points(), {"init": "k-means++"}, "init must be 'private' or 'random'"),
    "no step": (points(), {"max_iter": 0}, "max_iter must be a whole number from 1"),
    "a window": (points(), {"where": "rank() OVER () > 1"}, "where may only look at the row"),
    "data of no kind": (np.zeros((9, 3)), {}, "data must be a path, a DuckDB relation or a table"),
    "no file": ("nothing.parquet", {}, "there is no file 'nothing.parquet'"),
    "a bar": (points(), {"progress": "yes"}, "progress must be True, False or None"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said_before_anything_is_drawn_or_charged(name: str, ledger: Path) -> None:
    data, asked, said = REFUSED[name]
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=said):
        tamis.kmeans(data, **(BOX | asked), budget="b", ledger=ledger)
    assert entries(ledger) == 0


def test_a_row_far_out_leaves_no_trace(tmp_path: Path) -> None:
    """Its value is nowhere, and no centre is drawn beyond the bounds."""
    secret = 98765.4321
    for table in (with_value(secret), with_value(-secret)):
        for asked in (BOX, ASKED | {"radius": 3.0}):
            found = tamis.kmeans(table, **asked)
            found.save(tmp_path / "r.parquet")
            seen = (tmp_path / "r.parquet").read_bytes() + np.array([secret]).tobytes()
            assert seen.count(np.array([secret]).tobytes()) == 1
            text = f"{found} {found._repr_html_()} {page(found)} {found.about.describe()}"
            assert not re.search(r"987?65|98,765|9\.876", text)
            assert np.abs(found.centers).max() <= 3
            away = np.abs(found.centers[:, None] - CENTRES).max(axis=2).min(axis=0)
            assert away.max() < 0.15


def test_how_many_rows_there_are_is_not_said_exactly() -> None:
    sums = {float(tamis.kmeans(points(), **(BOX | {"epsilon": 1.0})).sizes.sum()) for _ in range(4)}
    assert len(sums) > 1


def test_progress_is_told_at_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tamis.kmeans(points(), **BOX)
    assert capsys.readouterr().err == ""
    pq.write_table(points(), "points.parquet")
    program = (
        "import tamis\ntamis.kmeans('points.parquet', columns=['x', 'y', 'z'], n_clusters=3, "
        "epsilon=1.0, bounds=(-1, 1))"
    )
    written = at_a_terminal(program)
    seen = re.findall(r"([a-z]+) [━╸╺ ]+ +(\d+)%", written)
    assert {word for word, _ in seen} >= {"reading", "searching"}
    told = [int(percent) for _, percent in seen]
    assert told == sorted(told)
    assert told[-1] == 100
