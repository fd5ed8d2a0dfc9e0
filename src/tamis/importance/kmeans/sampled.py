"""Which points are looked at, and how much noise that needs, so that the promise stays the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from tamis.importance.kmeans.grid import BITS
from tamis.importance.kmeans.run import Middle, mechanism
from tamis.importance.kmeans.steps import Norms, count_share
from tamis.importance.samplers import Coreset, Optimal, Sampler, Uniform

Kind = Literal["full", "optimal", "coreset", "uniform"]

RATES: dict[str, float] = {"full": 1.0, "optimal": 1.0, "coreset": 0.1, "uniform": 0.1}  # usually
_SAME = 1e-6  # relatively
_MARGIN = 1 - 2.0**-40  # more than all that is computed in floating point here is off by


@dataclass(frozen=True)
class Sampling:
    """A sampler, and what the steps may spend on the points that it takes."""

    sampler: Sampler
    spent: Fraction  # by the steps, on a point of weight 1 at the radius
    ends: dict[str, float]  # probabilities: of the points that lose most

    def rule(self) -> dict[str, str]:
        """The sample as it stands in a certificate."""
        ends = {name: str(Fraction(q)) for name, q in self.ends.items()}
        kind = str(self.sampler.describe()["sampler"])
        return {"sampler": kind, "steps": str(self.spent), **ends}


def sampling(
    kind: Kind, rate: float, mixing: float, search: Fraction, dimensions: int, middle: Middle
) -> Sampling:
    """What keeps ``search`` as it is, when steps are run on a sample.

    Guarantee: steps that spend ``spent``, on points that are sampled and weighted so, are
    search-differentially private (pure), for points within the middle's radius.

    Sampling cannot save epsilon here (Proposition 3): with fewer points the steps need more noise.
    The optimal sampler, at rate 1, is the exception that needs none: only points that are nearer
    to the middle than the radius are sampled, and what they lose less pays for their weights.
    """
    target = float(search) * _MARGIN
    if kind == "optimal":
        spent = _less(_affordable(rate, target))
        profile = mechanism(float(spent), dimensions, middle.radius)
        return _made(Optimal(profile, target), spent, middle)
    mean = max(1.0, middle.norms.mean)
    sampler = Uniform(rate) if kind == "uniform" else Coreset(rate, mean, mixing)
    low, high = 0.0, target
    for _ in range(100):
        half = (low + high) / 2
        fits = sampler.epsilon(mechanism(half, dimensions, middle.radius), middle.radius) <= target
        low, high = (half, high) if fits else (low, half)
    return _made(sampler, _less(low), middle)


def possible(
    rule: dict[str, str], rate: float, mixing: float, search: Fraction, dimensions: int
) -> bool:
    """Whether `sampling` with these settings can say so; where the data is, is not known.

    Logarithms are not the same on all machines, and what is computed with them is compared so far
    as they are.
    """
    spent, far = Fraction(rule["steps"]), Fraction(rule["far"])
    ends = {name: Fraction(q) for name, q in rule.items() if name in ("near", "far")}
    if rule["sampler"] == "optimal":
        same = sampling("optimal", rate, mixing, search, dimensions, _anywhere())
        most, odds = float(same.spent), same.ends["far"]
        return (
            len(ends) == 1
            and math.isclose(float(spent), most, rel_tol=_SAME)
            and math.isclose(float(far), odds, rel_tol=_SAME)
        )
    share, target = float(count_share(dimensions)), float(search) * _MARGIN
    near = float(ends["near"])
    most = min(_affordable(float(far), target), _affordable(near, target) / share)
    if not math.isclose(float(spent), most, rel_tol=_SAME):
        return False
    if rule["sampler"] == "uniform":
        return ends == {"near": Fraction(rate), "far": Fraction(rate)}
    return ends["near"] == Fraction(min(1.0, rate * mixing)) <= far <= 1


def _anywhere() -> Middle:
    """Of some data."""
    return Middle(np.zeros(1), Norms(np.ones(128, dtype=np.int64), 1 << BITS))


def least_spent(kind: Kind, rate: float, mixing: float, search: Fraction) -> Fraction:
    """`sampling` finds no less, wherever the data is: all points are sampled at this rate or more.

    Half of it, so that no rounding matters.
    """
    least = rate * mixing if kind == "coreset" else rate
    return _less(_affordable(least, float(search))) / 2


def _made(sampler: Sampler, spent: Fraction, middle: Middle) -> Sampling:
    """With the probabilities at norm 0 and the radius; optimal weights lose the same anywhere."""
    near, far = sampler.probability(np.array([[0.0], [float(middle.radius)]])).tolist()
    ends = {"far": far} if isinstance(sampler, Optimal) else {"near": near, "far": far}
    return Sampling(sampler, spent, ends)


def _affordable(rate: float, target: float) -> float:
    """c with log(1 + rate (e^(c/rate) - 1)) = target, of a point that is sampled at this rate."""
    if target > 700:  # e^target is more than a float holds, and the 1 beside it is nothing
        return min(target, rate * (target - math.log(rate)))
    return min(target, rate * math.log1p(math.expm1(target) / rate))


def _less(value: float) -> Fraction:
    return Fraction(value * _MARGIN)
