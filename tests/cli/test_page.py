"""What the page on the command line shows can be run as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.cli.conftest import Run

PAGE = Path(__file__).parent.parent.parent / "docs" / "cli.md"


def lines() -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def test_every_line_of_the_page_runs(tamis: Run, folder: Path) -> None:
    """In the order of the page; what a shell would do with < and > is done here."""
    (folder / "public.csv").write_text((folder / "words.csv").read_text())
    for line in lines():
        program, *words = shlex.split(line.split(" < ")[0].split(" > ")[0])
        given = Path(line.split(" < ")[1]).read_bytes() if " < " in line else b""
        ran = tamis(*words, stdin=given)
        assert (program, ran.code) == ("tamis", 0), f"{line}\n{ran.err}"
        if "--json" in words:
            assert ran.json is not None


def test_every_command_is_on_the_page(tamis: Run) -> None:
    shown = tamis("--help").text
    commands = re.findall(r"^│ ([a-z]+) ", shown, re.MULTILINE)
    assert len(commands) == 8
    for command in commands:
        assert f"`tamis {command}`" in PAGE.read_text()
