"""`tamis query`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import PROMISE, Run


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
