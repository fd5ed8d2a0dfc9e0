"""`tamis sanitize`."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from tamis.privacy import randomness
from tamis.privacy.ledger import open_ledger
from tests.cli.conftest import PROMISE, Run

WORDS = ("sanitize", "words.csv", "--key", "word", "--frequency", "n", *PROMISE)


def test_counted_words_are_made_private(tamis: Run, folder: Path) -> None:
    ran = tamis(*WORDS, "-o", "private.csv", "--certificate", "certificate.json")
    assert (ran.code, ran.out) == (0, b"")
    assert "30 keys named" in ran.err
    assert len((folder / "private.csv").read_text().splitlines()) == 31
    assert tamis("verify", "certificate.json").code == 0


def test_it_reads_standard_input_and_prints(tamis: Run, folder: Path) -> None:
    data = (folder / "words.csv").read_bytes()
    words = ("sanitize", "-", "--key", "word", "--frequency", "n", *PROMISE)
    assert len(tamis(*words, "--json", stdin=data).json["rows"]) == 30
    assert tamis(*words, stdin=data).text.splitlines()[-1] == "... and 20 more"
    assert tamis(*words, "-o", "-", "--format", "parquet", stdin=data).out.startswith(b"PAR1")


def test_a_sample_names_its_scheme(tamis: Run) -> None:
    ran = tamis(*WORDS, "--scheme", "ppswor", "--tau", "0.5", "--sampler-error", "0", "--json")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--certificate", "-"), 2),
        (("-o", "x.csv", "--certificate", "x.csv"), 2),
        (("-o", "words.csv", "--force"), 2),
        (("--keys-per-unit", "0"), 2),
        (("--keys-per-unit", "1.5"), 2),
        (("--key", "nope"), 2),
        (("--key", "n"), 2),
        (("--coverage", "3"), 2),
        (("--ledger", "other.sqlite"), 2),
        (("--budget", "b"), 2),
        (("--budget", "b", "-o", "x.csv"), 2),
        (("--tau", "1"), 2),
        (("--table", "t"), 2),
        (("--frequency", "n", "--frequency", "n"), 2),
    ],
)
def test_what_cannot_be_is_refused(tamis: Run, words: tuple[str, ...], code: int) -> None:
    ran = tamis(*WORDS, *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, b"", 1), ran.err


def test_files_that_cannot_be_read_are_bad_data(tamis: Run, folder: Path) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
    for name in ("nowhere.csv", "broken.parquet"):
        assert tamis("sanitize", name, *WORDS[2:]).code == 4


def test_a_table_in_a_database_is_named_or_queried(tamis: Run, folder: Path) -> None:
    with duckdb.connect(str(folder / "words.duckdb")) as database:
        database.execute("CREATE TABLE words AS SELECT * FROM read_csv('words.csv')")
    for table in ("words", "SELECT * FROM words WHERE n > 500"):
        ran = tamis("sanitize", "words.duckdb", "--table", table, *WORDS[2:], "--json")
        assert ran.json["keys"] > 0, table


def test_the_first_line_of_a_file_is_not_listed_as_its_columns(tamis: Run, folder: Path) -> None:
    (folder / "headless.csv").write_text("canary,17\nother,12\n")
    for words in (("--key", "word", "--frequency", "n"), ("--key", "word", "--frequency", "17")):
        ran = tamis("sanitize", "headless.csv", *words, *PROMISE)
        assert ran.code == 2
        assert "canary" not in ran.err


@pytest.mark.parametrize("value", ["nan", "abc", "inf", "-inf", ""])
def test_text_that_is_no_number_is_told_as_such(tamis: Run, value: str) -> None:
    ran = tamis("sanitize", "-", *WORDS[2:], stdin=f"word,n\na,500\nb,{value}\n".encode())
    said = "n holds what is not a number; repair these rows, or leave them out."
    assert (ran.code, ran.out, ran.err) == (4, b"", f"tamis: {said}\n")


def test_a_column_of_json_lines_may_appear_late(tamis: Run, folder: Path) -> None:
    """Later than in the first rows, which are looked at for names."""
    rows = [{"word": f"w{i}", "n": 500} for i in range(30_000)]
    lines = [json.dumps(row) for row in rows] + ['{"word": "last", "n": 500, "late": "x"}']
    (folder / "late.jsonl").write_text("\n".join(lines))
    words = ("sanitize", "late.jsonl", "--frequency", "n", *PROMISE, "--key")
    ran = tamis(*words, "late")
    assert (ran.code, "late holds nulls" in ran.err) == (4, True), ran.err
    assert "no column 'latter'" in tamis(*words, "latter").err


def test_json_lines_may_have_hundreds_of_columns(tamis: Run, folder: Path) -> None:
    rows = [{"word": f"w{i}", "n": 500} | {f"c{i}": "x"} for i in range(300)]
    (folder / "wide.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert tamis("sanitize", "wide.jsonl", *WORDS[2:], "--json").json["keys"] == 300


def test_a_key_in_two_rows_is_bad_data(tamis: Run) -> None:
    words = ("sanitize", "-", "--key", "word", "--frequency", "n", *PROMISE)
    ran = tamis(*words, stdin=b"word,n\na,5\na,6\n")
    assert (ran.code, "more than one row" in ran.err) == (4, True)


# --- budgets --------------------------------------------------------------------------------------

BUDGET = ("budget", "create", "b", "--delta", "1e-6", "--epsilon")


def charges(tamis: Run) -> list[str]:
    return [entry["purpose"] for entry in tamis("budget", "history", "b", "--json").json]


def test_a_budget_is_charged_and_named(tamis: Run, folder: Path) -> None:
    tamis(*BUDGET, "2")
    ran = tamis(*WORDS, "--budget", "b", "-o", "private.csv", "--json")
    assert ran.json["ledger"]["entry"] == 1
    assert "charged to budget 'b' as entry 1" in ran.err
    tamis(*WORDS, "--budget", "b", "-o", "more.csv", "--purpose", "words of May")
    assert charges(tamis) == ["sanitize", "words of May"]


def test_a_budget_that_is_too_small_refuses_and_nothing_is_written(
    tamis: Run, folder: Path
) -> None:
    tamis(*BUDGET, "0.5")
    before = sorted(path.name for path in folder.iterdir())
    ran = tamis(*WORDS, "--budget", "b", "-o", "private.csv", "--certificate", "c.json")
    assert (ran.code, ran.out, "nothing was charged" in ran.err) == (3, b"", True)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert charges(tamis) == []


def test_what_is_refused_charges_nothing(tamis: Run, folder: Path) -> None:
    tamis(*BUDGET, "2")
    (folder / "there.csv").write_text("old")
    (folder / "twice.csv").write_text("word,n\na,5\na,6\n")
    (folder / "odd.csv").write_text("word,n\na,1.5\n")
    wrong: dict[tuple[str, ...], int] = {
        ("words.csv", "-o", "there.csv"): 2,
        ("words.csv", "-o", "x.csv", "--coverage", "2"): 2,
        ("words.csv", "-o", "x.csv", "--unit", "user_id"): 2,
        ("words.csv", "-o", "x.csv", "--sampler-error", "2"): 2,
        ("twice.csv", "-o", "x.csv"): 4,
        ("odd.csv", "-o", "x.csv"): 4,
        ("nowhere.csv", "-o", "x.csv"): 4,
    }
    for words, code in wrong.items():
        ran = tamis("sanitize", *words, *WORDS[2:], "--budget", "b")
        assert (ran.code, ran.err.count("\n")) == (code, 1), (words, ran.err)
    assert charges(tamis) == []


class Broken:
    """A generator that fails when it is first asked, and looks at the ledger then."""

    def __init__(self) -> None:
        self.charged: list[str] = []

    def words(self, n: int) -> randomness.Words:
        with open_ledger(None) as ledger:
            self.charged = [entry.purpose for entry in ledger.history("b")]
        raise OSError(5, "no randomness")


def test_the_charge_is_durable_before_the_first_draw(tamis: Run, folder: Path) -> None:
    tamis(*BUDGET, "2")
    source = Broken()
    with randomness.using(source):
        ran = tamis(*WORDS, "--budget", "b", "-o", "private.csv")
    assert ran.code == 1
    assert source.charged == ["sanitize"]
    assert not (folder / "private.csv").exists()
    assert charges(tamis) == ["sanitize"]


def test_what_the_mechanism_cannot_hold_is_refused_before_the_charge(tamis: Run) -> None:
    """A frequency beyond what fine tokens can hold."""
    tamis(*BUDGET, "2")
    words = ("sanitize", "-", *WORDS[2:], "--tokens", "fine", "--budget", "b", "-o", "x.csv")
    ran = tamis(*words, stdin=f"word,n\na,{2**62}\n".encode())
    assert (ran.code, ran.err.count("\n")) == (4, 1), ran.err
    assert charges(tamis) == []
