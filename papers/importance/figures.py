"""Measure what "Privacy amplification via importance sampling" shows; write the README.

.venv/bin/python papers/importance/figures.py              everything: make papers
.venv/bin/python papers/importance/figures.py --only 5     one figure; its claims are printed
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from matplotlib.figure import Figure

from papers import page
from papers.figures import make, run_from_command_line
from papers.importance import claims_costs, claims_privacy, draw
from papers.importance.claims import HEADER, Claim
from papers.importance.data import FOLDER, Tables, missing, real

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"

SYNTHETIC: dict[int, tuple[Callable[[], Figure], Callable[[], list[Claim]]]] = {
    1: (draw.figure_1, claims_privacy.figure_1),
    5: (draw.figure_5, claims_costs.figure_5),
}
REAL: dict[int, tuple[Callable[[Tables], Figure], Callable[[Tables], list[Claim]]]] = {
    2: (draw.figure_2, claims_costs.figure_2),
    3: (draw.figure_3, claims_costs.figure_3),
    4: (draw.figure_4, claims_costs.figure_4),
    6: (draw.figure_6, claims_costs.figure_6),
}


def run(output: Path = HERE, only: tuple[int, ...] = (), folder: Path = FOLDER) -> None:
    """Draw into ``output``; without ``only``, write the README there too."""
    absent = missing(folder)
    tables = {} if absent else real(folder)
    make(SYNTHETIC, REAL, (tables,), absent, output, only, partial(_page, tables))


def _page(tables: Tables, claims: list[Claim], skipped: frozenset[int]) -> str:
    text = README.read_text(encoding="utf-8")
    text = page.replaced(text, "claims", page.claims_table(text, claims, skipped, HEADER))
    return page.replaced(text, "costs", claims_costs.medians(tables)) if tables else text


if __name__ == "__main__":
    run_from_command_line(run, __doc__, [*SYNTHETIC, *REAL], HERE)
