"""A ledger in one SQLite file: the default, for one machine."""

from __future__ import annotations

import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

from tamis.privacy.databases.sqlite import SqliteDatabase
from tamis.privacy.databases.wording import LEDGER, Wording
from tamis.privacy.ledger.head import Head, HeadFile
from tamis.privacy.ledger.store import Store


class SqliteStore(SqliteDatabase, Store):
    """A file, with the head file beside it."""

    wording: ClassVar[Wording] = LEDGER
    application: ClassVar[int] = 0x74616D69  # the first letters of tamis

    def __init__(self, path: Path) -> None:
        self.head = HeadFile(path.with_name(path.name + ".head"))
        super().__init__(path)

    def reading(self) -> AbstractContextManager[None]:
        return self.transaction("BEGIN")

    def writing(self, budget: str | None = None) -> AbstractContextManager[None]:
        return self.transaction("BEGIN IMMEDIATE")

    def make(self) -> None:
        self.make_tables(uuid.uuid4().hex)

    def recognise(self) -> None:
        self.id = self.identify()

    def prepare(self) -> None:
        super().prepare()
        if not self.budgets() and self.head.read() is None:
            with self.writing():
                if self.head.read() is None:
                    self.head.write(Head(self.id))
