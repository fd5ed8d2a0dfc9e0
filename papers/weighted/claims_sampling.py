"""Claims about figures 4 to 7: reporting with ppswor sampling."""

from __future__ import annotations

import numpy as np

from papers.weighted.claims import Claim, from_where, lowest, percent, short, span, times
from papers.weighted.data import Counts, Floats, Ints, zipf
from papers.weighted.methods import Sweep, over_delta, over_tau
from papers.weighted.settings import AT_LEAST, DELTA, EPSILON, FINE_DELTA, SAMPLES
from tamis.sampling.schemes import Ppswor
from tamis.weighted.baselines import SampledStabilityHistogram
from tamis.weighted.keys import ppswor_reporting

_NEAR = 0.99  # "matches the sampling probability" means at least this share of it


def figure_4() -> list[Claim]:
    """Where each method matches the sampling probability, and how far SbH is below PWS."""
    return [_matches(), _magnitudes()]


def matching(epsilon: float, tau: float) -> tuple[int, int, int]:
    """Lowest frequencies from which PWS, SbH and fair SbH report with 0.99 q_i or more."""
    i, q = _probabilities(epsilon, tau)
    curves = (ppswor_reporting(epsilon, FINE_DELTA, tau, i), *_baselines(epsilon, tau, i))
    pws, sbh, fair = (int(np.flatnonzero(c < _NEAR * q)[-1]) + 2 for c in curves)
    return pws, sbh, fair


def _probabilities(epsilon: float, tau: float) -> tuple[Ints, Floats]:
    top = SampledStabilityHistogram(epsilon, FINE_DELTA, tau).threshold
    i = np.arange(1, int(4 * top))
    return i, Ppswor(tau).probability(i)


def _baselines(epsilon: float, tau: float, i: Ints) -> tuple[Floats, Floats]:
    return (
        SampledStabilityHistogram(epsilon, FINE_DELTA, tau).reporting(i),
        SampledStabilityHistogram(epsilon, FINE_DELTA, tau, fair=True).reporting(i),
    )


def _matches() -> Claim:
    found = {setting: matching(*setting) for setting in SAMPLES}
    ours = "; ".join(f"{_name(s)}: i = {p} against {b}" for s, (p, b, _) in found.items())
    fair = "; ".join(f"{_name(s)}: {f}" for s, (_, _, f) in found.items())
    earlier = all(p < b for p, b, _ in found.values())
    paper = "PWS reaches q_i (here: 99 % of it) at a lower frequency than sampled SbH"
    return Claim("4a", paper, ours, fair, "holds" if earlier else "does not hold")


def _magnitudes() -> Claim:
    most: dict[tuple[float, float], list[float]] = {}
    for epsilon, tau in SAMPLES:
        i, _ = _probabilities(epsilon, tau)
        pws = ppswor_reporting(epsilon, FINE_DELTA, tau, i)
        most[epsilon, tau] = [float((pws / b).max()) for b in _baselines(epsilon, tau, i)]
    ours = "largest π_i/φ_i: " + "; ".join(f"{_name(s)}: {times(m[0])}" for s, m in most.items())
    fair = "; ".join(f"{_name(s)}: {times(m[1])}" for s, m in most.items())
    large = all(m[0] >= 10 for m in most.values())
    verdict = "holds" if large else "does not hold"
    paper = "orders of magnitude higher reporting probability at low frequencies"
    return Claim("4b", paper, ours, fair, verdict)


def _name(setting: tuple[float, float]) -> str:
    return f"ε = {setting[0]:g}, τ = {setting[1]:g}"


def figure_5() -> list[Claim]:
    """The least gain for each alpha, and the end at which sampling is all the privacy needed."""
    stated = zip(("5a", "5b", "5c"), AT_LEAST.items(), strict=True)
    least = [_at_least(number, alpha, gain) for number, (alpha, gain) in stated]
    return [*least, _low_rates("5d", {f"Zipf[{a:g}]": zipf(a) for a in AT_LEAST})]


def unsampled_gain(alpha: float) -> tuple[float, float]:
    """Gain at (0.1, 0.001) when nothing is sampled away: over SbH as printed, and fair."""
    sweep = over_delta(zipf(alpha), EPSILON, np.array([DELTA]))
    return float(sweep.gain[0]), float(sweep.fair_gain[0])


def _at_least(number: str, alpha: float, stated: float) -> Claim:
    sweep = over_tau(zipf(alpha), EPSILON, DELTA)
    plain, plain_fair = unsampled_gain(alpha)
    ours, fair = (
        f"{percent(each)} without sampling; lowest {lowest(gain, sweep.at, 'τ')}"
        for each, gain in ((plain, sweep.gain), (plain_fair, sweep.fair_gain))
    )
    paper = f"at least {percent(stated)} more keys over the τ sweep, Zipf[{alpha:g}], (0.1, 0.001)"
    return Claim(number, paper, ours, fair, _verdict_at_least(sweep, plain, stated))


def _verdict_at_least(sweep: Sweep, plain: float, stated: float) -> str:
    least = float(sweep.gain.min())
    start = from_where(sweep.gain, sweep.at, stated)
    if least >= stated:
        return "holds"
    if plain < stated or start is None:
        return "does not hold"
    return f"does not hold below τ = {short(start)} ({percent(least)}); holds from there on"


def _low_rates(number: str, data: dict[str, Counts]) -> Claim:
    at = np.array([DELTA, 10 * DELTA, 100 * DELTA])
    sweeps = {name: over_tau(counts, EPSILON, DELTA, at) for name, counts in data.items()}
    ours = "; ".join(
        f"{name}: PWS {_series(s.pws / s.non_private)}, SbH {_series(s.sbh / s.non_private)}"
        for name, s in sweeps.items()
    )
    fair = "; ".join(f"{name}: {_series(s.fair / s.non_private)}" for name, s in sweeps.items())
    meets = all(s.pws[0] >= (1 - 1e-9) * s.non_private[0] for s in sweeps.values())
    paper = (
        "PWS approaches the non-private sample as τ approaches δ; share of it at τ = δ, 10δ, 100δ"
    )
    return Claim(number, paper, ours, fair, "holds" if meets else "does not hold")


def _series(shares: Floats) -> str:
    return ", ".join(percent(float(s)) for s in shares)


def figure_6(words: Counts) -> list[Claim]:
    """The headline words at low sampling rates."""
    return [_low_rates("6a", {"ABC": words})]


def figure_7(words: Counts) -> list[Claim]:
    """The gain on the headline words at every sampling rate."""
    sweep = over_tau(words, EPSILON, DELTA)
    kept = float(sweep.gain.min()) > 0.5 * float(sweep.gain[-1])
    paper = "on ABC too the gain persists at low sampling rates (τ = 1e-3 to 10)"
    verdict = "holds" if kept else "does not hold"
    return [Claim("7a", paper, span(sweep.gain), span(sweep.fair_gain), verdict)]
