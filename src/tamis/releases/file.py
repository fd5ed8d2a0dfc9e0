"""The release file: one Parquet file with the table, and one entry `tamis` in its footer."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.privacy.errors import BadData
from tamis.releases.about import About, read_about
from tamis.releases.writing import whole_file

NAME = b"tamis"


def write(table: pa.Table, about: About, path: str | Path) -> None:
    """Write the file whole or not at all.

    Dictionaries are made of the rows that are written, so they hold no other key.
    """
    text = json.dumps(about.describe(), sort_keys=True).encode()
    with whole_file(path) as file:
        pq.write_table(table.replace_schema_metadata({NAME: text}), file, compression="zstd")


def read(path: str | Path) -> tuple[pa.Table, About]:
    """The table and what the file says about itself; what does not fit together is refused."""
    if not Path(path).is_file():
        raise BadData(f"there is no file {str(path)!r}; check the path.")
    try:
        table = pq.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError):
        raise BadData(f"{str(path)!r} cannot be read as Parquet; it may be damaged.") from None
    text = (table.schema.metadata or {}).get(NAME)
    if text is None:
        raise BadData(f"{str(path)!r} is not a release: its footer has no entry 'tamis'.")
    said = set(pq.read_metadata(path).metadata or {}) | set(table.schema.metadata)
    fields = (set(field.metadata or {}) - {b"PARQUET:field_id"} for field in table.schema)
    if said - {NAME, b"ARROW:schema"} or any(fields):
        raise BadData(f"{str(path)!r} says more about itself than a release does: it was changed.")
    return table.replace_schema_metadata(None), read_about(text)
