"""Which sampling rates and thresholds meet a guarantee, for one round or for several.

A lower rate is the higher one with some of the clients dropped afterwards, and a higher threshold
the lower one with some of the items dropped: so delta falls with both.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, log

from tamis.federated.profile import added
from tamis.federated.rounds import Grid, delta
from tamis.privacy.errors import InvalidInput
from tamis.privacy.reals import Interval

PARTS = 1 << 32  # rates are whole numbers of these: a coin is one comparison of 32 bits
_DIGITS = 60
_MOST = 1 << 20  # a threshold beyond it is of no use to anybody
_CLOSE = 0.998  # of delta is spent at least, where rounds are added up on a grid
_COARSE = 0.5  # of the grid's points are enough to look for a threshold
_WORSE = 2  # thresholds one after the other that are worse: then no better one is looked for
_TRIES = 60

Point = tuple[float, float]  # logarithms: of the rate, and of delta over what it may be


@lru_cache(1 << 8)
def highest_rate(epsilon: Fraction) -> int:
    """The most parts p with p <= 1 - e^-epsilon: above that, removing a client costs delta too."""
    return int((1 - Interval.of(-epsilon, _DIGITS).exp()).floors(32)[0])


@dataclass(frozen=True)
class Promise:
    """What is to be met: (epsilon, delta) for all rounds together, and for which neighbours."""

    epsilon: Fraction
    delta: Fraction
    replaced: bool = False
    rounds: int = 1

    def spent(self, parts: int, tau: int, fine: float = 1.0) -> Fraction:
        """The delta of a rate and a threshold: exact, or an upper bound that is close."""
        if self.exact:
            return Fraction(added(Fraction(parts, PARTS), tau, self.epsilon).high)
        return delta(((parts, tau, self.rounds),), self.epsilon, self.replaced, self.grid(fine))

    def grid(self, fine: float = 1.0) -> Grid:
        """On which rounds are added up."""
        return Grid.suited(float(self.epsilon), self.rounds, fine)

    @property
    def exact(self) -> bool:
        """Whether delta has a closed form: if a client is added or removed, once."""
        return self.rounds == 1 and not self.replaced

    def met(self, parts: int, tau: int) -> bool:
        return self.spent(parts, tau) <= self.delta

    def smallest_threshold(self, parts: int) -> int:
        """The least tau that meets the promise at this rate."""
        high = 1
        while not self.met(parts, high):
            high *= 2
            if high > _MOST:
                raise InvalidInput(
                    "no threshold hides a client at this sampling rate; take a lower rate, or a "
                    "larger epsilon."
                )
        low = high // 2  # it spends more, or is 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.met(parts, middle) else (middle, high)
        return high

    def largest_rate(self, tau: int, least: int = 1) -> int:
        """The most parts, from ``least`` on, that meet the promise with this threshold; or 0.

        Where delta is not exact, nearly the most.
        """
        low, high = least, highest_rate(self.epsilon)
        if low > high or not self.met(low, tau):
            return 0
        if not self.exact:
            return self._near(tau)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.met(middle, tau) else (low, middle - 1)
        return low

    def with_needed(self, needed: float) -> tuple[int, int]:
        """The highest rate, in parts, with a threshold of ``needed`` times as much, or the best.

        Where counts are large a higher threshold costs little, and a higher rate says more.
        """
        low, high = 0, int(needed * highest_rate(self.epsilon) / PARTS)
        while high > low:
            middle = (low + high + 1) // 2
            fits = self.spent(int(PARTS * middle / needed), middle, _COARSE) <= self.delta
            low, high = (middle, high) if fits else (low, middle - 1)
        return (int(PARTS * low / needed), low) if low else self.best()

    def best(self) -> tuple[int, int]:
        """The rate, in parts, and the threshold with the least tau / p: what an item needs.

        Where delta is exact all thresholds are looked at: tau needs at least tau / (1 - e^-epsilon)
        clients, which says when to stop. Elsewhere, those around the best.
        """
        return _best(self) if self.exact else _best_of_several(self)

    def _near(self, tau: int, fine: float = 1.0, start: int = 0) -> int:
        """A rate that spends nearly all of delta, or 0 if there is none.

        The logarithm of delta grows nearly straight with that of the rate, so a line through the
        nearest rates on both sides meets it in a few steps.
        """
        goal, most = log(self.delta * Fraction((1 + _CLOSE) / 2)), highest_rate(self.epsilon)
        below, above = (0.0, 0.0), (0.0, 0.0)
        parts = min(start or most // 3, most)
        for n in range(_TRIES):
            spent = self.spent(parts, tau, fine)
            here = log(parts), log(spent) - goal
            if (_CLOSE * self.delta <= spent or parts == most) and spent <= self.delta:
                return parts
            below, above = (here, above) if spent <= self.delta else (below, here)
            parts = max(1, min(most, round(exp(_crossing(below, above, tau / 2**n)))))
        return int(exp(below[0]))


def _crossing(below: Point, above: Point, slope: float) -> float:
    """Where a line through both points is 0; through the one that is known, with a slope."""
    if below[1] and above[1]:
        share = below[1] / (below[1] - above[1])
        return below[0] + min(0.95, max(0.05, share)) * (above[0] - below[0])
    x, y = below if below[1] else above
    return x - (y - 0.01 if y < 0 else y + 0.01) / slope


@lru_cache(1 << 8)
def _best(promise: Promise) -> tuple[int, int]:
    found = (0, 0)
    for tau in range(1, _MOST):
        rate, held = found
        least = rate * tau // held + 1 if held else 1  # a higher rate than this is an improvement
        if least > highest_rate(promise.epsilon):
            return found
        if parts := promise.largest_rate(tau, least):
            found = parts, tau
    raise InvalidInput("no threshold is enough for so small a delta; take a larger one.")


@lru_cache(1 << 8)
def _best_of_several(promise: Promise) -> tuple[int, int]:
    """The search is on a coarse grid, and the rate that is taken on a fine one."""
    parts, first = _best(Promise(promise.epsilon, promise.delta))
    rates = {first: promise._near(first, _COARSE, int(parts / promise.rounds**0.25))}

    def worth(tau: int) -> float:
        return rates[tau] / tau

    for way in (-1, 1):
        tau, worse = first + way, 0
        while tau >= 1 and worse < _WORSE:
            near = int(rates[tau - way] * (1 + way * 0.7 / tau))
            rates[tau] = promise._near(tau, _COARSE, near)
            worse = 0 if worth(tau) == max(map(worth, rates)) else worse + 1
            tau += way
    tau = max(rates, key=worth)
    if not rates[tau]:
        raise InvalidInput("no threshold is enough for so small a delta; take a larger one.")
    return promise._near(tau, start=rates[tau]), tau
