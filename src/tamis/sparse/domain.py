"""The domain of a table: named attributes whose values are public, and the cells they span.

Nearly all cells may be empty, and there may be more of them than any computer can count. A cell is
a column of codes, one for each attribute, or a whole number of any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import prod
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.privacy.errors import InvalidInput, counted, shown
from tamis.sparse.attributes import Attribute, attribute
from tamis.sparse.attributes.base import is_whole
from tamis.sparse.attributes.described import from_toml
from tamis.sparse.attributes.numbers import cardinality
from tamis.sparse.attributes.public import MOST, check_distinct, check_public, unknown

Ints = npt.NDArray[np.int64]

_EXACT = 10**15  # numbers of cells up to here are written out


@dataclass(frozen=True, init=False, repr=False)
class Domain:
    """Attributes by name, in order; a whole number n stands for the values 0, ..., n - 1.

    >>> domain = Domain(home=4001, work=4001)
    >>> domain.cells
    16008001
    >>> domain.codes_of(domain.number((17, 4000)))
    (17, 4000)
    """

    attributes: tuple[tuple[str, Attribute], ...]

    def __init__(self, attributes: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        given = {**_mapping({} if attributes is None else attributes), **named}
        if attributes and any(name in attributes for name in named):
            raise InvalidInput("An attribute is given twice; give each name once.")
        _check_names(given)
        found = tuple((name, _attribute(name, value)) for name, value in given.items())
        object.__setattr__(self, "attributes", found)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Domain:
        """The domain of a TOML file with one table for each attribute (docs/domain.md)."""
        return cls(from_toml(Path(path)))

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> Domain:
        """The domain that was described."""
        try:
            entries = [(entry["name"], entry) for entry in described["attributes"]]
        except (TypeError, KeyError):
            raise InvalidInput(
                "A domain is described by a list of attributes with names."
            ) from None
        rest = [(n, {k: v for k, v in e.items() if k != "name"}) for n, e in entries]
        if len(dict(rest)) < len(rest):
            raise InvalidInput("An attribute is described twice.")
        return cls({name: attribute(entry) for name, entry in rest})

    def describe(self) -> dict[str, Any]:
        """All that is needed to make the domain anew, for JSON."""
        return {"attributes": [{"name": name, **a.describe()} for name, a in self.attributes]}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(name for name, _ in self.attributes)

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """How many codes each attribute has."""
        return tuple(a.cardinality for _, a in self.attributes)

    @cached_property
    def cells(self) -> int:
        """How many cells there are, exactly."""
        return prod(self.radices)

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Attribute:
        for known, found in self.attributes:
            if known == name:
                return found
        raise unknown(name, self.names, "attribute")

    def encode(self, table: pa.Table) -> Ints:
        """The codes of a table: a row for each attribute, a column for each row of the table."""
        return np.array(list(self._codes(table)), dtype=np.int64)

    def cells_of(self, table: pa.Table) -> Ints:
        """The same as `pack` makes it, a row for each group."""
        rows, packed = self._codes(table), list[Ints]()
        for group in self.groups:
            packed.append(next(rows))
            for radix in self.radices[group][1:]:
                packed[-1] *= radix
                packed[-1] += next(rows)
        return packed[0][None] if len(packed) == 1 else np.array(packed)

    def _codes(self, table: pa.Table) -> Iterator[Ints]:
        """A fresh row for each attribute, after all columns are seen to be there."""
        for name in self.names:
            _check_column(name, table.column_names)
        for name, a in self.attributes:
            yield a.codes(table.column(name), _called(name))

    def decode(self, codes: npt.ArrayLike) -> pa.Table:
        """The values with these codes, as a table with the attributes as its columns."""
        rows = self._rows(codes, len(self))
        pairs = zip(self.attributes, rows, strict=True)
        return pa.table({name: a.decode(row) for (name, a), row in pairs})

    def span(self, name: str, low: Any, high: Any) -> tuple[int, int]:
        """The first and the last code of a range of one attribute, given by its ends."""
        return self[name].span(low, high, _called(name))

    def number(self, codes: Sequence[int] | Ints) -> int:
        """The number of a cell: its codes as digits, the first attribute's in front."""
        if len(codes) != len(self):
            raise InvalidInput(f"A cell has {len(self)} codes, one for each attribute.")
        found = 0
        for code, (name, a) in zip(codes, self.attributes, strict=True):
            if not 0 <= index(code) < a.cardinality:
                raise InvalidInput(f"{_called(name)} has codes from 0 to {a.cardinality - 1}.")
            found = found * a.cardinality + index(code)
        return found

    def codes_of(self, number: int) -> tuple[int, ...]:
        """The codes of the cell with this number."""
        rest = index(number)
        if not 0 <= rest < self.cells:
            raise InvalidInput(f"Cells have numbers from 0 on, below {_size(self.cells)}.")
        digits = []
        for radix in reversed(self.radices):
            rest, digit = divmod(rest, radix)
            digits.append(digit)
        return tuple(reversed(digits))

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """Neighbouring attributes whose codes fit together into one number of 64 bits."""
        found, start = [], 0
        for stop in range(1, len(self) + 1):
            if stop == len(self) or prod(self.radices[start : stop + 1]) > MOST:
                found.append(slice(start, stop))
                start = stop
        return tuple(found)

    @cached_property
    def packed(self) -> tuple[int, ...]:
        """The radix of each group: as few as there can be, because each costs work."""
        return tuple(prod(self.radices[group]) for group in self.groups)

    def pack(self, codes: npt.ArrayLike) -> Ints:
        """A row for each group instead of one for each attribute; cells keep their order."""
        rows = self._rows(codes, len(self))
        packed = np.zeros((len(self.groups), rows.shape[1]), dtype=np.int64)
        for n, group in enumerate(self.groups):
            for radix, digits in zip(self.radices[group], rows[group], strict=True):
                packed[n] = packed[n] * radix + digits
        return packed

    def unpack(self, packed: npt.ArrayLike) -> Ints:
        """A row for each attribute again."""
        rows = self._rows(packed, len(self.groups))
        codes = np.empty((len(self), rows.shape[1]), dtype=np.int64)
        for row, group in zip(rows, self.groups, strict=True):
            rest = row
            for n in range(group.stop - 1, group.start, -1):
                rest, codes[n] = np.divmod(rest, self.radices[n])
            codes[group.start] = rest
        return codes

    def _rows(self, codes: npt.ArrayLike, many: int) -> Ints:
        rows = np.asarray(codes)
        if rows.ndim != 2 or len(rows) != many or not is_whole(rows):
            raise InvalidInput(
                f"codes must be whole numbers, {counted(many, 'row')} with a column for each cell."
            )
        return rows.astype(np.int64, copy=False)

    def __str__(self) -> str:
        lines = [(name, f"{a.cardinality:,}", _said(a)) for name, a in self.attributes]
        name, many = (max(len(line[n]) for line in lines) for n in range(2))
        body = [f"{a:<{name}}  {b:>{many}}  {c}" for a, b, c in lines]
        return "\n".join([*body, f"{_size(self.cells)} cells"])

    def __repr__(self) -> str:
        return f"Domain({', '.join(self.names)}: {_size(self.cells)} cells)"


def _called(name: str) -> str:
    return f"Attribute {name!r}"


def _said(a: Attribute) -> str:
    return a.extent if a.other is None else f"{a.extent}, or {a.other!r}"


def _size(cells: int) -> str:
    """A number of cells of any size: 16,008,001, or 2^100, or 1.2e+30."""
    if cells <= _EXACT:
        return f"{cells:,}"
    exact = cells & (cells - 1) == 0
    return f"2^{cells.bit_length() - 1}" if exact else f"{Decimal(cells):.1e}"


def _mapping(given: Any) -> Mapping[Any, Any]:
    check_public(given, "A domain")
    if not isinstance(given, Mapping):
        raise InvalidInput("A domain is a mapping from names to attributes.")
    return given


def _check_names(given: Mapping[Any, Any]) -> None:
    if not given:
        raise InvalidInput("A domain has at least one attribute: Domain(home=4001, ...).")
    for name in given:
        if type(name) is not str or not name.strip():
            raise InvalidInput(f"Names of attributes are text, not {shown(name)}.")
    check_distinct(list(given), "Names of attributes", cased=False)


def _attribute(name: str, given: Any) -> Attribute:
    if isinstance(given, Attribute):
        return given
    check_public(given, _called(name))
    if isinstance(given, (int, float)):
        try:
            return cardinality(given)
        except InvalidInput as error:
            raise InvalidInput(f"{_called(name)}: {error}") from None
    raise InvalidInput(
        f"{_called(name)} must be a number of values, or Labels([...]), Whole(low, high), "
        f"Bins([...]), Dates(first, last) or Hierarchy({{...}}), not {type(given).__name__}."
    )


def _check_column(name: str, there: list[str]) -> None:
    """The columns that there are may not be named: those of a file may be its first row."""
    if there.count(name) != 1:
        which = "more than one column" if name in there else "no column"
        raise InvalidInput(
            f"{_called(name)}: data has {which} of that name; give it one, or leave the attribute "
            "out of the domain."
        )
