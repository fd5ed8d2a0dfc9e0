"""What a release of clusters says about itself: what was public beforehand, or is private."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from importlib.metadata import version
from math import isfinite
from typing import Any, Literal

import pyarrow as pa

from tamis.importance.kmeans.plan import CHOICES, Schedule, Spending
from tamis.importance.kmeans.sampled import RATES, possible
from tamis.importance.kmeans.totals import COUNT_BITS
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import BadData, InvalidInput
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Refused, number, whole
from tamis.releases.parts import Part, plain_origin

FORMAT = 1
CLUSTERS = "clusters"
SAMPLERS = ("full", "optimal", "coreset", "uniform")
INITS = ("private", "random")
UNIT = "row"
OWN = ("cluster", "size")  # columns of every release of clusters
_MOST, _MOST_STEPS = 10**9, 1000
_DOWN = Context(prec=15, rounding=ROUND_DOWN)  # so that a float prints as the same number
_WORDS = {
    "middle": "the mean of all rows",
    "norms": "how far rows are from it",
    "centres": "the centres and their sizes",
}

Bounds = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class AboutClusters:
    """The guarantee and its certificate, and the settings: all that is not a row."""

    guarantee: Guarantee
    certificate: Certificate
    columns: tuple[str, ...]
    clusters: int
    bounds: Bounds | None  # low and high of each column
    radius: float | None
    sampler: str
    rate: float | None  # as it was asked for; None is the usual one
    mixing: float | None  # of "coreset"
    init: str
    max_iter: int | Literal["auto"]
    steps: int
    filtered: bool = False
    entry: dict[str, Any] | None = None
    day: str = field(default_factory=lambda: date.today().isoformat())
    library: str = field(default_factory=lambda: version("tamis"))
    counted: str = "rows"

    @property
    def rule(self) -> dict[str, Any]:
        """What the certificate says of the mechanism."""
        rule: dict[str, Any] = json.loads(self.certificate.text)["rule"]
        return rule

    @property
    def parts(self) -> tuple[Part, ...]:
        spent = self.rule["parts"]
        names = sorted(spent, key=[*_WORDS, *spent].index)
        return tuple(Part(_WORDS.get(name, name), _float(number(spent[name]))) for name in names)

    @property
    def key(self) -> tuple[str, ...]:
        return OWN[:1]

    @property
    def added(self) -> dict[str, pa.DataType]:
        return dict.fromkeys((*self.columns, *OWN[1:]), pa.float64())

    @property
    def reach(self) -> float:
        """The largest l1 distance from the middle of the bounds that a row can have."""
        if self.bounds is None:
            return float(self.radius or 0.0)
        return sum(high - low for low, high in self.bounds) / 2

    @property
    def unit(self) -> int:
        """What a row counts in sizes: they are whole numbers of one over this."""
        return 1 if self.sampler == "full" else 1 << COUNT_BITS

    def describe(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        ends = self.bounds
        return {
            "format": FORMAT,
            "kind": CLUSTERS,
            "guarantee": self.guarantee.describe(),
            "spent": [part.describe() for part in self.parts],
            "columns": list(self.columns),
            "clusters": self.clusters,
            "bounds": None if ends is None else [[repr(low), repr(high)] for low, high in ends],
            "radius": _text(self.radius),
            "sampler": self.sampler,
            "rate": _text(self.rate),
            "mixing": _text(self.mixing),
            "init": self.init,
            "max_iter": self.max_iter,
            "steps": self.steps,
            "filtered": self.filtered,
            "certificate": json.loads(self.certificate.text),
            "ledger": self.entry,
            "library": self.library,
            "day": self.day,
        }


def check_columns(columns: tuple[str, ...]) -> None:
    """Refuse columns that are not there, twice, or called like what a release adds, in any case."""
    if not columns or not all(isinstance(name, str) and name for name in columns):  # type: ignore[redundant-expr]
        raise InvalidInput("columns must name one column of numbers or more, as text.")
    if clash := [name for name in columns if name.lower() in OWN]:
        raise InvalidInput(
            f"columns may not be called {clash[0]!r}, as one of the release is; rename it."
        )
    if len({name.lower() for name in columns}) < len(columns):
        raise InvalidInput("columns must be different, and not only in upper and lower case.")


def read_about_clusters(said: Any) -> AboutClusters:
    """What `AboutClusters.describe` has said."""
    try:
        if said["format"] != FORMAT:
            raise BadData(f"the release has format {said['format']!r}; tamis reads {FORMAT}.")
        about = _read(said)
        fits = about.describe() == said and _plain(about)
    except BadData:
        raise
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        Refused,
    ):
        raise BadData("what the release says about itself is damaged.") from None
    if not fits:
        raise BadData("what the release says about itself does not fit together: it was changed.")
    return about


def _read(said: Any) -> AboutClusters:
    promise, ends = said["guarantee"], said["bounds"]
    return AboutClusters(
        Guarantee(float(promise["epsilon"]), 0.0, unit=UNIT),
        Certificate(json.dumps(said["certificate"], indent=1, sort_keys=True)),
        tuple(said["columns"]),
        whole(said["clusters"], _MOST),
        None if ends is None else tuple((float(low), float(high)) for low, high in ends),
        _number(said["radius"]),
        said["sampler"],
        _number(said["rate"]),
        _number(said["mixing"]),
        said["init"],
        said["max_iter"],
        whole(said["steps"], _MOST_STEPS),
        said["filtered"],
        said["ledger"],
        said["day"],
        said["library"],
    )


def _plain(about: AboutClusters) -> bool:
    """Whether the settings are possible, and those that the certificate is about."""
    check_columns(about.columns)
    given = json.loads(about.certificate.text)["guarantee"] == about.guarantee.describe()
    rates = all(value is None or 0 < value <= 1 for value in (about.rate, about.mixing))
    asked = about.max_iter
    return (
        plain_origin(about)
        and given
        and rates
        and _sampled(about)
        and _enclosed(about)
        and about.init in INITS
        and (about.steps in CHOICES if asked == "auto" else type(asked) is int)
        and asked in ("auto", about.steps)
    )


def _sampled(about: AboutClusters) -> bool:
    """Whether the certificate says what these settings make of epsilon, and has no others."""
    rule, full, d = about.rule, about.sampler == "full", len(about.columns)
    sample, spending = rule["sample"], Spending.of(exactly(about.guarantee.epsilon))
    kind = "full" if sample is None else sample["sampler"]
    mixed = (about.mixing is None) == (about.sampler != "coreset")
    if kind != about.sampler or kind not in SAMPLERS or not mixed:
        return False
    spent = spending.search if full else Fraction(sample["steps"])
    schedule = Schedule.of(spent, about.steps, about.init, not full)  # type: ignore[arg-type]
    if bool(rule != spending.rule(d, schedule, sample)) or (full and about.rate is not None):
        return False
    rate = RATES[kind] if about.rate is None else about.rate
    return full or possible(sample, rate, about.mixing or 1.0, spending.search, d)


def _enclosed(about: AboutClusters) -> bool:
    """Whether there are either bounds, for every column, or a radius."""
    ends, radius = about.bounds, about.radius
    if ends is None:
        return radius is not None and isfinite(radius) and radius > 0
    finite = all(isfinite(low) and isfinite(high) and low <= high for low, high in ends)
    return radius is None and finite and len(ends) == len(about.columns) and about.reach > 0


def _text(value: float | None) -> str | None:
    return None if value is None else repr(value)


def _number(text: object) -> float | None:
    return None if text is None else float(str(text))


def _float(exact: Fraction) -> float:
    """Not more than it is, so that parts that are added up are not more than the whole."""
    return float(_DOWN.divide(Decimal(exact.numerator), Decimal(exact.denominator)))
