"""What the poster says, beside what is found here: a short row, and details below the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from papers.federated.data import Floats
from papers.federated.settings import EPSILONS
from papers.sparse.claims import named_where

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Claim:
    """A statement of the poster, our number for it, and whether it holds.

    ``ours`` and ``verdict`` are short, so that the table can be read; the rest is in ``details``.
    """

    number: str
    poster: str
    ours: str
    verdict: str
    details: str = ""

    def row(self) -> str:
        """The claim as a row of a Markdown table."""
        return f"| {self.number} | {self.poster} | {self.ours} | {self.verdict} |"

    def item(self) -> str:
        """Its details as an item of a Markdown list."""
        return f"{DETAIL}{self.number}**: {self.details}"


HEADER = ("| | the poster | ours | verdict |", "|---|---|---|---|")
DETAIL = "- **"


def small(x: float) -> str:
    """Three digits: 6.01e-06, 0.0015, 12.3."""
    return f"{x:.3g}"


def factor(ratio: float) -> str:
    """A ratio with two digits or more: ×0.00051, ×7.1, ×123."""
    return f"×{ratio:.0f}" if ratio >= 9.95 else f"×{ratio:#.2g}"


def listed(ratios: Floats) -> str:
    """Ratios from the first to the last."""
    return ", ".join(map(factor, ratios.tolist()))


def verdict(good: Bools) -> str:
    """On a statement that is to be true everywhere."""
    if np.all(good):
        return "holds"
    return "in part" if np.any(good) else "does not hold"


def where(good: Bools) -> str:
    """At which epsilons a statement is true."""
    if np.all(good):
        return "at every ε"
    names = [f"{epsilon:g}" for epsilon in EPSILONS]
    return f"at ε = {named_where(good.tolist(), names)}" if np.any(good) else "at no ε"
