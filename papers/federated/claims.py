"""What the poster says, beside what is found here: one row of the table in the README each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from papers.federated.data import Floats
from papers.federated.settings import EPSILONS
from papers.sparse.claims import holds_where

COMMAND = ".venv/bin/python papers/federated/figures.py --only"
EPSILON_NAMES = [f"{epsilon:g}" for epsilon in EPSILONS]


@dataclass(frozen=True)
class Claim:
    """A statement of the poster, our numbers for it, and whether it holds."""

    number: str
    poster: str
    ours: str
    verdict: str

    @property
    def figure(self) -> int:
        """The figure that it is about."""
        return int(self.number[0])

    def row(self) -> str:
        """The claim as a row of a Markdown table."""
        cells = (self.number, self.poster, self.ours, self.verdict)
        return f"| {' | '.join(cells)} | `{COMMAND} {self.figure}` |"


HEADER = ("| | the poster | ours | verdict | command |", "|---|---|---|---|---|")


def small(x: float) -> str:
    """Three digits: 6.01e-06, 0.0015, 12.3."""
    return f"{x:.3g}"


def listed(ratios: Floats) -> str:
    """Ratios from the first to the last, with two digits or more."""
    return ", ".join(f"×{r:.0f}" if r >= 10 else f"×{r:#.2g}" for r in ratios.tolist())


def where(good: Iterable[bool], labels: Sequence[str] = EPSILON_NAMES, what: str = "ε") -> str:
    """The verdict on a statement that is to be true at every label."""
    return holds_where((bool(x) for x in good), labels, what)
