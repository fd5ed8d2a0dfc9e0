"""Public bounds, and the grid of whole numbers that points are put on.

Everything that is computed of points afterwards is a sum, a product or a comparison of whole
numbers below 2^53, which floating point does exactly, in whatever order: so what one point adds to
a total does not depend on the others, and noise on the grid hides all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from tamis.importance.kmeans.parallel import in_parts
from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.guarantee import as_float

Floats = npt.NDArray[np.float64]

BITS = 24  # of the radius, in steps: the square of a norm then has at most 50
MOST_ROWS = 1 << 28  # so that a total has at most 52 bits
_LEAST, _MOST = 1e-100, 1e100  # of what bounds may say, so that nothing overflows
_BELOW_ONE = 1 - 2.0**-50  # keeps what is shortened within the radius whatever is rounded


@dataclass(frozen=True)
class Grid:
    """A box or a ball in which points are, and the step of the grid: a power of two."""

    low: Floats
    high: Floats
    radius: float  # the largest l1 distance from the middle

    @classmethod
    def of_bounds(cls, bounds: object, dimensions: int) -> Grid:
        """The box between two numbers, or two arrays with a number for each column."""
        low, high = _box(bounds, dimensions)
        return cls(low, high, float((high - low).sum() / 2))

    @classmethod
    def of_radius(cls, radius: object, dimensions: int) -> Grid:
        """The ball around 0 of all points with an l1 norm (sum of absolute values) up to this."""
        size = as_float(radius)
        if not _LEAST <= size <= _MOST:
            raise InvalidInput(
                f"radius must be a number above 0, the largest sum of absolute values of a point "
                f"that counts in full, not {shown(radius)}."
            )
        # A point that is far out is moved to the ball along its direction, if it is not so far
        # that its norm would have more than 52 bits.
        far = np.full(dimensions, 2.0 ** min(20, 28 - dimensions.bit_length()) * size)
        return cls(-far, far, size)

    @property
    def middle(self) -> Floats:
        return (self.low + self.high) / 2

    @property
    def step(self) -> float:
        return math.ldexp(1.0, math.frexp(self.radius)[1] - BITS)

    @property
    def steps(self) -> int:
        """The radius, in steps; at most 2^24."""
        return int(self.radius / self.step)

    def place(self, points: Floats) -> Floats:
        """Points as whole numbers of steps from the middle, clipped to the bounds."""
        placed = np.empty(points.shape)

        def part(rows: slice) -> None:
            own = placed[rows]
            np.clip(points[rows], self.low, self.high, out=own)
            own -= self.middle
            own *= 1 / self.step  # a power of two: exact
            np.trunc(own, out=own)
            shorten(own, l1_norms(own), self.steps)

        in_parts(part, len(points))
        return placed

    def back(self, placed: Floats) -> Floats:
        """Points of the grid in the units of the data, within the bounds."""
        return np.clip(placed * self.step + self.middle, self.low, self.high)


def l1_norms(points: Floats) -> Floats:
    """Of whole numbers, so that the order in which they are added does not matter."""
    return np.asarray(np.abs(points) @ np.ones(points.shape[1]))


def shorten(points: Floats, norms: Floats, radius: int) -> None:
    """Moves points with a larger l1 norm towards 0, to whole numbers within the radius."""
    far = np.flatnonzero(norms > radius)
    if len(far):
        share = radius / norms[far] * _BELOW_ONE
        points[far] = np.trunc(points[far] * share[:, None])


def _box(bounds: object, dimensions: int) -> tuple[Floats, Floats]:
    try:
        low, high = cast("tuple[object, object]", bounds)
        ends = [np.broadcast_to(np.asarray(end, np.float64), dimensions) for end in (low, high)]
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(
            "bounds must be a pair (low, high) of numbers, or of arrays with one number for each "
            f"of the {dimensions} columns."
        ) from None
    size = np.abs(ends).max()
    if not (np.isfinite(size) and size <= _MOST and (ends[0] <= ends[1]).all()):
        raise InvalidInput("bounds must be finite, and the low ones not above the high ones.")
    if not (ends[1] - ends[0]).sum() >= max(_LEAST, size * 2.0**-40):
        raise InvalidInput("bounds must leave some width: low and high are the same everywhere.")
    return ends[0].copy(), ends[1].copy()
