"""Whether ranges are better answered from cells or from a hierarchy, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

import numpy as np
import numpy.typing as npt

from tamis.privacy.errors import InvalidInput, counted
from tamis.sparse.hierarchy import Dyadic, Haar, Transform
from tamis.sparse.noise import passing, variance

Floats = npt.NDArray[np.float64]

_PLACES = 256  # so many places of a range are tried

FLAT, FILTERED, DYADIC, HAAR = "flat", "flat with a filter", "dyadic", "haar"


@dataclass(frozen=True)
class Advice:
    """The root-mean-square error of a range, by method, and which to take."""

    errors: dict[str, float]
    said: str

    @property
    def best(self) -> str:
        """The method of the smallest error."""
        return min(self.errors, key=self.errors.__getitem__)


def flat_or_ranges(
    sizes: Sequence[int],
    lengths: Sequence[int],
    epsilon: Fraction,
    change: int = 1,
    held: int | None = None,
    theta: int | None = None,
) -> Advice:
    """What the noise does to a range of so many values in each dimension, placed anywhere.

    All numbers are public: ``held`` is a guess at how many cells hold something, if there is one,
    and with ``theta`` it tells the error of a flat filter. What filters and samples take away from
    counts depends on the data and is in none of the errors.
    """
    pairs = zip(lengths, sizes, strict=False)
    if len(sizes) != len(lengths) or not all(1 <= n <= m for n, m in pairs):
        raise InvalidInput(
            "lengths must give, for each size, how many values a range has: from 1 to the size."
        )
    cells, rate = prod(lengths), epsilon / change
    errors = {FLAT: sqrt(cells * variance(rate))}
    if theta is not None and held is not None:
        errors[FILTERED] = sqrt(_filtered(cells, prod(sizes), held, theta, rate))
    kinds: dict[str, Callable[[int], Transform]] = {DYADIC: Dyadic, HAAR: Haar}
    for name, kind in kinds.items():
        errors[name] = hierarchical([kind(size) for size in sizes], lengths, rate)
    return Advice(errors, _said(errors, len(sizes)))


def hierarchical(transforms: Sequence[Transform], lengths: Sequence[int], rate: Fraction) -> float:
    """The error of a range from whole levels that share the rate equally."""
    each = [_squares(t, length) for t, length in zip(transforms, lengths, strict=True)]
    combinations = prod(t.levels for t in transforms)
    return sqrt(variance(rate / combinations) * prod(map(sum, each)))


def _squares(transform: Transform, length: int) -> list[float]:
    """The sum of the squared weights on each level, on average over places of the range."""
    free = transform.size - length
    starts = sorted({free * k // (_PLACES - 1) for k in range(_PLACES)})
    sums = [0.0] * transform.levels
    for start in starts:
        for p in transform.parts(start, start + length - 1):
            sums[p.level] += p.many * p.weight**2 / len(starts)
    return sums


def _filtered(asked: int, cells: int, held: int, theta: int, rate: Fraction) -> float:
    """The variance of cells that hold something, and the mean square of noise that passes."""
    share = asked * min(1.0, held / cells)
    return share * variance(rate) + (asked - share) * passing(rate, theta)


def _said(errors: dict[str, float], dimensions: int) -> str:
    best = min(errors, key=errors.__getitem__)
    why = f"{best} has the smallest error for such ranges, {errors[best]:,.1f}"
    if dimensions < 3:
        return why
    return (
        f"{why}; in {counted(dimensions, 'dimension')} every level of every dimension takes its "
        "share of epsilon, and flat summaries are better for nearly all ranges"
    )
