"""Exact errors of the estimates of a key's frequency, and of a sum over many keys: g(w) = w.

PPS sampling at rate tau, q(i) = min(1, tau i), so that tau = 1 is no sampling. PWS uses the
maximum likelihood estimator; SbH its own noisy frequency over q; the non-private sample i / q(i).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from papers.weighted.data import Floats, Ints
from papers.weighted.methods import Sweep
from papers.weighted.settings import FINE_DELTA, RATES
from tamis.sampling.schemes import Pps
from tamis.weighted.baselines import SampledStabilityHistogram, StabilityHistogram
from tamis.weighted.estimators import MaximumLikelihood, moments
from tamis.weighted.laws import SurvivalLaw

SELECTION: Ints = np.arange(1, 201)  # the frequencies of the selection, each of
PER_FREQUENCY = 1000  # so many keys: 2e5 keys in all


@dataclass(frozen=True)
class Errors:
    """Of the estimate of one key's frequency i, entry n for i = n + 1."""

    bias: Floats
    variance: Floats

    @property
    def frequency(self) -> Ints:
        """i."""
        return np.arange(1, len(self.bias) + 1)

    @property
    def relative_bias(self) -> Floats:
        """|Bias_i| / i."""
        return np.abs(self.bias) / self.frequency

    @property
    def relative_variance(self) -> Floats:
        """Var_i / i^2."""
        return self.variance / self.frequency**2

    @property
    def nrmse(self) -> Floats:
        """sqrt(Bias_i^2 + Var_i) / i."""
        return np.sqrt(self.bias**2 + self.variance) / self.frequency

    def of_selection(self) -> float:
        """NRMSE of the sum over the selection (equation 12)."""
        picked = SELECTION - 1
        bias = PER_FREQUENCY * self.bias[picked].sum()
        variance = PER_FREQUENCY * self.variance[picked].sum()
        return math.sqrt(bias**2 + variance) / float(PER_FREQUENCY * SELECTION.sum())


@lru_cache(maxsize=1024)
def pws(epsilon: float, tau: float, upto: int) -> Errors:
    """Private weighted sampling with maximum likelihood estimates, frequencies 1..upto."""
    law = SurvivalLaw(epsilon, FINE_DELTA, Pps(tau))
    each = moments(law, MaximumLikelihood(law), np.arange(1, upto + 1))
    return Errors(each.bias, each.variance)


def sbh(epsilon: float, tau: float, upto: int, fair: bool = False) -> Errors:
    """Sampled SbH, frequencies 1..upto."""
    baseline = SampledStabilityHistogram(epsilon, FINE_DELTA, tau, kind="pps", fair=fair)
    i = np.arange(1, upto + 1)
    return Errors(baseline.bias(i), baseline.variance(i))


def non_private(tau: float, upto: int) -> Errors:
    """The unbiased estimate i / q(i) of a sampled key: variance i^2 (1/q(i) - 1)."""
    i = np.arange(1, upto + 1)
    return Errors(np.zeros(upto), i**2 * (1 / Pps(tau).probability(i) - 1))


@lru_cache(maxsize=8)
def selection_errors(epsilon: float) -> Sweep:
    """NRMSE of the sum over the selection, at each sampling rate."""
    upto = int(SELECTION[-1])
    rows = [
        [
            non_private(tau, upto).of_selection(),
            pws(epsilon, tau, upto).of_selection(),
            sbh(epsilon, tau, upto).of_selection(),
            sbh(epsilon, tau, upto, fair=True).of_selection(),
        ]
        for tau in RATES.tolist()
    ]
    return Sweep(RATES, *np.array(rows).T)


def threshold(epsilon: float) -> int:
    """T of SbH as printed, rounded up: where the private methods begin to see keys."""
    return math.ceil(StabilityHistogram(epsilon, FINE_DELTA).threshold)


def reached(errors: Floats, target: float) -> int | None:
    """Lowest frequency from which the error stays at or below the target; None if it never does."""
    above = np.flatnonzero(errors > target)
    lowest = int(above[-1]) + 2 if len(above) else 1
    return lowest if lowest <= len(errors) else None
