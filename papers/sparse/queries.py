"""What is asked: ranges, boxes, subsets and marginals; and how the errors are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from papers.sparse.data import Floats
from tamis.sparse.flat import Ints


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes by their first and last codes, (boxes, dimensions, 2), in groups that have labels."""

    labels: tuple[float, ...]
    group: Ints
    bounds: Ints


def ranges(cells: int, lengths: Sequence[int] | Ints, many: int, seed: int = 1) -> Boxes:
    """Contiguous cells of one dimension, anywhere; the label is how many."""
    return _placed((cells,), [(int(n),) for n in lengths], tuple(map(float, lengths)), many, seed)


def boxes(radices: Sequence[int], shares: Sequence[float], many: int, seed: int = 1) -> Boxes:
    """The same share of every dimension; the label is the share of all cells."""
    sides = [
        tuple(max(1, round(radix * share ** (1 / len(radices)))) for radix in radices)
        for share in shares
    ]
    return _placed(radices, sides, tuple(shares), many, seed)


def _placed(
    radices: Sequence[int],
    sides: Sequence[tuple[int, ...]],
    labels: tuple[float, ...],
    many: int,
    seed: int,
) -> Boxes:
    rng = np.random.default_rng(seed)
    found = []
    for side in sides:
        free = [radix - length + 1 for radix, length in zip(radices, side, strict=True)]
        first = rng.integers(0, free, (many, len(side)))
        found.append(np.stack([first, first + np.array(side) - 1], axis=-1))
    return Boxes(labels, np.repeat(np.arange(len(sides)), many), np.concatenate(found))


@dataclass(frozen=True, eq=False)
class Errors:
    """By label: the mean absolute error, and the median relative one (of answers above 0)."""

    labels: tuple[float, ...]
    absolute: Floats
    relative: Floats
    size: float = 0.0

    def at(self, label: float) -> int:
        """The place of a label."""
        return int(np.argmin(np.abs(np.log(np.array(self.labels) / label))))


def told(
    labels: tuple[float, ...], group: Ints, truth: Floats, found: Sequence[Floats], size: float
) -> Errors:
    """The errors of several draws, one array of answers each."""
    missed = np.abs(np.stack(found) - truth)
    absolute, relative = np.zeros(len(labels)), np.full(len(labels), np.nan)
    for k in range(len(labels)):
        here, some = group == k, (group == k) & (truth > 0)
        absolute[k] = missed[:, here].mean()
        if some.any():
            relative[k] = np.median(missed[:, some] / truth[some])
    return Errors(labels, absolute, relative, size)


def subsets(cells: Floats, shares: Sequence[float], many: int, seed: int = 1) -> Floats:
    """Sums over random subsets: runs of the cells in a random order, for each share ``many``."""
    rng, found = np.random.default_rng(seed), []
    sums = np.concatenate([[0.0], np.cumsum(rng.permutation(cells.ravel()))])
    for share in shares:
        length = max(1, round(share * cells.size))
        first = rng.integers(0, cells.size - length + 1, many)
        found.append(sums[first + length] - sums[first])
    return np.concatenate(found)


def marginals(cells: Floats, orders: Sequence[int]) -> Floats:
    """All cells of all tables of so many attributes, each summed from one of one attribute more."""
    tables = {tuple(range(cells.ndim)): cells}
    found: dict[int, Floats] = {}
    for many in range(cells.ndim, min(orders) - 1, -1):
        found[many] = np.concatenate([of.ravel() for of in tables.values()])
        tables = {
            tuple(a for a in axes if a != axis): of.sum(axis=n)
            for axes, of in tables.items()
            for n, axis in enumerate(axes)
        }
    return np.concatenate([found[many] for many in orders])


def subset_rmse(total: float, squares: float, cells: int, share: float) -> float:
    """Over all subsets with this share of the cells, the root of the mean squared error, exactly.

    From the sums of the errors e of m cells and of their squares, for subsets of k:
    k (m - k) / (m (m - 1)) (sum e^2 - (sum e)^2 / m) + (k / m)^2 (sum e)^2.
    """
    k = max(1, round(share * cells))
    spread = k * (cells - k) / (cells * (cells - 1)) * (squares - total**2 / cells)
    return float(np.sqrt(max(0.0, spread) + (k / cells * total) ** 2))
