"""OpenDP 0.16: noisy counts, and only those above a threshold, by its own two measurements.

Counts are floats, or whole numbers, which are faster. Those have a whole threshold, and what is
stated of them is too little: a count that is equal to the threshold is released, but not paid for
(opendp/opendp issue 2922). So it is one higher here, which names fewer keys where a unit has few;
from `WHOLE` keys on that makes no difference, and they are taken. (Its Polars interface names as
many as these, in several times the time.) A float with noise is equal to the threshold with a
probability that is nil.
"""

from __future__ import annotations

import functools
import importlib
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.peers.worker import Found, Method, main
else:  # run as a script, whose folder is where it looks
    from worker import main

dp: Any = importlib.import_module("opendp.prelude")
polars: Any = importlib.import_module("polars")
dp.enable_features("contrib")

WHOLE = 4
_THRESHOLDS = (1.0, 1e9)  # the second lets nothing through, and costs nothing
_WIDER = (1.01, 1.02, 1.03, 1.04)


def laplace(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """Noise takes all of epsilon, and the threshold all of delta."""
    if keys_per_unit >= WHOLE:
        return _measured(path, _whole(epsilon, delta, keys_per_unit), polars.Int64)
    return _measured(path, _laplace(epsilon, delta, keys_per_unit))


def gaussian(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """By concentrated privacy, which OpenDP turns into epsilon and the rest of delta."""
    return _measured(path, _gaussian(epsilon, delta, keys_per_unit))


@functools.cache
def _laplace(epsilon: float, delta: float, keys_per_unit: int) -> Any:
    """The least noise, then the least threshold."""
    changed = _changed(keys_per_unit)

    def measurement(scale: float, threshold: float) -> Any:
        return dp.m.make_laplace_threshold(*_space(dp.l01inf_distance), scale, threshold)

    scale = dp.binary_search(
        lambda s: measurement(s, _THRESHOLDS[1]).map(changed)[0] <= epsilon, T=float
    )
    threshold = dp.binary_search(
        lambda t: measurement(scale, t).map(changed)[1] <= delta, _THRESHOLDS
    )
    return measurement(scale, threshold)


@functools.cache
def _whole(epsilon: float, delta: float, keys_per_unit: int) -> Any:
    """The same for whole counts, with a threshold that is one more than what is stated needs."""
    changed = keys_per_unit, keys_per_unit, 1
    space = _space(dp.l01inf_distance, "i64")

    def measurement(scale: float, threshold: int) -> Any:
        return dp.m.make_laplace_threshold(*space, scale, threshold)

    scale = dp.binary_search(lambda s: measurement(s, 10**9).map(changed)[0] <= epsilon, T=float)
    least = dp.binary_search(lambda t: measurement(scale, t).map(changed)[1] <= delta, (1, 10**9))
    return measurement(scale, least + 1)


@functools.cache
def _gaussian(epsilon: float, delta: float, keys_per_unit: int) -> Any:
    """With a little more noise than the least, more of delta is left for the threshold.

    Of some such widths, that with the least threshold.
    """
    changed = _changed(keys_per_unit)

    def measurement(scale: float, threshold: float) -> Any:
        return dp.m.make_gaussian_threshold(*_space(dp.l02inf_distance), scale, threshold)

    def spent(scale: float, threshold: float) -> float:
        concentrated = measurement(scale, threshold)
        if concentrated.map(changed)[1] >= delta:
            return math.inf
        approximate = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(concentrated), delta)
        return float(approximate.map(changed)[0])

    def least_threshold(scale: float) -> float:
        return float(dp.binary_search(lambda t: spent(scale, t) <= epsilon, _THRESHOLDS))

    least = dp.binary_search(lambda s: spent(s, _THRESHOLDS[1]) <= epsilon, T=float)
    threshold, scale = min((least_threshold(wider * least), wider * least) for wider in _WIDER)
    return measurement(scale, threshold)


def _space(metric: Any, kind: str = "f64") -> tuple[Any, Any]:
    """Counts by key, and what of them is changed."""
    numbers = dp.atom_domain(T=kind, nan=False) if kind == "f64" else dp.atom_domain(T=kind)
    counts = dp.map_domain(dp.atom_domain(T="String"), numbers)
    return counts, metric(dp.absolute_distance(T=kind))


def _changed(keys_per_unit: int) -> tuple[int, float, float]:
    """How many counts a unit changes, by how much in all, and each.

    From the first and the last OpenDP finds what is less in place of the second: for Gaussian
    noise, a root.
    """
    return keys_per_unit, float(keys_per_unit), 1.0


def _measured(path: str, measurement: Any, kind: Any = polars.Float64) -> Found:
    """A unit has a key once, so that rows are units."""
    units = polars.len().cast(kind)
    counts = polars.read_parquet(path, columns=["key"]).group_by("key").agg(units)
    return dict(measurement(dict(counts.iter_rows())))


METHODS: dict[str, Method] = {"laplace": laplace, "gaussian": gaussian}

if __name__ == "__main__":
    main(METHODS)
