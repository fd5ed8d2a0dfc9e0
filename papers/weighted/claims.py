"""What the paper says, beside what is computed here: one row of the table in the README each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.weighted.data import Floats

COMMAND = ".venv/bin/python papers/weighted/figures.py --only"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, our numbers for it, and whether it holds.

    ``ours`` is against SbH with the threshold as printed, ``fair`` against the threshold that
    spends all of delta; the verdict is on the paper's words, so on ``ours``.
    """

    number: str
    paper: str
    ours: str
    fair: str
    verdict: str

    @property
    def figure(self) -> int:
        """The figure that it is about."""
        return int(self.number[0])

    def row(self) -> str:
        """The claim as a row of a Markdown table."""
        cells = (self.number, self.paper, self.ours, self.fair, self.verdict)
        return f"| {' | '.join(cells)} | `{COMMAND} {self.figure}` |"


HEADER = (
    "| | the paper | ours, SbH as printed | ours, fair SbH | verdict | command |",
    "|---|---|---|---|---|---|",
)


def percent(share: float) -> str:
    """Whole per cent, with one more digit below ten."""
    return f"{100 * share:.{1 if abs(share) < 0.0995 else 0}f} %"


def times(ratio: float) -> str:
    """A ratio with the digits that matter."""
    return f"×{ratio:.2f}" if ratio < 10 else f"×{ratio:.0f}"


def short(x: float) -> str:
    """Two digits: 0.013, 1e-08."""
    return f"{x:.2g}"


def span(gain: Floats) -> str:
    """From the lowest to the highest gain."""
    return f"{percent(float(gain.min()))} to {percent(float(gain.max()))}"


def lowest(gain: Floats, at: Floats, name: str) -> str:
    """The lowest gain, and the first place where the gain is that to a tenth of a per cent."""
    place = np.argmax(gain < gain.min() + 1e-3)
    return f"{percent(float(gain.min()))} at {name} = {short(float(at[place]))}"


def from_where(gain: Floats, at: Floats, target: float) -> float | None:
    """The lowest swept value from which the gain stays at the target; None if it never does."""
    below = np.flatnonzero(gain < target)
    first = int(below[-1]) + 1 if len(below) else 0
    return float(at[first]) if first < len(at) else None
