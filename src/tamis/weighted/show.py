"""A table as people see it, in a terminal or a notebook. Keys are data, so they are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from typing import Any
from unicodedata import category, east_asian_width

import numpy as np
import pyarrow as pa

from tamis.sampling.arrow import column_of

ROWS = 10  # so many are shown
_WIDEST = 40  # columns of a terminal for one cell
_DIGITS = 5  # of a float that is rounded
_LONGEST = 100  # characters in it, because some take no room


def as_text(table: pa.Table, numbers: Sequence[str], closing: str) -> str:
    """The first rows in aligned columns, ``numbers`` as 1,234.5, and closing lines."""
    rows = side_by_side(columns(table.slice(0, ROWS), numbers))
    return "\n".join([rows, *_closing(table, closing)])


def as_html(table: pa.Table, numbers: Sequence[str], closing: str) -> str:
    """The same as a plain HTML table, with nothing in it for a browser to interpret."""
    shown = columns(table.slice(0, ROWS), numbers)
    head, *body = zip(*(column.cells for column in shown), strict=True)
    rows = "".join(_html_row(row, "td") for row in body)
    ends = "".join(f"<p>{escape(line)}</p>" for line in _closing(table, closing))
    # without these classes, notebooks read what stands between dollar signs as formulas
    return (
        '<div class="tex2jax_ignore mathjax_ignore">'
        f"<table><thead>{_html_row(head, 'th')}</thead><tbody>{rows}</tbody></table>{ends}</div>"
    )


@dataclass(frozen=True)
class Column:
    """A name and values below it, as text that is safe to show; numbers stand to the right."""

    cells: list[str]
    right: bool

    def padded(self) -> list[str]:
        """All cells, as wide as the widest."""
        room = max(map(width, self.cells))
        spaces = [" " * (room - width(cell)) for cell in self.cells]
        pairs = zip(spaces, self.cells, strict=True)
        return [s + c if self.right else c + s for s, c in pairs]


def columns(table: pa.Table, numbers: Sequence[str]) -> list[Column]:
    """All rows of a table, column by column; ``numbers`` are written as 1,234.5."""
    return [column(n, map(_value, table[n]), n in numbers) for n in table.column_names]


def column(name: str, values: Iterable[Any], grouped: bool = True) -> Column:
    """One column; ``grouped`` numbers are written as 1,234.5, and others as they are."""
    held = list(values)
    right = any(isinstance(v, (int, float)) and not isinstance(v, bool) for v in held)
    return Column([_cell(name, False), *(_cell(v, grouped) for v in held)], right)


def rounded(table: pa.Table, numbers: Sequence[str]) -> pa.Table:
    """Floats that are not among the ``numbers`` with a few digits only, to be shown."""
    for place, name in enumerate(table.column_names):
        if name not in numbers and pa.types.is_floating(table.schema.field(place).type):
            values = table.column(place).to_numpy(zero_copy_only=False).tolist()
            short = np.array([float(f"{value:.{_DIGITS}g}") for value in values])
            table = table.set_column(place, name, column_of(short))
    return table


def side_by_side(shown: Sequence[Column]) -> str:
    """The columns as lines of text."""
    rows = zip(*(column.padded() for column in shown), strict=True)
    return "\n".join("  ".join(row).rstrip() for row in rows)


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


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):  # a date that Python cannot hold
        return scalar.cast("string").as_py()


def _cell(value: Any, grouped: bool) -> str:
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).lower()
    if grouped and isinstance(value, (int, float)):
        return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
    text = value[: _LONGEST + 1].hex() if isinstance(value, bytes) else str(value)
    return shorten(printable(text[: _LONGEST + 1]))


def _html_row(row: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"


def _closing(table: pa.Table, closing: str) -> list[str]:
    more = table.num_rows - ROWS
    rest = [f"... and {more:,} more {'row' if more == 1 else 'rows'}"] if more > 0 else []
    return [*rest, printable(closing)]
