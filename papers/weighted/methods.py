"""Expected share of keys that each method reports, over sweeps of delta and of the sampling rate.

Every share is an exact sum of probabilities: nothing here is simulated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.weighted.data import Counts, Floats
from papers.weighted.settings import DELTAS, TAUS
from tamis.sampling.schemes import Ppswor
from tamis.weighted.baselines import SampledStabilityHistogram, StabilityHistogram
from tamis.weighted.keys import histogram_reporting, ppswor_reporting


@dataclass(frozen=True)
class Sweep:
    """One entry per value swept, for each method. ``fair`` is SbH with all of delta spent."""

    at: Floats
    non_private: Floats
    pws: Floats
    sbh: Floats
    fair: Floats

    @property
    def gain(self) -> Floats:
        """How many more keys PWS reports than SbH as printed: 1 means 100 % more."""
        return self.pws / self.sbh - 1

    @property
    def fair_gain(self) -> Floats:
        """The same against SbH with the fair threshold."""
        return self.pws / self.fair - 1


def over_delta(counts: Counts, epsilon: float, deltas: Floats = DELTAS) -> Sweep:
    """Without sampling, at each delta."""
    return _collect(deltas, [_unsampled(counts, epsilon, float(d)) for d in deltas])


def over_tau(counts: Counts, epsilon: float, delta: float, taus: Floats = TAUS) -> Sweep:
    """With ppswor sampling by frequency, at each rate tau."""
    return _collect(taus, [_sampled(counts, epsilon, delta, float(t)) for t in taus])


def _unsampled(counts: Counts, epsilon: float, delta: float) -> list[float]:
    i = counts.frequency
    return [
        1.0,
        counts.share(histogram_reporting(epsilon, delta, i)),
        counts.share(StabilityHistogram(epsilon, delta).reporting(i)),
        counts.share(StabilityHistogram(epsilon, delta, fair=True).reporting(i)),
    ]


def _sampled(counts: Counts, epsilon: float, delta: float, tau: float) -> list[float]:
    i = counts.frequency
    return [
        counts.share(Ppswor(tau).probability(i)),
        counts.share(ppswor_reporting(epsilon, delta, tau, i)),
        counts.share(SampledStabilityHistogram(epsilon, delta, tau).reporting(i)),
        counts.share(SampledStabilityHistogram(epsilon, delta, tau, fair=True).reporting(i)),
    ]


def _collect(at: Floats, rows: list[list[float]]) -> Sweep:
    return Sweep(at, *np.array(rows).T)
