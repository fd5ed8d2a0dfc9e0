"""Claims about figures 1 to 3: flat summaries of synthetic tables, and how fast they are made."""

from __future__ import annotations

import numpy as np

from papers.sparse import experiments, speed
from papers.sparse.claims import Claim, holds_where, listed, power, ratio, span
from papers.sparse.data import Floats
from papers.sparse.experiments import PAPERS, Found
from papers.sparse.methods import FILTER, FILTER_PRIORITY, GEOMETRIC, PRIORITY
from papers.sparse.queries import Errors
from papers.sparse.settings import LENGTHS, MEAN, SIZES, SPEED_DENSITIES, THETAS, WIDE
from papers.weighted.claims import percent

NAMES = [power(float(n)) for n in LENGTHS]


def figure_1() -> list[Claim]:
    """Parameters, at ranges of 10^4 cells."""
    return [_two_sides(), _around_one(), _samples(), _same_samples(), _mixed(), _best_theta()]


def _of(name: str) -> tuple[Floats, Floats]:
    """Absolute and relative errors."""
    found: list[Errors] = list(experiments.one_length()[name].values())
    return np.array([e.absolute[0] for e in found]), np.array([e.relative[0] for e in found])


def _two_sides() -> Claim:
    two, one = _of("two-sided filter")[0], _of("one-sided filter")[0]
    ours = (
        f"error of two-sided over one-sided at θ = {THETAS[0]}..{THETAS[-1]}: {listed(two / one)}"
    )
    verdict = holds_where(two <= one, [str(t) for t in THETAS], "θ")
    return Claim(
        "1a", "two-sided filters are generally more accurate than one-sided", ours, verdict
    )


def _around_one() -> Claim:
    errors = _of("two-sided filter")[1]
    sizes = [e.size for e in experiments.one_length()["two-sided filter"].values()]
    most = np.array(sizes) >= 10**5
    paper = "relative error of the two-sided filter is around 1 % while most counts are in it"
    ours = f"{span(errors[most])} while it holds at least 10^5 cells; {span(errors[~most])} below"
    return Claim("1b", paper, ours, "holds" if errors[most].max() < 0.015 else "does not hold")


def _samples() -> Claim:
    errors = np.concatenate([_of(name)[1] for name in ("threshold", "priority")])
    upto = [n for n, e in zip(SIZES, _of("priority")[1], strict=True) if e <= 0.07]
    ours = f"{span(errors)} for sizes of {SIZES[0]:,} to {SIZES[-1]:,}"
    verdict = "holds" if errors.max() <= 0.075 else f"holds for sizes from {min(upto):,} on"
    return Claim(
        "1c", "relative errors of threshold and priority samples: 1 % to 7 %", ours, verdict
    )


def _same_samples() -> Claim:
    threshold, priority = _of("threshold")[0], _of("priority")[0]
    small = np.array(SIZES) <= 10**5
    ratios = (threshold / priority)[small]
    ours = f"error of threshold over priority for sizes up to 10^5: {listed(ratios)}"
    verdict = "holds" if np.abs(np.log(ratios)).max() < np.log(1.15) else "does not hold"
    return Claim("1d", "threshold and priority samples behave the same", ours, verdict)


def _mixed() -> Claim:
    errors = _of("filter-priority")[1]
    paper = "relative errors of filter-priority for θ = 5..70: 0.3 % to 6 %"
    verdict = "holds" if errors.max() <= 0.065 else "does not hold"
    return Claim("1e", paper, span(errors), verdict)


def _best_theta() -> Claim:
    best = THETAS[int(np.argmin(_of("filter-priority")[0]))]
    ours = f"the least error is at θ = {best} (of steps of 5)"
    verdict = "holds" if abs(best - MEAN / 2) <= 10 else "does not hold"
    return Claim("1f", "the best θ is about half of the mean count", ours, verdict)


def figure_2() -> list[Claim]:
    """Flat methods against the length of a range."""
    found, wide = experiments.flat(0.1), (experiments.flat(0.1, WIDE, k) for k in (1, 2))
    sparse = experiments.flat(0.01)
    return [
        _hundred(found),
        _which(found),
        _as_good(
            "2c", "density 10 %: filter-priority is comparable to the geometric mechanism", found
        ),
        _as_good("2d", "density 1 %: filter-priority is better than it at every length", sparse),
        _wide(*wide),
    ]


def _hundred(found: Found) -> Claim:
    shown = {name: float(e.relative[e.at(100)]) for name, e in found.items()}
    ours = "; ".join(f"{name} {percent(error)}" for name, error in shown.items())
    near = [name for name, error in shown.items() if error <= 0.065 and name != PRIORITY]
    verdict = f"holds in part: for {', '.join(near)}" if near else "does not hold"
    paper = "relative error around 5 % for 100 cells, apart from priority"
    return Claim("2a", paper, ours, "holds" if len(near) == len(shown) - 1 else verdict)


def _which(found: Found) -> Claim:
    ratios = ratio(found, FILTER, PRIORITY)
    ours = f"error of filter over priority at {NAMES[0]}..{NAMES[-1]}: {listed(ratios)}"
    fine = ratios[0] < 1 < ratios[-1]
    first = NAMES[int(np.argmax(ratios > 1))]
    paper = "filters are best for short ranges, priority samples for long ones"
    return Claim("2b", paper, ours, f"holds: from {first} on" if fine else "does not hold")


def _as_good(number: str, paper: str, found: Found) -> Claim:
    parts, good = [], {}
    for name in (PAPERS, FILTER_PRIORITY):
        ratios = ratio(found, name, GEOMETRIC)
        parts.append(f"{name}: {listed(ratios)}")
        good[name] = holds_where(ratios <= 1.05, NAMES, "ranges")
    size = found[FILTER_PRIORITY].size / found[GEOMETRIC].size
    ours = f"size {percent(size)} of the table; error over its error: {'; '.join(parts)}"
    verdict = good[PAPERS] if len(set(good.values())) == 1 else _each(good)
    return Claim(number, paper, ours, verdict)


def _each(verdicts: dict[str, str]) -> str:
    return "; ".join(f"{name}: {verdict}" for name, verdict in verdicts.items())


def _wide(once: Found, twice: Found) -> Claim:
    first, second = (ratio(found, FILTER_PRIORITY, GEOMETRIC) for found in (once, twice))
    ours = f"size of the cells held: {listed(first)}; twice that: {listed(second)}"
    verdict = holds_where(second <= 1.1, NAMES, "ranges")
    paper = f"spread {WIDE}: filter-priority is less accurate than it, and equal at twice the size"
    less = f"less accurate at {int(np.sum(first > 1))} of {len(first)} lengths"
    return Claim("2e", paper, ours, f"{less}; equal at twice the size: {verdict}")


def figure_3() -> list[Claim]:
    """How fast summaries are made."""
    flat, trees = speed.throughput(), speed.tree_throughput()
    return [_orders(flat), _fastest(flat), _densest(flat), _trees(trees)]


def _orders(found: dict[str, Floats]) -> Claim:
    names = (speed.FILTER, speed.THRESHOLD, speed.PRIORITY, speed.FILTER_PRIORITY)
    gain = {name: found[name] / found[GEOMETRIC] for name in names}
    told = "; ".join(f"{name} {', '.join(_rough(g) for g in gain[name])}" for name in names)
    ours = f"faster than the geometric mechanism at densities {_densities()}: {told}"
    least = min(float(g[0]) for g in gain.values())
    paper = "orders of magnitude faster than the geometric mechanism on sparse data"
    verdict = (
        f"holds: at least {_rough(least)} at 10^-4, less the denser"
        if least > 30
        else "does not hold"
    )
    return Claim("3a", paper, ours, verdict)


def _rough(x: float) -> str:
    """A ratio of times: two digits at most."""
    return f"×{x:.1g}" if x < 0.95 else f"×{x:.1f}" if x < 9.5 else f"×{float(f'{x:.1g}'):g}"


def _densities() -> str:
    return ", ".join(power(d) for d in SPEED_DENSITIES)


def _fastest(found: dict[str, Floats]) -> Claim:
    names = (speed.FILTER, speed.THRESHOLD, speed.PRIORITY, speed.FILTER_PRIORITY)
    at = len(SPEED_DENSITIES) // 2
    order = sorted(names, key=lambda name: -float(found[name][at]))
    ours = f"at density {power(SPEED_DENSITIES[at])}, fastest first: {', '.join(order)}"
    fine = set(order[:2]) == {speed.FILTER, speed.THRESHOLD}
    verdict = (
        "holds" if fine else "holds for the filter" if order[0] == speed.FILTER else "does not hold"
    )
    return Claim("3b", "filters and threshold samples are the fastest", ours, verdict)


def _densest(found: dict[str, Floats]) -> Claim:
    at = SPEED_DENSITIES.index(0.1)
    gain = float(found[speed.PRIORITY][at] / found[GEOMETRIC][at])
    verdict = "holds" if 0.5 < gain < 2 else "does not hold"
    paper = "at density 10 % a priority sample takes about as long as the geometric mechanism"
    return Claim("3c", paper, f"{_rough(gain)} as fast", verdict)


def _trees(found: dict[str, Floats]) -> Claim:
    gain = {n: found[n] / found[speed.TREE] for n in (speed.TREE_FILTER, speed.TREE_CHECKED)}
    told = "; ".join(f"{name} {', '.join(_rough(g) for g in gs)}" for name, gs in gain.items())
    sparse = gain[speed.TREE_FILTER][:4]
    verdict = "holds" if sparse.min() >= 1.5 else "does not hold"
    paper = "dyadic hierarchies: always faster than every node, about 2 to 4 times"
    more = ", and more where sparse"
    more += "; not at density 1" if gain[speed.TREE_FILTER][-1] < 1 else ""
    return Claim("3d", paper, f"at densities {_densities()}: {told}", verdict + more)
