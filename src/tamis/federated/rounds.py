"""Several rounds with the same clients: what all of their results together reveal.

In each round the item of a client may be held by another number of others, which may depend on the
results before. The exact profile is the worst case over all those numbers at each epsilon. It is
taken at the points of a grid and joined by straight lines, which lie above it and are the profile
of a privacy loss on the grid; such losses add up from round to round, whatever was seen before.

Guarantee: `delta` is an upper bound, in whole numbers that round up (`privacy.verify`), for rounds
each of which may depend on the results of those before (docs/proofs.md, section 13).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, log, sqrt

from tamis.privacy.errors import InvalidInput
from tamis.privacy.verify import Refused, rounds_together

Settings = tuple[tuple[int, int, int], ...]  # parts of 2^32, tau, and how many rounds

_STEPS = 60  # of the grid, up to epsilon, for one round; more for more, whose losses are smaller
HIGHEST = 40.0  # loss that is told from an infinite one
_PAD = 2.0**-150  # that a checker adds to every mass, to be safe


@dataclass(frozen=True)
class Grid:
    """Losses are multiples of ln(base); a round's are cut off at span, and their sum at reach."""

    base: Fraction
    span: int
    reach: int

    @classmethod
    def suited(cls, epsilon: float, rounds: int, fine: float = 1.0) -> Grid:
        """Twice as fine, a quarter of the excess."""
        highest = min(2 * epsilon, HIGHEST)
        step = highest / (2 * _STEPS * fine * sqrt(min(rounds, 64)))
        span = int(highest / step)
        return cls(Fraction(exp(step)), span, 2 * span)

    @property
    def step(self) -> float:
        return log(self.base)

    def least(self, rounds: int) -> float:
        """No delta below this can be promised: the rounding of a checker may add up to as much."""
        return 2 * rounds * (2 * self.span + 1) * _PAD


@lru_cache(1 << 12)
def delta(settings: Settings, epsilon: Fraction, replaced: bool, grid: Grid) -> Fraction:
    """An upper bound on delta at epsilon for a client that takes part in all of the rounds."""
    try:
        found = rounds_together(list(settings), epsilon, replaced, grid.base, grid.span, grid.reach)
    except Refused as reason:
        raise InvalidInput(f"these rounds cannot be added up: {reason}.") from None
    return min(found, Fraction(1))
