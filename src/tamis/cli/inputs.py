"""Files that are read."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tamis.cli.failures import Failed
from tamis.cli.streams import STANDARD
from tamis.privacy.errors import BadData, InvalidInput

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from tamis.engines.source import Source
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


def counted(path: str, frequency: str, table: str | None = None) -> pa.Table:
    """A table of keys and frequencies, read whole; text of a file stays text, but for these."""
    import duckdb

    from tamis.engines.source import source_of

    with files([path]) as paths, duckdb.connect() as database:
        source = source_of(paths[0], table)
        try:
            return _read(database, source, frequency)
        except duckdb.Error as error:  # its message may hold data
            raise BadData(
                f"{source.name} cannot be read as a table ({type(error).__name__})."
            ) from None


def _read(database: duckdb.DuckDBPyConnection, source: Source, frequency: str) -> pa.Table:
    from tamis.engines.condition import unknown
    from tamis.engines.source import identifier, text
    from tamis.sampling.frequencies import check_frequencies

    if source.attach is not None:
        database.execute(f"ATTACH {text(source.attach)} AS data (READ_ONLY)")
    if source.loose:
        source = source.as_text(list(_types(database, source)))
    types = _types(database, source)
    if frequency not in types:
        raise InvalidInput(unknown(frequency, list(types)))
    name, number = identifier(frequency), ""
    if types[frequency] == "VARCHAR":
        number = f" REPLACE (TRY_CAST({name} AS DECIMAL(38, 9)) AS {name})"
    read = database.sql(f"SELECT *{number} FROM {source.table}").to_arrow_table()
    try:
        check_frequencies(read[frequency], frequency)
    except InvalidInput as error:  # it is not the user's words that are wrong, but the data
        raise BadData(str(error)) from None
    return read


def _types(database: duckdb.DuckDBPyConnection, source: Source) -> dict[str, str]:
    found = database.execute(f"DESCRIBE SELECT * FROM {source.table}").fetchall()
    return {name: kind for name, kind, *_ in found}


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
