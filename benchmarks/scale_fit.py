"""Slopes: what a stage costs for each that goes in and for each that goes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.scale_law import Flow
from benchmarks.scale_stages import Shuffle, Stage


@dataclass(frozen=True)
class Slopes:
    """Seconds of a core, and bytes that are shuffled, for each in and out; none is negative."""

    constant: float
    seconds_in: float
    seconds_out: float
    bytes_in: float
    bytes_out: float

    def core_seconds(self, flow: Flow) -> float:
        return self.constant + self.seconds_in * flow.into + self.seconds_out * flow.out

    def bytes(self, flow: Flow) -> float:
        return self.bytes_in * flow.into + self.bytes_out * flow.out


def fitted(stages: Sequence[Stage]) -> Slopes:
    """Of one stage in several settings."""
    seconds = plane([stage.flow for stage in stages], [stage.core_seconds for stage in stages])
    first = [stage.shuffles[0] for stage in stages if len(stage.shuffles) > 1]
    last = [stage.shuffles[-1] for stage in stages if stage.shuffles]
    return Slopes(*seconds, _for_each(first), _for_each(last))


def plane(flows: Sequence[Flow], costs: Sequence[float]) -> tuple[float, float, float]:
    """A constant, and a cost for each in and out, by least squares of what they are off in parts.

    Where nothing goes out anywhere, the last is 0.
    """
    counts = np.array([[1.0, flow.into, flow.out] for flow in flows])
    scales = np.maximum(counts.max(axis=0), 1.0)
    weights = 1 / np.array(costs)
    found, _ = nnls(counts / scales * weights[:, None], np.ones(len(flows)))
    constant, into, out = (float(number) for number in found / scales)
    return constant, into, out


def _for_each(shuffles: Sequence[Shuffle]) -> float:
    """Bytes of a record, over all settings."""
    records = sum(shuffle.records for shuffle in shuffles)
    return sum(shuffle.bytes for shuffle in shuffles) / records if records else 0.0
