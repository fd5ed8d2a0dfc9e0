"""What a library gave for one data set and bound, in figures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.peers.process import Done

Floats = npt.NDArray[np.float64]

TOP = 100
HEADS = ("keys per unit", "library", "keys named", "error, named", f"error, top {TOP}",
         "mean abs. error", "seconds", "**ratio**", "MB", "runs")  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A mean over runs, and its standard error (NaN if there is too little to tell)."""

    value: float
    spread: float = math.nan

    def close(self, other: Figure) -> bool:
        """Whether chance alone could have put one before the other."""
        spreads = [0.0 if math.isnan(f.spread) else f.spread for f in (self, other)]
        return abs(self.value - other.value) < 2 * math.hypot(*spreads)


@dataclass(frozen=True)
class Asked:
    """The data set, the keys per unit, and the method: as the page calls it, and if it counts."""

    data: str
    bound: int
    method: str
    counts: bool = True


@dataclass(frozen=True)
class Result:
    """Errors are None where a library gives no counts, or has named nothing."""

    asked: Asked
    plain: float  # seconds of the plain GROUP BY
    runs: int
    keys: Figure
    named: Figure | None  # the root mean square of the errors of named keys
    top: Figure | None  # of the most frequent keys
    absolute: Figure | None  # the mean absolute error of named keys
    seconds: Figure
    megabytes: Figure


def result_of(asked: Asked, truth: dict[str, int], plain: float, done: Done) -> Result:
    errors = np.array([
        (value or 0) - truth[key] for found in done.found for key, value in found.items()
    ])  # fmt: skip
    largest = sorted(truth, key=truth.__getitem__, reverse=True)[:TOP]
    missed = np.array([
        (found.get(key) or 0) - truth[key] for found in done.found for key in largest
    ])  # fmt: skip
    some = asked.counts and len(errors) > 0
    return Result(
        asked,
        plain,
        len(done.found),
        _mean(np.array([len(found) for found in done.found])),
        _root(errors) if some else None,
        _root(missed) if asked.counts else None,
        _mean(np.abs(errors)) if some else None,
        Figure(float(np.median(done.seconds))),
        Figure(done.megabytes),
    )


def _mean(values: Floats) -> Figure:
    spread = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Figure(float(values.mean()), spread)


def _root(errors: Floats) -> Figure:
    """Of the mean square; its standard error is that of the squares, over twice the root."""
    squares = _mean(errors**2)
    root = math.sqrt(squares.value)
    return Figure(root, squares.spread / (2 * root) if root else math.nan)


def line(found: Result) -> tuple[str, ...]:
    """A row of the table."""
    seconds = found.seconds.value
    errors = (found.named, found.top, found.absolute)
    return (
        str(found.asked.bound),
        found.asked.method,
        _shown(found.keys, 1),
        *("" if error is None else _shown(error, 2) for error in errors),
        f"{seconds:.3f}" if seconds < 0.1 else f"{seconds:.2f}",
        f"**{seconds / found.plain:.1f}**",
        f"{found.megabytes.value:,.0f}",
        str(found.runs),
    )


def _shown(figure: Figure, places: int) -> str:
    spread = "" if math.isnan(figure.spread) else f" ± {figure.spread:.{places}f}"
    return f"{figure.value:,.{places}f}{spread}"
