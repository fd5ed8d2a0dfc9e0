"""What a plan would do, next to the classical ways, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.cli.shape import Shape
from tamis.sampling.schemes import Everything
from tamis.weighted.plan import Plan
from tamis.weighted.plan import plan as make_plan
from tamis.weighted.selections import GaussianThreshold, LaplaceThreshold

Floats = npt.NDArray[np.float64]
CHOICES = (1, 2, 4, 8, 16, 32, 64, 128)
CAVEAT = (
    "A smaller bound also cuts what units with many keys contribute. The shape cannot know how "
    "much: it counts frequencies as given."
)


@dataclass(frozen=True)
class Way:
    """One way to name keys: its name, how likely a key is named, and from where on half are."""

    name: str
    reporting: Callable[[Any], Any]
    half: int | None

    def expected(self, shape: Shape) -> float:
        values, many = np.unique(shape.frequencies, return_counts=True)
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


def suggestions(plan: Plan, shape: Shape) -> list[dict[str, Any]]:
    """What other bounds on keys per unit would name of this shape."""
    g = plan.guarantee
    rows = []
    for keys in CHOICES:
        other = make_plan(
            g.epsilon, g.delta, keys, g.elements_per_key, unit=g.unit, scheme=plan.scheme
        )
        named = other.expected(shape.frequencies)
        rows.append({"keys_per_unit": keys, "half": other.half, "expected": named})
    return rows


def describe(plan: Plan, shape: Shape | None = None, suggest: bool = False) -> dict[str, Any]:
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
    if shape is not None:
        document["shape"] = {"name": shape.name, "keys": len(shape.frequencies)}
        document["expected"] = {way.name: way.expected(shape) for way in found}
    if shape is not None and suggest:
        document["suggestions"] = suggestions(plan, shape)
        document["caveat"] = CAVEAT
    return document
