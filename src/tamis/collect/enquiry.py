"""What a query asks in all of its rounds, and what is known between them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.federated import HeavyHitters, Histogram, Quantiles, SampleAndThreshold
from tamis.federated.calibrate import PARTS
from tamis.federated.device import LONGEST_ANSWER, Specification, longest_answer
from tamis.federated.hitters import Tree
from tamis.federated.quantiles import Cut, Search, check_domain
from tamis.privacy.errors import InvalidInput, shown
from tamis.releases.collected.collected import rows_of

Asked = SampleAndThreshold | HeavyHitters | Quantiles
_LONGEST_WINDOW = 366 * 24 * 3600
_MOST_PREFIXES = 900_000  # bytes of a specification, which has a megabyte


@dataclass(frozen=True)
class Counts:
    """A histogram, before its one round and after it: then with its items and their tokens."""

    whole: bool  # whether items are whole numbers
    found: tuple[tuple[str, int], ...] | None = None

    @property
    def done(self) -> bool:
        return self.found is not None

    @property
    def task(self) -> dict[str, Any]:
        return {}

    def after(self, counted: Histogram) -> Counts:
        names, tokens = (counted.table.column(c).to_pylist() for c in ("item", "token"))
        return replace(self, found=tuple(zip(names, tokens, strict=True)))

    def histogram(self, mechanism: SampleAndThreshold, coverage: float) -> Histogram:
        items = pa.array([name for name, _ in self.found or ()], pa.large_string())
        tokens = np.array([n for _, n in self.found or ()], dtype=np.int64)
        kept = items.cast(pa.int64()) if self.whole else items
        return Histogram.of(mechanism, kept, tokens, coverage)


Known = Counts | Tree | Search


def fitting(known: Known) -> Known:
    """What is known, as far as it fits into a specification."""
    return known.within(_MOST_PREFIXES) if isinstance(known, Tree) else known


def known_text(known: Known) -> str:
    """What is known between rounds: nothing that may not be released."""
    return json.dumps(asdict(known))


@dataclass(frozen=True)
class Enquiry:
    """A question to devices: how it is asked, and how long each round is open.

    ``longest`` is the most bytes of a text, ``domain`` how many whole numbers there are: one of
    them is 0.
    """

    kind: str
    question: str
    mechanism: SampleAndThreshold
    window: int  # seconds
    longest: int = 0
    domain: int = 0
    lengths: tuple[int, ...] = ()  # of prefixes, in each round
    at: tuple[float, ...] = ()  # which quantiles
    coverage: float = 0.95
    budget: str | None = None
    ledger: str | None = None

    @classmethod
    def of(
        cls,
        asked: Asked,
        question: str,
        window: float,
        longest: int | None,
        domain: int | None,
        **others: Any,
    ) -> Enquiry:
        """From a mechanism; what does not go together is refused."""
        made = cls("histogram", *_checked(asked, question, window), **others)
        if isinstance(asked, Quantiles):
            if longest is not None or domain is not None:
                raise InvalidInput(
                    "quantiles are of whole numbers, of the domain that they have: leave out "
                    "longest, and domain."
                )
            if not asked.interactive:
                raise InvalidInput("quantiles are collected by search: take interactive=True.")
            if asked.domain < 2:
                raise InvalidInput("a domain of 1 has nothing to search for; take 2 or more.")
            return replace(made, kind="quantiles", domain=asked.domain, at=tuple(asked.at))
        if isinstance(asked, HeavyHitters):
            if domain is not None or longest is None:
                raise InvalidInput(
                    "heavy hitters are of text: give longest (the most bytes), and no domain."
                )
            most = _longest(longest)
            lengths = tuple(min(n, most + 1) for n in asked.lengths)
            if len(set(lengths)) < len(lengths):
                raise InvalidInput(
                    f"items of {most} bytes have fewer characters than depth {asked.depth}; take a "
                    "smaller depth, or a larger longest."
                )
            return replace(made, kind="heavy hitters", longest=most, lengths=lengths)
        if (longest is None) == (domain is None):
            raise InvalidInput(
                "say what clients hold: either text, with longest (the most bytes), or whole "
                "numbers, with domain (how many there are)."
            )
        if longest is not None:
            return replace(made, longest=_longest(longest))
        return replace(made, domain=check_domain(domain))

    @property
    def schema(self) -> dict[str, Any]:
        if self.domain:
            return {"type": "integer", "domain": self.domain}
        return {"type": "text", "bytes": self.longest}

    def start(self) -> Known:
        """What is known before the first round."""
        if self.kind == "quantiles":
            ranges = ((0, self.domain),) * len(self.at)
            return Search(self.at, self.domain, ranges, self.mechanism.tau)
        if self.kind == "heavy hitters":
            return Tree(self.lengths)
        return Counts(bool(self.domain))

    def result(self, known: Known) -> pa.Table:
        """The rows of the release."""
        if isinstance(known, Search):
            return known.table(self.mechanism, self.coverage).table
        return rows_of(known.histogram(self.mechanism, self.coverage))

    def specification(
        self, query: str, number: int, known: Known, opens: int, seal: str
    ) -> Specification:
        """What one round asks."""
        m, task = self.mechanism, known.task
        return Specification(
            query=query,
            kind=self.kind,
            question=self.question,
            round=number,
            rounds=m.rounds,
            epsilon=m.epsilon,
            delta=m.delta,
            neighbours=m.neighbours,
            parts=m.parts,
            tau=m.tau,
            schema=self.schema,
            task=task,
            opens=opens,
            closes=opens + self.window,
            seal=seal,
            size=3 + longest_answer(self.kind, self.schema, task),
        )

    # --- as text, for the folder of keys ---

    def text(self) -> str:
        m = self.mechanism
        terms = (m.epsilon, m.delta, m.parts, m.tau, m.neighbours, m.rounds, m.colluding)
        return json.dumps(asdict(self) | {"mechanism": terms})

    @classmethod
    def read(cls, text: str) -> Enquiry:
        found = json.loads(text)
        epsilon, delta, parts, *others = found.pop("mechanism")
        mechanism = SampleAndThreshold(epsilon, delta, parts / PARTS, *others)
        for name in ("lengths", "at"):
            found[name] = tuple(found[name])
        return cls(mechanism=mechanism, **found)

    def read_known(self, text: str) -> Known:
        """What `known_text` has written."""
        start, found = self.start(), json.loads(text)
        if isinstance(start, Search):
            ranges = tuple((low, high) for low, high in found["ranges"])
            cuts = tuple(Cut(**cut) for cut in found["cuts"])
            return replace(start, ranges=ranges, cuts=cuts, blind=found["blind"])
        if isinstance(start, Tree):
            pairs = tuple((name, token) for name, token in found["found"])
            return replace(start, round=found["round"], found=pairs, live=tuple(found["live"]))
        return start


def _checked(
    asked: object, question: object, window: object
) -> tuple[str, SampleAndThreshold, int]:
    if not isinstance(asked, (SampleAndThreshold, HeavyHitters, Quantiles)):
        raise InvalidInput(
            "what is asked must be a SampleAndThreshold, HeavyHitters or Quantiles of "
            f"tamis.federated, not {shown(asked)}."
        )
    text = isinstance(question, str) and question.isprintable()
    if not text or not 1 <= len(str(question)) <= 500:
        raise InvalidInput("question must be one line of 1 to 500 printable characters.")
    if not isinstance(window, (int, float)) or not 1 <= window <= _LONGEST_WINDOW:
        raise InvalidInput(f"window must be 1 second to 366 days, in seconds, not {shown(window)}.")
    if isinstance(asked, SampleAndThreshold):
        if asked.rounds > 1:
            raise InvalidInput("a histogram has one round; leave out rounds.")
        return str(question), asked, int(window)
    return str(question), asked.mechanism, int(window)


def _longest(longest: object) -> int:
    if type(longest) is int and 1 <= longest <= LONGEST_ANSWER - 1:
        return longest
    raise InvalidInput(
        f"longest must be a whole number from 1 to {LONGEST_ANSWER - 1}, the most bytes of an "
        f"item in UTF-8, not {shown(longest)}."
    )
