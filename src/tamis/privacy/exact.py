"""Curves made into integers: the growth, the gift and the draw tables that decide a release.

The integers themselves are defined in `privacy.verify`, so that the checker and the library cannot
disagree about them. This module chooses their parameters so that the promise holds.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from tamis.privacy.curves import ApproximateCurve, GaussianCurve
from tamis.privacy.errors import InvalidInput
from tamis.privacy.verify import Scheme, Survival, U, exp_bounds

SHIFT = 64  # growth is known to 64 binary places: far below what could be noticed


def exactly(value: float) -> Fraction:
    """A number as it is printed: 0.1 is one tenth."""
    return Fraction(repr(value))


def growth(epsilon: float) -> int:
    """M with M / 2^64 <= exp(epsilon), as close as 64 places allow."""
    return exp_bounds(exactly(epsilon))[0] >> 256 - SHIFT


def survival(curve: ApproximateCurve, scheme: dict[str, Any], away: int = -1) -> Survival:
    """The integers of a curve under a scheme: the largest gift that rounding leaves safe.

    ``away`` >= 0 says that the sample is made elsewhere, with probabilities that may differ from
    the stated ones by that many words of 2^128; it is charged to the gift.
    """
    numerator, whole = growth(curve.epsilon), int(exactly(curve.delta) * U)
    exact, gift, spent = Scheme(scheme), whole, 0
    while gift + spent > whole or not spent:  # a smaller gift may need a little more slack
        gift = whole - spent
        if gift < whole // 2 and away > 0:
            raise InvalidInput(
                f"sampler_error is {away / U:.3g}: it would cost most of delta, which is "
                f"{curve.delta:.3g} for each key; give how far the sampler really was from its "
                "scheme, 0 if it was exact."
            )
        _check_places(curve, gift, numerator)
        law = Survival((numerator, SHIFT), gift, exact)
        spent = law.slack() + law.charge(away)
    return law


def _check_places(curve: ApproximateCurve, gift: int, numerator: int) -> None:
    if gift >> 70 <= numerator >> SHIFT:
        raise InvalidInput(
            f"delta per key is {curve.delta:.3g}: too small for probabilities of 128 binary "
            "places; take a larger delta or a smaller epsilon."
        )


def gaussian_table(curve: GaussianCurve) -> list[int]:
    """C[d] = Pr[D < d] 2^128 for the Gaussian curve; certified afterwards by composition."""
    table, level = [0], 0.0
    while level < 0.5:
        level = float(curve.power(level))
        table.append(int(Fraction(level) * U))
    rest = 1 - level
    while rest > 0:
        rest = float(curve.complement(rest))
        table.append(U - int(Fraction(rest) * U))
    return _log_concave(table)


def _log_concave(table: list[int]) -> list[int]:
    """Shave off rounding so that p_d^2 >= p_{d-1} p_{d+1} exactly; the shavings go to the mode."""
    law = [b - a for a, b in pairwise(table)]
    mode = law.index(max(law))
    right, left = _falling(law[mode:]), _falling(law[mode::-1])
    law = left[:0:-1] + right
    law[mode] += U - sum(law)
    return list(accumulate(law, initial=0))


def _falling(law: list[int]) -> list[int]:
    kept = law[:1]
    for p in law[1:]:
        most = kept[-1] ** 2 // kept[-2] if len(kept) > 1 else kept[-1]
        kept.append(min(p, most))
    return kept
