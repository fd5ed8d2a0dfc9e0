"""What a release of collected reports says about itself. All of it was public beforehand."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from tamis.federated import SampleAndThreshold
from tamis.privacy.answer import check_coverage
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import BadData
from tamis.privacy.guarantee import REPLACED, Guarantee
from tamis.privacy.verify import Refused, whole
from tamis.releases.parts import Part, plain_origin

FORMAT = 1
COLLECTED = "collected"
KINDS = ("histogram", "heavy hitters", "quantiles")
REPORTS = "the reports of all rounds"
_MOST = {"parts": 1 << 32, "tau": 100_000, "rounds": 256}  # what a certificate can be checked for
_LONGEST = 500  # characters of a question
_WHOLE, _REAL = pa.int64(), pa.float64()
_COUNTS = {"token": _WHOLE, "estimate": _REAL, "low": _WHOLE, "high": _WHOLE}
_VALUES = {"estimate": _WHOLE, "low": _WHOLE, "high": _WHOLE}


@dataclass(frozen=True)
class AboutCollected:
    """The guarantee, how clients were sampled, what they were asked, and by which query."""

    mechanism: SampleAndThreshold
    kind: str
    question: str
    query: str  # 32 hex digits, drawn at random
    domain: int = 0  # of whole numbers: from 0 to one less; 0 for text
    coverage: float = 0.95
    entry: dict[str, Any] | None = None
    day: str = field(default_factory=lambda: date.today().isoformat())
    library: str = field(default_factory=lambda: version("tamis"))
    counted: str = "rows"
    filtered: bool = False

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    @property
    def certificate(self) -> Certificate:
        return self.mechanism.certificate

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(REPORTS, self.guarantee.epsilon, self.guarantee.delta),)

    @property
    def key(self) -> tuple[str, ...]:
        return ("quantile",) if self.kind == "quantiles" else ("item",)

    @property
    def held(self) -> str:
        """What the first column holds, in the words of the footer."""
        return "number" if self.kind == "quantiles" else "integer" if self.domain else "text"

    @property
    def added(self) -> dict[str, pa.DataType]:
        return _VALUES if self.kind == "quantiles" else _COUNTS

    def describe(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        m = self.mechanism
        return {
            "format": FORMAT,
            "kind": COLLECTED,
            "asked": self.kind,
            "question": self.question,
            "query": self.query,
            "domain": self.domain,
            "guarantee": self.guarantee.describe(),
            "spent": [part.describe() for part in self.parts],
            "parts": m.parts,
            "tau": m.tau,
            "rounds": m.rounds,
            "colluding": m.colluding,
            "estimator": "binary search" if self.kind == "quantiles" else "token / p",
            "coverage": repr(self.coverage),
            "certificate": json.loads(self.certificate.text),
            "ledger": self.entry,
            "library": self.library,
            "day": self.day,
        }


def read_about_collected(said: Any) -> AboutCollected:
    """What `AboutCollected.describe` has said; the mechanism is made anew, and refused if unfit."""
    try:
        if said["format"] != FORMAT:
            raise BadData(f"the release has format {said['format']!r}; tamis reads {FORMAT}.")
        about = _read(said)
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
    if about.describe() != said or not _plain(about):
        raise BadData("what the release says about itself does not fit together: it was changed.")
    return about


def _plain(about: AboutCollected) -> bool:
    """Whether what is only repeated is of the kind that a collector writes."""
    texts = (about.question, about.query)
    return (
        plain_origin(about)
        and about.kind in KINDS
        and all(type(text) is str for text in texts)
        and 1 <= len(about.question) <= _LONGEST
        and about.question.isprintable()
        and re.fullmatch("[0-9a-f]{32}", about.query) is not None
        and type(about.domain) is int
        and 0 <= about.domain <= 1 << 62
        and _possible(about)
    )


def _possible(about: AboutCollected) -> bool:
    """Whether what was asked takes the rounds that are promised for: fewer would promise less."""
    rounds = about.mechanism.rounds
    if about.kind == "quantiles":
        return about.domain > 0 and rounds == max(1, (about.domain - 1).bit_length())
    return rounds == 1 if about.kind == "histogram" else not about.domain


def _read(said: Any) -> AboutCollected:
    promise = said["guarantee"]
    parts, tau, rounds = (whole(said[name], most) for name, most in _MOST.items())
    colluding = whole(said["colluding"], _MOST["tau"], least=0)
    mechanism = SampleAndThreshold(
        float(promise["epsilon"]),
        float(promise["delta"]),
        parts / (1 << 32),
        tau,
        "replace" if promise["neighbours"] == REPLACED else "add or remove",
        rounds,
        colluding,
    )
    return AboutCollected(
        mechanism,
        said["asked"],
        said["question"],
        said["query"],
        said["domain"],
        check_coverage(float(said["coverage"])),
        said["ledger"],
        said["day"],
        said["library"],
    )
