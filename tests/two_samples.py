"""Whether two sets of counts come from the same law."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

Ints = npt.NDArray[np.int64]


def by_cell(one: Ints, other: Ints, times: int) -> float:
    """How often each cell stays: for two binomials each, the squares of the standard scores."""
    share = (one + other) / (2 * times)
    usual = (share * times > 5) & ((1 - share) * times > 5)
    scores = (one - other)[usual] ** 2 / (2 * times * (share * (1 - share))[usual])
    return float(stats.chi2.sf(scores.sum(), usual.sum()))


def homogeneous(one: Ints, other: Ints) -> float:
    """Whether counts by kind have the same shares."""
    usual = one + other >= 20
    return float(stats.chi2_contingency(np.stack([one[usual], other[usual]])).pvalue)
