"""A release that Spark writes into a folder, file by file: it need not fit into memory."""

from __future__ import annotations

from typing import Any

from tamis.cli import result, streams
from tamis.privacy.errors import InvalidInput, counted

# what a file says of itself that is told to programs
TOLD = ("guarantee", "spent", "curve", "scheme", "key", "nulls", "filtered", "counted", "ledger",
        "day")  # fmt: skip


def into_folder(
    paths: list[str],
    folder: str,
    asked: dict[str, Any],
    format: str | None,
    force: bool,
    show: bool,
    json: bool,
) -> None:
    """Release into a folder, and say what is in it."""
    if asked["engine"] != "spark":
        raise InvalidInput("a folder is written by Spark: add --engine spark, or name a file.")
    if force or format not in (None, "parquet"):
        raise InvalidInput("a folder holds Parquet and is never replaced: name one that is new.")
    import tamis

    made = tamis.release_folder(paths, folder.rstrip("/\\"), **asked)
    result.tell_charge(made.about.entry)
    streams.say(f"written: {folder}")
    named = made.count()
    streams.say(f"{counted(named, 'key')} named; {result.promise(made.guarantee)}")
    first = made.top(streams.FIRST) if show else None
    if json:
        about = made.about.describe()
        document = {"keys": named, "folder": folder, "digest": made.digest}
        document |= {name: about[name] for name in TOLD}
        if first is not None:
            document["rows"] = streams.records(first)
        streams.put_json(document)
    elif first is not None:
        streams.put(streams.table_text(first, streams.FIRST, list(made.about.added)))
