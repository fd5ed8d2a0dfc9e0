"""Which sampling rates and thresholds meet a guarantee, exactly.

A lower rate is the higher one with some of the clients dropped afterwards, and a higher threshold
the lower one with some of the items dropped: so delta falls with both, and halving finds the best.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from tamis.federated.profile import added
from tamis.privacy.errors import InvalidInput
from tamis.privacy.reals import Interval

PARTS = 1 << 32  # rates are whole numbers of these: a coin is one comparison of 32 bits
_DIGITS = 60
_MOST = 1 << 20  # a threshold beyond it is of no use to anybody


@lru_cache(1 << 8)
def highest_rate(epsilon: Fraction) -> int:
    """The most parts p with p <= 1 - e^-epsilon: above that, removing a client costs delta too."""
    return int((1 - Interval.of(-epsilon, _DIGITS).exp()).floors(32)[0])


def spent(parts: int, tau: int, epsilon: Fraction, replaced: bool = False) -> Fraction:
    """An upper bound on delta, as close as 20 digits.

    Replacing a client takes one from an item and gives one to another. Taking changes no
    probability by more than the factor 1 / (1 - p), so the rest of epsilon is left for giving.
    """
    p = Fraction(parts, PARTS)
    left = epsilon
    if replaced:
        left += Fraction(Interval.of(1 - p, _DIGITS).ln().low)
    return Fraction(added(p, tau, left).high) if left > 0 else Fraction(1)


def largest_rate(
    tau: int, epsilon: Fraction, most: Fraction, replaced: bool, least: int = 1
) -> int:
    """The most parts, from ``least`` on, at which this threshold spends at most ``most``; or 0."""
    low, high = least, highest_rate(epsilon)
    if low > high or spent(low, tau, epsilon, replaced) > most:
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        if spent(middle, tau, epsilon, replaced) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def smallest_threshold(parts: int, epsilon: Fraction, most: Fraction, replaced: bool) -> int:
    """The least tau at which this rate spends at most ``most``."""
    high = 1
    while spent(parts, high, epsilon, replaced) > most:
        high *= 2
        if high > _MOST:
            raise InvalidInput(
                "no threshold hides a client at this sampling rate; take a lower rate, or a larger "
                "epsilon."
            )
    low = high // 2  # it spends more, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        if spent(parts, middle, epsilon, replaced) <= most:
            high = middle
        else:
            low = middle
    return high


@lru_cache(1 << 8)
def best(epsilon: Fraction, most: Fraction, replaced: bool) -> tuple[int, int]:
    """The rate, in parts, and the threshold with the least tau / p: what an item needs to be seen.

    A threshold tau needs at least tau / (1 - e^-epsilon) clients, which says when to stop.
    """
    found, tau = (0, 0), 1
    while tau <= _MOST:
        rate, held = found
        least = rate * tau // held + 1 if held else 1  # a higher rate than this is an improvement
        if least > highest_rate(epsilon):
            return found
        if parts := largest_rate(tau, epsilon, most, replaced, least):
            found = parts, tau
        tau += 1
    raise InvalidInput("no threshold is enough for so small a delta; take a larger one.")
