"""Which points are looked at, and how likely: uniform, coreset and privacy-optimal sampling.

A sampler gives each point x a probability q(x) that depends on x and on public numbers, never on
the other points; a point that is sampled counts 1/q(x) times. What a mechanism's guarantee becomes
is the largest psi(x) = log(1 + q(x) (exp(epsilon(1/q(x), x)) - 1)) over all points that there can
be (Theorem 2).

Reference: Fay, Mair, Sjölund, "Privacy amplification via importance sampling", sections 3 and 4.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.importance.amplification import amplified
from tamis.importance.checks import as_points, check_profile, share
from tamis.importance.profiles import Count, Floats, LaplaceSum, Lloyd, Profile, l1_norms
from tamis.importance.weights import optimal_weights
from tamis.privacy.errors import InvalidInput
from tamis.sampling.frequencies import check_positive

_SUMMED = 1 + 2.0**-40  # more than a sum of 8,000 numbers can be off by, relatively
_ROUNDED = 2.0**-49  # more than q, the rate of a profile and their quotient are off by together
_LEAST = 1e-300  # a probability whose reciprocal is surely a float
_EVEN = (Count, LaplaceSum, Lloyd)  # these grow evenly with the norm; what is made of them may not


class Sampler(ABC):
    """The probability of each point, and what a mechanism promises that is run on the sample."""

    @abstractmethod
    def probability(self, points: npt.ArrayLike) -> Floats:
        """q(x) of each row: 0 to 1, and never less than the promise needs."""

    @abstractmethod
    def epsilon(self, profile: Profile, radius: float) -> float:
        """The least epsilon of a mechanism with this profile, on points of l1 norm up to radius."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The sampler as it stands in a release."""

    def expected_size(self, points: npt.ArrayLike) -> float:
        """How many points are sampled on average. **Not private**: it depends on every point."""
        return float(self.probability(points).sum())


@dataclass(frozen=True)
class Uniform(Sampler):
    """Every point with the same probability.

    Guarantee: as for `Coreset` with mixing = 1, which it equals.
    """

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", share(self.rate, "rate", above=True))

    def probability(self, points: npt.ArrayLike) -> Floats:
        return np.full(len(as_points(points)), self.rate)

    def epsilon(self, profile: Profile, radius: float) -> float:
        return _at_the_ends(profile, radius, self.rate, self.rate)

    def describe(self) -> dict[str, Any]:
        return {"sampler": "uniform", "rate": self.rate}


@dataclass(frozen=True)
class Coreset(Sampler):
    """q(x) = min(1, rate (mixing + (1 - mixing) ||x||_1 / mean_norm)): far points are likelier.

    Guarantee: the weighted mechanism of a profile, run on the sample, is epsilon-differentially
    private for ``epsilon(profile, radius)``, when one point of l1 norm up to ``radius`` is added or
    removed. This is the largest psi(x) itself, and not a bound on it: psi is largest at norm 0 or
    at the radius, also where q is cut at 1 (docs/proofs.md, section 15). It is rounded up, by less
    than 2^-48 times the largest epsilon(1/q(x), x); where q = 1 it is the profile's own number.

    Edge cases: with mixing = 0 a point of norm 0 is never sampled and one near it counts without
    bound, so epsilon is infinite for a mechanism that also counts points.

    rate
        m/n for about m of n points. Public, like all that is here.
    mean_norm
        About the mean l1 norm of the points. A guess will do: if it is off, so is the size of the
        sample, but not the guarantee. To take it from the data must be paid for.
    mixing
        Between 0 (proportional to the norm) and 1 (uniform).

    Reference: Proposition 6, without its condition that q never exceeds 1.
    """

    rate: float
    mean_norm: float
    mixing: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", share(self.rate, "rate", above=True))
        object.__setattr__(self, "mixing", share(self.mixing, "mixing"))
        object.__setattr__(self, "mean_norm", check_positive(self.mean_norm, "mean_norm"))
        if self.mean_norm < _LEAST:
            raise InvalidInput(f"mean_norm must be at least {_LEAST}, not {self.mean_norm!r}.")

    def probability(self, points: npt.ArrayLike) -> Floats:
        with np.errstate(over="ignore"):  # of an infinite norm q is 1
            # a norm that comes out too small would make q too small and the loss too large
            return self._at(l1_norms(as_points(points)) * _SUMMED)

    def epsilon(self, profile: Profile, radius: float) -> float:
        near, far = self._at(np.array([0.0, check_positive(radius, "radius")])).tolist()
        return _at_the_ends(profile, radius, near, far)

    def describe(self) -> dict[str, Any]:
        return {"sampler": "coreset", **dataclasses.asdict(self)}

    def _at(self, norms: Floats) -> Floats:
        """q at these norms."""
        if self.mixing == 1:  # 0 times an infinite norm is no number
            return np.full(len(norms), self.rate)
        share = self.mixing + (1 - self.mixing) / self.mean_norm * norms
        return np.minimum(1.0, self.rate * share)


@dataclass(frozen=True)
class Optimal(Sampler):
    """The fewest points on average for a mechanism that is ``target``-differentially private.

    Guarantee: the weighted mechanism of ``profile``, run on the sample, is ``target``-private: psi
    is at most ``target`` at every point, and equal to it wherever sampling less would break it.
    A point that even without sampling costs more than ``target`` is refused; that there is none is
    what a radius, enforced beforehand, is for.

    Reference: Problem 1, Theorem 3, Algorithm 1 (corrected: docs/errata.md).
    """

    profile: Profile
    target: float

    def __post_init__(self) -> None:
        check_profile(self.profile)
        object.__setattr__(self, "target", check_positive(self.target, "target"))

    def probability(self, points: npt.ArrayLike) -> Floats:
        weights = optimal_weights(self.profile, points, self.target)
        return np.minimum(1.0, np.nextafter(1 / weights, 2.0))  # 1/q may not exceed the weight

    def epsilon(self, profile: Profile, radius: float) -> float:
        if profile != self.profile:
            raise InvalidInput(
                "these weights are optimal for another profile; make a sampler for this one."
            )
        far = np.array([[check_positive(radius, "radius")]])
        if type(profile) in _EVEN:
            optimal_weights(profile, far, self.target)  # says so if the target is out of reach
        return self.target

    def describe(self) -> dict[str, Any]:
        names = getattr(self.profile, "__dataclass_fields__", ())  # of your own may be no dataclass
        fields = {name: getattr(self.profile, name) for name in names}
        profile = {"kind": type(self.profile).__name__, **fields}
        return {"sampler": "optimal", "target": self.target, "profile": profile}


def _at_the_ends(profile: Profile, radius: float, near: float, far: float) -> float:
    """The larger psi of norm 0, where q = near, and of the radius, where q = far: Proposition 6.

    At norm z let epsilon(w, x) = (a + t z) w, q = min(1, b + s z), and
    theta(z) = q (exp((a + t z)/q) - 1), which is e^psi - 1. Where b + s z <= 1 this is convex in z:
    the perspective v (exp(u/v) - 1) is convex, and u and v are affine. So there it is at most its
    value at 0 or where q reaches 1. Where q = 1 it is exp(a + t z) - 1, which does not fall: its
    value where q reaches 1 is at most that at the radius.
    """
    if type(profile) not in _EVEN:
        raise InvalidInput(
            "epsilon is known for the profiles Lloyd, LaplaceSum and Count, which grow evenly with "
            f"the norm, not for {type(profile).__name__}; use Optimal with a profile of your own."
        )
    ends = ((0.0, near), (check_positive(radius, "radius"), far))
    return max(_psi(profile, norm, q) for norm, q in ends)


def _psi(profile: Profile, norm: float, q: float) -> float:
    """psi at one norm, rounded up. A point that is never sampled stands for those close to it."""
    point = np.array([[norm]])
    alone = float(profile.epsilon(np.ones(1), point)[0])
    if q == 1 or alone == 0:
        return alone
    if q < _LEAST:
        return math.inf
    psi = float(amplified(profile, np.array([1 / q]), point)[0])
    # a relative change of q or of the profile moves psi by at most alone / q times as much
    return psi + _ROUNDED * (alone / q + psi)
