"""Claims about figures 4 and 5: hierarchies on synthetic tables, and consistency."""

from __future__ import annotations

import numpy as np

from papers.sparse import experiments
from papers.sparse.claims import Claim, gains, holds_where, listed, ratio
from papers.sparse.claims_flat import NAMES
from papers.sparse.experiments import Found
from papers.sparse.methods import (
    DYADIC,
    DYADIC_CHECKED,
    DYADIC_FILTER,
    DYADIC_FILTER_CHECKED,
    DYADIC_PRIORITY,
    DYADIC_WHOLE,
    GEOMETRIC,
    HAAR,
    HAAR_WHOLE,
)
from papers.weighted.claims import percent

CHECKED = {DYADIC_FILTER: DYADIC_FILTER_CHECKED, DYADIC: DYADIC_CHECKED}


def figure_4() -> list[Claim]:
    """Hierarchies against the length of a range."""
    uniform, skewed = experiments.trees(0.1), experiments.trees(0.1, skewed=True)
    return [_worst(uniform), _from(uniform), _level(uniform), _skewed(skewed), _wavelets(uniform)]


def _worst(found: Found) -> Claim:
    named = {DYADIC_PRIORITY: "priority", DYADIC_FILTER: "filter", DYADIC: "filter-priority"}
    worst = found[DYADIC_PRIORITY].absolute
    others = np.maximum(found[DYADIC_FILTER].absolute, found[DYADIC].absolute)
    told = [f"{named[n]} {listed(ratio(found, n, DYADIC_WHOLE))}" for n in named]
    ours = f"error over that of every node at {NAMES[0]}..{NAMES[-1]}: {'; '.join(told)}"
    paper = "of dyadic summaries, priority samples are the worst and filters better"
    return Claim("4a", paper, ours, holds_where(worst >= others, NAMES, "ranges"))


def _from(found: Found) -> Claim:
    names = (DYADIC_WHOLE, DYADIC_FILTER, DYADIC, HAAR)
    first = {n: _first(found, n) for n in names}
    ours = "; ".join(f"{name}: from {place}" for name, place in first.items())
    fine = first[DYADIC_WHOLE] in {"10^3.5", "10^4", "10^4.5"}
    paper = "dyadic ranges beat single cells from 1 % of the data space (10^4) on"
    return Claim("4b", paper, ours, "holds" if fine else "does not hold")


def _first(found: Found, name: str) -> str:
    better = ratio(found, name, GEOMETRIC) < 1
    return NAMES[int(np.argmax(better))] if better.any() else "nowhere"


def _level(found: Found) -> Claim:
    change = {
        n: float(found[n].absolute[-1] / found[n].absolute[-4]) for n in (DYADIC_WHOLE, DYADIC)
    }
    flat = float(found[GEOMETRIC].absolute[-1] / found[GEOMETRIC].absolute[-4])
    told = "; ".join(f"{name} ×{x:.2f}" for name, x in change.items())
    ours = f"error at {NAMES[-1]} over that at {NAMES[-4]}: {told}; {GEOMETRIC} ×{flat:.2f}"
    verdict = "holds" if max(change.values()) < 1.5 else "does not hold"
    return Claim("4c", "beyond, the error hardly depends on the length", ours, verdict)


def _skewed(found: Found) -> Claim:
    ratios = ratio(found, DYADIC_FILTER, DYADIC_WHOLE)
    ours = f"{listed(ratios)} at {NAMES[0]}..{NAMES[-1]}; with consistency: "
    ours += listed(ratio(found, DYADIC_FILTER_CHECKED, DYADIC_WHOLE))
    verdict = holds_where(ratios < 1, NAMES, "ranges")
    return Claim("4d", "skewed data: a filter has a smaller error than every node", ours, verdict)


def _wavelets(found: Found) -> Claim:
    ratios = ratio(found, HAAR_WHOLE, DYADIC_WHOLE)
    ours = f"every node: {listed(ratios)}; summaries of the same size: "
    ours += listed(ratio(found, HAAR, DYADIC))
    paper = "wavelets are like dyadic ranges (here: error of Haar over that of dyadic)"
    fine = ratios.max() < 1
    return Claim(
        "4e", paper, ours, "holds, and Haar is better at every length" if fine else "holds"
    )


def figure_5() -> list[Claim]:
    """By how much consistency makes errors smaller."""
    return [
        _consistency(
            "5a", "sparse, skewed data: consistency makes errors 30 % to 60 % smaller", 0.01
        ),
        _consistency("5b", "more uniform data: about 10 % smaller", 0.1),
    ]


def _consistency(number: str, paper: str, density: float) -> Claim:
    found = experiments.trees(density, skewed=number == "5a")
    told, verdicts = [], []
    least = 0.25 if number == "5a" else 0.05
    for name, checked in CHECKED.items():
        gain = gains(found, checked, name)
        told.append(f"{name}: {', '.join(percent(float(g)) for g in gain)}")
        verdicts.append(f"{name}: {holds_where(gain >= least, NAMES, 'ranges')}")
    ours = f"smaller by, at {NAMES[0]}..{NAMES[-1]}: {'; '.join(told)}"
    return Claim(number, paper, ours, f"(at least {percent(least)}) {'; '.join(verdicts)}")
