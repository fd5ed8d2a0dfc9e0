"""What the paper says, beside what is found here: one row of the table in the README each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.importance.data import Floats
from papers.importance.settings import EQUAL


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, our numbers for it, and whether it holds."""

    number: str
    paper: str
    ours: str
    verdict: str

    def row(self) -> str:
        """The claim as a row of a Markdown table."""
        return f"| {self.number} | {self.paper} | {self.ours} | {self.verdict} |"


HEADER = ("| | the paper | ours | verdict |", "|---|---|---|---|")


def compared(ratios: Floats) -> str:
    """How often a median is lower than another, equal to it, and higher."""
    lower, higher = int((ratios < 1 / EQUAL).sum()), int((ratios > EQUAL).sum())
    equal = ratios.size - lower - higher
    return f"lower {lower}, equal {equal}, higher {higher} times; {spread(ratios)}"


def spread(ratios: Floats) -> str:
    """The smallest, the median and the largest ratio."""
    low, middle, high = (f"×{x:.2f}" for x in np.quantile(ratios, [0, 0.5, 1]))
    return f"{low} to {high}, median {middle}"


def never_higher(ratios: Floats) -> str:
    """On a statement that something is better, or equal, everywhere."""
    higher = ratios > EQUAL
    if not higher.any():
        return "holds" if (ratios < 1 / EQUAL).any() else "equal everywhere"
    return "in part" if (ratios < 1 / EQUAL).any() else "does not hold"
