"""The head file: how far each budget's chain had come, kept outside of the database.

It is written after the commit. So a database that is ahead of its head file was interrupted in
between, and one that is behind it was put back from an old copy, or cut.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tamis.privacy.databases.files import sync_folder, unavailable
from tamis.privacy.databases.wording import LEDGER
from tamis.privacy.errors import LedgerDamaged
from tamis.privacy.ledger.chain import damaged

_VERSION = 1


class Mark(NamedTuple):
    """How many entries a budget had, and the digest of the last."""

    entries: int
    digest: str


@dataclass(frozen=True)
class Head:
    """The marks of one ledger's budgets."""

    ledger: str
    marks: dict[str, Mark] = field(default_factory=dict)

    def moved(self, name: str, mark: Mark) -> Head:
        """With the later of two marks."""
        return Head(self.ledger, {**self.marks, name: max(mark, self.marks.get(name, mark))})

    def check(self, name: str, digests: Sequence[str]) -> None:
        """That a chain, from the budget to its last entry, has come as far as it once had."""
        if (mark := self.marks.get(name)) is None:
            return
        check_count(name, len(digests) - 1, mark.entries)
        if digests[mark.entries] != mark.digest:
            raise damaged(name, f"the history up to entry {mark.entries} was written anew")


def check_count(name: str, found: int, known: int) -> None:
    if found < known:
        raise damaged(
            name, f"there are {found} entries where there had been {known}, as in an old copy"
        )


@dataclass(frozen=True)
class HeadFile:
    """A small JSON file, replaced as a whole."""

    path: Path

    def read(self) -> Head | None:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            marks = {name: Mark(int(n), str(d)) for name, (n, d) in content["budgets"].items()}
            return Head(str(content["ledger"]), marks)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unavailable(self.path, error, LEDGER) from error
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LedgerDamaged(
                f"The file {self.path.name!r} next to the ledger cannot be understood, so whether "
                "the ledger is complete cannot be told; put back the newest copy of this file."
            ) from None

    def write(self, head: Head) -> None:
        """Durable when it returns; an interruption leaves the old file or the new one."""
        budgets = {name: [*mark] for name, mark in sorted(head.marks.items())}
        content = {"version": _VERSION, "ledger": head.ledger, "budgets": budgets}
        new = self.path.with_name(self.path.name + ".new")
        try:
            write_durably(new, json.dumps(content, indent=1) + "\n")
            os.replace(new, self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise unavailable(self.path, error, LEDGER) from error


def write_durably(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
