"""Figures 1 to 7: which keys are reported."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.weighted import plots
from papers.weighted.data import Counts, zipf
from papers.weighted.methods import Sweep, over_delta, over_tau
from papers.weighted.plots import BLUE, FAIR, GREEN, NON_PRIVATE, PINK, PWS, SBH, number
from papers.weighted.settings import AT_LEAST, DELTA, EPSILON, FINE_DELTA, HISTOGRAMS, SAMPLES
from tamis.sampling.schemes import Ppswor
from tamis.weighted.baselines import SampledStabilityHistogram, StabilityHistogram
from tamis.weighted.keys import histogram_reporting, ppswor_reporting


def figure_1() -> Figure:
    """Reporting probability by frequency, no sampling."""
    figure, grid = plots.panels(2)
    for axes, (epsilon, delta) in zip(grid, HISTOGRAMS[:2], strict=True):
        i = np.arange(1, int(2.2 * StabilityHistogram(epsilon, delta).threshold))
        curves = [
            (histogram_reporting(epsilon, delta, i), PWS),
            (StabilityHistogram(epsilon, delta).reporting(i), SBH),
            (StabilityHistogram(epsilon, delta, fair=True).reporting(i), FAIR),
        ]
        plots.lines(axes, i, curves)
        title = f"no sampling, ε = {number(epsilon)}, δ = {number(delta)}"
        plots.dress(axes, title, "frequency i", "reporting probability")
    plots.shared_legend(figure, grid)
    return figure


def figure_2() -> Figure:
    """Share of Zipf keys over delta, no sampling."""
    figure, grid = plots.panels(3)
    sweeps = {alpha: over_delta(zipf(alpha), EPSILON) for alpha in (1.0, 2.0)}
    for (alpha, shares), colour in zip(sweeps.items(), (BLUE, GREEN), strict=True):
        _ratio(grid[0], shares, f"Zipf[{alpha:g}]", colour)
    _dress_ratio(grid[0], f"PWS / SbH, ε = {EPSILON:g}", "δ", "upper left")
    for axes, (alpha, shares) in zip(grid[1:], sweeps.items(), strict=True):
        _shares(axes, shares, sampled=False)
        plots.dress(axes, f"Zipf[{alpha:g}], ε = {EPSILON:g}", "δ", "share of keys reported", "xy")
    plots.shared_legend(figure, grid[1:])
    return figure


def figure_3(words: Counts) -> Figure:
    """Share of headline words over delta, no sampling."""
    figure, grid = plots.panels(2)
    shares = over_delta(words, EPSILON)
    _ratio(grid[0], shares, "ABC", BLUE)
    _dress_ratio(grid[0], f"PWS / SbH, ε = {EPSILON:g}", "δ", "upper left")
    _shares(grid[1], shares, sampled=False)
    plots.dress(grid[1], f"ABC, ε = {EPSILON:g}", "δ", "share of keys reported", "xy")
    plots.shared_legend(figure, grid[1:])
    return figure


def figure_4() -> Figure:
    """Reporting probability by frequency, ppswor sampling."""
    figure, grid = plots.panels(2, rows=2, height=2.7)
    for axes, (epsilon, tau) in zip(grid, SAMPLES, strict=True):
        baseline = SampledStabilityHistogram(epsilon, FINE_DELTA, tau)
        fair = SampledStabilityHistogram(epsilon, FINE_DELTA, tau, fair=True)
        i = np.arange(1, int(2.2 * baseline.threshold))
        curves = [
            (Ppswor(tau).probability(i), NON_PRIVATE),
            (ppswor_reporting(epsilon, FINE_DELTA, tau, i), PWS),
            (baseline.reporting(i), SBH),
            (fair.reporting(i), FAIR),
        ]
        plots.lines(axes, i, curves)
        title = f"ppswor τ = {number(tau)}, ε = {epsilon:g}, δ = {number(FINE_DELTA)}"
        plots.dress(axes, title, "frequency i", "reporting probability", "xy")
    plots.shared_legend(figure, grid)
    return figure


def figure_5() -> Figure:
    """Share of Zipf keys over the sampling rate, and the gain."""
    figure, grid = plots.panels(3, rows=2, height=2.6)
    for shown, gained, (alpha, stated) in zip(grid[:3], grid[3:], AT_LEAST.items(), strict=True):
        shares = over_tau(zipf(alpha), EPSILON, DELTA)
        _shares(shown, shares, sampled=True)
        title = f"Zipf[{alpha:g}], ppswor, ε = {EPSILON:g}, δ = {DELTA:g}"
        plots.dress(shown, title, "τ", "share of keys reported", "xy")
        curves = [(100 * shares.gain, SBH), (100 * shares.fair_gain, FAIR)]
        plots.lines(gained, shares.at, curves)
        logs = "xy" if alpha < 1 else "x"
        plots.dress(gained, f"Zipf[{alpha:g}]", "τ", "PWS: more keys than SbH, %", logs)
        _mark(gained, 100 * stated)
    for axes in grid[4:]:
        axes.set_ylim(bottom=0)
    plots.shared_legend(figure, grid)
    return figure


def figure_6(words: Counts) -> Figure:
    """Share of headline words over the sampling rate."""
    figure, grid = plots.panels(1, height=3.2, width=4.6)
    _shares(grid[0], over_tau(words, EPSILON, DELTA), sampled=True)
    title = f"ABC, ppswor, ε = {EPSILON:g}, δ = {DELTA:g}"
    plots.dress(grid[0], title, "τ", "share of keys reported", "xy")
    grid[0].legend()
    return figure


def figure_7(words: Counts) -> Figure:
    """Ratio of reported headline words over the sampling rate."""
    figure, grid = plots.panels(1, height=3.2, width=4.6)
    _ratio(grid[0], over_tau(words, EPSILON, DELTA), "ABC", BLUE)
    title = f"PWS / SbH, ppswor, ε = {EPSILON:g}, δ = {DELTA:g}"
    _dress_ratio(grid[0], title, "τ", "center right")
    grid[0].set_ylim(bottom=1)
    return figure


def _shares(axes: Axes, shares: Sweep, sampled: bool) -> None:
    curves = [(shares.pws, PWS), (shares.sbh, SBH), (shares.fair, FAIR)]
    if sampled:
        curves.insert(0, (shares.non_private, NON_PRIVATE))
    plots.lines(axes, shares.at, curves)


def _ratio(axes: Axes, shares: Sweep, name: str, colour: str) -> None:
    axes.plot(shares.at, 1 + shares.gain, color=colour, label=f"{name}, printed threshold")
    fair = f"{name}, fair threshold"
    axes.plot(shares.at, 1 + shares.fair_gain, color=colour, linestyle="-.", label=fair)


def _dress_ratio(
    axes: Axes, title: str, x: str, place: Literal["upper left", "center right"]
) -> None:
    plots.dress(axes, title, x, "times as many keys", "x")
    axes.legend(loc=place)


def _mark(axes: Axes, stated: float) -> None:
    axes.axhline(stated, color=PINK, linewidth=1.2)
    axes.annotate(
        f"paper: at least {stated:.0f} %",
        (1, stated),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        xytext=(0, -11),
        ha="right",
    )
