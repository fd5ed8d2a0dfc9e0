"""What a ledger holds, as values: budgets and the entries of releases that were charged to them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

from tamis.privacy.errors import InvalidInput
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import Guarantee, check_delta
from tamis.privacy.ledger import spending
from tamis.privacy.ledger.spending import Cost, Costs

EPSILON_UNIT = Fraction(1, 10**12)
DELTA_UNIT = Fraction(1, 10**30)
_SHARES = (2, 100, 1_000_000)  # of the delta that is left: the parts for one further release
_LONGEST_NAME = 100
_LONGEST_PURPOSE = 1000


@dataclass(frozen=True)
class Budget:
    """What may be revealed about each unit by all releases together, and what has been.

    Guarantee: all releases that were charged to the budget are together
    (epsilon, delta)-differentially private for one unit, if their parameters were chosen without
    looking at earlier results.
    """

    name: str
    epsilon: float
    delta: float
    unit: str
    created: date
    costs: Costs = field(default=(), repr=False)

    @property
    def total(self) -> Cost:
        return Cost(self.epsilon, self.delta)

    @property
    def entries(self) -> int:
        """How many releases were charged."""
        return sum(times for _, times in self.costs)

    @property
    def spent_epsilon(self) -> float:
        """What all releases together spend at the budget's delta, composed tightly."""
        return spending.spent_epsilon(self.costs, self.total)

    @property
    def remaining_delta(self) -> float:
        """The delta that no release has taken."""
        left = exactly(self.delta) - spending.sums(self.costs)[1]
        return spending.floor_float(left)

    @property
    def remaining(self) -> Cost:
        """What one further release may take: the largest epsilon with half of the delta left.

        Half, because composition saves epsilon only where some delta is free. Where that leaves
        nothing for a release, it takes a hundredth or a millionth of the delta; epsilon is 0 if
        that allows less than a millionth of the budget too. What a release with another delta may
        take is told by ``largest_epsilon``. Where composition adds less than a thousandth, it is
        the plain difference.
        """
        for share in _SHARES:
            delta = self.remaining_delta / share
            left = min(self.epsilon, self.simply_left(delta)) if delta > 0 else 0.0
            if left > 0:
                return Cost(left, delta)
        return Cost(0.0, 0.0)

    def simply_left(self, delta: float) -> float:
        """`largest_epsilon` to tell people: where it is the plain difference, nearly, just that."""
        return spending.simply_left(self.costs, _delta(delta), self.total)

    def largest_epsilon(self, delta: float) -> float:
        """The largest epsilon of one further release with this delta; 0 if there is none."""
        return spending.largest_epsilon(self.costs, _delta(delta), self.total)

    def can_afford(self, guarantee: Guarantee) -> bool:
        """Whether a release with this guarantee fits; a guarantee for other units is refused."""
        if guarantee.unit != self.unit:
            rows = self.unit == Guarantee.unit  # which have no column of their own
            ask = "without a unit" if rows else f"with unit={self.unit!r}"
            raise InvalidInput(
                f"The guarantee is for unit {guarantee.unit!r} but budget {self.name!r} protects "
                f"unit {self.unit!r}: protecting one does not protect the other; name a budget for "
                f"{guarantee.unit!r}, or release {ask}."
            )
        return spending.fits_with(self.costs, cost_of(guarantee), self.total)

    def describe(self) -> dict[str, str]:
        """What was fixed when the budget was made, as it stands in the chain."""
        return {
            "name": self.name,
            "epsilon": repr(self.epsilon),
            "delta": repr(self.delta),
            "unit": self.unit,
            "created": self.created.isoformat(),
        }


@dataclass(frozen=True)
class Entry:
    """One charge. ``digest`` covers all that the entry says and the digest of the one before."""

    ledger: str
    budget: str
    number: int
    epsilon: float
    delta: float
    keys_per_unit: int
    elements_per_key: int
    unit: str
    purpose: str
    day: date
    previous: str
    digest: str = ""

    @property
    def cost(self) -> Cost:
        return Cost(self.epsilon, self.delta)

    def describe(self) -> dict[str, str | int]:
        """What a release file says about its charge."""
        return {
            "ledger": self.ledger,
            "budget": self.budget,
            "entry": self.number,
            "digest": self.digest,
        }


def _delta(delta: float) -> float:
    """That of a release, which may be 0."""
    return delta if delta == 0 else check_delta(delta)


def cost_of(guarantee: Guarantee) -> Cost:
    return Cost(guarantee.epsilon, guarantee.delta)


def units(value: float, unit: Fraction) -> int:
    """``value``, as printed, in whole units, rounded up.

    >>> units(0.1, EPSILON_UNIT)
    100000000000
    """
    return math.ceil(exactly(value) / unit)


def at_most(amount: float) -> str:
    """An amount that is left, in up to six digits: rounded down, so that it is never overstated.

    >>> at_most(0.12345678), at_most(0.6), at_most(9.9e-7)
    ('0.123456', '0.6', '9.9e-07')
    """
    return _in_six_digits(amount, ROUND_FLOOR)


def at_least(amount: float) -> str:
    """An amount that is spent, in up to six digits: rounded up, so that it is never understated.

    >>> at_least(0.12345678), at_least(0.4)
    ('0.123457', '0.4')
    """
    return _in_six_digits(amount, ROUND_CEILING)


def _in_six_digits(amount: float, rounding: str) -> str:
    return f"{float(Context(prec=6, rounding=rounding).create_decimal(repr(amount))):g}"


def check_text(value: object, what: str, least: int = 1, most: int = _LONGEST_NAME) -> str:
    """A short printable text without spaces around it."""
    if (
        not isinstance(value, str)
        or not least <= len(value) <= most
        or not value.isprintable()
        or value != value.strip()
    ):
        raise InvalidInput(
            f"{what} must be {least} to {most} printable characters without spaces around them; "
            "shorten it or take out line breaks."
        )
    return value


def check_purpose(value: object) -> str:
    return check_text(value, "purpose", 0, _LONGEST_PURPOSE)
