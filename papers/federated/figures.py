"""Measure what the poster "Sample-and-threshold differential privacy" shows; write the README.

.venv/bin/python papers/federated/figures.py              everything: make papers
.venv/bin/python papers/federated/figures.py --only 2     one figure; its claims are printed
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from matplotlib.figure import Figure

from papers import page
from papers.federated import claims_errors, claims_privacy, claims_words, draw
from papers.federated.claims import HEADER, Claim
from papers.federated.data import SHAKESPEARE, Words, shakespeare
from papers.weighted import plots

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"

SYNTHETIC: dict[int, tuple[Callable[[], Figure], Callable[[], list[Claim]]]] = {
    1: (draw.figure_1, claims_privacy.figure_1),
    2: (draw.figure_2, claims_errors.figure_2),
}
REAL: dict[int, tuple[Callable[[Words], Figure], Callable[[Words], list[Claim]]]] = {
    3: (draw.figure_3, claims_errors.figure_3),
    4: (draw.figure_4, claims_errors.figure_4),
    5: (draw.figure_5, claims_words.figure_5),
}


def run(output: Path = HERE, only: tuple[int, ...] = (), text: Path = SHAKESPEARE) -> None:
    """Draw into ``output``; without ``only``, write the README there too."""
    words = shakespeare(text)
    wanted = only or tuple(sorted([*SYNTHETIC, *REAL]))
    skipped = frozenset(n for n in wanted if n in REAL and words is None)
    claims: list[Claim] = []
    for number in wanted:
        if number in skipped:
            print(f"figure {number}: skipped, {text.name} is not there; nothing was changed")
        else:
            claims += _made(number, words, output / f"figure-{number}.png")
            print(f"figure {number}: drawn", flush=True)
    if only:
        print("\n".join(_told(claim) for claim in claims))
    else:
        (output / README.name).write_text(_page(claims, skipped, words), encoding="utf-8")
        print("README.md: tables written")


def _made(number: int, words: Words | None, path: Path) -> list[Claim]:
    if number in SYNTHETIC or words is None:
        paint, check = SYNTHETIC[number]
        figure, claims = paint, check
    else:
        draw_words, check_words = REAL[number]
        figure, claims = lambda: draw_words(words), lambda: check_words(words)
    with plots.look():
        plots.save(figure(), path)
    return claims()


def _page(claims: list[Claim], skipped: frozenset[int], words: Words | None) -> str:
    text = README.read_text(encoding="utf-8")
    text = page.replaced(text, "claims", page.claims_table(text, claims, skipped, HEADER))
    text = page.replaced(text, "rates", claims_privacy.rates())
    return page.replaced(text, "fair", claims_errors.fair(words)) if words else text


def _told(claim: Claim) -> str:
    lines = {"poster": claim.poster, "ours": claim.ours, "verdict": claim.verdict}
    return "\n".join([claim.number, *(f"    {name:8} {text}" for name, text in lines.items())])


def main() -> None:
    """Read the command line."""
    page.run_from_command_line(run, __doc__, [*SYNTHETIC, *REAL], HERE)


if __name__ == "__main__":
    main()
