"""The tables inside the README: each stands between two comments and is replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterable

from papers.weighted.claims import HEADER, Claim


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


def claims_table(page: str, claims: Iterable[Claim], skipped: frozenset[int]) -> list[str]:
    """All claims in order; rows of skipped figures are taken over from the page as it is."""
    rows = {claim.number: claim.row() for claim in claims}
    for line in page.splitlines():
        number = line.removeprefix("| ").split(" ", 1)[0]
        if line.startswith("| ") and number[:1].isdigit() and int(number[0]) in skipped:
            rows.setdefault(number, line)
    return [*HEADER, *(rows[number] for number in sorted(rows))]
