"""Measure what the poster "Sample-and-threshold differential privacy" shows; write the README.

.venv/bin/python papers/federated/figures.py              everything: make papers
.venv/bin/python papers/federated/figures.py --only 2     one figure; its claims are printed
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from matplotlib.figure import Figure

from papers import page
from papers.federated import claims_errors, claims_privacy, claims_words, draw
from papers.federated.claims import DETAIL, HEADER, Claim
from papers.federated.data import SHAKESPEARE, Words, shakespeare
from papers.figures import make, run_from_command_line

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
    missing = [text.name] if words is None else []
    make(SYNTHETIC, REAL, (words,), missing, output, only, partial(_page, words))


def _page(words: Words | None, claims: list[Claim], skipped: frozenset[int]) -> str:
    text = README.read_text(encoding="utf-8")
    text = page.replaced(text, "claims", page.claims_table(text, claims, skipped, HEADER))
    details = {claim.number: claim.item() for claim in claims if claim.details}
    text = page.replaced(text, "details", page.by_claim(text, details, skipped, DETAIL))
    text = page.replaced(text, "rates", claims_privacy.rates())
    if words is None:
        return text
    text = page.replaced(text, "ratios", claims_errors.ratios(words))
    return page.replaced(text, "fair", claims_errors.fair(words))


if __name__ == "__main__":
    run_from_command_line(run, __doc__, [*SYNTHETIC, *REAL], HERE)
