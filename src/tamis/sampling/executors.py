"""What runs on the executors of Spark is the very code that the driver certifies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from tamis.privacy.errors import EngineMissing

Work = Callable[[Iterator[Any]], Iterator[Any]]

OTHER = (
    "the executors have another version of tamis than this one: install the same there, because it "
    "is what draws."
)


def checked(work: Work) -> Work:
    """The same work on batches; where there is another tamis, it is refused before it begins."""
    return partial(_checked, work, code())


def _checked(work: Work, expected: str, batches: Iterator[Any]) -> Iterator[Any]:
    if code() != expected:
        raise EngineMissing(OTHER)
    yield from work(batches)


@cache
def code() -> str:
    """A digest of all modules, which is taken once in each process."""
    hashed = hashlib.sha256()

    def take(folder: Traversable) -> None:
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.is_dir():
                take(entry)
            elif entry.name.endswith(".py"):
                hashed.update(entry.name.encode() + b"\0" + entry.read_bytes())

    take(files("tamis"))
    return hashed.hexdigest()
