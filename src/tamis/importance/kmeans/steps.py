"""One step of Lloyd's algorithm with noise: counts and sums are released, and centres follow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tamis.importance.kmeans.grid import Floats, shorten
from tamis.importance.kmeans.totals import Ints
from tamis.privacy.noise import two_sided

RHO = 0.225  # of Su and others (2016): how far clusters spread, in parts of the range
_ALIVE = 3  # times the noise of a count: with less, nothing can be said of a centre


def count_share(dimensions: int) -> Fraction:
    """The part of a step's epsilon that goes to counts.

    For points in a box of width 2, noise is spent best with count_scale / sum_scale the cube root
    of 4 d RHO^2 (Su and others, 2016). The radius of such points is d, and here it is made so.
    """
    ratio = (4 * dimensions * RHO**2) ** (1 / 3)
    share = Fraction(1 / (1 + dimensions * ratio)).limit_denominator(10**6)
    return max(share, Fraction(1, 10**6))  # or of 80,000 columns nothing would be left for counts


BINS = 128  # of a histogram of norms


@dataclass(frozen=True)
class Step:
    """How one step adds noise.

    Guarantee: for one point that adds at most ``unit`` to one count and a vector of l1 norm at most
    ``radius`` to the sum of the same centre, `drawn` is epsilon-differentially private (pure); for
    one of weight w, w epsilon at most.
    """

    epsilon: Fraction
    radius: int  # in steps of the grid
    dimensions: int
    unit: int = 1

    @property
    def count_rate(self) -> Fraction:
        return self.epsilon * count_share(self.dimensions) / self.unit

    @property
    def sum_rate(self) -> Fraction:
        return self.epsilon * (1 - count_share(self.dimensions)) / self.radius

    def drawn(self, counts: Ints, sums: Ints) -> Drawn:
        """Counts and sums with noise: all that is known of the points from here on."""
        noisy = counts + two_sided(self.count_rate, len(counts))
        moved = sums + two_sided(self.sum_rate, sums.size).reshape(sums.shape)
        count_noise = 1 / float(self.count_rate) / self.unit
        return Drawn(noisy / self.unit, moved.astype(np.float64), count_noise, self)


@dataclass(frozen=True)
class Drawn:
    """Private counts (of points) and sums (in steps of the grid) of each centre."""

    counts: Floats
    sums: Floats
    count_noise: float  # the scale of the noise of a count
    step: Step

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        """Which centres have more points than noise would give them."""
        found = self.counts > _ALIVE * self.count_noise
        if not found.any():
            found[np.argmax(self.counts)] = True
        return found

    @property
    def means(self) -> Floats:
        """Of each centre's points, on the grid; drawn to 0 as far as they may be noise.

        The noise of a mean is known, so its expected length is taken off (James and Stein, 1961):
        where there is little but noise, 0 is a better guess than what was drawn.
        """
        many = np.maximum(self.counts, 1.0)
        means = self.sums / many[:, None]
        noise = 2 / (float(self.step.sum_rate) * many) ** 2
        length = np.maximum((means * means).sum(axis=1), 1e-300)
        kept = np.clip(1 - (self.step.dimensions - 2) * noise / length, 0, 1)
        steady: Floats = np.rint(means * kept[:, None])
        shorten(steady, np.abs(steady).sum(axis=1), self.step.radius)
        return steady


def binned(values: Floats, top: int, bins: int = BINS) -> Ints:
    """How many l1 norms are in each bin from 0 to ``top``; **not private**."""
    place = np.minimum(np.floor(values * (bins / top)), bins - 1).astype(np.int64)
    return np.bincount(place, minlength=bins)


def histogram(counts: Ints, top: int, epsilon: Fraction) -> Norms:
    """A private histogram of l1 norms from 0 to ``top``, of what `binned` has counted.

    Guarantee: epsilon-differential privacy (pure) for one norm.
    """
    return Norms(counts + two_sided(epsilon, len(counts)), top)


@dataclass(frozen=True)
class Norms:
    """What is known of norms: private counts in equal bins."""

    counts: Ints
    top: int

    @property
    def size(self) -> float:
        """About how many points there are."""
        return max(1.0, float(self.counts.sum()))

    @property
    def mean(self) -> float:
        """About how large norms are."""
        return float(self._shares @ (np.arange(len(self.counts)) + 0.5)) * self._width

    def quantile(self, share: float) -> int:
        """The upper end of the bin in which the quantile is."""
        below = np.cumsum(self._shares)
        place = min(int(np.searchsorted(below, share)), len(below) - 1)
        return max(1, math.ceil((place + 1) * self._width))

    @property
    def _width(self) -> float:
        return self.top / len(self.counts)

    @property
    def _shares(self) -> Floats:
        positive = np.maximum(self.counts, 0).astype(np.float64)
        total = positive.sum()
        return positive / total if total else np.full(len(positive), 1 / len(positive))
