"""`tamis plan`: numbers, charts and pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import tamis as library
from tamis.cli import chart, compare
from tamis.cli.shape import stated
from tests.cli.conftest import Run

PLAN = ("plan", "--epsilon", "1", "--delta", "1e-8", "--keys-per-unit", "4")
SHAPE = ("--shape", "zipf:1.1:10000:100000")
TWELVE = ("--units-have", "12")


def test_a_plan_says_from_where_on_half_are_named(tamis: Run) -> None:
    ran = tamis(*PLAN)
    assert (ran.code, ran.err) == (0, "")
    plan = library.plan(1.0, 1e-8, 4)
    assert f"tamis: half are named from {plan.half} on" in ran.text
    assert "Laplace and threshold: half are named from 78 on" in ran.text
    assert "Gaussian and threshold: half" in ran.text


def test_without_a_terminal_it_is_plain_text(tamis: Run) -> None:
    assert tamis(*PLAN, *SHAPE, *TWELVE, "--suggest").out.isascii()


def test_the_document_holds_what_the_library_says(tamis: Run) -> None:
    said = tamis(*PLAN, *SHAPE, "--json").json
    plan = library.plan(1.0, 1e-8, 4)
    assert said["named"]["tamis"] == pytest.approx(plan.reporting(said["frequency"]))
    assert said["expected"]["tamis"] == pytest.approx(
        plan.expected(stated("zipf:1.1:10000:100000").frequencies)
    )
    assert said["expected"]["tamis"] >= max(said["expected"].values())


def test_the_table_says_what_its_columns_mean(tamis: Run) -> None:
    shown = tamis(*PLAN, "--coverage", "0.999").text
    assert "named: how likely a key of this frequency is named" in shown
    said = "interval: a typical one if it is named; 99.9 % of all named keys have their true"
    assert f"{said} frequency in their interval" in " ".join(shown.split())
    assert "named: how likely" in tamis("release", "--key", "k", *PLAN[1:5], "--dry-run").text


def test_a_public_histogram_takes_the_place_of_a_shape(tamis: Run) -> None:
    said = tamis(*PLAN, "--histogram", "words.csv", "--frequency", "n", "--json").json
    assert said["shape"]["keys"] == 30
    assert 0 < said["expected"]["tamis"] <= 30


def test_a_sampled_plan_stands_alone(tamis: Run) -> None:
    words = ("--scheme", "ppswor", "--tau", "0.01")
    assert list(tamis(*PLAN, *words, "--json").json["half"]) == ["tamis"]
    assert "the classical ways" in tamis(*PLAN, *words).text
    assert tamis(*PLAN, "--elements-per-key", "3").code == 0


class Tags(HTMLParser):
    """Which tags stand open, and which addresses are named."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "line", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone(tamis: Run, folder: Path) -> None:
    ran = tamis(*PLAN, *SHAPE, *TWELVE, "--suggest", "--unit", "<b>user</b>", "-o", "plan.html")
    assert (ran.code, ran.out) == (0, b"")
    page = (folder / "plan.html").read_text()
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.seen.count("polyline") == 3
    assert "b" not in tags.seen
    assert not re.search(r"https?:|src=|href=|<script", page)
    assert "Suggested: 12." in page
    assert "typical 95 % interval of a named key" in page
    assert tamis(*PLAN, "-o", "plan.html").code == 2
    assert tamis(*PLAN, "-o", "-").text.startswith("<!doctype html>")


def test_the_page_counts_as_people_do(tamis: Run) -> None:
    assert "with at most 4 keys and 1 element in each" in tamis(*PLAN, "-o", "-").text
    assert "with at most 1 key and 1 element in each" in tamis(*PLAN[:5], "-o", "-").text


def test_bars_are_as_high_as_the_probability() -> None:
    lines = chart.picture(np.array([0.0, 1 / 32, 0.5, 1.0]), blocks=True)
    assert [line[8:].ljust(4) for line in lines] == ["   █", "   █", "  ██", " ▁██"]


def test_the_chart_is_sixty_columns_wide() -> None:
    found = compare.ways(library.plan(1.0, 1e-8))
    for _, lines in chart.chart(found, blocks=True):
        assert all(len(line) <= 8 + chart.COLUMNS for line in lines)
        assert lines[-1].endswith("█")


def test_a_shape_adds_up_to_its_elements() -> None:
    shape = stated("zipf:0.5:1000:100000")
    assert abs(int(shape.frequencies.sum()) - 100_000) < 500
    assert stated("zipf:0:10:100").frequencies.tolist() == [10] * 10


@pytest.mark.parametrize(
    "words",
    [
        ("--suggest",),
        (*SHAPE, "--suggest"),
        ("--shape", "zipf"),
        ("--shape", "zipf:a:b:c"),
        ("--shape", "normal:1:2:3"),
        ("--shape", "zipf:1:100000000000:5"),
        ("--shape", "zipf:nan:10:10"),
        ("--histogram", "words.csv"),
        ("--frequency", "n"),
        ("--histogram", "words.csv", "--frequency", "m"),
        (*SHAPE, "--histogram", "words.csv", "--frequency", "n"),
        ("--epsilon", "2"),
        ("--coverage", "2"),
        ("-o", "-", "--json"),
    ],
)
def test_what_cannot_be_is_refused(tamis: Run, words: tuple[str, ...]) -> None:
    ran = tamis(*PLAN, *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1), ran.err


def test_a_histogram_of_text_is_bad_data(tamis: Run) -> None:
    assert tamis(*PLAN, "--histogram", "words.csv", "--frequency", "word").code == 4
    assert tamis(*PLAN, "--histogram", "nowhere.csv", "--frequency", "n").code == 4
