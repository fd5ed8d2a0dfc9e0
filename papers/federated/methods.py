"""The mechanisms that are compared, as functions from items to estimated counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pyarrow as pa

from papers.federated.data import Floats, Ints
from papers.federated.settings import DELTA
from tamis.federated import SampleAndThreshold
from tamis.federated.baselines import BernoulliNoise, CentralNoise, HadamardResponse

Method = Callable[[Ints, int], Floats]

OURS = "sample and threshold"
CENTRAL = "central noise"
LOCAL = "Hadamard response (local)"
SHUFFLED = "Bernoulli noise (shuffle)"
DROPPED = "central noise, small counts dropped"
AMPLIFIED = "central noise, sampling counted"


@lru_cache
def ours(epsilon: float) -> SampleAndThreshold:
    """With the rate and the threshold that need the fewest clients for an item to be seen."""
    return SampleAndThreshold(epsilon, DELTA)


def thresholded(made: SampleAndThreshold, reports: pa.Array, domain: int) -> Floats:
    """Estimates from the reports of sampled clients; what is not released counts as 0."""
    table, estimates = made.threshold(reports).to_arrow(), np.zeros(domain)
    estimates[np.asarray(table["item"])] = np.asarray(table["estimate"])
    return estimates


def baselines(epsilon: float) -> dict[str, Method]:
    """The three of the poster, and central noise with counts dropped that may well be noise."""
    central, local = CentralNoise(epsilon), HadamardResponse(epsilon)
    return {
        CENTRAL: lambda items, domain: central.release(items, domain).astype(np.float64),
        LOCAL: local.release,
        SHUFFLED: lambda items, domain: BernoulliNoise(epsilon, DELTA, len(items)).release(
            items, domain
        ),
        DROPPED: lambda items, domain: _dropped(central.release(items, domain), epsilon),
    }


def _dropped(noisy: Ints, epsilon: float) -> Floats:
    """Of all cells that hold nothing, about one is expected to stay. It costs no privacy."""
    return np.where(noisy >= math.log(len(noisy)) / epsilon, noisy, 0.0)


def amplified(epsilon: float, p: float) -> Method:
    """Central noise on a sample, which is epsilon-private for all clients: less noise is needed."""
    made = CentralNoise(math.log1p(math.expm1(epsilon) / p))
    return lambda items, domain: made.release(items, domain).astype(np.float64)
