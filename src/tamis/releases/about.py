"""What a release says about itself. Nothing in it depends on data that is not private."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import BadData
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import Guarantee
from tamis.releases.parts import TOTAL, Part, plain_origin, read_part
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted.plan import Plan, make_plan
from tamis.weighted.sample import ADDED

FORMAT = 1
KEYS = "which keys occur and how often"
BOUND = "the choice of keys_per_unit, from noisy numbers of units by their number of keys"
_ADDED_TYPES = (pa.int64(), pa.float64(), pa.int64(), pa.int64())


@dataclass(frozen=True)
class About:
    """The guarantee of a whole release, the plan of its keys, and where it came from."""

    guarantee: Guarantee
    plan: Plan
    key: tuple[str, ...]
    parts: tuple[Part, ...]
    nulls: str = "drop"
    counted: str = "rows"
    entry: dict[str, Any] | None = None
    day: str = field(default_factory=lambda: date.today().isoformat())
    library: str = field(default_factory=lambda: version("tamis"))
    filtered: bool = False  # whether a condition chose the rows; its text may be private
    part: bool = False  # whether this is only a part of what was released

    @property
    def certificate(self) -> Certificate:
        return self.plan.certificate

    @property
    def added(self) -> dict[str, pa.DataType]:
        """The columns beside the keys, and their types."""
        return dict(zip(ADDED, _ADDED_TYPES, strict=True))

    @property
    def total(self) -> tuple[int, Fraction] | None:
        """The noisy number of all elements (after bounding) and the rate of its noise."""
        for part in self.parts:
            if part.purpose == TOTAL and part.value is not None:
                most = self.guarantee.keys_per_unit * self.guarantee.elements_per_key
                return part.value, exactly(part.epsilon) / most
        return None

    def check(self) -> None:
        """Refuse parts that do not add up to the guarantee, or keys certified for another one."""
        spent = sum((exactly(part.epsilon) for part in self.parts), Fraction(0))
        mine, whole = self.plan.guarantee, self.guarantee
        fits = spent <= exactly(whole.epsilon) and mine.delta <= whole.delta
        keys = [part for part in self.parts if part.purpose == KEYS]
        same = [(part.epsilon, part.delta) for part in keys] == [(mine.epsilon, mine.delta)]
        known = all(part.purpose in (KEYS, TOTAL, BOUND) for part in self.parts)
        if not (fits and same and known and replace(mine, epsilon=whole.epsilon) == whole):
            raise BadData("the parts of the release do not add up to its guarantee.")

    def describe(self) -> dict[str, Any]:
        """All of it as JSON can hold it; the certificate is that of the keys and their tokens."""
        mechanism = self.plan.mechanism
        return {
            "format": FORMAT,
            "guarantee": self.guarantee.describe(),
            "spent": [part.describe() for part in self.parts],
            "curve": self.plan.curve.describe(),
            "scheme": mechanism.scheme.rule(),
            "tokens": mechanism.tokens,
            "coverage": repr(self.plan.coverage),
            "estimator": "centred maximum likelihood",
            "key": list(self.key),
            "nulls": self.nulls,
            "counted": self.counted,
            "filtered": self.filtered,
            "part": self.part,
            "certificate": json.loads(self.certificate.text),
            "ledger": self.entry,
            "library": self.library,
            "day": self.day,
        }


def read_about(said: Any) -> About:
    """What `About.describe` has said; the mechanism is made anew from its parameters."""
    try:
        if said["format"] != FORMAT:
            raise BadData(f"the release has format {said['format']!r}; tamis reads {FORMAT}.")
        promise = said["certificate"]["guarantee"]
        coverage = float(said["coverage"])
        plan = make_plan(_guarantee(promise), _scheme(said["scheme"]), said["tokens"], coverage)
        about = About(
            _guarantee(said["guarantee"]),
            plan,
            tuple(said["key"]),
            tuple(read_part(part) for part in said["spent"]),
            said["nulls"],
            said["counted"],
            said["ledger"],
            said["day"],
            said["library"],
            said["filtered"],
            said["part"],
        )
    except BadData:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise BadData("what the release says about itself is damaged.") from None
    if about.describe() != said or not _plain(about):
        raise BadData(
            "what the release says about itself does not fit together: it was changed, or made by "
            "a version of tamis with other mechanisms."
        )
    about.check()
    return about


def _plain(about: About) -> bool:
    """Whether what is only repeated is of the kind that a release writes."""
    return plain_origin(about) and about.nulls in ("drop", "keep") and type(about.part) is bool


def _guarantee(said: dict[str, Any]) -> Guarantee:
    return Guarantee(
        float(said["epsilon"]),
        float(said["delta"]),
        said["keys_per_unit"],
        said["elements_per_key"],
        said["unit"],
    )


def _scheme(rule: dict[str, Any]) -> Scheme:
    if rule["name"] == "custom":
        return Custom({i: Fraction(*map(int, q.split("/"))) for i, q in rule["steps"]})
    if rule["name"] == "everything":
        return Everything()
    kind = {"pps": Pps, "ppswor": Ppswor}[rule["name"]]
    return kind(float(rule["tau"]), float(rule["power"]))
