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
from papers.weighted import (
    claims_estimation,
    claims_histogram,
    claims_sampling,
    draw_estimation,
    draw_reporting,
    plots,
    tables,
)
from papers.weighted.claims import HEADER, Claim
from papers.weighted.data import HEADLINES, Counts, headline_words

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"

Draw = Callable[[], Figure]
Check = Callable[[], list[Claim]]

SYNTHETIC: dict[int, tuple[Draw, Check]] = {
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
    wanted = only or tuple(sorted([*SYNTHETIC, *REAL]))
    skipped = frozenset(n for n in wanted if n in REAL and words is None)
    claims: list[Claim] = []
    for number in wanted:
        if number in skipped:
            print(f"figure {number}: skipped, {headlines.name} is not there; nothing was changed")
        else:
            draw, check = _tasks(number, words)
            _save(draw, output / f"figure-{number}.png")
            claims += check()
            print(f"figure {number}: drawn")
    if only:
        print("\n".join(_told(claim) for claim in claims))
    else:
        (output / README.name).write_text(_page(claims, skipped), encoding="utf-8")
        print("README.md: tables written")


def _tasks(number: int, words: Counts | None) -> tuple[Draw, Check]:
    if number in SYNTHETIC or words is None:
        return SYNTHETIC[number]
    draw, check = REAL[number]
    return lambda: draw(words), lambda: check(words)


def _save(draw: Draw, path: Path) -> None:
    with plots.look():
        plots.save(draw(), path)


def _page(claims: list[Claim], skipped: frozenset[int]) -> str:
    text = README.read_text(encoding="utf-8")
    text = page.replaced(text, "claims", page.claims_table(text, claims, skipped, HEADER))
    text = page.replaced(text, "sizes", tables.sizes())
    text = page.replaced(text, "bias", tables.bias())
    return page.replaced(text, "nrmse", tables.nrmse())


def _told(claim: Claim) -> str:
    lines = {
        "paper": claim.paper,
        "ours": claim.ours,
        "fair": claim.fair,
        "verdict": claim.verdict,
    }
    return "\n".join([claim.number, *(f"    {name:8} {text}" for name, text in lines.items())])


def main() -> None:
    """Read the command line."""
    page.run_from_command_line(run, __doc__, [*SYNTHETIC, *REAL], HERE)


if __name__ == "__main__":
    main()
