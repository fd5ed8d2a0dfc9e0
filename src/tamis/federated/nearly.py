"""What several rounds cost, in floating point: a hundred times as fast as `rounds.delta`.

It is for looking for settings, and promises nothing: what is found is checked with that one. All
steps are the same (`privacy.verify.rounds_together`), so that both are nearly equal: the profile of
a round at the points of a grid, joined by straight lines, is that of a loss; losses add up; and
what leaves the grid above is infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.signal import fftconvolve

from tamis.federated.rounds import HIGHEST, Grid, Settings

Floats = npt.NDArray[np.float64]
Law = tuple[Floats, float]  # masses of losses on a grid around 0, and that of infinity
Rounds = list[tuple[Law, int]]

_MOST = 200_000  # others that a checker looks at
_NOTHING = 1e-30
_HALVINGS = 30


def nearly(settings: Settings, epsilon: Fraction, replaced: bool, grid: Grid) -> float:
    """`rounds.delta`, nearly: to ten digits where it is above 10^-30."""
    ways: tuple[Rounds, Rounds] = ([], [])
    for parts, tau, times in settings:
        up, down = _profile(parts / (1 << 32), tau, grid)
        ways[0].append((_losses(up, down, grid), times))
        ways[1].append((_losses(down, up, grid), times))
    together = [ways[0] + ways[1]] if replaced else ways
    with np.errstate(over="ignore", invalid="ignore"):  # far above 1
        found = max(_excess(rounds, float(epsilon), grid) for rounds in together)
    return found if found < 1 else 1.0


def _profile(p: float, tau: int, grid: Grid) -> tuple[Floats, Floats]:
    """What one round costs a client that is added, and one that is removed, at 1, base, base^2...

    These are `profile.added` and `profile.removed`.
    """
    x = np.exp(grid.step * np.arange(grid.span + 1))

    def added(k: Floats) -> Floats:
        tail = stats.binom.sf(tau - 1, k, p)
        return np.asarray(p * stats.binom.pmf(tau - 1, k, p) - (x - 1) * tail)

    def removed(k: Floats) -> Floats:
        tail = stats.binom.cdf(tau - 1, k, p)
        return np.asarray(x * p * stats.binom.pmf(tau - 1, k, p) - (x - 1) * tail)

    up, down = 1 - (1 - p) / x, 1 - (1 - p) * x
    gone = np.where(down > 0, _largest(removed, down, p, tau), 0.0)
    return _largest(added, up, p, tau), np.minimum.accumulate(gone)


def _largest(cost: Callable[[Floats], Floats], share: Floats, p: float, tau: int) -> Floats:
    """At the worst number of others; or p, which it never exceeds, if a checker goes not so far."""
    k = np.maximum(np.ceil((tau - 1) / np.maximum(share, _NOTHING)), tau) - 1
    most = int(min(_MOST, 16 * tau / p))
    return np.where(k > most, p, np.clip(cost(np.minimum(k, most)), 0, p))


def _losses(above: Floats, below: Floats, grid: Grid) -> Law:
    """The law whose profile joins ``above`` at base^n, and 1 - x + x ``below`` at x = base^-n."""
    x = np.exp(grid.step * np.arange(-grid.span, grid.span + 1))
    # 1 - x is left out at first: beside its slope, -1, those of the rest would lose their digits
    rest = np.concatenate([[0.0], x[: grid.span] * below[:0:-1], above])
    slopes = np.append(np.diff(rest) / np.diff(np.append(0.0, x)), 0.0)
    mass = np.diff(slopes)
    mass[grid.span] += 1
    return np.maximum(0, mass * x), float(above[-1])


def _excess(rounds: Rounds, epsilon: float, grid: Grid) -> float:
    """Delta at epsilon for a sum of losses."""
    tilt = Tilt.to(epsilon, rounds, grid)
    mass, beyond = reduce(tilt.plus, (tilt.times(tilt.tilted(law), n) for law, n in rounds))
    losses = grid.step * np.arange(1, len(mass) // 2 + 1)
    return float(beyond + tilt.upright(mass, 0) @ np.maximum(0, -np.expm1(epsilon - losses)))


@dataclass(frozen=True)
class Tilt:
    """Masses of losses are multiplied by e^(power loss), so that large ones are the likely ones.

    A Fourier transform is off by 2^-50 of the largest mass: otherwise delta would drown in that.
    """

    power: float
    grid: Grid

    @classmethod
    def to(cls, epsilon: float, rounds: Rounds, grid: Grid) -> Tilt:
        """The one for which epsilon is the mean of the sum; or nearly none, if that is larger."""
        low, high = 0.0, 100 / min(epsilon, HIGHEST)  # e^200 times as likely is more than needed
        losses = grid.step * np.arange(-grid.span, grid.span + 1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tilt = np.exp(middle * losses)
            mean = sum(n * (mass @ (tilt * losses)) / (mass @ tilt) for (mass, _), n in rounds)
            low, high = (low, middle) if mean >= epsilon else (middle, high)
        return cls(low, grid)

    def tilted(self, law: Law) -> Law:
        half = len(law[0]) // 2
        return law[0] * np.exp(self.power * self.grid.step * np.arange(-half, half + 1)), law[1]

    def upright(self, mass: Floats, after: int) -> Floats:
        """The true masses of the losses after one of the grid, which is not below 0."""
        half = len(mass) // 2
        losses = self.grid.step * np.arange(after + 1, half + 1)
        return np.asarray(mass[half + after + 1 :] * np.exp(-self.power * losses))

    def times(self, law: Law, rounds: int) -> Law:
        """The law of the sum of so many losses."""
        if rounds == 1:
            return law
        half = self.times(law, rounds // 2)
        both = self.plus(half, half)
        return self.plus(both, law) if rounds % 2 else both

    def plus(self, one: Law, other: Law) -> Law:
        """The law of the sum of two losses; what leaves the grid above is infinite."""
        mass = np.maximum(0, fftconvolve(one[0], other[0]))
        half = len(mass) // 2
        cut = max(0, half - self.grid.reach)
        beyond = one[1] + other[1] + float(self.upright(mass, half - cut).sum())
        return mass[cut : len(mass) - cut], beyond
