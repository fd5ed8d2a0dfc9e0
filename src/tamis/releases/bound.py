"""Choosing keys_per_unit privately."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tamis.privacy import composition, randomness
from tamis.privacy.guarantee import Guarantee

CHOICES = (1, 2, 4, 8, 16, 32, 64, 128)


def halves(epsilon: float, delta: float, elements_per_key: int, sampled: bool) -> list[int]:
    """The frequency at which half of the keys are named, for every bound that may be chosen."""
    return [
        composition.choose(Guarantee(epsilon, delta, k, elements_per_key), sampled).half
        for k in CHOICES
    ]


def choose(spread: npt.NDArray[np.int64], half: list[int], epsilon: float) -> int:
    """The bound at which the rarest key that is still named was the least frequent before bounding.

    ``spread`` says how many units have 1, 2, 3 to 4, ..., 65 to 128, and more keys. A unit with c
    keys keeps min(c, k) of them, so a share r(k) of all pairs is kept, and a key of frequency w is
    left with about r(k) w: the k with the least half(k) / r(k) is taken.

    Guarantee: epsilon-differential privacy (delta = 0) when one unit is added or removed: it
    changes one of the numbers by one, and each gets two-sided geometric noise of rate epsilon.
    """
    rate = Fraction(repr(epsilon))
    noisy = [max(0, int(n) + randomness.two_sided_geometric(rate)) for n in spread]
    typical = [1, 2, *(0.75 * k for k in CHOICES[2:]), 1.5 * CHOICES[-1]]
    pairs = sum(n * c for n, c in zip(noisy, typical, strict=True))
    if not pairs:
        return CHOICES[0]

    def threshold(choice: int) -> float:
        k = CHOICES[choice]
        kept = sum(n * min(c, k) for n, c in zip(noisy, typical, strict=True))
        return half[choice] * pairs / kept

    return CHOICES[min(range(len(CHOICES)), key=threshold)]
