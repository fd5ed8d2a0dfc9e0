"""Which ledger: a file, a PostgreSQL server, or the user's own."""

from __future__ import annotations

import os
from pathlib import Path

from tamis.privacy.databases.files import data_folder, make_private, place
from tamis.privacy.databases.wording import LEDGER
from tamis.privacy.ledger.ledger import Ledger
from tamis.privacy.ledger.sqlite import SqliteStore

VARIABLE = "TAMIS_LEDGER"


def open_ledger(where: str | Path | None = None) -> Ledger:
    """Opens a ledger, and makes it when it is not there.

    A path is a SQLite file; ``postgresql://user@host/database`` is a PostgreSQL server. Without
    either, the environment variable ``TAMIS_LEDGER`` is asked, and then it is
    ``tamis/ledger.sqlite`` in the user's data folder (``XDG_DATA_HOME`` or ``~/.local/share``).
    """
    if where is None:
        where = os.environ.get(VARIABLE) or _own_file()
    found = place(where, LEDGER)
    if isinstance(found, Path):
        return Ledger(SqliteStore(found.absolute()))
    from tamis.privacy.ledger.postgres import PostgresStore

    return Ledger(PostgresStore(found, data_folder() / "heads"))


def _own_file() -> Path:
    make_private(data_folder(), LEDGER)
    return data_folder() / "ledger.sqlite"
