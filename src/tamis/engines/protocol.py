"""What a release asks of an engine, and what it gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Nulls = Literal["drop", "keep"]


@dataclass(frozen=True)
class Request:
    """Which rows are counted, by what key, and how much one unit may contribute.

    Without ``unit`` every row is a unit of its own (or, with ``count``, that many of them) and
    counts once for its key. With ``unit``, a unit counts for at most ``keys_per_unit`` keys, and
    for at most ``elements_per_key`` in each.
    """

    key: tuple[str, ...]
    unit: str | None = None
    keys_per_unit: int = 1
    elements_per_key: int = 1
    where: str | None = None
    count: str | None = None
    nulls: Nulls = "drop"
    floats: bool = False  # whether keys may be fractions: equal ones are then grouped bit by bit


class Counted(Protocol):
    """The keys of some data, each once, with their frequencies; held by the engine.

    The data has been read, all of it, and checked. Without units the frequencies are facts. With
    units, which keys of each survive is drawn when frequencies are first asked for: a budget can be
    charged before that, and nothing about the data can fail after it.
    """

    def spread(self) -> Ints:
        """How many units have 1, 2, 3 to 4, 5 to 8, ..., 65 to 128, and more keys.

        To be asked before frequencies, of data with units.
        """
        ...

    def join(self, cells: Ints) -> Ints:
        """Count keys that share a cell as one key: its column here, in the order of all ``keys``.

        Which cells of a unit survive depends on the cells and that unit alone. What comes back is
        every cell, in the order in which frequencies are given from here on; some may be 0.
        To be asked before frequencies, of data with units.
        """
        ...

    def frequencies(self, keys_per_unit: int | None = None) -> Ints:
        """The frequency of every key, from 1 on, in an order that ``keys`` shares.

        With ``keys_per_unit`` units are cut to this bound, and not to that of the request.
        """
        ...

    def keys(self, where: Ints | None = None) -> pa.Table:
        """The key columns at these ascending places. Only keys that may be named are asked for.

        Without places, all keys: for mechanisms that put others beside them that are not there.
        Before frequencies are asked for, those are the keys of units that are not cut yet.
        """
        ...


class Engine(Protocol):
    """Reads data, enforces the bounds and counts.

    Guarantee: two data sets that differ by the rows of one unit give frequencies that differ in at
    most ``keys_per_unit`` keys, by at most ``elements_per_key`` each. Which keys of a unit survive
    depends on that unit alone and on fresh randomness.
    """

    def count(self, data: Any, request: Request, table: str | None = None) -> Counted: ...

    def close(self) -> None: ...
