"""A plan: what a release would do, before any data is touched or anything is spent."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.privacy.answer import check_coverage
from tamis.privacy.certificate import Certificate
from tamis.privacy.curves import Curve
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import Guarantee, check_delta
from tamis.sampling.frequencies import check_frequencies
from tamis.sampling.schemes import Everything, Scheme
from tamis.weighted.estimators import Centred, Moments, moments
from tamis.weighted.intervals import intervals
from tamis.weighted.mechanism import Mechanism, Tokens

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """A mechanism and what can be said about it. Costs nothing and touches no data."""

    mechanism: Mechanism
    coverage: float = 0.95

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    @property
    def scheme(self) -> Scheme:
        return self.mechanism.scheme

    @property
    def curve(self) -> Curve:
        """The privacy curve of one key: the one that names keys at the lowest frequency."""
        return self.mechanism.curve

    @property
    def certificate(self) -> Certificate:
        return self.mechanism.certificate

    def __getstate__(self) -> dict[str, Any]:
        """What it is made of: what was found since is found again wherever it is sent."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def estimator(self) -> Centred:
        """What the estimates of a release are made with."""
        return Centred(self.mechanism.law)

    @cached_property
    def half(self) -> int | None:
        """The lowest frequency named with probability one half; None if the scheme stays below."""
        low, high = 0, 1
        while self.reporting(high) < 0.5:
            low, high = high, 2 * high
            if high > 2**62:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.reporting(middle) < 0.5 else (low, middle)
        return high

    def reporting(self, frequency: npt.ArrayLike) -> float | Floats:
        """The probability that a key of this frequency is named.

        >>> import tamis
        >>> round(tamis.plan(epsilon=1.0, delta=1e-6).reporting(14), 3)
        0.7
        """
        return _like(frequency, self.mechanism.law.reporting(_checked(frequency)))

    def interval(self, frequency: int) -> tuple[int, int]:
        """The interval that a named key of this frequency gets when its token is the median one."""
        one = _checked(frequency)
        if len(one) != 1:
            raise InvalidInput("interval takes one frequency at a time.")
        tokens, probability = self.mechanism.law.row(int(one[0]))
        middle = np.searchsorted(np.cumsum(probability), probability.sum() / 2)
        low, high = intervals(self.mechanism.law, tokens[[middle]], self.coverage)
        return int(low[0]), int(high[0])

    def moments(self, frequency: npt.ArrayLike) -> Moments:
        """Exact mean, bias, variance and mean squared error of the estimate of a frequency.

        A key that is not named counts as an estimate of 0.
        """
        return moments(self.mechanism.law, self.estimator, _checked(frequency))

    def bias(self, frequency: npt.ArrayLike) -> float | Floats:
        return _like(frequency, self.moments(frequency).bias)

    def error(self, frequency: npt.ArrayLike) -> float | Floats:
        """The root of the mean squared error of the estimate."""
        return _like(frequency, np.sqrt(self.moments(frequency).mse))

    def expected(self, frequencies: npt.ArrayLike) -> float:
        """How many keys are named on average out of keys with these frequencies."""
        values, counts = np.unique(_checked(frequencies), return_counts=True)
        return float(np.sum(self.mechanism.law.reporting(values) * counts))

    def __str__(self) -> str:
        g = self.guarantee
        lines = [
            f"epsilon {g.epsilon:g}, delta {g.delta:g} for one {g.unit}; "
            f"keys per unit: {g.keys_per_unit:,}, elements per key: {g.elements_per_key:,}",
            f"curve: {self.curve.describe()}; scheme: {self.scheme}",
        ]
        if self.half is None:
            return "\n".join([*lines, "no frequency is named with probability one half"])
        lines.append(f"{'frequency':>12} {'named':>9} {'mean +- error':>20} {'interval':>18}")
        shares = (0.25, 0.5, 0.75, 1, 1.5, 2, 5, 50)
        return "\n".join(lines + [self._line(max(1, round(self.half * s))) for s in shares])

    __repr__ = __str__

    def _line(self, frequency: int) -> str:
        """What a key of this frequency adds to a sum on average; not being named adds 0."""
        mean, error = self.moments(frequency).mean[0], self.error(frequency)
        low, high = self.interval(frequency)
        estimate = f"{mean:,.1f} +- {error:,.1f}"
        interval = f"{low:,}..{high:,}"
        return f"{frequency:>12,} {self.reporting(frequency):>9.3g} {estimate:>20} {interval:>18}"


def plan(
    epsilon: float,
    delta: float,
    keys_per_unit: int = 1,
    elements_per_key: int = 1,
    *,
    unit: str = "element",
    scheme: Scheme | None = None,
    tokens: Tokens = "whole",
    coverage: float = 0.95,
) -> Plan:
    """Plan a release. Costs nothing and touches no data.

    Parameters
    ----------
    epsilon, delta
        what is promised for one unit added or removed.
    keys_per_unit, elements_per_key
        how much one unit may contribute: to how many keys, and how much to the frequency of each.
    unit
        what a unit is called, in words: it is only repeated in the guarantee.
    scheme
        which keys are looked at: `Everything` (the default), `Pps`, `Ppswor` or `Custom`.
    tokens
        "whole", or "fine" for the best order of keys that privacy allows.
    coverage
        of the intervals.
    """
    guarantee = Guarantee(epsilon, delta, keys_per_unit, elements_per_key, unit)
    return make_plan(guarantee, scheme, tokens, coverage)


def make_plan(
    guarantee: Guarantee,
    scheme: Scheme | None,
    tokens: Tokens,
    coverage: float,
    *,
    sampler_error: float | None = None,
) -> Plan:
    """`plan` for a guarantee; with ``sampler_error`` for a sample that is made elsewhere."""
    check_delta(guarantee.delta)  # which names keys, so it cannot be 0
    mechanism = Mechanism(guarantee, _scheme(scheme), _tokens(tokens), sampler_error)
    return Plan(mechanism, check_coverage(coverage))


def _scheme(scheme: Scheme | None) -> Scheme:
    if scheme is None:
        return Everything()
    if not isinstance(scheme, Scheme):
        raise InvalidInput(
            "scheme must be Everything(), Pps(tau), Ppswor(tau) or Custom(q), "
            f"not {type(scheme).__name__}."
        )
    return scheme


def _tokens(tokens: Tokens) -> Tokens:
    if tokens not in ("whole", "fine"):
        raise InvalidInput(f'tokens must be "whole" or "fine", not {tokens!r}.')
    return tokens


def _checked(frequency: npt.ArrayLike) -> npt.NDArray[np.int64]:
    return check_frequencies(np.atleast_1d(np.asarray(frequency)))


def _like(given: npt.ArrayLike, values: Floats) -> float | Floats:
    return float(values[0]) if np.ndim(given) == 0 else values
