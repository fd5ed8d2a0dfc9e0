"""What is measured for the figures and the claims, each once in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np

from papers.sparse import methods, queries
from papers.sparse.data import Data, Floats, adult, synthetic
from papers.sparse.draws import drawn, measure
from papers.sparse.queries import Errors, told
from papers.sparse.settings import (
    CELLS,
    DRAWS,
    EPSILON,
    FIXED_LENGTH,
    LENGTHS,
    PAPERS_THETA,
    PARAMETER_DRAWS,
    RANGES,
    REAL_DRAWS,
    SHARES,
    SIZES,
    SPREAD,
    THETAS,
)
from tamis.sparse.flat import Ints
from tamis.sparse.hierarchy import Dyadic, Haar

Found = dict[str, Errors]
PAPERS = f"filter-priority, θ = {PAPERS_THETA}"
ORDERS = (1, 2, 3)  # attributes of the marginals of Adult


@lru_cache
def flat(density: float, spread: float = SPREAD, times: int = 1) -> Found:
    """Flat methods against the length of a range; summaries hold ``times`` the cells not empty."""
    data = synthetic(density, spread)
    size = times * data.held
    compared = methods.flat_methods(data.table, EPSILON, size)
    compared[PAPERS] = methods.sampled(EPSILON, size, PAPERS_THETA)
    return measure(data, compared, queries.ranges(CELLS, LENGTHS, RANGES), DRAWS)


@lru_cache
def trees(density: float, skewed: bool = False) -> Found:
    """Hierarchies against the length of a range."""
    data = synthetic(density, skewed=skewed)
    compared = {
        **methods.range_methods(data.table, EPSILON, data.held),
        **methods.whole_trees(EPSILON),
        methods.DYADIC_PRIORITY: methods.hierarchical(
            Dyadic, methods.unfiltered(EPSILON, data.held)
        ),
        methods.GEOMETRIC: methods.geometric(EPSILON),
    }
    return measure(data, compared, queries.ranges(CELLS, LENGTHS, RANGES), DRAWS)


@lru_cache
def one_length() -> dict[str, dict[int, Errors]]:
    """At one length: filters by theta, samples by size, filter-priority by theta."""
    data, rate = synthetic(0.1), EPSILON
    noise = Fraction(10 * data.cells + int(data.table.counts.sum()))  # the sum of all |v|, nearly
    by_size = {s: methods.sampled(rate, s) for s in SIZES}
    return {
        "two-sided filter": _at_one_length({t: methods.filtered(rate, t) for t in THETAS}),
        "one-sided filter": _at_one_length({t: methods.filtered(rate, t, True) for t in THETAS}),
        "threshold": _at_one_length({s: methods.threshold(rate, noise / s) for s in SIZES}),
        "priority": _at_one_length(by_size),
        "filter-priority": _at_one_length({t: methods.sampled(rate, data.held, t) for t in THETAS}),
    }


def _at_one_length(compared: Mapping[int, methods.Method]) -> dict[int, Errors]:
    boxes = queries.ranges(CELLS, [FIXED_LENGTH], RANGES)
    named = {str(x): method for x, method in compared.items()}
    found = measure(synthetic(0.1), named, boxes, PARAMETER_DRAWS)
    return {int(x): errors for x, errors in found.items()}


@lru_cache
def boxes(data: Data, epsilon: Fraction) -> Found:
    """Boxes of a table of two dimensions, by their share of the cells."""
    asked = queries.boxes(data.table.radices, SHARES, RANGES)
    cells = methods.flat_methods(data.table, epsilon, data.held)
    shared = methods.shared(epsilon, data.held)
    nodes = {
        methods.DYADIC: methods.hierarchical(Dyadic, shared),
        methods.DYADIC_CHECKED: methods.hierarchical(Dyadic, shared, checked=True),
        methods.HAAR: methods.hierarchical(Haar, shared),
    }
    return {**measure(data, cells, asked, REAL_DRAWS), **measure(data, nodes, asked, 1)}


@lru_cache
def lines(data: Data, epsilon: Fraction) -> Found:
    """Ranges of cell numbers, by their share of the cells: the table as one long row."""
    row = data.linear
    lengths = [max(1, round(share * row.cells)) for share in SHARES]
    asked = queries.ranges(row.cells, lengths, RANGES)
    compared = {
        **methods.flat_methods(row.table, epsilon, row.held),
        **methods.range_methods(row.table, epsilon, row.held),
    }
    if row.cells < 2 * CELLS:
        compared.update(methods.whole_trees(epsilon))
    return measure(row, compared, asked, REAL_DRAWS)


@lru_cache
def large_summaries(data: Data) -> Found:
    """Random subsets, of summaries with a fifth of all cells, by the share of the cells."""
    size = data.cells // 5
    compared = methods.flat_methods(data.table, EPSILON, size)
    del compared[methods.FILTER]
    return _subsets(data, compared, REAL_DRAWS)


@lru_cache
def subsets(data: Data, epsilon: Fraction) -> Found:
    """Random subsets, by their share of the cells."""
    compared = methods.flat_methods(data.table, epsilon, data.held)
    return _subsets(data, compared, REAL_DRAWS)


def _subsets(data: Data, compared: Mapping[str, methods.Method], draws: int) -> Found:
    group = np.repeat(np.arange(len(SHARES)), RANGES)
    return _of_cells(data, compared, SHARES, group, _all_subsets, draws)


def _all_subsets(cells: Floats) -> Floats:
    return queries.subsets(cells, SHARES, RANGES)


@lru_cache
def marginals(epsilon: Fraction) -> Found:
    """All cells of all marginals of Adult, by the number of attributes."""
    data = adult()
    compared = methods.flat_methods(data.table, epsilon, data.held)
    many = [len(queries.marginals(data.dense, [k])) for k in ORDERS]
    group = np.repeat(np.arange(len(ORDERS)), many)
    return _of_cells(data, compared, ORDERS, group, _all_marginals, REAL_DRAWS)


def _all_marginals(cells: Floats) -> Floats:
    return queries.marginals(cells, ORDERS)


def _of_cells(
    data: Data,
    compared: Mapping[str, methods.Method],
    labels: tuple[float, ...],
    group: Ints,
    asked: Callable[[Floats], Floats],
    draws: int,
) -> Found:
    truth, found = asked(data.dense), {}
    for name, method in compared.items():
        answers, size = drawn(data, method, lambda made: asked(_cells(made)), draws)
        found[name] = told(labels, group, truth, answers, size)
    return found


def _cells(made: methods.Made) -> Floats:
    assert isinstance(made, methods.Cells)
    return made.cells
