"""A chart for the terminal: the probability of being named over the frequency."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tamis.cli.compare import Way, frequencies

COLUMNS, _LINES = 60, 4
_BLOCKS, _PLAIN = " ▁▂▃▄▅▆▇█", " ...:::##"


def chart(found: Sequence[Way], blocks: bool) -> list[tuple[str, list[str]]]:
    """For each way a title and the lines of its picture, all over the same frequencies."""
    at = frequencies(found, COLUMNS)
    return [(_title(way), picture(np.asarray(way.reporting(at)), blocks)) for way in found]


def axis(found: Sequence[Way]) -> str:
    at = frequencies(found, COLUMNS)
    return f"{'':8}{at[0]:<{COLUMNS // 2},}{at[-1]:>{COLUMNS - COLUMNS // 2},}\n{'':8}frequency"


def picture(values: npt.NDArray[np.float64], blocks: bool) -> list[str]:
    r"""A column for every value, in eighths of a line.

    >>> print("\n".join(picture(np.array([0.0, 0.25, 0.5, 1.0]), blocks=False)))
     100 % |   #
           |   #
           |  ##
       0 % | ###
    """
    signs = _BLOCKS if blocks else _PLAIN
    eighths = np.rint(np.clip(values, 0, 1) * 8 * _LINES).astype(int)
    lines = []
    for line in reversed(range(_LINES)):
        label = {_LINES - 1: "100 %", 0: "0 %"}.get(line, "")
        bars = "".join(signs[n] for n in np.clip(eighths - 8 * line, 0, 8))
        lines.append(f"{label:>6} |{bars}".rstrip())
    return lines


def _title(way: Way) -> str:
    return f"{way.name}: half are named from {way.half:,} on" if way.half else way.name
