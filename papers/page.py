"""What the reproductions of all papers share: tables inside a README, and their command line.

A table stands between two comments and is replaced as a whole.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol


class Claim(Protocol):
    """A statement of a paper, and what is found."""

    @property
    def number(self) -> str: ...
    def row(self) -> str: ...


def replaced(page: str, name: str, lines: Iterable[str]) -> str:
    """The page with the lines between the comments of this name exchanged."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = page.partition(start)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(
            f"The README has no place for {name!r}: it needs {start.strip()} and {end}."
        )
    return "".join([before, start, *(line + "\n" for line in lines), end, after])


def claims_table(
    page: str, claims: Iterable[Claim], skipped: frozenset[int], header: Iterable[str]
) -> list[str]:
    """All claims in order; rows of skipped figures are taken over from the page as it is."""
    rows = {claim.number: claim.row() for claim in claims}
    for line in page.splitlines():
        number = line.removeprefix("| ").split(" ", 1)[0]
        if line.startswith("| ") and number[:1].isdigit() and int(number[0]) in skipped:
            rows.setdefault(number, line)
    return [*header, *(rows[number] for number in sorted(rows))]


def run_from_command_line(
    run: Callable[[Path, tuple[int, ...]], None], said: str | None, figures: Iterable[int], to: Path
) -> None:
    """Regenerate all figures, or some of them, into a folder."""
    parser = argparse.ArgumentParser(description=said.splitlines()[0] if said else None)
    numbers = sorted(figures)
    parser.add_argument("--only", type=int, nargs="+", choices=numbers, default=[], metavar="N")
    parser.add_argument("--output", type=Path, default=to, help="where the pictures go")
    chosen = parser.parse_args()
    run(chosen.output, tuple(chosen.only))
