"""Pages as a browser sees them."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
VOID = {"meta", "link", "br"}
HOSTILE = [
    "<script>alert('1')</script>",
    '"><img src=x onerror=alert(1)>',
    "a & b &lt;",
    "two\nlines",
    "\u202eright to left\u200f",
    "\x00\x1b[31m",
    "</title></style></svg><style>*{display:none}",
    "שלום",
]


class Page(HTMLParser):
    """What a browser sees: elements in their places, attributes, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str]]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)
            self.text.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.text[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.found if name == tag]

    @property
    def body(self) -> str:
        return " ".join(self.text["body"][0].split())


def rows_of(text: str, kind: str) -> list[list[str]]:
    """The cells of the table of one kind."""
    found = re.search(rf'<table class="{kind}">.*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    assert found
    rows = re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def check_readable(seen: Page) -> None:
    """Whether the page can be read without seeing it."""
    assert seen.all("html") == [{"lang": "en"}]
    ids = [attributes["id"] for _, attributes in seen.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in seen.found:
        assert set(attributes.get("aria-labelledby", "").split()) <= set(ids)
    for svg in seen.all("svg"):
        named = {"aria-labelledby", "aria-label"} & svg.keys()
        assert svg.get("aria-hidden") == "true" or (svg["role"] == "img" and named)
    assert all(th.get("scope") in ("row", "col") for th in seen.all("th"))
    assert len(seen.all("caption")) == len(seen.all("table"))
    assert {"main", "header", "footer", "section"} <= {tag for tag, _ in seen.found}


def opened(target: Path, folder: Path) -> tuple[str, Path]:
    """What a browser has to say about a page, and its picture."""
    assert CHROMIUM
    picture = folder / "picture.png"
    command = [
        CHROMIUM,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=1100,3000",
        f"--screenshot={picture}",
        target.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return "\n".join(line for line in done.stderr.split("\n") if "CONSOLE" in line), picture
