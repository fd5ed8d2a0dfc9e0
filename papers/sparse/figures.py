"""Measure what "Differentially private summaries for sparse data" reports, and write the README.

.venv/bin/python papers/sparse/figures.py              everything: make papers
.venv/bin/python papers/sparse/figures.py --only 5     one figure; its claims are printed
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from matplotlib.figure import Figure

from papers import page
from papers.sparse import claims_flat, claims_ranges, claims_real, data, draw
from papers.sparse.claims import HEADER, Claim
from papers.sparse.data import ADULT, COUNTIES, FOLDER, RHODE_ISLAND, Data
from papers.weighted import plots

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
    wanted = only or tuple(sorted([*SYNTHETIC, *REAL]))
    missing = [name for name in (RHODE_ISLAND, COUNTIES, ADULT) if not data.there(name, folder)]
    tables = () if missing else _tables(folder)
    skipped = frozenset(n for n in wanted if n in REAL and missing)
    claims: list[Claim] = []
    for number in wanted:
        if number in skipped:
            named = " and ".join(missing)
            print(f"figure {number}: skipped, {named} not there; nothing was changed")
        else:
            claims += _made(number, tables, output / f"figure-{number}.png")
            print(f"figure {number}: drawn", flush=True)
    if only:
        print("\n".join(_told(claim) for claim in claims))
    else:
        (output / README.name).write_text(_page(claims, skipped, tables), encoding="utf-8")
        print("README.md: tables written")


def _tables(folder: Path) -> Tables:
    return data.rhode_island(folder), data.counties(folder), data.adult(folder)


def _made(number: int, tables: Tables, path: Path) -> list[Claim]:
    paint, check = SYNTHETIC[number] if number in SYNTHETIC else REAL[number]
    given = tables if number in REAL else ()
    with plots.look():
        plots.save(paint(*given), path)
    return check(*given)


def _page(claims: list[Claim], skipped: frozenset[int], tables: Tables) -> str:
    text = README.read_text(encoding="utf-8")
    text = page.replaced(text, "claims", page.claims_table(text, claims, skipped, HEADER))
    return page.replaced(text, "shares", claims_real.shares(*tables)) if tables else text


def _told(claim: Claim) -> str:
    lines = {"paper": claim.paper, "ours": claim.ours, "verdict": claim.verdict}
    return "\n".join([claim.number, *(f"    {name:8} {text}" for name, text in lines.items())])


def main() -> None:
    """Read the command line."""
    page.run_from_command_line(run, __doc__, [*SYNTHETIC, *REAL], HERE)


if __name__ == "__main__":
    main()
