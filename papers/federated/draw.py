"""The figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.federated import methods, privacy, words
from papers.federated.data import Held, Words, binomial, hashed
from papers.federated.experiments import ALL, LARGEST, MISSED, SAMPLED, TOTAL, sweep
from papers.federated.settings import (
    DOMAINS,
    EPSILONS,
    POSTER_DELTA,
    POSTER_EPSILON,
    POSTER_P,
    POSTER_TAU,
    THRESHOLDS,
    TOPS,
)
from papers.weighted import plots
from papers.weighted.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, Style

STYLES: dict[str, Style] = {
    methods.OURS: {"color": BLUE, "marker": "s"},
    methods.CENTRAL: {"color": RED, "linestyle": "--", "marker": "o"},
    methods.LOCAL: {"color": GREEN, "linestyle": ":", "marker": "^"},
    methods.SHUFFLED: {"color": ORANGE, "linestyle": "-.", "marker": "D"},
    methods.DROPPED: {"color": PINK, "linestyle": (0, (1, 1)), "linewidth": 1.2},
}
NOTHING: Style = {"color": BLACK, "linewidth": 0.8, "label": "all counts said to be 0"}
WORDS: dict[str, Style] = {
    words.LEAF: {"color": BLUE, "marker": "s"},
    words.TREE: {"color": GREEN, "linestyle": "-.", "marker": "^"},
    words.TRIE: {"color": RED, "linestyle": "--", "marker": "o"},
}


def figure_1() -> Figure:
    """Delta by the number of clients and by tau; the probability to be missed."""
    figure, grid = plots.panels(3, height=3.2, width=3.9)
    others = np.arange(1, 41)
    gained = privacy.by_others(POSTER_P, POSTER_TAU, POSTER_EPSILON, others)
    grid[0].plot(others, np.where(gained > 0, gained, np.nan), color=BLUE, label="exact")
    grid[0].axhline(POSTER_DELTA, color=RED, linestyle="--", label="the poster")
    title = f"p = {POSTER_P:g}, τ = {POSTER_TAU}, ε = {POSTER_EPSILON:g}"
    plots.dress(grid[0], title, "other clients with the item", "δ", "y")
    grid[0].set_ylim(1e-14, 0.01)
    _by_threshold(grid[1])
    _by_clients(grid[2])
    for axes in grid:
        axes.legend()
    return figure


def _by_threshold(axes: Axes) -> None:
    exact = [privacy.exact(tau) for tau in THRESHOLDS]
    bound = [privacy.bound(tau) for tau in THRESHOLDS]
    axes.plot(THRESHOLDS, exact, color=BLUE, label="exact")
    axes.plot(THRESHOLDS, bound, color=ORANGE, linestyle="-.", label="closed form")
    axes.plot([POSTER_TAU], [POSTER_DELTA], color=RED, marker="o", label="the poster", ls="")
    plots.dress(axes, f"p = {POSTER_P:g}, ε = {POSTER_EPSILON:g}", "τ", "δ", "y")


def _by_clients(axes: Axes) -> None:
    clients = np.arange(1, 1001)
    for epsilon, colour, dash in ((0.1, ORANGE, "-."), (0.5, GREEN, "--"), (1.0, BLUE, "-")):
        made = methods.ours(epsilon)
        label = f"ε = {epsilon:g}: p = {made.p:.2f}, τ = {made.tau}"
        axes.plot(clients, made.missed(clients), color=colour, linestyle=dash, label=label)
    plots.dress(axes, "δ = 10⁻⁶", "clients with the item", "probability to be missed", "xy")
    axes.set_ylim(1e-6, 2)


def figure_2() -> Figure:
    """Errors on binomial data."""
    return _errors([binomial(domain) for domain in DOMAINS])


def figure_3(text: Words) -> Figure:
    """Errors on words."""
    return _errors([hashed(text, domain) for domain in DOMAINS])


def _errors(tables: Sequence[Held]) -> Figure:
    """Total errors in both settings, and below the largest errors."""
    figure, grid = plots.panels(len(tables), rows=4, height=2.7, width=3.8)
    for axes, ((measure, setting), held) in zip(
        grid, product(product((TOTAL, LARGEST), (SAMPLED, ALL)), tables), strict=True
    ):
        found = sweep(held)
        for name, style in STYLES.items():
            errors = found.at(setting, name, measure)
            axes.plot(EPSILONS, errors, **{"markersize": 3.5, **style, "label": name})
        if measure == TOTAL:
            axes.axhline(1, **NOTHING)
        plots.dress(axes, f"{_named(held)}, {setting}", "ε", f"{measure} / clients", "xy")
    plots.shared_legend(figure, grid, 3)
    return figure


def _named(held: Held) -> str:
    return f"{held.name}, D = $2^{{{held.domain.bit_length() - 1}}}$"


def figure_4(text: Words) -> Figure:
    """Where the error on words comes from."""
    figure, grid = plots.panels(len(DOMAINS), height=3.0, width=3.8)
    for axes, domain in zip(grid, DOMAINS, strict=True):
        held = hashed(text, domain)
        found = sweep(held)
        total, missed = (found.at(SAMPLED, methods.OURS, m) for m in (TOTAL, MISSED))
        axes.fill_between(EPSILONS, 0, missed, color=BLUE, alpha=0.75, label="items not released")
        axes.fill_between(EPSILONS, missed, total, color=ORANGE, alpha=0.6, label="items released")
        plots.dress(axes, _named(held), "ε", "total error / clients", "x")
        axes.set_ylim(bottom=0)
    plots.shared_legend(figure, grid)
    return figure


def figure_5(text: Words) -> Figure:
    """Recall of the most frequent words."""
    figure, grid = plots.panels(1, height=3.2, width=4.8)
    for name, shares in words.recall(text).items():
        grid[0].plot(TOPS, shares, **{"markersize": 4, **WORDS[name], "label": name})
    title = f"Shakespeare, ε = {words.EPSILON:g}, δ = 10⁻⁶"
    plots.dress(grid[0], title, "k, for the k most frequent words", "share that is found", "x")
    grid[0].set_xticks(TOPS, labels=[f"{top}" for top in TOPS])
    grid[0].minorticks_off()
    grid[0].set_ylim(0, 1.05)
    grid[0].legend()
    return figure
