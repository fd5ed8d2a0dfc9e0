"""How often keys might occur: a stated shape, or a public histogram. Never the data itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.cli import inputs
from tamis.privacy.errors import InvalidInput

_MOST = 10_000_000  # keys of a stated shape


@dataclass(frozen=True)
class Shape:
    """Frequencies of keys, from 1 on, and what they are called."""

    name: str
    frequencies: npt.NDArray[np.int64]

    def left(self, kept: float) -> npt.NDArray[np.int64]:
        """The frequencies of which a share is kept; keys of which nothing is left are not there."""
        left: npt.NDArray[np.int64] = np.rint(self.frequencies * kept).astype(np.int64)
        return left[left > 0]


def shape_of(
    zipf: str | None, histogram: str | None, column: str | None, table: str | None
) -> Shape | None:
    """What the options of `tamis plan` say."""
    if zipf is not None and histogram is not None:
        raise InvalidInput("give --shape or --histogram, not both.")
    if (histogram is None) != (column is None):
        raise InvalidInput("--histogram and --frequency go together: a file and its column.")
    if zipf is not None:
        return stated(zipf)
    if histogram is None or column is None:
        return None
    return public(histogram, column, table)


def stated(text: str) -> Shape:
    """The key of rank r occurs in proportion to r^-exponent: ``zipf:exponent:keys:elements``.

    >>> stated("zipf:1:4:100").frequencies.tolist()
    [48, 24, 16, 12]
    """
    exponent, keys, elements = _numbers(text)
    sizes = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    frequencies = np.rint(elements * sizes / sizes.sum()).astype(np.int64)
    return Shape(text, frequencies[frequencies > 0])


def _numbers(text: str) -> tuple[float, int, int]:
    try:
        name, *rest = text.split(":")
        exponent, keys, elements = map(float, rest)
    except ValueError:
        name, exponent, keys, elements = "", math.nan, 0.0, 0.0
    if name != "zipf" or not (0 <= exponent <= 10 and 1 <= keys <= _MOST and 1 <= elements < 2**53):
        raise InvalidInput(
            f"--shape must be zipf:exponent:keys:elements, such as zipf:1.1:100000:1000000 (with "
            f"at most {_MOST:,} keys), not {text!r}."
        )
    return exponent, int(keys), int(elements)


def public(path: str, column: str, table: str | None) -> Shape:
    """The frequencies of a histogram that is public."""
    read = inputs.counted(path, [column], table)
    return Shape(f"{column} of {path}", read[column].to_numpy())
