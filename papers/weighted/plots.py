"""One look for all figures: colours that stay apart for colour-blind readers, and small files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.weighted.data import Floats, Ints

Style = dict[str, Any]

# Okabe and Ito's palette. Lines differ in dash as well as in colour.
BLACK, BLUE, RED, ORANGE = "#000000", "#0072B2", "#D55E00", "#E69F00"
GREEN, PINK = "#009E73", "#CC79A7"

PWS: Style = {"color": BLUE, "label": "PWS"}
SBH: Style = {"color": RED, "label": "SbH, threshold as printed", "linestyle": "--"}
FAIR: Style = {"color": ORANGE, "label": "SbH, fair threshold", "linestyle": "-."}
NON_PRIVATE: Style = {"color": BLACK, "label": "non-private sample", "linestyle": ":"}

_LOOK: Any = {
    "figure.dpi": 100,
    "savefig.dpi": 100,
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.grid": True,
    "axes.formatter.use_mathtext": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


def look() -> AbstractContextManager[None]:
    """The settings under which every figure is drawn and saved."""
    return mpl.rc_context(_LOOK)


def panels(
    columns: int, rows: int = 1, height: float = 3.0, width: float = 3.6
) -> tuple[Figure, list[Axes]]:
    """A row or a grid of panels, read from left to right and then down."""
    size = (width * columns, height * rows)
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return figure, list(grid.flat)


def dress(axes: Axes, title: str, x: str, y: str, logs: str = "") -> None:
    """Title, labels, and logarithmic axes named in ``logs``."""
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if "x" in logs:
        axes.set_xscale("log")
    if "y" in logs:
        axes.set_yscale("log")


def lines(axes: Axes, x: Floats | Ints, curves: Sequence[tuple[Floats, Style]]) -> None:
    """Draw curves over the same x."""
    for y, style in curves:
        axes.plot(x, y, **style)


def shared_legend(figure: Figure, among: Sequence[Axes], columns: int = 4) -> None:
    """One legend under the panels: each name once, from the panels given."""
    named: dict[str, Artist] = {}
    for axes in among:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    handles, names = list(named.values()), list(named)
    figure.legend(handles, names, loc="outside lower center", ncols=columns)


def number(x: float) -> str:
    """A small power of ten or of two as a power, anything else as it is."""
    for base in (10, 2):
        exponent = round(math.log(x, base))
        if exponent < -2 and math.isclose(x, base**exponent):
            return f"${base}^{{{exponent}}}$"
    return f"{x:g}"


def save(figure: Figure, path: Path) -> None:
    """Write a PNG whose bytes depend on the picture alone."""
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)
