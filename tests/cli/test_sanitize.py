"""`tamis sanitize`."""

from __future__ import annotations

from pathlib import Path

import pytest

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
