"""What the page on the command line and the README show can be run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Shell

ROOT = Path(__file__).parent.parent.parent
PAGE, README = ROOT / "docs" / "cli.md", ROOT / "README.md"


def lines(page: Path = PAGE) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL)
    found = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line.removeprefix(".venv/bin/") for line in found]


@pytest.mark.parametrize(
    "page", [pytest.param(PAGE, marks=pytest.mark.slow), README], ids=["cli.md", "README.md"]
)
def test_every_line_of_the_page_runs(shell: Shell, folder: Path, page: Path) -> None:
    """In the order of the page."""
    (folder / "public.csv").write_text((folder / "words.csv").read_text())
    (folder / "units.csv").write_text("keys,units\n1,500\n20,100\n")
    assert any(line.startswith("tamis release") for line in lines(page))
    for line in lines(page):
        ran = shell(line)
        assert ran.code == 0, f"{line}\n{ran.err}"
        if line.endswith("--json"):
            assert ran.json is not None


def test_suggestion_and_plan_on_the_page_are_what_is_printed(shell: Shell) -> None:
    shown = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for said, words in zip(shown, ("--units-have 12", "summarize --plan"), strict=True):
        line = next(line for line in lines() if words in line)
        assert said in shell(line).text


def test_every_command_is_on_the_page(tamis: Run) -> None:
    shown = tamis("--help").text
    commands = re.findall(r"^│ ([a-z]+) ", shown, re.MULTILINE)
    assert len(commands) == 11
    for command in commands:
        assert f"`tamis {command}`" in PAGE.read_text()
