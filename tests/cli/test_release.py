"""`tamis release`: what goes where, and what is refused before anything is drawn."""

from __future__ import annotations

import csv
import errno
import io
import json
import shutil
import tempfile
from inspect import signature
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import tamis as library
from tamis.cli.release import BOUND_SHARE
from tests.cli.conftest import PROMISE, Run
from tests.sparks import spark_session

KEY = ("--key", "query", *PROMISE)
UNIT = ("--unit", "user_id", "--keys-per-unit", "2")


def test_a_release_is_written_and_messages_go_to_standard_error(tamis: Run, folder: Path) -> None:
    ran = tamis("release", "events.parquet", *KEY, *UNIT, "-o", "out.parquet")
    assert (ran.code, ran.out) == (0, b"")
    assert ran.err.splitlines() == [
        "2 keys named; epsilon 1, delta 1e-12 when one user_id with at most 2 keys is added or "
        "removed",
        "written: out.parquet",
    ]
    opened = library.open(folder / "out.parquet")
    assert opened.to_arrow()["query"].to_pylist() == ["maps", "weather"]
    assert opened.guarantee.keys_per_unit == 2


def test_without_a_file_the_first_rows_are_shown(tamis: Run) -> None:
    ran = tamis("release", "events.parquet", *KEY)
    lines = ran.text.splitlines()
    assert lines[0].split() == ["query", "token", "estimate", "low", "high"]
    assert [line.split()[0] for line in lines[1:]] == ["maps", "weather"]
    assert "nothing is saved" in ran.err
    assert "each run draws anew" in ran.err


def test_rows_are_shown_beside_a_file_on_request(tamis: Run, folder: Path) -> None:
    ran = tamis("release", "words.csv", "--key", "word", "--count", "n", *PROMISE,
                "-o", "out.parquet", "--show")  # fmt: skip
    assert ran.text.splitlines()[-1] == "... and 20 more"
    assert (folder / "out.parquet").is_file()


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_standard_output_takes_every_form(tamis: Run, form: str) -> None:
    ran = tamis("release", "events.parquet", *KEY, "-o", "-", "--format", form)
    assert ran.code == 0
    if form == "parquet":
        rows = pq.read_table(io.BytesIO(ran.out)).to_pylist()
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(ran.text)))
    else:
        rows = ran.json
    assert [row["query"] for row in rows] == ["maps", "weather"]
    assert list(rows[0]) == ["query", "token", "estimate", "low", "high"]


def test_a_release_on_standard_output_is_a_whole_release(tamis: Run, folder: Path) -> None:
    ran = tamis("release", "events.parquet", *KEY, "-o", "-")
    (folder / "piped.parquet").write_bytes(ran.out)
    assert tamis("verify", "piped.parquet").code == 0


def test_the_name_of_the_file_decides_its_form(tamis: Run, folder: Path) -> None:
    ran = tamis("release", "events.parquet", *KEY, "-o", "out.csv")
    assert "only a Parquet file" in ran.err
    assert (folder / "out.csv").read_text().startswith("query,token,estimate,low,high\nmaps,")
    tamis("release", "events.parquet", *KEY, "-o", "out.json")
    assert len(json.loads((folder / "out.json").read_text())) == 2


def test_csv_comes_from_standard_input(tamis: Run) -> None:
    sink = io.BytesIO()
    pa.csv.write_csv(pq.read_table("events.parquet"), sink)
    ran = tamis("release", "-", *KEY, *UNIT, "--json", stdin=sink.getvalue())
    assert [row["query"] for row in ran.json["rows"]] == ["maps", "weather"]


def test_several_files_are_one_table(tamis: Run) -> None:
    shutil.copy("events.parquet", "more.parquet")
    ran = tamis("release", "events.parquet", "more.parquet", *KEY, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["rows"][0]["estimate"] == pytest.approx(1800, abs=60)


def test_keys_of_several_columns_and_missing_ones(tamis: Run) -> None:
    table = b"city,kind,n\nParis,bakery,5000\n,bakery,4000\n"
    options = ("--key", "city", "--key", "kind", "--count", "n", "--nulls", "keep", *PROMISE)
    ran = tamis("release", "-", *options, "--json", stdin=table)
    assert [(row["city"], row["kind"]) for row in ran.json["rows"]] == [
        ("Paris", "bakery"),
        (None, "bakery"),
    ]
    assert "NULL" in tamis("release", "-", *options, stdin=table).text


def test_a_sample_by_scheme_or_by_size(tamis: Run) -> None:
    ran = tamis("release", "words.csv", "--key", "word", "--count", "n", *PROMISE,
                "--scheme", "ppswor", "--tau", "0.5", "--json")  # fmt: skip
    assert ran.json["scheme"] == {"name": "ppswor", "tau": "0.5", "power": "1.0"}
    ran = tamis("release", "words.csv", "--key", "word", "--count", "n", *PROMISE,
                "--sample-size", "20", "--json")  # fmt: skip
    assert ran.json["scheme"]["name"] == "ppswor"
    assert len(ran.json["spent"]) == 2


def test_json_is_one_document(tamis: Run, folder: Path) -> None:
    ran = tamis("release", "events.parquet", *KEY, "-o", "out.parquet", "--json")
    assert ran.json["file"] == "out.parquet"
    assert ran.json["keys"] == 2
    assert ran.json["guarantee"]["delta"] == "1e-12"
    assert "rows" not in ran.json


def test_a_dry_run_reads_nothing(tamis: Run) -> None:
    ran = tamis("release", "nowhere.parquet", *KEY, *UNIT, "--dry-run")
    assert ran.code == 0
    assert "keys per unit: 2" in ran.text
    ran = tamis("release", *KEY, "--unit", "u", "--keys-per-unit", "auto", "--dry-run", "--json")
    assert ran.json["guarantee"]["keys_per_unit"] == 128


def test_a_dry_run_plans_with_what_the_shares_leave(tamis: Run) -> None:
    auto = ("--unit", "u", "--keys-per-unit", "auto", "--dry-run", "--json")
    ran = tamis("release", *KEY, *auto)
    assert ran.json["guarantee"]["epsilon"] == "0.95"
    ran = tamis("release", *KEY, *auto, "--bound-share", "0.2", "--total-share", "0.1")
    assert ran.json["guarantee"]["epsilon"] == "0.7"
    assert "a sample costs" in tamis("release", *KEY, "--sample-size", "5", "--dry-run").err


def test_the_choice_of_a_bound_costs_the_share_that_is_given(tamis: Run) -> None:
    auto = ("release", "events.parquet", *KEY, "--unit", "user_id", "--keys-per-unit", "auto")
    spent = {part["purpose"]: part for part in tamis(*auto, "--json").json["spent"]}
    given = tamis(*auto, "--bound-share", "0.25", "--json").json["spent"]
    assert [float(part["epsilon"]) for part in given] == [0.75, 0.25]
    usual = signature(library.release).parameters["bound_share"].default
    assert BOUND_SHARE == usual
    assert {float(part["epsilon"]) for part in spent.values()} == {1 - usual, usual}


def test_a_budget_is_charged(tamis: Run, folder: Path) -> None:
    tamis("budget", "create", "b", "--epsilon", "2", "--delta", "1e-6", "--unit", "user_id")
    ran = tamis("release", "events.parquet", *KEY, *UNIT, "--budget", "b", "-o", "out.parquet")
    assert ran.code == 0, ran.err
    assert "charged to budget 'b' as entry 1" in ran.err
    assert tamis("budget", "show", "b", "--json").json["releases"] == 1


# --- refused, and nothing drawn -------------------------------------------------------------------

REFUSED: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no file": ((), 2, "name a file to read"),
    "missing file": (("nowhere.parquet",), 4, "there is no file 'nowhere.parquet'"),
    "no match": (("no*.parquet",), 4, "no file matches"),
    "unknown kind": (("events.xyz",), 4, "there is no file"),
    "not Parquet": (("broken.parquet",), 4, "cannot be read"),
    "unknown column": (
        ("events.parquet", "--keys-per-unit", "1", "--unit", "user"),
        2,
        "Did you mean",
    ),
    "folder missing": (
        ("events.parquet", "-o", "nowhere/out.parquet"),
        2,
        "cannot be written: there is no folder 'nowhere'",
    ),
    "a folder": (("events.parquet", "-o", "."), 2, "is not a file but a folder"),
    "a device": (("events.parquet", "-o", "/dev/null", "--force"), 2, "is not a file"),
    "own input": (("events.parquet", "-o", "events.parquet", "--force"), 2, "is read and"),
    "two on stdout": (("events.parquet", "-o", "-", "--json"), 2, "two things"),
    "stdin and more": (("-", "events.parquet"), 2, "together with other files"),
    "subquery": (("events.parquet", "--where", "1 IN (SELECT 1)"), 2, "where"),
    "bad where": (("events.parquet", "--where", "query ="), 2, "where"),
    "tau alone": (("events.parquet", "--tau", "0.1"), 2, "--scheme ppswor"),
    "no tau": (("events.parquet", "--scheme", "pps"), 2, "needs --tau"),
    "no bound": (("events.parquet", "--unit", "user_id"), 2, "--keys-per-unit is missing"),
    "half a key": (("events.parquet", *UNIT[:3], "1.5"), 2, "takes a whole number, or auto"),
    "half a size": (("events.parquet", "--sample-size", "1.5"), 2, "takes a whole number, not"),
    "a share for no choice": (("events.parquet", *UNIT, "--bound-share", "0.1"), 2, "auto"),
    "no share": (("events.parquet", *UNIT[:3], "auto", "--bound-share", "0"), 2, "too small"),
    "a large share": (("events.parquet", *UNIT[:3], "auto", "--bound-share", "0.6"), 2, "0.5"),
    "bad memory": (("events.parquet", "--memory", "lots"), 2, "--memory 'lots'"),
    "no budget": (("events.parquet", "--budget", "b", "-o", "x.parquet"), 2, "no budget 'b'"),
    "a budget for nothing": (("events.parquet", "--budget", "b"), 2, "give -o FILE"),
    "ledger alone": (("events.parquet", "--ledger", "l.sqlite"), 2, "budget"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_in_one_sentence(tamis: Run, folder: Path, case: str) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    before = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    words, code, sentence = REFUSED[case]
    ran = tamis("release", *words, *KEY)
    assert (ran.code, ran.out) == (code, b""), ran.err
    assert ran.err.startswith("tamis: ")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.glob("*.parquet")} == before


def test_a_misspelt_column_gets_a_hint(tamis: Run) -> None:
    ran = tamis("release", "events.parquet", "--key", "qery", *PROMISE)
    assert (ran.code, "Did you mean 'query'?" in ran.err) == (2, True)


def test_an_existing_file_is_replaced_only_by_force(tamis: Run, folder: Path) -> None:
    (folder / "out.parquet").write_text("old")
    ran = tamis("release", "events.parquet", *KEY, "-o", "out.parquet")
    assert (ran.code, "--force" in ran.err) == (2, True)
    assert (folder / "out.parquet").read_text() == "old"
    assert tamis("release", "events.parquet", *KEY, "-o", "out.parquet", "--force").code == 0
    assert tamis("verify", "out.parquet").code == 0


def test_a_folder_without_permission_is_refused_before_anything_is_drawn(
    tamis: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", denied)
    monkeypatch.setattr(library, "release", lambda *_, **__: pytest.fail("it was drawn"))
    ran = tamis("release", "events.parquet", *KEY, "-o", "out.parquet")
    assert (ran.code, "Permission denied" in ran.err) == (2, True)


def test_what_is_refused_charges_nothing(tamis: Run, folder: Path) -> None:
    tamis("budget", "create", "b", "--epsilon", "2", "--delta", "1e-6", "--unit", "user_id")
    (folder / "there.parquet").write_text("old")
    wrong = (("-o", "there.parquet"), ("--where", "nope = 1"), ("-o", "no/where.parquet"))
    for words in wrong:
        ran = tamis("release", "events.parquet", *KEY, *UNIT, "--budget", "b", *words)
        assert ran.code == 2, ran.err
    assert tamis("budget", "history", "b", "--json").json == []


def test_a_budget_that_is_too_small_refuses(tamis: Run, folder: Path) -> None:
    tamis("budget", "create", "b", "--epsilon", "0.5", "--delta", "1e-6", "--unit", "user_id")
    ran = tamis("release", "events.parquet", *KEY, *UNIT, "--budget", "b", "-o", "out.parquet")
    assert (ran.code, ran.out) == (3, b"")
    assert "nothing was charged" in ran.err
    assert not (folder / "out.parquet").exists()
    assert tamis("budget", "show", "b", "--json").json["releases"] == 0


BAD_DATA = {
    "negative": b"word,n\na,-1\n",
    "fraction": b"word,n\na,1.5\n",
    "not a number": b"word,n\na,nan\nb,1\n",
    "missing": b"word,n\na,\nb,1\n",
    "text": b"word,n\na,many\n",
    "empty": b"",
    "ragged": b"word,n\na,1,2\nb\n",
    "not UTF-8": b"word,n\n\xff\xfe,1000\n",
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_counts_that_cannot_be_are_bad_data(tamis: Run, folder: Path, case: str) -> None:
    ran = tamis("release", "-", "--key", "word", "--count", "n", *PROMISE, stdin=BAD_DATA[case])
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, b"", 1), ran.err


@pytest.mark.parametrize("value", [float("nan"), -float("nan")], ids=["nan", "with a sign"])
def test_what_is_no_number_in_parquet_is_told_as_such(
    tamis: Run, folder: Path, value: float
) -> None:
    pq.write_table(pa.table({"word": ["a", "b"], "n": [5.0, value]}), folder / "nan.parquet")
    ran = tamis("release", "nan.parquet", "--key", "word", "--count", "n", *PROMISE)
    said = "n holds what is not a number; repair these rows, or leave them out."
    assert (ran.code, ran.out, ran.err) == (4, b"", f"tamis: {said}\n")


def test_null_and_empty_text_are_told_apart_in_csv(tamis: Run, folder: Path) -> None:
    keys = [None, "", ' "a", b', "c\rd", "e"]
    rows = pa.table({"word": keys, "n": [500, 600, 700, 800, 900]})
    pq.write_table(rows, folder / "odd.parquet")
    ran = tamis("release", "odd.parquet", "--key", "word", "--count", "n", "--nulls", "keep",
                *PROMISE, "--format", "csv")  # fmt: skip
    assert ran.code == 0, ran.err
    *_, empty, null = ran.text.split("\n")[:-1]
    assert (empty[:3], null[:1]) == ('"",', ",")
    read = list(csv.reader(io.StringIO(ran.text, newline="")))
    assert [row[0] for row in read[1:]] == ["e", "c\rd", ' "a", b', "", ""]


def test_a_cast_that_fails_on_some_row_is_told_with_what_to_do(tamis: Run, folder: Path) -> None:
    (folder / "ages.csv").write_text("word,age\n" + "a,31\n" * 500 + "b,secret\n")
    words = ("release", "ages.csv", "--key", "word", *PROMISE, "--where")
    ran = tamis(*words, "age::INTEGER > 30")
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, b"", 1)
    assert "a cast or a sum in --where" in ran.err
    assert "secret" not in ran.err
    assert tamis(*words, "TRY(age::INTEGER) > 30", "--json").json["keys"] == 1


def test_units_that_are_missing_are_bad_data(tamis: Run) -> None:
    ran = tamis("release", "-", "--key", "word", "--unit", "u", "--keys-per-unit", "1", *PROMISE,
                stdin=b"word,u\na,\nb,\n")  # fmt: skip
    assert (ran.code, ran.out) == (4, b""), ran.err


def test_a_key_of_a_megabyte_is_cut_when_shown(tamis: Run, folder: Path) -> None:
    pq.write_table(pa.table({"word": ["x" * 10**6], "n": [5000]}), folder / "long.parquet")
    ran = tamis("release", "long.parquet", "--key", "word", "--count", "n", *PROMISE,
                "-o", "out.parquet", "--show")  # fmt: skip
    assert ran.code == 0, ran.err
    assert len(ran.out) < 1000
    assert len(library.open(folder / "out.parquet").to_arrow()["word"][0].as_py()) == 10**6


# --- folders ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "a folder is written by Spark: add --engine spark"),
        (["--engine", "spark", "--force"], "never replaced"),
        (["--engine", "spark", "--format", "csv"], "a folder holds Parquet"),
    ],
)
def test_a_folder_that_cannot_be_is_refused(
    tamis: Run, folder: Path, more: list[str], said: str
) -> None:
    ran = tamis("release", "events.parquet", *KEY, "-o", "out/", *more)
    assert ran.code == 2
    assert said in ran.err
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_spark_writes_a_folder_that_can_be_asked_and_verified(tamis: Run, folder: Path) -> None:
    spark_session()
    wanted = ("--engine", "spark", "-o", "out/", "--json", "--show")
    ran = tamis("release", "events.parquet", *KEY, *wanted)
    assert ran.code == 0
    said = json.loads(ran.text)
    assert said["keys"] == 2
    assert [row["query"] for row in said["rows"]] == ["maps", "weather"]
    checked = json.loads(tamis("verify", "out", "--json").text)
    assert checked["digest"] == said["digest"]
    assert tamis("verify", "out", "--digest", "0" * 64).code == 1
    assert tamis("query", "out", "top", "1").text.splitlines()[1].split()[0] == "maps"
    assert tamis("release", "events.parquet", *KEY, *wanted).code == 2
