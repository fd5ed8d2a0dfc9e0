"""Estimators of g(w) from tokens, for sums of L(x) g(w_x), and their exact errors.

An estimator gives every token j a value a_j; a key that is not reported has the value 0, and the
sum of L(x) a_j over the reported keys estimates the sum of L(x) g(w_x) over all keys.
Reference: Cohen, Geri, Sarlos, Stemmer (2021), section 7 and Appendices E and F.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tamis.privacy.errors import InvalidInput
from tamis.sampling.frequencies import check_frequencies
from tamis.weighted import bands
from tamis.weighted.laws import Column, DrawLaw, Law

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Function = Callable[[Floats], Floats]

_TIE = 1e-9  # relative: probabilities closer than this count as equal, whatever their rounding
_MOST_WORK = 4 * 10**8  # cells of a recursion over tokens: about a minute
_PER_TOKEN = 100  # what one token costs beyond its cells, in cells
_TOKENS = 1 << 20  # tokens whose values are held at a time


def identity(w: Floats) -> Floats:
    """g(w) = w."""
    return w


class Estimator(Protocol):
    """A value for every token of a law."""

    @property
    def law(self) -> Law:
        """The law that the tokens come from."""

    @property
    def g(self) -> Function:
        """What is estimated, as a function of the frequency: non-decreasing, and 0 at 0."""

    def values(self, tokens: npt.ArrayLike) -> Floats:
        """a_j for each token j."""


@dataclass(frozen=True)
class MaximumLikelihood:
    """a_j = g(i) / pi_i, where i = argmax_h pi_hj: right for the frequency that explains j best.

    Of equally likely frequencies (to a relative 1e-9) the lowest is taken. The estimate is never
    negative and can be biased up or down. It need not grow with the token: under q = 1 a low token
    is worth more than the next one, because it speaks for more keys that were not reported.
    A token that never occurs has the value 0.

    Reference: equation (11).

    >>> from tamis.sampling.schemes import Everything
    >>> from tamis.weighted.laws import SurvivalLaw
    >>> MaximumLikelihood(SurvivalLaw(1.0, 1e-6, Everything())).values([1, 2, 50]).round(2).tolist()
    [20.0, 16.86, 63.0]
    """

    law: Law
    g: Function = identity

    def __post_init__(self) -> None:
        _check_function(self.g)

    def frequencies(self, tokens: npt.ArrayLike) -> Ints:
        """The frequency i that makes each token likeliest."""
        j = check_frequencies(tokens, "tokens")
        return j + bands.offsets(self.law, j, _likeliest)

    def values(self, tokens: npt.ArrayLike) -> Floats:
        i = self.frequencies(tokens)
        reporting = self.law.reporting(i)
        seen = reporting > 0
        return np.where(seen, self.g(i.astype(np.float64)) / np.where(seen, reporting, 1.0), 0.0)


@dataclass(frozen=True)
class Centred:
    """Maximum likelihood of the frequency itself, moved so that frequent keys have no bias.

    For a draw, token = frequency - D, the likeliest frequency of a high token j is j + mode(D), and
    its bias the constant mode(D) - E[D]: a fraction of a count, but one that adds up over keys.
    This adds E[D] - mode(D) to every value. Under a sampling scheme it is `MaximumLikelihood`.
    """

    law: Law

    @property
    def g(self) -> Function:
        return identity

    def frequencies(self, tokens: npt.ArrayLike) -> Floats:
        """What each token says of the frequency of its own key: the likeliest one, centred."""
        return MaximumLikelihood(self.law).frequencies(tokens).astype(np.float64) + self._shift

    def values(self, tokens: npt.ArrayLike) -> Floats:
        values = MaximumLikelihood(self.law).values(tokens)
        return np.where(values > 0, values + self._shift, 0.0)

    @cached_property
    def _shift(self) -> float:
        if not isinstance(self.law, DrawLaw):
            return 0.0
        mass = np.diff(self.law.cumulative)
        mode = np.argmax(mass >= (1 - _TIE) * mass.max())
        return float(mass @ np.arange(len(mass)) - mode)


def _likeliest(column: Column) -> Ints:
    exactly = column.exactly
    best: Ints = np.argmax(exactly >= (1 - _TIE) * exactly.max(axis=1, keepdims=True), axis=1)
    return best


@dataclass(frozen=True)
class _Sequential(ABC):
    """An estimator whose a_j depends on a_1, ..., a_{j-1}. What has been computed is kept."""

    law: Law
    g: Function = identity

    def __post_init__(self) -> None:
        _check_function(self.g)

    def values(self, tokens: npt.ArrayLike) -> Floats:
        j = check_frequencies(tokens, "tokens")
        known: Floats = self._progress.upto(int(j.max(initial=0)))
        return known[j - 1]

    @property
    def limit(self) -> int:
        """The highest token that is not too much work."""
        return _MOST_WORK // (self.law.width + _PER_TOKEN)

    @cached_property
    def _progress(self) -> _Progress:
        return _Progress(self)

    @abstractmethod
    def start(self, frequencies: Ints) -> Floats:
        """What is known of each frequency before the first token."""

    @abstractmethod
    def step(self, known: Floats, exactly: Floats, above: Floats, before: float) -> float:
        """a_j, from a_{j-1} and what is known of i = j, j + 1, ...; then a_j is made known too."""


class _Progress:
    """The values so far, and what is known of the frequencies that later tokens come from."""

    def __init__(self, rule: _Sequential) -> None:
        self.rule = rule
        self.values = np.empty(0)
        self.ahead = rule.start(self._frequencies(0, rule.law.width))

    def upto(self, last: int) -> Floats:
        if last > self.rule.limit:
            raise InvalidInput(
                f"{type(self.rule).__name__} goes through all tokens from 1 on, and under this law "
                f"tokens above {self.rule.limit:,} are too many; use MaximumLikelihood, which "
                "takes each token alone."
            )
        if last > len(self.values):
            self._extend(last)
        return self.values

    def _frequencies(self, after: int, last: int) -> Ints:
        """What the columns of tokens begin with; 0 where a head start is before all that occur."""
        return np.maximum(np.arange(after + 1, last + 1) - self.rule.law.head_start, 0)

    def _extend(self, last: int) -> None:
        done, width = len(self.values), self.rule.law.width
        beyond = self.rule.start(self._frequencies(done + width, last + width))
        known, new = np.concatenate([self.ahead, beyond]), np.empty(last - done)
        value = float(self.values[-1]) if done else 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for n, (exactly, above) in enumerate(bands.each_column(self.rule.law, done + 1, last)):
                value = self.rule.step(known[n : n + len(exactly)], exactly, above, value)
                new[n] = value
        if not np.isfinite(new).all():
            raise InvalidInput(
                f"{type(self.rule).__name__} has values beyond the range of floating point from "
                f"token {done + 1 + int(np.argmin(np.isfinite(new))):,} on; use MaximumLikelihood."
            )
        self.values, self.ahead = np.concatenate([self.values, new]), known[last - done :]


@dataclass(frozen=True)
class BiasedDown(_Sequential):
    """a_j = min over i with pi_ij > 0 of r_ij, r_ij = (g(i) - sum_h a_h pi_ih) / S_i(j-1), h < j.

    r_ij is the value that all tokens from j on would need to make the estimate of g(i) unbiased.

    Guarantee: a_j >= 0, and the mean of the estimate is at most g(i) at every frequency i.

    Under q = 1, and for any law whose rows are shifts of one draw, a_j does not decrease; it is a
    staircase whose steps are about as wide as half a row. For other schemes the paper claims the
    same (Lemma E.1) but overlooks frequencies whose lowest token is above j: where g(i) / pi_i
    falls with i, a_j falls too. A token that never occurs has the value of the one before.

    Reference: equation (41).
    """

    def start(self, frequencies: Ints) -> Floats:
        """r_i1 = g(i) / pi_i."""
        reporting = self.law.reporting(frequencies)
        g = self.g(frequencies.astype(np.float64))
        return np.divide(g, reporting, out=np.zeros_like(g), where=reporting > 0)

    def step(self, known: Floats, exactly: Floats, above: Floats, before: float) -> float:
        possible = np.flatnonzero(exactly)
        if not len(possible):
            return before
        first, last = int(possible[0]), int(possible[-1]) + 1
        value = float(known[first:last].min())
        later = slice(max(first, 1), last)  # i = j has no later token
        # r_i,j+1 - r_ij as a product of two terms that are not negative: rounding cannot lower r.
        known[later] += (known[later] - value) * (exactly[later] / above[later])
        return value


@dataclass(frozen=True)
class Unbiased(_Sequential):
    """The only unbiased estimator: sum_{j<=i} pi_ij a_j = g(i) for every i, solved for a.

    Of use for study alone: the variance is at least 1/delta - 1 at frequency 1 (for g(1) = 1), the
    values change sign (Lemma F.1) and grow exponentially with the token, until they are refused
    because they leave the range of floating point. Where sum_j pi_ij |a_j| is 10^16 g(i) or more,
    rounding alone is a bias as large as g(i).

    Reference: section 7.1.
    """

    def start(self, frequencies: Ints) -> Floats:
        """g(i), from which the share of each token is taken off."""
        return np.array(self.g(frequencies.astype(np.float64)))

    def step(self, known: Floats, exactly: Floats, above: Floats, before: float) -> float:
        value = float(known[0] / exactly[0]) if exactly[0] else 0.0
        known -= value * exactly
        return value


def _check_function(g: Function) -> None:
    low = np.asarray(g(np.arange(0.0, 65.0)))
    if low.shape != (65,) or low[0] != 0 or not np.all(np.diff(low) >= 0):
        raise InvalidInput(
            "g must take and give an array of numbers, with g(0) = 0, and must not decrease."
        )


@dataclass(frozen=True)
class Moments:
    """Of the estimate of g(i), one entry per frequency; an unreported key is estimated by 0."""

    mean: Floats
    bias: Floats
    variance: Floats
    mse: Floats


def moments(law: Law, estimator: Estimator, frequencies: npt.ArrayLike) -> Moments:
    """Exact mean, bias, variance and mean squared error at each frequency, from the rows.

    E_i = sum_j pi_ij a_j,  MSE_i = (1 - pi_i) g(i)^2 + sum_j pi_ij (a_j - g(i))^2.

    >>> from tamis.sampling.schemes import Everything
    >>> from tamis.weighted.laws import SurvivalLaw
    >>> law = SurvivalLaw(1.0, 1e-6, Everything())
    >>> moments(law, MaximumLikelihood(law), [5, 50]).mse.round(2).tolist()
    [25.01, 1.91]
    """
    i, place = np.unique(check_frequencies(frequencies), return_inverse=True)
    fresh = np.minimum(np.diff(i, prepend=0), law.width)
    group = np.cumsum(fresh) // _TOKENS
    parts = np.split(i, np.flatnonzero(np.diff(group)) + 1)
    mean, bias, variance = np.concatenate([_moments(law, estimator, p) for p in parts], axis=1)
    every = mean[place], bias[place], variance[place]
    return Moments(*every, every[2] + every[1] ** 2)


def _moments(law: Law, estimator: Estimator, i: Ints) -> Floats:
    """Mean, bias and variance of ascending frequencies."""
    truth, reported = estimator.g(i.astype(np.float64)), law.reporting(i)
    # Differences are taken from the likelier of g(i) and 0, so that few digits cancel.
    centre = np.where(reported > 0.5, truth, 0.0)
    tokens, ends = _tokens_of(i + law.head_start, law.width)
    values = estimator.values(tokens)
    first, second = np.empty((2, len(i)))
    for n, row in enumerate(bands.rows(law, i)):
        away = values[ends[n] - len(row) : ends[n]] - centre[n]
        first[n], second[n] = row @ away, row @ away**2
    first -= (1 - reported) * centre
    second += (1 - reported) * centre**2
    variance = np.maximum(second - first**2, 0.0)
    return np.array([centre + first, (centre - truth) + first, variance])


def _tokens_of(i: Ints, width: int) -> tuple[Ints, Ints]:
    """All tokens of rows with ascending highest tokens i, in order; and where each row ends."""
    before = np.append(0, i[:-1])
    starts = np.maximum(before, i - width) + 1
    ends = np.cumsum(i - starts + 1)
    return np.repeat(i - ends + 1, i - starts + 1) + np.arange(ends[-1] if len(i) else 0), ends


@dataclass(frozen=True)
class PopulationError:
    """Of the estimate of s = sum of L(x) g(w_x). NRMSE = sqrt(MSE) / |s|; nan when s is 0."""

    bias: float
    variance: float
    mse: float
    nrmse: float


def population_error(
    law: Law,
    estimator: Estimator,
    frequencies: npt.ArrayLike,
    selection: npt.ArrayLike | None = None,
) -> PopulationError:
    """Exact error of a sum over keys with these frequencies (equation 12).

    ``selection`` is L(x) for each key, a predicate or a weight; without it every key counts once.
    Equal frequencies are computed once.
    """
    i, place = np.unique(check_frequencies(frequencies), return_inverse=True)
    chosen = np.ones(len(place)) if selection is None else np.asarray(selection, dtype=np.float64)
    if chosen.shape != place.shape:
        raise InvalidInput("selection must have one entry for each frequency.")
    each = moments(law, estimator, i)
    weight = np.bincount(place, chosen, minlength=len(i))
    bias = float(weight @ each.bias)
    variance = float(np.bincount(place, chosen**2, minlength=len(i)) @ each.variance)
    total = abs(float(weight @ estimator.g(i.astype(np.float64))))
    mse = variance + bias**2
    return PopulationError(bias, variance, mse, math.sqrt(mse) / total if total else math.nan)
