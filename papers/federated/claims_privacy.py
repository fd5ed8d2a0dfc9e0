"""Claims about figure 1: what sample and threshold promises, and how it was counted."""

from __future__ import annotations

import math

import numpy as np

from papers.federated import methods, privacy
from papers.federated.claims import Claim, small
from papers.federated.data import binomial
from papers.federated.settings import EPSILONS, POSTER_DELTA, POSTER_P, POSTER_TAU
from papers.sparse.draws import repeatable
from papers.weighted.claims import percent

_MULTIPLES = (1.0, 1.5, 2.0, 3.0, 4.0)
_DOMAIN = 2**10


def figure_1() -> list[Claim]:
    """The guarantee, the anonymity and the accuracy that are stated."""
    return [_example(), _exponent(), _anonymity(), _missing(), _relative()]


def _example() -> Claim:
    delta = privacy.exact(POSTER_TAU)
    ours = f"exact δ = {delta:.3g}, {POSTER_DELTA / delta:.0f} times smaller"
    verdict = "holds, and is very loose" if delta <= POSTER_DELTA else "does not hold"
    poster = f"p = {POSTER_P:g}, τ = {POSTER_TAU}: (ε = 1, δ = {POSTER_DELTA:g})"
    return Claim("1a", poster, ours, verdict)


def _exponent() -> Claim:
    taus = (5, 10, 20, 30)
    log, deltas = math.log(1 / privacy.alpha()), [privacy.exact(tau) for tau in taus]
    rates = [-math.log(delta) / tau for delta, tau in zip(deltas, taus, strict=True)]
    ours = f"-ln(δ)/τ = {rates[-1]:.2f} at τ = {taus[-1]}, and ln(1/α) = {log:.2f}"
    verdict = "holds" if min(rates) > log / 2 else "does not hold"
    told = (f"{rate:.2f} at τ = {tau}" for rate, tau in zip(rates, taus, strict=True))
    details = f"For p = {POSTER_P:g} and ε = 1, -ln(δ)/τ is {', '.join(told)}."
    return Claim("1b", "δ = exp(-τ O(ln(1/α)))", ours, verdict, details)


def _anonymity() -> Claim:
    held, over = binomial(_DOMAIN), []
    for epsilon in EPSILONS:
        made = methods.ours(epsilon)
        with repeatable(1):
            estimates = np.asarray(made.release(held.items).to_arrow()["estimate"])
        over.append(round(estimates.min() * made.p) - made.tau)
    ours = f"smallest count released less τ: {min(over)}"
    verdict = "holds, if every client is counted once" if min(over) >= 0 else "does not hold"
    named = ", ".join(map(str, over))
    details = f"Binomial data, D = 2^10: by ε, the smallest count released is above τ by {named}."
    return Claim("1c", "the output is k-anonymous for k = τ", ours, verdict, details)


def _missing() -> Claim:
    made = methods.ours(1.0)
    counts = np.rint(np.array(_MULTIPLES) * made.needed)
    missed = made.missed(counts)
    steps = np.diff(np.log(missed)) / np.diff(counts)
    told = [
        f"{small(float(m))} at {times:g} τ/p" for m, times in zip(missed, _MULTIPLES, strict=True)
    ]
    ours = f"missed with probability {told[0]}, {told[-1]}"
    details = (
        f"At (1, 10⁻⁶), p = {made.p:.3f} and τ = {made.tau}, so that τ/p = {made.needed:.0f}"
        f" clients. The probability to be missed is {', '.join(told)}."
    )
    verdict = "holds" if np.all(np.diff(steps) < 0) else "does not hold"
    poster = "the probability of not reporting falls exponentially with the frequency above τ"
    return Claim("1d", poster, ours, verdict, details)


def _relative() -> Claim:
    held, made = binomial(_DOMAIN), methods.ours(1.0)
    with repeatable(2):
        table = made.release(held.items).to_arrow()
    true = held.truth[np.asarray(table["item"])]
    off = np.abs(np.asarray(table["estimate"]) / true - 1)
    bands = {"200 to 500": (200, 500), "500 to 2,000": (500, 2000), "2,000 and more": (2000, 10**6)}
    means = [float(off[(true >= low) & (true < high)].mean()) for low, high in bands.values()]
    told = [f"{percent(m)} for {name} clients" for name, m in zip(bands, means, strict=True)]
    ours = f"mean relative error {told[-1]}"
    details = f"Binomial data, D = 2^10, ε = 1: the mean relative error is {', '.join(told)}."
    verdict = "holds" if means == sorted(means, reverse=True) and means[-1] < 0.05 else "in part"
    poster = "items are reported with relative error when their frequency is high enough"
    return Claim("1e", poster, ours, verdict, details)


def rates() -> list[str]:
    """A table: what is chosen for each epsilon."""
    made = [methods.ours(epsilon) for epsilon in EPSILONS]
    rows = {
        "ε": [f"{epsilon:g}" for epsilon in EPSILONS],
        "p": [f"{one.p:.3f}" for one in made],
        "τ": [f"{one.tau}" for one in made],
        "τ/p": [f"{one.needed:.0f}" for one in made],
    }
    head, *others = (f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())
    return [head, "|---" * (len(made) + 1) + "|", *others]
