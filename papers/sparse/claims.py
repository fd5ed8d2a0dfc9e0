"""What the paper says, beside what is measured here: one row of the table in the README each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from papers.sparse.data import Floats
from papers.sparse.experiments import Found
from papers.weighted.claims import percent, times

COMMAND = ".venv/bin/python papers/sparse/figures.py --only"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, our numbers for it, and whether it holds."""

    number: str
    paper: str
    ours: str
    verdict: str

    @property
    def figure(self) -> int:
        """The figure that it is about."""
        return int(self.number[0])

    def row(self) -> str:
        """The claim as a row of a Markdown table."""
        cells = (self.number, self.paper, self.ours, self.verdict)
        return f"| {' | '.join(cells)} | `{COMMAND} {self.figure}` |"


HEADER = ("| | the paper | ours | verdict | command |", "|---|---|---|---|---|")


def ratio(found: Found, name: str, base: str) -> Floats:
    """The absolute errors of one method over those of another, by label."""
    return found[name].absolute / found[base].absolute


def listed(ratios: Floats | Sequence[float]) -> str:
    """Ratios from the first label to the last."""
    return ", ".join(times(float(r)) for r in ratios)


def gains(found: Found, name: str, base: str) -> Floats:
    """By how much of itself the error becomes smaller."""
    return 1 - ratio(found, name, base)


def span(values: Floats) -> str:
    """From the lowest to the highest, as percentages."""
    return f"{percent(float(values.min()))} to {percent(float(values.max()))}"


def power(length: float) -> str:
    """A length of a range: 10^2.5."""
    return f"10^{round(float(np.log10(length)), 1):g}"


def holds_where(good: Iterable[bool], labels: Sequence[str], what: str) -> str:
    """The verdict on a statement that is to be true at every label."""
    fine = list(good)
    if all(fine):
        return "holds"
    if not any(fine):
        return "does not hold"
    return f"holds in part: for {what} of {named_where(fine, labels)}"


def named_where(good: Sequence[bool], labels: Sequence[str]) -> str:
    """The labels at which a statement is true: from the first to the last, if they are one run."""
    names = [label for label, ok in zip(labels, good, strict=True) if ok]
    one_run = good == sorted(good) or good == sorted(good, reverse=True)
    return f"{names[0]} to {names[-1]}" if one_run and len(names) > 1 else ", ".join(names)
