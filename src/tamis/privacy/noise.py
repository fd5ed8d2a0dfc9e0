"""Two-sided geometric noise for whole arrays, from exact coins.

The binary digits of a geometric variable G, Pr[G = g] = (1 - a) a^g, are independent, and digit k
is 1 with probability a^(2^k) / (1 + a^(2^k)). What is left above the last digit is geometric too.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tamis.privacy.coins import coins
from tamis.privacy.errors import InvalidInput
from tamis.privacy.reals import Interval, Real, exp, exp_minus, ratio

Ints = npt.NDArray[np.int64]

_FAR = 12  # so many multiples of 1 / rate are covered by digits; the rest is one coin in 160,000
_LEAST = Fraction(1, 10**15)  # values of 64 bits then overflow with probability exp(-9000)


def geometric(rate: Fraction, n: int) -> Ints:
    """n draws with Pr[G = g] = (1 - a) a^g, a = exp(-rate), exactly: no tail is cut."""
    digits = _digits(rate)
    total = np.zeros(n, dtype=np.int64)
    if not n:  # many small tables have none
        return total
    for k in range(digits):
        total += coins(_digit(rate * 2**k), n).astype(np.int64) << k
    beyond = np.flatnonzero(coins(exp_minus(rate * 2**digits), n))
    while len(beyond):  # G >= 2^digits with probability a^(2^digits), and then it starts anew
        total[beyond] += 1 << digits
        beyond = beyond[coins(exp_minus(rate * 2**digits), len(beyond))]
    return total


def two_sided(rate: Fraction, n: int) -> Ints:
    """n draws with Pr[X = x] = (1 - a)/(1 + a) a^|x|, a = exp(-rate), exactly.

    Guarantee: whole numbers that one unit changes by at most s in total, plus X drawn at rate
    epsilon/s for each, are epsilon-differentially private (pure).
    """
    noise = np.zeros(n, dtype=np.int64)
    other = np.flatnonzero(coins(_not_zero(rate), n))
    noise[other] = signed(1 + geometric(rate, len(other)))
    return noise


def variance(rate: Fraction) -> float:
    """The variance of such noise: 2a / (1 - a)^2."""
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


def fourth(rate: Fraction) -> float:
    """Its fourth cumulant, 2a (1 + 4a + a^2) / (1 - a)^4: how much heavier than normal it is."""
    a = math.exp(-rate)
    return 2 * a * (1 + 4 * a + a * a) / math.expm1(-rate) ** 4


def signed(sizes: Ints) -> Ints:
    """Each size with a fair sign."""
    return np.where(coins(ratio(Fraction(1, 2)), len(sizes)), sizes, -sizes)


def beyond(rate: Fraction, tail: float) -> int:
    """The least k with Pr[X > k] <= tail, by Pr[X > k] = a^(k+1) / (1 + a)."""
    return max(0, math.ceil(-(math.log(tail) + math.log1p(math.exp(-rate))) / float(rate)) - 1)


def passing(rate: Fraction, theta: int) -> float:
    """The mean of X^2 over |X| >= theta: |X| = theta + G with probability 2 a^theta / (1 + a)."""
    a, b = math.exp(-rate), -math.expm1(-rate)
    if theta < 1:
        return variance(rate)
    squares = theta**2 + 2 * theta * a / b + a * (1 + a) / b**2
    return 2 * math.exp(-rate * theta) / (1 + a) * squares


def check_rate(rate: Fraction) -> None:
    """Refuse a rate at which numbers of 64 bits could overflow."""
    if rate < _LEAST:
        raise InvalidInput(
            "epsilon, divided by how much one unit may change the table, must be at least 1e-15; "
            "give a larger epsilon or smaller bounds."
        )


def _digits(rate: Fraction) -> int:
    check_rate(rate)
    return (int(_FAR / rate) + 1).bit_length()


def _digit(rate: Fraction) -> Real:
    return Real(_share, (1, rate))


def _not_zero(rate: Fraction) -> Real:
    return Real(_share, (2, rate))


def _share(times: int, rate: Fraction, digits: int) -> Interval:
    """times a / (1 + a), a = exp(-rate)."""
    return times / (exp(rate, digits) + 1)
