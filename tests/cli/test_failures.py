"""What went wrong is told in the words of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.cli.app import names
from tamis.cli.failures import in_options
from tests.cli.conftest import PROMISE, Run

KEY = ("release", "events.parquet", "--key", "query", *PROMISE)

SAID: dict[str, tuple[tuple[str, ...], str]] = {
    "no bound": (
        (*KEY, "--unit", "user_id"),
        "--keys-per-unit is missing: to how many keys may one unit contribute? Units with more are "
        'cut at random; tamis plan shows what a bound costs, and "auto" chooses one.',
    ),
    "no unit": (
        (*KEY, "--keys-per-unit", "3"),
        "--keys-per-unit and --elements-per-key bound what a unit contributes: name the column of "
        "units with --unit.",
    ),
    "size": ((*KEY, "--sample-size", "0"), "--sample-size must be a whole number"),
    "both": (
        (*KEY, "--sample-size", "9", "--scheme", "pps", "--tau", "0.1"),
        "give a scheme or a --sample-size, not both.",
    ),
    "share": ((*KEY, "--total-share", "0.9"), "--total-share must be a share of epsilon"),
    "ledger": ((*KEY, "--ledger", "x"), "for a budget: name it with --budget."),
    "table": (
        ("release", "empty.duckdb", *KEY[2:]),
        "is a database; name a table or give a query with --table.",
    ),
    "bound": (("plan", *PROMISE, "--elements-per-key", "0"), "--elements-per-key must be"),
    "other unit": (
        (*KEY, "--budget", "b", "-o", "x.parquet"),
        "name a budget for 'element', or release with --unit 'user_id'.",
    ),
    "a budget of rows": (
        (*KEY, "--unit", "user_id", "--keys-per-unit", "3", "--budget", "rows", "-o", "x.parquet"),
        "name a budget for 'user_id', or release without a unit.",
    ),
    "threads": ((*KEY, "--threads", "0"), "tamis: --threads 0: there is a memory limit"),
    "memory": ((*KEY, "--memory", "lots"), "tamis: --memory 'lots': there is a memory limit"),
    "total": (("query", "made.parquet", "suppressed"), "--total-share 0.02, say."),
    "sampler": (
        ("sanitize", "words.csv", "--key", "word", "--frequency", "n", *PROMISE,
         "--sampler-error", "2"),
        "--sampler-error must be a probability",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_parameters_are_named_as_options(tamis: Run, folder: Path, case: str) -> None:
    (folder / "empty.duckdb").touch()
    for name, unit in (("b", "user_id"), ("rows", "element")):
        tamis("budget", "create", name, "--epsilon", "9", "--delta", "1e-6", "--unit", unit)
    tamis(*KEY, "-o", "made.parquet")
    words, sentence = SAID[case]
    ran = tamis(*words)
    assert (ran.code, ran.out) == (2, b"")
    assert sentence in ran.err


def test_columns_that_are_called_like_parameters_keep_their_names(tamis: Run, folder: Path) -> None:
    (folder / "odd.csv").write_text("sample_size,total_share\na,1.5\n")
    counted = ("release", "odd.csv", "--key", "sample_size", "--count", "total_share", *PROMISE)
    assert "tamis: total_share holds" in tamis(*counted).err
    made = ("sanitize", "odd.csv", "--key", "sample_size", "--frequency", "total_share", *PROMISE)
    assert "tamis: total_share holds" in tamis(*made).err
    joined = ("sanitize", "odd.csv", "--key=sample_size", "--frequency=total_share", *PROMISE)
    assert "tamis: total_share holds" in tamis(*joined).err


STAY = (
    "data has no column 'keys_per_unit'; its columns are: sample_size, unit=, word. Did you mean?",
    'where must be a condition on the key columns: sample_size, "a".',
    "'it\\'s keys_per_unit' is not a file; \"unit=\" neither.",
    "epsilon must be a number above 0; the unit of a budget, with epsilon = 0.1, stays.",
    "my_sample_size, sample_sizes and x.sample_size are no parameters.",
    "the file tamis.parquet is not a release, and tamis.planned is no command.",
)


@pytest.mark.parametrize("sentence", STAY)
def test_what_is_data_or_a_plain_word_stays(sentence: str) -> None:
    assert in_options(sentence, *names()) == sentence


def test_every_option_is_known() -> None:
    commands, parameters = names()
    assert {"plan", "release", "sanitize", "query", "budget"} <= commands
    assert {"keys_per_unit", "bound_share", "sampler_error", "purpose", "units_have"} <= parameters


USAGE: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing given": (
        ("release",),
        "--key, --epsilon and --delta are missing; see tamis release --help.",
    ),
    "one missing": (
        ("budget", "create", "x", "--epsilon=1"),
        "--delta is missing; see tamis budget create --help.",
    ),
    "a file missing": (
        ("sanitize",),
        "SAMPLE, --key, --frequency, --epsilon and --delta are missing; see tamis sanitize",
    ),
    "no value": (("release", "x", "--key"), "--key needs a value; see tamis release --help."),
    "no number": (
        ("plan", "--epsilon", "one", "--delta", "1"),
        "--epsilon takes a number, not 'one'.",
    ),
    "rounded": (
        ("plan", *PROMISE, "--keys-per-unit", "1.5"),
        "--keys-per-unit takes a whole number, not '1.5'.",
    ),
    "neither": (
        (*KEY, "--keys-per-unit", "many"),
        "--keys-per-unit takes a whole number, or auto, not 'many'.",
    ),
    "a flag": (("plan", *PROMISE, "--json=3"), "--json takes no value, not '3'."),
    "left over": (
        ("budget", "show", "visits", "2024"),
        "'2024' is too much for tamis budget show: put what has spaces in it in quotes",
    ),
    "a command": (("relase", "x"), 'Did you mean "release"?'),
    "a command inside": (("budget", "crate"), 'Did you mean "create"?'),
    "an option": (("release", "x", "--kye", "k"), "Did you mean --key?"),
    "an option of Python": (
        ("plan", *PROMISE, "--keys_per_unt", "3"),
        "Did you mean --keys-per-unit?",
    ),
    "a choice": (("plan", *PROMISE, "--scheme", "pp"), 'Did you mean "pps"?'),
    "help on nothing": (("help", "relase"), 'Did you mean "release"?'),
}


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage_is_one_sentence_that_says_what_to_do(tamis: Run, case: str) -> None:
    words, sentence = USAGE[case]
    ran = tamis(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert sentence in ran.err


@pytest.mark.parametrize("words", [(), ("help",), ("-h",), ("--help",)])
def test_whoever_knows_nothing_gets_help(tamis: Run, words: tuple[str, ...]) -> None:
    ran = tamis(*words)
    assert (ran.code, ran.err) == (0, "")
    assert "Usage: tamis COMMAND" in ran.text


def test_help_on_a_command_can_be_asked_for_in_either_way(tamis: Run) -> None:
    for words in (("release",), ("budget", "create"), ("budget",)):
        ran = tamis("help", *words)
        assert (ran.code, ran.out) == (0, tamis(*words, "--help").out)
    assert tamis("query", "nowhere.parquet", "rank", "help").code == 4
