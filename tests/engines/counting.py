"""Counting in plain Python, and asking an engine for all that it has counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine, Frequencies, Ints, Request
from tamis.privacy import randomness
from tamis.privacy.randomness import Words

Counts = dict[tuple[Any, ...], int]


class Repeated:
    """Gives the same words every time it is made: the same secret for different data."""

    def __init__(self, seed: int = 0) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, n: int) -> Words:
        return self._generator.integers(2**64, size=n, dtype=np.uint64)


def counts(engine: Engine, data: Any, request: Request, table: str | None = None) -> Counts:
    """All keys with their frequencies."""
    if table is not None and not isinstance(engine, DuckDB):
        data, table = _read(data, table), None  # only DuckDB reads its own databases
    counted = engine.count(data, request, table).frequencies()
    keys, frequencies = named(counted)
    assert frequencies.dtype == np.int64
    assert (frequencies >= 1).all()
    assert counted.total == frequencies.sum()
    assert counted.largest == frequencies.max(initial=0)
    assert keys.column_names == list(request.key)
    names = list(zip(*(keys[name].to_pylist() for name in request.key), strict=True))
    assert len(set(names)) == len(names), "a key came twice"
    return dict(zip(names, frequencies.tolist(), strict=True))


def _read(path: str, name: str) -> pa.Table:
    with duckdb.connect(path, read_only=True) as database:
        return database.sql(f'SELECT * FROM "{name}"').to_arrow_table()


def named(frequencies: Frequencies) -> tuple[pa.Table, Ints]:
    """All keys, and their frequencies."""
    return frequencies.named(np.copy)


def repeated(engine: Engine, data: Any, request: Request, seed: int = 0) -> Counts:
    with randomness.using(Repeated(seed)):
        return counts(engine, data, request)


def plain(rows: Iterable[tuple[Any, ...]], nulls: str = "drop") -> Counts:
    """What a person would count."""
    return dict(Counter(row for row in rows if nulls == "keep" or None not in row))


def table(columns: dict[str, pa.DataType], rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows of Python values as a table with these types."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    return pa.table({n: pa.array(v, t) for (n, t), v in zip(columns.items(), values, strict=True)})
