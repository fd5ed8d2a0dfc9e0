"""The one place where randomness enters: whole words from the operating system.

What is released is decided by comparing whole numbers: `words`, `below` and what is built on them
(`exp_coin`, `two_sided_geometric`) are exact. `uniforms` and `exponentials` are rounded to floating
point, and serve only samples that are not released as they are. There is no seed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

_AT_ONCE = 1 << 17  # words asked for in one call, so that no large temporary is copied


class Source(Protocol):
    """What gives independent, uniform 64-bit words."""

    def words(self, n: int) -> Words:
        """The next n words."""


class OperatingSystem:
    """The generator of the operating system: the only source outside tests."""

    def words(self, n: int) -> Words:
        drawn = np.empty(n, dtype=np.uint64)
        for start in range(0, n, _AT_ONCE):
            part = drawn[start : start + _AT_ONCE]
            part[:] = np.frombuffer(os.urandom(part.nbytes), dtype=np.uint64)
        return drawn


_source: Source = OperatingSystem()


@contextmanager
def using(source: Source) -> Iterator[None]:
    """Draw from another source for a while. For tests only: what is drawn so is not private."""
    global _source  # noqa: PLW0603  (one source for the whole process is the point)
    before, _source = _source, source
    try:
        yield
    finally:
        _source = before


def words(n: int) -> Words:
    """Draw n independent words, each uniform on 0, 1, ..., 2^64 - 1."""
    return _source.words(n)


def below(bound: int) -> int:
    """A whole number, exactly uniform on 0, 1, ..., bound - 1, however large the bound."""
    bits = (bound - 1).bit_length()
    count = -(-bits // 64)
    while True:
        value = int.from_bytes(words(count).tobytes(), "little") >> (64 * count - bits)
        if value < bound:
            return value


def exp_coin(numerator: int, denominator: int) -> bool:
    """True with probability exp(-numerator / denominator), exactly, for a ratio x in [0, 1].

    Coins of odds x/1, x/2, x/3, ... are thrown until one fails. The n-th is the first to fail with
    probability x^(n-1)/(n-1)! - x^n/n!, and the sum of these over odd n is exp(-x).

    Reference: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (2020),
    Algorithm 1.
    """
    n = 1
    while below(denominator * n) < numerator:
        n += 1
    return n % 2 == 1


def two_sided_geometric(rate: Fraction) -> int:
    """Noise X with Pr[X = x] = (1 - a)/(1 + a) a^|x|, where a = exp(-rate), exactly.

    Guarantee: a whole number that one unit changes by at most s, plus X drawn at rate epsilon/s,
    is epsilon-differentially private (pure: delta = 0). Only whole numbers are compared, nothing is
    rounded and no tail is cut.

    Reference: Canonne, Kamath, Steinke (2020), Algorithm 2.
    """
    while True:
        size = _geometric(rate.numerator, rate.denominator)
        negative = below(2) == 1
        if size or not negative:  # zero has one sign, or it would come twice as often
            return -size if negative else size


def _geometric(s: int, t: int) -> int:
    """G >= 0 with Pr[G = g] proportional to exp(-g s/t): a draw at rate 1/t, in groups of s."""
    while True:
        part = below(t)
        if exp_coin(part, t):
            break
    wholes = 0
    while exp_coin(1, 1):
        wholes += 1
    return (part + t * wholes) // s


def uniforms(n: int) -> Floats:
    """Uniform on the odd multiples of 2^-53: strictly inside (0, 1). Not for what is released."""
    odd = (words(n) >> np.uint64(11)) | np.uint64(1)
    return odd.astype(np.float64) * 2.0**-53


def exponentials(n: int) -> Floats:
    """Exp(1) as -log(uniform): strictly positive and finite. Not for what is released."""
    return -np.log(uniforms(n))
