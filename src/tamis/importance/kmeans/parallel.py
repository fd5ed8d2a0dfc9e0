"""Work on many rows, part by part, on all processors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_ROWS = 1 << 13  # at once: few enough for the cache, and for exact sums of weighted points


def in_parts(work: Callable[[slice], T], rows: int) -> list[T]:
    """On all processors, each with its own part; what is added up is whole, in any order.

    Where there are no rows there is one part, with none: nobody shall see that a sample is empty.
    """
    parts = [slice(start, start + _ROWS) for start in range(0, max(rows, 1), _ROWS)]
    if len(parts) == 1:
        return [work(parts[0])]
    with one_thread_each(), ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, parts))


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Libraries start none of their own: on small work they would mostly wait for each other."""
    with _libraries().limit(limits=1):
        yield


@cache
def _libraries() -> Any:
    """To look for what is loaded takes longer than a step on few rows."""
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    return ThreadpoolController()
