"""What a filter and a sample do to a cell that holds nothing, in closed form.

A cell of count 0 gets noise X, Pr[X = x] = (1 - a)/(1 + a) a^|x|, a = exp(-rate). It passes the
filter if |X| >= theta (or X >= theta), and is then sampled with probability min(1, |X| / tau).
`Zero` gives the probability p of both, exactly, and draws the values of the cells that pass.

Reference: Cormode, Procopiuc, Srivastava, Tran, "Differentially private summaries for sparse data"
(2012), with the corrections of docs/errata.md: tau is any real number, and nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tamis.privacy.coins import coins
from tamis.privacy.noise import geometric, signed
from tamis.privacy.reals import Interval, Real, exp

Ints = npt.NDArray[np.int64]

_MOST = 2**63 - 1


@dataclass(frozen=True)
class Zero:
    """A cell that holds nothing, under noise of a rate, a filter theta >= 1 and a sample at tau.

    tau <= theta stands for no sampling. With ``one_sided`` only large positive values pass.
    """

    rate: Fraction
    theta: int
    tau: Fraction = Fraction(0)
    one_sided: bool = False

    @property
    def sampled(self) -> bool:
        return self.tau > self.theta

    @property
    def whole(self) -> int:
        """T, the whole part of tau."""
        return int(self.tau)

    @property
    def p(self) -> Real:
        """The probability that the cell is in the summary."""
        return Real(Zero._p, (self,))

    def _p(self, digits: int) -> Interval:
        a = exp(-self.rate, digits)
        passed = exp(-self.rate * self.theta, digits) / (a + 1) * (1 if self.one_sided else 2)
        return passed * _sum(self.weights(digits)) / self.tau if self.sampled else passed

    def weights(self, digits: int) -> tuple[Interval, Interval, Interval]:
        """A, B and C: theta, the steps from theta + 1 to T, and the part of a step up to tau."""
        a, steps = exp(-self.rate, digits), self.whole - self.theta
        return (
            Interval.of(self.theta, digits),
            a * (1 - exp(-self.rate * steps, digits)) / (1 - a) if steps else a * 0,
            exp(-self.rate * (steps + 1), digits) * (self.tau - self.whole),
        )

    def values(self, n: int) -> Ints:
        """The values of n cells that are in the summary."""
        sizes = self._start(n) + geometric(self.rate, n)
        return sizes if self.one_sided else signed(sizes)

    def _start(self, n: int) -> Ints:
        """J: theta, or theta + 1 + a geometric variable below T - theta, or T + 1."""
        start = np.full(n, self.theta, dtype=np.int64)
        if not self.sampled:
            return start
        above = np.flatnonzero(~coins(Real(Zero._first, (self,)), n))
        last = coins(Real(Zero._last, (self,)), len(above))
        if last.any():  # else T may be larger than what an array holds
            start[above[last]] = self.whole + 1
        steps, between = min(self.whole - self.theta, _MOST), above[~last]
        if steps:  # the rest of a geometric variable after division is truncated geometric
            start[between] += 1 + geometric(self.rate, len(between)) % steps
        return start

    def _first(self, digits: int) -> Interval:
        weights = self.weights(digits)
        return weights[0] / _sum(weights)

    def _last(self, digits: int) -> Interval:
        _, b, c = self.weights(digits)
        return c / (b + c)


def _sum(parts: tuple[Interval, Interval, Interval]) -> Interval:
    return parts[0] + parts[1] + parts[2]
