"""The page of results: sections with tables and charts, and how some of them are replaced."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_SHORT = re.compile(r"^<!-- In short: (.+) -->$", re.MULTILINE)  # shown at the top alone
_ALL_SHORT = "In short:\n\n"
_SINCE = ", but for what was measured again since then: "


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
    short: str = ""  # what it comes to, in a sentence or two, for the top of the page
    details: str = ""  # tables for the few who look up: on a page of their own


@dataclass(frozen=True)
class Extent:
    """How much is measured: everything, or what fits into a few minutes."""

    quick: bool

    def pick(self, quick: Any, full: Any) -> Any:
        return quick if self.quick else full


@dataclass(frozen=True)
class Page:
    """The text before the first heading, and that of every section by its title, in order."""

    head: str
    sections: dict[str, str]

    def replaced(self, title: str, text: str) -> Page:
        """With this section in the place of the one of its title, or at the end."""
        return Page(self.head, {**self.sections, title: text})

    def only(self, head: str, titles: Sequence[str]) -> Page:
        """With another head and these sections, in this order."""
        return Page(head, {title: self.sections[title] for title in titles})


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown; numbers are given as text, in as many places as they deserve."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def read(path: Path, head: str) -> Page:
    """The page that is there, or an empty one with this head."""
    if not path.exists():
        return Page(head, {})
    before, *parts = _HEADING.split(path.read_text(encoding="utf-8"))
    titles, texts = parts[::2], [text.strip("\n") for text in parts[1::2]]
    own, *_ = before.split(_ALL_SHORT)
    return Page(own.strip("\n"), dict(zip(titles, texts, strict=True)))


def write(path: Path, page: Page) -> None:
    """All of the page or nothing: a file beside it, which then takes its place."""
    sections = (f"## {title}\n\n{text}" for title, text in page.sections.items())
    parts = [page.head, *_in_short(page), *sections]
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as file:
        file.write("\n\n".join(parts) + "\n")
    made = Path(file.name)
    made.chmod(0o644)
    os.replace(made, path)


def _in_short(page: Page) -> list[str]:
    """What the sections come to, for those who have two minutes."""
    found = {title: _SHORT.search(text) for title, text in page.sections.items()}
    lines = [f"- **{title}**: {short[1]}" for title, short in found.items() if short]
    return [_ALL_SHORT + "\n".join(lines)] if lines else []


def rendered(section: Section, measured: str, page: Path) -> str:
    """The text of a section with how it was measured, and its charts, which are written too."""
    short = [f"<!-- In short: {section.short} -->"] if section.short else []
    parts = [measured, *short, section.text]
    if section.details:
        apart = details_of(page)
        apart.write_text(f"# {section.title}\n\n{measured}\n\n{section.details}\n", "utf-8")
        parts.append(f"All figures are in [tables of their own]({apart.name}).")
    for chart in section.charts:
        folder = charts_of(page)
        folder.mkdir(exist_ok=True)
        chart.drawn.save(str(folder / f"{chart.name}.svg"))
        parts.append(f"![{chart.shows}]({folder.name}/{chart.name}.svg)")
    return "\n\n".join(parts)


def charts_of(page: Path) -> Path:
    """The folder beside a page: charts beside results.md, charts-quick beside results-quick.md."""
    stem = page.stem
    results = stem.startswith("results")
    return page.with_name(stem.replace("results", "charts", 1) if results else f"{stem}-charts")


def anew(head: str, title: str) -> str:
    """The head of a page that was made in one run, of which a part was measured again since."""
    begun, made, rest = head.partition("All of it by ")
    if not made:
        return head
    first, _, rest = rest.partition(". ")
    first, _, since = first.partition(_SINCE)
    titles = dict.fromkeys([*filter(None, since.split("; ")), title])
    return f"{begun}{made}{first}{_SINCE}{'; '.join(titles)}. {rest}"


def details_of(page: Path) -> Path:
    """The page beside a page that has its details."""
    return page.with_name(f"{page.stem}-details{page.suffix}")


def refusal(asked: str) -> str | None:
    """Why no page can be written to this path, if none can; makes the folder it is to be in."""
    path = Path(asked)
    if asked.endswith(("/", os.sep)) or path.is_dir():
        return f"{asked} is a folder: name a file in it, such as {path / 'results.md'}."
    if path.exists() and not path.is_file():
        return f"{asked} is no file."
    try:
        if path.exists():
            path.read_text(encoding="utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            return None
    except UnicodeDecodeError:
        return f"{asked} is no page of results: it is not text in UTF-8. Name another file."
    except OSError as error:
        return f"{asked} cannot be written: {error.strerror}."
