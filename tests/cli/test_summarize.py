"""`tamis summarize`: what goes where, and what is refused before anything is drawn or spent."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis as library
from tamis.sparse.recipe import METHODS
from tests.cli.conftest import SUMMARIZE, Run

SIZE = ("--size", "1000")
PLAN = ("summarize", "--plan", "--domain")


def test_a_summary_is_written_and_told_of(tamis: Run, folder: Path) -> None:
    ran = tamis(*SUMMARIZE, *SIZE, "-o", "summary.parquet")
    assert (ran.code, ran.out) == (0, b"")
    many = len(library.open("summary.parquet"))
    promised, written, noise = ran.err.splitlines()
    assert promised == (
        f"{many} cells in the summary; epsilon 1, delta 0 when one element is added or removed"
    )
    assert written == "written: summary.parquet"
    assert "cells are noise alone, or fewer" in noise
    opened = library.open("summary.parquet")
    assert isinstance(opened, library.Summary)
    assert opened.point(home=17, work=3999).estimate == pytest.approx(900, abs=40)
    assert opened.point(home=4, work=2).estimate == pytest.approx(600, abs=40)


def test_a_size_can_be_chosen_and_noise_is_told_of(tamis: Run, folder: Path) -> None:
    document = tamis(*SUMMARIZE, "--size-share", "0.25", "--json", "-o", "s.parquet").json
    assert [part["epsilon"] for part in document["spent"]] == ["0.75", "0.25"]
    assert document["size"] == 100
    ran = tamis(*SUMMARIZE, *SIZE, "--method", "priority", "-o", "many.parquet")
    assert "of the 1,000 cells are noise alone, or fewer: a smaller --size" in ran.err
    ran = tamis(*SUMMARIZE, "--size", "4", "--theta", "40", "-o", "few.parquet")
    assert "noise alone" not in ran.err


def test_every_option_reaches_the_summary(tamis: Run, folder: Path) -> None:
    ran = tamis(*SUMMARIZE, *SIZE, "--unit", "person", "--keys-per-unit", "2",
                "--elements-per-key", "3", "--neighbours", "replace", "--where", "home = 17",
                "--method", "one-sided-filter", "--theta", "700", "--coverage", "0.9",
                "--memory", "1GB", "--threads", "1", "--show", "-o", "s.parquet")  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.err.startswith(
        "1 cell in the summary; epsilon 1, delta 0 when one person with at most 2 cells and 3 "
        "elements in each is replaced by another\n"
    )
    assert ran.text.split()[:4] == ["home", "work", "value", "weight"]
    about = library.open("s.parquet").about
    recipe, g = about.recipe, about.guarantee
    assert (recipe.method, recipe.theta, recipe.change) == ("one-sided filter", 700, 12)
    assert (g.keys_per_unit, g.elements_per_key, g.unit) == (2, 3, "person")
    assert (about.coverage, about.filtered, about.counted) == (0.9, True, "rows")


@pytest.mark.parametrize("method", [m for m in METHODS if m != "full"])
def test_every_method_can_be_named_with_hyphens(tamis: Run, folder: Path, method: str) -> None:
    words = (*SUMMARIZE, "--method", method.replace(" ", "-"), "--json")
    document = tamis(*words, "--size", "400", "-o", "s.parquet").json
    assert document["method"] == method
    assert document["kept"] == len(library.open("s.parquet"))


def test_the_workload_chooses_the_method(tamis: Run, folder: Path) -> None:
    (folder / "line.toml").write_text("home = 1000000\n")
    words = ("summarize", "trips.parquet", "--domain", "line.toml", "--epsilon", "0.1",
             "--size", "10000", "--json")  # fmt: skip
    assert tamis(*words).json["method"] == "filter-priority"
    assert tamis(*words, "--workload", "range").json["method"] == "haar"


def test_a_document_says_what_the_file_says(tamis: Run, folder: Path) -> None:
    document = tamis(*SUMMARIZE, *SIZE, "-o", "s.parquet", "--json").json
    about = library.open("s.parquet").about.describe()
    told = set(document) - {"kept", "file"}
    assert {name: document[name] for name in told} == {name: about[name] for name in told}
    assert {"guarantee", "spent", "domain", "method", "theta", "taus", "ledger"} <= told
    assert document["file"] == "s.parquet"


def test_without_a_file_the_rows_are_shown_and_it_is_said_that_they_are_lost(tamis: Run) -> None:
    ran = tamis(*SUMMARIZE, *SIZE)
    assert ran.text.split()[:4] == ["home", "work", "value", "weight"]
    assert "nothing is saved" in ran.err
    assert "--plan costs nothing" in ran.err
    document = tamis(*SUMMARIZE, *SIZE, "--json").json
    assert len(document["rows"]) == document["kept"]
    assert set(document["rows"][0]) == {"home", "work", "value", "weight"}


def test_rows_in_csv_and_json(tamis: Run, folder: Path) -> None:
    ran = tamis(*SUMMARIZE, *SIZE, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.text)))
    assert any(row["home"] == "17" and row["work"] == "3999" for row in rows)
    assert "only a Parquet file holds the guarantee" in ran.err
    assert tamis(*SUMMARIZE, *SIZE, "-o", "s.json").code == 0
    assert set(json.loads((folder / "s.json").read_text())[0]) == set(rows[0])
    assert tamis(*SUMMARIZE, *SIZE, "-o", "-").out.startswith(b"PAR1")


def test_counts_from_standard_input(tamis: Run) -> None:
    ran = tamis("summarize", "-", *SUMMARIZE[2:], *SIZE, "--count", "n", "--json",
                stdin=b"home,work,n\n1,2,5000\n")  # fmt: skip
    assert {"home": 1, "work": 2} in [
        {"home": row["home"], "work": row["work"]} for row in ran.json["rows"]
    ]
    assert ran.json["counted"] == "counts"


def test_any_tool_can_add_up_the_weights(tamis: Run, summary: str) -> None:
    weights = pq.read_table(summary)["weight"].to_pylist()
    assert tamis("query", summary, "range", "--json").json["estimate"] == pytest.approx(
        sum(weights)
    )


def test_a_budget_is_charged_once(tamis: Run, folder: Path) -> None:
    tamis("budget", "create", "b", "--epsilon", "2", "--delta", "1e-6")
    ran = tamis(*SUMMARIZE, *SIZE, "--budget", "b", "--purpose", "flows", "-o", "s.parquet")
    assert "charged to budget 'b' as entry 1" in ran.err
    (entry,) = tamis("budget", "history", "b", "--json").json
    assert (entry["epsilon"], entry["delta"], entry["purpose"]) == (1.0, 0.0, "flows")


# --- the plan ------------------------------------------------------------------------------------


def test_the_plan_reads_nothing_and_spends_nothing(tamis: Run, folder: Path) -> None:
    tamis("budget", "create", "b", "--epsilon", "2", "--delta", "1e-6")
    before = sorted(path.name for path in folder.iterdir())
    ran = tamis("summarize", "nowhere.parquet", "--plan", *SUMMARIZE[2:], *SIZE,
                "--budget", "b", "-o", "s.parquet")  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == before
    assert tamis("budget", "history", "b", "--json").json == []


def test_the_plan_says_what_each_method_gives_and_which_is_chosen(tamis: Run) -> None:
    words = (*PLAN, "domain.toml", "--epsilon", "0.1", "--size", "100000")
    text, document = tamis(*words).text, tamis(*words, "--json").json
    assert [row["method"] for row in document["methods"]] == list(METHODS)
    for row in document["methods"]:
        assert f"\n{row['method']} " in text
    first = document["methods"][0]
    assert first["theta"] == first["half_from"] == 59
    assert 40_000 < first["noise_cells"] < 50_000
    assert first["error"]["point"] == pytest.approx(14.1, abs=0.1)
    assert document["chosen"] == document["suggested"] == "filter-priority"
    assert "chosen: --method filter-priority, because" in text
    assert document["cells"] == 4001**2
    haar = next(row for row in document["methods"] if row["method"] == "haar")
    assert haar["error"]["subset"] is None
    assert haar["error"]["range"] > first["error"]["range"]


def test_the_plan_is_what_the_summary_is_made_by(tamis: Run, folder: Path) -> None:
    words = ("--size", "1000", "--unit", "person", "--keys-per-unit", "3")
    planned = tamis(*PLAN, "domain.toml", "--epsilon", "1", *words, "--json").json
    made = tamis(*SUMMARIZE, *words, "-o", "s.parquet", "--json").json
    chosen = next(row for row in planned["methods"] if row["method"] == planned["chosen"])
    assert (made["method"], made["theta"]) == (planned["chosen"], chosen["theta"])
    assert (made["guarantee"], made["change"]) == (planned["guarantee"], planned["change"])


def test_for_ranges_in_one_dimension_a_hierarchy_is_chosen(tamis: Run, folder: Path) -> None:
    (folder / "line.toml").write_text("home = 1000000\n")
    words = (*PLAN, "line.toml", "--epsilon", "0.1", "--size", "10000", "--workload", "range")
    document = tamis(*words, "--json").json
    assert document["chosen"] == "haar"
    assert "with filter" in document["why"]
    assert "dimensions" not in tamis(*words).text


@pytest.mark.parametrize("workload", ["subset", "range"])
def test_in_three_dimensions_it_is_said_that_flat_is_better(
    tamis: Run, folder: Path, workload: str
) -> None:
    (folder / "box.toml").write_text("a = 100\nb = 100\nc = 100\n")
    words = (*PLAN, "box.toml", "--epsilon", "0.1", "--size", "10000", "--workload", workload)
    document = tamis(*words, "--json").json
    assert document["chosen"] == "filter-priority"
    assert "in 3 dimensions" in document["why"]
    assert "flat summaries are better for nearly all ranges" in document["why"]


def test_a_plan_of_2_to_the_100_cells_fits_the_terminal(tamis: Run, folder: Path) -> None:
    (folder / "many.toml").write_text("".join(f"q{n} = 2\n" for n in range(100)))
    words = (*PLAN, "many.toml", "--epsilon", "0.1", "--size", "1000")
    text = tamis(*words).text
    assert "2^100 cells" in text
    assert "not listed: full, dyadic, consistent dyadic, haar" in text
    assert max(map(len, text.splitlines())) <= 80
    assert tamis(*words, "--json").json["cells"] == 2**100


def test_a_method_of_your_own_is_planned_beside_the_one_to_take(tamis: Run) -> None:
    words = (*PLAN, "domain.toml", "--epsilon", "1", "--method", "one-sided-filter")
    document = tamis(*words, *SIZE, "--theta", "30", "--json").json
    own = next(row for row in document["methods"] if row["method"] == "one-sided filter")
    assert (document["chosen"], own["theta"]) == ("one-sided filter", 30)
    assert document["suggested"] == "filter-priority"
    alone = tamis(*words, "--theta", "30", "--json").json  # it needs no size, and others do
    assert [row["method"] for row in alone["methods"]] == ["one-sided filter"]


# --- refused, and nothing drawn, written or charged -----------------------------------------------

DOMAINS: dict[str, tuple[str, str]] = {
    "cardinality 0": ("home = 0", "cardinality must be a whole number, 1 or more, not 0"),
    "negative": ("home = -5", "cardinality must be a whole number, 1 or more, not -5"),
    "fraction": ("home = 1.5", "cardinality must be a whole number"),
    "no attribute": ("", "at least one attribute"),
    "from the data": ('home = "auto"', "must not come from the data"),
    "blanks": ('[home]\nlabels = ["a b", "a  b"]', "differ only in blanks"),
    "Unicode": ('[home]\nlabels = ["\u00e9", "e\u0301"]', "form of Unicode"),
    "twice": ('[home]\nlabels = ["a", "a"]', "is there twice"),
    "swapped": ("[home]\nlow = 5\nhigh = 3", "is above high"),
    "unknown entry": ("[home]\nlabel = [1]", "Did you mean 'labels'?"),
    "not TOML": ("home = ", "is not a TOML file"),
    "a column of the file": ("value = 5", "may not be called 'value'"),
    "not in the data": ("home = 4001\nplace = 3", "data has no column 'place'"),
}

OPTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "epsilon 0": (("--epsilon", "0", *SIZE), "epsilon must be a number above 0"),
    "epsilon infinite": (("--epsilon", "inf", *SIZE), "epsilon must be a number above 0"),
    "epsilon NaN": (("--epsilon", "nan", *SIZE), "epsilon must be a number above 0"),
    "epsilon negative": (("--epsilon", "-1", *SIZE), "epsilon must be a number above 0"),
    "epsilon tiny": (("--epsilon", "1e-20", *SIZE), "give a larger epsilon"),
    "no size": (("--epsilon", "1"), "size is missing"),
    "size 0": (("--epsilon", "1", "--size", "0"), "size must be a whole number from 1 on"),
    "half a size": (("--epsilon", "1", "--size", "1.5"), "--size takes a whole number"),
    "larger than the domain": (
        ("--epsilon", "1", "--size", "16008002"),
        "size must be at most the number of cells, 16,008,001",
    ),
    "unknown method": (("--epsilon", "1", *SIZE, "--method", "best"), "method must be one of"),
    "unknown workload": (("--epsilon", "1", *SIZE, "--workload", "sums"), "--workload"),
    "theta 0": (("--epsilon", "1", *SIZE, "--theta", "0"), "theta must be a whole number"),
    "theta of no filter": (
        ("--epsilon", "1", *SIZE, "--theta", "3", "--method", "priority"),
        "theta is for a filter",
    ),
    "tau NaN": (
        ("--epsilon", "1", *SIZE, "--method", "threshold", "--tau", "nan"),
        "tau must be a number above 0",
    ),
    "a share and a size": (("--epsilon", "1", *SIZE, "--size-share", "0.1"), "in place of a size"),
    "share for nothing": (
        ("--epsilon", "1", *SIZE, "--total-share", "0.1"),
        "--total-share is for method 'threshold'",
    ),
    "a bound without units": (
        ("--epsilon", "1", *SIZE, "--keys-per-unit", "2"),
        "name the column of units with --unit",
    ),
    "units without a bound": (
        ("--epsilon", "1", *SIZE, "--unit", "person"),
        "--keys-per-unit is missing",
    ),
    "coverage": (("--epsilon", "1", *SIZE, "--coverage", "1"), "coverage must lie"),
    "too many nodes": (
        ("--epsilon", "1", "--size", "10", "--method", "haar"),
        "size must be at least",
    ),
}

DATA: dict[str, tuple[bytes, str]] = {
    "outside": (b"home,work,n\n4001,1,5\n", "must be a whole number from 0 to 4000"),
    "missing": (b"home,work,n\n,1,5\n", "must be a whole number from 0 to 4000"),
    "no whole number": (b"home,work,n\n1.5,1,5\n", "must be a whole number from 0 to 4000"),
    "negative count": (b"home,work,n\n1,1,-5\n", "n holds values below 1"),
    "fractional count": (b"home,work,n\n1,1,0.5\n1,1,1.5\n", "n holds "),
    "no count": (b"home,work,n\n1,1,\n", "n holds what is not a number"),
    "text as count": (b"home,work,n\n1,1,many\n", "n holds what is not a number"),
    "too many": (b"home,work,n\n1,1,4611686018427387903\n2,2,4611686018427387903\n", "2^62"),
}


def refused(tamis: Run, folder: Path, code: int, sentence: str, *words: str, **more: bytes) -> None:
    """One sentence, no row, no file, and nothing in the history of the budget."""
    created = tamis("budget", "create", "b", "--epsilon", "9", "--delta", "1e-6")
    assert created.code == 0, created.err
    ran = tamis("summarize", *words, "--budget", "b", "-o", "out.parquet", **more)
    assert (ran.code, ran.out) == (code, b""), ran.err
    assert sentence in ran.err
    assert ran.err.startswith("tamis: ")
    assert ran.err.count("\n") == 1
    assert not (folder / "out.parquet").exists()
    assert tamis("budget", "history", "b", "--json").json == []


@pytest.mark.parametrize("case", DOMAINS)
def test_domains_that_cannot_be_are_refused(tamis: Run, folder: Path, case: str) -> None:
    text, sentence = DOMAINS[case]
    (folder / "odd.toml").write_text(text, encoding="utf-8")
    words = ("trips.parquet", "--domain", "odd.toml", "--epsilon", "1", "--size", "1")
    refused(tamis, folder, 2, sentence, *words)


@pytest.mark.parametrize("case", OPTIONS)
def test_options_that_cannot_be_are_refused_by_a_plan_too(
    tamis: Run, folder: Path, case: str
) -> None:
    words, sentence = OPTIONS[case]
    refused(tamis, folder, 2, sentence, "trips.parquet", "--domain", "domain.toml", *words)
    planned = tamis(*PLAN, "domain.toml", *words)
    assert (planned.code, planned.out, planned.err.count("\n")) == (2, b"", 1)
    assert sentence in planned.err


@pytest.mark.parametrize("case", DATA)
def test_data_that_cannot_be_is_refused(tamis: Run, folder: Path, case: str) -> None:
    text, sentence = DATA[case]
    words = ("-", *SUMMARIZE[2:], *SIZE, "--count", "n")
    refused(tamis, folder, 4, sentence, *words, stdin=text)


@pytest.mark.parametrize("label", ["a ", "e\u0301", "\u00a0a"])
def test_data_that_only_looks_like_a_label_is_refused(tamis: Run, folder: Path, label: str) -> None:
    (folder / "odd.toml").write_text('[place]\nlabels = ["a", "\u00e9"]\nother = "rest"\n', "utf-8")
    pq.write_table(pa.table({"place": ["a", label]}), folder / "odd.parquet")
    words = ("odd.parquet", "--domain", "odd.toml", "--epsilon", "1", "--size", "1")
    refused(tamis, folder, 4, "other blanks or in another form of Unicode", *words)


def test_more_cells_than_the_domain_has_are_refused(tamis: Run, folder: Path) -> None:
    (folder / "small.toml").write_text("home = 2\nwork = 2\n")
    rows = "".join(f"{n},{n}\n" for n in range(5)).encode()
    words = ("-", "--domain", "small.toml", "--epsilon", "1", "--size", "4")
    refused(tamis, folder, 4, "from 0 to 1", *words, stdin=b"home,work\n" + rows)


def test_files_that_cannot_be_are_refused(tamis: Run, folder: Path) -> None:
    law = ("--epsilon", "1", *SIZE)
    before = (folder / "domain.toml").read_bytes()
    for words, code in (
        (("nowhere.parquet", "--domain", "domain.toml", *law), 4),
        (("trips.parquet", "--domain", "nowhere.toml", *law), 2),
        (("trips.parquet", "--domain", ".", *law), 2),
        (("--domain", "domain.toml", *law), 2),
        (("trips.parquet", "--domain", "domain.toml", *law, "-o", "domain.toml", "--force"), 2),
        (("trips.parquet", "--domain", "domain.toml", *law, "--budget", "b"), 2),
        (("trips.parquet", "--epsilon", "1"), 2),
    ):
        ran = tamis("summarize", *words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (code, b"", 1), words
    assert (folder / "domain.toml").read_bytes() == before


def test_a_budget_that_is_too_small_refuses(tamis: Run, folder: Path) -> None:
    tamis("budget", "create", "b", "--epsilon", "0.5", "--delta", "1e-6")
    ran = tamis(*SUMMARIZE, *SIZE, "--budget", "b", "-o", "out.parquet")
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, b"", 1)
    assert not (folder / "out.parquet").exists()
    assert tamis("budget", "history", "b", "--json").json == []


def test_no_value_of_the_data_is_in_an_error(tamis: Run, folder: Path) -> None:
    ran = tamis("summarize", "-", *SUMMARIZE[2:], *SIZE, stdin=b"home,work\ncanary,2\n")
    assert ran.code == 4
    assert "canary" not in ran.err
