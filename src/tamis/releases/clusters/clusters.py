"""A release of clusters: private centres and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engines.condition import check_condition
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import BadData, InvalidInput, counted, shown
from tamis.privacy.guarantee import Guarantee, as_float, check_bound
from tamis.releases import file
from tamis.releases.clusters.about import OWN, AboutClusters
from tamis.releases.condition import satisfying
from tamis.sampling.arrow import Tabular, column_of
from tamis.weighted.show import as_html, as_text, rounded

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Clusters(Tabular):
    """Where clusters are, and about how many rows each has; the largest come first.

    Columns: ``cluster`` (from 0 on), a coordinate of its centre under the name of each column of
    the data, and ``size``.

    Guarantee: ``guarantee``, for one row of the data that is added or removed: centres and sizes
    are epsilon-differentially private (pure, delta = 0). All methods compute from what is released
    and cost nothing. Which cluster a row of the data belongs to is not private.
    """

    table: pa.Table
    about: AboutClusters

    @property
    def guarantee(self) -> Guarantee:
        return self.about.guarantee

    @property
    def certificate(self) -> Certificate:
        return self.about.certificate

    @property
    def centers(self) -> Floats:
        """The centres, a row for each cluster and a column for each column of the data."""
        return np.column_stack([self.table.column(name).to_numpy() for name in self.about.columns])

    @property
    def sizes(self) -> Floats:
        """About how many rows each cluster has."""
        return np.asarray(self.table.column("size").to_numpy())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __str__(self) -> str:
        return as_text(rounded(self.table, OWN), OWN[1:], self._closing())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(rounded(self.table, OWN), OWN[1:], self._closing())

    def _closing(self) -> str:
        g = self.guarantee
        return (
            f"{counted(len(self), 'cluster')}, released with epsilon {g.epsilon:g} for one {g.unit}"
        )

    # --- questions -------------------------------------------------------------------------------

    def rows(self, where: str | None = None) -> pa.Table:
        """The clusters that satisfy a condition in SQL, such as ``"size > 1000 AND age < 30"``."""
        if where is None:
            return self.table
        names = self.table.column_names
        return self.table.take(
            column_of(satisfying(self.table, check_condition(where, names), "columns"))
        )

    def top(self, count: int = 10, where: str | None = None) -> pa.Table:
        """The largest clusters."""
        return self.rows(where).slice(0, check_bound("count", count))

    def nearest(self, point: Sequence[float]) -> pa.Table:
        """The row of the cluster whose centre is nearest to a point, a number for each column."""
        place = np.array([as_float(value) for value in point])
        names = self.about.columns
        if len(place) != len(names) or not np.isfinite(place).all():
            raise InvalidInput(
                f"a point has a number for each of {', '.join(names)}, and not {shown(point)}."
            )
        return self.table.slice(int(np.argmin(((self.centers - place) ** 2).sum(axis=1))), 1)

    # --- the file --------------------------------------------------------------------------------

    @property
    def digest(self) -> str:
        """SHA-256 over the rows and all that is said about them, as in the file that is saved."""
        return str(file.footer(self.table, self.about)["digest"])

    def save(self, path: str | Path) -> None:
        """Write the release file: Parquet, with the guarantee and the certificate in its footer."""
        file.write(self.table, self.about, path)

    def to_bytes(self) -> bytes:
        """The release file."""
        return file.to_bytes(self.table, self.about)

    def verify(self) -> str:
        """Re-check the certificate, and that the rows are possible; say what was checked.

        Raises `BadData` if the table does not fit, `verify.Refused` if the certificate does not.
        """
        said = self.certificate.verify()
        if not (self._numbered() and self._ordered() and self._inside()):
            raise BadData("rows hold what no clusters can be: the file was changed.")
        inside = "" if self.about.bounds is None else ", with all centres within the bounds"
        return f"{said}; {counted(len(self), 'cluster')}{inside}"

    def _numbered(self) -> bool:
        found = self.table.column("cluster")
        if any(column.null_count for column in self.table.columns) or found.type != pa.int64():
            return False
        return bool(found.to_pylist() == list(range(self.about.clusters)))

    def _ordered(self) -> bool:
        sizes = self.sizes * self.about.unit
        if not ((sizes >= 0) & (sizes < 2.0**53)).all():
            return False
        return bool((sizes == np.rint(sizes)).all() and (np.diff(sizes) <= 0).all())

    def _inside(self) -> bool:
        centers = self.centers
        if self.about.bounds is None:
            return bool(np.isfinite(centers).all())
        low, high = np.array(self.about.bounds).T
        return bool(((low <= centers) & (centers <= high)).all())


def table_of(columns: Sequence[str], centers: Floats, sizes: Floats) -> pa.Table:
    """The rows of a release, in an order that says nothing: by size, and then by place."""
    order = np.lexsort([*centers.T[::-1], -sizes])
    cells = [*centers[order].T, sizes[order]]
    numbers = np.arange(len(sizes), dtype=np.int64)
    return pa.table(
        [column_of(numbers), *(column_of(np.asarray(cell, np.float64)) for cell in cells)],
        names=[OWN[0], *columns, OWN[1]],
    )
