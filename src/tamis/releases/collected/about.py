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
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import BadData
from tamis.privacy.guarantee import REPLACED, Guarantee
from tamis.releases.parts import Part, plain_origin

FORMAT = 1
COLLECTED = "collected"
KINDS = ("histogram", "heavy hitters", "quantiles")
REPORTS = "the reports of all rounds"
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
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise BadData("what the release says about itself is damaged.") from None
    if about.describe() != said or not _plain(about):
        raise BadData("what the release says about itself does not fit together: it was changed.")
    return about


def _plain(about: AboutCollected) -> bool:
    return (
        plain_origin(about)
        and about.kind in KINDS
        and str(about.question).isprintable()
        and re.fullmatch("[0-9a-f]{32}", about.query) is not None
        and type(about.domain) is int
        and 0 <= about.domain <= 1 << 62
    )


def _read(said: Any) -> AboutCollected:
    promise = said["guarantee"]
    mechanism = SampleAndThreshold(
        float(promise["epsilon"]),
        float(promise["delta"]),
        said["parts"] / (1 << 32),
        said["tau"],
        "replace" if promise["neighbours"] == REPLACED else "add or remove",
        said["rounds"],
    )
    return AboutCollected(
        mechanism,
        said["asked"],
        said["question"],
        said["query"],
        said["domain"],
        float(said["coverage"]),
        said["ledger"],
        said["day"],
        said["library"],
    )
