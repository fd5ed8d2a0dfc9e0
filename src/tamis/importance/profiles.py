"""How much one weighted point can change what a mechanism gives: its distinguishability profile.

A mechanism works on weighted points. Its profile epsilon(w, x) bounds the privacy loss when the
point x is there with weight w >= 1 against when it is not there at all, whatever the others are
(Fay, Mair, Sjölund, *Privacy amplification via importance sampling*, definition 6).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tamis.privacy.guarantee import check_bound
from tamis.sampling.frequencies import check_positive

Floats = npt.NDArray[np.float64]

_ROWS = 2048  # of points at once, so that what is made of them stays near the processor


class Profile(ABC):
    """epsilon(w, x) of a mechanism, for many points at once.

    Write your own by giving the three methods. Each takes n points, as a table of n rows, and
    gives an array of n numbers. What they give of a point must depend on that point and its weight
    alone.

    Guarantee: none of its own. What is computed from a profile is as true as the profile is of the
    mechanism; and optimal weights are optimal if exp(epsilon) is convex in w.
    """

    @abstractmethod
    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        """The privacy loss of each point at its weight; infinite where that is too large."""

    @abstractmethod
    def slope(self, weights: Floats, points: Floats) -> Floats:
        """The derivative of epsilon with respect to the weight, there."""

    @abstractmethod
    def convexity(self, points: Floats) -> Floats:
        """mu of each point: exp(epsilon) - mu w^2 / 2 is convex in w, for w >= 1.

        0, if it is not known to be more.
        """


class Linear(Profile):
    """epsilon(w, x) = rate(x) w: noise of a fixed scale on weighted sums."""

    @abstractmethod
    def rate(self, points: Floats) -> Floats:
        """The privacy loss of each point at weight 1."""

    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        return self.rate(points) * weights

    def slope(self, weights: Floats, points: Floats) -> Floats:
        return self.rate(points)

    def convexity(self, points: Floats) -> Floats:
        """The second derivative of exp(c w) at w = 1, c^2 e^c: it grows with w.

        Equation (4) of the paper has c where c^2 belongs, which is too much for c < 1 (proofs,
        section 15).
        """
        rate = self.rate(points)
        with np.errstate(over="ignore"):
            return np.asarray(rate * rate * np.exp(rate))


@dataclass(frozen=True)
class LaplaceSum(Linear):
    """A weighted sum of points, with Laplace noise of this scale on every coordinate.

    >>> LaplaceSum(scale=10.0).epsilon(np.array([2.0]), np.array([[3.0, -1.0]]))
    array([0.8])
    """

    scale: float

    def __post_init__(self) -> None:
        _check_scales(self)

    def rate(self, points: Floats) -> Floats:
        return l1_norms(points) / self.scale


@dataclass(frozen=True)
class Count(Linear):
    """The sum of weights, in one of several groups, with Laplace noise of this scale on each."""

    scale: float

    def __post_init__(self) -> None:
        _check_scales(self)

    def rate(self, points: Floats) -> Floats:
        return np.full(len(points), 1 / self.scale)


@dataclass(frozen=True)
class Lloyd(Linear):
    """Weighted DP-Lloyd: in each iteration the weights and the points of all clusters are summed.

    epsilon(w, x) = T (1/count_scale + ||x||_1/sum_scale) w after T iterations (equation 3).

    >>> Lloyd(count_scale=20.0, sum_scale=10.0, iterations=5).rate(np.array([[3.0, -1.0]]))
    array([2.25])
    """

    count_scale: float
    sum_scale: float
    iterations: int

    def __post_init__(self) -> None:
        _check_scales(self)
        object.__setattr__(self, "iterations", check_bound("iterations", self.iterations))

    def rate(self, points: Floats) -> Floats:
        return self.iterations * (1 / self.count_scale + l1_norms(points) / self.sum_scale)


def l1_norms(points: Floats) -> Floats:
    """||x||_1 of each point. It does not depend on which other points there are."""
    found = np.empty(len(points))
    space = np.empty((_ROWS, points.shape[1]))
    for start in range(0, len(points), _ROWS):
        rows = points[start : start + _ROWS]
        np.abs(rows, out=space[: len(rows)]).sum(axis=1, out=found[start : start + _ROWS])
    return found


def _check_scales(profile: LaplaceSum | Count | Lloyd) -> None:
    for name in (f.name for f in fields(profile) if f.name.endswith("scale")):
        object.__setattr__(profile, name, check_positive(getattr(profile, name), name))
