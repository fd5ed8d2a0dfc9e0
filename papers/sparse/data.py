"""The tables that are summarised: synthetic ones, and three real ones, read where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from papers.sparse.settings import CELLS, MEAN, SPREAD
from tamis.sparse.flat import Ints, Table

Floats = npt.NDArray[np.float64]

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
RHODE_ISLAND = "commute_rhode_island.csv.gz"
COUNTIES = "commute_us_counties.csv.gz"
ADULT = "adult.csv.gz"

_CATEGORICAL = (1, 3, 5, 6, 7, 8, 9)  # of the 15 columns of Adult
_BLOCKS = 1000  # of a skewed table


@dataclass(frozen=True, eq=False)
class Data:
    """A table with a name."""

    name: str
    table: Table

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.table.cells

    @property
    def held(self) -> int:
        """How many of them are not empty."""
        return len(self.table.counts)

    @cached_property
    def dense(self) -> Floats:
        """All counts, in the shape of the table."""
        counts = np.zeros(self.table.radices)
        counts[tuple(self.table.codes)] = self.table.counts
        return counts

    @cached_property
    def linear(self) -> Data:
        """The same cells in a row, by their numbers."""
        places = np.ravel_multi_index(tuple(self.table.codes), self.table.radices)
        return Data(self.name, Table((self.cells,), places[None], self.table.counts))


@lru_cache
def synthetic(
    density: float, spread: float = SPREAD, skewed: bool = False, mean: float = MEAN
) -> Data:
    """Normal counts, rounded, at least 1, in cells that are chosen uniformly, or in few places.

    A skewed table has a thousand blocks of cells; the weight of a cell is one over the rank of its
    block, in random order, and cells are drawn without replacement by weight.
    """
    held, rng = round(density * CELLS), np.random.default_rng(2012)
    weight = np.zeros(CELLS)
    if skewed:
        weight = -np.repeat(np.log(1 + rng.permutation(_BLOCKS)), CELLS // _BLOCKS)
    chosen = np.argpartition(weight + rng.gumbel(size=CELLS), CELLS - held)[CELLS - held :]
    counts = np.maximum(1, np.rint(rng.normal(mean, spread, held))).astype(np.int64)
    places = "skewed" if skewed else "uniform"
    name = f"{places}, density {100 * density:g} %"
    return Data(name, Table((CELLS,), np.sort(chosen)[None], counts))


def there(name: str, folder: Path = FOLDER) -> bool:
    """Whether a real table can be read."""
    return (folder / name).exists()


@lru_cache
def rhode_island(folder: Path = FOLDER) -> Data:
    """Jobs by work and home block group."""
    rows = _read(folder / RHODE_ISLAND, ["w_geocode", "h_geocode", "S000"])
    work, home = (_texts(rows, name).astype("<U12") for name in ("w_geocode", "h_geocode"))
    areas = np.union1d(work, home)
    codes = np.stack([np.searchsorted(areas, work), np.searchsorted(areas, home)])
    return Data("Rhode Island", _counted((len(areas),) * 2, codes, _numbers(rows, "S000")))


@lru_cache
def counties(folder: Path = FOLDER) -> Data:
    """Commuters by home and work county of the United States."""
    rows = _read(folder / COUNTIES, ["OFIPS", "DFIPS", "FLOW"])
    home, work = _texts(rows, "OFIPS"), _texts(rows, "DFIPS")
    areas = np.union1d(home, work)
    codes = np.stack([np.searchsorted(areas, home), np.searchsorted(areas, work)])
    return Data("US counties", _counted((len(areas),) * 2, codes, _numbers(rows, "FLOW")))


@lru_cache
def adult(folder: Path = FOLDER) -> Data:
    """Persons by the seven categorical attributes; "?" is a value like others."""
    names = [f"f{column}" for column in range(15)]
    rows = _read(folder / ADULT, [names[column] for column in _CATEGORICAL], names)
    columns = [_texts(rows, names[column]) for column in _CATEGORICAL]
    values, codes = zip(*(np.unique(c, return_inverse=True) for c in columns), strict=True)
    radices = tuple(len(v) for v in values)
    return Data("Adult", _counted(radices, np.stack(codes), np.ones(len(rows), dtype=np.int64)))


def _read(path: Path, columns: list[str], names: list[str] | None = None) -> pa.Table:
    """Columns as text, so that codes keep their leading zeros."""
    return csv.read_csv(
        path,
        read_options=csv.ReadOptions(column_names=names),
        convert_options=csv.ConvertOptions(
            include_columns=columns, column_types={name: pa.string() for name in columns}
        ),
    )


def _texts(rows: pa.Table, name: str) -> npt.NDArray[np.str_]:
    return np.asarray(rows.column(name).to_pylist(), dtype=np.str_)


def _numbers(rows: pa.Table, name: str) -> Ints:
    return _texts(rows, name).astype(np.int64)


def _counted(radices: Sequence[int], codes: Ints, counts: Ints) -> Table:
    """Each cell once, and none that is empty."""
    places, which = np.unique(np.ravel_multi_index(tuple(codes), radices), return_inverse=True)
    sums = np.zeros(len(places), dtype=np.int64)
    np.add.at(sums, which, counts)
    places, sums = places[sums > 0], sums[sums > 0]
    return Table(tuple(radices), np.stack(np.unravel_index(places, radices)), sums)
