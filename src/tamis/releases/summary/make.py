"""From a table of events to a summary of its cells, in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tamis.engines.choice import Choice, engine_for
from tamis.engines.protocol import Choose, Engine, Frequencies, Request, ScatteredFrequencies
from tamis.privacy.answer import check_coverage
from tamis.privacy.errors import BadData, InvalidInput, shown
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import NEIGHBOURS, REPLACED, Guarantee, check_bound
from tamis.privacy.ledger.charge import Charge
from tamis.privacy.noise import check_rate, two_sided
from tamis.releases.budgeting import shared
from tamis.releases.checks import check_choices, check_running, check_texts, check_units
from tamis.releases.parts import TOTAL, Part
from tamis.releases.progress import Report, bar, silent
from tamis.releases.summary.about import ADDED, CELLS, HELD, AboutSummary, change
from tamis.releases.summary.summary import Summary
from tamis.sparse.domain import Domain
from tamis.sparse.flat import Held
from tamis.sparse.planning import Workload, suggest
from tamis.sparse.ranges import Ranges
from tamis.sparse.recipe import FLAT, Recipe, choose, sized
from tamis.sparse.sketch import Sketch

Ints = npt.NDArray[np.int64]
Neighbours = Literal["add or remove", "replace"]

_TAKEN = (*ADDED, "estimate", "standard_error", "low", "high")  # columns of files and answers
_MOST = 2**62  # a count, and noise on it, fit into 64 bits


@dataclass(frozen=True)
class Order:
    """All that a summary is to be, but for what depends on private estimates.

    ``size`` and ``choose`` make the recipe: ``choose`` is given a size, and the total if there is
    one. ``total`` and ``held`` are the epsilons of the number of elements and of the number of
    cells that hold something, or 0.
    """

    request: Request
    guarantee: Guarantee
    choose: Callable[..., Recipe]
    size: int | None
    total: Fraction
    held: Fraction
    coverage: float

    @cached_property
    def public(self) -> Recipe:
        """A recipe from public numbers, to look for what would be refused."""
        return self.choose(size=self.size if not self.held else 1)

    def estimates(self, cells: Held) -> tuple[Recipe, tuple[Part, ...]]:
        """The recipe after private estimates of the table, and what is spent on all parts."""
        size, total, parts = self.size, None, list[Part]()
        if self.total:
            rate = self.total / change(self.guarantee)
            total = cells.total + int(two_sided(rate, 1)[0])
            parts.append(Part(TOTAL, float(self.total), 0.0, total))
        if self.held:
            rate = self.held / self.guarantee.keys_per_unit
            many = cells.many + int(two_sided(rate, 1)[0])
            size = sized(self.public.domain, many)
            parts.append(Part(HELD, float(self.held), 0.0, many))
        recipe = self.choose(size=size, total=total) if parts else self.public
        return recipe, (Part(CELLS, float(recipe.epsilon)), *parts)


def summarize(
    data: Any,
    *,
    domain: Domain | str | PathLike[str],
    epsilon: float,
    size: int | None = None,
    method: str | None = None,
    workload: Workload = "subset",
    theta: int | None = None,
    tau: float | None = None,
    level_growth: float | None = None,
    total_share: float = 0.0,
    size_share: float = 0.0,
    unit: str | None = None,
    keys_per_unit: int | None = None,
    elements_per_key: int = 1,
    neighbours: Neighbours = "add or remove",
    count: str | None = None,
    where: str | None = None,
    table: str | None = None,
    coverage: float = 0.95,
    budget: str | None = None,
    ledger: str | Path | None = None,
    purpose: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    engine: Choice = None,
) -> Summary:
    """Summarise a contingency table, in time that does not depend on the number of its cells.

    Parameters
    ----------
    data, table, where, count
        as in `tamis.release`.
    domain
        a `Domain`, or the path of a TOML file: the attributes, which are columns of the data, and
        their values, which must be public.
    epsilon
        what is promised for one unit; delta is 0.
    size
        how many cells the summary has at most (priority, filter-priority), or about (others).
    size_share
        instead of a size, a share of epsilon: the size is then the noisy number of cells that hold
        something (100 at least). For methods without levels.
    method, workload
        "filter-priority", "filter", "one-sided filter", "threshold", "priority", "full"; for ranges
        "dyadic", "consistent dyadic" or "haar"; for lists of cells "sketch" or "median sketch".
        Without it, a good one for the workload: "point", "subset" or "range".
    theta, tau, total_share
        of the filter and of the threshold; without them they are chosen from public numbers, and
        tau with a share of epsilon from the noisy number of elements.
    level_growth
        for ranges: how many times the epsilon of a level the next finer level gets, in each
        dimension (default 1). Short ranges are more accurate with a little more, such as 1.1.
    unit, keys_per_unit, elements_per_key
        as in `tamis.release`: one unit counts for so many cells, so often in each, and changes the
        table by at most their product.
    neighbours
        whether one unit is added or removed, or replaced by another, which needs twice the noise.
    coverage, budget, ledger, purpose, memory, threads, progress, engine
        as in `tamis.release`.

    Notes
    -----
    Guarantee: epsilon-differential privacy for one unit. Noise is exactly two-sided geometric, in
    all cells, and what is not published has the law of noising every cell. Everything that can be
    refused is refused before a draw, and before a budget is charged.

    On Spark the methods filter, one-sided filter, threshold and filter-priority draw where the
    cells are. For all others the cells that hold something come to the driver first.

    >>> import tamis, pyarrow as pa
    >>> trips = pa.table({"home": [17] * 900 + [4] * 40, "work": [3999] * 900 + [2] * 40})
    >>> area = tamis.Domain(home=4001, work=4001)
    >>> summary = tamis.summarize(trips, domain=area, epsilon=1.0, size=1000)
    >>> 880 < summary.point(home=17, work=3999).estimate < 920
    True
    """
    check_texts(unit=unit, count=count, where=where, table=table, budget=budget, memory=memory)
    check_choices(
        neighbours=(neighbours, "add or remove", "replace"),
        workload=(workload, "point", "subset", "range"),
    )
    check_running(threads, progress, engine)
    area = domain if isinstance(domain, Domain) else _load(domain)
    request = _request(area, unit, keys_per_unit, elements_per_key, where, count)
    guarantee = Guarantee(
        epsilon,
        0.0,
        request.keys_per_unit,
        request.elements_per_key,
        unit or "element",
        NEIGHBOURS if neighbours == "add or remove" else REPLACED,
    )
    left, *costs = shared(guarantee.epsilon, total_share=total_share, size_share=size_share)
    total, held = (exactly(cost) if cost else Fraction(0) for cost in costs)
    public = area, exactly(left), change(guarantee)
    method = method or (FLAT[0] if held else suggest(*public, size, workload))
    if total and (method != "threshold" or tau is not None):
        raise InvalidInput("total_share is for method 'threshold' without a tau.")
    if held and (size is not None or method not in FLAT or method == "full"):
        raise InvalidInput("size_share is for methods without levels, and in place of a size.")
    chosen = partial(
        choose,
        *public,
        method=method,
        theta=theta,
        tau=None if tau is None else _positive(tau, "tau"),
        growth=None if level_growth is None else _positive(level_growth, "level_growth"),
    )
    for rate in (total / public[2], held / request.keys_per_unit):
        if rate:
            check_rate(rate)
    order = Order(request, guarantee, chosen, size, total, held, check_coverage(coverage))
    order.public.check()
    with (
        Charge(budget, ledger, purpose, guarantee, "summary") as charge,
        bar(progress) as report,
        engine_for(data, engine, memory, threads, report) as own,
    ):
        return carry_out(order, own, data, table, charge, report)


def carry_out(
    order: Order,
    engine: Engine,
    data: Any,
    table: str | None,
    charge: Charge,
    report: Report = silent,
) -> Summary:
    """Read the data and check it against the domain, charge the budget, and only then draw."""
    counted = engine.count(data, order.request, table)
    public = order.public
    counted.join(public.domain.cells_of)
    if order.request.unit is None and counted.frequencies().total >= _MOST:
        raise BadData(f"{order.request.count} adds up to 2^62 or more; divide it.")
    entry = charge()
    made, recipe, parts = _drawn(order, counted.frequencies(), report)
    about = AboutSummary(
        order.guarantee,
        recipe,
        () if isinstance(made, Sketch) else tuple(level.flat.tau for level in made.levels),
        parts,
        order.coverage,
        "counts" if order.request.count else "rows",
        order.request.where is not None,
        entry,
        hashes=made.hashes if isinstance(made, Sketch) else (),
    )
    return Summary(made, about)


def _drawn(
    order: Order, found: Frequencies, report: Report
) -> tuple[Ranges | Sketch, Recipe, tuple[Part, ...]]:
    """Cells that are on many machines stay there, if the method looks at each on its own."""
    if order.public.apart and isinstance(found, ScatteredFrequencies):
        elsewhere = Elsewhere(order.public.domain.packed, found)
        report("drawing", 90)
        recipe, parts = order.estimates(elsewhere)
        return recipe.draw_apart(elsewhere), recipe, parts
    cells = order.public.table(*found.cells())
    report("drawing", 90)
    recipe, parts = order.estimates(cells)
    made = recipe.draw(cells, lambda share: report("drawing", 90 + 10 * share))
    return made, recipe, parts


@dataclass(frozen=True)
class Elsewhere:
    """Cells that hold something, and stay with their engine: `Held`."""

    radices: tuple[int, ...]
    found: ScatteredFrequencies

    @property
    def many(self) -> int:
        return self.found.many

    @property
    def total(self) -> int:
        return self.found.total

    def stayed(self, choose: Choose) -> tuple[Ints, Ints]:
        return self.found.stayed(choose)

    def without(self, cells: Ints) -> Ints:
        return cells[:, self.found.absent(cells)]


def _load(domain: object) -> Domain:
    if isinstance(domain, (str, PathLike)):
        return Domain.load(domain)
    raise InvalidInput(
        "domain must be a tamis.Domain or the path of a TOML file that describes one, not a "
        f"{type(domain).__name__}; it lists public values, and is never taken from the data."
    )


def _positive(value: object, name: str) -> Fraction:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 2.0**1000:
        return exactly(float(value))
    raise InvalidInput(f"{name} must be a number above 0, not {shown(value)}.")


def _request(
    domain: Domain,
    unit: str | None,
    keys_per_unit: int | None,
    elements_per_key: int,
    where: str | None,
    count: str | None,
) -> Request:
    if clash := [name for name in domain.names if name.lower() in _TAKEN]:
        raise InvalidInput(f"An attribute may not be called {clash[0]!r}; rename it.")
    elements = check_bound("elements_per_key", elements_per_key)
    most = None if keys_per_unit is None else check_bound("keys_per_unit", keys_per_unit)
    check_units(unit, most, elements, count, "each key, that is cell, adds to the noise")
    if unit in domain.names:
        raise InvalidInput(f"{unit!r} cannot be the column of units: it is an attribute.")
    return Request(domain.names, unit, most or 1, elements, where, count, "keep", floats=True)
