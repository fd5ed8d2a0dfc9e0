"""Work on many rows, part by part, on all processors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

_ROWS = 1 << 12  # at once, so that what is worked on stays in the cache


def in_parts(work: Callable[[slice], T], rows: int) -> list[T]:
    """On all processors, each with its own part; what is added up is whole, in any order."""
    parts = [slice(start, start + _ROWS) for start in range(0, rows, _ROWS)]
    with _one_thread_each(), ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, parts))


@contextmanager
def _one_thread_each() -> Iterator[None]:
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with threadpool_limits(1, user_api="blas"):
        yield
