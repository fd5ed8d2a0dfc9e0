"""`tamis kmeans`, and what can be done with its file."""

from __future__ import annotations

import builtins
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import tamis as library
from tests.cli.conftest import Ran, Run, Shell, points

PAGE = Path(__file__).parents[2] / "docs" / "kmeans.md"
XYZ = ("--columns", "x,y,z")
KMEANS = ("kmeans", "points.parquet", *XYZ, "-k", "3", "--epsilon", "2")
BALL = (*KMEANS, "--radius", "10")
SECRET = 98765.4321


@pytest.fixture
def centers(tamis: Run) -> str:
    made = tamis(*BALL, "-o", "centers.parquet")
    assert made.code == 0, made.err
    return "centers.parquet"


def test_a_file_is_written_and_says_what_is_promised(tamis: Run, folder: Path) -> None:
    ran = tamis(*BALL, "-o", "centers.parquet")
    assert (ran.code, ran.out) == (0, b"")
    assert ran.err == (
        "3 clusters; epsilon 2, delta 0 when one row is added or removed\n"
        "written: centers.parquet\n"
    )
    made = library.open("centers.parquet")
    assert made.about.radius == 10
    assert made.about.columns == ("x", "y", "z")
    assert sorted(made.centers.round()[:, 0].tolist()) == [-4, 2, 4]


def test_without_a_file_it_is_shown_and_not_kept(tamis: Run) -> None:
    ran = tamis(*BALL)
    assert ran.code == 0
    head, *rows = ran.text.splitlines()
    assert head.split() == ["cluster", "x", "y", "z", "size"]
    assert len(rows) == 3
    assert all(len(cell) <= 8 for row in rows for cell in row.split())
    assert "nothing is saved" in ran.err


def test_json_has_the_settings_and_the_rows(tamis: Run) -> None:
    said = tamis(*BALL, "--json", "--sampler", "optimal", "--max-iter", "2").json
    assert said["clusters"] == len(said["rows"]) == 3
    assert (said["sampler"], said["max_iter"], said["steps"]) == ("optimal", 2, 2)
    assert said["guarantee"]["epsilon"] == "2.0"
    assert said["file"] is None
    saved = tamis(*BALL, "--json", "-o", "c.parquet").json
    assert saved["file"] == "c.parquet"
    assert "rows" not in saved


def test_other_forms_hold_the_rows_alone(tamis: Run, folder: Path) -> None:
    assert tamis(*BALL, "-o", "c.csv").code == 0
    lines = (folder / "c.csv").read_text().splitlines()
    assert lines[0] == "cluster,x,y,z,size"
    assert len(lines) == 4
    assert len(json.loads(tamis(*BALL, "--format", "json").out)) == 3


def test_bounds_can_be_given_for_all_columns_or_for_each(tamis: Run, folder: Path) -> None:
    assert tamis(*KMEANS, "--bounds", "-5,5", "-o", "a.parquet").code == 0
    assert library.open("a.parquet").about.bounds == ((-5.0, 5.0),) * 3
    each = ("--bound", "x=-5,5", "--bound", "y=-6,6", "--bound", "z=0,7.5")
    assert tamis(*KMEANS, *each, "-o", "b.parquet").code == 0
    assert library.open("b.parquet").about.bounds == ((-5.0, 5.0), (-6.0, 6.0), (0.0, 7.5))


def test_columns_can_be_named_one_by_one_and_with_commas_in_their_names(
    tamis: Run, folder: Path
) -> None:
    odd = points().rename_columns(["a,b", "c=d", "say e", *points().column_names[3:]])
    pq.write_table(odd, folder / "odd.parquet")
    ran = tamis("kmeans", "odd.parquet", "--columns", '"a,b",c=d', "--columns", "say e", "-k", "2",
                "--epsilon", "1", "--bound", "a,b=-5,5", "--bound", "c=d=-5,5", "--bound",
                "say e=-5,5", "-o", "c.parquet")  # fmt: skip
    assert ran.code == 0, ran.err
    assert library.open("c.parquet").about.columns == ("a,b", "c=d", "say e")
    assert tamis("query", "c.parquet", "nearest", "a,b=0", "c=d=1", "say e=-2").code == 0


def test_csv_from_standard_input_is_read(tamis: Run) -> None:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(points(), sink)
    text = sink.getvalue().to_pybytes()
    ran = tamis("kmeans", "-", *KMEANS[2:], "--radius", "10", "-o", "c.parquet", stdin=text)
    assert ran.code == 0, ran.err


def test_a_file_that_exists_is_not_replaced_unless_one_says_so(tamis: Run, centers: str) -> None:
    before = Path(centers).read_bytes()
    ran = tamis(*BALL, "-o", centers)
    assert (ran.code, Path(centers).read_bytes()) == (2, before)
    assert "exists already" in ran.err
    assert tamis(*BALL, "-o", centers, "--force").code == 0
    assert Path(centers).read_bytes() != before
    ran = tamis(*BALL, "-o", "points.parquet", "--force")
    assert (ran.code, "is read and cannot be written too" in ran.err) == (2, True)


# --- what can be done with it ---------------------------------------------------------------------


def test_the_file_can_be_asked(tamis: Run, centers: str) -> None:
    made = library.open(centers)
    assert tamis("query", centers, "top", "2", "--json").json["rows"] == made.top(2).to_pylist()
    rows = tamis("query", centers, "rows", "--where", "x > 0 AND size > 100", "--json").json["rows"]
    assert rows == made.rows("x > 0 AND size > 100").to_pylist()
    assert 0 < len(rows) < 3
    near = tamis("query", centers, "nearest", "z=3", "x=-4", "y=1", "--json").json["rows"]
    assert near == made.nearest([-4, 1, 3]).to_pylist()
    total = tamis("query", centers, "SELECT sum(size) AS n FROM release", "--json").json["rows"]
    assert total[0]["n"] == pytest.approx(made.sizes.sum())
    shown = tamis("query", centers, "rows").text.splitlines()
    assert len(shown) == 4
    assert all(len(cell) <= 8 for line in shown for cell in line.split())
    csv = tamis("query", centers, "rows", "--format", "csv").text.splitlines()[1].split(",")
    assert float(csv[1]) == made.centers[0, 0]


ASKED = {
    "sum": "sum is a question to a release, and this is a release of clusters; ask top, rows, ",
    "point x=1": "point is a question to a summary, and this is a release of clusters",
    "nearest x=1": "nearest takes a number for each column: x=... y=... z=...",
    "nearest x=1 y=2 z=a": "nearest takes finite numbers",
    "nearest x=1 y=2 z=nan": "nearest takes finite numbers",
    "nearest x=1 x=1 y=2 z=3": "nearest takes a number for each column",
    "nearest x=1 y=2 z=3 --where size>1": "leave out --where",
    "top many": "top takes a whole number",
    "rows --where nothing=1": "has no column 'nothing'; its columns are: cluster, x, y, z, size",
}


@pytest.mark.parametrize("words", ASKED)
def test_what_it_cannot_be_asked_is_said(tamis: Run, centers: str, words: str) -> None:
    ran = tamis("query", centers, *words.split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert ASKED[words] in ran.err


def test_a_release_says_whose_question_nearest_is(tamis: Run, release: str) -> None:
    ran = tamis("query", release, "nearest", "x=1")
    assert "nearest is a question to a release of clusters, and this is a release" in ran.err


def test_a_page_and_an_entry_for_the_registry_are_written(tamis: Run, centers: str) -> None:
    ran = tamis("report", centers, "--registry", "entry.yaml")
    assert ran.code == 0, ran.err
    page = Path("centers.html").read_text()
    assert "Private release of clusters in x, y, z" in page
    assert 'class="disc"' in page
    assert "Private clusters in x, y, z" in Path("entry.yaml").read_text()


def test_it_is_verified_and_a_changed_file_is_refused(tamis: Run, centers: str) -> None:
    ran = tamis("verify", centers)
    assert (ran.code, ran.err) == (0, "")
    assert ran.text.startswith("verified: epsilon 2.0 when one unit ('row') is added or removed")
    assert f"digest: {library.open(centers).digest}" in ran.text
    table = pq.read_table(centers)
    moved = pa.array(np.asarray(table["x"]) + 0.01)
    changed = table.set_column(1, "x", moved)
    said = pq.read_metadata(centers).metadata[b"tamis"]
    pq.write_table(changed.replace_schema_metadata({b"tamis": said}), centers)
    ran = tamis("verify", centers)
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err == "tamis: refused: the rows do not fit the digest: the file was changed.\n"
    for words in (("query", centers, "rows"), ("report", centers, "-o", "r.html")):
        assert tamis(*words).code == 4


def test_every_line_of_the_page_runs(shell: Shell, folder: Path) -> None:
    visitors = pa.table({"age": np.arange(900) % 90, "minutes": np.arange(900) % 110})
    pq.write_table(visitors, folder / "visitors.parquet")
    (lines,) = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for line in lines.splitlines():
        ran = shell(line.removeprefix("$ "))
        assert ran.code == 0, f"{line}\n{ran.err}"


# --- budgets --------------------------------------------------------------------------------------


def budget(shell: Shell, epsilon: float = 5, unit: str = "row") -> None:
    made = f'tamis budget create points --epsilon {epsilon} --delta 1e-9 --unit "{unit}"'
    assert shell(made).code == 0


def spent(tamis: Run) -> int:
    return len(tamis("budget", "history", "points", "--json").json)


def test_a_budget_is_charged_and_refuses_with_3(tamis: Run, shell: Shell) -> None:
    budget(shell)
    charged = (*BALL, "--budget", "points", "--purpose", "segments")
    ran = tamis(*charged, "-o", "a.parquet")
    assert ran.code == 0, ran.err
    assert "charged to budget 'points' as entry 1" in ran.err
    assert tamis(*charged, "-o", "b.parquet").code == 0
    ran = tamis(*charged, "-o", "c.parquet")
    assert (ran.code, Path("c.parquet").exists()) == (3, False)
    assert "nothing was charged" in ran.err
    assert spent(tamis) == 2
    assert library.open("b.parquet").about.entry["entry"] == 2
    ran = tamis(*charged)
    assert (ran.code, "should be kept: give -o FILE" in ran.err) == (2, True)


def test_a_budget_for_people_is_not_one_for_rows(tamis: Run, shell: Shell) -> None:
    budget(shell, unit="user_id")
    ran = tamis(*BALL, "--budget", "points", "-o", "a.parquet")
    assert ran.code == 2
    assert "protecting one does not protect the other" in ran.err


# --- bad input ------------------------------------------------------------------------------------


def spoiled(value: Any) -> pa.Table:
    held = points()["y"].to_pylist()
    held[77] = value
    return points().set_column(1, "y", pa.array(held, pa.float64()))


RADIUS = ("--radius", "10")
BAD: dict[str, tuple[Any, tuple[str, ...], int, str]] = {
    "NaN": (spoiled(float("nan")), RADIUS, 4, "tamis: column 'y' holds what is not a finite"),
    "infinite": (spoiled(float("-inf")), RADIUS, 4, "leave them out with --where 'isfinite(y)'"),
    "NULL": (spoiled(None), RADIUS, 4, "tamis: column 'y' holds what is not a finite number"),
    "zero radius": (None, ("--radius", "0"), 2, "radius must be a number above 0"),
    "negative radius": (None, ("--radius", "-3"), 2, "radius must be a number above 0"),
    "no bounds": (None, (), 2, "tamis: give one of --bounds LOW,HIGH, --bound COLUMN=LOW,HIGH for"),
    "two bounds": (None, (*RADIUS, "--bounds", "0,1"), 2, "give one of --bounds"),
    "half of bounds": (None, ("--bounds", "5"), 2, "--bounds takes LOW,HIGH, as in --bounds 0,10."),
    "bounds of words": (None, ("--bounds", "a,b"), 2, "--bounds takes LOW,HIGH"),
    "bounds upside down": (None, ("--bounds", "5,-5"), 2, "the low ones not above the high ones"),
    "one bound": (None, ("--bound", "x=0,1"), 2, "bounds of the column 'y' are missing"),
    "a bound twice": (None, ("--bound", "x=0,1", "--bound", "x=0,1"), 2, "given twice for the"),
    "more clusters than rows": (
        points().slice(0, 2), RADIUS, 2, "tamis: --n-clusters = 3 is more than there are rows",
    ),
    "unknown column": (
        points().drop_columns(["y"]), RADIUS, 2, "data has no column 'y'; its columns are: x, z, ",
    ),
    "too little epsilon": (None, (*RADIUS, "--epsilon", "0"), 2, "epsilon must be a number above"),
    "weights below 1": (
        None, (*RADIUS, "--sampler", "uniform", "--rate", "1.5"), 2, "rate must be a number above 0"
    ),
    "rate without a sampler": (None, (*RADIUS, "--rate", "0.5"), 2, "rate is for a sampler"),
    "unknown sampler": (None, (*RADIUS, "--sampler", "best"), 2, 'Choose from: "full", "optimal"'),
    "half a step": (None, (*RADIUS, "--max-iter", "1.5"), 2, "takes a whole number, or auto"),
    "no step": (None, (*RADIUS, "--max-iter", "0"), 2, "--max-iter must be a whole number from 1"),
    "no file": ("gone.parquet", RADIUS, 4, "there is no file 'gone.parquet'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_nothing_is_spent(
    tamis: Run, shell: Shell, folder: Path, name: str
) -> None:
    data, words, code, said = BAD[name]
    budget(shell)
    if isinstance(data, pa.Table):
        pq.write_table(data, folder / "points.parquet")
    place = data if isinstance(data, str) else "points.parquet"
    asked = () if "--epsilon" in words else ("--epsilon", "1")
    ran = tamis("kmeans", place, *XYZ, "-k", "3", *asked, *words, "--budget", "points",
                "-o", "c.parquet")  # fmt: skip
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, b"", 1), ran.err
    assert said in ran.err
    assert not (folder / "c.parquet").exists()
    assert spent(tamis) == 0


def test_without_scikit_learn_it_says_what_to_install(
    tamis: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError("gone", name="sklearn")
        return imported(name, *rest, **more)

    imported = builtins.__import__
    monkeypatch.delitem(sys.modules, "tamis.importance.kmeans.estimator", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    ran = tamis(*BALL)
    assert (ran.code, ran.out) == (5, b"")
    assert "pip install 'tamis[kmeans]'" in ran.err


# --- nothing that is not released is seen ---------------------------------------------------------


def seen(ran: Ran, folder: Path) -> bytes:
    made = [p for p in folder.rglob("*") if p.is_file() and p.name != "points.parquet"]
    return ran.out + ran.err.encode() + b"".join(path.read_bytes() for path in made)


CANARY_RUNS: dict[str, tuple[str, ...]] = {
    "a file": (*BALL, "-o", "out.parquet"),
    "in bounds": (*KMEANS, "--bounds", "-5,5", "-o", "out.parquet"),
    "a table": (*BALL, "-o", "out.csv"),
    "printed": BALL,
    "a document": (*BALL, "--json"),
    "sampled": (*BALL, "--sampler", "coreset", "--json", "-o", "out.parquet"),
    "a condition that fails": (*BALL, "--where", "error(name) IS NULL"),
    "a cast that fails": (*BALL, "--where", "name::INTEGER > 0"),
    "text for a number": (*KMEANS[:2], "--columns", "name", *KMEANS[4:], "--radius", "10"),
}


@pytest.mark.parametrize("case", CANARY_RUNS)
def test_a_row_with_a_secret_leaves_no_trace(tamis: Run, folder: Path, case: str) -> None:
    names = ["calm"] * 2999 + ["oriole"]
    secret = spoiled(SECRET).set_column(3, "name", pa.array(names))
    pq.write_table(secret, folder / "points.parquet")
    ran = tamis(*CANARY_RUNS[case])
    everything = seen(ran, folder)
    assert b"98765" not in everything
    assert b"98,765" not in everything
    assert np.array([SECRET]).tobytes() not in everything
    assert b"oriole" not in everything
    assert "Traceback" not in ran.err
    if (folder / "out.parquet").exists():
        made = library.open(folder / "out.parquet")
        assert np.abs(made.centers).max() <= 10
        assert tamis("report", "out.parquet").code == 0
        assert b"98765" not in (folder / "out.html").read_bytes()
