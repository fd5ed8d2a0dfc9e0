"""Privacy curves: h(s), the largest power of a test at level s between neighbouring frequencies.

A curve is h = 1 - f for a symmetric trade-off function f. Applied d times to 0 it gives
Pr[D < d], and token = frequency - D then has the trade-off f (docs/proofs.md, section 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its optimize is slow to load, and many a release is made without it
from scipy.special import erfcx, ndtr, ndtri

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ApproximateCurve:
    """(epsilon, delta): h(s) = min{1, e s + delta, 1 - (1 - delta - s) / e}, e = exp(epsilon)."""

    epsilon: float
    delta: float

    def power(self, level: npt.ArrayLike) -> Floats:
        s, e = np.asarray(level, dtype=np.float64), math.exp(self.epsilon)
        return np.minimum(np.minimum(1.0, e * s + self.delta), 1 - (1 - self.delta - s) / e)

    def describe(self) -> str:
        return f"(epsilon, delta) = ({self.epsilon:.6g}, {self.delta:.6g}) per key"


@dataclass(frozen=True)
class GaussianCurve:
    """Approximate Gaussian: h(s) = delta0 + (1 - delta0) Phi(Phi^-1(s / (1 - delta0)) + mu).

    The trade-off of telling N(0, 1) from N(mu, 1), given away with probability delta0. Composing k
    of them multiplies mu by sqrt(k). Reference: Dong, Roth, Su (2022), section 2.

    ``head_start``: a key is drawn as if it occurred so many times more than it does. That changes
    nothing between keys that occur, and names a key that occurs once with more than delta0: a key
    of a unit is new or it is not, so what new ones cost need not be paid by the others
    (docs/proofs.md, section 7).
    """

    mu: float
    delta: float
    head_start: int = 0

    def power(self, level: npt.ArrayLike) -> Floats:
        s = np.minimum(np.asarray(level, dtype=np.float64) / (1 - self.delta), 1.0)
        return np.asarray(self.delta + (1 - self.delta) * ndtr(ndtri(s) + self.mu))

    def complement(self, rest: npt.ArrayLike) -> Floats:
        """1 - h(1 - rest), without the cancellation near one."""
        s = np.maximum((np.asarray(rest, dtype=np.float64) - self.delta) / (1 - self.delta), 0.0)
        return np.asarray((1 - self.delta) * ndtr(ndtri(s) - self.mu))

    def describe(self) -> str:
        start = f", head start {self.head_start}" if self.head_start else ""
        return f"Gaussian mu = {self.mu:.6g}, delta0 = {self.delta:.6g} per key{start}"


Curve = ApproximateCurve | GaussianCurve


def half_frequency(curve: Curve) -> int:
    """The lowest frequency at which a key is reported with probability one half or more."""
    level, steps = np.zeros(1), 0
    while level[0] < 0.5:
        level, steps = curve.power(level), steps + 1
    return max(1, steps - (curve.head_start if isinstance(curve, GaussianCurve) else 0))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta(epsilon) of mu-Gaussian privacy: Phi(-a) - e^epsilon Phi(-b), a = epsilon/mu - mu/2.

    b = a + mu, and e^epsilon Phi(-b) = e^(-a^2/2) erfcx(b/sqrt 2)/2, for b^2 - a^2 = 2 epsilon.
    Reference: Balle and Wang (2018), theorem 8.
    """
    a = epsilon / mu - mu / 2
    second = 0.5 * math.exp(-a * a / 2) * float(erfcx((a + mu) / math.sqrt(2)))
    return float(ndtr(-a)) - second


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian privacy is (epsilon, delta)."""
    s = float(ndtri(delta))
    root = math.sqrt(s * s + 2 * epsilon)
    # half the mu at which Phi(mu/2 - epsilon/mu) alone is delta: certainly private
    low = epsilon / (root - s) if s < 0 else (root + s) / 2
    high = 4 * low
    while gaussian_delta(high, epsilon) < delta:
        high *= 2
    return float(
        scipy.optimize.brentq(
            lambda m: gaussian_delta(m, epsilon) - delta, low, high, xtol=1e-14 * low, rtol=1e-14
        )
    )
