"""What is promised, as a value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tamis.privacy.errors import InvalidInput, shown

NEIGHBOURS = "add or remove one unit"
REPLACED = "replace one unit"


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy for one unit, under bounds on what a unit contributes.

    Guarantee: for any two data sets that differ by the presence of one unit, which touches at most
    ``keys_per_unit`` keys and adds at most ``elements_per_key`` to the frequency of each, and for
    any set T of outputs, Pr[M(w) in T] <= exp(epsilon) Pr[M(w') in T] + delta.

    Numbers are read as they are printed, so 0.1 means one tenth. delta may be 0 where a mechanism
    needs none. Where ``neighbours`` says so, one unit is replaced by another.

    >>> Guarantee(epsilon=1.0, delta=1e-8, keys_per_unit=4)
    Guarantee(epsilon=1.0, delta=1e-08, keys_per_unit=4, elements_per_key=1, unit='element')
    """

    epsilon: float
    delta: float
    keys_per_unit: int = 1
    elements_per_key: int = 1
    unit: str = "element"
    neighbours: str = field(default=NEIGHBOURS, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        delta = 0.0 if as_float(self.delta) == 0 else check_delta(self.delta)
        object.__setattr__(self, "delta", delta)
        for name in ("keys_per_unit", "elements_per_key"):
            object.__setattr__(self, name, check_bound(name, getattr(self, name)))
        check_unit(self.unit)
        if self.neighbours not in (NEIGHBOURS, REPLACED):
            raise InvalidInput(f"neighbours must be {NEIGHBOURS!r} or {REPLACED!r}.")

    def describe(self) -> dict[str, str | int]:
        """The guarantee as it stands in a certificate."""
        return {
            "epsilon": repr(self.epsilon),
            "delta": repr(self.delta),
            "keys_per_unit": self.keys_per_unit,
            "elements_per_key": self.elements_per_key,
            "unit": self.unit,
            "neighbours": self.neighbours,
        }


def check_epsilon(value: object, name: str = "epsilon") -> float:
    number = as_float(value)
    if not 0 < number <= 1000:
        raise InvalidInput(
            f"{name} must be a number above 0 and at most 1000, not {shown(value)}; "
            "0.1 to 2 are usual."
        )
    return number


def check_delta(value: object, name: str = "delta") -> float:
    number = as_float(value)
    if not 0 < number < 1:
        raise InvalidInput(
            f"{name} must lie strictly between 0 and 1, not {shown(value)}; "
            "take much less than one over the number of units, such as 1e-8."
        )
    return number


def check_bound(name: str, value: object) -> int:
    if not isinstance(value, bool) and isinstance(value, (int, np.integer)) and 1 <= value <= 10**9:
        return int(value)
    raise InvalidInput(f"{name} must be a whole number from 1 to 10^9, not {shown(value)}.")


def check_unit(unit: object) -> None:
    if not isinstance(unit, str) or not unit.strip() or not unit.isprintable() or len(unit) > 200:
        raise InvalidInput(
            f"unit must say in a few printable words what is protected, not {shown(unit)}."
        )


def as_float(value: object) -> float:
    """The value as a float, NaN if it is not a number; beyond any float it is infinite."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
