"""Tables of the README beside the claims: sizes of the Zipf data, and how low accuracy reaches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from papers.weighted.accuracy import pws, reached, sbh, threshold
from papers.weighted.claims import percent, span, times
from papers.weighted.data import Counts, zipf, zipf_from_top
from papers.weighted.methods import Sweep, over_delta, over_tau
from papers.weighted.settings import AT_LEAST, DELTA, EPSILON, EPSILONS

BIAS_TARGETS = (0.5, 0.25, 0.1, 0.05, 0.01)
BIAS_RATES = (1.0, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
NRMSE_TARGETS = (0.9, 0.5, 0.25, 0.1)
NRMSE_RATES = (1.0, 1e-2, 1e-3)
_SMALLEST_ONE = (10**3, 10**4, 10**5, 10**6)
_FROM_TOP = ((10**4, 10**4), (10**5, 10**5), (10**5, 10**3))


def sizes() -> list[str]:
    """The gains for other sizes of the Zipf data: of figure 2, and the least of figure 5."""
    head = [
        "| data | keys | largest | over δ (fair) | δ = 0.001 (fair) | least over τ (fair) |",
        "|---|---|---|---|---|---|",
    ]
    return head + [_size_row(counts) for alpha in AT_LEAST for counts in _sizes(alpha)]


def _sizes(alpha: float) -> list[Counts]:
    smallest_one = [zipf(alpha, n) for n in _SMALLEST_ONE]
    rounded = [zipf(alpha, rounding="to nearest"), zipf(alpha, rounding="up")]
    return smallest_one + rounded + [zipf_from_top(alpha, n, top) for n, top in _FROM_TOP]


def _size_row(counts: Counts) -> str:
    by_delta, by_tau = over_delta(counts, EPSILON), over_tau(counts, EPSILON, DELTA)
    plain = over_delta(counts, EPSILON, np.array([DELTA]))
    return (
        f"| {counts.name} | {counts.distinct:,} | {counts.largest:,} "
        f"| {span(by_delta.gain)} ({span(by_delta.fair_gain)}) "
        f"| {_least(plain)} | {_least(by_tau)} |"
    )


def _least(sweep: Sweep) -> str:
    return f"{percent(float(sweep.gain.min()))} ({percent(float(sweep.fair_gain.min()))})"


Reach = Callable[[float, float, float, bool], float | None]


def bias_reach(epsilon: float, tau: float, target: float, fair: bool = False) -> float | None:
    """How many times lower the frequency is from which |Bias_i| / i of PWS stays at the target."""
    upto = 5 * threshold(epsilon)
    theirs = reached(sbh(epsilon, tau, upto, fair).relative_bias, target)
    mine = reached(pws(epsilon, tau, upto).relative_bias, target)
    return theirs / mine if theirs and mine else None


def nrmse_reach(epsilon: float, tau: float, target: float, fair: bool = False) -> float | None:
    """The same for the NRMSE of one key, sqrt(MSE_i) / i."""
    upto = max(5 * threshold(epsilon), int(1.5 / tau))
    theirs = reached(sbh(epsilon, tau, upto, fair).nrmse, target)
    mine = reached(pws(epsilon, tau, upto).nrmse, target)
    return theirs / mine if theirs and mine else None


def bias() -> list[str]:
    """Ratios for the bias."""
    rows = [
        _reach_row(e, tau, [_both(bias_reach, e, tau, t) for t in BIAS_TARGETS])
        for e in EPSILONS
        for tau in BIAS_RATES
    ]
    return [*_reach_head("relative bias", BIAS_TARGETS), *rows]


def nrmse() -> list[str]:
    """Ratios for the NRMSE of one key."""
    rows = [
        _reach_row(e, tau, [_both(nrmse_reach, e, tau, t) for t in NRMSE_TARGETS])
        for e in EPSILONS
        for tau in NRMSE_RATES
    ]
    return [*_reach_head("NRMSE", NRMSE_TARGETS), *rows]


def _both(reach: Reach, epsilon: float, tau: float, target: float) -> str:
    found = [reach(epsilon, tau, target, fair) for fair in (False, True)]
    as_printed, fair = (times(r) if r else "not reached" for r in found)
    return f"{as_printed} ({fair})"


def _reach_row(epsilon: float, tau: float, cells: list[str]) -> str:
    rate = "no sampling" if tau == 1 else f"τ = {tau:g}"
    return f"| ε = {epsilon:g}, {rate} | {' | '.join(cells)} |"


def _reach_head(what: str, targets: tuple[float, ...]) -> list[str]:
    names = " | ".join(percent(t) for t in targets)
    return [f"| {what} at most | {names} |", "|---" * (len(targets) + 1) + "|"]
