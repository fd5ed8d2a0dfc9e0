"""Bottom-k samples: the k keys with the smallest seeds, so a size that is fixed beforehand.

**A bottom-k sample must not be sanitised with its own tau**: the (k+1)-th smallest seed is computed
from the data and is not private. Sanitise a sample whose tau was chosen privately (`private_tau`)
or without the data; see `tamis.sampling.threshold`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tamis.sampling.frequencies import check_frequencies, check_whole
from tamis.sampling.schemes import Everything, Pps, Ppswor, Scheme

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Kind = Literal["ppswor", "priority"]

_SCHEMES: dict[str, type[Pps] | type[Ppswor]] = {"ppswor": Ppswor, "priority": Pps}


@dataclass(frozen=True, eq=False)
class BottomK:
    """A bottom-k sample in the order of its seeds.

    ``tau`` is the (k+1)-th smallest seed, or infinity if every key was taken. It depends on the
    data: **it is not private**, and neither is the sample.
    """

    indices: Ints = field(repr=False)  # nothing of a sample that is not private is printed
    frequencies: Ints = field(repr=False)
    seeds: Floats = field(repr=False)
    tau: float = field(repr=False)
    kind: Kind
    power: float

    def __len__(self) -> int:
        return len(self.indices)

    def scheme(self) -> Scheme:
        """The threshold scheme that a key met, given the seeds of all others: q at this tau."""
        if math.isinf(self.tau):
            return Everything()
        return _SCHEMES[self.kind](self.tau, self.power)

    def inclusion(self) -> Floats:
        """q of each sampled key, given all other seeds; sums of g(w)/q estimate sums of g(w)."""
        return self.scheme().probability(self.frequencies)


def bottom_k(
    frequencies: npt.ArrayLike, k: int, kind: Kind = "ppswor", power: float = 1.0
) -> BottomK:
    """The k keys with the smallest seeds u_x / w^power.

    ``ppswor``: u_x ~ Exp[1]. Keys come as if drawn one after the other without replacement, each
    with probability proportional to w^power among those left. ``priority``: u_x ~ U[0, 1]
    (sequential Poisson, or priority sampling).

    Reference: Rosén (1997); Duffield, Lund, Thorup (2007); Cohen, Kaplan (2007).

    >>> sample = bottom_k([7, 1, 40], k=5)
    >>> len(sample), sample.tau, sample.scheme()
    (3, inf, Everything())
    """
    counts, size = check_frequencies(frequencies), check_whole(k, "k")
    if kind not in _SCHEMES:
        raise InvalidInput(f"kind must be 'ppswor' or 'priority', not {kind!r}.")
    grown = _SCHEMES[kind](1.0, power).size(counts)
    draw = randomness.exponentials if kind == "ppswor" else randomness.uniforms
    seeds = draw(len(counts)) / grown
    order = _smallest(seeds, size + 1)
    tau = float(seeds[order[size]]) if len(order) > size else math.inf
    taken = order[:size]
    return BottomK(taken, counts[taken], seeds[taken], tau, kind, power)


def _smallest(seeds: Floats, many: int) -> Ints:
    """Where the smallest seeds stand, smallest first; equal seeds in the order of the data."""
    near = np.arange(len(seeds))
    if many < len(seeds):
        near = np.flatnonzero(seeds <= np.partition(seeds, many - 1)[many - 1])
    order: Ints = near[np.argsort(seeds[near], kind="stable")][:many]
    return order
