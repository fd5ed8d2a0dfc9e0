"""The figures."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from papers.sparse import experiments, methods, speed, theta
from papers.sparse.claims import gains
from papers.sparse.claims_ranges import CHECKED
from papers.sparse.claims_real import flat_found, sweeps
from papers.sparse.data import Data
from papers.sparse.experiments import PAPERS, Found
from papers.sparse.queries import Errors
from papers.sparse.settings import (
    EPSILONS,
    FIXED_LENGTH,
    SPEED_DENSITIES,
    SUBSETS,
    WIDE,
)
from papers.weighted import plots
from papers.weighted.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, Style

KINDS = {"absolute": "mean absolute error", "relative": "median relative error"}
SKY = "#56B4E9"
LABORIOUS: Style = {"color": "#777777", "linestyle": (0, (5, 1, 1, 1))}

STYLES: dict[str, Style] = {
    methods.GEOMETRIC: {"color": BLACK, "linestyle": ":"},
    methods.FILTER: {"color": ORANGE, "linestyle": "-.", "marker": "v"},
    methods.PRIORITY: {"color": GREEN, "linestyle": "--", "marker": "s"},
    methods.FILTER_PRIORITY: {"color": BLUE, "marker": "o"},
    PAPERS: {"color": SKY, "linestyle": "--", "marker": "o", "markerfacecolor": "white"},
    methods.DYADIC_WHOLE: {"color": RED, "linestyle": ":"},
    methods.DYADIC_PRIORITY: {"color": GREEN, "linestyle": "--", "marker": "s"},
    methods.DYADIC_FILTER: {"color": ORANGE, "linestyle": "-.", "marker": "v"},
    methods.DYADIC_FILTER_CHECKED: {"color": ORANGE, "marker": "^", "markerfacecolor": "white"},
    methods.DYADIC: {"color": RED, "linestyle": "--", "marker": "D"},
    methods.DYADIC_CHECKED: {"color": RED, "marker": "D", "markerfacecolor": "white"},
    methods.HAAR_WHOLE: {"color": PINK, "linestyle": ":"},
    methods.HAAR: {"color": PINK, "marker": "P"},
}
_SPEEDS: dict[str, Style] = {
    speed.FILTER: STYLES[methods.FILTER],
    speed.THRESHOLD: {"color": PINK, "linestyle": "--", "marker": "P"},
    speed.PRIORITY: STYLES[methods.PRIORITY],
    speed.FILTER_PRIORITY: STYLES[methods.FILTER_PRIORITY],
    methods.GEOMETRIC: STYLES[methods.GEOMETRIC],
    speed.LABORIOUS: LABORIOUS,
}
_TREE_SPEEDS: dict[str, Style] = {
    speed.TREE_FILTER: STYLES[methods.DYADIC_FILTER],
    speed.TREE_CHECKED: STYLES[methods.DYADIC_FILTER_CHECKED],
    speed.TREE: STYLES[methods.DYADIC_WHOLE],
}
_LENGTH = "cells of the range"
_PERCENT = FuncFormatter(lambda share, _: f"{100 * share:g} %")


def figure_1() -> Figure:
    """Errors by parameter."""
    figure, grid = plots.panels(3, height=3.0, width=3.5)
    found = experiments.one_length()
    pairs = (("two-sided filter", BLUE), ("one-sided filter", RED))
    for name, colour in pairs:
        _parameter(grid[0], found[name], name, colour)
    for name, colour in (("threshold", PINK), ("priority", GREEN)):
        _parameter(grid[1], found[name], name, colour)
    _parameter(grid[2], found["filter-priority"], "filter-priority", BLUE)
    asked = f"ranges of {FIXED_LENGTH:,} cells"
    for axes, x, logs in zip(
        grid, ("θ", "size of the summary", "θ"), ("y", "xy", "y"), strict=True
    ):
        plots.dress(axes, asked, x, "mean absolute error", logs)
        axes.legend()
    return figure


def _parameter(axes: Axes, found: Mapping[int, Errors], name: str, colour: str) -> None:
    points = [(x, e.absolute[0]) for x, e in found.items()]
    axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=3.5, label=name)


def figure_2() -> Figure:
    """Flat methods by length."""
    found = {
        "density 10 %": experiments.flat(0.1),
        "density 1 %": experiments.flat(0.01),
        f"density 10 %, spread {WIDE}": experiments.flat(0.1, WIDE),
    }
    return _by_label(found, _LENGTH)


def figure_4() -> Figure:
    """Hierarchies by length."""
    found = {
        "density 10 %": experiments.trees(0.1),
        "density 1 %": experiments.trees(0.01),
        "density 10 %, skewed": experiments.trees(0.1, skewed=True),
    }
    return _by_label(found, _LENGTH, legend=3)


def _by_label(found: Mapping[str, Found], x: str, legend: int = 5) -> Figure:
    """Absolute errors above, relative ones below."""
    figure, grid = plots.panels(len(found), rows=2, height=2.9, width=3.7)
    for upper, lower, (title, errors) in zip(
        grid[: len(found)], grid[len(found) :], found.items(), strict=True
    ):
        for name, one in errors.items():
            style = {**STYLES[name], "markersize": 3.5, "label": name}
            upper.plot(one.labels, one.absolute, **style)
            lower.plot(one.labels, one.relative, **style)
        plots.dress(upper, title, x, "mean absolute error", "xy")
        plots.dress(lower, "", x, "median relative error", "xy")
        lower.yaxis.set_major_formatter(_PERCENT)
    plots.shared_legend(figure, grid, legend)
    return figure


def figure_3() -> Figure:
    """Throughput by density."""
    figure, grid = plots.panels(2, height=3.4, width=4.6)
    for axes, rates, styles, title in (
        (grid[0], speed.throughput(), _SPEEDS, "flat summaries"),
        (grid[1], speed.tree_throughput(), _TREE_SPEEDS, "dyadic hierarchies"),
    ):
        for name, style in styles.items():
            axes.plot(SPEED_DENSITIES, rates[name], **style, markersize=4, label=name)
        plots.dress(axes, title, "density", "cells held, per second", "xy")
        axes.legend()
    return figure


def figure_5() -> Figure:
    """Gains of consistency by length."""
    figure, grid = plots.panels(4, height=2.9, width=3.0)
    cases = [(0.1, False), (0.1, True), (0.01, False), (0.01, True)]
    for axes, (density, skewed) in zip(grid, cases, strict=True):
        found = experiments.trees(density, skewed=skewed)
        for name, checked in CHECKED.items():
            style = {**STYLES[checked], "markersize": 4, "label": name}
            axes.plot(found[name].labels, gains(found, checked, name), **style)
        axes.axhline(0, color=BLACK, linewidth=0.8)
        axes.set_ylim(-0.25, 1)
        axes.yaxis.set_major_formatter(_PERCENT)
        kind = "skewed" if skewed else "uniform"
        plots.dress(axes, f"{kind}, density {100 * density:g} %", _LENGTH, "error smaller by", "x")
    plots.shared_legend(figure, grid)
    return figure


def figure_6(*tables: Data) -> Figure:
    """Real tables: boxes, subsets and marginals; absolute and relative errors."""
    figure, grid = plots.panels(4, rows=4, height=2.9, width=3.3)
    for n, (epsilon, kind) in enumerate(product(EPSILONS, KINDS)):
        row = grid[4 * n : 4 * n + 4]
        asked = [flat_found(data, EPSILONS.index(epsilon)) for data in tables]
        for axes, data, found in zip(row, tables, asked, strict=False):
            what = "boxes" if len(data.table.radices) == 2 else "random subsets"
            _errors(axes, found, kind)
            title = f"{data.name}, {what}, ε = {float(epsilon):g}"
            plots.dress(axes, title, "share of the cells", KINDS[kind], "xy")
        _errors(row[3], experiments.marginals(epsilon), kind)
        title = f"Adult, marginals, ε = {float(epsilon):g}"
        plots.dress(row[3], title, "attributes", KINDS[kind], "y")
        row[3].set_xticks(experiments.ORDERS)
    plots.shared_legend(figure, grid)
    return figure


def figure_7(*tables: Data) -> Figure:
    """Real tables as one row: ranges of cell numbers; absolute and relative errors."""
    figure, grid = plots.panels(3, rows=4, height=2.9, width=3.9)
    for n, (epsilon, kind) in enumerate(product(EPSILONS, KINDS)):
        for axes, data in zip(grid[3 * n :], tables, strict=False):
            _errors(axes, experiments.lines(data, epsilon), kind)
            title = f"{data.name}, ε = {float(epsilon):g}"
            plots.dress(axes, title, _LENGTH, KINDS[kind], "xy")
    plots.shared_legend(figure, grid)
    return figure


def _errors(axes: Axes, found: Found, kind: str) -> None:
    for name, errors in found.items():
        style = {**STYLES[name], "markersize": 3.5, "label": name}
        axes.plot(errors.labels, getattr(errors, kind), **style)


def figure_8(*tables: Data) -> Figure:
    """RMSE of subsets by theta, over that of the full table."""
    found = sweeps(*tables)
    figure, grid = plots.panels(len(found) // 2, rows=2, height=2.7, width=2.7)
    for n, sweep in enumerate(found):
        axes = grid[n // 2 + (n % 2) * (len(found) // 2)]
        _theta(axes, sweep)
    plots.shared_legend(figure, grid)
    return figure


def _theta(axes: Axes, sweep: theta.Sweep) -> None:
    colours = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (RED, "-.", "^"))
    for share, (colour, dash, marker), errors, whole in zip(
        SUBSETS, colours, sweep.rmse.T, sweep.whole, strict=True
    ):
        style: Style = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 3}
        label = f"subsets of {100 * share:g} % of the cells"
        axes.plot(sweep.multiples, errors / whole, **style, label=label)
    axes.axhline(1, color=BLACK, linewidth=0.8, linestyle=":", label="the full noisy table")
    axes.axvline(1, color="#999999", linewidth=0.8)
    mean = float(np.mean(sweep.data.table.counts))
    title = f"{sweep.data.name}\nmean {_plain(mean)}, ε = {float(sweep.epsilon):g}"
    plots.dress(axes, title, "θ / θ₁", "RMSE / that of the table", "y")


def _plain(mean: float) -> str:
    return f"{mean:,.0f}" if mean >= 10 else f"{mean:.2g}"
