"""Sets of cells that are asked for: boxes, and conditions in SQL; and how many cells they have."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engines.condition import check_condition, columns_of, conjuncts
from tamis.privacy.coins import uniform
from tamis.privacy.errors import InvalidInput, shown
from tamis.releases.condition import not_on, satisfying
from tamis.sparse.domain import Domain

Mask = npt.NDArray[np.bool_]

Ints = npt.NDArray[np.int64]

MOST_ASKED = 1_000_000  # cells that are listed one by one
_MOST = 1_000_000  # cells of the attributes in a condition that are all tried
_TRIED = 100_000  # else so many of them, at random
_WHAT = "attributes"  # what conditions are on


@dataclass(frozen=True)
class Region:
    """A box: the first and the last code of each attribute."""

    bounds: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, domain: Domain, asked: dict[str, Any]) -> Region:
        return cls(tuple(_bounds(domain, name, asked) for name in domain.names))

    @property
    def cells(self) -> int:
        return prod(last - first + 1 for first, last in self.bounds)

    def codes(self) -> Ints:
        """All cells of the box, if they are few enough to be listed."""
        if self.cells > MOST_ASKED:
            raise InvalidInput(
                f"a sketch can be asked for at most {MOST_ASKED:,} cells at once, and these are "
                "more; take smaller ranges, or another method."
            )
        firsts = np.array([first for first, _ in self.bounds], dtype=np.int64)[:, None]
        sizes = [last - first + 1 for first, last in self.bounds]
        return firsts + np.indices(sizes).reshape(len(sizes), -1)


def cells_of(domain: Domain, where: str) -> Ints:
    """All cells that satisfy a condition, if the whole domain can be tried."""
    everything = Region(tuple((0, radix - 1) for radix in domain.radices)).codes()
    check_condition(where)
    return everything[:, satisfying(domain.decode(everything), where, _WHAT)]


def _bounds(domain: Domain, name: str, asked: dict[str, Any]) -> tuple[int, int]:
    if name not in asked:
        return 0, domain[name].cardinality - 1
    given = asked[name]
    if isinstance(given, (tuple, list)):
        if len(given) != 2:
            raise InvalidInput(f"a range of {name!r} has two ends, not {len(given)}.")
        return domain.span(name, *given)
    return domain.span(name, given, given)


@dataclass(frozen=True)
class Matching:
    """Which rows satisfy a condition, and how many cells of the whole domain do."""

    rows: Mask
    cells: float


def matching(domain: Domain, table: pa.Table, where: str) -> Matching:
    """The number of cells is exact if attributes that a condition joins span at most a million.

    Else it is estimated from random cells of the domain, with three more that satisfy it: that
    touches only the standard error and the interval, and no data. Conditions on different
    attributes that must all hold are looked at one by one.
    """
    if not isinstance(where, str):
        raise InvalidInput(f"where must be a condition in SQL, as text, not {shown(where)}.")
    check_condition(where)
    _names(domain, where)  # refuses others
    rows = np.zeros(table.num_rows, dtype=np.bool_)
    rows[satisfying(table.select(list(domain.names)), where, _WHAT)] = True
    joined = list[tuple[set[str], str]]()
    for condition in conjuncts(where):
        names, text = _names(domain, condition), condition
        apart = [(other, said) for other, said in joined if not other & names]
        for other, said in joined:
            if other & names:
                names, text = names | other, f"{said} AND {text}"
        joined = [*apart, (names, text)]
    cells = float(domain.cells)
    for names, text in joined:
        cells *= _share(domain, sorted(domain.names.index(name) for name in names), text)
    return Matching(rows, cells)


def _names(domain: Domain, where: str) -> set[str]:
    """The attributes that a condition is about, as SQL compares names."""
    used = {name.lower() for name in columns_of(where)}
    found = {name for name in domain.names if name.lower() in used}
    if len(found) < len(used):
        raise not_on(domain.names, _WHAT)
    return found


def _share(domain: Domain, places: list[int], where: str) -> float:
    """The share of the cells of these attributes that satisfy a condition."""
    cells = prod(domain.radices[n] for n in places)
    some = cells if cells <= _MOST else _TRIED
    codes = np.zeros((len(domain), some), dtype=np.int64)
    if some == cells:
        sizes = [domain.radices[n] for n in places]
        codes[places] = np.indices(sizes).reshape(len(places), cells)
    else:
        for n in places:
            codes[n] = uniform(domain.radices[n], some)
    true = len(satisfying(domain.decode(codes), where, _WHAT)) + (0 if some == cells else 3)
    return true / some
