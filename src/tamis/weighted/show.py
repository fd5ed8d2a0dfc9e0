"""A table as people see it, in a terminal or a notebook. Keys are data, so they are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import accumulate
from typing import Any
from unicodedata import category, east_asian_width

import pyarrow as pa

ROWS = 10  # so many are shown
_WIDEST = 40  # columns of a terminal for one cell
_LONGEST = 100  # characters in it, because some take no room


def as_text(table: pa.Table, numbers: Sequence[str], closing: str) -> str:
    """The first rows in aligned columns, ``numbers`` to the right, and closing lines."""
    rows = _rows(table, numbers)
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    right = [name in numbers for name in table.column_names]
    lines = ["  ".join(map(_pad, row, widths, right)).rstrip() for row in rows]
    return "\n".join([*lines, *_closing(table, closing)])


def as_html(table: pa.Table, numbers: Sequence[str], closing: str) -> str:
    """The same as a plain HTML table, with nothing in it for a browser to interpret."""
    head, *body = _rows(table, numbers)
    rows = "".join(_html_row(row, "td") for row in body)
    ends = "".join(f"<p>{escape(line)}</p>" for line in _closing(table, closing))
    # without these classes, notebooks read what stands between dollar signs as formulas
    return (
        '<div class="tex2jax_ignore mathjax_ignore">'
        f"<table><thead>{_html_row(head, 'th')}</thead><tbody>{rows}</tbody></table>{ends}</div>"
    )


def printable(text: str) -> str:
    r"""The text on one line: control characters, escape sequences and the like are spelt out.

    >>> print(printable("two\nlines"))
    two\nlines
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def shorten(text: str) -> str:
    """Printable text, cut with an ellipsis where it is too long for a cell."""
    if len(text) <= _LONGEST and width(text) <= _WIDEST:
        return text
    start = text[:_LONGEST]
    ends = accumulate(map(width, start))
    return "".join(c for c, end in zip(start, ends, strict=True) if end < _WIDEST) + "…"


def width(text: str) -> int:
    """The columns that printable text takes in a terminal: wide characters two, marks none."""
    return sum(
        0 if category(c) in ("Mn", "Me") else 2 if east_asian_width(c) in "WF" else 1 for c in text
    )


def _rows(table: pa.Table, numbers: Sequence[str]) -> list[list[str]]:
    """The names of the columns and the first rows, as text that is safe to show."""
    shown = table.slice(0, ROWS)
    columns = [
        [_cell(value, name in numbers) for value in shown[name]] for name in table.column_names
    ]
    head = [shorten(printable(name)) for name in table.column_names]
    return [head, *map(list, zip(*columns, strict=True))]


def _cell(scalar: Any, number: bool) -> str:
    try:
        value = scalar.as_py()
    except (OverflowError, ValueError):  # a date that Python cannot hold
        value = scalar.cast("string").as_py()
    if number:
        return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
    return shorten(printable(str(value)[: _LONGEST + 1]))


def _pad(text: str, room: int, right: bool) -> str:
    space = " " * (room - width(text))
    return space + text if right else text + space


def _html_row(row: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"


def _closing(table: pa.Table, closing: str) -> list[str]:
    more = table.num_rows - ROWS
    rest = [f"... and {more:,} more {'key' if more == 1 else 'keys'}"] if more > 0 else []
    return [*rest, printable(closing)]
