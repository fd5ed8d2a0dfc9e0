"""Regenerate figures 1 to 9 of "Differentially private weighted sampling", and the README's tables.

.venv/bin/python papers/weighted/figures.py              everything: make papers
.venv/bin/python papers/weighted/figures.py --only 5     one figure; its claims are printed
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from matplotlib.figure import Figure

from papers import page
from papers.figures import make, run_from_command_line
from papers.weighted import (
    claims_estimation,
    claims_histogram,
    claims_sampling,
    draw_estimation,
    draw_reporting,
    tables,
)
from papers.weighted.claims import HEADER, Claim
from papers.weighted.data import HEADLINES, Counts, headline_words

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"

SYNTHETIC: dict[int, tuple[Callable[[], Figure], Callable[[], list[Claim]]]] = {
    1: (draw_reporting.figure_1, claims_histogram.figure_1),
    2: (draw_reporting.figure_2, claims_histogram.figure_2),
    4: (draw_reporting.figure_4, claims_sampling.figure_4),
    5: (draw_reporting.figure_5, claims_sampling.figure_5),
    8: (draw_estimation.figure_8, claims_estimation.figure_8),
    9: (draw_estimation.figure_9, claims_estimation.figure_9),
}
REAL: dict[int, tuple[Callable[[Counts], Figure], Callable[[Counts], list[Claim]]]] = {
    3: (draw_reporting.figure_3, claims_histogram.figure_3),
    6: (draw_reporting.figure_6, claims_sampling.figure_6),
    7: (draw_reporting.figure_7, claims_sampling.figure_7),
}


def run(output: Path = HERE, only: tuple[int, ...] = (), headlines: Path = HEADLINES) -> None:
    """Draw into ``output``; without ``only``, write the README there too."""
    words = headline_words(headlines)
    missing = [headlines.name] if words is None else []
    make(SYNTHETIC, REAL, (words,), missing, output, only, _page)


def _page(claims: list[Claim], skipped: frozenset[int]) -> str:
    text = README.read_text(encoding="utf-8")
    text = page.replaced(text, "claims", page.claims_table(text, claims, skipped, HEADER))
    text = page.replaced(text, "sizes", tables.sizes())
    text = page.replaced(text, "bias", tables.bias())
    return page.replaced(text, "nrmse", tables.nrmse())


if __name__ == "__main__":
    run_from_command_line(run, __doc__, [*SYNTHETIC, *REAL], HERE)
