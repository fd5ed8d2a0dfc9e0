"""Threshold sampling of counted keys, and the choice of its rate tau.

Reference: Cohen, Geri, Sarlos, Stemmer, "Differentially private weighted sampling", section 3.1,
Algorithm 1. A key of frequency w is sampled if its draw u_x is below tau f(w), independently of all
others: with probability q(w). Here f(w) = w^power, and u_x is Exp[1] (ppswor) or U[0, 1] (PPS).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy  # its optimize is slow to load, and many a release is made without it

from tamis.privacy import randomness, verify
from tamis.privacy.errors import InvalidInput
from tamis.sampling.arrow import column_of
from tamis.sampling.counted import counted_table
from tamis.sampling.frequencies import check_frequencies, check_positive, check_whole
from tamis.sampling.schemes import Pps, Ppswor, Scheme

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_AT_ONCE = 1 << 20  # keys drawn for at a time
_CLEAR = 2.0**-44  # q in floating point is off by less than half of this, relatively
_LEAST_RATE = Fraction(1, 10**12)
_SIZES = (1e-250, 1e250)  # so that a scheme takes the tau, whatever the noise


def threshold_sample(frequencies: npt.ArrayLike, scheme: Scheme) -> Ints:
    """Where the sampled keys stand: each is kept independently with probability q(frequency).

    The draw is exact: a key of frequency i is kept for ``units(i)`` of the 2^128 words, the very
    integers of `tamis.privacy.verify.Scheme`. Floating point only settles cases that are clear.

    A sample is not private. It may be sanitised with the same scheme if tau was chosen without
    looking at the data, or by `private_tau`.

    >>> from tamis.sampling.schemes import Everything
    >>> threshold_sample([5, 1, 3], Everything()).tolist()
    [0, 1, 2]
    """
    counts = check_frequencies(frequencies)
    if not isinstance(scheme, Scheme):
        raise InvalidInput(f"scheme must be a sampling scheme such as Ppswor, not {scheme!r}.")
    units = verify.Scheme(scheme.rule())
    kept = np.empty(len(counts), dtype=np.bool_)
    for start in range(0, len(counts), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        kept[here] = _keep(counts[here], scheme, units)
    return np.flatnonzero(kept).astype(np.int64, copy=False)


def threshold_sample_table(
    data: Any, scheme: Scheme, *, key: str | Sequence[str] = "key", frequency: str = "frequency"
) -> pa.Table:
    """The sampled rows of a table of counted keys, in their order: key columns and frequency.

    ``data`` is a pyarrow.Table or anything with ``__arrow_c_stream__``. Each key must stand in one
    row only, because a key in two rows would be drawn for twice, with too small a frequency.
    """
    table = counted_table(data, key, frequency)
    return table.take(column_of(threshold_sample(table[frequency], scheme)))


def tau_for_size(
    frequencies: npt.ArrayLike,
    size: float,
    scheme_class: type[Pps] | type[Ppswor] = Ppswor,
    power: float = 1.0,
) -> float:
    """The tau for which the expected sample size, the sum of q over all keys, is ``size``.

    A size equal to the number of keys gives a tau from which on every q is 1 (ppswor: 1 - 2^-128).

    **This tau is not private**: it depends on every frequency. For a sample that is to be
    sanitised use `private_tau`, or a tau that is known beforehand.

    >>> tau_for_size([1, 1, 2], 2, Pps)
    0.5
    """
    counts = check_frequencies(frequencies)
    grown = scheme_class(1.0, power).size(counts)
    wanted = check_positive(size, "size")
    if not 1 <= wanted <= len(counts):
        raise InvalidInput(f"size must lie between 1 and the number of keys, not {size!r}.")
    return _pps_tau(grown, wanted) if scheme_class is Pps else _ppswor_tau(grown, wanted)


@dataclass(frozen=True)
class PrivateTau:
    """A tau that may be published, the noisy total behind it, and the epsilon that both cost."""

    tau: float
    noisy_total: int
    epsilon: float
    elements_per_unit: int


def private_tau(
    total: int, size: float, epsilon: float, *, elements_per_unit: int = 1
) -> PrivateTau:
    """The rate tau = size / (noisy number of elements), for samples with f(w) = w.

    The noise is two-sided geometric: Pr[X = x] is proportional to exp(-epsilon |x| / s), where s is
    ``elements_per_unit``; the noisy total is at least 1. Both q(w) = min(1, tau w) and
    q(w) = 1 - exp(-tau w) are at most tau w, so the expected sample size is at most ``size``, but
    for the noise.

    Guarantee: epsilon-differential privacy (delta = 0) of tau and of the noisy total, when one unit
    with at most ``elements_per_unit`` elements is added or removed. That no unit has more is for
    the caller to ensure. The draw is exact, and ``epsilon`` is read as it is printed: 0.1 is one
    tenth. What is released with this tau spends its own budget on top.

    Reference: section 3.1, "tau ~ k / ||f(w)||_1".
    """
    wanted, cost = check_positive(size, "size"), check_positive(epsilon, "epsilon")
    if not _SIZES[0] <= wanted <= _SIZES[1]:
        raise InvalidInput(f"size must lie between 1e-250 and 1e250, not {size!r}.")
    bound = check_whole(elements_per_unit, "elements_per_unit")
    rate, true = Fraction(str(cost)) / bound, _check_total(total)
    if rate < _LEAST_RATE:
        raise InvalidInput(
            "epsilon is too small: epsilon / elements_per_unit must be at least 10^-12, or the "
            f"noise hides any total; it is {float(rate)!r}."
        )
    noisy = max(1, true + randomness.two_sided_geometric(rate))
    return PrivateTau(wanted / noisy, noisy, cost, bound)


def _keep(counts: Ints, scheme: Scheme, units: verify.Scheme) -> npt.NDArray[np.bool_]:
    """Is a 128-bit word below units(i)? The first 64 bits tell, but for about one in 2^43."""
    q, first = scheme.probability(counts), randomness.words(len(counts))
    low = first * 2.0**-64
    kept = low + 2.0**-64 <= q * (1 - _CLEAR)
    for place in np.flatnonzero(~kept & (low < q * (1 + _CLEAR))):
        word = int(first[place]) << 64 | int(randomness.words(1)[0])
        kept[place] = word < units.units(int(counts[place]))
    return kept


def _pps_tau(grown: Floats, size: float) -> float:
    """Where sum of min(1, tau f) is size: the j largest have q = 1, the rest share size - j."""
    ordered = np.sort(grown)[::-1]
    rest = np.cumsum(ordered[::-1])[::-1]  # rest[j]: the sum without the j largest
    sure = np.arange(math.ceil(size))
    taus = (size - sure) / rest[: len(sure)]
    fits = taus * ordered[: len(sure)] <= 1
    return float(taus[np.argmax(fits)] if fits.any() else 1 / ordered[len(sure) - 1])


def _ppswor_tau(grown: Floats, size: float) -> float:
    """Where sum of 1 - exp(-tau f) is size, by bracketing log tau."""
    f, many = np.unique(grown, return_counts=True)
    missing = len(grown) - size
    if missing == 0:
        return float(89 / f[0])  # exp(-89) < 2^-128
    few = size <= missing  # compare the smaller side, or the difference drowns in rounding

    def over(log_tau: float) -> float:
        z = -math.exp(log_tau) * f
        if few:
            return math.log(float(many @ -np.expm1(z)) / size)
        return math.log(missing / float(many @ np.exp(z)))

    least = math.log(size) - math.log(float(many @ f))  # because q <= tau f
    most = math.log(math.log1p(size / missing)) - math.log(f[0])  # because q >= q of the smallest
    root = scipy.optimize.brentq(
        over, least - 1e-3, most + 1e-3, xtol=1e-14, rtol=1e-14, maxiter=500
    )
    return math.exp(float(root))


def _check_total(total: object) -> int:
    try:
        return check_whole(total, "total", least=0)
    except InvalidInput:  # its message holds the value, which is not private
        raise InvalidInput("total must be a whole number from 0 to 2^63 - 1.") from None
