"""How many rows, pairs and keys each stage on Spark is given and hands on, in expectation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """So many rows in so many partitions; keys are those that are possible, users have 4 of them.

    Shuffled is the number of partitions after a shuffle.
    """

    rows: int
    keys: int
    users: int
    partitions: int
    shuffled: int
    keys_per_unit: int = 4


@dataclass(frozen=True)
class Law:
    """Groups of keys that are alike: how many a group has, and its share of all rows."""

    keys: Floats
    shares: Floats

    def different(self, draws: float, units: float = 1) -> Floats:
        """Of each group, how many different pairs of unit and key so many rows have."""
        pairs = self.keys * units
        return -pairs * np.expm1(-draws * self.shares / pairs)


@dataclass(frozen=True)
class Flow:
    """What goes into a stage, and what goes out of it to be shuffled."""

    into: float
    out: float = 0.0


def uniform(keys: int) -> Law:
    """Every key is as frequent as every other."""
    return Law(np.array([float(keys)]), np.array([1.0]))


def zipf(keys: int, power: float, groups: int = 20_000) -> Law:
    """The key of rank r has about r^-power of the rows: first ranks alone, then ever more of them.

    The share of the ranks from a to b is that of the law from which `Events` draws.
    """
    edges = np.unique(np.rint(np.geomspace(1, keys, groups)))
    below = (1 - edges ** (1 - power)) / (1 - float(keys) ** (1 - power))
    return Law(np.diff(edges), np.diff(below))


def flows(setting: Setting, law: Law) -> dict[tuple[str, str], Flow]:
    """Of every stage. Users are all alike, and are where their rows fall, in any partition."""
    parts, after = setting.partitions, setting.shuffled
    rows, users = float(setting.rows), float(setting.users)
    pairs = law.different(rows, users)
    kept = min(pairs.sum(), setting.keys_per_unit * users)
    bounded = Law(law.keys, pairs / pairs.sum())
    return {
        ("rows", "group by key"): Flow(rows, parts * law.different(rows / parts).sum()),
        ("rows", "draw, name"): Flow(law.different(rows).sum()),
        ("units", "group by unit and key"): Flow(
            rows, parts * law.different(rows / parts, users).sum()
        ),
        ("units", "bound units, group by key"): Flow(
            pairs.sum(), after * bounded.different(kept / after).sum()
        ),
        ("units", "draw, name"): Flow(bounded.different(kept).sum()),
    }
