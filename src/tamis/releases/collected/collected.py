"""A release of what devices have reported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tamis.federated import Histogram
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import BadData, InvalidInput, counted
from tamis.privacy.guarantee import Guarantee, check_bound
from tamis.releases import file
from tamis.releases.collected.about import AboutCollected
from tamis.sampling.arrow import Tabular
from tamis.weighted.show import as_html, as_text


@dataclass(frozen=True)
class Collected(Tabular):
    """Items that clients hold, or quantiles of their numbers, with intervals.

    For items, ``token`` is how many of the sampled clients hold one, and ``estimate`` of all that
    have reported; the most frequent come first.

    Guarantee: ``guarantee``, for all rounds of the query together; and every item stands for at
    least ``about.mechanism.tau`` different clients.
    """

    table: pa.Table
    about: AboutCollected

    @property
    def guarantee(self) -> Guarantee:
        return self.about.guarantee

    @property
    def certificate(self) -> Certificate:
        return self.about.certificate

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def top(self, count: int = 10) -> pa.Table:
        """The most frequent items."""
        if self.about.kind == "quantiles":
            raise InvalidInput("quantiles have no most frequent items; look at the table.")
        return self.table.slice(0, check_bound("count", count))

    def __str__(self) -> str:
        return as_text(self.table, tuple(self.about.added), self._closing())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self.table, tuple(self.about.added), self._closing())

    def _closing(self) -> str:
        g, m = self.guarantee, self.about.mechanism
        what = "quantile" if self.about.kind == "quantiles" else "item"
        return (
            f"{counted(len(self), what)}, each from at least {m.tau} clients, released with "
            f"epsilon {g.epsilon:g}, delta {g.delta:g} for one {g.unit}"
        )

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
        """Re-check the certificate and that every row follows from its token; say what was checked.

        Raises `BadData` if the table does not fit, `verify.Refused` if the certificate does not.
        """
        said = self.certificate.verify()
        if self.about.kind == "quantiles":
            self._check_quantiles()
            return f"{said}; the {counted(len(self), 'quantile')} lie in their intervals"
        self._check_items()
        return f"{said}; the {counted(len(self), 'row')} follow from their tokens"

    def _check_items(self) -> None:
        about, rows = self.about, self.table.combine_chunks()
        items, tokens = (rows.column(c) for c in ("item", "token"))
        if len(rows) and min(tokens.to_pylist()) < about.mechanism.tau:
            raise BadData("an item stands for fewer clients than the threshold: it was changed.")
        whole = items.combine_chunks() if len(rows) else pa.array([], items.type)
        made = Histogram.of(about.mechanism, whole, np.asarray(tokens), about.coverage)
        if not rows_of(made).equals(rows) or len(items.unique()) < len(rows):
            raise BadData("rows do not follow from their tokens: the file was changed.")

    def _check_quantiles(self) -> None:
        columns = {name: np.asarray(self.table.column(name)) for name in self.table.column_names}
        low, value, high = (columns[name] for name in ("low", "estimate", "high"))
        inside = (low >= 0) & (low <= value) & (value <= high) & (high < self.about.domain)
        share = (columns["quantile"] >= 0) & (columns["quantile"] <= 1)
        if not np.all(inside & share):
            raise BadData("quantiles do not lie in their intervals: the file was changed.")


def rows_of(made: Histogram) -> pa.Table:
    """The rows of a release: all that a histogram says but the standard error."""
    return made.table.drop_columns(["standard_error"])
