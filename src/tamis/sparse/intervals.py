"""Intervals for sums of noisy numbers, whose tails are heavier than those of the normal law."""

from __future__ import annotations

from math import sqrt

from tamis.privacy.answer import Answer, quantile

_MOST = 6.0  # that of noise at rate 2; beyond it, noise is nearly always 0


def answer(
    estimate: float, variance: float, fourth: float, coverage: float = 0.95, said: str = ""
) -> Answer:
    """An estimate whose error has this variance and this fourth cumulant.

    The interval is that of the normal approximation with the next term of its expansion, z + (z^3 -
    3z) k / 24, k = fourth / variance^2, where that is wider. For the noise of one count the normal
    one has 93.7 % in place of 95 %; for a sum of many they are the same.

    Reference: Cornish, Fisher, "Moments and cumulants in the specification of distributions"
    (1938).
    """
    excess = min(fourth / variance**2, _MOST) if variance else 0.0
    z, error = quantile(coverage), sqrt(variance)
    margin = (z + max(0.0, z**3 - 3 * z) * excess / 24) * error
    return Answer(estimate, error, estimate - margin, estimate + margin, coverage, said)
