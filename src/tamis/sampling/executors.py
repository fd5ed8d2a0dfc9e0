"""What runs on the executors of Spark is the very code that the driver certifies."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
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
    _answer()
    yield from work(batches)


def _answer() -> None:
    """Tell Java at once that this process knows what to do, and not 40 ms later, as is usual.

    It sends rows only then, and to wait is longer than to draw for a million keys. Only Linux lets
    a program say so.
    """
    quick = getattr(socket, "TCP_QUICKACK", None)
    if quick is None or socket.getdefaulttimeout() is not None:  # a copy would stop to wait
        return
    with suppress(OSError):
        for number in map(int, os.listdir("/proc/self/fd")):
            with suppress(OSError):  # it was closed meanwhile, or is a socket of another kind
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    with socket.socket(fileno=os.dup(number)) as copy:
                        copy.setsockopt(socket.IPPROTO_TCP, quick, 1)


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
