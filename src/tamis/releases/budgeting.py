"""How the epsilon of a release is shared among its parts, and charged to a budget."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from pathlib import Path
from typing import Any

from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.guarantee import Guarantee, as_float
from tamis.privacy.ledger import Ledger, open_ledger
from tamis.privacy.ledger.budget import check_purpose
from tamis.releases.about import BOUND, KEYS
from tamis.releases.checks import is_text
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


class Charge:
    """A charge to be made: what cannot be paid is refused at once, and charged when it is called.

    Without a budget nothing is charged.
    """

    def __init__(
        self,
        budget: str | None,
        ledger: str | Path | None,
        purpose: str | None,
        guarantee: Guarantee,
        what: str = "release",
    ) -> None:
        if budget is None and (ledger is not None or purpose is not None):
            raise InvalidInput("ledger and purpose are for a budget: name it with budget=.")
        self._budget, self._guarantee = budget, guarantee
        self._purpose = what if purpose is None else check_purpose(purpose) or what
        self._ledger: Ledger | None = None if budget is None else open_ledger(_place(ledger))

    def __enter__(self) -> Charge:
        if self._ledger is not None and self._budget is not None:
            try:
                self._ledger.require(self._budget, self._guarantee)
            except BaseException:
                self._ledger.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._ledger is not None:
            self._ledger.close()

    def __call__(self) -> dict[str, Any] | None:
        """Charge, durably; what the release file says of it."""
        if self._ledger is None or self._budget is None:
            return None
        return self._ledger.charge(self._budget, self._guarantee, self._purpose).describe()


def _place(ledger: object) -> str | Path | None:
    if ledger is None or (isinstance(ledger, (str, Path)) and is_text(str(ledger))):
        return ledger
    raise InvalidInput(f"ledger must be a path or an address, not {shown(ledger)}.")
