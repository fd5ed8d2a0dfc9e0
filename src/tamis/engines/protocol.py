"""What a release asks of an engine, and what it gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Nulls = Literal["drop", "keep"]
Progress = Callable[[str, float], None]  # what is going on, and how many per cent of all are done
Draw = Callable[[Ints], Ints]  # tokens of frequencies; 0 for a key that is not named
Encode = Callable[[pa.Table], Ints]  # the cells of key columns, a column of whole numbers each
# which of some frequencies stay, and what becomes of those
Choose = Callable[[Ints], tuple[npt.NDArray[np.bool_], Ints]]


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


class Frequencies(Protocol):
    """How often each key occurs, from 1 on; held by the engine. Each key is there once."""

    @property
    def total(self) -> int:
        """The sum of all frequencies."""
        ...

    @property
    def largest(self) -> int:
        """The largest frequency; 0 if there is no key."""
        ...

    def named(self, draw: Draw) -> tuple[pa.Table, Ints]:
        """The key columns, and the tokens, of the keys that ``draw`` gives a token above 0.

        ``draw`` is given the frequencies of some keys at a time, and of each key once. No other key
        leaves the engine.
        """
        ...

    def cells(self) -> tuple[Ints, Ints]:
        """The cells of keys that were joined, a column each, and their frequencies.

        For mechanisms that put cells beside them that hold nothing. A cell may come in several
        columns.
        """
        ...


@runtime_checkable
class ScatteredFrequencies(Frequencies, Protocol):
    """Frequencies of cells that are on many machines, and need not leave them."""

    @property
    def many(self) -> int:
        """How many cells there are, each once."""
        ...

    def stayed(self, choose: Choose) -> tuple[Ints, Ints]:
        """The cells, a column each, and the values, of those that stay.

        ``choose`` is given some frequencies at a time, and that of each cell once. No other cell
        leaves the engine.
        """
        ...

    def absent(self, cells: Ints) -> Ints:
        """The places of those of these cells that hold nothing, in their order."""
        ...


class Counted(Protocol):
    """Data that has been read, all of it, and checked; held by the engine.

    Without units the frequencies are facts. With units, which keys of each survive is drawn when
    frequencies are first asked for: a budget can be charged before that, and nothing about the data
    can fail after it.
    """

    def spread(self) -> Ints:
        """How many units have 1, 2, 3 to 4, 5 to 8, ..., 65 to 128, and more keys.

        To be asked before frequencies, of data with units.
        """
        ...

    def join(self, encode: Encode) -> None:
        """Count keys that share a cell as one key.

        ``encode`` gives the cells of key columns, and raises an error for keys that have none.
        Which cells of a unit survive depends on the cells and that unit alone. To be asked before
        frequencies.
        """
        ...

    def frequencies(self, keys_per_unit: int | None = None) -> Frequencies:
        """The frequencies of all keys; the same ones, if they are asked for again.

        With ``keys_per_unit`` units are cut to this bound, and not to that of the request.
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


class NumbersEngine(Engine, Protocol):
    """An engine that also reads points."""

    def numbers(
        self, data: Any, names: Sequence[str], where: str | None = None, table: str | None = None
    ) -> Any:
        """These columns of all rows, as floats; refused if one is missing or not finite.

        An array, or rows that stay where they are (`tamis.importance.kmeans.elsewhere`).
        """
        ...
