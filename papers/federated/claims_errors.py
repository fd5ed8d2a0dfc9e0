"""Claims about figures 2 to 4: errors of histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from papers.federated.claims import EPSILON_NAMES, Claim, listed, small, where
from papers.federated.data import Floats, Held, Words, binomial, hashed
from papers.federated.experiments import ALL, LARGEST, MISSED, SAMPLED, TOTAL, Sweep, sweep
from papers.federated.methods import AMPLIFIED, CENTRAL, DROPPED, LOCAL, OURS, SHUFFLED
from papers.federated.settings import DOMAINS, EPSILONS, EQUAL, SIMILAR
from papers.weighted.claims import percent

_AT = f"at ε = {EPSILON_NAMES[0]}..{EPSILON_NAMES[-1]}"
_SHOWN = (0.1, 0.3, 1.0, 4.0)


def figure_2() -> list[Claim]:
    """Binomial data."""
    small_domain, medium, large = (binomial(domain) for domain in DOMAINS)
    claims = _by_domain("2", small_domain, medium, large)
    return [*claims, _missed("2d", [large])]


def figure_3(words: Words) -> list[Claim]:
    """Words of Shakespeare."""
    return _by_domain("3", *(hashed(words, domain) for domain in DOMAINS))


def figure_4(words: Words) -> list[Claim]:
    """Where the errors on these words come from."""
    return [_missed("4a", [hashed(words, domain) for domain in DOMAINS])]


def _by_domain(figure: str, small_domain: Held, medium: Held, large: Held) -> list[Claim]:
    return [
        _small(f"{figure}a", small_domain),
        _medium(f"{figure}b", medium),
        _large(f"{figure}c", large),
    ]


def _small(number: str, held: Held) -> Claim:
    poster = f"{held.name}, D = 2^6: similar or better error than central noise"
    found = sweep(held)
    return Claim(number, poster, _ratios(found, [CENTRAL]), _verdicts(found, _similar))


def _similar(found: Sweep, setting: str, measure: str) -> str:
    return where(found.over(setting, CENTRAL, measure) <= SIMILAR)


def _medium(number: str, held: Held) -> Claim:
    poster = f"{held.name}, D = 2^10: lags central noise, but improves over local and shuffle"
    found = sweep(held)
    ours = _ratios(found, [CENTRAL, LOCAL, SHUFFLED])
    return Claim(number, poster, ours, _verdicts(found, _between))


def _between(found: Sweep, setting: str, measure: str) -> str:
    lags = where(found.over(setting, CENTRAL, measure) > EQUAL)
    local, shuffled = (
        where(found.over(setting, m, measure) < 1 / EQUAL) for m in (LOCAL, SHUFFLED)
    )
    return f"lags central noise: {lags}; better than local: {local}; than shuffle: {shuffled}"


def _large(number: str, held: Held) -> Claim:
    poster = f"{held.name}, D = 2^14, small ε: sample and threshold is preferred"
    found = sweep(held)
    ours = _ratios(found, [CENTRAL, LOCAL, SHUFFLED])
    return Claim(number, poster, ours, _verdicts(found, _preferred))


def _preferred(found: Sweep, setting: str, measure: str) -> str:
    others = [found.over(setting, method, measure) for method in (CENTRAL, LOCAL, SHUFFLED)]
    return where(np.max(others, axis=0) <= EQUAL)


def _ratios(found: Sweep, methods: Sequence[str]) -> str:
    """Total errors over those of other methods, in both settings."""
    told = [
        f"{setting}: " + "; ".join(f"{m} {listed(found.over(setting, m))}" for m in methods)
        for setting in (SAMPLED, ALL)
    ]
    return f"total error {_AT} over that of: {' <br> '.join(told)}"


def _verdicts(found: Sweep, judge: Callable[[Sweep, str, str], str]) -> str:
    """By setting; the largest error is told where it is judged differently."""
    told = []
    for setting in (SAMPLED, ALL):
        total, largest = (judge(found, setting, measure) for measure in (TOTAL, LARGEST))
        more = "" if largest == total else f" (largest error: {largest})"
        told.append(f"**{setting}**: {total}{more}")
    return " <br> ".join(told)


def _missed(number: str, tables: Sequence[Held]) -> Claim:
    shares = {_size(held): share_missed(sweep(held)) for held in tables}
    ours = "; ".join(f"{name}: {', '.join(map(percent, s))}" for name, s in shares.items())
    verdicts = [f"{name}: {where(share > 0.5)}" for name, share in shares.items()]
    poster = f"{tables[-1].name}: errors are due to missing small counts"
    ours = f"share of the total error in items not released, {_AT}: {ours}"
    return Claim(number, poster, ours, "(more than half) " + "; ".join(verdicts))


def share_missed(found: Sweep) -> Floats:
    """Of the total error of sample and threshold, the part of items that are not released."""
    return np.asarray(found.at(SAMPLED, OURS, MISSED) / found.at(SAMPLED, OURS))


def _size(held: Held) -> str:
    return f"D = 2^{held.domain.bit_length() - 1}"


def fair(words: Words) -> list[str]:
    """A table: total errors at the largest domain, with two things that central noise can do."""
    heads = " | ".join(f"ε = {epsilon:g}" for epsilon in _SHOWN)
    lines = [f"| data | clients seen | method | {heads} |", "|---" * (len(_SHOWN) + 3) + "|"]
    shown = [EPSILONS.index(epsilon) for epsilon in _SHOWN]
    rows = [(SAMPLED, m) for m in (OURS, CENTRAL, AMPLIFIED, DROPPED)]
    rows += [(ALL, m) for m in (CENTRAL, DROPPED)]
    for held in (binomial(DOMAINS[-1]), hashed(words, DOMAINS[-1])):
        found = sweep(held)
        for setting, method in rows:
            cells = [small(float(e)) for e in found.at(setting, method)[shown]]
            lines.append(f"| {held.name} | {setting} | {method} | {' | '.join(cells)} |")
    return lines
