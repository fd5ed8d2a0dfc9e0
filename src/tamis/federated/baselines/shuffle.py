"""The shuffle model: every client adds random bits, and only the sums of all bits are seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from tamis.federated.baselines.items import Ints, histogram
from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.guarantee import check_bound, check_delta, check_epsilon

Floats = npt.NDArray[np.float64]

_ROUNDED = 1e-9  # far more than floating point can be off, relative to delta
_FAR = 45.0  # e^-45 of a sum is nothing
_HALF = 0.5
_UNIT = 1 << 128  # the weight of the likeliest number of bits


@dataclass(frozen=True)
class BernoulliNoise:
    """Every client sets a noise bit in every cell with probability q; the counts are the sums.

    So every count gets Bin(clients, q), of which the mean is subtracted. q is the least with which
    the guarantee holds; 1 - q would do as well.

    Guarantee: the sums, and what is estimated from them, are (epsilon, delta)-differentially
    private for one client whose item is withdrawn, or put there, while its noise bits stay:
    Bin(clients, q) + 1 against Bin(clients, q), in both directions, exactly (`delta_of`). A client
    whose item is replaced changes two sums: (2 epsilon, (1 + e^epsilon) delta). All clients must
    add their bits, nothing but the sums may be seen, and the number of clients is public.
    Here the sums of bits are drawn at once, from words of 64 bits compared with whole numbers: no
    event is further than 2^-48 from its probability.

    Reference: Balcer, Cheu, "Separating local and shuffled differential privacy via histograms"
    (2020); Erlingsson et al., "Encode, shuffle, analyze privacy revisited" (2020).

    >>> made = BernoulliNoise(epsilon=1.0, delta=1e-6, clients=100_000)
    >>> round(made.clients * made.q, 1)
    34.1
    """

    epsilon: float
    delta: float
    clients: int
    q: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta))
        object.__setattr__(self, "clients", check_bound("clients", self.clients))
        object.__setattr__(self, "q", smallest_rate(self.clients, self.epsilon, self.delta))

    def release(self, items: npt.ArrayLike, domain: int) -> Floats:
        """Estimated counts of 0, ..., domain - 1. Each call **spends the budget again**."""
        counts = histogram(items, domain)
        if counts.sum() > self.clients:
            raise InvalidInput(
                f"there are more items than clients = {self.clients}; "
                "every item needs a client that adds noise."
            )
        noise = binomials(self.clients, self.q, domain) - self.clients * self.q
        return np.asarray(counts + noise, dtype=np.float64)


def delta_of(n: int, q: float, epsilon: float) -> float:
    """The least delta that hides one more or less beside Bin(n, q), for 0 < q < 1: exactly.

    The larger of two sums over all numbers x, of what Pr[B = x] exceeds e^epsilon Pr[B + 1 = x] by,
    and the other way round. All terms are positive, so nothing cancels: 1e-11 of it are rounding.
    """
    if not 0 < q < 1:
        raise InvalidInput(f"q must be a probability above 0 and below 1, not {shown(q)}.")
    return max(needs(q) for needs in _events(check_bound("n", n), q, check_epsilon(epsilon)))


def _events(n: int, q: float, epsilon: float) -> list[Callable[[float], float]]:
    """What the two events that tell most at the rate q need of delta, at any rate."""
    few, many = _last_few(n, q, epsilon), _first_many(n, q, epsilon)
    return [lambda p: _few(n, p, epsilon, few), lambda p: _many(n, p, epsilon, many)]


@lru_cache(1 << 10)
def smallest_rate(n: int, epsilon: float, delta: float) -> float:
    """The least q with delta_of(n, q, epsilon) <= delta.

    For any one event, "at most t bits" or "at least t bits", what it needs of delta first rises
    with q and then falls. So if it needs too much at some q, it does so up to one place further on;
    the search goes on from there with the event that is worst there, and so misses nothing. If that
    place is beyond 1/2 there is none at all, since q and 1 - q hide the same.
    """
    most = delta * (1 - _ROUNDED)
    q = -math.expm1(math.log(most) / n)  # no bit at all is as rare as that
    while q < _HALF and delta_of(n, q, epsilon) > most:
        q = _falls_to(max(_events(n, q, epsilon), key=lambda needs: needs(q)), most, q)
    if q > _HALF:
        raise InvalidInput(
            f"clients = {n} are too few to hide one of them in noise of their own; "
            "take more clients, or a larger epsilon or delta."
        )
    return q


def _falls_to(needs: Callable[[float], float], most: float, start: float) -> float:
    """Where what is needed, too much at the start, has fallen to ``most``; 1 if not before 1/2."""
    if needs(_HALF) > most:
        return 1.0
    q: float = optimize.brentq(lambda p: needs(p) - most, start, _HALF, xtol=1e-18)
    while needs(q) > most:
        q = math.nextafter(q, 1.0)
    return q


def _last_few(n: int, q: float, epsilon: float) -> int:
    """The most bits that are e^epsilon times as likely as one less: (n-t+1) q >= e t (1-q)."""
    return int((n + 1) * q / (q + _growth(epsilon) * (1 - q)))


def _first_many(n: int, q: float, epsilon: float) -> int:
    """The least t for which t - 1 are e^epsilon times as likely: t (1-q) >= e (n-t+1) q."""
    return math.ceil((n + 1) * q / (q + (1 - q) / _growth(epsilon)))


def _few(n: int, q: float, epsilon: float, last: int) -> float:
    """Pr[B <= last] - e^epsilon Pr[B + 1 <= last], by its terms near the last."""
    t = np.arange(max(0, last - _reach(n, q, epsilon)), last + 1)
    share = 1 - _growth(epsilon) * t * (1 - q) / ((n - t + 1) * q)
    return float(np.sum(stats.binom.pmf(t, n, q) * share))


def _many(n: int, q: float, epsilon: float, first: int) -> float:
    """Pr[B + 1 >= first] - e^epsilon Pr[B >= first], by its terms near the first."""
    t = np.arange(first, min(n + 1, first + _reach(n, q, epsilon)) + 1)
    share = 1 - _growth(epsilon) * (n - t + 1) * q / (t * (1 - q))
    return float(np.sum(stats.binom.pmf(t - 1, n, q) * share))


def _reach(n: int, q: float, epsilon: float) -> int:
    """Terms fall at least like e^-epsilon from one to the next, and like a bell."""
    return int(min(_FAR / epsilon, 14 * math.sqrt(n * q) + 100)) + 1


def _growth(epsilon: float) -> float:
    return math.exp(min(epsilon, 700.0))  # more is beyond floating point, and needs no less


def binomials(n: int, q: float, many: int) -> Ints:
    """Draws of Bin(n, q), each from one word."""
    first, ends = _table(n, q)
    return first + np.searchsorted(ends, randomness.words(many), side="right")


@lru_cache(16)
def _table(n: int, q: float) -> tuple[int, randomness.Words]:
    """The first number that is drawn, and 2^64 Pr[B <= k] from there on, rounded down.

    Weights go by their ratios from the likeliest number to both sides, in whole numbers, until
    they are below 2^-128 of the largest.
    """
    odds, bottom = q.as_integer_ratio()
    against, mode = bottom - odds, int((n + 1) * q)
    above, below, last, first = [_UNIT], [_UNIT], mode, mode
    while last < n and (weight := above[-1] * (n - last) * odds // ((last + 1) * against)):
        above.append(weight)
        last += 1
    while first > 0 and (weight := below[-1] * first * against // ((n - first + 1) * odds)):
        below.append(weight)
        first -= 1
    sums = list(accumulate(below[:0:-1] + above))
    return first, np.array([s * 2**64 // sums[-1] for s in sums[:-1]], dtype=np.uint64)
