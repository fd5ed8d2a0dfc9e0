"""How many clients hold the items that are named, all together.

Of k clients with an item T ~ Bin(k, p) are kept, and the item is named if T >= tau. Named items are
those that luck made large, so T / p is too high on average for items that are seldom named. But

    E[T; T >= tau] = k p Pr[T >= tau] + (1 - p) tau Pr[T = tau]

for every k (the sum over T telescopes), so what is too much can be taken off where T = tau: there
tau p is counted in place of tau, and the mean is right given which items are named, whatever k is.
In the same way (1 - p) T estimates the variance without bias, if T = tau + 1 counts 1 + (1 - p) tau
times as much, and T = tau nothing. Here T = tau counts as much as tau + 1 does: that is on the safe
side, and no sum of few items looks exact.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from tamis.federated import SampleAndThreshold
from tamis.privacy.answer import Answer, quantile

Ints = npt.NDArray[np.int64]


def clients_with(mechanism: SampleAndThreshold, tokens: Ints, coverage: float) -> Answer:
    """The number of clients that hold one of the items with these tokens."""
    from scipy.stats import nbinom  # slow to load, and much is done without it

    p, tau, kept = mechanism.p, mechanism.tau, float(tokens.sum())
    estimate = float(np.where(tokens > tau, tokens, p * tau).sum()) / p
    near = np.where(tokens > tau + 1, 1.0, 1 + (1 - p) * tau)
    error = sqrt(float((tokens * near).sum()) * (1 - p)) / p
    low = max(kept, estimate - quantile(coverage) * error)  # those that were kept do hold them
    # What is kept of named items is more than of as many clients without a threshold.
    more = nbinom.ppf((1 + coverage) / 2, kept + 1, p) if len(tokens) else 0.0
    said = (
        "of the named items alone: what stayed below the threshold, such as most items with fewer "
        f"than {ceil(mechanism.needed):,} clients, is not in it"
    )
    return Answer(estimate, error, low, max(kept + float(more), estimate), coverage, said)
