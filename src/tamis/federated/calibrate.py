"""Which sampling rates and thresholds meet a guarantee, for one round or for several.

A lower rate is the higher one with some of the clients dropped afterwards, and a higher threshold
the lower one with some of the items dropped: so delta falls with both.

All searches are in floating point, which is quick. What they find is then checked with the certain
delta, and moved until that is small enough: so rounding may cost a little accuracy, never privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, log, log2

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from tamis.federated.profile import added
from tamis.federated.rounds import Grid, delta
from tamis.privacy.errors import InvalidInput
from tamis.privacy.reals import Interval

Floats = npt.NDArray[np.float64]

PARTS = 1 << 32  # rates are whole numbers of these: a coin is one comparison of 32 bits
_DIGITS = 60
MOST_TAU = 100_000  # no certificate of a higher threshold is checked
_MOST_BITS = 19_400  # and none of a probability p^tau of more places
_MOST_LOOKED_AT = 1 << 13  # thresholds for several rounds: higher ones take long
_ROUNDING = Fraction(1, 1 << 254)  # that a checker of certificates adds to delta
_AIM = 0.999  # of delta is to be spent, where rounds are added up on a grid
_CLOSE = 0.998  # is close enough to that
_SAME = 1e-6  # logarithms that are so close are not told apart; after each try, twice that
_HALVINGS = 60
_TRIES = 20  # five are enough, unless delta is so small that it is not known well
_CHECKS = 4  # of a rate that is nearly right
_TERMS = 60  # of a series whose terms are halved at least
_CHUNK = 64  # thresholds that are looked at together, at first
_LEAST = 1e-72  # delta, whose certificate is checked with 256 binary places
_TOO_SMALL = (
    "no threshold whose certificate can be checked is enough; take a larger epsilon, another delta "
    "or fewer rounds."
)
_LARGE = 700.0  # epsilon beyond which e^epsilon is not a float
_TINY = float(np.finfo(np.float64).tiny)


@lru_cache(1 << 8)
def highest_rate(epsilon: Fraction) -> int:
    """The most parts p with p <= 1 - e^-epsilon: above that, removing a client costs delta too."""
    return int((1 - Interval.of(-epsilon, _DIGITS).exp()).floors(32)[0])


def most_tau(parts: int) -> int:
    """The highest threshold of a certificate that can be checked (`privacy.verify.Clients`)."""
    return 1 + int(min(MOST_TAU - 1, _MOST_BITS / log2(PARTS / parts)))


def least_rate(tau: int) -> int:
    """The fewest parts that can be checked with this threshold."""
    return 1 if tau == 1 else 1 + int(PARTS * 2 ** (-_MOST_BITS / (tau - 1)))


@dataclass(frozen=True)
class Promise:
    """What is to be met: (epsilon, delta) for all rounds together, and for which neighbours."""

    epsilon: Fraction
    delta: Fraction
    replaced: bool = False
    rounds: int = 1

    def spent(self, parts: int, tau: int) -> Fraction:
        """The delta of a rate and a threshold: exact, or an upper bound that is close."""
        if self.exact:
            return Fraction(added(Fraction(parts, PARTS), tau, self.epsilon).high)
        return delta(((parts, tau, self.rounds),), self.epsilon, self.replaced, self.grid())

    def grid(self) -> Grid:
        """On which rounds are added up."""
        return Grid.suited(float(self.epsilon), self.rounds)

    @property
    def exact(self) -> bool:
        """Whether delta has a closed form: if a client is added or removed, once."""
        return self.rounds == 1 and not self.replaced

    def met(self, parts: int, tau: int) -> bool:
        return self.spent(parts, tau) <= self.delta

    def check(self) -> None:
        """Refuse what no rate and threshold can meet."""
        if not highest_rate(self.epsilon):
            raise InvalidInput("epsilon is too small for any sampling rate; take 2^-31 or more.")
        least = _LEAST if self.exact else self.grid().least(self.rounds * (1 + self.replaced))
        if self.delta < least:
            where = "" if self.exact else " where rounds, or both items of a client, are added up"
            raise InvalidInput(
                f"delta must be at least {least:.0e}{where}: of less no certificate can be checked."
            )

    def smallest_threshold(self, parts: int) -> int:
        """The least tau that meets the promise at this rate."""
        self.check()
        most = most_tau(parts) if self.exact else min(_MOST_LOOKED_AT, most_tau(parts))
        if (tau := _smallest(self, parts, most)) <= most:
            return tau
        raise InvalidInput(
            f"no threshold up to {most:,} hides a client at p = {parts / PARTS:g}; take a lower "
            "rate, or a larger epsilon or delta."
        )

    def largest_rate(self, tau: int) -> int:
        """The most parts that meet the promise with this threshold; or 0.

        Where delta is not exact, nearly the most.
        """
        self.check()
        if self.exact:
            return self._settled(tau)
        start = highest_rate(self.epsilon) // 3
        return self._certain(tau, start) if self._nearly(least_rate(tau), tau) <= 0 else 0

    def with_needed(self, needed: float) -> tuple[int, int]:
        """The highest rate, in parts, with a threshold of ``needed`` times as much, or the best.

        Where counts are large a higher threshold costs little, and a higher rate says more.
        """
        self.check()
        return _with_needed(self, needed)

    def best(self) -> tuple[int, int]:
        """The rate, in parts, and the threshold with the least tau / p: what an item needs.

        Where delta is exact all thresholds are looked at: tau needs at least tau / (1 - e^-epsilon)
        clients, which says when to stop. Elsewhere, those around the best.
        """
        self.check()
        return _best(self) if self.exact else _best_of_several(self)

    def _nearly(self, parts: int, tau: int) -> float:
        """The logarithm of delta over what it may be, in floating point."""
        if self.exact:
            found = float(_log_added(np.array([parts / PARTS]), np.array([tau]), self.epsilon)[0])
        else:
            from tamis.federated.nearly import nearly  # a device that only checks starts without

            settings = ((parts, tau, self.rounds),)
            spent = nearly(settings, self.epsilon, self.replaced, self.grid())
            found = log(max(_TINY, spent))
        return found - log(self.delta)

    def _settled(self, tau: int) -> int:
        """The most parts, by exact comparisons around the rate that is nearly right."""
        goal = self.delta - min(_ROUNDING, self.delta / 1000)
        start = int(PARTS * _rates(self, np.array([tau]))[0])
        low, high, step = 0, highest_rate(self.epsilon) + 1, 1  # of which only the first is met
        while low < start < high:
            low, high = (start, high) if self.spent(start, tau) <= goal else (low, start)
            start, step = (low + step if low == start else high - step), 4 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.spent(middle, tau) <= goal else (low, middle)
        return low

    def _certain(self, tau: int, start: int) -> int:
        """A rate that spends nearly all of delta, for certain; or 0 if none is found."""
        off, found = 0.0, 0
        for _ in range(_CHECKS):
            start = self._near(tau, start, log(_AIM) - off)
            spent = self.spent(start, tau)
            found = max(found, start) if spent <= self.delta else found
            if _CLOSE * self.delta <= spent <= self.delta or found == highest_rate(self.epsilon):
                break
            off = log(spent / self.delta) - self._nearly(start, tau)
        return found

    def _near(self, tau: int, start: int, goal: float) -> int:
        """A rate for which the logarithm of delta, over what it may be, is nearly the goal.

        It grows nearly straight with the logarithm of the rate, so a line through the last two
        rates meets it in a few steps. If it is below the goal everywhere, the highest rate.
        """
        most, low = highest_rate(self.epsilon), log(least_rate(tau))
        top = high = log(most)
        x, slope, last = max(low, min(log(max(1, start)), high)), float(tau), (0.0, 0.0)
        for n in range(_TRIES):
            y = self._nearly(min(most, round(exp(x))), tau) - goal
            low, high = (x, high) if y < 0 else (low, x)
            if abs(y) < _SAME * 2**n or high - low < _SAME / tau:
                break
            slope = max(1.0, (y - last[1]) / (x - last[0])) if n else slope
            last, x = (x, y), x - y / slope
            if not low < x < high:
                x = top if x >= top == high else (low + high) / 2
        return min(most, round(exp(x)))


def _log_added(p: Floats, tau: npt.NDArray[np.int64], epsilon: Fraction) -> Floats:
    """The logarithm of `profile.added` in floating point, one by one.

    Of p f(tau - 1) - (e^epsilon - 1) (f(tau) + f(tau + 1) + ...) where f is Bin(k, p), f(tau - 1)
    is taken out. Each term is then less than p / (e^epsilon - 1 + p) <= 1/2 of the one before.
    """
    e = min(float(epsilon), _LARGE)
    k = np.maximum(np.ceil((tau - 1) / (1 - (1 - p) * exp(-e))), tau) - 1
    first = gammaln(k + 1) - gammaln(tau) - gammaln(k - tau + 2)
    first = first + (tau - 1) * np.log(p) + (k - tau + 1) * np.log1p(-p)
    term, tail = np.ones_like(p), np.zeros_like(p)
    for n in range(_TERMS):
        term = term * (p / (1 - p) * np.maximum(0, k - tau + 1 - n) / (tau + n))
        tail = tail + term
    return np.asarray(first + np.log(np.maximum(_TINY, p - np.expm1(e) * tail)))


def _rates(promise: Promise, taus: npt.NDArray[np.int64]) -> Floats:
    """For each threshold the largest rate that meets the promise of one round, nearly; or 0."""

    def met(logs: Floats) -> npt.NDArray[np.bool_]:
        return _log_added(np.exp(logs), taus, promise.epsilon) <= log(promise.delta)

    most = log(highest_rate(promise.epsilon) / PARTS)
    low, high = np.full(len(taus), -log(PARTS)), np.full(len(taus), most)
    any_is, all_are = met(low), met(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        fits = met(middle)
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.where(all_are, exp(most), np.where(any_is, np.exp(low), 0.0))


def _first(fits: Callable[[int], bool], most: int) -> int:
    """The first whole number from 1 on that fits, as all after it do; or most + 1."""
    low, high = 0, 1
    while not fits(high):
        if high == most:
            return most + 1
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


@lru_cache(1 << 8)
def _smallest(promise: Promise, parts: int, most: int) -> int:
    """The least tau that meets the promise at this rate; or most + 1."""
    tau = _first(lambda tau: promise._nearly(parts, tau) <= 0, most)
    while 1 < tau <= most and promise.met(parts, tau - 1):
        tau -= 1
    while tau <= most and not promise.met(parts, tau):
        tau += 1
    return tau


@lru_cache(1 << 8)
def _with_needed(promise: Promise, needed: float) -> tuple[int, int]:
    highest = highest_rate(promise.epsilon)
    low, high = 0, min(_MOST_LOOKED_AT, most_tau(highest), int(needed * highest / PARTS))

    def rate(tau: int) -> int:
        return int(PARTS * tau / needed)

    if high and (enough := _smallest(promise, highest, high)) <= high:
        return highest, enough
    while low < high:
        middle = (low + high + 1) // 2
        fits = middle <= most_tau(rate(middle)) and promise._nearly(rate(middle), middle) <= 0
        low, high = (middle, high) if fits else (low, middle - 1)
    while low and not promise.met(rate(low), low):
        low -= 1
    return (rate(low), low) if low else promise.best()


@lru_cache(1 << 8)
def _best(promise: Promise) -> tuple[int, int]:
    rates, size, enough = np.zeros(0), 0, _CHUNK
    while size < min(enough, MOST_TAU):
        size = min(enough, 2 * size + _CHUNK)
        taus = np.arange(1, size + 1)
        rates = np.concatenate([rates, _rates(promise, taus[len(rates) :])])
        tau = 1 + int(np.argmax(rates / taus))
        rate, highest = rates[tau - 1], highest_rate(promise.epsilon) / PARTS
        enough = int(highest * tau / rate) if rate else 2 * size  # no higher one is better
    if parts := promise.largest_rate(tau):
        return parts, tau
    raise InvalidInput(_TOO_SMALL)


@lru_cache(1 << 8)
def _best_of_several(promise: Promise) -> tuple[int, int]:
    """From the best for one round, in steps that get shorter, to one that is better than others."""
    parts, best = _best(Promise(promise.epsilon, promise.delta))
    goal, step = log(_AIM), 1 << (best // 4).bit_length()
    rates = {best: promise._near(best, int(parts / promise.rounds**0.25), goal)}
    while step:
        for tau in (best - step, best + step):
            if tau >= 1 and tau not in rates:
                rates[tau] = promise._near(tau, int(rates[best] * (tau / best) ** 0.7), goal)
        better = max(rates, key=lambda tau: rates[tau] / tau)
        best, step = (better, step) if better != best else (best, step // 2)
    if found := promise._certain(best, rates[best]):
        return found, best
    raise InvalidInput(_TOO_SMALL)
