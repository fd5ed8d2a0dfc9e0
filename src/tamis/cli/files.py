"""Files that are written: looked at before anything is drawn or charged, and whole or not there."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tamis.cli import streams
from tamis.cli.failures import Failed
from tamis.cli.streams import STANDARD
from tamis.privacy.errors import InvalidInput
from tamis.releases.writing import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.releases.clusters.clusters import Clusters
    from tamis.releases.release import Release
    from tamis.releases.summary.summary import Summary

_SPECIAL = frozenset(',"\r\n')  # what a field of CSV in no quotes cannot hold
Kind = Literal["parquet", "csv", "json"]


def check_output(path: str | None, force: bool, inputs: Sequence[str] = ()) -> None:
    """Refuse a file that cannot be written, or that is there already and not to be replaced."""
    if path is None or path == STANDARD:
        return
    target = Path(path)
    if target.exists():
        _check_replaced(target, force, inputs)
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except FileNotFoundError:
        folder = str(target.parent)
        what = f"there is no folder {folder!r}; make it first."
        if target.parent.is_dir():  # one that the system keeps for itself
            what = f"no file can be made in {folder!r}; name another place."
        raise InvalidInput(f"{path!r} cannot be written: {what}") from None
    except OSError as error:
        raise InvalidInput(f"{path!r} cannot be written: {error.strerror}.") from None


def check_kept(budget: str | None, output: str | None) -> None:
    """Refuse to spend a budget on what would be lost."""
    if budget is not None and output is None:
        raise InvalidInput("a release that costs a budget should be kept: give -o FILE.")


def _check_replaced(target: Path, force: bool, inputs: Sequence[str]) -> None:
    name = str(target)
    if not target.is_file():
        kind = " but a folder" if target.is_dir() else ""
        raise InvalidInput(f"{name!r} is not a file{kind}; name one, or - for standard output.")
    if any(Path(path).is_file() and target.samefile(path) for path in inputs):
        raise InvalidInput(f"{name!r} is read and cannot be written too; name another file.")
    if not force:
        raise InvalidInput(f"{name!r} exists already; name another file, or replace it: --force.")


def write_file(path: str, data: bytes, private: bool = False) -> None:
    """Write all of it, or nothing; - is standard output."""
    if path == STANDARD:
        streams.put_bytes(data)
        return
    try:
        with whole_file(path, private) as file:
            file.write(data)
    except InvalidInput as error:
        raise Failed(str(error)) from None


def target(
    path: str | None,
    kind: Kind | None,
    force: bool,
    inputs: Sequence[str] = (),
    other_output: bool = False,
) -> Target | None:
    """Where to save, checked; a form without a file means standard output, and neither nothing.

    ``other_output`` says that something else is printed to standard output.
    """
    if path is None and kind is None:
        return None
    suffix = Path(path or "").suffix.lower()
    by_name: Kind = "csv" if suffix == ".csv" else "json" if suffix == ".json" else "parquet"
    found = Target(path or STANDARD, kind or by_name)
    if found.path == STANDARD and other_output:
        raise InvalidInput("standard output cannot take two things: name a file with -o.")
    if found.path == STANDARD and found.kind == "parquet" and sys.stdout.isatty():
        raise InvalidInput("a terminal cannot show Parquet: name a file, or add --format csv.")
    check_output(path, force, inputs)
    return found


@dataclass(frozen=True)
class Target:
    """Where a release goes, and in which form; only Parquet holds what is guaranteed."""

    path: str
    kind: Kind

    @property
    def name(self) -> str:
        return "standard output" if self.path == STANDARD else self.path

    def save(self, release: Release | Summary | Clusters) -> None:
        if self.kind == "parquet" and self.path != STANDARD:
            try:
                release.save(self.path)
            except InvalidInput as error:
                raise Failed(str(error)) from None
        else:
            write_file(self.path, self._bytes(release))

    def _bytes(self, release: Release | Summary | Clusters) -> bytes:
        if self.kind != "parquet":
            return table_bytes(release.to_arrow(), self.kind)
        with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
            release.save(Path(folder) / "release.parquet")
            return (Path(folder) / "release.parquet").read_bytes()


def tell_written(target: Target | None) -> None:
    if target is not None and target.path != STANDARD:
        streams.say(f"written: {target.path}")


def table_bytes(table: pa.Table, kind: Kind) -> bytes:
    """A table alone, without a word on what is guaranteed."""
    if kind == "json":
        return streams.as_json(streams.records(table))
    if kind == "csv":
        return _csv(table)
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _csv(table: pa.Table) -> bytes:
    """With a header, in UTF-8; what is missing is an empty field, and empty text is ""."""
    rows = [table.column_names, *(row.values() for row in streams.records(table))]
    lines = (",".join(map(_field, row)) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _field(value: Any) -> str:
    text = streams.plain(value)
    plain = value is None or (text and not set(text) & _SPECIAL)
    return text if plain else '"{}"'.format(text.replace('"', '""'))
