"""Claims about figures 6 and 7: real tables. And about figure 8: how to choose theta."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from papers.sparse import experiments, theta
from papers.sparse.claims import Claim, gains, holds_where, listed, ratio
from papers.sparse.claims_ranges import CHECKED
from papers.sparse.data import Data, Floats, synthetic
from papers.sparse.experiments import Found
from papers.sparse.methods import (
    DYADIC,
    DYADIC_FILTER,
    DYADIC_WHOLE,
    FILTER,
    FILTER_PRIORITY,
    GEOMETRIC,
    HAAR,
    PRIORITY,
)
from papers.sparse.settings import EPSILON, EPSILONS, NOISE_SHARES, SHARES, SMALL_MEAN, SUBSETS
from papers.weighted.claims import percent, times

SHARE_NAMES = [percent(s) if s >= 1e-3 else f"{100 * s:g} %" for s in SHARES]
_FIRST_LAST = f"{SHARE_NAMES[0]}..{SHARE_NAMES[-1]}"


def flat_found(data: Data, eps: int) -> Found:
    """Boxes in two dimensions, subsets in more."""
    ask = experiments.boxes if len(data.table.radices) == 2 else experiments.subsets
    return ask(data, EPSILONS[eps])


def figure_6(rhode_island: Data, counties: Data, adult: Data) -> list[Claim]:
    """Flat summaries of real tables."""
    tables = (rhode_island, counties, adult)
    return [
        _filters(rhode_island, counties),
        _fifth(counties),
        _small_errors(rhode_island, counties),
        *(_as_good(f"6{letter}", data) for letter, data in zip("def", tables, strict=True)),
    ]


def _filters(*tables: Data) -> Claim:
    told, worst = [], []
    for data in tables:
        ratios = ratio(flat_found(data, 0), FILTER, GEOMETRIC)
        told.append(f"{data.name}: {listed(ratios)}")
        worst.append(float(ratios[-1]))
    ours = f"error over that of the geometric mechanism, ε = 0.1, boxes of {_FIRST_LAST}: "
    paper = "filters alone are inaccurate on commuting data, whose counts vary very much"
    verdict = "holds for large boxes, not for small ones" if min(worst) > 2 else "does not hold"
    return Claim("6a", paper, ours + "; ".join(told), verdict)


def _fifth(data: Data) -> Claim:
    found = experiments.large_summaries(data)
    told, verdicts = [], []
    for name in (PRIORITY, FILTER_PRIORITY):
        ratios = ratio(found, name, GEOMETRIC)
        told.append(f"{name}: {listed(ratios)}")
        close = holds_where(ratios[:-1] <= 1.5, SHARE_NAMES[:-1], "shares")
        large = "holds" if ratios[-1] <= 1 else "does not hold"
        verdicts.append(f"{name}: not much worse (at most ×1.5): {close}; better at 20 %: {large}")
    ours = f"{data.name}, error over its error, random subsets of {_FIRST_LAST}: {'; '.join(told)}"
    paper = (
        "commuting data, a fifth of the size: not much worse than the geometric mechanism, "
        "better for queries of 20 % and more"
    )
    return Claim("6b", paper, ours, "; ".join(verdicts))


def _small_errors(*tables: Data) -> Claim:
    told, fine = [], []
    for data in tables:
        for name, errors in flat_found(data, 0).items():
            if name in (GEOMETRIC, PRIORITY, FILTER_PRIORITY):
                large = float(np.max(errors.relative[-2:]))
                told.append(f"{data.name}, {name} {percent(large)}")
                fine.append(large < 0.008)
    paper = "commuting data: relative errors below 0.8 % for queries of 5 % and more"
    verdict = "holds" if all(fine) else f"holds for {sum(fine)} of {len(fine)}"
    return Claim("6c", paper, "; ".join(told), verdict)


def _as_good(number: str, data: Data) -> Claim:
    told, verdicts = [], []
    for n, epsilon in enumerate(EPSILONS):
        found = flat_found(data, n)
        ratios = ratio(found, FILTER_PRIORITY, GEOMETRIC)
        size = found[FILTER_PRIORITY].size / found[GEOMETRIC].size
        told.append(f"ε = {float(epsilon):g}, size {percent(size)}: {listed(ratios)}")
        verdicts.append(
            f"ε = {float(epsilon):g}: {holds_where(ratios <= 1.05, SHARE_NAMES, 'shares')}"
        )
    paper = f"filter-priority is at least as accurate as the full noisy table ({data.name})"
    ours = f"error over its error at {_FIRST_LAST}: {'; '.join(told)}"
    return Claim(number, paper, ours, "; ".join(verdicts))


def figure_7(rhode_island: Data, counties: Data, adult: Data) -> list[Claim]:
    """Ranges of cell numbers in real tables."""
    return [
        _benefit(rhode_island, counties, adult),
        _filtered(rhode_island, adult),
        _checked(rhode_island, counties, adult),
    ]


def _benefit(*tables: Data) -> Claim:
    told, fine = [], []
    for data in tables:
        found = experiments.lines(data, EPSILON)
        first = {n: _first(ratio(found, n, GEOMETRIC) < 1) for n in (DYADIC_FILTER, DYADIC, HAAR)}
        told.append(f"{data.name}: " + ", ".join(f"{n} from {at}" for n, at in first.items()))
        fine.append(bool(ratio(found, DYADIC, GEOMETRIC)[SHARES.index(1e-2)] < 1))
    paper = "commuting data as one row: dyadic ranges pay from about 1 % of the cells on"
    return Claim("7a", paper, "; ".join(told), "holds" if all(fine) else "does not hold")


def _first(better: npt.NDArray[np.bool_]) -> str:
    return SHARE_NAMES[int(np.argmax(better))] if np.any(better) else "nowhere"


def _filtered(*tables: Data) -> Claim:
    told, verdicts = [], []
    for data in tables:
        ratios = ratio(experiments.lines(data, EPSILON), DYADIC_FILTER, DYADIC_WHOLE)
        told.append(f"{data.name}: {listed(ratios)}")
        verdicts.append(f"{data.name}: {holds_where(ratios <= 1, SHARE_NAMES, 'shares')}")
    ours = f"error over that of every node at {_FIRST_LAST}: {'; '.join(told)}"
    return Claim("7b", "a filter makes dyadic ranges more accurate", ours, "; ".join(verdicts))


def _checked(*tables: Data) -> Claim:
    told, all_gains = [], []
    for data in tables:
        for name, checked in CHECKED.items():
            gain = gains(experiments.lines(data, EPSILON), checked, name)
            told.append(f"{data.name}, {name}: {', '.join(percent(float(g)) for g in gain)}")
            all_gains.append(gain)
    enough = np.array(all_gains) >= 0.08
    ours = f"smaller by, at {_FIRST_LAST}: {'; '.join(told)}"
    verdict = f"at least 8 % in {enough.sum()} of {enough.size}"
    if np.min(all_gains) < 0:
        verdict += f"; larger in {int(np.sum(np.array(all_gains) < 0))}"
    return Claim("7c", "commuting data: consistency makes errors about 10 % smaller", ours, verdict)


def sweeps(rhode_island: Data, counties: Data, adult: Data) -> list[theta.Sweep]:
    """Of figure 8: summaries that hold as many cells as are not empty."""
    made = [synthetic(0.1), synthetic(0.01), synthetic(0.1, SMALL_MEAN / 2, mean=SMALL_MEAN)]
    tables = [*made, rhode_island, counties, adult]
    return [theta.sweep(data, epsilon, data.held) for data in tables for epsilon in EPSILONS]


def figure_8(rhode_island: Data, counties: Data, adult: Data) -> list[Claim]:
    """How the best theta depends on the subset."""
    best = []
    for sweep in sweeps(rhode_island, counties, adult):
        best.append([float(sweep.multiples[int(np.argmin(e))]) for e in sweep.rmse.T])
    ours = "; ".join(
        f"subsets of {100 * s:g} %: {np.median(m):.2g} times θ₁ (median)"
        for s, m in zip(SUBSETS, np.array(best).T, strict=True)
    )
    falling = np.array(best)
    share = float(np.mean(falling[:, 0] >= falling[:, -1]))
    verdict = f"holds in {percent(share)} of the tables"
    return [Claim("8a", "larger queries want a smaller θ", ours, verdict)]


def shares(rhode_island: Data, counties: Data, adult: Data) -> list[str]:
    """A table: for each share c, how much is lost against the best theta, and against the table."""
    found = sweeps(rhode_island, counties, adult)
    regret = np.array([s.regret for s in found])
    whole = np.array([s.rmse[1:] / s.whole for s in found])
    heads = [f"{100 * s:g} % of the cells" for s in SUBSETS]
    lines = [
        f"| c | {' | '.join(heads)} | all | largest loss | no worse than the full table |",
        "|---" * (len(heads) + 4) + "|",
    ]
    for k, c in enumerate(NOISE_SHARES):
        means = [times(_mean(regret[:, k, j])) for j in range(len(SUBSETS))]
        cells = [*means, times(_mean(regret[:, k])), times(float(regret[:, k].max()))]
        cells.append(percent(float(np.mean(whole[:, k] <= 1))))
        lines.append(f"| {_fraction(c)} | {' | '.join(cells)} |")
    return lines


def _mean(ratios: Floats) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(ratios).mean()))


def _fraction(c: float) -> str:
    return f"{c:g}" if c >= 1 else f"1/{round(1 / c)}"
