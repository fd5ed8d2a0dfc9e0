"""One cell of a flat summary: what is known of it, whether it stayed or not."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from tamis.privacy.answer import Answer
from tamis.privacy.noise import beyond, variance
from tamis.sparse.ranges import Level


def point(level: Level, cell: Sequence[int], coverage: float = 0.95) -> Answer:
    """The count of one cell.

    Guarantee: whatever the count, the interval holds it with at least this probability. Half of
    what may go wrong is for a cell that stays, with noise X beyond the interval around its value;
    half for one that does not, though its count is above the interval.
    """
    tail, rate, error = (1 - coverage) / 2, level.rule.rate, sqrt(variance(level.rule.rate))
    found = (level.flat.codes == np.array(cell, dtype=np.int64)[:, None]).all(axis=0)
    if found.any():
        value = int(level.flat.values[found][0])
        margin = beyond(rate, tail / 2)
        return Answer(value, error, max(0, value - margin), max(0, value + margin), coverage)
    if level.rule.whole:
        raise AssertionError("every cell is there")
    stays = max(float(level.rule.theta), float(level.flat.tau), 1.0)  # from here on it always stays
    high = stays + beyond(rate, tail)
    return Answer(0.0, error, 0.0, high, coverage, "the cell is not in the summary")
