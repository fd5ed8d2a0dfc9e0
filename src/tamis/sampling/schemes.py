"""Sampling schemes: the probability q(i) with which a key of frequency i is looked at at all.

Every scheme gives q twice. `probability` is in floating point (relative error below 2^-45), for
plans and estimates. `rule` names the integers that decide: `privacy.verify.Scheme` rebuilds them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.guarantee import as_float
from tamis.privacy.verify import STEPS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SHORT = re.compile(r"[0-9]{1,99}(\.[0-9]{1,99}|/[1-9][0-9]{0,98})?")
_NUMBERS = (int, float, Fraction, np.integer, np.floating)


class Scheme(ABC):
    """A non-decreasing q with q(0) = 0."""

    @abstractmethod
    def probability(self, frequency: npt.ArrayLike) -> Floats:
        """q(frequency), elementwise."""

    @abstractmethod
    def rule(self) -> dict[str, Any]:
        """The scheme as it stands in a certificate: text and whole numbers only."""


@dataclass(frozen=True)
class Everything(Scheme):
    """Every key is looked at: q = 1. The plain private histogram."""

    def probability(self, frequency: npt.ArrayLike) -> Floats:
        return (np.asarray(frequency) > 0).astype(np.float64)

    def rule(self) -> dict[str, Any]:
        return {"name": "everything"}


@dataclass(frozen=True)
class _Threshold(Scheme):
    """Threshold sampling by f(i) = i^power at rate tau (paper, Algorithm 1)."""

    tau: float
    power: float = 1.0

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not 1e-300 <= as_float(self.tau) <= 1e300:  # so that 1 / q is a number too
            raise InvalidInput(
                f"{name}: tau must lie between 1e-300 and 1e300, not {shown(self.tau)}."
            )
        if not 0 < as_float(self.power) <= 2:
            raise InvalidInput(f"{name}: power must lie in (0, 2], not {shown(self.power)}.")

    def size(self, frequency: npt.ArrayLike) -> Floats:
        """tau i^power; infinite where that is beyond any float."""
        i = np.asarray(frequency, dtype=np.float64)
        with np.errstate(over="ignore"):
            grown = i if self.power == 1 else i * i if self.power == 2 else np.power(i, self.power)
            return float(self.tau) * grown

    def rule(self) -> dict[str, Any]:
        return {
            "name": type(self).__name__.lower(),
            "tau": repr(float(self.tau)),
            "power": repr(float(self.power)),
        }


@dataclass(frozen=True)
class Pps(_Threshold):
    """Poisson sampling with probability proportional to size: q(i) = min(1, tau i^power)."""

    def probability(self, frequency: npt.ArrayLike) -> Floats:
        return np.minimum(1.0, self.size(frequency))


@dataclass(frozen=True)
class Ppswor(_Threshold):
    """Proportional to size without replacement: q(i) = 1 - exp(-tau i^power)."""

    def probability(self, frequency: npt.ArrayLike) -> Floats:
        return -np.expm1(-self.size(frequency))


@dataclass(frozen=True, repr=False)
class Custom(Scheme):
    """Any non-decreasing q, given as steps or as a list.

    ``q`` is a mapping from a frequency to the probability from there on, or a sequence of
    q(1), q(2), ..., q(n) whose last value holds for all higher frequencies, or a function that is
    asked for 1..upto. Floats are read as they are printed: 0.1 means one tenth.

    >>> Custom({1: 0.1, 50: 0.5, 1000: 1}).probability([1, 49, 50, 10**6]).tolist()
    [0.1, 0.1, 0.5, 1.0]
    """

    q: Mapping[int, float | Fraction] | Sequence[float | Fraction] | Callable[[int], float]
    upto: int | None = None
    steps: tuple[tuple[int, Fraction], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _steps(self.q, self.upto))

    @cached_property
    def _arrays(self) -> tuple[Ints, Floats]:
        return (
            np.array([0, *(i for i, _ in self.steps)]),
            np.array([0.0, *(float(q) for _, q in self.steps)]),
        )

    def probability(self, frequency: npt.ArrayLike) -> Floats:
        starts, values = self._arrays
        at = np.maximum(np.asarray(frequency), 0)
        place: Ints = np.searchsorted(starts, at, side="right") - 1
        chosen: Floats = values[place]
        return chosen

    def rule(self) -> dict[str, Any]:
        return {"name": "custom", "steps": [[i, str(q)] for i, q in self.steps]}

    def __repr__(self) -> str:
        shown = {i: float(q) for i, q in self.steps[:4]}
        more = f", {len(self.steps):,} steps in all" if len(self.steps) > 4 else ""
        return f"Custom({shown}{more})"

    def __hash__(self) -> int:
        return hash(self.steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Custom) and self.steps == other.steps


def _steps(q: Any, upto: Any) -> tuple[tuple[int, Fraction], ...]:
    exact = sorted((_frequency(i), _fraction(i, p)) for i, p in _pairs(q, upto))
    if not exact:
        raise InvalidInput("Custom: q is empty; give at least q(1).")
    if exact[0][0] != 1:
        exact.insert(0, (1, Fraction(0)))
    for (_, a), (i, b) in pairwise(exact):
        if b < a:
            raise InvalidInput(f"Custom: q must not decrease, but q({i}) is below q({i - 1}).")
    kept = [exact[0]] + [b for a, b in pairwise(exact) if a[1] != b[1]]
    if len(kept) > STEPS:
        raise InvalidInput(f"Custom: q changes {len(kept):,} times; at most {STEPS:,} are allowed.")
    return tuple(kept)


def _pairs(q: Any, upto: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(q, Mapping):
        return q.items()
    if callable(q):
        if isinstance(upto, bool) or not isinstance(upto, (int, np.integer)) or upto < 1:
            raise InvalidInput("Custom: a function needs upto, the frequency from which q stays.")
        return ((i, q(i)) for i in range(1, upto + 1))
    if isinstance(q, Iterable) and not isinstance(q, str):
        return enumerate(q, start=1)
    raise InvalidInput(f"Custom: q must be a mapping, a list or a function, not {shown(q)}.")


def _frequency(i: Any) -> int:
    if isinstance(i, bool) or not isinstance(i, (int, np.integer)) or not 1 <= i < 2**63:
        raise InvalidInput(f"Custom: frequencies are whole numbers from 1 on, not {shown(i)}.")
    return int(i)


def _fraction(i: Any, p: Any) -> Fraction:
    if isinstance(p, str) and _SHORT.fullmatch(p):
        p = Fraction(p)
    if isinstance(p, bool) or not isinstance(p, _NUMBERS) or not 0 <= p <= 1:
        raise InvalidInput(f"Custom: q({i}) must be a probability in [0, 1], not {shown(p)}.")
    exact = p if isinstance(p, Fraction) else Fraction(str(p))
    if exact.denominator.bit_length() > 1300:  # 391 digits; a certificate takes 399
        raise InvalidInput(f"Custom: q({i}) has too many digits; 300 are enough.")
    return exact
