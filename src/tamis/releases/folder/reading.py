"""Releases in folders, read and checked."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.privacy.errors import BadData
from tamis.releases.about import About, read_about
from tamis.releases.digest import lines_of, type_in_words
from tamis.releases.folder.folder import digest_of
from tamis.releases.release import Release
from tamis.releases.writing import INSIDE
from tamis.weighted.sample import PrivateSample

_PART = re.compile(r"part-([0-9]+)-.*\.parquet")


def open_folder(path: str | Path) -> Release:
    """A release from a folder, all of it in memory; what was changed is refused."""
    said = _said(Path(path))
    digest = said.pop("digest", None)
    if digest != digest_of(said):
        raise BadData("what the release says about itself does not fit its digest: it was changed.")
    parts, types = said.pop("parts", None), said.pop("types", None)
    about = read_about(said)
    try:
        tables = list(_tables(Path(path), about, types))
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, BadData):
            raise
        raise BadData("the folder has other columns than it says: it was changed.") from None
    if [_digest_of(table) for table in tables] != parts:
        raise BadData("the rows do not fit the digest: the folder was changed.")
    whole = pa.concat_tables(tables) if tables else _no_rows(about)
    return Release(PrivateSample(whole, about.plan), about)


def stated_digest(path: str | Path) -> str:
    """The digest of a release in a folder, as it says itself; `open_folder` checks it."""
    return str(_said(Path(path)).get("digest"))


def _said(folder: Path) -> dict[str, Any]:
    try:
        (text,) = sorted((folder / INSIDE).glob("part-*.txt"))
        said = json.loads(text.read_text(encoding="utf-8"))
        if isinstance(said, dict):
            return said
    except (OSError, ValueError, RecursionError):
        pass
    raise BadData(f"{str(folder)!r} holds no release, or one that is damaged.")


def _tables(folder: Path, about: About, types: Any) -> Iterator[pa.Table]:
    """The files in the order of their numbers, each with the columns of a release."""
    for number, path in _files(folder):
        try:
            table = pq.read_table(path, partitioning=None)
        except (pa.ArrowException, OSError):
            raise BadData(f"{path.name!r} cannot be read as Parquet; it may be damaged.") from None
        plain = table.replace_schema_metadata()
        added = plain.schema.types[len(about.key) :]
        found = [type_in_words(kind) for kind in plain.schema.types[: len(about.key)]]
        known = plain.column_names == [*about.key, *about.added]
        if not known or added != [*about.added.values()] or found != types:
            raise BadData(f"{path.name!r} has other columns than a release: it was changed.")
        if plain.num_rows:
            yield plain
        elif number:  # Spark leaves out parts without rows, but for the first
            raise BadData(f"{path.name!r} is no file of this release: it was added.")


def _files(folder: Path) -> list[tuple[int, Path]]:
    """The files of the release, with their numbers.

    Refused if there is anything else that a reader would take for one. What begins with an
    underscore or a dot, all of them leave alone.
    """
    seen = [path for path in folder.iterdir() if not path.name.startswith(("_", "."))]
    found = [(int(name[1]), path) for path in seen if (name := _PART.fullmatch(path.name))]
    if len(found) < len(seen) or not all(path.is_file() for path in seen):
        raise BadData("the folder holds more than the files of a release: it was changed.")
    return sorted(found)


def _digest_of(table: pa.Table) -> str:
    hashed = hashlib.sha256()
    for lines in lines_of(table):
        hashed.update(lines)
    return hashed.hexdigest()


def _no_rows(about: About) -> pa.Table:
    kinds = dict.fromkeys(about.key, pa.string()) | about.added
    return pa.schema(kinds).empty_table()
