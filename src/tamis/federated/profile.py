"""What sampling and a threshold hide: the exact delta of (p, tau) at any epsilon.

Every client is kept with probability p, independently, and an item is released with the number of
its clients that were kept, if that is at least tau. One client more or less changes one item's
number of clients between k and k + 1, and so the released count between Bin(k, p) and Bin(k+1, p).

Guarantee: the released counts are (epsilon, max(`added`, `removed`))-differentially private for one
client, and for no smaller delta (docs/proofs.md, section 13). For p <= 1 - e^-epsilon, `removed` is
0; below that epsilon, which composition asks for, it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import comb

from tamis.privacy.reals import Interval

_DIGITS = 60  # kept at first; more where they decide
_ENOUGH = Fraction(1, 10**20)  # relative width of what is given

At = Callable[[Fraction, int, Fraction, int, int], Interval]


@lru_cache(1 << 14)
def added(p: Fraction, tau: int, epsilon: Fraction) -> Interval:
    """The least delta if a client is added, for epsilon >= 0: enclosed to 20 digits.

    It is the largest of Pr[Bin(k+1, p) >= tau] - e^epsilon Pr[Bin(k, p) >= tau] over all k. From k
    to k + 1 that rises while (k + 1) gamma < tau - 1, gamma = 1 - (1 - p) e^-epsilon, and falls
    after that.
    """
    return _largest(p, tau, epsilon, -epsilon, more)


@lru_cache(1 << 14)
def removed(p: Fraction, tau: int, epsilon: Fraction) -> Interval:
    """The least delta if a client is removed, for epsilon >= 0: enclosed to 20 digits.

    It is the largest of Pr[Bin(k, p) < tau] - e^epsilon Pr[Bin(k+1, p) < tau] over all k. From k to
    k + 1 that rises while (k + 1) (1 - (1 - p) e^epsilon) < tau - 1, and falls after that. No
    probability changes by more than the factor 1 / (1 - p), so from there on it is 0.
    """
    if (Interval.of(epsilon, _DIGITS).exp() * (1 - p)).high >= 1:
        return Interval.of(0, _DIGITS)
    return _largest(p, tau, epsilon, epsilon, less)


def _largest(p: Fraction, tau: int, epsilon: Fraction, sign: Fraction, at: At) -> Interval:
    """The value where k + 1 is (tau - 1) / (1 - (1 - p) e^sign), rounded up.

    Where the digits do not tell which way to round, both are looked at.
    """
    digits = _DIGITS
    while True:
        share = 1 - Interval.of(sign, digits).exp() * (1 - p)
        over = Interval.of(tau - 1, digits) / share
        ends = {max(-int(-Fraction(end) // 1), tau) - 1 for end in (over.low, over.high)}
        found = [at(p, tau, epsilon, k, digits) for k in ends]
        low, high = max(x.low for x in found), max(x.high for x in found)
        if low > 0 and Fraction(high) <= (1 + _ENOUGH) * Fraction(low):
            return Interval(low, high, digits)
        digits *= 2


def more(p: Fraction, tau: int, epsilon: Fraction, k: int, digits: int) -> Interval:
    """Pr[Bin(k+1, p) >= tau] - e^epsilon Pr[Bin(k, p) >= tau]."""
    first, odds = _at(p, tau - 1, k, digits), p / (1 - p)
    ratios = (odds * Fraction(k - count + 1, count) for count in range(tau, k + 1))
    term, tail = first, first * 0
    for ratio in ratios:
        term = term * ratio
        tail = tail + term
        if ratio < 1 and term.high.adjusted() < tail.low.adjusted() - digits:
            rest = term * (ratio / (1 - ratio))  # too small to matter, and bounded
            tail = Interval(tail.low, (tail + rest).high, digits)
            break
    return first * p - (Interval.of(epsilon, digits).exp() - 1) * tail


def less(p: Fraction, tau: int, epsilon: Fraction, k: int, digits: int) -> Interval:
    """Pr[Bin(k, p) < tau] - e^epsilon Pr[Bin(k+1, p) < tau]."""
    first, odds = _at(p, tau - 1, k, digits), p / (1 - p)
    term, tail = first, first
    for count in range(tau - 1, 0, -1):
        term = term * (Fraction(count, k - count + 1) / odds)
        tail = tail + term
    growth = Interval.of(epsilon, digits).exp()
    return growth * first * p - (growth - 1) * tail


def _at(p: Fraction, count: int, k: int, digits: int) -> Interval:
    """Pr[Bin(k, p) = count]."""
    return _power(p, count, digits) * _power(1 - p, k - count, digits) * comb(k, count)


def _power(base: Fraction, exponent: int, digits: int) -> Interval:
    found, square = Interval.of(1, digits), Interval.of(base, digits)
    while exponent:
        if exponent & 1:
            found = found * square
        square, exponent = square * square, exponent >> 1
    return found
