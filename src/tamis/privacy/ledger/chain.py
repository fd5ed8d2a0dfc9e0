"""The hash chain: each entry's digest covers the one before, back to the budget itself.

digest_n = SHA-256(canonical JSON of entry n, which names digest_{n-1}), and digest_0 is that of
the budget's name, epsilon, delta, unit and day. Who changes or removes an entry changes every later
digest, and the last one is also kept elsewhere (`head`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from tamis.privacy.errors import LedgerDamaged
from tamis.privacy.ledger.budget import Budget, Entry

_VERSION = 1


def budget_digest(ledger: str, budget: Budget) -> str:
    """The digest at which the chain of a budget begins."""
    return _sha256({"kind": "budget", "ledger": ledger, **budget.describe()})


def entry_digest(entry: Entry) -> str:
    content: dict[str, str | int] = {
        "kind": "entry",
        "ledger": entry.ledger,
        "budget": entry.budget,
        "entry": entry.number,
        "epsilon": repr(entry.epsilon),
        "delta": repr(entry.delta),
        "keys_per_unit": entry.keys_per_unit,
        "elements_per_key": entry.elements_per_key,
        "unit": entry.unit,
        "purpose": entry.purpose,
        "day": entry.day.isoformat(),
        "previous": entry.previous,
    }
    return _sha256(content)


def check_chain(ledger: str, budget: Budget, entries: Sequence[Entry]) -> list[str]:
    """The digests of the chain, from the budget to the last entry, if every link holds."""
    digests = [budget_digest(ledger, budget)]
    for number, entry in enumerate(entries, start=1):
        if entry.number != number:
            raise damaged(budget.name, f"entry {number} is missing")
        if entry.previous != digests[-1]:
            before = f"entry {number - 1}" if number > 1 else "the budget itself"
            raise damaged(
                budget.name, f"{before} is not the one that entry {number} was made after"
            )
        if entry.digest != entry_digest(entry) or entry.unit != budget.unit:
            raise damaged(budget.name, f"entry {number} is not what was charged")
        digests.append(entry.digest)
    return digests


def damaged(name: str, finding: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"The ledger was changed by something other than tamis: in budget {name!r} {finding}; "
        "nothing more can be charged to it: find out who changed it, and put back the newest copy."
    )


def _sha256(content: Mapping[str, str | int]) -> str:
    numbered = {"version": _VERSION, **content}
    text = json.dumps(numbered, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
