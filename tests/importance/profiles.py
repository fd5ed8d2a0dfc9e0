"""Profiles that are not linear, as a user would write them: the points have one coordinate, c."""

from __future__ import annotations

import numpy as np

from tamis.importance import Profile
from tamis.importance.profiles import Floats


class Squared(Profile):
    """epsilon(w, c) = log(1 + c w^2), so psi = log(1 + c w), and the optimal weight is a / c."""

    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        return np.log1p(points[:, 0] * weights**2)

    def slope(self, weights: Floats, points: Floats) -> Floats:
        c = points[:, 0]
        return np.asarray(2 * c * weights / (1 + c * weights**2))

    def convexity(self, points: Floats) -> Floats:
        return np.asarray(2 * points[:, 0])


class Root(Profile):
    """epsilon(w, c) = c sqrt(w). exp of it is convex for w >= 1 if c >= 1; it bends least at 1."""

    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        return points[:, 0] * np.sqrt(weights)

    def slope(self, weights: Floats, points: Floats) -> Floats:
        return np.asarray(points[:, 0] / np.sqrt(weights) / 2)

    def convexity(self, points: Floats) -> Floats:
        c = points[:, 0]
        return np.asarray(c * (c - 1) / 4 * np.exp(c))


class Power(Profile):
    """epsilon(w, c) = c w^power."""

    def __init__(self, power: float) -> None:
        self.power = power

    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        return points[:, 0] * weights**self.power

    def slope(self, weights: Floats, points: Floats) -> Floats:
        return self.power * points[:, 0] * weights ** (self.power - 1)

    def convexity(self, points: Floats) -> Floats:
        """For powers of at least 1: it is least at w = 1."""
        c, p = points[:, 0], self.power
        return np.asarray((c * p * (p - 1) + (c * p) ** 2) * np.exp(c))


class Steep(Profile):
    """epsilon(w, c) = log(1 + c + 4 c (w - 1) + c (w - 1)^2 / 20): it rises at once."""

    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        more = weights - 1
        return np.log1p(points[:, 0] * (1 + 4 * more + more**2 / 20))

    def slope(self, weights: Floats, points: Floats) -> Floats:
        more = weights - 1
        return points[:, 0] * (4 + more / 10) / np.exp(self.epsilon(weights, points))

    def convexity(self, points: Floats) -> Floats:
        return points[:, 0] / 10


class Ignoring(Profile):
    """A mechanism that does not look at weights."""

    def epsilon(self, weights: Floats, points: Floats) -> Floats:
        return points[:, 0].copy()

    def slope(self, weights: Floats, points: Floats) -> Floats:
        return np.zeros(len(points))

    def convexity(self, points: Floats) -> Floats:
        return np.zeros(len(points))
