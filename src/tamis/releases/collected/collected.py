"""A release of what devices have reported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.engines.condition import check_condition
from tamis.federated import Histogram
from tamis.privacy.answer import Answer
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import BadData, InvalidInput, counted, shown
from tamis.privacy.guarantee import Guarantee, as_float, check_bound
from tamis.releases import file
from tamis.releases.collected.about import AboutCollected
from tamis.releases.collected.sums import clients_with
from tamis.releases.condition import satisfying
from tamis.releases.digest import type_in_words
from tamis.sampling.arrow import Tabular, column_of
from tamis.weighted import order
from tamis.weighted.lookup import place
from tamis.weighted.show import as_html, as_text

Ints = npt.NDArray[np.int64]

_MOST = 1 << 40  # clients: more than there are, and intervals can be computed
_IMPOSSIBLE = "rows hold what no client can report: the file was changed."


@dataclass(frozen=True)
class Collected(Tabular):
    """Items that clients hold, or quantiles of their numbers, with intervals.

    For items, ``token`` is how many of the sampled clients hold one, and ``estimate`` of all that
    have reported; the most frequent come first.

    Guarantee: ``guarantee``, for all rounds of the query together; and every item stands for at
    least ``about.mechanism.tau`` different clients. All methods compute from what is released and
    cost nothing.
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

    def __str__(self) -> str:
        return as_text(self.table, tuple(self.about.added), self._closing())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self.table, tuple(self.about.added), self._closing())

    def _closing(self) -> str:
        g, m = self.guarantee, self.about.mechanism
        clients = counted(m.tau, "client")
        what, each = "item", f"each from at least {clients}"
        if self.about.kind == "quantiles":
            what, each = "quantile", f"from counts of at least {clients}"
        return (
            f"{counted(len(self), what)}, {each}, released with epsilon {g.epsilon:g}, "
            f"delta {g.delta:g} for one {g.unit}"
        )

    # --- questions -------------------------------------------------------------------------------

    def rows(self, where: str | None = None) -> pa.Table:
        """The rows whose item satisfies a condition in SQL, such as ``"item LIKE 'weather%'"``."""
        if where is None:
            return self.table
        keys = self.table.select(self.about.key)
        found = satisfying(keys, check_condition(where, self.about.key), "key columns")
        return self.table.take(column_of(found))

    def top(self, count: int = 10, where: str | None = None) -> pa.Table:
        """The most frequent items."""
        self._need_items("top")
        return self.rows(where).slice(0, check_bound("count", count))

    def rank(self, item: object, where: str | None = None) -> float:
        """The place of an item by token, from 1; items with equal tokens share their mean place."""
        self._need_items("rank")
        among = self.rows(where)
        return order.rank(self._tokens(among), place(among, self.about.key, (item,), nulls=False))

    def sum(self, where: str | None = None) -> Answer:
        """How many clients hold one of the items that are named and satisfy a condition.

        Items that are not named are not in it, and nothing tells how many clients hold those. The
        estimate is right on average, which the sum of the estimates is not: items that are seldom
        named are those that luck made large. An item whose token is tau, the least there is, counts
        as tau clients here, which makes up for that (`tamis.releases.collected.sums`).
        """
        self._need_items("sum")
        return clients_with(
            self.about.mechanism, self._tokens(self.rows(where)), self.about.coverage
        )

    def quantile(self, at: float) -> pa.Table:
        """The row of a quantile: the estimated number, and an interval for it."""
        if self.about.kind != "quantiles":
            raise InvalidInput("quantile is for numbers that were asked for by their quantiles.")
        there = self.table.column("quantile").to_pylist()
        if as_float(at) not in there:
            known = ", ".join(f"{q:g}" for q in there)
            raise InvalidInput(f"the quantiles of this release are {known}, and not {shown(at)}.")
        return self.table.slice(there.index(at), 1)

    def _need_items(self, question: str) -> None:
        if self.about.kind == "quantiles":
            raise InvalidInput(f"{question} is about items, and these are quantiles; ask quantile.")

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
        """Re-check the certificate and that every row follows from its token; say what was checked.

        Raises `BadData` if the table does not fit, `verify.Refused` if the certificate does not.
        """
        said = self.certificate.verify()
        missing = any(column.null_count for column in self.table.columns)
        if missing or type_in_words(self.table.schema.types[0]) != self.about.held:
            raise BadData(_IMPOSSIBLE)
        if self.about.kind == "quantiles":
            self._check_quantiles()
            lie = "lies in its interval" if len(self) == 1 else "lie in their intervals"
            return f"{said}; the {counted(len(self), 'quantile')} {lie}"
        self._check_items()
        follow = "follows from its token" if len(self) == 1 else "follow from their tokens"
        return f"{said}; the {counted(len(self), 'row')} {follow}"

    def _check_items(self) -> None:
        about, rows = self.about, self.table.combine_chunks()
        items, tokens = rows.column("item"), self._tokens(rows)
        if len(items.unique()) < len(rows) or not self._inside(items):
            raise BadData(_IMPOSSIBLE)
        whole = items.combine_chunks() if len(rows) else pa.array([], items.type)
        made = Histogram.of(about.mechanism, whole, tokens, about.coverage)
        if not rows_of(made).equals(rows):
            raise BadData("rows do not follow from their tokens: the file was changed.")

    def _tokens(self, rows: pa.Table) -> Ints:
        """The tokens of some rows, if that many clients can have been kept."""
        column, m = rows.column("token"), self.about.mechanism
        if column.null_count:
            raise BadData(_IMPOSSIBLE)
        tokens = np.asarray(column, dtype=np.int64)
        if np.any(tokens < m.tau):
            raise BadData("an item stands for fewer clients than the threshold: it was changed.")
        if float(tokens.sum(dtype=np.float64)) > _MOST * m.p:
            raise BadData(_IMPOSSIBLE)
        return tokens

    def _inside(self, items: pa.ChunkedArray) -> bool:
        """Whether whole numbers lie in the domain."""
        if not self.about.domain or not len(items):
            return True
        ends = pc.min_max(items).as_py()
        return bool(0 <= ends["min"] and ends["max"] < self.about.domain)

    def _check_quantiles(self) -> None:
        columns = {name: np.asarray(self.table.column(name)) for name in self.table.column_names}
        low, value, high = (columns[name] for name in ("low", "estimate", "high"))
        inside = (low >= 0) & (low <= value) & (value <= high) & (high < self.about.domain)
        share = (columns["quantile"] >= 0) & (columns["quantile"] <= 1)
        if not len(self) or not np.all(inside & share):
            raise BadData("quantiles do not lie in their intervals: the file was changed.")
        if np.any(np.diff(value[np.lexsort((value, columns["quantile"]))]) < 0):
            raise BadData("a higher quantile is a lower number: the file was changed.")


def rows_of(made: Histogram) -> pa.Table:
    """The rows of a release: all that a histogram says but the standard error."""
    return made.table.drop_columns(["standard_error"])
