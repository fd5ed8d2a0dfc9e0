"""Summaries drawn many times, and their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from papers.sparse.data import Data, Floats
from papers.sparse.methods import Cells, Made, Method
from papers.sparse.queries import Boxes, Errors, told
from tamis.privacy import randomness


class _Repeatable:
    """Words that are the same in every run. Nothing here is released."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, n: int) -> randomness.Words:
        return self._generator.integers(0, 2**64, n, dtype=np.uint64)


@contextmanager
def repeatable(seed: int) -> Iterator[None]:
    """Draw the same noise in every run, so that tables of the README can be checked."""
    with randomness.using(_Repeatable(seed)):
        yield


def measure(
    data: Data, methods: Mapping[str, Method], boxes: Boxes, draws: int, seed: int = 7
) -> dict[str, Errors]:
    """The errors of each method, over all boxes and draws."""
    truth = Cells(data.dense, data.cells).answers(boxes)
    found = {}
    for name, method in methods.items():
        answers, size = drawn(data, method, lambda made: made.answers(boxes), draws, seed)
        found[name] = told(boxes.labels, boxes.group, truth, answers, size)
    return found


def drawn(
    data: Data, method: Method, asked: Callable[[Made], Floats], draws: int, seed: int = 7
) -> tuple[list[Floats], float]:
    """What is answered in each of some draws, one after the other, and the mean of the sizes."""
    answers, sizes = [], []
    with repeatable(seed):
        for _ in range(draws):
            made = method(data.table)
            answers.append(asked(made))
            sizes.append(made.size)
    return answers, float(np.mean(sizes))
