"""How much noise is in the centres, at any epsilon: from sizes and settings, without any data.

The last step releases, for each centre, the sum of where its rows are, with noise in every
coordinate. If rows are up to R (in the l1 norm) from where they are measured from, the noise of a
sum has the standard deviation sqrt(2) R / (e (1 - s)), where the step spends e, and s of it on
counts; and that of a mean of n rows is n times smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tamis.importance.kmeans.plan import PER_CLUSTER, Schedule
from tamis.privacy.verify import number
from tamis.releases.clusters.about import AboutClusters
from tamis.releases.clusters.clusters import Clusters

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """Of centres of these sizes, found with these settings."""

    about: AboutClusters
    sizes: Floats

    def errors(self, epsilon: float, reach: float) -> Floats:
        """The standard error that noise makes in a coordinate of each centre.

        ``reach`` is how far rows are from where they are measured from.
        """
        spent, mixed = self._last_step(epsilon)
        share = float(number(self.about.rule["count_share"]))
        of_sum = math.sqrt(2 * mixed) * reach / (spent * (1 - share))
        return of_sum / np.maximum(self.sizes, 1.0)

    def cost(self, epsilon: float, reach: float) -> float:
        """What noise adds to the mean squared distance of rows to their centres."""
        many = np.maximum(self.sizes, 1.0)
        squares = len(self.about.columns) * self.errors(epsilon, reach) ** 2
        return float(many @ squares / many.sum())

    def _last_step(self, epsilon: float) -> tuple[float, int]:
        """What the last step spends, and of how many sums a centre is made."""
        about, sampled = self.about, self.about.sampler != "full"
        spent = Fraction(self._search(epsilon))
        schedule = Schedule.of(spent, about.steps, about.init, sampled)  # type: ignore[arg-type]
        if schedule.steps:
            return float(schedule.lloyd / schedule.steps), 1
        return float(schedule.seeds / schedule.seed_steps), PER_CLUSTER

    def _search(self, epsilon: float) -> float:
        """What all steps may spend on a row that counts once: with a sample it is less.

        A row that is sampled with probability q counts 1/q times; c is spent on it in all if
        log(1 + q (exp(c/q) - 1)) is no more than there is.
        """
        rule = self.about.rule
        share = float(number(rule["parts"]["centres"])) / self.about.guarantee.epsilon
        target, sample = epsilon * share, rule["sample"]
        if sample is None:
            return target
        near = {"near": float(number(rule["count_share"]))} if "near" in sample else {}
        ends = {"far": 1.0, **near}
        costs = (_affordable(float(number(sample[end])), target) / z for end, z in ends.items())
        return min(target, *costs)


def suggested_reach(made: Clusters) -> float | None:
    """About how far rows are from where they are measured from, as the centres suggest.

    Without a sample that is their own centre: about half as far as the next centre. With one it is
    the middle: as far as the farthest centre. One centre alone suggests nothing.
    """
    centers, sizes = made.centers, np.maximum(made.sizes, 1.0)
    if len(centers) < 2:
        return None
    if made.about.sampler != "full":
        middle = sizes @ centers / sizes.sum()
        found = float(np.abs(centers - middle).sum(axis=1).max())
    else:
        found = float(sizes @ _nearest(centers) / sizes.sum() / 2)
    return min(found, made.about.reach) or None


def spread(made: Clusters) -> float:
    """The mean squared distance of the centres from their mean, by size."""
    centers, sizes = made.centers, np.maximum(made.sizes, 1.0)
    middle = sizes @ centers / sizes.sum()
    return float(sizes @ ((centers - middle) ** 2).sum(axis=1) / sizes.sum())


def _nearest(centers: Floats) -> Floats:
    """The l1 distance of each centre to the next one; one after the other, to save memory."""
    found = np.empty(len(centers))
    for n, center in enumerate(centers):
        away = np.abs(centers - center).sum(axis=1)
        away[n] = np.inf
        found[n] = away.min()
    return found


def _affordable(q: float, target: float) -> float:
    """q log(1 + (e^target - 1) / q), where e^target may be more than a float holds."""
    return q * (target + math.log1p(-(1 - q) * math.exp(-target)) - math.log(q))
