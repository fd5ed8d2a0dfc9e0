"""Errors that users see: each is one sentence that says what to do."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from difflib import get_close_matches


class InvalidInput(ValueError):
    """An argument or a data value was refused before anything was drawn or spent."""


class BadData(InvalidInput):
    """The data could not be read, or holds what cannot be counted."""


class ReleaseFailed(Exception):
    """A release could not be finished after it was charged: what it cost stays spent."""


class BudgetRefused(Exception):
    """A release would spend more than its budget allows; nothing was charged."""


class LedgerDamaged(Exception):
    """The ledger's history was edited, cut or put back; nothing may be charged to it."""


class StoreUnavailable(Exception):
    """The collector's database cannot be reached, read or written now."""


class AggregatorBusy(Exception):
    """Another aggregator works on the same database, or has done what is asked for."""


class LedgerUnavailable(Exception):
    """The ledger cannot be reached, read or written now."""


class EngineMissing(Exception):
    """An engine, or what it needs, is not on this machine."""


def shown(value: object) -> str:
    """A value as it stands in an error: never longer than a line."""
    try:
        return reprlib.repr(value)
    except ValueError:  # a whole number with thousands of digits
        return "a number of thousands of digits"


def meant(name: object, there: Iterable[object]) -> str:
    """The name that was probably meant, if there is one like it.

    >>> meant("hme", ["home", "work"])
    " Did you mean 'home'?"
    """
    close = get_close_matches(str(name), [str(other) for other in there], n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def counted(many: int, what: str) -> str:
    """How many of something.

    >>> counted(1, "key"), counted(1200, "key")
    ('1 key', '1,200 keys')
    """
    return f"{many:,} {what}" + ("" if many == 1 else "s")
