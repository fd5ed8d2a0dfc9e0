"""A ledger in a PostgreSQL schema, for teams: several machines, one record."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from tamis.privacy.databases.files import make_private
from tamis.privacy.databases.postgres import PostgresDatabase
from tamis.privacy.databases.wording import LEDGER, Wording
from tamis.privacy.errors import LedgerUnavailable
from tamis.privacy.ledger.head import Head, HeadFile
from tamis.privacy.ledger.store import Store


class PostgresStore(PostgresDatabase, Store):
    """One transaction per charge, with the budget's row locked and the commit on the disk."""

    wording: ClassVar[Wording] = LEDGER
    schema: ClassVar[str] = "tamis."
    known_by: ClassVar[str] = "entries"
    making: ClassVar[int] = 0x74616D6973
    scope: ClassVar[str] = "LOCAL"
    head_needed: ClassVar[bool] = False  # another machine may have made the budgets

    def __init__(self, url: str, heads: Path) -> None:
        super().__init__(url)
        self.head = HeadFile(heads / f"{self.id}.head")

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self.transaction():
            self.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield

    @contextmanager
    def writing(self, budget: str | None = None) -> Iterator[None]:
        with self.transaction():
            self.be_durable()
            if budget is None:
                self.run("SELECT id FROM tamis.ledger FOR UPDATE")
            else:
                self.run("SELECT name FROM tamis.budgets WHERE name = ? FOR UPDATE", (budget,))
            yield

    def make(self) -> None:
        self.make_tables(uuid.uuid4().hex)

    def recognise(self) -> None:
        self.id = self.identify()

    def write_head(self, head: Head) -> None:
        """As well as this machine can: the record itself is on the server."""
        with suppress(LedgerUnavailable):
            make_private(self.head.path.parent.parent, LEDGER)
            make_private(self.head.path.parent, LEDGER)
            self.head.write(head)
