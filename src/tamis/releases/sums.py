"""Sums over keys, named or not, and what of them can be said with confidence.

A key that is rarely named counts more when it is (`estimators`), so that a sum is right on average
for keys frequent enough to be named now and then. Nothing in a release tells how many keys there
are that are hardly ever named, so no interval can hold for those. What holds is one-sided each,
by approximations that the tests try out: ``low`` is at most the sum over all keys, and ``high`` at
least the sum over the keys with a frequency from ``Plan.half`` on.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from tamis.privacy.answer import Answer, quantile
from tamis.privacy.noise import beyond, variance
from tamis.weighted.estimators import Estimator, Function, identity, moments
from tamis.weighted.intervals import intervals
from tamis.weighted.laws import Law
from tamis.weighted.plan import Plan
from tamis.weighted.sample import PrivateSample

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_POINTS = 300  # frequencies at which errors are computed: the first ones, and some above

_SURELY = 0.999  # of the frequencies that a token is compatible with, where the worst one counts


def over_keys(sample: PrivateSample, estimator: Estimator) -> Answer:
    """The sum of g(w) over all keys that these are the named ones of.

    What a token counts is a little too much on average at some frequencies, and too little at
    others. The interval allows for the worst of those that each token is compatible with.
    """
    plan, z = sample.plan, _z(sample)
    values = estimator.values(sample.whole_tokens())
    estimate, deviation = float(np.sum(values)), sqrt(_variance(sample, estimator))
    worst = _worst(sample, estimator)
    low = float(np.sum(values / worst.most)) - z * deviation - 1  # counts are whole numbers
    low = max(low, float(len(sample)))  # what is named does occur
    if plan.half is None:
        said = "keys that are never named are not counted"
        return Answer(estimate, deviation, low, inf, plan.coverage, said)
    missed = _missed(plan, estimator) / 2
    margin = z * sqrt(float(np.sum(worst.variance / worst.least**2)))
    high = float(np.sum(values / worst.least)) + missed + sqrt(margin**2 + missed**2)
    said = (
        f"the high end leaves room for keys that chance left out; keys with a frequency below "
        f"{plan.half:,} are seldom named and hardly counted"
    )
    return Answer(estimate, deviation, low, high, plan.coverage, said)


def of_all(total: int, rate: Fraction, coverage: float) -> Answer:
    """A total with two-sided geometric noise of this rate."""
    margin = beyond(rate, (1 - coverage) / 2)
    return Answer(total, sqrt(variance(rate)), max(0, total - margin), total + margin, coverage)


def of_these(sample: PrivateSample) -> Answer:
    """The sum over the named keys alone, as if it had not been noise that chose among them."""
    z, (low, high) = _z(sample), _ends(sample)
    error = sqrt(float(np.sum(((high - low) / (2 * z)) ** 2)))
    least, most = _bias(sample.plan, low, high) if len(sample) else (0.0, 0.0)
    shown = float(np.sum(sample.to_arrow()["estimate"].to_numpy()))
    down, up = shown - most - z * error - 1, shown - least + z * error + 1
    middle = max(shown - (least + most) / 2, float(len(sample)))
    return Answer(middle, error, max(down, float(len(sample))), up, sample.plan.coverage)


def _z(sample: PrivateSample) -> float:
    """Standard deviations of a sum of noise: for few keys more than those of the normal law.

    The noise of one key has an excess of at most 3 or so, as that of the Laplace law; see
    `tamis.sparse.intervals`.
    """
    z = quantile(sample.plan.coverage)
    return z + max(0.0, z**3 - 3 * z) / (8 * max(1, len(sample)))


def _variance(sample: PrivateSample, estimator: Estimator) -> float:
    """That at the estimated frequencies; each key stands for those like it that are not named."""
    if not len(sample):
        return 0.0
    likely = np.maximum(1, np.rint(sample.to_arrow()["estimate"].to_numpy())).astype(np.int64)
    values, many = np.unique(likely, return_counts=True)
    law = sample.plan.mechanism.law
    each = moments(law, estimator, values).variance / law.reporting(values)
    return float(each @ many)


@dataclass(frozen=True)
class _Worst:
    """For each key, over the frequencies that it may have: how wrong its value could be.

    ``least`` and ``variance`` are over those from the half on, ``most`` over all.
    """

    least: Floats  # mean / g(w), at most 1
    most: Floats  # mean / g(w), at least 1
    variance: Floats


def _worst(sample: PrivateSample, estimator: Estimator) -> _Worst:
    if not len(sample):
        return _Worst(*np.ones((3, 0)))
    law = sample.plan.mechanism.law
    tokens, place = np.unique(sample.whole_tokens(), return_inverse=True)
    low, high = intervals(law, tokens, _SURELY)
    w = _points(1, int(high.max()) + 1)
    each, frequent = moments(law, estimator, w), w >= (sample.plan.half or inf)
    share = each.mean / estimator.g(w.astype(np.float64))
    least = np.where(frequent, np.minimum(share, 1.0), 1.0)
    variance = np.where(frequent, each.variance / law.reporting(w), 0.0)
    return _Worst(
        _within(np.minimum, w, least, low, high)[place],
        _within(np.maximum, w, np.maximum(share, 1.0), low, high)[place],
        _within(np.maximum, w, variance, low, high)[place],
    )


def _missed(plan: Plan, estimator: Estimator) -> float:
    """So much can keys with a frequency from the half on add up to, and none of them be named.

    None of keys with frequencies w_1, w_2, ... is named with probability prod (1 - pi(w_i)), which
    is below (1 - coverage) / 2 if the sum of g(w_i) is more than this. It is also at least what
    the normal approximation gives.
    """
    assert plan.half is not None
    w = _points(plan.half, 64 * plan.half)
    g = estimator.g(w.astype(np.float64))
    variance = moments(plan.mechanism.law, estimator, w).variance
    left = np.maximum(1 - plan.mechanism.law.reporting(w), 1e-300)
    none = g * np.log((1 - plan.coverage) / 2) / np.log(left)
    return float(max(none.max(), (variance / g).max() * quantile(plan.coverage) ** 2))


def not_named(sample: PrivateSample, total: int, rate: Fraction) -> Answer:
    """What is left of a total with noise of this rate without the named keys.

    Named keys are more often those that noise made larger, so their estimates are too high where
    keys are seldom named. By how much depends on the frequency, which is known up to an interval:
    the smallest and the largest bias in it make the interval wider.
    """
    whole, named = of_all(total, rate, sample.plan.coverage), of_these(sample)
    rest = total - named.estimate
    down = sqrt((total - whole.low) ** 2 + (named.high - named.estimate) ** 2)
    up = sqrt((whole.high - total) ** 2 + (named.estimate - named.low) ** 2)
    return Answer(
        max(0.0, rest),
        sqrt(whole.standard_error**2 + named.standard_error**2),
        max(0.0, rest - down),
        max(0.0, rest + up),
        sample.plan.coverage,
    )


def _bias(plan: Plan, low: Ints, high: Ints) -> tuple[float, float]:
    """The sums of the smallest and of the largest bias of estimates between low and high."""
    law, w = plan.mechanism.law, _points(1, int(high.max()) + 1)
    bias = moments(law, _Shown(plan), w).mean / law.reporting(w) - w
    least, most = (_within(choose, w, bias, low, high) for choose in (np.minimum, np.maximum))
    return float(least.sum()), float(most.sum())


def _within(choose: np.ufunc, w: Ints, values: Floats, low: Ints, high: Ints) -> Floats:
    """The smallest or largest of a function's values at w between low and high, for each pair."""
    first = np.searchsorted(w, low, side="right") - 1
    last = np.searchsorted(w, high, side="left") + 1
    ranges = np.stack([first, last], axis=1).ravel()
    found: Floats = choose.reduceat(np.append(values, values[-1]), ranges)[::2]
    return found


def _ends(sample: PrivateSample) -> tuple[Ints, Ints]:
    table = sample.to_arrow()
    return table["low"].to_numpy(), table["high"].to_numpy()


@dataclass(frozen=True)
class _Shown:
    """The estimates of a release as an estimator."""

    plan: Plan

    @property
    def law(self) -> Law:
        return self.plan.mechanism.law

    @property
    def g(self) -> Function:
        return identity

    def values(self, tokens: npt.ArrayLike) -> Floats:
        shown: Floats = np.clip(
            self.plan.estimator.frequencies(tokens),
            *intervals(self.law, tokens, self.plan.coverage),
        )
        return shown


def _points(first: int, last: int) -> Ints:
    """The first frequencies one by one, and then ever farther apart, up to the last."""
    near = np.arange(first, min(last, first + _POINTS) + 1)
    far = np.geomspace(first, last, _POINTS).astype(np.int64)
    return np.unique(np.concatenate([near, far, [last]]))
