"""What a summary says about itself. Nothing in it depends on data that is not private."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from tamis.privacy.errors import BadData, InvalidInput
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import REPLACED, Guarantee
from tamis.releases.parts import TOTAL, Part, plain_origin, read_part
from tamis.sparse.domain import Domain
from tamis.sparse.hashing import Hash
from tamis.sparse.recipe import METHODS, Recipe, sized

FORMAT = 1
SUMMARY = "summary"
CELLS = "the counts of the cells"
HELD = "the number of cells that hold something, with two-sided geometric noise"
ADDED = {"value": pa.int64(), "weight": pa.float64()}


@dataclass(frozen=True)
class AboutSummary:
    """The guarantee of a summary, how it was made, and where it came from.

    ``taus`` are the thresholds of its samples, one for each table of nodes; 0 if nothing was left
    out. A flat summary has one table, that of the cells.
    """

    guarantee: Guarantee
    recipe: Recipe
    taus: tuple[float, ...]
    parts: tuple[Part, ...]
    coverage: float = 0.95
    counted: str = "rows"
    filtered: bool = False
    entry: dict[str, Any] | None = None
    day: str = field(default_factory=lambda: date.today().isoformat())
    library: str = field(default_factory=lambda: version("tamis"))
    hashes: tuple[Hash, ...] = ()  # of a sketch, drawn without looking at the data

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that say which cell a row is, or which node."""
        names = self.recipe.domain.names
        if self.recipe.flat:
            return names
        if self.recipe.sketched:
            return ("row", "bucket")
        return tuple(f"{name} {what}" for name in names for what in ("level", "node"))

    @property
    def added(self) -> dict[str, pa.DataType]:
        return ADDED

    @property
    def chosen_size(self) -> list[Part]:
        """The part that chose the size, if one did."""
        return [part for part in self.parts if part.purpose == HELD]

    def check(self) -> None:
        """Refuse what does not add up: the parts, and the noise for what a unit may change."""
        g, r = self.guarantee, self.recipe
        spent = sum((exactly(part.epsilon) for part in self.parts), Fraction(0))
        cells = [part for part in self.parts if part.purpose == CELLS]
        fits = (
            spent <= exactly(g.epsilon)
            and len(cells) == 1
            and r.epsilon == exactly(cells[0].epsilon)
            and all(part.purpose in (CELLS, TOTAL, HELD) for part in self.parts)
            and all(part.delta == 0 for part in self.parts)
            and all(r.size == sized(r.domain, part.value or 0) for part in self.chosen_size)
            and g.delta == 0
            and _own_parameters(r)
            and r.change == change(g)
            and len(self.taus) == len(r.rules)
            and all(0 <= tau < float("inf") for tau in self.taus)
            and len(self.hashes) == (r.shape[1] if r.sketched else 0)
            and all(h.fits(r.domain.packed) for h in self.hashes)
        )
        if not fits:
            raise BadData("the parts of the summary do not add up to its guarantee.")

    def describe(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        r = self.recipe
        return {
            "format": FORMAT,
            "kind": SUMMARY,
            "guarantee": self.guarantee.describe(),
            "spent": [part.describe() for part in self.parts],
            "domain": r.domain.describe(),
            "method": r.method,
            "noise": "two-sided geometric, exact",
            "change": r.change,
            "size": r.size,
            "theta": r.theta,
            "tau": str(r.tau),
            "growth": str(r.growth),
            "taus": [repr(tau) for tau in self.taus],
            "hashes": [[list(h.mix), list(h.bucket), list(h.sign)] for h in self.hashes],
            "coverage": repr(self.coverage),
            "counted": self.counted,
            "filtered": self.filtered,
            "ledger": self.entry,
            "library": self.library,
            "day": self.day,
        }


def _own_parameters(r: Recipe) -> bool:
    """Whether theta and tau are there just where the method has them."""
    filtered = r.method in ("filter-priority", "filter", "one-sided filter")
    return (r.theta > 0) == filtered and (r.tau > 0) == (r.method == "threshold")


def change(guarantee: Guarantee) -> int:
    """By how much one unit changes the counts of the cells, in total."""
    most = guarantee.keys_per_unit * guarantee.elements_per_key
    return 2 * most if guarantee.neighbours == REPLACED else most


def read_about_summary(said: Any) -> AboutSummary:
    """What `AboutSummary.describe` has said."""
    try:
        if said["format"] != FORMAT:
            raise BadData(f"the summary has format {said['format']!r}; tamis reads {FORMAT}.")
        about = _read(said)
    except BadData:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise BadData("what the summary says about itself is damaged.") from None
    if about.describe() != said or not plain_origin(about):
        raise BadData("what the summary says about itself does not fit together: it was changed.")
    about.check()
    return about


def _read(said: Any) -> AboutSummary:
    promise = dict(said["guarantee"])
    promise |= {name: float(promise[name]) for name in ("epsilon", "delta")}
    parts = tuple(read_part(part) for part in said["spent"])
    if said["method"] not in METHODS:
        raise BadData("the summary was made by a method that this version does not know.")
    try:
        domain = Domain.from_description(said["domain"])
    except InvalidInput:
        raise BadData("the domain of the summary is damaged.") from None
    epsilon = next((exactly(p.epsilon) for p in parts if p.purpose == CELLS), Fraction(0))
    recipe = Recipe(
        domain,
        epsilon,
        int(said["change"]),
        said["method"],
        said["size"],
        int(said["theta"]),
        Fraction(said["tau"]),
        Fraction(said["growth"]),
    )
    return AboutSummary(
        Guarantee(**promise),
        recipe,
        tuple(float(tau) for tau in said["taus"]),
        parts,
        float(said["coverage"]),
        said["counted"],
        said["filtered"],
        said["ledger"],
        said["day"],
        said["library"],
        tuple(Hash(*(tuple(part) for part in parts)) for parts in said["hashes"]),
    )
