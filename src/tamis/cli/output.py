"""Where things go: data to standard output, messages to standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tamis.cli.failures import Failed

if TYPE_CHECKING:
    import pyarrow as pa

STANDARD = "\0"  # a file called -, which stands for standard input or output
FIRST = 10  # so many rows are shown of a new release


def say(message: str) -> None:
    """A message for a person."""
    with contextlib.suppress(OSError):
        _write(sys.stderr, f"{message}\n")
        sys.stderr.flush()


def put(text: str) -> None:
    """Data as text."""
    with _writing():
        _write(sys.stdout, f"{text}\n")


def put_bytes(data: bytes) -> None:
    """Data as it stands."""
    with _writing():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def put_json(document: Any) -> None:
    """One document, in UTF-8 whatever the terminal speaks."""
    put_bytes(as_json(document))


def as_json(document: Any) -> bytes:
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)
    return f"{text}\n".encode()


def flush() -> None:
    with _writing():
        sys.stdout.flush()


def give_up() -> None:
    """Nothing more is written; without this, Python complains when it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _writing() -> Any:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up()
        raise Failed(f"standard output cannot be written: {error.strerror}.") from None


def _write(stream: Any, text: str) -> None:
    """What the stream's encoding lacks is spelt out."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _plain(value: Any) -> str:
    """Dates and the like as text; bytes as hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def table_text(table: pa.Table, first: int | None = None) -> str:
    """A table in aligned columns. Its values are data, so they are escaped and cut."""
    shown = table if first is None else table.slice(0, first)
    columns = [_column(name, shown[name].to_pylist()) for name in shown.column_names]
    lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    more = table.num_rows - shown.num_rows
    return "\n".join([*lines, f"... and {more:,} more"] if more else lines)


def rows_text(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The same for rows that are no table."""
    columns = [_column(name, [row[i] for row in rows]) for i, name in enumerate(head)]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _column(name: str, values: list[Any]) -> list[str]:
    from tamis.weighted.show import printable, shorten, width

    right = any(isinstance(v, (int, float)) for v in values)
    cells = [shorten(printable(name)), *(shorten(printable(_cell(v))) for v in values)]
    room = max(map(width, cells))
    spaces = [" " * (room - width(cell)) for cell in cells]
    return [s + c if right else c + s for s, c in zip(spaces, cells, strict=True)]


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "NULL" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 100 or value == int(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value if isinstance(value, str) else _plain(value)
