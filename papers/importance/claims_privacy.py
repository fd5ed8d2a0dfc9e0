"""Claims about figure 1: what is proved, and what is misprinted."""

from __future__ import annotations

import numpy as np

from papers.importance import privacy
from papers.importance.claims import Claim
from papers.importance.data import Table, mixture
from papers.importance.lloyd import SAMPLERS, sampling
from papers.importance.settings import SIZES
from papers.weighted.claims import percent
from tamis.importance import sampling_cannot_help
from tamis.importance.kmeans.run import mechanism

EPSILON = 1.0
_ASKED = (0.1, 1.0, 10.0)


def figure_1() -> list[Claim]:
    """On the mixture."""
    table = mixture()
    return [_cannot_help(table), _ends(table), _fewest(table), _bracket(table), _noise()]


def _cannot_help(table: Table) -> Claim:
    gained = max(privacy.most_gained(table, epsilon) for epsilon in _ASKED)
    profile = mechanism(EPSILON, table.dimensions, table.grid.steps)
    sure = sampling_cannot_help(profile, privacy.at_norms(table.grid.steps)).all()
    return Claim(
        "1a",
        "Proposition 3: sampling cannot improve the privacy of DP-Lloyd",
        f"largest gain at any norm and weight: {percent(max(0.0, gained))}",
        "holds" if sure and gained <= 1e-12 else "does not hold",
    )


def _ends(table: Table) -> Claim:
    off = []
    for kind in SAMPLERS[:2]:
        _, psi = privacy.losses(table, kind, SIZES[0], EPSILON)
        chosen = sampling(table, kind, SIZES[0], EPSILON)
        profile = mechanism(chosen.spent, table.dimensions, table.grid.steps)
        said = chosen.sampler.epsilon(profile, table.grid.steps)
        off.append((said - psi.max()) / said)
    fine = all(abs(x) <= 1e-9 for x in off)
    return Claim(
        "1b",
        "Proposition 6: ψ is largest at norm 0 or at the radius",
        f"ε as computed less the largest ψ: at most {max(map(abs, off)):.1e} of it",
        "holds" if fine else "does not hold",
    )


def _fewest(table: Table) -> Claim:
    found = [privacy.fewest(table, epsilon) for epsilon in _ASKED]
    told = ", ".join(
        f"{percent(best)} and {percent(other)} at ε = {epsilon:g}"
        for epsilon, (best, other) in zip(_ASKED, found, strict=True)
    )
    fine = all(best <= other for best, other in found)
    return Claim(
        "1c",
        "Theorem 3: optimal weights need the fewest points for ε",
        f"of all points, optimal and coreset, with the noise of full: {told}",
        "holds" if fine else "does not hold",
    )


def _bracket(table: Table) -> Claim:
    shares = np.array([privacy.missed_roots(table, epsilon) for epsilon in _ASKED])
    told = ", ".join(
        f"{percent(share)} at ε = {e:g}" for e, share in zip(_ASKED, shares[:, 0], strict=True)
    )
    return Claim(
        "1d",
        "Equation (4) and Algorithm 1: the weight is in the bracket",
        f"as printed, beyond it: {told}; corrected: {percent(shares[:, 1].max())}",
        "misprinted" if shares[:, 0].any() else "holds",
    )


def _noise() -> Claim:
    few, many = privacy.printed_noise(2), privacy.printed_noise(54)
    return Claim(
        "1e",
        "Algorithm 2 (noise of β_count on sums) spends ε of Proposition 5",
        f"as printed it spends ×{few:.2f} for d = 2, ×{many:.2f} for d = 54",
        "misprinted" if few > 1 else "holds",
    )
