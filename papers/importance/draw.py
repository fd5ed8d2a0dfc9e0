"""The figures."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.importance import privacy
from papers.importance.claims_privacy import EPSILON
from papers.importance.data import Table, Tables, mixture
from papers.importance.experiments import OURS, Sweep, best, sweep
from papers.importance.lloyd import CORESET, FULL, OPTIMAL, SAMPLERS, UNIFORM, sampling
from papers.importance.settings import EPSILONS, SIZES
from papers.weighted import plots
from papers.weighted.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, Style

STYLES: dict[str, Style] = {
    FULL: {"color": BLUE},
    UNIFORM: {"color": RED, "linestyle": "--", "marker": "o"},
    CORESET: {"color": GREEN, "linestyle": "-.", "marker": "^"},
    OPTIMAL: {"color": ORANGE, "linestyle": ":", "marker": "s"},
    OURS: {"color": PINK, "marker": "D"},
}


def figure_1() -> Figure:
    """Probabilities and losses by norm; what sampling costs in noise."""
    table, size = mixture(), SIZES[0]
    figure, grid = plots.panels(3, height=3.2, width=3.9)
    norms = privacy.at_norms(table.grid.steps)[:, 0] / table.grid.steps
    for kind in SAMPLERS:
        style = {**STYLES[kind], "marker": "", "label": kind}
        for axes, values in zip(grid, privacy.losses(table, kind, size, EPSILON), strict=False):
            axes.plot(norms, values, **style)
        noise = [e / sampling(table, kind, size, e).spent for e in EPSILONS]
        grid[2].plot(EPSILONS, noise, **style)
    title = f"ε = {EPSILON:g}, m = {size:,}"
    plots.dress(grid[0], title, "l1 norm / radius", "probability q(x)")
    plots.dress(grid[1], title, "l1 norm / radius", "privacy loss ψ(x)")
    plots.dress(grid[2], f"m = {size:,}", "ε", "noise, over that of full", "xy")
    plots.shared_legend(figure, grid, 3)
    return figure


def figure_2(tables: Tables) -> Figure:
    """Letters."""
    return _samplers(tables["letter"])


def figure_3(tables: Tables) -> Figure:
    """Shuttle."""
    return _samplers(tables["shuttle"])


def figure_4(tables: Tables) -> Figure:
    """Forest cover."""
    return _samplers(tables["covtype"])


def figure_5() -> Figure:
    """Gaussian clusters."""
    return _samplers(mixture())


def figure_6(tables: Tables) -> Figure:
    """Our best, and the paper's DP-Lloyd on all points."""
    figure, grid = plots.panels(2, rows=2, height=2.8, width=4.2)
    for axes, table in zip(grid, (*tables.values(), mixture()), strict=True):
        _band(axes, best(table), OURS, 0)
        _band(axes, sweep(table), FULL, 0)
        _finish(axes, table.name)
    plots.shared_legend(figure, grid)
    return figure


def _samplers(table: Table) -> Figure:
    found = sweep(table)
    figure, grid = plots.panels(len(found.sizes), height=3.0, width=3.8)
    for axes, size in zip(grid, found.sizes, strict=True):
        _band(axes, found, FULL, 0)
        for kind in SAMPLERS:
            _band(axes, found, kind, size)
        _finish(axes, f"{table.name}, m = {size:,}")
    plots.shared_legend(figure, grid, 5)
    return figure


def _band(axes: Axes, found: Sweep, kind: str, size: int) -> None:
    """The median, and the quartiles as a band."""
    style = STYLES[kind]
    low, middle, high = (found.at(kind, size, q) for q in (0.25, 0.5, 0.75))
    axes.fill_between(EPSILONS, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axes.plot(EPSILONS, middle, **{"markersize": 3.5, **style, "label": kind})


def _finish(axes: Axes, title: str) -> None:
    axes.axhline(1, color=BLACK, linewidth=0.8, label="k-means without privacy")
    plots.dress(axes, title, "ε", "cost / cost without privacy", "xy")
    low, high = axes.get_ylim()
    ticks = [tick for tick in (1, 1.5, 2, 3, 5, 8, 12, 20) if tick <= high]
    axes.set_yticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(min(low, 0.97), np.max([high, 1.1]))
