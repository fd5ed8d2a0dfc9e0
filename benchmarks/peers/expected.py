"""What the law of a method expects of its figures: exact, where runs are few and left to chance.

Every library draws for each key on its own, so that a figure of all keys is a sum over them. Of a
key of frequency f and its noise Z, four numbers are enough: E[N |Z|^p] for p = 0, 1, 2 and 4, where
N is 1 if the key is named and 0 if not. The last one tells how far runs are from what is expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import gamma, gammaincc

import tamis
from benchmarks.peers.laws import DELTA, EPSILON
from benchmarks.peers.results import TOP, Expected, Figure
from tamis.sampling.schemes import Everything
from tamis.weighted.laws import Law as TokenLaw
from tamis.weighted.laws import SurvivalLaw
from tamis.weighted.mechanism import Tokens

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Kind = Literal["Laplace", "geometric", "Gaussian", "discrete Gaussian"]
Moments = Floats  # a row for each of these powers, a column for each frequency
POWERS = (0, 1, 2, 4)
_FAR = 60  # scales, beyond which no noise is looked for


@dataclass(frozen=True)
class Drawn:
    """A count with noise, that is named if it is above the threshold, or also if it is equal.

    ``cut``: the digits after the point are dropped, after the threshold. ``naming``: the draw that
    names keys, if it is another one than that which counts them; then this has no threshold.
    """

    noise: Kind
    scale: float
    threshold: float = -math.inf
    equal: bool = True
    cut: bool = False
    naming: Drawn | None = None

    def moments(self, frequencies: Ints) -> Moments:
        if self.naming is not None:
            everywhere = Drawn(self.noise, self.scale, cut=self.cut).moments(frequencies)
            return np.asarray(everywhere * self.naming.moments(frequencies)[0])
        away = np.maximum(self.threshold, -1e9) - frequencies
        if self.noise in ("geometric", "discrete Gaussian"):
            return _whole(self, np.ceil(away) if self.equal else np.floor(away) + 1)
        return _cut(self, away) if self.cut else _smooth(self, away)


@dataclass(frozen=True)
class Ours:
    """A release of tamis, by the rows of its law."""

    keys: int
    tokens: Tokens

    def moments(self, frequencies: Ints) -> Moments:
        """Of keys that are frequent enough, none differs from another."""
        planned = tamis.plan(EPSILON, DELTA, self.keys, tokens=self.tokens)
        most = 4 * planned.mechanism.law.width
        unique, place = np.unique(np.minimum(frequencies, most), return_inverse=True)
        highest = most + planned.mechanism.head_start
        estimate = np.append(0.0, planned.estimator.frequencies(np.arange(1, highest + 1)))
        return _rows(planned.mechanism.law, estimate, unique)[:, place]


@dataclass(frozen=True)
class NamesOnly:
    """Google's truncated geometric selection: for one key, what is best under its guarantee."""

    epsilon: float
    delta: float

    def moments(self, frequencies: Ints) -> Moments:
        named = SurvivalLaw(self.epsilon, self.delta, Everything()).reporting(frequencies)
        return np.stack([named, *[np.zeros_like(named)] * (len(POWERS) - 1)])


Law = Drawn | Ours | NamesOnly


def expected(law: Law, frequencies: Iterable[int], runs: int) -> Expected:
    """The figures of so many runs, each with the standard error that it should have."""
    all_keys = np.sort(np.fromiter(frequencies, dtype=np.int64))[::-1]
    found = law.moments(all_keys)
    named = found[0]
    chance = np.maximum(named * (1 - named), 0.0)  # sums of probabilities may round to above 1
    return Expected(
        Figure(float(named.sum()), math.sqrt(float(chance.sum()) / runs)),
        _root(_ratio(found[0], found[2], found[3], runs)),
        _root(_of_top(found[:, :TOP], all_keys[:TOP].astype(np.float64), runs)),
        _ratio(found[0], found[1], found[2], runs),
    )


def _ratio(named: Floats, value: Floats, square: Floats, runs: int) -> Figure | None:
    """The expected sum of a value over named keys, over the expected number of those."""
    total = float(named.sum())
    if not total:
        return None
    mean = float(value.sum()) / total
    spread = square - 2 * mean * value + mean**2 * named - (value - mean * named) ** 2
    return Figure(mean, math.sqrt(max(float(spread.sum()), 0.0) / runs) / total)


def _of_top(found: Moments, frequency: Floats, runs: int) -> Figure:
    """The mean square error of keys that count as 0 if they are not named."""
    named, _, square, fourth = found
    missed = frequency**2
    mean = square + (1 - named) * missed
    spread = fourth + (1 - named) * missed**2 - mean**2
    many = len(frequency)
    return Figure(float(mean.mean()), math.sqrt(max(float(spread.sum()), 0.0) / runs) / many)


def _root(square: Figure | None) -> Figure | None:
    """Its standard error is that of the square, over twice the root."""
    if square is None:
        return None
    root = math.sqrt(square.value)
    return Figure(root, (square.spread or 0.0) / (2 * root) if root else 0.0)


def _smooth(law: Drawn, away: Floats) -> Moments:
    """E[|Z|^p; Z >= away] of noise with a density."""
    halves = [partial(_HALVES[law.noise], power, law.scale) for power in POWERS]
    return np.stack([_above(half, away) for half in halves])


def _above(tail: Callable[[Floats], Floats], away: Floats) -> Floats:
    """The tail of what is symmetric, below 0 too."""
    beyond = tail(np.abs(away))
    return np.where(away >= 0, beyond, 2 * tail(np.zeros(1)) - beyond)


def _laplace(power: int, scale: float, x: Floats) -> Floats:
    """E[Z^p; Z >= x] for x >= 0."""
    return np.asarray(scale**power * gamma(power + 1) * gammaincc(power + 1, x / scale) / 2)


def _gaussian(power: int, sigma: float, x: Floats) -> Floats:
    """The same."""
    order = (power + 1) / 2
    whole = sigma**power * 2 ** (power / 2) * gamma(order) / math.sqrt(math.pi)
    return np.asarray(whole * gammaincc(order, x**2 / (2 * sigma**2)) / 2)


_HALVES: dict[str, Callable[[int, float, Floats], Floats]] = {
    "Laplace": _laplace,
    "Gaussian": _gaussian,
}


def _whole(law: Drawn, least: Floats) -> Moments:
    """E[|Z|^p; Z >= least] of noise in whole numbers."""
    far = math.ceil(_FAR * law.scale)
    steps = np.arange(-far, far + 1, dtype=np.float64)
    power = np.abs(steps) / law.scale if law.noise == "geometric" else (steps / law.scale) ** 2 / 2
    mass = np.exp(-power)
    return _sums(np.abs(steps), mass / mass.sum(), least + far)


def _cut(law: Drawn, away: Floats) -> Moments:
    """Of a true count plus noise, the digits after the point are dropped once it is named.

    What is named is above 0, so that f + Z becomes f + floor(Z). Of the step that the threshold
    is in, the part above it is named.
    """
    far = math.ceil(_FAR * law.scale)
    steps = np.arange(-far, far + 1, dtype=np.float64)
    survival = partial(_above, partial(_HALVES[law.noise], 0, law.scale))
    first = np.clip(np.floor(away), -far, far)
    above = _sums(np.abs(steps), survival(steps) - survival(steps + 1), first + 1 + far)
    part = survival(np.maximum(away, -far)) - survival(first + 1)
    return np.asarray(above + np.stack([part * np.abs(first) ** p for p in POWERS]))


def _sums(sizes: Floats, mass: Floats, place: Floats) -> Moments:
    """The sums of mass times size^p from each place on."""
    place = np.clip(place, 0, len(mass)).astype(np.int64)
    rows = [np.append(np.cumsum((mass * sizes**p)[::-1])[::-1], 0.0)[place] for p in POWERS]
    return np.stack(rows)


def _rows(law: TokenLaw, estimate: Floats, frequencies: Ints) -> Moments:
    """By the row of each frequency, and what each token is estimated as."""
    moments = np.empty((len(POWERS), len(frequencies)))
    for n, frequency in enumerate(frequencies.tolist()):
        tokens, probability = law.row(frequency)
        away = np.abs(estimate[tokens] - frequency)
        moments[:, n] = [float(probability @ away**p) for p in POWERS]
    return moments
