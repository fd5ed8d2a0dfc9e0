"""What a library gave for one data set and bound, in figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Cost
from benchmarks.peers.process import Done

Floats = npt.NDArray[np.float64]

TOP = 100
HEADS = ("keys per unit", "library", "keys named", "error, named", f"error, top {TOP}",
         "mean abs. error", "seconds", "**ratio**", "MB", "memory", "runs")  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A mean over runs and its standard error: NaN if one run does not tell it, None if none is."""

    value: float
    spread: float | None = None


@dataclass(frozen=True)
class Asked:
    """The data set, the keys per unit, and the method: as the page calls it, and if it counts."""

    data: str
    bound: int
    method: str
    counts: bool = True


@dataclass(frozen=True)
class Expected:
    """What the law of a method expects of its figures, and the standard errors of its runs."""

    keys: Figure
    named: Figure | None
    top: Figure | None
    absolute: Figure | None


@dataclass(frozen=True)
class Result:
    """Errors are None where a library gives no counts, or has named nothing."""

    asked: Asked
    plain: Cost  # of the plain GROUP BY
    runs: int
    keys: Figure
    named: Figure | None  # the root mean square of the errors of named keys
    top: Figure | None  # of the most frequent keys
    absolute: Figure | None  # the mean absolute error of named keys
    seconds: Figure
    megabytes: Figure
    expected: Expected | None = None  # if its law is known

    @property
    def total(self) -> float:
        """The keys that all runs have named."""
        return self.keys.value * self.runs


def result_of(
    asked: Asked,
    truth: dict[str, int],
    plain: Cost,
    done: Done,
    expected: Expected | None = None,
) -> Result:
    runs = len(done.found)
    named = list(dict.fromkeys(key for found in done.found for key in found))
    largest = sorted(truth, key=truth.__getitem__, reverse=True)[:TOP]
    there = np.array([[key in found for found in done.found] for key in named])
    there = there.reshape(len(named), runs).astype(np.float64)
    errors = _errors(named, truth, done) * there
    some = asked.counts and len(named) > 0
    return Result(
        asked,
        plain,
        runs,
        _mean(there, np.ones(runs)),
        _root(errors**2, there) if some else None,
        _root(_errors(largest, truth, done) ** 2) if asked.counts else None,
        _mean(np.abs(errors), there) if some else None,
        Figure(float(np.median(done.seconds))),
        Figure(done.megabytes),
        expected,
    )


def _errors(keys: Sequence[str], truth: dict[str, int], done: Done) -> Floats:
    """A row for each key, a column for each run; a key that is not named is estimated as 0."""
    rows = [[(found.get(key) or 0) - truth[key] for found in done.found] for key in keys]
    return np.array(rows, dtype=np.float64).reshape(len(keys), len(done.found))


def _mean(values: Floats, weights: Floats | None = None) -> Figure:
    """The sum of the values of keys (rows) in runs (columns) over that of their weights.

    Every library draws for each key on its own, so that what the keys add to the error is added
    up: each is as far from its own mean over the runs as it is by chance. What is the same in all
    runs adds nothing, and few runs of many keys tell the error well.
    """
    weights = np.ones_like(values) if weights is None else weights
    total, runs = float(weights.sum()), values.shape[1]
    mean = float(values.sum()) / total
    if runs < 2:
        return Figure(mean, math.nan)
    residuals = values - mean * weights if weights.shape == values.shape else values
    squares = float(((residuals - residuals.mean(axis=1, keepdims=True)) ** 2).sum())
    return Figure(mean, math.sqrt(squares * runs / (runs - 1)) / total)


def _root(squares: Floats, weights: Floats | None = None) -> Figure:
    """Of the mean square; its standard error is that of the squares, over twice the root."""
    mean = _mean(squares, weights)
    root = math.sqrt(mean.value)
    return Figure(root, (mean.spread or 0.0) / (2 * root) if root else mean.spread)


def line(found: Result) -> tuple[str, ...]:
    """A row of the table."""
    seconds = found.seconds.value
    megabytes = found.megabytes.value
    errors = (found.named, found.top, found.absolute)
    return (
        str(found.asked.bound),
        found.asked.method,
        _shown(found.keys, 1),
        *("" if error is None else _shown(error, 2) for error in errors),
        shown_seconds(seconds),
        f"**{seconds / found.plain.seconds:.1f}**",
        f"{megabytes:,.0f}",
        f"{megabytes / found.plain.megabytes:.1f}",
        str(found.runs),
    )


def shown_seconds(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 0.1 else f"{seconds:.2f}"


def _shown(figure: Figure, places: int) -> str:
    known = figure.spread is not None and not math.isnan(figure.spread)
    return f"{figure.value:,.{places}f}" + (f" ± {figure.spread:.{places}f}" if known else "")
