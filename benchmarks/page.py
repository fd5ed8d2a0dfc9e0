"""The page of results: sections with tables and charts, and where they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHARTS = "charts"  # the folder beside the page


@dataclass(frozen=True)
class Chart:
    """A picture: the name of its file, what it shows, and an Altair chart."""

    name: str
    shows: str
    drawn: Any


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    title: str
    text: str
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class Extent:
    """How much is measured: everything, or what fits into a few minutes."""

    quick: bool

    def pick(self, quick: Any, full: Any) -> Any:
        return quick if self.quick else full


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown; numbers are given as text, in as many places as they deserve."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def write(page: Path, head: str, sections: Sequence[Section]) -> None:
    """The page, and its charts in a folder beside it."""
    folder = page.parent / CHARTS
    folder.mkdir(parents=True, exist_ok=True)
    parts = [head]
    for section in sections:
        parts.append(f"## {section.title}\n\n{section.text}")
        for chart in section.charts:
            chart.drawn.save(str(folder / f"{chart.name}.svg"))
            parts.append(f"![{chart.shows}]({CHARTS}/{chart.name}.svg)")
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
