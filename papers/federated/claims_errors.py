"""Claims about figures 2 to 4: errors of histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from papers.federated.claims import Bools, Claim, factor, listed, small, verdict, where
from papers.federated.data import Floats, Held, Words, binomial, hashed
from papers.federated.experiments import ALL, LARGEST, MISSED, SAMPLED, TOTAL, Sweep, sweep
from papers.federated.methods import AMPLIFIED, CENTRAL, DROPPED, LOCAL, OURS, SHUFFLED
from papers.federated.settings import DOMAINS, EPSILONS, EQUAL, SIMILAR
from papers.weighted.claims import percent

# Where each of some statements is true, by epsilon: of a sweep, in a setting and a measure.
Judge = Callable[[Sweep, str, str], dict[str, Bools]]

_OTHERS = (CENTRAL, LOCAL, SHUFFLED)
_SHOWN = (0.1, 0.3, 1.0, 4.0)
_SMALLEST, _ONE = (EPSILONS.index(epsilon) for epsilon in (0.1, 1.0))


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
    poster = f"{held.name}, {_size(held)}: similar or better error than central noise"
    found = sweep(held)
    ours = [factor(found.over(setting, CENTRAL)[_ONE]) for setting in (SAMPLED, ALL)]
    return _claim(number, poster, "ε = 1, over central noise", ours, found, _similar)


def _similar(found: Sweep, setting: str, measure: str) -> dict[str, Bools]:
    return {"similar or better": found.over(setting, CENTRAL, measure) <= SIMILAR}


def _medium(number: str, held: Held) -> Claim:
    poster = f"{held.name}, {_size(held)}: lags central noise, but improves over local and shuffle"
    found = sweep(held)
    ours = [listed(_over_others(found, setting)[:, _ONE]) for setting in (SAMPLED, ALL)]
    return _claim(number, poster, "ε = 1, over central, local, shuffle", ours, found, _between)


def _between(found: Sweep, setting: str, measure: str) -> dict[str, Bools]:
    central, local, shuffled = _over_others(found, setting, measure)
    return {
        "lags central noise": central > EQUAL,
        "better than local": local < 1 / EQUAL,
        "better than shuffle": shuffled < 1 / EQUAL,
    }


def _large(number: str, held: Held) -> Claim:
    poster = f"{held.name}, {_size(held)}, small ε: sample and threshold is preferred"
    found = sweep(held)
    ours = [factor(_over_others(found, s).max(axis=0)[_SMALLEST]) for s in (SAMPLED, ALL)]
    return _claim(number, poster, "ε = 0.1, over the best other", ours, found, _preferred)


def _preferred(found: Sweep, setting: str, measure: str) -> dict[str, Bools]:
    return {"as good as the best other": _over_others(found, setting, measure).max(axis=0) <= EQUAL}


def _over_others(found: Sweep, setting: str, measure: str = TOTAL) -> Floats:
    """Our error over that of each of the three others: a row of epsilons for each."""
    return np.array([found.over(setting, method, measure) for method in _OTHERS])


def _claim(
    number: str, poster: str, what: str, ours: Sequence[str], found: Sweep, judge: Judge
) -> Claim:
    """A claim that is judged in both settings, by the total error."""
    sampled, seen = (
        verdict(np.concatenate(list(judge(found, setting, TOTAL).values())))
        for setting in (SAMPLED, ALL)
    )
    both = sampled if sampled == seen else f"same reports: {sampled}; all clients: {seen}"
    figures = f"{what}: {ours[0]}; all clients: {ours[1]}"
    return Claim(number, poster, figures, both, _details(found, judge))


def _details(found: Sweep, judge: Judge) -> str:
    """By setting; the largest error is told where it is judged differently."""
    told = []
    for setting in (SAMPLED, ALL):
        total, largest = (
            ", ".join(f"{what} {where(good)}" for what, good in judged.items())
            for judged in (judge(found, setting, measure) for measure in (TOTAL, LARGEST))
        )
        more = "" if largest == total else f"; in the largest error {largest}"
        told.append(f"{setting.capitalize()}: {total}{more}.")
    return " ".join(told)


def _missed(number: str, tables: Sequence[Held]) -> Claim:
    shares = {_size(held): share_missed(sweep(held)) for held in tables}
    ours = ", ".join(percent(share[_ONE]) for share in shares.values())
    verdicts = ", ".join(verdict(share > 0.5) for share in shares.values())
    poster = f"{tables[-1].name}, {', '.join(shares)}: errors are due to missing small counts"
    details = " ".join(_shares(size, share) for size, share in shares.items())
    ours = f"of the error at ε = 1, in items not released: {ours}"
    details = f"Share of the total error in items that are not released. {details}"
    return Claim(number, poster, ours, verdicts, details)


def _shares(size: str, share: Floats) -> str:
    told = ", ".join(f"{percent(share[EPSILONS.index(e)])} at ε = {e:g}" for e in _SHOWN)
    return f"{size}: {told}; more than half {where(share > 0.5)}."


def share_missed(found: Sweep) -> Floats:
    """Of the total error of sample and threshold, the part of items that are not released."""
    return np.asarray(found.at(SAMPLED, OURS, MISSED) / found.at(SAMPLED, OURS))


def _size(held: Held) -> str:
    return f"D = 2^{held.domain.bit_length() - 1}"


def ratios(words: Words) -> list[str]:
    """A table: the total error over that of the others, in both settings and at every epsilon."""
    heads = " | ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    lines = [f"| data | clients seen | over | {heads} |", "|---" * (len(EPSILONS) + 3) + "|"]
    tables = [binomial(domain) for domain in DOMAINS] + [hashed(words, d) for d in DOMAINS]
    for held in tables:
        for setting in (SAMPLED, ALL):
            for method in _OTHERS:
                cells = " | ".join(map(factor, sweep(held).over(setting, method).tolist()))
                lines.append(f"| {held.name}, {_size(held)} | {setting} | {method} | {cells} |")
    return lines


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
