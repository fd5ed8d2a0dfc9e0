"""What private weighted sampling is measured against: noise, then a threshold, then a sample.

`StabilityHistogram` and `SampledStabilityHistogram` are the baselines of "Differentially private
weighted sampling" (Cohen, Geri, Sarlos, Stemmer), section 8.1 and Appendix G, one key per unit; the
classical selections for several keys per unit are in `weighted.selections`.

They are laws to compare with (probabilities, means, errors). Nothing here draws or releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import check_delta
from tamis.sampling.frequencies import check_positive

Floats: TypeAlias = npt.NDArray[np.float64]

_NODES = 64
_LAGUERRE = np.polynomial.laguerre.laggauss(_NODES)
_LEGENDRE = np.polynomial.legendre.leggauss(_NODES)
# Where an integrand is cut: e^-40 and 50^2 e^-50 are below the last digit of what they add to.
_DECAY_END = 40.0
_SQUARE_DECAY_END = 50.0


@dataclass(frozen=True)
class StabilityHistogram:
    """Stability-based histogram (SbH): report w* = i + Lap[1/epsilon] when w* >= T; g(w) = w.

    T = ln(1/delta)/epsilon + 1 as printed (Algorithm 6) shows a key of frequency 1 with probability
    delta/2 only. `fair=True` spends all of delta: T = max(1, ln(1/(2 delta))/epsilon + 1).

    Guarantee: (epsilon, delta) when one element of one key is added or removed; (epsilon, delta/2)
    with the printed threshold. The estimate of an unreported key is 0.

    Reference: equations (47), (49), (50); ERRATA section 1, "Baseline SbH".

    >>> printed, fair = StabilityHistogram(1.0, 1e-6), StabilityHistogram(1.0, 1e-6, fair=True)
    >>> [f"{float(h.reporting(1)):.1e}" for h in (printed, fair)]
    ['5.0e-07', '1.0e-06']
    """

    epsilon: float
    delta: float
    fair: bool = False

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)

    @property
    def threshold(self) -> float:
        """T, the lowest noisy frequency that is shown."""
        return laplace_threshold(1.0 / self.epsilon, self.delta if self.fair else self.delta / 2)

    def reporting(self, i: npt.ArrayLike) -> Floats:
        """phi_i = Pr[i + Lap[1/epsilon] >= T]."""
        return laplace_survival(self.epsilon * (self.threshold - checked(i)))

    def mean(self, i: npt.ArrayLike) -> Floats:
        """E_i = i - e^(-eps(i-T)) (T - 1/eps)/2 above T, e^(-eps(T-i)) (T + 1/eps)/2 up to it."""
        at = checked(i)
        return np.where(at > self.threshold, at + self._shortfall(at), self._mean_below(at))

    def bias(self, i: npt.ArrayLike) -> Floats:
        """E_i - i, without the cancellation of that difference above T."""
        at = checked(i)
        return np.where(at > self.threshold, self._shortfall(at), self._mean_below(at) - at)

    def mse(self, i: npt.ArrayLike) -> Floats:
        """(1 - phi_i) i^2 + E[(w* - i)^2; w* >= T], each branch a sum that does not cancel."""
        at, top, scale = checked(i), self.threshold, 1.0 / self.epsilon
        gap, half = np.abs(at - top), self._half_decay(at)
        above = 2 * scale**2 + half * (top * (2 * at - top) - 2 * gap * scale - 2 * scale**2)
        below = (1 - half) * at**2 + half * (gap**2 + 2 * gap * scale + 2 * scale**2)
        return np.where(at > top, above, below)

    def variance(self, i: npt.ArrayLike) -> Floats:
        """Variance of the estimate: from the second moment up to T, from the MSE above it.

        Far below T the MSE is i^2 and the squared bias too; far above it the second moment is i^2
        and the squared mean too. Each side uses the difference that keeps its digits.
        """
        at, top, scale = checked(i), self.threshold, 1.0 / self.epsilon
        second = self._half_decay(at) * (top**2 + 2 * top * scale + 2 * scale**2)
        below = second - self._mean_below(at) ** 2
        return np.where(at > top, self.mse(at) - self._shortfall(at) ** 2, below)

    def _half_decay(self, at: Floats) -> Floats:
        return 0.5 * np.exp(-self.epsilon * np.abs(at - self.threshold))

    def _shortfall(self, at: Floats) -> Floats:
        return -self._half_decay(at) * (self.threshold - 1.0 / self.epsilon)

    def _mean_below(self, at: Floats) -> Floats:
        return self._half_decay(at) * (self.threshold + 1.0 / self.epsilon)


@dataclass(frozen=True)
class SampledStabilityHistogram:
    """SbH, then a threshold sample of the sanitised frequency j with q(j); estimate j / q(j).

    q(j) = 1 - e^(-tau j) for `kind="ppswor"`, min(1, tau j) for `kind="pps"`. The mean, and so the
    bias, is that of SbH. Mean squared error and variance are those of SbH plus

        V_i = integral over j >= T of j^2 (1/q(j) - 1) (eps/2) e^(-eps |j-i|) dj  >=  0,

    which is equation (48) without its cancelling terms. V_i is a closed form for pps and two
    64-point Gauss rules for ppswor; mse and variance are then within 1e-12 of their value.

    Guarantee: that of `StabilityHistogram`; sampling sees only its output.

    Reference: equations (45) to (48), (51) and section G.3.

    >>> sampled = SampledStabilityHistogram(1.0, 1e-6, tau=0.01)
    >>> bool(sampled.reporting(100) < StabilityHistogram(1.0, 1e-6).reporting(100))
    True
    """

    epsilon: float
    delta: float
    tau: float
    kind: Literal["ppswor", "pps"] = "ppswor"
    fair: bool = False

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        check_size("tau", self.tau)
        if self.kind not in ("ppswor", "pps"):
            raise InvalidInput(f"kind = {self.kind!r} is not known: use 'ppswor' or 'pps'.")

    @property
    def histogram(self) -> StabilityHistogram:
        """The SbH that is sampled."""
        return StabilityHistogram(self.epsilon, self.delta, self.fair)

    @property
    def threshold(self) -> float:
        """T of the SbH that is sampled."""
        return self.histogram.threshold

    def reporting(self, i: npt.ArrayLike) -> Floats:
        """phi_i = integral over j >= T of q(j) (eps/2) e^(-eps |j-i|) dj."""
        at = checked(i)
        return self._reporting_pps(at) if self.kind == "pps" else self._reporting_ppswor(at)

    def mean(self, i: npt.ArrayLike) -> Floats:
        """E_i, which does not depend on q (equation 46)."""
        return self.histogram.mean(i)

    def bias(self, i: npt.ArrayLike) -> Floats:
        """E_i - i, which does not depend on q."""
        return self.histogram.bias(i)

    def mse(self, i: npt.ArrayLike) -> Floats:
        """Mean squared error of the estimate of i: that of SbH plus V_i."""
        return self.histogram.mse(i) + self._sampling_variance(checked(i))

    def variance(self, i: npt.ArrayLike) -> Floats:
        """Variance of the estimate of i: that of SbH plus V_i."""
        return self.histogram.variance(i) + self._sampling_variance(checked(i))

    def _sampling_variance(self, at: Floats) -> Floats:
        if self.kind == "pps":
            return self._variance_pps(at)
        return self._variance_above(at) + self._variance_below(at)

    def _reporting_ppswor(self, at: Floats) -> Floats:
        """Equation (51) as a sum of positive terms, one formula for epsilon = tau and around it.

        With c = max(i, T), d = c - T:  e^(-eps(c-i)) (tau + eps (1 - e^(-tau c))) / (2(eps + tau))
        from j >= c, and (1 - e^(-tau T))(1 - e^(-eps d))/2 + e^(-tau T) F(d)/2 from T <= j <= i,
        F the distribution function of Exp[eps] + Exp[tau].
        """
        eps, tau, top = self.epsilon, self.tau, self.threshold
        start = np.maximum(at, top)
        above = (tau - eps * np.expm1(-tau * start)) / (eps + tau) * np.exp(-eps * (start - at))
        below = math.expm1(-tau * top) * np.expm1(-eps * (start - top))
        both = math.exp(-tau * top) * _two_exponentials(start - top, eps, tau)
        return 0.5 * (above + below + both)

    def _reporting_pps(self, at: Floats) -> Floats:
        """Cases 1 to 3 of section G.3 in one: q(j) = min(1, j/m), m = max(T, 1/tau)."""
        top, knee, near, half = self._pieces(at)
        right, left = _Piece(self.epsilon, knee - near), _Piece(self.epsilon, near - top)
        ramp = near * right.one() + right.rise() + top * left.one() + left.fall()
        return half * ramp / knee + laplace_survival(self.epsilon * (knee - at))

    def _variance_pps(self, at: Floats) -> Floats:
        """V_i = integral over T <= j <= m of j (m - j) (eps/2) e^(-eps |j-i|) dj.

        m = max(T, 1/tau). Split at c, the point of [T, m] nearest to i, and expanded so that every
        term is positive.
        """
        top, knee, near, half = self._pieces(at)
        right, left = _Piece(self.epsilon, knee - near), _Piece(self.epsilon, near - top)
        rest = top * left.rise() + left.hump() + (knee - near) * (top * left.one() + left.fall())
        return half * (near * right.fall() + right.hump() + rest)

    def _pieces(self, at: Floats) -> tuple[float, float, Floats, Floats]:
        top = self.threshold
        knee = max(top, 1.0 / self.tau)
        near = np.clip(at, top, knee)
        return top, knee, near, 0.5 * np.exp(-self.epsilon * np.abs(at - near))

    def _variance_above(self, at: Floats) -> Floats:
        """V_i of ppswor over j >= c = max(i, T), by Gauss-Laguerre in z = (eps + tau)(j - c).

        1/q - 1 = e^(-tau j)/q, so the integrand is e^(-z) times j^2/q(j). The poles of that factor
        are 2 pi or more from the path whatever the parameters, so one rule serves them all.
        """
        eps, rate = self.epsilon, self.epsilon + self.tau
        start = np.maximum(at, self.threshold)
        total = np.zeros_like(start)
        for z, weight in zip(*_LAGUERRE, strict=True):
            total += weight * self._square_over_q(start + z / rate)
        return 0.5 * eps / rate * total * np.exp(-eps * (start - at) - self.tau * start)

    def _variance_below(self, at: Floats) -> Floats:
        """V_i of ppswor over T <= j <= i, by Gauss-Legendre where the integrand is not negligible.

        The integrand is e^(-eps i) j^2/q(j) e^((eps - tau) j): it is cut where the last
        factor has fallen by e^-40, and for tau >= eps/2 at tau j = 50, beyond which V_i is less
        than 1e-18 of the MSE of SbH (at least 1/eps^2 for i > T).
        """
        eps, tau = self.epsilon, self.tau
        end = np.maximum(at, self.threshold)
        high, width = self._window(end)
        total = np.zeros_like(end)
        for x, weight in zip(*_LEGENDRE, strict=True):
            back = 0.5 * (1 - x) * width
            j = high - back
            # Not end - j: at large frequencies that would lose the digits of `back`.
            decay = np.exp(-tau * j - eps * (end - high + back))
            total += weight * self._square_over_q(j) * decay
        return 0.25 * eps * width * total

    def _window(self, end: Floats) -> tuple[Floats, Floats]:
        """Upper end and width of the part of [T, i] that counts."""
        top, slope = self.threshold, self.epsilon - self.tau
        reach = _DECAY_END / abs(slope) if slope else math.inf
        last = max(top, _SQUARE_DECAY_END / self.tau) if self.tau >= self.epsilon / 2 else math.inf
        high = np.minimum(end, last if slope > 0 else min(last, top + reach))
        return high, np.minimum(high - top, reach)

    def _square_over_q(self, j: Floats) -> Floats:
        return j**2 / -np.expm1(-self.tau * j)


@dataclass(frozen=True)
class _Piece:
    """Integrals over 0 <= v <= length of a polynomial times eps e^(-eps v).

    The incomplete gamma function is a positive series, and in this form no difference loses digits:
    for short lengths `fall` is 1 - 1/2 and `hump` 1/2 - 1/3 of its first term.
    """

    epsilon: float
    length: Floats

    def one(self) -> Floats:
        """Of 1."""
        return -np.expm1(-self.epsilon * self.length)

    def rise(self) -> Floats:
        """Of v."""
        return special.gammainc(2, self.epsilon * self.length) / self.epsilon

    def fall(self) -> Floats:
        """Of length - v."""
        return self.length * self.one() - self.rise()

    def hump(self) -> Floats:
        """Of v (length - v)."""
        square = 2 * special.gammainc(3, self.epsilon * self.length) / self.epsilon**2
        return self.length * self.rise() - square


def _two_exponentials(d: Floats, one: float, other: float) -> Floats:
    """Pr[Exp[a] + Exp[b] <= d] = 1 - e^-x - x e^-x (1 - e^-z)/z, x = min(a, b) d, z = |a - b| d."""
    x = min(one, other) * d
    ratio: Floats = special.exprel(-abs(one - other) * d)
    return -np.expm1(-x) - x * np.exp(-x) * ratio


def laplace_survival(gap: Floats) -> Floats:
    """Pr[Lap[1] >= gap]."""
    half = 0.5 * np.exp(-np.abs(gap))
    return np.where(gap > 0, half, 1 - half)


def laplace_threshold(scale: float, shown: float) -> float:
    """Lowest T >= 1 at which frequency 1 is shown with probability at most `shown`."""
    return 1 + scale * max(0.0, -math.log(2 * shown))


def checked(i: npt.ArrayLike) -> Floats:
    """Frequencies as floats, at least 1."""
    at = np.asarray(i, dtype=np.float64)
    if not np.all((at >= 1) & np.isfinite(at)):
        raise InvalidInput("A frequency i is below 1 or not finite: leave out keys without any.")
    return at


def check_budget(epsilon: float, delta: float) -> None:
    check_size("epsilon", epsilon)
    check_delta(delta)


def check_size(name: str, value: float) -> None:
    """Positive, and such that squares and reciprocals stay finite."""
    if not 1e-100 <= check_positive(value, name) <= 1e100:
        raise InvalidInput(f"{name} must lie between 1e-100 and 1e100, not {value!r}.")
