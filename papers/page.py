"""Tables inside a README: each stands between two comments and is replaced as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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
    return [*header, *by_claim(page, rows, skipped, "| ")]


def by_claim(page: str, lines: Mapping[str, str], skipped: frozenset[int], start: str) -> list[str]:
    """Lines in the order of their claims, with those of skipped figures as the page has them."""
    found = dict(lines)
    for line in page.splitlines():
        told = re.match(rf"{re.escape(start)}((\d)[a-z])\b", line)
        if told and int(told[2]) in skipped:
            found.setdefault(told[1], line)
    return [found[number] for number in sorted(found)]


def told(claim: Claim) -> str:
    """A claim on lines of their own: its number, and below it each of its texts by name."""
    texts = {name: text for name, text in vars(claim).items() if name != "number" and text}
    return "\n".join([claim.number, *(f"    {name:8} {text}" for name, text in texts.items())])
