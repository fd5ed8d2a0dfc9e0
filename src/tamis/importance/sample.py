"""Poisson importance sampling: each point by a secret coin of its own, with the weight 1/q.

A sample is **not private**, and neither is its size. What is private is what a mechanism that is
accounted for by `Sampler.epsilon` makes of it.

The coins are exact. q(x) is rounded up to a multiple of 2^-53, and a point is sampled if 53 random
bits are below it; its weight is 1/q, rounded down. Both roundings lower what is lost, because the
weights that keep a promise reach from 1 up to the largest one.

Reference: Fay, Mair, Sjölund, "Privacy amplification via importance sampling", Definition 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.importance.checks import as_points
from tamis.importance.profiles import Floats
from tamis.importance.samplers import Sampler
from tamis.importance.tables import Files, Paths, Progress, at_once, check_names, points_of
from tamis.privacy import randomness
from tamis.privacy.errors import BadData, InvalidInput, meant, shown
from tamis.sampling.arrow import quoted
from tamis.sampling.executors import checked
from tamis.sampling.spark import at_rest, guarded, is_frame

_PLACES = 53
_UNUSED = np.uint64(64 - _PLACES)


@dataclass(frozen=True, eq=False)
class WeightedSample:
    """Points, one in each row, and how many each stands for. Not private."""

    points: Floats
    weights: Floats

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.weights.shape != (len(self.points),):
            raise InvalidInput("a sample has one point in each row, and one weight for each point.")
        if not ((self.weights >= 1) & (self.weights < np.inf)).all():
            raise InvalidInput("weights must be finite and at least 1: a probability is at most 1.")

    def __len__(self) -> int:
        return len(self.points)


def poisson(points: npt.ArrayLike, sampler: Sampler) -> WeightedSample:
    """Sample the rows of an array, in their order. All of it is checked before a coin is tossed.

    >>> from tamis.importance.samplers import Uniform
    >>> poisson([[1.0, 2.0], [3.0, 4.0]], Uniform(1.0)).weights.tolist()
    [1.0, 1.0]
    """
    _check_sampler(sampler)
    if np.ma.isMaskedArray(points):  # numpy would give what is behind the mask
        raise BadData("points are masked; leave out the rows that are, and give a plain array.")
    rows = as_points(points)
    step = at_once(rows.shape[1])
    parts = (rows[start : start + step] for start in range(0, len(rows), step))
    return _joined((_tossed(part, sampler) for part in parts), rows.shape[1])


def sample_table(data: Any, columns: Sequence[str], sampler: Sampler) -> WeightedSample:
    """Sample the rows of a table: the columns, which hold numbers, are the coordinates.

    ``data`` is a pyarrow.Table or anything with ``__arrow_c_stream__`` (pandas and polars have it),
    or a DataFrame of Spark: then coins are tossed on the executors, and the sample comes back. A
    task that Spark runs again tosses anew, but one result of it is taken, whole.
    """
    _check_sampler(sampler)
    if is_frame(data):
        return _joined([_on_spark(data, columns, sampler)], len(check_names(columns)))
    return poisson(points_of(data, columns), sampler)


@guarded
def _on_spark(frame: Any, columns: Sequence[str], sampler: Sampler) -> tuple[Floats, Floats]:
    """The sample of a frame; rows that cannot be sampled come back with a weight of 0."""
    names = check_names(columns)
    at_rest(frame)
    if missing := [name for name in names if name not in frame.columns]:
        raise InvalidInput(f"data has no column {missing[0]!r}.{meant(missing[0], frame.columns)}")

    def tossed(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            try:
                found = _tossed(points_of(pa.Table.from_batches([batch]), places), sampler)
            except InvalidInput:  # said by the driver: Spark would log it with all that it holds
                found = np.zeros((1, len(names))), np.zeros(1)
            sides = [*found[0].T, found[1]]
            yield pa.RecordBatch.from_arrays(
                [pa.array(side) for side in sides], [*places, "weight"]
            )

    places = [f"x{n}" for n in range(len(names))]
    schema = ", ".join(f"{place} double" for place in (*places, "weight"))
    rows = frame.select(*map(quoted, names)).toDF(*places)
    sample = rows.mapInArrow(checked(tossed), schema).toArrow()
    weights = sample.column("weight").to_numpy()
    if (weights == 0).any():
        raise BadData(
            f"the columns {', '.join(names)} must hold numbers, finite and none missing, in all "
            "rows; leave out or repair the others."
        )
    points = np.column_stack([sample.column(place).to_numpy() for place in places])
    return points.reshape(-1, len(names)), weights


def sample_parquet(
    paths: Paths, columns: Sequence[str], sampler: Sampler, *, progress: Progress | None = None
) -> WeightedSample:
    """Sample the rows of Parquet files in one pass, however large they are.

    Memory holds about a million coordinates at a time, besides the sample. ``paths`` is a path, a
    pattern such as ``"part-*.parquet"``, or several. Names and types of columns are checked before
    anything is read. What rows hold is seen only as they come: if some are refused, the coins
    tossed so far have decided nothing that leaves.
    """
    _check_sampler(sampler)
    files = Files.of(paths, columns)
    kept = (_tossed(part, sampler) for part in files.points(progress))
    return _joined(kept, len(files.names))


def _tossed(points: Floats, sampler: Sampler) -> tuple[Floats, Floats]:
    """The points whose coins show heads, and their weights."""
    units = _units(sampler.probability(points), len(points))
    kept = (randomness.words(len(points)) >> _UNUSED) < units
    return points[kept], _weights(units[kept])


def _units(q: Floats, n: int) -> randomness.Words:
    """q in multiples of 2^-53, rounded up: exact, as scaling by a power of two is."""
    odds = np.asarray(q, dtype=np.float64)
    if odds.shape != (n,) or not ((odds >= 0) & (odds <= 1)).all():
        raise InvalidInput("a sampler must give a probability from 0 to 1 for every point.")
    return np.ceil(np.ldexp(odds, _PLACES)).astype(np.uint64)


def _weights(units: randomness.Words) -> Floats:
    """1/q, rounded down, or a point could count more than its odds allow."""
    nearest = 2.0**_PLACES / units
    exact = units & (units - np.uint64(1)) == 0  # only powers of two divide without a rest
    return np.where(exact, nearest, np.nextafter(nearest, 0.0))


def _joined(kept: Iterable[tuple[Floats, Floats]], dimensions: int) -> WeightedSample:
    none = (np.empty((0, dimensions)), np.empty(0))
    points, weights = zip(none, *kept, strict=True)
    return WeightedSample(np.concatenate(points), np.concatenate(weights))


def _check_sampler(sampler: object) -> None:
    if not isinstance(sampler, Sampler):
        raise InvalidInput(
            f"sampler must be a sampler such as Uniform or Optimal, not {shown(sampler)}."
        )
