"""Budgets and charges, on top of any store."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from types import TracebackType
from typing import Self

from tamis.privacy.errors import (
    BudgetRefused,
    InvalidInput,
    LedgerDamaged,
    LedgerUnavailable,
    meant,
)
from tamis.privacy.guarantee import Guarantee, check_delta, check_epsilon
from tamis.privacy.ledger.budget import (
    Budget,
    Entry,
    at_least,
    at_most,
    check_purpose,
    check_text,
)
from tamis.privacy.ledger.chain import budget_digest, check_chain, entry_digest
from tamis.privacy.ledger.head import Head, Mark, check_count
from tamis.privacy.ledger.spending import tally
from tamis.privacy.ledger.store import Store


class Ledger:
    """The durable record of budgets and of what each release spent.

    Guarantee: a charge that returned is in the history and stays there. A charge that was
    interrupted is either in the history, and counted, or it is not and never returned. What was
    charged to a budget fits into it, for any number of processes at once.
    """

    def __init__(self, store: Store, today: Callable[[], date] | None = None) -> None:
        self._store = store
        self._today = today or (lambda: datetime.now(UTC).date())
        self._lock, self._process = threading.RLock(), os.getpid()

    @property
    def id(self) -> str:
        """What names this ledger in release files."""
        return self._store.id

    def create(self, name: str, epsilon: float, delta: float, unit: str) -> Budget:
        """A new budget: what may be revealed about each ``unit`` in all."""
        name, unit = check_text(name, "name"), check_text(unit, "unit", most=200)
        cost = check_epsilon(epsilon), check_delta(delta)
        budget = Budget(name, *cost, unit, self._today())
        with self._alone() as head:
            if name in self._budgets(head):
                raise InvalidInput(
                    f"There is a budget {name!r} already, and budgets are never changed; "
                    "take another name."
                )
            self._store.add_budget(budget)
        self._move_head(name, Mark(0, budget_digest(self.id, budget)))
        return budget

    def budgets(self) -> list[Budget]:
        """All budgets by name, with what was spent."""
        with self._looking() as head:
            return [self._checked(b, head)[0] for b in self._budgets(head).values()]

    def show(self, name: str) -> Budget:
        """One budget, with what was spent."""
        with self._looking() as head:
            return self._checked(self._find(name, head), head)[0]

    def history(self, name: str) -> list[Entry]:
        """The charges of a budget, oldest first."""
        with self._looking() as head:
            return self._checked(self._find(name, head), head)[1]

    def can_afford(self, name: str, guarantee: Guarantee) -> bool:
        """Whether a charge would be accepted now."""
        return self.show(name).can_afford(guarantee)

    def require(self, name: str, guarantee: Guarantee) -> None:
        """Raises BudgetRefused if a charge would be refused now; charges nothing."""
        budget = self.show(name)
        if not budget.can_afford(guarantee):
            raise _refused(budget, guarantee)

    def charge(self, name: str, guarantee: Guarantee, purpose: str) -> Entry:
        """Records that a release is about to be drawn; durable when it returns.

        Call it before the first random draw. If it raises, nothing may be drawn; the charge may
        have been made all the same when the reason was a failing disk or network.
        """
        purpose = check_purpose(purpose)
        with self._alone(name) as head:
            budget, entries = self._checked(self._find(name, head), head)
            affordable = budget.can_afford(guarantee)
            if affordable:
                entry = self._next(budget, entries, guarantee, purpose)
                self._store.add_entry(entry)
        if not affordable:  # what is left is computed while others may go on
            raise _refused(budget, guarantee)
        self._move_head(name, Mark(entry.number, entry.digest))
        return entry

    def check(self, name: str | None = None) -> None:
        """Raises LedgerDamaged when the history of a budget (or of any) does not hold together."""
        with self._looking() as head:
            chosen = self._budgets(head).values() if name is None else [self._find(name, head)]
            for budget in chosen:
                self._checked(budget, head)

    def close(self) -> None:
        with self._lock:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _next(self, b: Budget, entries: list[Entry], g: Guarantee, purpose: str) -> Entry:
        entry = Entry(
            ledger=self.id,
            budget=b.name,
            number=len(entries) + 1,
            epsilon=g.epsilon,
            delta=g.delta,
            keys_per_unit=g.keys_per_unit,
            elements_per_key=g.elements_per_key,
            unit=g.unit,
            purpose=purpose,
            day=self._today(),
            previous=entries[-1].digest if entries else budget_digest(self.id, b),
        )
        return replace(entry, digest=entry_digest(entry))

    def _find(self, name: str, head: Head) -> Budget:
        known = self._budgets(head)
        if name in known:
            return known[name]
        hint = meant(name, known) or " Create it first, or list those there are."
        raise InvalidInput(f"There is no budget {name!r} in the ledger.{hint}")

    def _budgets(self, head: Head) -> dict[str, Budget]:
        """All budgets, if none has fewer entries than it once had."""
        known, counts = self._store.budgets(), self._store.counts()
        for name, mark in head.marks.items():
            if name not in known:
                raise LedgerDamaged(
                    f"The ledger was changed by something other than tamis: budget {name!r} is "
                    "gone, as in an old copy; put back the newest copy."
                )
            check_count(name, counts.get(name, 0), mark.entries)
        if strays := counts.keys() - known.keys():
            raise LedgerDamaged(
                f"The ledger was changed by something other than tamis: there are entries of "
                f"budget {min(strays)!r} but not the budget; put back the newest copy."
            )
        return known

    def _checked(self, budget: Budget, head: Head) -> tuple[Budget, list[Entry]]:
        """A budget with its costs, and its history, if the chain holds."""
        entries = self._store.entries(budget.name)
        head.check(budget.name, check_chain(self.id, budget, entries))
        return replace(budget, costs=tally(e.cost for e in entries)), entries

    @contextmanager
    def _looking(self) -> Iterator[Head]:
        with self._usable(), self._lock:
            head = self._store.head.read()  # first, so that it cannot be ahead of what is read
            with self._store.reading():
                yield self._known(head)

    @contextmanager
    def _alone(self, budget: str | None = None) -> Iterator[Head]:
        with self._usable(), self._lock:
            head = self._store.head.read()
            with self._store.writing(budget):
                yield self._known(head)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise LedgerUnavailable(
                "The ledger was opened by another process; open it in the process that uses it."
            )
        yield

    def _known(self, head: Head | None) -> Head:
        if head is None and self._store.head_needed and self._store.budgets():
            raise LedgerDamaged(
                f"The file {self._store.head.path.name!r} is missing, so whether the ledger is "
                "complete cannot be told; put it back next to the ledger."
            )
        if head is not None and head.ledger != self.id:
            raise LedgerDamaged(
                f"The file {self._store.head.path.name!r} belongs to another ledger: the ledger "
                "was removed or replaced; put back the one it belongs to."
            )
        return head or Head(self.id)

    def _move_head(self, name: str, mark: Mark) -> None:
        """Only forwards, and only for a budget whose chain was just checked."""
        try:
            with self._lock, self._store.writing():
                head = self._store.head.read() or Head(self.id)
                self._store.write_head(head.moved(name, mark))
        except LedgerUnavailable as error:
            raise LedgerUnavailable(
                f"The change to budget {name!r} is in the ledger and counts, but its mark outside "
                f"of it could not be written, so nothing may be drawn for it: {error}"
            ) from error


def _refused(budget: Budget, asked: Guarantee) -> BudgetRefused:
    left = budget.simply_left(asked.delta)
    rest = (
        f"at that delta at most epsilon {at_most(left)} is left"
        if left > 0
        else f"at that delta nothing is left (delta {at_most(budget.remaining_delta)} is)"
    )
    many = "1 release has" if budget.entries == 1 else f"{budget.entries:,} releases have"
    return BudgetRefused(
        f"Budget {budget.name!r} allows epsilon {budget.epsilon!r} and delta {budget.delta!r} in "
        f"all, of which {many} spent epsilon {at_least(budget.spent_epsilon)}; "
        f"epsilon {asked.epsilon!r} with delta {asked.delta!r} was asked for and {rest}: nothing "
        "was charged; ask for less."
    )
