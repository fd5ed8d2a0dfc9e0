"""Calls of other libraries, whose errors may hold data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def attempt(call: Callable[[], Found], *kinds: type[Exception]) -> Found | Exception:
    """What a call gives, or the error that it raises, if it is of one of these kinds.

    Whoever raises another error then does so outside of ``except``: Python keeps the first one as
    the context of the second otherwise, where logs and debuggers find it, ``from None`` or not.
    """
    try:
        return call()
    except kinds as error:
        return error
