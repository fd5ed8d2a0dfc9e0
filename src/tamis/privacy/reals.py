"""Real numbers known as closely as asked for: what random words are compared with, exactly.

An `Interval` surely holds a number: every operation rounds outwards. A `Real` gives an interval for
any number of digits. To decide whether an unbounded random word is below a real number, digits are
asked for until the interval and the word no longer overlap; nothing is ever rounded in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

_FIRST = 40  # digits at first: about 130 binary places


@lru_cache(64)
def _contexts(digits: int) -> tuple[Context, Context]:
    down, up = (
        Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
        for rounding in (ROUND_FLOOR, ROUND_CEILING)
    )
    return down, up


@dataclass(frozen=True)
class Interval:
    """Two numbers between which a real number lies, and the digits that are kept of both."""

    low: Decimal
    high: Decimal
    digits: int

    @classmethod
    def of(cls, value: int | Fraction, digits: int) -> Interval:
        ratio, (down, up) = Fraction(value), _contexts(digits)
        top, bottom = Decimal(ratio.numerator), Decimal(ratio.denominator)
        return cls(down.divide(top, bottom), up.divide(top, bottom), digits)

    def _with(self, other: Interval | int | Fraction) -> tuple[Interval, Context, Context]:
        known = other if isinstance(other, Interval) else Interval.of(other, self.digits)
        return known, *_contexts(self.digits)

    def __add__(self, other: Interval | int | Fraction) -> Interval:
        x, down, up = self._with(other)
        return Interval(down.add(self.low, x.low), up.add(self.high, x.high), self.digits)

    def __neg__(self) -> Interval:
        # a minus sign would round to the digits of the context that happens to be current
        return Interval(self.high.copy_negate(), self.low.copy_negate(), self.digits)

    def __sub__(self, other: Interval | int | Fraction) -> Interval:
        return self + -self._with(other)[0]

    def __rsub__(self, other: int | Fraction) -> Interval:
        return -self + other

    def __mul__(self, other: Interval | int | Fraction) -> Interval:
        x, down, up = self._with(other)
        pairs = [(a, b) for a in (self.low, self.high) for b in (x.low, x.high)]
        return Interval(
            min(down.multiply(a, b) for a, b in pairs),
            max(up.multiply(a, b) for a, b in pairs),
            self.digits,
        )

    def __truediv__(self, other: Interval | int | Fraction) -> Interval:
        x, down, up = self._with(other)
        if x.low <= 0:
            raise ZeroDivisionError("only what is surely positive divides")
        one = Decimal(1)
        return self * Interval(down.divide(one, x.high), up.divide(one, x.low), self.digits)

    def __rtruediv__(self, other: int | Fraction) -> Interval:
        return self._with(other)[0] / self

    __radd__, __rmul__ = __add__, __mul__

    def exp(self) -> Interval:
        down, up = _contexts(self.digits)  # decimal rounds exp and ln to the nearest, correctly
        return Interval(down.exp(self.low), up.exp(self.high), self.digits)._wider()

    def ln(self) -> Interval:
        down, up = _contexts(self.digits)
        return Interval(down.ln(self.low), up.ln(self.high), self.digits)._wider()

    def _wider(self) -> Interval:
        down, up = _contexts(self.digits)
        return Interval(down.next_minus(self.low), up.next_plus(self.high), self.digits)

    def floors(self, places: int) -> tuple[int, int]:
        """Whole numbers around it: low <= 2^places x <= high."""
        down, up = _contexts(self.digits)  # not fractions: 10^-1000000 would be a long one
        scale = Decimal(1 << places)
        low, high = down.multiply(self.low, scale), up.multiply(self.high, scale)
        return int(low.to_integral_value(ROUND_FLOOR)), int(high.to_integral_value(ROUND_CEILING))


@dataclass(frozen=True)
class Real:
    """A number, as a function that gives an interval for the last argument, the digits."""

    function: Callable[..., Interval]
    arguments: tuple[Hashable, ...]

    def __call__(self, digits: int) -> Interval:
        return self.function(*self.arguments, digits)


@lru_cache(1 << 12)
def enclose(real: Real, places: int) -> tuple[int, int]:
    """low <= 2^places x <= high with high - low at most 2, from as many digits as that takes."""
    digits = _FIRST
    while True:
        low, high = real(digits).floors(places)
        if high - low <= 2:
            return low, high
        digits *= 2


def ratio(value: int | Fraction) -> Real:
    """A rational number."""
    return Real(Interval.of, (value,))


def exp_minus(rate: Fraction) -> Real:
    """exp(-rate)."""
    return Real(exp, (-rate,))


def exp(value: Fraction, digits: int) -> Interval:
    return Interval.of(value, digits).exp()
