"""From the guarantee of a unit to a curve per key.

A unit touches k = ``keys_per_unit`` keys and adds up to m = ``elements_per_key`` to each. Two
families of curves are calibrated so that k keys together meet the guarantee, and the one that names
keys at the lowest frequency is taken:

* (epsilon0, delta0), composed optimally (Kairouz, Oh, Viswanath 2017, theorem 3.3);
* approximate Gaussian (mu, delta0), composed as mu sqrt(k) (Dong, Roth, Su 2022, corollary 3.3).

Calibration is in floating point; what it proposes is accepted only when the exact checker confirms
it, and is otherwise tightened a little and proposed again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
import scipy  # its optimize is slow to load, and many a release is made without it
from scipy.special import gammaln, ndtr, ndtri

from tamis.privacy import verify
from tamis.privacy.curves import (
    ApproximateCurve,
    Curve,
    GaussianCurve,
    gaussian_mu,
    half_frequency,
)
from tamis.privacy.errors import InvalidInput
from tamis.privacy.exact import exactly, gaussian_table
from tamis.privacy.guarantee import Guarantee

AnyCurve_co = TypeVar("AnyCurve_co", bound=Curve, covariant=True)

_TIGHTER = 1e-10  # left on delta0 so that rounding in the calibration cannot overspend
_SHRINK = (0.999, 0.997, 0.99, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5)
_LARGEST_ROW = 500_000
_LARGEST_TABLE = 100_000
_LEAST_DELTA = 2.0**-112  # for each element of a key, so that no value of a draw has no words
_LEAST_EPSILON = 2e-5  # so that the growth exceeds 1 + 2^-16
OPTIMAL_KEYS = 1000  # the most that are composed optimally
MANY_KEYS = 10_000  # the most that are composed on a grid
_HEAD_STARTS = (1, 2, 3, 5)
_AHEAD_KEYS = 100  # the most for which a head start is looked for: it names ever fewer keys more
_FAR = 2.0  # standard deviations of a head start, beyond which the gift hardly counts any more
_STEPS = 12  # grid steps per mu: joining the curve by straight lines then costs 0.1 % of mu


@dataclass(frozen=True)
class Composition(Generic[AnyCurve_co]):
    """A curve per key, and how the checker adds up ``keys_per_unit`` of them."""

    curve: AnyCurve_co
    accounting: dict[str, Any] = field(hash=False)

    @property
    def half(self) -> int:
        """The lowest frequency that is reported with probability one half or more."""
        return half_frequency(self.curve)


@lru_cache(maxsize=256)
def choose(guarantee: Guarantee, sampled: bool = False) -> Composition[Curve]:
    """The curve that reports keys at the lowest frequency.

    With a sampling scheme or fine tokens (``sampled``) only (epsilon0, delta0) curves are
    available: their optimality proof covers any scheme, while the Gaussian draw is for keys that
    are all looked at. With more than 1000 keys per unit there is only the Gaussian.
    """
    _check_keys(guarantee.keys_per_unit, sampled)
    _check_delta(guarantee)
    if guarantee.keys_per_unit > OPTIMAL_KEYS:
        return _only_gaussian(guarantee)
    plain = approximate(guarantee)
    _check_size(plain.curve)
    if sampled or guarantee.keys_per_unit == 1:
        return plain
    return approximate_gaussian(guarantee, plain.half) or plain


def _check_keys(keys: int, sampled: bool) -> None:
    if keys > (OPTIMAL_KEYS if sampled else MANY_KEYS):
        raise InvalidInput(
            f"keys_per_unit is {keys:,}; at most {MANY_KEYS:,} can be composed, and at most "
            f"{OPTIMAL_KEYS:,} with a sampling scheme or fine tokens: take a smaller bound, and "
            "keep so many keys of each unit."
        )


def _check_delta(guarantee: Guarantee) -> None:
    if guarantee.delta < _LEAST_DELTA * guarantee.keys_per_unit * guarantee.elements_per_key:
        raise InvalidInput(
            f"delta is {guarantee.delta:.3g}: too small for probabilities of 128 binary places; "
            "take a larger delta or smaller bounds on what a unit contributes."
        )


def _check_size(curve: ApproximateCurve) -> None:
    """A row has about 2 ln(1/delta) / epsilon tokens: refuse what would not fit into memory."""
    if curve.epsilon < max(_LEAST_EPSILON, math.log(1 / curve.delta) / _LARGEST_ROW):
        raise _too_small(f"{curve.epsilon:.3g} for each element of a key")


def _too_small(epsilon: str) -> InvalidInput:
    return InvalidInput(
        f"epsilon is {epsilon}: too small, since only keys of very high frequencies could be "
        "named; take a larger epsilon or smaller bounds on what a unit contributes."
    )


def _only_gaussian(guarantee: Guarantee) -> Composition[GaussianCurve]:
    """For more keys than are composed optimally: nothing to fall back on."""
    epsilon, k, m = guarantee.epsilon, guarantee.keys_per_unit, guarantee.elements_per_key
    if _table_length(guarantee) > _LARGEST_TABLE:
        raise _too_small(f"{epsilon:.3g} for {k:,} keys and elements_per_key = {m:,}")
    if (gaussian := approximate_gaussian(guarantee)) is None:
        raise InvalidInput(
            f"keys_per_unit is {k:,}, which cannot be composed with epsilon = {epsilon:.3g} and "
            f"delta = {guarantee.delta:.3g}: take at most {OPTIMAL_KEYS:,}, and keep so many keys "
            "of each unit."
        )
    return gaussian


def approximate(guarantee: Guarantee) -> Composition[ApproximateCurve]:
    """(epsilon0, delta0) per key and element.

    The keys compose optimally as (epsilon_m, delta_m) steps, and m elements make such a step:
    epsilon_m = m epsilon0, delta_m = delta0 (e^epsilon_m - 1) / (e^epsilon0 - 1), which is exact
    for the draw, since h applied m times has slope e^epsilon_m and value delta_m at 0.
    """
    k, m = guarantee.keys_per_unit, guarantee.elements_per_key
    step, given = guarantee.epsilon, guarantee.delta
    if k > 1:
        step, given = _best_step(step, given, k)
    epsilon0, delta0 = step, given
    if m > 1:
        epsilon0 = step / m * (1 - 1e-15)
        delta0 = given * math.expm1(epsilon0) / math.expm1(step) * (1 - _TIGHTER)
    accounting = {
        "name": "optimal",
        "key": {"epsilon": repr(step), "delta": repr(given)},
        "element": {"epsilon": repr(epsilon0), "delta": repr(delta0)},
    }
    return Composition(ApproximateCurve(epsilon0, delta0), accounting)


def _best_step(epsilon: float, delta: float, k: int) -> tuple[float, float]:
    """The (epsilon0, delta0) whose k-fold composition fits and that reaches one half first."""

    def given(step: float) -> float:
        rest = (math.log1p(-delta) - math.log1p(-_excess(step, epsilon, k))) / k
        return -math.expm1(rest)

    def half(step: float) -> float:
        d = given(step)
        return math.log1p(0.5 * math.expm1(step) / d) / step if d > 0 else math.inf

    low = epsilon / k
    high = (
        scipy.optimize.brentq(lambda s: _excess(s, epsilon, k) - delta / 2, low, epsilon)
        if (_excess(epsilon, epsilon, k) > delta / 2)
        else epsilon
    )
    grid = np.geomspace(low, high, 60)
    best = int(np.argmin([half(s) for s in grid]))
    around = (grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)])
    step = float(grid[best])
    if around[0] < around[1]:
        found = scipy.optimize.minimize_scalar(
            half, bounds=around, method="bounded", options={"xatol": 1e-12}
        ).x
        step = min((float(found), step), key=half)
    delta0 = given(step) * (1 - _TIGHTER)
    if delta0 <= 0:
        raise InvalidInput(
            f"delta is {delta:.3g}: too small to be divided among {k:,} keys in floating point; "
            "take a larger delta or fewer keys."
        )
    while verify.optimal_composition(exactly(step), exactly(delta0), k, exactly(epsilon)) > exactly(
        delta
    ):
        step, delta0 = step * (1 - 1e-13), delta0 * (1 - _TIGHTER)
    return step, delta0


def _excess(step: float, epsilon: float, k: int) -> float:
    """delta at ``epsilon`` of k pure ``step`` randomised responses."""
    n = np.arange(k // 2 + 1)
    gain = (k - 2 * n) * step - epsilon
    n, gain = n[gain > 0], gain[gain > 0]
    log_ways = gammaln(k + 1) - gammaln(n + 1) - gammaln(k - n + 1)
    weight = log_ways + (k - n) * step - k * np.logaddexp(0.0, step)
    return float(np.sum(np.exp(weight) * -np.expm1(-gain)))


def approximate_gaussian(
    guarantee: Guarantee, rival: float = math.inf
) -> Composition[GaussianCurve] | None:
    """(mu, delta0) per key and element, or None if none is certified that beats ``rival``.

    ``rival`` is the frequency at which another curve names half of the keys.
    """
    if _table_length(guarantee) > _LARGEST_TABLE:
        return None
    found = _best_gaussians(guarantee)
    for factor in _SHRINK:
        tight = [GaussianCurve(c.mu * factor, c.delta * factor, c.head_start) for c in found]
        curves = [curve for curve in tight if half_frequency(curve) < rival]
        if not curves:
            return None
        for curve in curves:
            accounting = _grid(curve, guarantee)
            if _certified(curve, accounting, guarantee):
                return Composition(curve, accounting)
    return None


def _certified(curve: GaussianCurve, accounting: dict[str, Any], guarantee: Guarantee) -> bool:
    rule = {
        "table": [hex(c) for c in gaussian_table(curve)],
        "stride": 1,
        "head_start": curve.head_start,
        "accounting": accounting,
    }
    promised = exactly(guarantee.epsilon), exactly(guarantee.delta)
    try:
        verify.check_draw(rule, *promised, guarantee.keys_per_unit, guarantee.elements_per_key)
    except verify.Refused:
        return False
    return True


def _table_length(guarantee: Guarantee) -> float:
    """About how many values the draw has: from delta0 up to 1 - delta0 in steps of mu."""
    k, m = guarantee.keys_per_unit, guarantee.elements_per_key
    mu = gaussian_mu(guarantee.epsilon, guarantee.delta / 2) / (m * math.sqrt(k))
    return 2 * abs(float(ndtri(guarantee.delta / (2 * k * m)))) / mu


def _best_gaussians(guarantee: Guarantee) -> list[GaussianCurve]:
    """Those with which one half is reached first: of all, and of those without a head start."""
    shares = map(float, np.linspace(0.02, 0.98, 49))
    options = list(filter(None, (_shared(guarantee, share) for share in shares)))
    plain = len(options)
    if not options:
        return []
    if 1 < guarantee.keys_per_unit <= _AHEAD_KEYS:
        options += filter(None, (_ahead(guarantee, start) for start in _HEAD_STARTS))
    mu, delta0, start = np.array([(c.mu, c.delta, c.head_start) for c in options]).T
    level, step = np.zeros(len(options)), 0
    while step < start.max() or (level < 0.5).all():  # those with a long head start begin early
        begun = step >= start.max() - start
        further = delta0 + (1 - delta0) * ndtr(ndtri(np.minimum(1, level / (1 - delta0))) + mu)
        level, step = np.where(begun, further, level), step + 1
    first, best = int(np.argmax(level[:plain])), int(np.argmax(level))
    return [options[n] for n in sorted({best, first}, reverse=True)]


def _shared(guarantee: Guarantee, share: float) -> GaussianCurve | None:
    """A share of delta is for the gift, which a key needs that is new, and the rest for moves."""
    k, m, epsilon = guarantee.keys_per_unit, guarantee.elements_per_key, guarantee.epsilon
    gift = -math.expm1(math.log1p(-guarantee.delta * share) / k)
    mu = gaussian_mu(epsilon, guarantee.delta * (1 - share))
    mu /= m * math.sqrt(k)
    delta0 = _first_gift(mu, gift, m)
    return GaussianCurve(mu, delta0) if delta0 else None


def _ahead(guarantee: Guarantee, start: int) -> GaussianCurve | None:
    """New keys may spend delta, and moved ones too: None where the gift is too small for words.

    A key that is new is named with probability h^(m + start)(0), and a moved one gives h^m(0) away.
    """
    k, m, epsilon = guarantee.keys_per_unit, guarantee.elements_per_key, guarantee.epsilon
    curve, moves = GaussianCurve(0.0, 0.0), guarantee.delta
    for _ in range(3):  # the gift is a small part of delta
        mu = gaussian_mu(epsilon, moves) / (m * math.sqrt(k))
        if start * mu > _FAR:
            return None
        delta0 = _first_gift(mu, guarantee.delta / k, m + start)
        if not delta0:
            return None
        curve = GaussianCurve(mu, delta0, start)
        gift = _after(curve, m)
        moves = guarantee.delta - k * gift
        if moves < guarantee.delta / 4 or gift < 2.0**-100:
            return None
    return curve


def _first_gift(mu: float, gift: float, m: int) -> float:
    """delta0 such that m elements are given away with probability ``gift``: h^m(0) = gift.

    0 if m elements are too far apart for that, whatever delta0 is.
    """
    if m == 1:
        return gift

    def excess(log_delta: float) -> float:
        return math.log(_after(GaussianCurve(mu, math.exp(log_delta)), m)) - math.log(gift)

    low, high = math.log(gift) - math.log(m) - 60, math.log(gift)
    return 0.0 if excess(low) > 0 else math.exp(scipy.optimize.brentq(excess, low, high))


def _after(curve: GaussianCurve, steps: int) -> float:
    """h applied so often to 0."""
    level = np.zeros(1)
    for _ in range(steps):
        level = curve.power(level)
    return float(level[0])


def _grid(curve: GaussianCurve, guarantee: Guarantee) -> dict[str, Any]:
    """A grid of losses on which k keys are added up."""
    mu = curve.mu * guarantee.elements_per_key
    together = mu * math.sqrt(guarantee.keys_per_unit)
    step, tail = mu / _STEPS, abs(float(ndtri(guarantee.delta * 1e-4)))
    span = math.ceil((mu * (abs(float(ndtri(curve.delta))) + 2) + mu * mu) / step) + 2
    reach = math.ceil((together * tail + together**2 / 2) / step) + span
    return {"name": "grid", "base": repr(math.exp(step)), "span": span, "reach": reach}
