"""`tamis query`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import PROMISE, SUMMARIZE, Run
from tests.releases.collected import making


def test_the_most_frequent_keys(tamis: Run, counted: str) -> None:
    lines = tamis("query", counted, "top", 12).text.splitlines()
    assert len(lines) == 13
    assert lines[1].split()[0] == "word-1"
    rows = tamis("query", counted, "top", 2, "--json").json["rows"]
    assert [row["word"] for row in rows] == ["word-1", "word-2"]


def test_sums_and_counts_have_intervals(tamis: Run, counted: str) -> None:
    total = tamis("query", counted, "sum", "--where", "word = 'word-1'", "--json").json
    assert total["low"] < total["estimate"] < total["high"]
    assert total["low"] - 60 < 3000 < total["high"] + 60
    assert total["coverage"] == 0.95
    assert "+-" in tamis("query", counted, "count").text


def test_what_is_not_named_is_estimated(tamis: Run, counted: str, release: str) -> None:
    assert abs(tamis("query", counted, "suppressed", "--json").json["estimate"]) < 2000
    assert tamis("query", release, "suppressed").code == 2


def test_places_of_a_key(tamis: Run, counted: str) -> None:
    assert tamis("query", counted, "rank", "word-1").text == "1\n"
    assert tamis("query", counted, "rank", "word-2", "--json").json == {"rank": 2}
    above = tamis("query", counted, "above", "word-3", "--json").json["rows"]
    assert [row["word"] for row in above] == ["word-1", "word-2"]
    below = tamis("query", counted, "below", "word-3", "--limit", 1, "--json").json["rows"]
    assert below[0]["word"] == "word-4"


def test_quantiles(tamis: Run, counted: str) -> None:
    assert tamis("query", counted, "quantile", "1", "--json").json["quantile"] == pytest.approx(
        3000, abs=100
    )


def test_rows_with_a_condition_in_every_form(tamis: Run, counted: str) -> None:
    words = ("query", counted, "rows", "--where", "word LIKE 'word-1%'")
    rows = tamis(*words, "--json").json["rows"]
    assert len(rows) == 11
    assert len(list(csv.DictReader(io.StringIO(tamis(*words, "--format", "csv").text)))) == 11
    assert tamis(*words, "--format", "parquet").out.startswith(b"PAR1")
    assert tamis(*words, "--limit", 3).text.splitlines()[-1] == "... and 8 more"


def test_keys_that_are_numbers_dates_or_begin_with_a_hyphen(tamis: Run) -> None:
    table = b"zip,day,n\n-7,2024-05-01,5000\n1234,2024-05-02,4000\n"
    made = tamis("release", "-", "--key", "zip", "--key", "day", "--count", "n", *PROMISE,
                 "-o", "r.parquet", stdin=table)  # fmt: skip
    assert made.code == 0, made.err
    assert tamis("query", "r.parquet", "rank", "--", "-7", "2024-05-01").text == "1\n"
    assert tamis("query", "r.parquet", "rank", "1234", "2024-05-02").text == "2\n"
    shown = tamis("query", "r.parquet", "rows").text
    assert "1234" in shown
    assert "2024-05-01" in shown
    assert tamis("query", "r.parquet", "rank", "x", "2024-05-02").code == 2
    assert tamis("query", "r.parquet", "rank", "1234").code == 2
    rows = tamis("query", "r.parquet", "rows", "--json").json["rows"]
    assert rows[0]["day"] == "2024-05-01"


def test_keys_that_python_cannot_hold_are_found(tamis: Run, folder: Path) -> None:
    moments = pa.array([1_577_934_245_123_456_789] * 400 + [5] * 300, pa.timestamp("ns"))
    pq.write_table(pa.table({"at": moments}), folder / "moments.parquet")
    made = tamis("release", "moments.parquet", "--key", "at", *PROMISE, "-o", "r.parquet")
    assert made.code == 0, made.err
    asked = ("query", "r.parquet", "rank", "2020-01-02 03:04:05.123456789")
    assert tamis(*asked).text == "1\n"
    assert tamis("query", "r.parquet", "rank", "1970-01-01 00:00:00.000000005").text == "2\n"
    assert tamis("query", "r.parquet", "rank", "soon").code == 2


def test_what_a_question_takes_is_said_in_the_right_number(tamis: Run, counted: str) -> None:
    assert "top takes 1 argument, not 0." in tamis("query", counted, "top").err
    assert "sum takes no argument, not 2." in tamis("query", counted, "sum", "a", "b").err
    assert "a key has 1 part: word." in tamis("query", counted, "rank", "a", "b").err


def test_a_key_that_is_a_hyphen(tamis: Run) -> None:
    tamis("release", "-", "--key", "k", "--count", "n", *PROMISE, "-o", "r.parquet",
          stdin=b"k,n\n-,5000\n")  # fmt: skip
    assert tamis("query", "r.parquet", "rank", "-").text == "1\n"


def test_sql_on_the_table(tamis: Run, counted: str) -> None:
    sql = "SELECT sum(1) AS many, 1.5 AS half, 'NaN'::DOUBLE AS odd FROM release WHERE high > 0"
    rows = tamis("query", counted, sql, "--json").json["rows"]
    assert rows == [{"many": 30, "half": 1.5, "odd": None}]
    assert "many" in tamis("query", counted, sql).text
    assert tamis("query", counted, "from release limit 1", "--json").code == 0
    assert tamis("query", counted, "WITH a AS (SELECT 1 AS x) SELECT x FROM a").code == 0


CLOSED = {
    "a file": "SELECT * FROM 'words.csv'",
    "a reader": "SELECT * FROM read_csv('words.csv')",
    "text of a file": "SELECT * FROM read_text('words.csv')",
    "two": "SELECT 1; SELECT 2",
    "settings": "SELECT 1; SET enable_external_access = true",
    "python": "SELECT * FROM table",
    "no column": "SELECT nope FROM release",
    "broken": "SELECT FROM WHERE",
    "nested": "WITH a AS (SELECT * FROM glob('*')) SELECT * FROM a",
}


@pytest.mark.parametrize("case", CLOSED)
def test_sql_sees_the_release_only(tamis: Run, counted: str, case: str) -> None:
    ran = tamis("query", counted, CLOSED[case])
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1), ran.out


WRONG: dict[str, tuple[str, ...]] = {
    "no question": ("maximum",),
    "no number": ("top",),
    "not whole": ("top", "1.5"),
    "not a number": ("quantile", "half"),
    "beyond": ("quantile", "2"),
    "too many": ("sum", "3"),
    "unknown key": ("rank", "nobody"),
    "no key": ("rank",),
    "condition": ("rows", "--where", "estimate > 3"),
    "form of a number": ("sum", "--format", "csv"),
    "both": ("rows", "--format", "csv", "--json"),
    "limit": ("rows", "--limit", "-3"),
    "where on all": ("suppressed", "--where", "1 = 1"),
    "sql and more": ("SELECT 1", "top"),
    "option": ("rows", "--were", "x"),
}


@pytest.mark.parametrize("case", WRONG)
def test_questions_that_cannot_be_are_refused(tamis: Run, counted: str, case: str) -> None:
    ran = tamis("query", counted, *WRONG[case])
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1), ran.err


def test_a_file_that_is_no_release_is_bad_data(tamis: Run) -> None:
    assert tamis("query", "events.parquet", "rows").code == 4
    assert tamis("query", "words.csv", "rows").code == 4
    assert tamis("query", "nowhere", "rows").code == 4
    assert tamis("query", "-", "rows").code == 2


def test_keys_are_shown_without_control_characters(tamis: Run) -> None:
    tamis("release", "-", "--key", "k", "--count", "n", *PROMISE, "-o", "r.parquet",
          stdin=b"k,n\n\x1b[31mred,5000\n")  # fmt: skip
    shown = tamis("query", "r.parquet", "rows").out
    assert b"\x1b" not in shown
    assert b"red" in shown


# --- questions to a summary ----------------------------------------------------------------------

DOMAIN = """
[version]
labels = ["1.0", "1.1", "1..1", "2..0"]
other = "not stated"
[age]
bins = [0, 18, 30, 45, 120]
[warmth]
low = -20
high = 40
[day]
first = 2024-01-01
last = 2024-12-31
by = "month"
[place]
tree = { North = ["Leeds"], South = ["London", "Dover"] }
["a=b"]
labels = [true, false]
"""
ROWS = {
    "version": ["1.0", "1..1", "new"],
    "age": [20, 50, 3],
    "warmth": [-7, 0, 21],
    "day": ["2024-01-31", "2024-02-29", "2024-12-24"],
    "place": ["Leeds", "Dover", "London"],
    "a=b": [True, False, True],
    "n": [10_000, 20_000, 40_000],
}


@pytest.fixture
def mixed(tamis: Run, folder: Path) -> str:
    """A summary of three cells, with attributes of every kind, and hardly any noise."""
    (folder / "mixed.toml").write_text(DOMAIN)
    pq.write_table(pa.table(ROWS), folder / "mixed.parquet")
    made = tamis("summarize", "mixed.parquet", "--domain", "mixed.toml", "--count", "n",
                 "--epsilon", "5", "--size", "100", "-o", "cells.parquet")  # fmt: skip
    assert made.code == 0, made.err
    return "cells.parquet"


ASKED: dict[str, tuple[tuple[str, ...], int]] = {
    "everything": ((), 70_000),
    "a label": (("version=1.0",), 10_000),
    "a label with dots": (("version=1..1",), 20_000),
    "a range of labels": (("version=1.0..1.1",), 10_000),
    "ends in two words": (("version=1.0", "version=1..1"), 30_000),
    "ends with dots": (("version=1..1", "version=2..0"), 20_000),
    "other": (("version=not stated",), 40_000),
    "bins": (("age=18..120",), 30_000),
    "a bin by a number in it": (("age=29",), 10_000),
    "bins by name": (("age=[18, 30)..[45, 120]",), 30_000),
    "negative numbers": (("warmth=-20..-1",), 10_000),
    "across zero": (("warmth=-7..0",), 30_000),
    "dates": (("day=2024-02-01..2024-12-31",), 60_000),
    "a date": (("day=2024-02-15",), 20_000),
    "an inner node": (("place=South",), 60_000),
    "nodes": (("place=Leeds..London",), 50_000),
    "an equals sign in a name": (("a=b=true",), 50_000),
    "several": (("a=b=true", "place=South", "warmth=0..40"), 40_000),
}


@pytest.mark.parametrize("case", ASKED)
def test_ranges_are_asked_for_in_words(tamis: Run, mixed: str, case: str) -> None:
    words, true = ASKED[case]
    found = tamis("query", mixed, "range", *words, "--json").json
    assert found["estimate"] == pytest.approx(true, abs=500)
    assert found["low"] < found["estimate"] < found["high"]


def test_one_cell_is_asked_for_by_all_its_values(tamis: Run, mixed: str, summary: str) -> None:
    words = ("version=1..1", "age=50", "warmth=0", "day=2024-02-29", "place=Dover", "a=b=false")
    assert tamis("query", mixed, "point", *words, "--json").json["estimate"] == pytest.approx(
        20_000, abs=20
    )
    assert "+-" in tamis("query", summary, "point", "home=17", "work=3999").text
    assert tamis("query", summary, "point", "work=3999", "home=17", "--json").code == 0


def test_subsets_and_marginals(tamis: Run, summary: str) -> None:
    asked = ("query", summary, "subset", "--where", "home = 17 AND work > 5", "--json")
    assert tamis(*asked).json["estimate"] == pytest.approx(900, abs=200)
    rows = tamis("query", summary, "marginal", "home", "--json").json["rows"]
    assert set(rows[0]) == {"home", "estimate", "standard_error", "low", "high"}
    (found,) = [row for row in rows if row["home"] == 17]
    assert abs(found["estimate"] - 900) < 8 * found["standard_error"] < 400
    ran = tamis("query", summary, "marginal", "work", "home", "--limit", 2)
    assert "rows that are not here have the estimate 0" in ran.err
    shown = ran.text.splitlines()
    assert shown[0].split()[:2] == ["work", "home"]
    assert len(shown) == 4


def test_rows_of_a_summary(tamis: Run, summary: str) -> None:
    rows = tamis("query", summary, "rows", "--json").json["rows"]
    assert len(rows) == pq.read_metadata(summary).num_rows
    some = tamis("query", summary, "rows", "--where", "home = 17 AND work = 3999", "--json")
    assert [(row["home"], row["work"]) for row in some.json["rows"]] == [(17, 3999)]
    csv_text = tamis("query", summary, "rows", "--format", "csv").text
    assert csv_text.startswith("home,work,value,weight\n")


def test_sql_on_a_summary(tamis: Run, summary: str) -> None:
    sql = "SELECT sum(weight) AS s FROM summary WHERE home = 17"
    (row,) = tamis("query", summary, sql, "--json").json["rows"]
    asked = tamis("query", summary, "range", "home=17", "--json").json
    assert row["s"] == pytest.approx(asked["estimate"])
    for closed in ("SELECT * FROM 'words.csv'", "SELECT * FROM read_text('words.csv')"):
        assert tamis("query", summary, closed).code == 2


def test_a_question_to_the_other_kind_is_refused_with_those_to_ask(
    tamis: Run, summary: str, counted: str
) -> None:
    for words in (("top", "3"), ("sum",), ("rank", "x")):
        ran = tamis("query", summary, *words)
        assert (ran.code, ran.out) == (2, b"")
        assert ran.err == (
            f"tamis: {words[0]} is a question to a release, and this is a summary; ask point, "
            "range, subset, marginal, rows, or SELECT ...\n"
        )
    for words in (("point", "word=a"), ("marginal", "word")):
        ran = tamis("query", counted, *words)
        assert ran.code == 2
        assert f"{words[0]} is a question to a summary, and this is a release" in ran.err
    assert "The table is summary." in tamis("query", summary, "SELECT * FROM release").err
    assert "The table is release." in tamis("query", counted, "SELECT * FROM summary").err


def test_a_summary_for_ranges_answers_ranges_only(tamis: Run, folder: Path) -> None:
    made = tamis(*SUMMARIZE, "--size", "5000", "--method", "haar", "-o", "ranges.parquet")
    assert "nodes in the summary" in made.err
    box = ("home=0..1000", "work=0..4000")
    found = tamis("query", "ranges.parquet", "range", *box, "--json").json
    assert abs(found["estimate"] - 1500) < 8 * found["standard_error"]
    for words in (("marginal", "home"), ("subset", "--where", "home = 17")):
        ran = tamis("query", "ranges.parquet", *words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
        assert "ask range" in ran.err


WRONG_WORDS: dict[str, tuple[tuple[str, ...], str]] = {
    "swapped": (("range", "home=20..0"), "has its ends swapped"),
    "swapped words": (("range", "home=20", "home=0"), "has its ends swapped"),
    "outside": (("range", "home=0..4001"), "must be a whole number from 0 to 4000, not '4001'"),
    "below": (("range", "home=-1..5"), "must be a whole number from 0 to 4000, not '-1'"),
    "a cell outside": (("point", "home=4001", "work=0"), "from 0 to 4000, not '4001'"),
    "no end": (("range", "home=5.."), "must be a whole number from 0 to 4000"),
    "text": (("range", "home=here"), "must be a whole number from 0 to 4000, not 'here'"),
    "unknown": (("range", "hme=1"), "Did you mean 'home'?"),
    "no value": (("range", "home"), "write home=..."),
    "three ends": (("range", "home=1", "home=2", "home=3"), "home is given 3 times"),
    "many dots": (("range", "home=1..2..3"), "in a word of its own, home=... home=..."),
    "missing": (("point", "home=1"), "'work' is missing"),
    "a range for a cell": (("point", "home=1..2", "work=1"), "ask range"),
    "a condition": (("range", "home=1", "--where", "work = 2"), "takes no --where"),
    "no condition": (("subset",), "give --where"),
    "words of a subset": (("subset", "home=1"), "subset takes no argument"),
    "a subset of rows": (("subset", "--where", "weight > 3"), "condition on the attributes"),
    "a subquery": (("subset", "--where", "home IN (SELECT 1)"), "the row itself"),
    "no attributes": (("marginal",), "names of different attributes"),
    "twice": (("marginal", "home", "home"), "names of different attributes"),
    "unknown attribute": (("marginal", "hme"), "Did you mean 'home'?"),
    "unknown column": (("rows", "--where", "hme = 1"), "Did you mean 'home'?"),
    "format": (("range", "--format", "csv"), "--format is for rows"),
}


@pytest.mark.parametrize("case", WRONG_WORDS)
def test_questions_that_a_summary_cannot_answer_are_refused(
    tamis: Run, summary: str, case: str
) -> None:
    words, sentence = WRONG_WORDS[case]
    ran = tamis("query", summary, *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1), ran.err
    assert sentence in ran.err


def test_bins_are_not_cut_in_two(tamis: Run, mixed: str) -> None:
    ran = tamis("query", mixed, "range", "age=17..30")
    assert (ran.code, ran.out) == (2, b"")
    assert "cuts a bin in two; the edges next to 17 are 0 and 18" in ran.err


def test_attributes_may_be_called_like_words_of_python(tamis: Run, folder: Path) -> None:
    (folder / "odd.toml").write_text("self = 10\nlambda = 10\n")
    pq.write_table(pa.table({"self": [3] * 500, "lambda": [4] * 500}), folder / "odd.parquet")
    tamis("summarize", "odd.parquet", "--domain", "odd.toml", "--epsilon", "1", "--size", "10",
          "-o", "s.parquet")  # fmt: skip
    for words in (("point", "self=3", "lambda=4"), ("range", "self=3")):
        found = tamis("query", "s.parquet", *words, "--json").json
        assert found["estimate"] == pytest.approx(500, abs=100)


def test_the_case_of_an_attribute_in_a_condition_does_not_matter(tamis: Run, summary: str) -> None:
    asked = [tamis("query", summary, "subset", "--where", f"{name} = 17", "--json").json
             for name in ("home", "HOME", '"home"')]  # fmt: skip
    assert asked[0] == asked[1] == asked[2]


# --- questions to what devices have reported ------------------------------------------------------


def test_the_items_that_most_devices_hold(tamis: Run, reports: str) -> None:
    shown = tamis("query", reports, "top", 2).text.splitlines()
    assert shown[0].split() == ["item", "token", "estimate", "low", "high"]
    assert [line.split()[:3] for line in shown[1:]] == [
        ["en", "400", "1,576.4"],
        ["de", "120", "472.9"],
    ]
    found = tamis("query", reports, "top", 2, "--where", "item LIKE 'f%'", "--json").json["rows"]
    assert [row["item"] for row in found] == ["fr", "fi"]


def test_places_and_rows_of_items(tamis: Run, reports: str) -> None:
    assert tamis("query", reports, "rank", "en").text == "1\n"
    assert tamis("query", reports, "rank", "fr", "--json").json == {"rank": 2.5}
    assert len(tamis("query", reports, "rows", "--json").json["rows"]) == 5
    some = ("query", reports, "rows", "--where", "item > 'en'", "--format", "csv")
    assert tamis(*some).text.splitlines()[0] == "item,token,estimate,low,high"
    assert tamis("query", reports, "rows", "--limit", 1).text.endswith("... and 4 more\n")


def test_a_sum_of_items_says_what_is_not_in_it(tamis: Run, reports: str) -> None:
    found = tamis("query", reports, "sum", "--where", "item = 'en'", "--json").json
    assert set(found) == {"estimate", "standard_error", "low", "high", "coverage", "said"}
    assert found["low"] < found["estimate"] < found["high"]
    shown = tamis("query", reports, "sum").text
    assert "+-" in shown
    assert "what stayed below the threshold, such as most items with fewer than 56 clients" in shown


def test_a_quantile_of_what_devices_hold(tamis: Run, quantiles: str) -> None:
    assert tamis("query", quantiles, "quantile", "0.5", "--json").json["rows"] == [
        {"quantile": 0.5, "estimate": 40, "low": 38, "high": 45}
    ]
    assert tamis("query", quantiles, "quantile", 0.9).text.split()[-4:] == [
        "0.9",
        "200",
        "190",
        "200",
    ]
    assert len(tamis("query", quantiles, "rows", "--json").json["rows"]) == 3
    more = tamis("query", quantiles, "rows", "--where", "quantile > 0.4", "--json")
    assert [row["estimate"] for row in more.json["rows"]] == [40, 200]


def test_sql_on_what_devices_have_reported(tamis: Run, reports: str, quantiles: str) -> None:
    sql = "SELECT sum(token) AS kept FROM release WHERE item <> 'en'"
    assert tamis("query", reports, sql, "--json").json["rows"] == [{"kept": 269}]
    sql = "SELECT max(estimate) AS most FROM release"
    assert tamis("query", quantiles, sql, "--json").json["rows"] == [{"most": 200}]
    assert tamis("query", reports, "SELECT * FROM read_text('words.csv')").code == 2
    assert "The table is release." in tamis("query", reports, "SELECT * FROM collected").err


OTHERS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a quantile of items": (
        "reports",
        ("quantile", "0.5"),
        "quantile is a question to a release of devices' quantiles, and this is a release of "
        "devices' items; ask top, rows, rank, sum, or SELECT ...",
    ),
    "a cell of items": (
        "reports",
        ("point", "a=1"),
        "point is a question to a summary, and this is a release of devices' items; ask",
    ),
    "what is not named": (
        "reports",
        ("suppressed",),
        "suppressed is a question to a release, and this is a release of devices' items; ask",
    ),
    "top of quantiles": (
        "quantiles",
        ("top", "3"),
        "top is a question to a release of devices' items, and this is a release of devices' "
        "quantiles; ask quantile, rows, or SELECT ...",
    ),
    "keys above a quantile": (
        "quantiles",
        ("above", "3"),
        "above is a question to a release, and this is a release of devices' quantiles; ask",
    ),
    "a range of quantiles": (
        "quantiles",
        ("range",),
        "range is a question to a summary, and this is a release of devices' quantiles; ask",
    ),
    "nothing": ("reports", ("maximum",), "'maximum' is no question; ask top, rows, rank, sum"),
    "not whole": ("reports", ("top", "1.5"), "top takes a whole number, not '1.5'."),
    "no item": ("reports", ("rank", "xx"), "key was not named"),
    "two items": ("reports", ("rank", "en", "fr"), "a key has 1 part: item."),
    "a condition on tokens": ("reports", ("sum", "--where", "token > 20"), "no column 'token'"),
    "form of a sum": ("reports", ("sum", "--format", "csv"), "--format is for rows"),
    "no number": ("quantiles", ("quantile", "half"), "a number from 0 to 1, not 'half'"),
    "another quantile": ("quantiles", ("quantile", "0.3"), "are 0.1, 0.5, 0.9, and not 0.3"),
    "a condition": ("quantiles", ("quantile", "0.5", "--where", "1 = 1"), "leave out --where"),
}


@pytest.mark.parametrize("case", OTHERS)
@pytest.mark.usefixtures("reports", "quantiles")
def test_questions_that_devices_reports_do_not_answer_are_refused(tamis: Run, case: str) -> None:
    name, words, sentence = OTHERS[case]
    ran = tamis("query", f"{name}.parquet", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1), ran.err
    assert sentence in ran.err


def test_items_that_are_numbers_are_found_and_shown_as_they_are(tamis: Run, folder: Path) -> None:
    making.items({12345: 50, 7: 20}, domain=99_999).save(folder / "numbers.parquet")
    assert tamis("query", "numbers.parquet", "rank", "7").text == "2\n"
    assert tamis("query", "numbers.parquet", "top", 1).text.split()[5] == "12345"
    assert "those are int64" in tamis("query", "numbers.parquet", "rank", "x").err
