"""Figures 8 and 9: how well frequencies are estimated."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.weighted import accuracy, plots
from papers.weighted.plots import FAIR, NON_PRIVATE, PWS, SBH, number
from papers.weighted.settings import (
    BIAS_TAUS,
    EPSILON,
    EPSILONS,
    FINE_DELTA,
    RATES,
    VARIANCE_TAUS,
)

_DASHES = ("-", (0, (6, 2)), (0, (3, 1.5)), (0, (1, 1)))
_BLUES = ("#08306b", "#2171b5", "#4aa3d8", "#6baed6")


def figure_8() -> Figure:
    """Normalised bias by frequency; NRMSE of a selection over the sampling rate."""
    figure, grid = plots.panels(2, rows=2, height=2.9, width=4.2)
    for upper, lower, epsilon in zip(grid[:2], grid[2:], EPSILONS, strict=True):
        _bias(upper, epsilon)
        _selection(lower, epsilon)
    plots.shared_legend(figure, grid)
    return figure


def figure_9() -> Figure:
    """Normalised variance and variance by frequency."""
    figure, grid = plots.panels(3, rows=2, height=2.6)
    for upper, lower, tau in zip(grid[:3], grid[3:], VARIANCE_TAUS, strict=True):
        _variance(upper, tau, normalised=True)
        _variance(lower, tau, normalised=False)
    plots.shared_legend(figure, grid[1:])
    return figure


def _bias(axes: Axes, epsilon: float) -> None:
    upto = 3 * accuracy.threshold(epsilon)
    for tau, dash, colour in zip(BIAS_TAUS, _DASHES, _BLUES, strict=True):
        errors = accuracy.pws(epsilon, tau, upto)
        style = {"linestyle": dash, "color": colour, "label": f"PWS, {_rate(tau)}"}
        plots.lines(axes, errors.frequency, [(errors.bias / errors.frequency, style)])
    for fair, style in ((False, SBH), (True, FAIR)):
        errors = accuracy.sbh(epsilon, 1.0, upto, fair)
        plots.lines(axes, errors.frequency, [(errors.bias / errors.frequency, style)])
    title = f"ε = {epsilon:g}, δ = {number(FINE_DELTA)}"
    plots.dress(axes, title, "frequency i", "bias / frequency", "x")


def _selection(axes: Axes, epsilon: float) -> None:
    errors = accuracy.selection_errors(epsilon)
    curves = [
        (errors.pws, {**PWS, "label": "PWS (lower panels)"}),
        (errors.sbh, SBH),
        (errors.fair, FAIR),
        (errors.non_private, NON_PRIVATE),
    ]
    plots.lines(axes, RATES, curves)
    axes.set_ylim(bottom=1e-3)
    title = f"2·10⁵ keys of frequency 1..200, ε = {epsilon:g}"
    plots.dress(axes, title, "sampling rate τ", "NRMSE of the sum", "xy")


def _variance(axes: Axes, tau: float, normalised: bool) -> None:
    upto = 2 * accuracy.threshold(EPSILON)
    errors = [
        (accuracy.pws(EPSILON, tau, upto), PWS),
        (accuracy.sbh(EPSILON, tau, upto), SBH),
        (accuracy.sbh(EPSILON, tau, upto, fair=True), FAIR),
    ]
    if tau < 1:
        errors.append((accuracy.non_private(tau, upto), NON_PRIVATE))
    for each, style in errors:
        values = each.relative_variance if normalised else each.variance
        plots.lines(axes, each.frequency, [(values, style)])
    unit = "variance / frequency²" if normalised else "variance"
    title = f"{_rate(tau)}, ε = {EPSILON:g}, δ = {number(FINE_DELTA)}"
    plots.dress(axes, title, "frequency i", unit, "y" if normalised else "")


def _rate(tau: float) -> str:
    return "no sampling" if tau == 1 else f"PPS τ = {number(tau)}"
