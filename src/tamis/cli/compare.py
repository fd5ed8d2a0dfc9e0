"""What a plan would do, next to the classical ways, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.cli.shape import Shape
from tamis.cli.units import Units
from tamis.sampling.schemes import Everything
from tamis.weighted.plan import Plan, make_plan
from tamis.weighted.selections import GaussianThreshold, LaplaceThreshold

Floats = npt.NDArray[np.float64]
MODEL = (
    "Of a unit with more keys than the bound, so many are kept, at random; a key is left with the "
    "share of its frequency that is kept on average. A small bound drops data, a large one adds "
    "noise. Suggested is the bound with which half are named from the lowest frequency before "
    "bounding, as --keys-per-unit auto would choose it. What is released are frequencies after "
    "bounding: where little is kept, they are low."
)


@dataclass(frozen=True)
class Way:
    """One way to name keys: its name, how likely a key is named, and from where on half are."""

    name: str
    reporting: Callable[[Any], Any]
    half: int | None

    def expected(self, frequencies: npt.NDArray[np.int64]) -> float:
        values, many = np.unique(frequencies, return_counts=True)
        return float(np.sum(np.asarray(self.reporting(values)) * many))


def ways(plan: Plan) -> list[Way]:
    """The plan first; then the classical ways, where they promise the same."""
    mine = [Way("tamis", plan.reporting, plan.half)]
    g = plan.guarantee
    if g.elements_per_key > 1 or not isinstance(plan.scheme, Everything):
        return mine
    laplace = LaplaceThreshold(g.epsilon, g.delta, g.keys_per_unit)
    gauss = GaussianThreshold(g.epsilon, g.delta, g.keys_per_unit)
    return [
        *mine,
        Way("Laplace and threshold", laplace.reporting, laplace.half()),
        Way("Gaussian and threshold", gauss.reporting, gauss.half()),
    ]


def frequencies(found: Sequence[Way], points: int) -> npt.NDArray[np.int64]:
    """Frequencies for a chart, from 1 to somewhat beyond where most keys are named."""
    halves = [way.half for way in found if way.half is not None]
    beyond = 1.35 if len(found) > 1 else 3
    most = max(points, round(beyond * max(halves, default=1000)))
    return np.unique(np.rint(np.linspace(1, most, points)).astype(np.int64))


def suggestions(plan: Plan, units: Units, shape: Shape | None) -> list[dict[str, Any]]:
    """What is kept, and what would be named, with other bounds on the keys per unit."""
    rows = []
    for keys in units.bounds(plan.guarantee.keys_per_unit):
        promised = replace(plan.guarantee, keys_per_unit=keys)
        other = make_plan(promised, plan.scheme, plan.mechanism.tokens, plan.coverage)
        kept = units.kept(keys)
        before = None if other.half is None else other.half / kept
        row = {"keys_per_unit": keys, "kept": kept, "half": other.half, "before": before}
        if shape is not None:
            row["expected"] = other.expected(shape.left(kept))
        rows.append(row)
    return rows


def best(rows: Sequence[dict[str, Any]]) -> int | None:
    """The bound with which keys are named from the lowest frequency before bounding."""
    named = [row for row in rows if row["before"] is not None]
    return min(named, key=lambda row: row["before"])["keys_per_unit"] if named else None


def describe(
    plan: Plan, shape: Shape | None = None, units: Units | None = None, suggest: bool = False
) -> dict[str, Any]:
    """All of it as JSON can hold it."""
    found = ways(plan)
    at = frequencies(found, 60)
    document: dict[str, Any] = {
        "guarantee": plan.guarantee.describe(),
        "curve": plan.curve.describe(),
        "scheme": plan.scheme.rule(),
        "half": {way.name: way.half for way in found},
        "frequency": at.tolist(),
        "named": {way.name: np.asarray(way.reporting(at)).tolist() for way in found},
    }
    kept = 1.0 if units is None else units.kept(plan.guarantee.keys_per_unit)
    if units is not None:
        document["units"] = {"have": units.name, "kept": kept}
    if shape is not None:
        document["shape"] = {"name": shape.name, "keys": len(shape.frequencies)}
        left = shape.left(kept)
        document["expected"] = {way.name: way.expected(left) for way in found}
    if units is not None and suggest:
        rows = suggestions(plan, units, shape)
        document |= {"suggestions": rows, "suggested": best(rows), "model": MODEL}
    return document
