"""How the epsilon of a release is shared among its parts."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal

from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.guarantee import as_float
from tamis.releases.about import BOUND, KEYS
from tamis.releases.parts import TOTAL, Part

_DOWN = Context(prec=15, rounding=ROUND_DOWN)  # so that a float prints as the same number


@dataclass(frozen=True)
class Split:
    """What each part may spend. The epsilons add up to no more than the whole, as printed.

    The number of elements and the choice of a bound are epsilon-private (delta = 0), the keys
    (epsilon, delta)-private; run one after the other they are (sum of epsilons, delta)-private.
    """

    keys: float
    total: float = 0.0
    bound: float = 0.0

    def parts(self, delta: float, total: int | None = None, bound: int | None = None) -> list[Part]:
        spent = [Part(KEYS, self.keys, delta)]
        spent += [Part(TOTAL, self.total, 0.0, total)] if self.total else []
        return spent + ([Part(BOUND, self.bound, 0.0, bound)] if self.bound else [])


def split(epsilon: float, total_share: float, bound_share: float) -> Split:
    """Shares of epsilon, rounded down; the keys get what is left."""
    return Split(*shared(epsilon, total_share=total_share, bound_share=bound_share))


def shared(epsilon: float, **shares: float) -> tuple[float, ...]:
    """What is left of epsilon, and then each share of it, rounded down."""
    whole, rest = Decimal(repr(epsilon)), Decimal(repr(epsilon))
    costs = []
    for name, share in shares.items():
        part = as_float(share)
        if not 0 <= part <= 0.5:
            raise InvalidInput(
                f"{name} must be a share of epsilon from 0 to 0.5, not {shown(share)}."
            )
        cost = _DOWN.multiply(whole, Decimal(repr(part)))
        rest = _DOWN.subtract(rest, cost)
        costs.append(float(cost))
    return float(rest) if any(costs) else epsilon, *costs
