"""The local model: nobody is trusted, and every client sends one bit that may be false."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tamis.federated.baselines.items import Ints, check_items
from tamis.privacy.coins import Mask, coins, uniform
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import check_epsilon
from tamis.privacy.reals import Interval, Real, exp

Floats = npt.NDArray[np.float64]

_AT_ONCE = 1 << 18  # clients whose reports are made together


@dataclass(frozen=True)
class HadamardResponse:
    """A random row j of a Hadamard matrix, and the sign H[j, item], flipped now and then.

    The matrix has the least power of two of rows above the domain, H[j, x] = (-1)^(bits that j and
    x share). Item x has column x + 1, so that no item has the column that is constant. The sum of
    sign times H[j, x] over all clients, over tanh(epsilon / 2), is an unbiased estimate of the
    count of x, because different columns are orthogonal.

    Guarantee: every report is epsilon-locally differentially private if the client's item is
    replaced by any other (delta = 0): the row does not depend on the item, and the sign is the true
    one with probability e^epsilon / (1 + e^epsilon), so no report changes its probability by more
    than the factor e^epsilon. It holds whatever others do, and against the server too. The coins
    are exact.

    Reference: Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency
    estimation" (2017); Acharya, Sun, Zhang, "Hadamard response" (2019).

    >>> HadamardResponse(epsilon=40.0).release([0] * 1000, domain=1).tolist()
    [1000.0]
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))

    def reports(self, items: npt.ArrayLike, domain: int) -> tuple[Ints, Mask]:
        """What each client sends: a row, and whether its sign is minus."""
        columns = check_items(items, domain) + 1
        rows = uniform(_size(domain), len(columns))
        minus = (np.bitwise_count(rows & columns) & 1).astype(np.bool_)
        return rows, minus ^ coins(Real(_flipped, (exactly(self.epsilon),)), len(columns))

    def release(self, items: npt.ArrayLike, domain: int) -> Floats:
        """Estimated counts of 0, ..., domain - 1. Each call **spends the budget again**."""
        held, sums = check_items(items, domain), np.zeros(_size(domain), dtype=np.int64)
        together = max(_AT_ONCE, len(sums))
        for start in range(0, len(held), together):
            rows, minus = self.reports(held[start : start + together], domain)
            sums += np.bincount(rows, minlength=len(sums))
            sums -= 2 * np.bincount(rows[minus], minlength=len(sums))
        return transformed(sums)[1 : domain + 1] / math.tanh(self.epsilon / 2)


def transformed(sums: Ints) -> Ints:
    """The sum of sums[j] H[j, x] over all j, for every x: the fast Walsh-Hadamard transform."""
    width = 1
    while width < len(sums):
        left, right = np.moveaxis(sums.reshape(-1, 2, width), 1, 0)
        sums = np.stack([left + right, left - right], axis=1).ravel()
        width *= 2
    return sums


def _size(domain: int) -> int:
    """The least power of two above the domain."""
    return 1 << int(domain).bit_length()


def _flipped(epsilon: Fraction, digits: int) -> Interval:
    """1 / (1 + e^epsilon)."""
    return 1 / (exp(epsilon, digits) + 1)
