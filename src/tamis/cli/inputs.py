"""Files that are read."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tamis.cli.failures import Failed
from tamis.cli.streams import STANDARD
from tamis.privacy.errors import BadData, InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.engines.database import Database
    from tamis.engines.source import Source
    from tamis.sampling.frequencies import Ints
    from tamis.sampling.schemes import Scheme


@contextmanager
def files(paths: Sequence[str]) -> Iterator[list[str]]:
    """The files to read. CSV from standard input is a file for so long, for this user only."""
    if not paths:
        raise InvalidInput("name a file to read; - is CSV from standard input.")
    if STANDARD not in paths:
        yield list(paths)
        return
    if len(paths) > 1:
        raise InvalidInput("standard input (-) cannot be read together with other files.")
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        path = Path(folder) / "standard input.csv"
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        except OSError as error:
            raise Failed(f"standard input cannot be kept: {error.strerror}.") from None
        yield [str(path)]


def counted(
    path: str, numbers: Sequence[str], table: str | None = None, keys: Sequence[str] = ()
) -> pa.Table:
    """A table with columns of whole numbers (int64), read whole; other text stays text."""
    from tamis.engines.database import Database
    from tamis.engines.source import source_of

    with files([path]) as paths, closing(Database(None, None, None)) as database:
        source = source_of(paths[0], table)
        database.wrong = f"{source.name} cannot be read as a table"
        return _read(database, source, numbers, keys)


def _read(
    database: Database, source: Source, numbers: Sequence[str], keys: Sequence[str]
) -> pa.Table:
    from tamis.engines.columns import NO_NUMBER
    from tamis.engines.condition import unknown

    database.attach(source)
    source, types = database.typed(source, wanted=(*numbers, *keys))
    for name in (*numbers, *keys):
        if name not in types:
            raise InvalidInput(unknown(name, list(types), listed=not source.untyped))
    texts = [name for name in numbers if types[name] == "VARCHAR"]
    changed = _changed(texts)
    read: pa.Table = database.run(f"SELECT *{changed} FROM {source.table}", "to_arrow_table")
    for name in texts:
        if read[name].null_count:
            raise BadData(f"{name} holds {NO_NUMBER}.")
    for name in numbers:
        read = read.set_column(read.column_names.index(name), name, [_whole(read, name)])
    return read


def _changed(texts: Sequence[str]) -> str:
    """Text that is to be numbers, as a part of a SELECT."""
    from tamis.engines.source import identifier

    names = map(identifier, texts)
    casts = ", ".join(f"TRY_CAST({name} AS DECIMAL(38, 9)) AS {name}" for name in names)
    return f" REPLACE ({casts})" if casts else ""


def _whole(read: pa.Table, name: str) -> Ints:
    from tamis.sampling.frequencies import check_frequencies

    try:
        return check_frequencies(read[name], name)
    except InvalidInput as error:  # it is not the user's words that are wrong, but the data
        raise BadData(str(error)) from None


def read_text(path: str) -> str:
    """A small file of text."""
    try:
        if path == STANDARD:
            return sys.stdin.buffer.read().decode()
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadData(f"{path!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise BadData(f"{path!r} is not text in UTF-8.") from None


def scheme(name: str, tau: float | None, power: float) -> Scheme | None:
    """The scheme that the options name; None stands for everything."""
    from tamis.sampling.schemes import Pps, Ppswor

    if name == "everything":
        if tau is not None or power != 1:
            raise InvalidInput("--tau and --power are for a sample: add --scheme ppswor (or pps).")
        return None
    if tau is None:
        raise InvalidInput(f"--scheme {name} needs --tau, the rate of the sample, such as 0.01.")
    return Pps(tau, power) if name == "pps" else Ppswor(tau, power)
