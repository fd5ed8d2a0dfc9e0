"""A summary of a sparse table: what may be shared, and the questions that it answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.privacy.answer import Answer
from tamis.privacy.errors import BadData, InvalidInput, counted
from tamis.privacy.guarantee import Guarantee
from tamis.releases import file
from tamis.releases.summary.about import AboutSummary
from tamis.releases.summary.regions import MOST_ASKED, Region, cells_of, matching
from tamis.releases.summary.sketched import read_sketch, sketch_table
from tamis.sampling.arrow import Tabular, column_of
from tamis.sparse.consistent import together
from tamis.sparse.domain import Domain
from tamis.sparse.flat import Flat
from tamis.sparse.intervals import answer
from tamis.sparse.points import point
from tamis.sparse.ranges import Level, Ranges
from tamis.sparse.sketch import Sketch
from tamis.weighted.show import as_html, as_text

Ints = npt.NDArray[np.int64]
ADDED = ("value", "weight")


@dataclass(frozen=True)
class Summary(Tabular):
    """The cells that stayed, in order: each with its noisy value, and its weight.

    The sum of the weights over any set of cells estimates the sum of their counts. Cells that hold
    nothing in the data are among them, and cannot be told apart.

    Guarantee: ``guarantee``. All methods compute from what is released and cost nothing.
    """

    made: Ranges | Sketch
    about: AboutSummary

    @property
    def guarantee(self) -> Guarantee:
        return self.about.guarantee

    @property
    def domain(self) -> Domain:
        return self.about.recipe.domain

    @property
    def ranges(self) -> Ranges:
        """The cells or nodes; a sketch has none."""
        if isinstance(self.made, Sketch):
            raise InvalidInput(
                "a sketch holds buckets, not cells: it answers point, and range and subset of at "
                f"most {MOST_ASKED:,} cells, and cannot be shown cell by cell."
            )
        return self.made

    def __len__(self) -> int:
        return len(self.made)

    # --- as a table ------------------------------------------------------------------------------

    @cached_property
    def table(self) -> pa.Table:
        if isinstance(self.made, Sketch):
            return sketch_table(self.made)
        return pa.concat_tables([self._rows(level) for level in self.made.levels])

    def _rows(self, level: Level) -> pa.Table:
        flat = level.flat
        rows = self.domain.decode(flat.codes) if self.about.recipe.flat else self._nodes(level)
        rows = rows.append_column("value", column_of(flat.values))
        return rows.append_column("weight", column_of(level.estimates(flat.values)))

    def _nodes(self, level: Level) -> pa.Table:
        columns = dict[str, Any]()
        for name, at, codes in zip(
            self.domain.names, level.rule.levels, level.flat.codes, strict=True
        ):
            columns[f"{name} level"] = np.full(len(codes), at)
            columns[f"{name} node"] = codes
        return pa.table(columns)

    def __str__(self) -> str:
        return as_text(self.table, ADDED, self._closing())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self.table, ADDED, self._closing())

    def _closing(self) -> str:
        g, r = self.guarantee, self.about.recipe
        what = "cell" if r.flat else "bucket" if r.sketched else "node"
        return (
            f"{counted(len(self), what)} of {r.domain!r}; {r.method}, epsilon {g.epsilon:g} for "
            f"one {g.unit}"
        )

    def noise_alone(self) -> float:
        """About how many rows there would be if all cells held nothing: so many, or fewer, are so.

        Only cells are counted like this: nodes and buckets have noise in most of them.
        """
        level = self._cells("how many cells are noise alone")
        return level.rule.alone(self.domain.cells, Fraction(level.flat.tau))

    @property
    def digest(self) -> str:
        """SHA-256 over the rows and all that is said about them, as in the file that is saved."""
        return str(file.footer(self.table, self.about)["digest"])

    def save(self, path: str | Path) -> None:
        """Write the summary as one Parquet file; any tool can sum the weights in it."""
        file.write(self.table, self.about, path)

    def verify(self) -> str:
        """Check that the promise follows from what is stated, and the rows from their values.

        Raises `BadData` if they do not.
        """
        self.about.check()
        g, r = self.guarantee, self.about.recipe
        for level in () if isinstance(self.made, Sketch) else self.made.levels:
            _check_level(level)
        rates = {rule.rate for rule in r.rules} or {r.rate / r.shape[1]}
        return (
            f"epsilon {g.epsilon!r}, delta 0 for one {g.unit} ({g.neighbours}): it changes the "
            f"counts by at most {r.change} in total, and the noise has the rates "
            f"{', '.join(sorted(map(str, rates)))}, exactly."
        )

    # --- questions -------------------------------------------------------------------------------

    def point(self, /, **values: Any) -> Answer:
        """How many elements are in one cell, given by a value for each attribute."""
        missing = [name for name in self.domain.names if name not in values]
        if missing:
            raise InvalidInput(
                f"point needs a value for each attribute; {missing[0]!r} is missing. For sums over "
                "some attributes ask range."
            )
        region = self._region(values)
        if isinstance(self.made, Sketch):
            return self._sketched(self.made, region.codes())
        if not self.about.recipe.flat or region.cells > 1:
            return self.made.range(region.bounds, self.about.coverage)
        return point(
            self.made.levels[0], [first for first, _ in region.bounds], self.about.coverage
        )

    def range(self, /, **bounds: Any) -> Answer:
        """How many elements have every attribute between two ends, both included.

        ``range(age=(18, 45), sex="female")``: an end pair, or one value (for a hierarchy, also the
        name of an inner node). Attributes that are not named are free.
        """
        region = self._region(bounds)
        if isinstance(self.made, Sketch):
            return self._sketched(self.made, region.codes())
        if self.about.recipe.flat and region.cells == 1:  # its value, not what it counts in sums
            return point(self.made.levels[0], [a for a, _ in region.bounds], self.about.coverage)
        return self.made.range(region.bounds, self.about.coverage)

    def subset(self, where: str) -> Answer:
        """How many elements are in the cells that satisfy a condition in SQL on the attributes."""
        if isinstance(self.made, Sketch):
            return self._sketched(self.made, cells_of(self.domain, where))
        level = self._cells("subset")
        found = matching(self.domain, self.table, where)
        weights = np.ones(int(found.rows.sum()))
        total = level.noise(found.cells, found.cells)
        total += level.kept(level.flat.values[found.rows], weights)
        estimate, spread, tails = total.tolist()
        unseen = level.unseen(max(0.0, found.cells - len(weights)))
        return answer(estimate, spread, tails, self.about.coverage, self._said(level), unseen)

    def marginal(self, *names: str) -> pa.Table:
        """The counts of all cells of fewer attributes: estimate, standard_error, low and high.

        Cells of which nothing is in the summary are left out: their estimate is 0, and `range`
        gives their interval. Intervals have room for what a filter or a sample left out.
        """
        level = self._cells("marginal")
        places = [self._place(name) for name in names]
        if not places or len(set(places)) < len(places):
            raise InvalidInput("marginal needs the names of different attributes.")
        codes, group = np.unique(level.flat.codes[places], axis=1, return_inverse=True)
        every = 1.0
        for n, radix in enumerate(self.domain.radices):
            every *= 1 if n in places else radix
        columns = _grouped(level, group.ravel(), codes.shape[1], every, self.about.coverage)
        rows = self.domain.decode(self._full(codes, places)).select(list(names))
        for name, column in columns.items():
            rows = rows.append_column(name, column_of(column))
        return rows

    def _sketched(self, made: Sketch, codes: Ints) -> Answer:
        over = self.about.recipe.over
        return made.subset(self.domain.pack(codes), over, self.about.coverage)

    def _full(self, codes: Ints, places: list[int]) -> Ints:
        whole = np.zeros((len(self.domain), codes.shape[1]), dtype=np.int64)
        whole[places] = codes
        return whole

    def _place(self, name: str) -> int:
        self.domain[name]  # refuses other names
        return self.domain.names.index(name)

    def _region(self, asked: dict[str, Any]) -> Region:
        for name in asked:
            self.domain[name]
        return Region.of(self.domain, asked)

    def _cells(self, question: str) -> Level:
        if not self.ranges.levels or not self.about.recipe.flat:
            raise InvalidInput(
                f"a summary for ranges has no cells, so it cannot answer {question}; ask range, or "
                "make a summary with method='filter-priority'."
            )
        return self.ranges.levels[0]

    def _said(self, level: Level) -> str:
        theta = level.rule.theta
        if theta <= 1:
            return ""
        return f"cells with noisy counts below {theta:,} are left out; the interval has room"


def _grouped(
    level: Level, group: Ints, many: int, cells: float, coverage: float
) -> dict[str, npt.NDArray[np.float64]]:
    """Sums over the cells of each group, all at once; a group has so many cells in all."""
    noise = level.noise(cells, cells)
    each = level.single(level.flat.values)
    sums = np.stack([np.bincount(group, weights=row, minlength=many) for row in each])
    absent = np.maximum(0.0, cells - np.bincount(group, minlength=many)).tolist()
    made = [
        answer(e, v, t, coverage, unseen=level.unseen(left))
        for (e, v, t), left in zip((sums + noise[:, None]).T.tolist(), absent, strict=True)
    ]
    names = ("estimate", "standard_error", "low", "high")
    return {name: np.array([getattr(a, name) for a in made]) for name in names}


def _check_level(level: Level) -> None:
    """Refuse rows that no draw can give."""
    rule, flat = level.rule, level.flat
    sizes = flat.values if rule.one_sided else np.abs(flat.values)
    least = 0 if rule.whole else max(rule.theta, 1)
    if len(flat.values) and int(sizes.min()) < least:
        raise BadData("the table was changed: it holds values that the filter lets not pass.")
    if rule.size is not None and len(flat.values) > rule.size:
        raise BadData("the table was changed: it holds more rows than its size.")
    if rule.size is not None and flat.tau and len(flat.values) < rule.size:
        raise BadData("the table was changed: a sample at a threshold has all rows of its size.")
    if rule.size is None and flat.tau != float(rule.tau if rule.law.sampled else 0):
        raise BadData("the table was changed: its threshold is another one.")
    order = np.lexsort(flat.codes[::-1])
    same = (flat.codes[:, 1:] == flat.codes[:, :-1]).all(axis=0)
    if not np.array_equal(order, np.arange(len(order))) or same.any():
        raise BadData("the table was changed: its rows are not in order, or not different.")


def read_nodes(table: pa.Table, about: AboutSummary) -> Ranges | Sketch:
    """The rows of a file as nodes; what does not fit the recipe is refused."""
    if about.recipe.sketched:
        return read_sketch(table, about)
    try:
        transforms, levels = about.recipe.transforms, _levels(table, about)
        consistent = about.recipe.method == "consistent dyadic"
        made = together(transforms, levels) if consistent else Ranges(transforms, tuple(levels))
    except InvalidInput:
        raise BadData("the table was changed: it has rows outside the domain.") from None
    if not Summary(made, about).table.equals(table):
        raise BadData("the table was changed: weights or order do not follow from values.")
    return made


def _levels(table: pa.Table, about: AboutSummary) -> list[Level]:
    r, values = about.recipe, table["value"].to_numpy()
    if r.flat:
        codes = r.domain.encode(table)
        return [Level(r.rules[0], Flat(codes, values, about.taus[0]))]
    at = np.stack([table[f"{name} level"].to_numpy() for name in r.domain.names])
    nodes = np.stack([table[f"{name} node"].to_numpy() for name in r.domain.names])
    levels = []
    for rule, tau in zip(r.rules, about.taus, strict=True):
        here = (at == np.array(rule.levels)[:, None]).all(axis=0)
        most = [t.nodes(n) for t, n in zip(r.transforms, rule.levels, strict=True)]
        if (nodes[:, here] < 0).any() or (nodes[:, here] >= np.array(most)[:, None]).any():
            raise BadData("the table was changed: it has nodes that there are not.")
        levels.append(Level(rule, Flat(nodes[:, here], values[here], tau)))
    return levels
