"""How a summary is made: all that is public about it, and the draw.

Guarantee: whatever the method, what is drawn is epsilon-differentially private when one unit
changes the counts of the cells by at most ``change`` in total (docs/proofs.md, section 12).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, prod
from operator import index

import numpy as np
import numpy.typing as npt

from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.noise import check_rate
from tamis.sparse import consistent, ranges, sketch
from tamis.sparse.domain import Domain
from tamis.sparse.flat import Flat, Held, Table
from tamis.sparse.hierarchy import Dyadic, Haar, Plain, Transform
from tamis.sparse.ranges import Level, Ranges, Watch, unwatched
from tamis.sparse.rules import Rule, combinations, least_theta, nodes, plan, shares
from tamis.sparse.sketch import Sketch
from tamis.sparse.zeros import grouped

Ints = npt.NDArray[np.int64]

FLAT = ("filter-priority", "filter", "one-sided filter", "threshold", "priority", "full")
SPLIT = ("dyadic", "consistent dyadic", "haar")
SKETCHES = ("sketch", "median sketch")
APART = ("filter-priority", "filter", "one-sided filter", "threshold")
METHODS = (*FLAT, *SPLIT, *SKETCHES)
_FEWEST = 100  # cells of a summary whose size is chosen
MOST_CELLS = 10**8  # that are written down
_HIGHEST = 10**15  # a filter; what it lets pass by chance is then beyond any number
_LARGEST = 1000  # bits of the number of cells; with more, weights would be beyond any float


@dataclass(frozen=True)
class Recipe:
    """A method and its numbers; ``theta`` 0 stands for no filter, ``tau`` 0 for no threshold."""

    domain: Domain
    epsilon: Fraction
    change: int
    method: str
    size: int | None = None
    theta: int = 0
    tau: Fraction = Fraction(0)
    growth: Fraction = Fraction(1)  # of epsilon from a level of a hierarchy to the next finer one

    @property
    def rate(self) -> Fraction:
        """Of the noise in a flat table: the loss for each unit of count."""
        return self.epsilon / self.change

    @property
    def flat(self) -> bool:
        return self.method in FLAT

    @property
    def apart(self) -> bool:
        """Whether each cell is noised and, most likely, dropped on its own, wherever it is."""
        return self.method in APART

    @property
    def sketched(self) -> bool:
        return self.method in SKETCHES

    @property
    def over(self) -> sketch.Rows:
        """How the rows of a sketch are put together."""
        return "median" if self.method == "median sketch" else "mean"

    @property
    def shape(self) -> tuple[int, int]:
        """The width and the number of rows of a sketch."""
        assert self.size is not None
        return sketch.shape(self.size, self.over)

    @property
    def transforms(self) -> tuple[Transform, ...]:
        if self.flat:
            return tuple(Plain(radix) for radix in self.domain.radices)
        kind = Haar if self.method == "haar" else Dyadic
        return tuple(kind(radix) for radix in self.domain.radices)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What is asked of each table of nodes; a flat summary has one table, the cells."""
        if self.sketched:
            return ()
        if not self.flat:
            assert self.size is not None
            levels = combinations(self.transforms) if self.growth != 1 else []
            budgets = [self.epsilon * share for share in shares(levels, self.growth)] or None
            return plan(self.transforms, self.epsilon, self.change, self.size, budgets)
        size = self.size if self.method in ("priority", "filter-priority") else None
        only = (0,) * len(self.domain)
        return (
            Rule(only, self.rate, self.theta, self.tau, size, self.method == "one-sided filter"),
        )

    @property
    def rates(self) -> list[Fraction]:
        """The rates of all noise: that of each level, or that of the rows of a sketch."""
        return [rule.rate for rule in self.rules] or [self.rate / self.shape[1]]

    def check(self) -> None:
        """Refuse what could not be drawn, before anything is spent."""
        if self.domain.cells.bit_length() > _LARGEST:
            raise InvalidInput(
                f"a summary is for at most 2^{_LARGEST} cells; leave out some attributes."
            )
        for rate in self.rates:
            check_rate(rate)
        rows = max([self.size or 0, *(self._noise(rule) for rule in self.rules)])
        if rows > MOST_CELLS:
            raise InvalidInput(
                f"the summary would hold more than {MOST_CELLS:,} rows, most of them noise; give a "
                "smaller size, or a larger theta or tau."
            )
        _ = self.transforms

    def _noise(self, rule: Rule) -> float:
        """About how many nodes of noise alone stay, of those that are not limited by a size."""
        if rule.size is not None or rule.whole:
            return 0.0
        return rule.alone(nodes(self.transforms, rule.levels))

    def table(self, packed: Ints, counts: Ints) -> Table:
        """Each cell once: different values can be one cell, in bins or among others.

        Neighbouring attributes are packed into one radix, because each costs work.
        """
        return Table(self.domain.packed, *grouped(packed, counts))

    def draw_apart(self, held: Held) -> Ranges:
        """`draw` for a method whose cells may be anywhere (`apart`), in the packed radices."""
        return self._flat(ranges.some(held, self.rules[0]))

    def draw(self, table: Table, watch: Watch = unwatched) -> Ranges | Sketch:
        """Noise, and what stays, of a table made by ``table``."""
        if self.sketched:
            return sketch.summarize(table, self.epsilon, self.change, *self.shape)
        if self.flat:
            return self._flat(ranges.made(table, self.rules[0]))
        cells = Table(self.domain.radices, self.domain.unpack(table.codes), table.counts)
        if self.method == "consistent dyadic":
            return consistent.summarize(cells, self.transforms, self.rules, watch)
        return ranges.summarize(cells, self.transforms, self.rules, watch)

    def _flat(self, made: Flat) -> Ranges:
        flat = Flat(self.domain.unpack(made.codes), made.values, made.tau)
        return Ranges(self.transforms, (Level(self.rules[0], flat),))


def choose(
    domain: Domain,
    epsilon: Fraction,
    change: int,
    *,
    method: str = "filter-priority",
    size: int | None = None,
    theta: int | None = None,
    tau: Fraction | None = None,
    total: int | None = None,
    growth: Fraction | None = None,
) -> Recipe:
    """A recipe from public numbers: what is not given is chosen for the size.

    theta is the least one that lets about ``size / 2`` cells of noise alone pass (all of them with
    method "priority"). tau is that of a table with this ``total``, for about ``size`` cells.
    """
    check_rate(epsilon / change)
    size = _size(domain, method, size, theta, tau)
    _check_given(method, theta, tau, total)
    if growth is not None and (method not in SPLIT or not Fraction(1, 10) <= growth <= 10):
        raise InvalidInput(
            "level_growth is for the levels of dyadic and haar summaries, and from 0.1 to 10: how "
            "many times the budget of a level the next finer one gets."
        )
    filtered = method in ("filter-priority", "filter", "one-sided filter")
    if filtered and theta is None:
        assert size is not None
        theta = least_theta(epsilon / change, domain.cells, max(1, size // 2))
    if method == "threshold" and tau is None:
        assert size is not None
        tau = _tau(domain.cells, epsilon / change, size, total or 0)
    found = Recipe(domain, epsilon, change, method, size, theta or 0, tau or Fraction(0))
    return found if growth is None else replace(found, growth=growth)


def sized(domain: Domain, many: int) -> int:
    """A size for a noisy number of cells that hold something: as many, within reason."""
    return min(max(many, _FEWEST), MOST_CELLS, domain.cells)


def _tau(cells: int, rate: Fraction, size: int, total: int) -> Fraction:
    """At tau, a cell stays with probability |v| / tau at most: sum of |v| / tau is the size."""
    a = exp(-rate)
    noise = Fraction(2 * a / (1 - a * a)) * cells  # the mean of |noise|
    return max(Fraction(1), (noise + total) / size)


def _size(
    domain: Domain, method: str, size: int | None, theta: int | None, tau: Fraction | None
) -> int | None:
    if method not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}, not {shown(method)}.")
    if method == "full":
        if domain.cells > MOST_CELLS:
            raise InvalidInput(
                f"method 'full' writes down every cell, and there are more than {MOST_CELLS:,}; "
                "take filter-priority."
            )
        if size not in (None, domain.cells):
            raise InvalidInput("method 'full' keeps every cell; leave out size.")
        return None
    given = theta is not None if "filter" in method and "priority" not in method else False
    given = given or (method == "threshold" and tau is not None)
    if size is None:
        if given:
            return None
        raise InvalidInput("size is missing: about how many cells should the summary have?")
    if hasattr(size, "__index__") and not isinstance(size, bool):
        size = index(size)  # NumPy's are taken too
    if not _is_whole(size, 1):
        raise InvalidInput(f"size must be a whole number from 1 on, not {shown(size)}.")
    most, what = domain.cells, "cells"
    if method in SPLIT:
        most, what = prod(2 * radix for radix in domain.radices), "nodes, about"
    if size > most:
        raise InvalidInput(
            f"size must be at most the number of {what}, {most:,}, not {shown(size)}."
        )
    return size


def _check_given(method: str, theta: int | None, tau: Fraction | None, total: int | None) -> None:
    if theta is not None:
        if method not in ("filter-priority", "filter", "one-sided filter"):
            raise InvalidInput(f"theta is for a filter; method {method!r} has none.")
        if not _is_whole(theta, 1, _HIGHEST):
            raise InvalidInput(
                f"theta must be a whole number from 1 to {_HIGHEST:,}, not {shown(theta)}."
            )
    if (tau is not None or total is not None) and method != "threshold":
        raise InvalidInput("tau and total are for method 'threshold'.")
    if tau is not None and tau <= 0:
        raise InvalidInput("tau must be above 0.")


def _is_whole(value: object, least: int, most: int = 2**62) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
