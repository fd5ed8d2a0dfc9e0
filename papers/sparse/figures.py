"""Measure what "Differentially private summaries for sparse data" reports, and write the README.

.venv/bin/python papers/sparse/figures.py              everything: make papers
.venv/bin/python papers/sparse/figures.py --only 5     one figure; its claims are printed
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
from papers.sparse import claims_flat, claims_ranges, claims_real, data, draw
from papers.sparse.claims import HEADER, Claim
from papers.sparse.data import ADULT, COUNTIES, FOLDER, RHODE_ISLAND, Data

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"

Tables = tuple[Data, ...]

SYNTHETIC: dict[int, tuple[Callable[[], Figure], Callable[[], list[Claim]]]] = {
    1: (draw.figure_1, claims_flat.figure_1),
    2: (draw.figure_2, claims_flat.figure_2),
    3: (draw.figure_3, claims_flat.figure_3),
    4: (draw.figure_4, claims_ranges.figure_4),
    5: (draw.figure_5, claims_ranges.figure_5),
}
REAL: dict[int, tuple[Callable[..., Figure], Callable[..., list[Claim]]]] = {
    6: (draw.figure_6, claims_real.figure_6),
    7: (draw.figure_7, claims_real.figure_7),
    8: (draw.figure_8, claims_real.figure_8),
}


def run(output: Path = HERE, only: tuple[int, ...] = (), folder: Path = FOLDER) -> None:
    """Draw into ``output``; without ``only``, write the README there too."""
    missing = [name for name in (RHODE_ISLAND, COUNTIES, ADULT) if not data.there(name, folder)]
    tables = () if missing else _tables(folder)
    make(SYNTHETIC, REAL, tables, missing, output, only, partial(_page, tables))


def _tables(folder: Path) -> Tables:
    return data.rhode_island(folder), data.counties(folder), data.adult(folder)


def _page(tables: Tables, claims: list[Claim], skipped: frozenset[int]) -> str:
    text = README.read_text(encoding="utf-8")
    text = page.replaced(text, "claims", page.claims_table(text, claims, skipped, HEADER))
    return page.replaced(text, "shares", claims_real.shares(*tables)) if tables else text


if __name__ == "__main__":
    run_from_command_line(run, __doc__, [*SYNTHETIC, *REAL], HERE)
