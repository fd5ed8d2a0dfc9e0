"""`tamis collect`: from a query to its release, and what is refused on the way."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tamis.collect.open import open_store
from tamis.collect.tokens import opened_token
from tamis.federated import Client
from tamis.federated.device import Limits, token_parts
from tests.cli.conftest import Run

CREATE = ("collect", "create", "--kind", "histogram", "--question", "Which fruit?",
          "--longest", "20", "--epsilon", "1", "--delta", "1e-6", "--window", "1h")  # fmt: skip
HITTERS = ("collect", "create", "--kind", "heavy-hitters", "--question", "Which fruit?",
           "--epsilon", "1", "--delta", "1e-6", "--window", "1h")  # fmt: skip
QUANTILES = ("collect", "create", "--kind", "quantiles", "--question", "How many?",
             "--epsilon", "1", "--delta", "1e-6", "--window", "1h")  # fmt: skip
LIMITS = Limits(1.0, 1e-6, 10, 4.0, 1e-5)


@contextmanager
def serving() -> Iterator[str]:
    """A real server on a free port; its address."""
    words = [sys.executable, "-m", "tamis", "collect", "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            found = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", said)
            assert found, said
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)


def test_from_a_query_to_its_release(tamis: Run, folder: Path) -> None:
    tamis("budget", "create", "devices", "--epsilon", "1", "--delta", "1e-6", "--unit", "client")
    made = tamis(*CREATE, "--budget", "devices", "--json").json
    query, signer = made["query"], made["signer"]
    assert (made["state"], made["tau"], made["rounds"]) == ("open", 14, 1)
    assert tamis("collect", "tokens", query, "60", "-o", "tokens.txt").code == 0
    tokens = (folder / "tokens.txt").read_text().split()
    with serving() as address:
        for n, token in enumerate(tokens):
            Client(address, signer, folder / f"state{n}", LIMITS).report(query, "apple", token)
    early = tamis("collect", "release", query, "-o", "early.parquet")
    assert (early.code, "is open until" in early.err) == (2, True)
    assert not (folder / "early.parquet").exists()
    assert "closed" in tamis("collect", "close", query).err
    assert tamis("collect", "release", query, "-o", "release.parquet").code == 0
    assert tamis("collect", "release", query, "-o", "again.parquet").code == 0
    first, again = ((folder / f"{name}.parquet").read_bytes() for name in ("release", "again"))
    assert first == again
    assert tamis("verify", "release.parquet").code == 0
    assert len(tamis("budget", "history", "devices", "--json").json) == 1
    assert tamis("collect", "status", query, "--json").json[0]["state"] == "released"
    assert "to write it: tamis collect release" in tamis("collect", "status", query).err


def test_a_new_query_says_what_it_will_do_and_where_to_go_on(tamis: Run) -> None:
    ran = tamis(*CREATE)
    assert re.fullmatch("[0-9a-f]{32}\n", ran.text)
    assert "kept with probability 0.2537" in ran.err
    assert "at least 14" in ran.err
    assert ran.text.strip() in tamis("collect", "status").text


def test_where_there_is_no_query_status_says_how_to_make_one(tamis: Run) -> None:
    ran = tamis("collect", "status")
    assert (ran.code, ran.text) == (0, "")
    assert "tamis collect create --help" in ran.err


def test_the_status_of_an_open_query_says_until_when_and_what_is_next(tamis: Run) -> None:
    made = tamis(*CREATE, "--json").json
    ran = tamis("collect", "status")
    head, asked, promised = ran.text.splitlines()
    assert head == f"{made['query']}  open until {made['closes']}"
    assert asked.startswith("  histogram, round 1 of 1 ")
    assert asked.index("Which fruit?") == head.index("open")
    assert promised.endswith("p 0.2537, tau 14")
    assert ran.err.splitlines() == [
        f"to make tokens: tamis collect tokens {made['query']} COUNT",
        "to take reports: tamis collect serve",
        f"signer, for devices: {made['signer']}",
    ]
    assert tamis("collect", "status", "--json").json == [made]


def test_the_status_of_several_queries_fits_into_80_columns(tamis: Run) -> None:
    long = "Which of the fruit in your kitchen did you eat first, or would have eaten first?"
    asked = (*CREATE[:5], long, *CREATE[6:])
    first, second, third = (tamis(*asked).text.strip() for _ in range(3))
    tamis("collect", "close", first)
    tamis("collect", "close", second, "--abandon")
    ran = tamis("collect", "status")
    blocks = {block[:32]: block for block in ran.text.rstrip().split("\n\n")}
    assert set(blocks) == {first, second, third}
    assert "  closed, not counted yet\n" in blocks[first]
    assert "  closed without release\n" in blocks[second]
    assert "  open until " in blocks[third]
    assert max(map(len, (*ran.text.splitlines(), *ran.err.splitlines()))) <= 80
    assert (
        len({line.index("Which of") for line in ran.text.splitlines() if "Which of" in line}) == 1
    )
    steps = ran.err.splitlines()
    assert steps[0] == f"to count: tamis collect release {first} -o FILE"
    assert second not in ran.err
    assert long in tamis("collect", "status", third).text


@pytest.mark.parametrize(
    "words",
    [CREATE, (*HITTERS, "--longest", "9"), (*QUANTILES, "--domain", "8"), (*HITTERS, "--longest",
     "9", "--rounds", "2", "--depth", "4", "--neighbours", "replace")],
)  # fmt: skip
def test_any_kind_can_be_asked_against_colluding_devices_or_with_a_threshold(
    tamis: Run, words: tuple[str, ...]
) -> None:
    usual = tamis(*words, "--json").json
    against = tamis(*words, "--colluding", "4", "--json").json
    assert (against["tau"], against["p"]) == (usual["tau"] + 4, usual["p"])
    higher = tamis(*words, "--tau", str(usual["tau"] + 9), "--json").json
    assert higher["tau"] == usual["tau"] + 9
    assert higher["p"] > usual["p"]
    slower = tamis(*words, "--p", "0.05", "--json").json
    assert slower["p"] == pytest.approx(0.05)
    assert slower["tau"] < usual["tau"]


@pytest.mark.parametrize("words", [(*CREATE, "--tau", "1"), (*CREATE, "--tau", "1", "--json")])
def test_a_threshold_of_one_device_is_said_in_one_line(tamis: Run, words: tuple[str, ...]) -> None:
    ran = tamis(*words)
    assert ran.code == 0
    said = [line for line in ran.err.splitlines() if "a single client" in line]
    assert len(said) == 1
    assert said[0].startswith("tau = 1: ")
    assert "single" not in tamis(*CREATE).err


def test_tokens_are_of_their_query(tamis: Run, folder: Path) -> None:
    query = tamis(*CREATE).text.strip()
    tokens = tamis("collect", "tokens", query, "3", "--json").json
    with open_store(folder / "collector.sqlite") as store:
        found = store.query(query)
        assert found is not None
        shown = [token_parts(token)[0] for token in tokens]
        opened = {opened_token(found.token_key, query, token) for token in shown}
    assert len(opened) == 3
    assert None not in opened


def test_a_query_can_be_abandoned(tamis: Run, folder: Path) -> None:
    query = tamis(*CREATE).text.strip()
    assert "reports are deleted" in tamis("collect", "close", query, "--abandon").err
    ended = tamis("collect", "release", query, "-o", "x.parquet")
    assert (ended.code, "closed without release" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*CREATE, "--domain", "5"), "say what clients hold"),
        ((*CREATE, "--p", "0.9"), r"p must be at most 1 - e\^-epsilon"),
        ((*CREATE, "--tau", "0"), "tau must be a whole number"),
        ((*CREATE, "--tau", "3", "--p", "0.2"), "tau = 3 is too small"),
        ((*CREATE, "--rounds", "3"), "--rounds and --depth are for heavy hitters"),
        ((*CREATE, "--at", "0.5"), "--at and --clients are for quantiles"),
        ((*CREATE[:-1], "soon"), "--window takes a number and a letter"),
        ((*CREATE[:-1], "900d"), "window must be 1 second to 366 days"),
        ((*CREATE, "--budget", "none"), "There is no budget 'none'"),
        ((*CREATE[:5], "two\nlines", *CREATE[6:]), "question must be one line"),
        ((*HITTERS, "--longest", "9", "--rounds", "3"), "depth is missing"),
        ((*HITTERS, "--domain", "9"), "heavy hitters are of text"),
        ((*QUANTILES, "--domain", "0"), "domain must be a whole number from 1"),
        ((*QUANTILES, "--domain", "8", "--at", "2"), "at must be numbers from 0 to 1"),
        ((*QUANTILES, "--domain", "8", "--tau", "3", "--p", "0.1"), "the smallest .* is 8"),
        ((*QUANTILES, "--domain", "8", "--colluding", "-1"), "colluding must be a whole number"),
        ((*HITTERS, "--longest", "9", "--p", "0.9"), r"p must be at most 1 - e\^-epsilon"),
        ((*CREATE, "--tau", "3", "--colluding", "3"), "tau must be more than colluding = 3"),
        (("collect", "status", "f" * 32), "There is no query"),
        (("collect", "tokens", "f" * 32, "1"), "There is no query"),
        (("collect", "release", "f" * 32, "-o", "x.parquet"), "There is no query"),
        (("collect", "status", "--store", "mysql://x"), "begins with postgresql://"),
        (("collect", "serve", "--port", "99999"), "whole number from 0 to 65535"),
    ],
)
def test_what_makes_no_sense_is_refused(tamis: Run, words: tuple[str, ...], said: str) -> None:
    ran = tamis(*words)
    assert (ran.code, ran.text) == (2, "")
    assert re.search(said, ran.err), ran.err


def test_a_port_that_is_taken_is_told(tamis: Run) -> None:
    with serving() as address:
        ran = tamis("collect", "serve", "--port", address.rpartition(":")[2])
    assert (ran.code, "is taken by another program" in ran.err) == (2, True)


@pytest.mark.usefixtures("folder")
def test_a_server_that_is_stopped_shows_no_error() -> None:
    words = [sys.executable, "-m", "tamis", "collect", "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert "Traceback" not in rest
