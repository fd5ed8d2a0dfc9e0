"""OpenDP 0.16: noisy counts, and only those above a threshold, by its own two measurements.

Counts are floats, or whole numbers, which are faster. Those have a whole threshold, and what is
stated of them is too little: a count that is equal to the threshold is released, but not paid for
(opendp/opendp issue 2922). So it is as much higher here as is needed. A float with noise is equal
to the threshold with a probability that is nil. (Its Polars interface names as many as these, in
several times the time.)

Gaussian noise is accounted for as concentrated privacy, which OpenDP turns into epsilon and delta:
that states more than is spent. So noise and threshold are what the true guarantee needs.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.peers.gaussian import WIDER, one_of, told
    from benchmarks.peers.worker import Found, Method, main
else:  # run as a script, whose folder is where it looks
    from gaussian import WIDER, one_of, told
    from worker import main

dp: Any = importlib.import_module("opendp.prelude")
polars: Any = importlib.import_module("polars")
dp.enable_features("contrib")

_THRESHOLDS = (1.0, 1e9)  # the second lets nothing through, and costs nothing
_WHOLE_THRESHOLDS = (1, 10**9)
_FAR = 40  # standard deviations, beyond which there is no noise


def laplace(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """Noise takes all of epsilon, and the threshold all of delta."""
    return _measured(path, _laplace(epsilon, delta, keys_per_unit))


def geometric(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """The same for whole counts."""
    return _measured(path, _geometric(epsilon, delta, keys_per_unit), polars.Int64)


def gaussian(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """Noise and threshold may each spend all of delta."""
    return _measured(path, _gaussian(epsilon, delta, keys_per_unit))


def discrete_gaussian(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """The same for whole counts."""
    return _measured(path, _discrete_gaussian(epsilon, delta, keys_per_unit), polars.Int64)


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
def _geometric(epsilon: float, delta: float, keys_per_unit: int) -> Any:
    """With a threshold that is one more than what is stated needs, which is then what is true."""
    changed = keys_per_unit, keys_per_unit, 1
    space = _space(dp.l01inf_distance, "i64")

    def measurement(scale: float, threshold: int) -> Any:
        return dp.m.make_laplace_threshold(*space, scale, threshold)

    most = _WHOLE_THRESHOLDS[1]
    scale = dp.binary_search(lambda s: measurement(s, most).map(changed)[0] <= epsilon, T=float)
    least = dp.binary_search(
        lambda t: measurement(scale, t).map(changed)[1] <= delta, _WHOLE_THRESHOLDS
    )
    return measurement(scale, least + 1)


@functools.cache
def _gaussian(epsilon: float, delta: float, keys_per_unit: int) -> Any:
    """Noise may spend all of delta, and so may the threshold (`gaussian.told` says why)."""
    scale = told(epsilon, delta, keys_per_unit).scale
    threshold = 1 - scale * NormalDist().inv_cdf(one_of(delta, keys_per_unit))
    return dp.m.make_gaussian_threshold(*_space(dp.l02inf_distance), scale, threshold)


@functools.cache
def _discrete_gaussian(epsilon: float, delta: float, keys_per_unit: int) -> Any:
    """The same, a little wider: in whole numbers a little more is spent, above all of one key."""
    scale = WIDER * told(epsilon, delta, keys_per_unit).scale
    named = one_of(delta, keys_per_unit)
    least = next(n for n in itertools.count(1) if _at_least(n, scale) <= named)
    return dp.m.make_gaussian_threshold(*_space(dp.l02inf_distance, "i64"), scale, 1 + least)


def _at_least(number: int, scale: float) -> float:
    """The probability that discrete Gaussian noise is at least this."""
    far = math.ceil(_FAR * scale)
    if number > far:
        return 0.0
    weights = [math.exp(-((x / scale) ** 2) / 2) for x in range(far + 1)]
    return math.fsum(weights[number:]) / (2 * math.fsum(weights) - 1)


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


METHODS: dict[str, Method] = {
    "laplace": laplace,
    "geometric": geometric,
    "gaussian": gaussian,
    "discrete gaussian": discrete_gaussian,
}

if __name__ == "__main__":
    main(METHODS)
