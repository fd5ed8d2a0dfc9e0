"""How the figures of each paper are made: all, with the README, or some, with their claims."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from matplotlib.figure import Figure

from papers.page import Claim, told
from papers.weighted import plots

C = TypeVar("C", bound=Claim)

# By number: how a figure is drawn, and what is claimed of it.
Tasks = Mapping[int, tuple[Callable[..., Figure], Callable[..., list[C]]]]


def make(
    synthetic: Tasks[C],
    real: Tasks[C],
    data: tuple[Any, ...],
    missing: Sequence[str],
    output: Path,
    only: tuple[int, ...],
    page: Callable[[list[C], frozenset[int]], str],
) -> None:
    """Draw into ``output``; without ``only``, write the page of all claims there too.

    Figures of real data are given it, or are skipped, which is said, when files of it are missing.
    """
    wanted = only or tuple(sorted([*synthetic, *real]))
    skipped = frozenset(n for n in wanted if n in real and missing)
    claims: list[C] = []
    for number in wanted:
        if number in skipped:
            are = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not there"
            print(f"figure {number}: skipped, {are}; nothing was changed")
            continue
        (draw, check), given = (real[number], data) if number in real else (synthetic[number], ())
        with plots.look():
            plots.save(draw(*given), output / f"figure-{number}.png")
        claims += check(*given)
        print(f"figure {number}: drawn", flush=True)
    if only:
        print("\n".join(told(claim) for claim in claims))
    else:
        (output / "README.md").write_text(page(claims, skipped), encoding="utf-8")
        print("README.md: tables written")


def run_from_command_line(
    run: Callable[[Path, tuple[int, ...]], None], said: str | None, figures: Iterable[int], to: Path
) -> None:
    """Regenerate all figures, or some of them, into a folder."""
    parser = argparse.ArgumentParser(description=said.splitlines()[0] if said else None)
    numbers = sorted(figures)
    parser.add_argument("--only", type=int, nargs="+", choices=numbers, default=[], metavar="N")
    parser.add_argument("--output", type=Path, default=to, help="where the pictures go")
    chosen = parser.parse_args()
    run(chosen.output, tuple(chosen.only))
