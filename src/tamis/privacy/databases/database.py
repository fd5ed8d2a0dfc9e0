"""A connection to a database whose tables are made when they are not there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from tamis.privacy.databases.wording import Wording

Row = Sequence[Any]


class Database(ABC):
    """Alike in files and on servers; statements fail with sentences."""

    wording: ClassVar[Wording]
    patience: ClassVar[float] = 30.0  # seconds to wait for other processes
    unchanged: ClassVar[str] = ", and nothing was changed"

    @abstractmethod
    def run(self, sql: str, values: Row = ()) -> list[Row]:
        """Runs one statement; values stand for question marks."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def make(self) -> None:
        """Makes the tables."""

    @abstractmethod
    def recognise(self) -> None:
        """Refuses tables that this version does not know."""

    @abstractmethod
    def prepare(self) -> None:
        """Makes the connection durable, and the tables if need be."""

    def prepare_or_close(self) -> None:
        try:
            self.prepare()
        except BaseException:
            self.close()
            raise

    def busy(self, held: str) -> Exception:
        return self.wording.unavailable(
            f"Other processes have held {held} for {self.patience:.0f} seconds{self.unchanged}; "
            "try again, and look for a process that hangs."
        )
