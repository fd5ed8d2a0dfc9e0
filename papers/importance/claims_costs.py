"""Claims about figures 2 to 6: costs of samplers, and of our best."""

from __future__ import annotations

import numpy as np

from papers.importance.claims import Claim, compared, never_higher, spread
from papers.importance.data import Floats, Table, Tables, mixture
from papers.importance.experiments import OURS, Sweep, best, sweep
from papers.importance.lloyd import CORESET, FULL, OPTIMAL, SAMPLERS, UNIFORM
from papers.importance.settings import EPSILONS, EQUAL


def figure_2(tables: Tables) -> list[Claim]:
    """Letters."""
    return _samplers("2", tables["letter"])


def figure_3(tables: Tables) -> list[Claim]:
    """Shuttle."""
    return _samplers("3", tables["shuttle"])


def figure_4(tables: Tables) -> list[Claim]:
    """Forest cover."""
    return _samplers("4", tables["covtype"])


def figure_5() -> list[Claim]:
    """Gaussian clusters."""
    return _samplers("5", mixture())


def figure_6(tables: Tables) -> list[Claim]:
    """Our best beside the paper's."""
    every = [*tables.values(), mixture()]
    return [_ours(f"6{letter}", table) for letter, table in zip("abcd", every, strict=True)]


def _samplers(figure: str, table: Table) -> list[Claim]:
    found = sweep(table)
    core, optimal = _ratios(found, CORESET, UNIFORM), _ratios(found, OPTIMAL, CORESET)
    least, most = found.sizes[0], found.sizes[-1]
    gaps = [_gaps(found, size) for size in (least, most)]
    closing = gaps[1] / gaps[0]
    shown = f"median over full: ×{np.median(gaps[0]):.2f} at m = {least:,}"
    return [
        Claim(
            f"{figure}a",
            f"{table.name}: coreset always beats uniform",
            compared(core),
            never_higher(core),
        ),
        Claim(
            f"{figure}b",
            f"{table.name}: optimal improves upon coreset or is on par",
            compared(optimal),
            never_higher(optimal),
        ),
        Claim(
            f"{figure}c",
            f"{table.name}: the gap to full closes as m grows",
            f"{shown}, ×{np.median(gaps[1]):.2f} at m = {most:,}",
            never_higher(closing),
        ),
    ]


def _ratios(found: Sweep, kind: str, other: str) -> Floats:
    """By size and epsilon."""
    return np.array([found.over(kind, other, size) for size in found.sizes])


def _gaps(found: Sweep, size: int) -> Floats:
    """By sampler and epsilon: the cost over that of all points."""
    return np.array([found.over(kind, FULL, size, same=False) for kind in SAMPLERS])


def _ours(number: str, table: Table) -> Claim:
    ratios = best(table).at(OURS) / sweep(table).at(FULL)
    return Claim(
        number,
        f"{table.name}: (ours) `PrivateKMeans` costs less than the paper's full DP-Lloyd",
        f"{spread(ratios)}; at ε = 1 ×{ratios[EPSILONS.index(1.0)]:.2f}",
        _everywhere(ratios),
    )


def _everywhere(ratios: Floats) -> str:
    lower = ratios < 1 / EQUAL
    if lower.all():
        return "holds"
    names = ", ".join(f"{e:g}" for e, ok in zip(EPSILONS, lower, strict=True) if not ok)
    return f"in part: not at ε = {names}" if lower.any() else "does not hold"


def medians(tables: Tables) -> list[str]:
    """A table: the median costs of all methods, at every epsilon."""
    heads = " | ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    lines = [f"| data | m | method | {heads} |", "|---" * (len(EPSILONS) + 3) + "|"]
    for table in (*tables.values(), mixture()):
        found = sweep(table)
        rows = [("all", OURS, best(table).at(OURS)), ("all", FULL, found.at(FULL))]
        rows += [(f"{m:,}", kind, found.at(kind, m)) for m in found.sizes for kind in SAMPLERS]
        for size, kind, costs in rows:
            cells = " | ".join(f"{x:.2f}" for x in costs)
            lines.append(f"| {table.name} | {size} | {kind} | {cells} |")
    return lines
