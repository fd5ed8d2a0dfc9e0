"""The largest weights that a guarantee allows, which need the fewest points (Algorithm 1)."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context

import numpy as np
import numpy.typing as npt
from numpy.polynomial.polynomial import polyval

from tamis.importance.amplification import Mask, amplify, sampling_helps
from tamis.importance.checks import as_points, check_profile, convexities, epsilons, slopes
from tamis.importance.profiles import Floats, Linear, Profile
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import check_epsilon

MOST = 2.0**52  # no weight is larger: a coin of 53 bits can be tossed for it
MARGIN = 2.0**-42  # of epsilon, left for rounding

_ROWS = 4096
_NEWTON = 3  # the first two leave a relative error below 3e-9, and the next squares it
_HALVINGS = 64
_SMALL = 0.5

# log(sinh(z/2) / (z/2)) as a series in z^2, and its derivative over z
_SERIES = (1 / 24, -1 / 2880, 1 / 181440, -1 / 9676800, 1 / 479001600, -691 / 15692092416000)
_SLOPES = tuple(2 * (n + 1) * term for n, term in enumerate(_SERIES))


def optimal_weights(profile: Profile, points: npt.ArrayLike, epsilon: float) -> Floats:
    """For each point x the largest w >= 1 with psi(x) <= epsilon.

    Keeping x with probability 1/w and weight w then needs the fewest points on average for a
    mechanism that is epsilon-differentially private (Problem 1, Theorem 3). A weight depends on its
    point and on what is public, never on the other points.

    Guarantee: psi(x) <= epsilon at every point, computed again after the fact. It is solved for
    epsilon (1 - 2^-42), so that rounding does not break it: it holds of the true profile if what
    the profile gives is off by at most 2^-48, relatively (docs/proofs.md, section 15). Only where
    epsilon(1, x) is that close to epsilon itself, nothing is left for rounding.

    Edge cases: no weight exceeds 2^52, which is what a point gets that costs nothing. A point with
    epsilon(1, x) > epsilon is refused, and the error says how much the worst point of these needs.
    **That is not private**; where it may be seen, ask first with a point at the public bound.

    >>> from tamis.importance import LaplaceSum
    >>> optimal_weights(LaplaceSum(scale=10.0), [[10.0], [5.0], [1.0]], 1.0).round(4)
    array([ 1.    ,  4.2212, 43.2071])

    Reference: Fay, Mair, Sjölund, Algorithm 1, whose bracket and special case are misprinted.
    """
    check_profile(profile)
    promised = check_epsilon(epsilon)
    rows = as_points(points)
    found = np.empty(len(rows))
    for start in range(0, len(rows), _ROWS):
        block = rows[start : start + _ROWS]
        alone = epsilons(profile, np.ones(len(block)), block)
        if np.any(alone > promised):
            raise _infeasible(profile, rows, promised)
        weights = _largest(profile, block, alone, promised)
        _check(profile, block, weights, promised)
        found[start : start + _ROWS] = weights
    return found


def bracket(profile: Profile, points: npt.ArrayLike, epsilon: float) -> Floats:
    """b = 2 ((e^epsilon - v) / mu + 1): no weight above it is feasible (Proposition 4).

    With v = min(e^epsilon(1, x) + mu/2, epsilon'(1, x) e^epsilon(1, x) + 1). Infinite where mu is 0
    or too large for a float.
    """
    promised, rows = check_epsilon(epsilon), as_points(points)
    ones = np.ones(len(rows))
    alone, slope = epsilons(profile, ones, rows), slopes(profile, ones, rows)
    mu = convexities(profile, rows)
    with np.errstate(all="ignore"):
        # 1 is taken from both e^epsilon and v, which would cancel where epsilon is small
        least = np.minimum(np.expm1(alone) + mu / 2, slope * np.exp(alone))
        end = 2 * ((np.expm1(promised) - least) / mu + 1)
    return np.where(np.isfinite(end) & np.isfinite(mu), end, math.inf)


def _largest(profile: Profile, points: Floats, alone: Floats, epsilon: float) -> Floats:
    target = epsilon * (1 - MARGIN)
    if isinstance(profile, Linear):
        return linear_weights(alone, target)
    end = np.clip(2 * np.minimum(bracket(profile, points, epsilon), MOST), 1, MOST)
    found = _searched(profile, points, np.maximum(target, alone), end)
    # where nothing is left and more weight costs more, at once, rounding must not decide
    return np.where((alone >= target) & ~sampling_helps(profile, points), 1.0, found)


def linear_weights(rate: Floats, epsilon: float) -> Floats:
    """The root w of e^(rate w) = 1 + w (e^epsilon - 1), between 1 and 2^52.

    With z = rate w it is growth(z) = growth(epsilon) + log(epsilon / rate), where growth(z) =
    log((e^z - 1) / z) is convex, with a slope between 1/2 and 1: Newton's steps come down to the
    root after the first. In closed form w = -W(-c e^-c) / rate - c / rate, c = rate /
    (e^epsilon - 1), for the branch -1 of Lambert's W; that overflows for large epsilon, and loses
    digits where w is near 1.
    """
    cost = np.maximum(rate, epsilon / MOST)  # below that, a weight is 2^52 or more
    below = np.minimum(cost, epsilon)  # above that, 1 or less
    goal = _growth(np.array([epsilon]))[0] + np.log1p((epsilon - below) / below)
    z = goal + np.log1p(goal)
    for _ in range(_NEWTON):
        value, slope = _growth(z)
        z -= (value - goal) / slope
    return np.clip(z / cost, 1, MOST)


def _growth(z: Floats) -> tuple[Floats, Floats]:
    """log((e^z - 1) / z) and its derivative, for z > 0, with full relative precision."""
    rest = -np.expm1(-z)
    value, slope = z + np.log(rest / z), 1 / rest - 1 / z
    small = z < _SMALL
    if np.any(small):
        few, y = z[small], np.square(z[small])
        value[small] = few / 2 + y * polyval(y, _SERIES)
        slope[small] = 0.5 + few * polyval(y, _SLOPES)
    return value, slope


def _searched(profile: Profile, points: Floats, limit: Floats, end: Floats) -> Floats:
    """The last weight with psi <= limit, which are an interval from 1 on, by bisection.

    In the special case of Algorithm 1, epsilon(1, x) = epsilon and psi falls at first, the root at
    1 is not found, because 1 is known to be feasible.
    """
    low, high = np.ones(len(points)), end.copy()
    beyond = _within(profile, points, high, limit)
    if np.any(beyond & (high < MOST)):
        raise InvalidInput(
            f"{type(profile).__name__}.convexity is too large: weights are feasible that it rules "
            "out. Give less, or 0 where it is not known."
        )
    low[beyond] = high[beyond]
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        if not np.any((low < middle) & (middle < high)):
            break
        fits = _within(profile, points, middle, limit)
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return low


def _within(profile: Profile, points: Floats, weights: Floats, limit: Floats) -> Mask:
    return np.asarray(amplify(epsilons(profile, weights, points), weights) <= limit)


def _check(profile: Profile, points: Floats, weights: Floats, epsilon: float) -> None:
    """The guarantee, after the fact."""
    if not np.all(amplify(epsilons(profile, weights, points), weights) <= epsilon):
        raise InvalidInput(
            f"{type(profile).__name__}.epsilon exceeds the promise at the weights that were found: "
            "it must be a function of weight and point alone, and rate(points) times the weight if "
            "the profile is Linear."
        )


def _infeasible(profile: Profile, points: Floats, epsilon: float) -> InvalidInput:
    needed = epsilons(profile, np.ones(len(points)), points).max()
    least = Context(prec=4, rounding=ROUND_CEILING).create_decimal_from_float(needed)
    return InvalidInput(
        f"epsilon = {epsilon:g} is too small: some of these points need {least:g} at "
        "weight 1, which is not to sample at all. Take at least that, or more noise."
    )
