"""What went wrong, as an exit code and one sentence."""

from __future__ import annotations

from tamis.privacy.errors import (
    BadData,
    BudgetRefused,
    InvalidInput,
    LedgerDamaged,
    LedgerUnavailable,
)
from tamis.privacy.verify import Refused

DONE, FAILED, USAGE, BUDGET, DATA, MISSING = 0, 1, 2, 3, 4, 5


class Failed(Exception):
    """Something that the user asked for could not be finished."""


class Missing(Exception):
    """A package that is not always installed is needed."""


# The first that fits counts: BadData is an InvalidInput too.
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (BadData, DATA),
    (InvalidInput, USAGE),
    (BudgetRefused, BUDGET),
    (Missing, MISSING),
    (Failed, FAILED),
    (Refused, FAILED),
    (LedgerDamaged, FAILED),
    (LedgerUnavailable, FAILED),
)


def explain(error: Exception) -> tuple[int, str]:
    """The exit code, and a sentence without anything that only the data could tell."""
    if isinstance(error, ModuleNotFoundError) and not (error.name or "tamis").startswith("tamis"):
        return MISSING, f"the package {error.name!r} is needed and not installed; install it."
    from cyclopts import CycloptsError  # slow to import, and loaded already when it is raised

    if isinstance(error, CycloptsError):
        return USAGE, str(error)
    if isinstance(error, LedgerUnavailable) and isinstance(error.__context__, ImportError):
        return MISSING, str(error)
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, str(error)
    if isinstance(error, OSError) and error.strerror:
        return FAILED, f"the operating system refused it: {error.strerror}."
    return FAILED, (
        f"internal error ({type(error).__name__}); set TAMIS_DEBUG=1 to see where. What it shows "
        "may hold data."
    )
