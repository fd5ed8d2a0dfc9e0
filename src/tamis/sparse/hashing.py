"""Hashes of cells to buckets and signs, from public random coefficients.

All is arithmetic modulo the prime P = 2^61 - 1. The codes x_1, ..., x_k of a cell, each below P,
become u = a_1 x_1 + ... + a_k x_k; the bucket is b_0 + b_1 u modulo the number of buckets, and the
sign the last bit of c_0 + c_1 u + c_2 u^2 + c_3 u^3. With all coefficients uniform, two cells share
u with probability 1 / P. Apart from that, buckets of any two cells are independent, signs of any
four are, and both are uniform up to one part in P / (number of buckets) and P.

Reference: Wegman, Carter, "New hash functions and their use in authentication and set equality"
(1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.privacy.coins import uniform

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

PRIME = 2**61 - 1
_P = np.uint64(PRIME)
_HALF, _REST, _ALL = np.uint64(31), np.uint64(30), np.uint64(61)
_HALF_BITS, _REST_BITS = np.uint64(2**31 - 1), np.uint64(2**30 - 1)


@dataclass(frozen=True)
class Hash:
    """The coefficients a, b and c of one row of a sketch. They are no secret."""

    mix: tuple[int, ...]
    bucket: tuple[int, ...]
    sign: tuple[int, ...]

    @classmethod
    def draw(cls, radices: Sequence[int]) -> Hash:
        """A fresh one, for cells with these radices. It does not depend on the data."""
        parts = sum(1 + (radix > PRIME) for radix in radices)
        drawn = uniform(PRIME, parts + 6).tolist()
        return cls(tuple(drawn[:parts]), tuple(drawn[parts:-4]), tuple(drawn[-4:]))

    def fits(self, radices: Sequence[int]) -> bool:
        """Whether these are coefficients of a hash of cells with these radices."""
        parts = sum(1 + (radix > PRIME) for radix in radices)
        lengths = [len(part) for part in (self.mix, self.bucket, self.sign)]
        every = (*self.mix, *self.bucket, *self.sign)
        return lengths == [parts, 2, 4] and all(type(c) is int and 0 <= c < PRIME for c in every)

    def __call__(self, radices: Sequence[int], codes: Ints, width: int) -> tuple[Ints, Ints]:
        """The buckets and signs of cells, given as columns of codes."""
        u = np.zeros(codes.shape[1], dtype=np.uint64)
        for a, part in zip(self.mix, _parts(radices, codes), strict=True):
            u = _reduced(times(part, np.uint64(a)) + u)
        buckets = _polynomial(self.bucket, u) % np.uint64(width)
        signs = 1 - 2 * (_polynomial(self.sign, u) & np.uint64(1)).astype(np.int64)
        return buckets.astype(np.int64), signs


def _parts(radices: Sequence[int], codes: Ints) -> list[Words]:
    """Codes below P; those that may be larger are two."""
    parts = list[Words]()
    for radix, code in zip(radices, codes.astype(np.uint64), strict=True):
        parts += [code >> _HALF, code & _HALF_BITS] if radix > PRIME else [code]
    return parts


def _polynomial(coefficients: Sequence[int], u: Words) -> Words:
    value = np.full(len(u), coefficients[-1], dtype=np.uint64)
    for c in reversed(coefficients[:-1]):
        value = _reduced(times(value, u) + np.uint64(c))
    return value


def times(x: Words, y: Words | np.uint64) -> Words:
    """x y modulo P, for x and y below P: halves of 31 bits, so that nothing overflows."""
    x1, x0, y1, y0 = x >> _HALF, x & _HALF_BITS, y >> _HALF, y & _HALF_BITS
    middle = x1 * y0 + x0 * y1  # below 2^62, and 2^61 counts as 1
    shifted = (middle >> _REST) + ((middle & _REST_BITS) << _HALF)
    return _reduced(x0 * y0 + shifted + np.uint64(2) * (x1 * y1))


def _reduced(x: Words) -> Words:
    x = (x & _P) + (x >> _ALL)
    return np.where(x >= _P, x - _P, x)
