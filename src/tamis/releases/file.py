"""The release file: one Parquet file with the table, and one entry `tamis` in its footer."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.privacy.errors import BadData
from tamis.releases.about import About, read_about
from tamis.releases.clusters.about import CLUSTERS, AboutClusters, read_about_clusters
from tamis.releases.collected.about import COLLECTED, AboutCollected, read_about_collected
from tamis.releases.digest import digest, json_text, type_in_words
from tamis.releases.summary.about import SUMMARY, AboutSummary, read_about_summary
from tamis.releases.writing import as_path, unfinished, whole_file

NAME = b"tamis"
AnyAbout = About | AboutSummary | AboutCollected | AboutClusters


_READ: dict[object, Callable[[Any], AnyAbout]] = {
    SUMMARY: read_about_summary,
    COLLECTED: read_about_collected,
    CLUSTERS: read_about_clusters,
}


class NoRelease(BadData):
    """A Parquet file that does not even say that it is a release."""


class Described(Protocol):
    """What a file says about itself: all of it, and the columns that are not added to the keys."""

    @property
    def key(self) -> tuple[str, ...]: ...

    @property
    def added(self) -> dict[str, pa.DataType]: ...

    def describe(self) -> dict[str, Any]: ...


def footer(table: pa.Table, about: Described) -> dict[str, Any]:
    """All that the file says beside its rows; the digest covers the rest of it, and the rows."""
    types = [type_in_words(kind) for kind in table.schema.types[: len(about.key)]]
    said = about.describe() | {"types": types}
    return said | {"digest": digest(said, table)}


def write(table: pa.Table, about: Described, path: str | Path) -> None:
    """Write the file whole or not at all.

    Dictionaries are made of the rows that are written, so they hold no other key.
    """
    with whole_file(path) as file:
        _write(table, about, file)


def to_bytes(table: pa.Table, about: Described) -> bytes:
    """The content of the file."""
    buffer = BytesIO()
    _write(table, about, buffer)
    return buffer.getvalue()


def _write(table: pa.Table, about: Described, file: BinaryIO) -> None:
    text, plain = json_text(footer(table, about)), table.replace_schema_metadata(None)
    with pq.ParquetWriter(file, plain.schema, compression="zstd") as writer:
        writer.write_table(plain)
        writer.add_key_value_metadata({NAME: text})


def read(path: str | Path) -> tuple[pa.Table, AnyAbout]:
    """The table and what the file says about itself; what does not fit together is refused."""
    if not as_path(path).is_file():
        if Path(path).is_dir():
            raise unfinished(path)
        raise BadData(f"there is no file {str(path)!r}; check the path.")
    try:
        table = pq.read_table(path, partitioning=None)
        said = dict(pq.read_metadata(path).metadata or {})
    except (pa.ArrowException, OSError):
        raise BadData(f"{str(path)!r} cannot be read as Parquet; it may be damaged.") from None
    if NAME not in said:
        raise NoRelease(f"{str(path)!r} is not a release: its footer has no entry 'tamis'.")
    text, again = said[NAME], table.schema.metadata or {}  # what Arrow's own entry repeats of it
    fields = (set(field.metadata or {}) - {b"PARQUET:field_id"} for field in table.schema)
    if set(said) - {NAME, b"ARROW:schema"} or again not in ({}, {NAME: text}) or any(fields):
        raise BadData(f"{str(path)!r} says more about itself than a release does: it was changed.")
    plain = pa.table(table.columns, names=table.column_names)  # no remarks, no "not null"
    return plain, _about(text, plain, str(path))


def _about(text: bytes, table: pa.Table, path: str) -> AnyAbout:
    """What the footer says, if it is about this table."""
    try:
        said = json.loads(text)
        rest = {n: v for n, v in said.items() if n not in ("types", "digest")}
        about: AnyAbout = _READ.get(rest.get("kind"), read_about)(rest)
        alike = json_text(said) == text
    except BadData:
        raise
    except (AttributeError, TypeError, ValueError, RecursionError):
        raise BadData("what the release says about itself is damaged.") from None
    names, kinds = table.column_names, table.schema.types[len(about.key) :]
    added = about.added
    if names != [*about.key, *added] or len(set(names)) < len(names) or kinds != [*added.values()]:
        raise BadData(f"{path!r} has other columns than a release: it was changed.")
    if not alike or json_text(footer(table, about)) != text:  # to Python, 1 and True are equal
        raise BadData("the rows do not fit the digest: the file was changed.")
    return about
