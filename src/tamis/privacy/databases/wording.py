"""The words in which sentences about the ledger and about the collector's database differ."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.privacy.errors import LedgerDamaged, LedgerUnavailable, StoreUnavailable


@dataclass(frozen=True)
class Wording:
    """How a database is spoken of, and which errors speak of it."""

    name: str
    foreign: str  # what a file is that belongs to something else
    locked: str  # what others hold on a server
    lost: str  # what a crash could lose
    went_away: str  # what is not known when the server goes away
    rights: str  # what a user of the server needs
    unavailable: type[Exception]
    damaged: type[Exception]


LEDGER = Wording(
    name="ledger",
    foreign="a database of another program, not a ledger",
    locked="the budget",
    lost="a charge",
    went_away="whether a charge that was under way was made is not known: see the budget's "
    "history, and try again.",
    rights="SELECT, INSERT and UPDATE",
    unavailable=LedgerUnavailable,
    damaged=LedgerDamaged,
)
COLLECTOR = Wording(
    name="collector's database",
    foreign="another database, not one of a collector",
    locked="the collector's database",
    lost="a report",
    went_away="whether what was under way was done is not known. Check that the server runs, and "
    "try again.",
    rights="SELECT, INSERT, UPDATE and DELETE",
    unavailable=StoreUnavailable,
    damaged=StoreUnavailable,
)
