"""Where things go: data to standard output, messages to standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, TextIO

from tamis.cli.failures import Failed

if TYPE_CHECKING:
    import pyarrow as pa

STANDARD = "\0"  # a file called -, which stands for standard input or output
FIRST = 10  # so many rows are shown of a new release


def say(message: str) -> None:
    """A message for a person."""
    with contextlib.suppress(OSError):
        _write(sys.stderr, _encoded(sys.stderr, message))


def put(text: str) -> None:
    """Data as text."""
    with _writing():
        _write(sys.stdout, _encoded(sys.stdout, text))


def put_bytes(data: bytes) -> None:
    """Data as it stands."""
    with _writing():
        _write(sys.stdout, data)


def put_json(document: Any) -> None:
    """One document, in UTF-8 whatever the terminal speaks."""
    put_bytes(as_json(document))


def as_json(document: Any) -> bytes:
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=plain)
    return f"{text}\n".encode()


def flush() -> None:
    with _writing():
        sys.stdout.flush()


def give_up() -> None:
    """Nothing more is written; without this, Python complains when it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up()
        raise Failed(f"standard output cannot be written: {error.strerror}.") from None


def _write(stream: TextIO, data: bytes) -> None:
    """All of it: where Python does not buffer, a write may take a part and say so."""
    stream.flush()
    rest = memoryview(data)
    while rest:
        rest = rest[stream.buffer.write(rest) :]
    stream.buffer.flush()


def _encoded(stream: TextIO, text: str) -> bytes:
    """A line; what the encoding lacks is spelt out."""
    return f"{text}\n".encode(stream.encoding or "utf-8", "backslashreplace")


def plain(value: Any) -> str:
    """Dates and the like as text; bytes as hexadecimal digits; nothing for what is missing."""
    if value is None or isinstance(value, bytes):
        return value.hex() if value else ""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def table_text(
    table: pa.Table, first: int | None = None, numbers: Sequence[str] | None = None
) -> str:
    """A table in aligned columns. Its values are data, so they are escaped and cut.

    Columns of ``numbers`` are written as 1,234.5; by default those that a release adds to keys.
    """
    from tamis.weighted import show
    from tamis.weighted.sample import ADDED

    shown = table if first is None else table.slice(0, first)
    more = table.num_rows - shown.num_rows
    rest = f"\n... and {more:,} more" if more else ""
    return show.side_by_side(show.columns(shown, ADDED if numbers is None else numbers)) + rest


def records(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as JSON can hold them; what is no number is null there."""
    return [{name: _value(value) for name, value in row.items()} for row in table.to_pylist()]


def _value(value: Any) -> Any:
    """Decimals as numbers where that changes nothing."""
    if isinstance(value, Decimal):
        if value == value.to_integral_value():
            return int(value)
        return float(value) if Decimal(repr(float(value))) == value else value
    return None if isinstance(value, float) and not isfinite(value) else value


def unmarked(word: str) -> str:
    """A word that is not a file."""
    return word.replace(STANDARD, "-")
