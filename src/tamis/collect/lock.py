"""One aggregator at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tamis.privacy.databases.files import unavailable
from tamis.privacy.databases.wording import COLLECTOR
from tamis.privacy.errors import AggregatorBusy

ANOTHER = "Another aggregator works on this database; wait until it is done, and try again."


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """A lock that the system takes back when the process dies."""
    import fcntl  # not on every system; the server does without it

    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise unavailable(path, error, COLLECTOR) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AggregatorBusy(ANOTHER) from None
        yield
    finally:
        os.close(handle)
