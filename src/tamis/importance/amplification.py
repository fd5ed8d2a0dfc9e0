"""What the guarantee of a mechanism becomes on a weighted subsample.

Each point is kept with probability q(x), independently, with the weight w = 1/q(x); nobody learns
which (Poisson importance sampling, definition 4 of the paper).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.importance.checks import as_points, as_weights, check_profile, epsilons, slopes
from tamis.importance.profiles import Floats, Linear, Profile

Mask = npt.NDArray[np.bool_]

_WEIGHTS = np.geomspace(1, 2.0**30, 61)
_LARGE = 700.0  # exp of this is still a float
_ROUNDING = 2.0**-40


def amplified(profile: Profile, weights: npt.ArrayLike, points: npt.ArrayLike) -> Floats:
    """psi(x) = log(1 + (exp(epsilon(w, x)) - 1) / w): the privacy loss of each point, sampled.

    Guarantee: the mechanism on the sample is psi(x)-indistinguishable with and without x, whatever
    the other points are (Theorem 2; proofs, section 15). So it is epsilon-differentially private,
    for one point added or removed, if psi(x) <= epsilon for every point that there could be.

    ``weights`` are one for each point, or one for all.

    >>> from tamis.importance import Count
    >>> amplified(Count(scale=2.0), [1, 4], [[0.0], [0.0]]).round(4)
    array([0.5   , 0.9545])
    """
    rows = as_points(points)
    known = as_weights(weights, len(rows))
    return amplify(epsilons(profile, known, rows), known)


def sampling_helps(profile: Profile, points: npt.ArrayLike) -> Mask:
    """Where some weight above 1 gives more privacy than weight 1 (Proposition 2).

    That is known where epsilon'(1, x) < 1 - exp(-epsilon(1, x)); elsewhere psi does not fall at
    w = 1, and it is more weight that costs privacy, at first.
    """
    rows = as_points(points)
    ones = np.ones(len(rows))
    return np.asarray(slopes(profile, ones, rows) < -np.expm1(-epsilons(profile, ones, rows)))


def sampling_cannot_help(
    profile: Profile, points: npt.ArrayLike, weights: npt.ArrayLike = _WEIGHTS
) -> Mask:
    """Where no weight gives more privacy than weight 1 (Proposition 3).

    That is so where epsilon(w, x) <= w epsilon'(w, x) for all w >= 1, as in all of `Linear`. Of
    other profiles it is tried at the given weights: False is a proof that the condition fails,
    but True is evidence only. Where neither this nor `sampling_helps` is true, neither is known.
    """
    rows = as_points(points)
    check_profile(profile)
    holds = np.ones(len(rows), dtype=np.bool_)
    if isinstance(profile, Linear):
        return holds
    tried = np.asarray(weights)
    for weight in as_weights(tried, tried.size):
        all_of_it = np.full(len(rows), weight)
        loss = epsilons(profile, all_of_it, rows)
        holds &= loss * (1 - _ROUNDING) <= weight * slopes(profile, all_of_it, rows)
    return holds


def amplify(epsilon: Floats, weights: Floats) -> Floats:
    """psi from epsilon(w, x) and w, to a few units in the last place, however large epsilon is."""
    psi = np.log1p(np.expm1(np.minimum(epsilon, _LARGE)) / weights)
    if np.any(epsilon > _LARGE):
        far = epsilon - np.log(weights) + np.log1p((weights - 1) * np.exp(-epsilon))
        psi = np.where(epsilon > _LARGE, far, psi)
    return np.where(weights == 1, epsilon, psi)  # nothing is sampled, and nothing rounded
