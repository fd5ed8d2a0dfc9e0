"""A charge to a budget that is made just before something is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tamis.privacy.errors import EngineMissing, InvalidInput, ReleaseFailed, shown
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.ledger import Ledger, open_ledger
from tamis.privacy.ledger.budget import check_purpose

REFUSALS = (InvalidInput, EngineMissing)  # who is told so has not paid
SPENT = "It had been charged: what it cost is spent."


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
        self._charged = False
        self._ledger: Ledger | None = None if budget is None else open_ledger(_place(ledger))

    def __enter__(self) -> Charge:
        if self._ledger is not None and self._budget is not None:
            try:
                self._ledger.require(self._budget, self._guarantee)
            except BaseException:
                self._ledger.close()
                raise
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self._ledger is not None:
            self._ledger.close()
        if self._charged and isinstance(error, REFUSALS):
            raise after_charge(error) from None
        if self._charged and error is not None:  # an interruption, say
            error.add_note(SPENT)

    def __call__(self) -> dict[str, Any] | None:
        """Charge, durably; what the release file says of it."""
        if self._ledger is None or self._budget is None:
            return None
        entry = self._ledger.charge(self._budget, self._guarantee, self._purpose)
        self._charged = True
        return entry.describe()


def after_charge(error: Exception) -> ReleaseFailed:
    """What is raised in place of an error that says that something was refused.

    >>> after_charge(InvalidInput("Spark could not draw."))
    ReleaseFailed('Spark could not draw. It had been charged: what it cost is spent.')
    """
    return ReleaseFailed(f"{error} {SPENT}")


def _place(ledger: object) -> str | Path | None:
    if ledger is None or (isinstance(ledger, (str, Path)) and _can_be_written(str(ledger))):
        return ledger
    raise InvalidInput(f"ledger must be a path or an address, not {shown(ledger)}.")


def _can_be_written(path: str) -> bool:
    try:
        return b"\0" not in path.encode()
    except UnicodeEncodeError:
        return False
