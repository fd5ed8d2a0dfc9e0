"""Intervals for the frequency of a reported key, from its token."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.privacy.answer import check_coverage
from tamis.sampling.frequencies import check_frequencies
from tamis.weighted import bands
from tamis.weighted.laws import Column, Law

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def intervals(law: Law, tokens: npt.ArrayLike, coverage: float = 0.95) -> tuple[Ints, Ints]:
    """(low, high): the frequencies that each token is compatible with, given that it was reported.

    With alpha = 1 - coverage, the interval of token j is the smallest range that holds every i with

        Pr_i[token >= j | reported] > alpha/2   and   Pr_i[token <= j | reported] > alpha/2.

    Guarantee: whatever the frequency i of a key, Pr_i[low <= i <= high | reported] >= coverage.
    The tokens that leave out i at one side are a tail with probability at most alpha/2, so leaving
    out only at "at most alpha/2" is as narrow as the guarantee allows (docs/proofs.md, section 10).

    A token that is in a tail for every frequency gets the one for which it is least extreme.

    >>> from tamis.sampling.schemes import Everything
    >>> from tamis.weighted.laws import SurvivalLaw
    >>> low, high = intervals(SurvivalLaw(1.0, 1e-6, Everything()), [1, 50])
    >>> low.tolist(), high.tolist()
    ([1, 60], [17, 66])
    """
    check_coverage(coverage)
    j = check_frequencies(tokens, "tokens")
    ends = bands.offsets(law, j, lambda column: _ends(column, (1 - coverage) / 2))
    return j + ends[:, 0], j + ends[:, 1]


def _ends(column: Column, tail: float) -> Ints:
    """First and last frequency inside, as distances from the token."""
    depth = _depth(column)
    inside = depth > tail
    inside[np.arange(len(depth)), np.argmax(depth, axis=1)] = True
    last = depth.shape[1] - 1 - np.argmax(inside[:, ::-1], axis=1)
    return np.stack([np.argmax(inside, axis=1), last], axis=1)


def _depth(column: Column) -> Floats:
    """min{Pr_i[token >= j | reported], Pr_i[token <= j | reported]}; 0 where pi_i = 0."""
    depth: Floats = np.minimum(column.at_least, column.reporting - column.above)
    return np.divide(depth, column.reporting, out=depth, where=column.reporting > 0)
