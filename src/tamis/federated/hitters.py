"""Heavy hitters: which items most clients hold, in one round or along a tree of prefixes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.federated.mechanism import (
    Histogram,
    Neighbours,
    SampleAndThreshold,
    optional,
    settings_of,
)
from tamis.privacy.answer import check_coverage
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import check_bound
from tamis.sampling.keys import key_column

END = "\0"  # stands after every item, so that a prefix that is one can be told from others
_WHOLE = 1 << 20  # characters: more than an item has


@dataclass(frozen=True)
class HeavyHitters:
    """The items that most clients hold, without a list of what they might be.

    With one round every client that is kept sends its whole item. That finds most, since a server
    that counts what it is sent needs no list. With several, clients send prefixes that grow from
    round to round, and only of what was frequent so far: the server sees fewer whole items.

    Guarantee: that of `SampleAndThreshold`, for all rounds together: (epsilon, delta)-differential
    privacy for one client that holds one item (docs/proofs.md, section 13).

    ``depth`` is how many characters of an item are looked at; several rounds need it. Items that
    are longer count as their first ``depth`` characters. ``p``, ``tau`` and ``colluding`` are those
    of `SampleAndThreshold`, the same in every round.

    >>> HeavyHitters(epsilon=1.0, delta=1e-6, rounds=5, depth=10).lengths
    (2, 4, 6, 8, 10)
    """

    epsilon: float
    delta: float
    rounds: int = 1
    depth: int = None  # type: ignore[assignment]  # whole items, if it is not given
    neighbours: Neighbours = "add or remove"
    p: float = None  # type: ignore[assignment]  # chosen, if it is not given
    tau: int = None  # type: ignore[assignment]
    colluding: int = 0

    def __post_init__(self) -> None:
        rounds = check_bound("rounds", self.rounds)
        asked = optional(self.depth)
        if asked is None and rounds > 1:
            raise InvalidInput(
                "depth is missing: with several rounds, say how many characters are looked at."
            )
        if asked is not None and rounds > check_bound("depth", asked):
            raise InvalidInput(f"{rounds} rounds cannot share {asked} characters; take fewer.")
        object.__setattr__(self, "tau", self.mechanism.tau)
        object.__setattr__(self, "p", self.mechanism.p)

    def __repr__(self) -> str:
        return settings_of(self, self.mechanism.hint)

    @cached_property
    def mechanism(self) -> SampleAndThreshold:
        """What happens in each of the rounds."""
        return SampleAndThreshold(
            self.epsilon,
            self.delta,
            self.p,
            self.tau,
            self.neighbours,
            self.rounds,
            self.colluding,
        )

    @property
    def lengths(self) -> tuple[int, ...]:
        """How long the prefixes of each round are."""
        depth = self.depth or _WHOLE
        return tuple(-(-depth * n // self.rounds) for n in range(1, self.rounds + 1))

    def start(self) -> Tree:
        return Tree(self.lengths)

    def release(self, items: Any, coverage: float = 0.95) -> Histogram:
        """The items found, one held by each client, the most frequent first.

        Each call tosses every client's coins anew, and **spends the budget again**.
        """
        check_coverage(coverage)
        held, tree = text_column(items), self.start()
        while not tree.done:
            answers = tree.answers(self.mechanism.sample(held))
            tree = tree.after(self.mechanism.threshold(answers))
        return tree.histogram(self.mechanism, coverage)


@dataclass(frozen=True)
class Tree:
    """What is known between rounds: items found with their tokens, and prefixes that may grow."""

    lengths: tuple[int, ...]
    round: int = 0
    found: tuple[tuple[str, int], ...] = ()
    live: tuple[str, ...] = ()  # the most frequent first

    @property
    def done(self) -> bool:
        return self.round == len(self.lengths) or (self.round > 0 and not self.live)

    @property
    def known(self) -> int:
        """How long the prefixes are that may grow."""
        return self.lengths[self.round - 1] if self.round else 0

    @property
    def task(self) -> dict[str, Any]:
        """What clients are asked for in the next round."""
        length = self.lengths[self.round]
        return {"length": length, "known": self.known, "prefixes": sorted(self.live)}

    def within(self, size: int) -> Tree:
        """With the most frequent prefixes that can be written in so many bytes of JSON."""
        sizes = np.cumsum([len(json.dumps(prefix)) + 2 for prefix in self.live])
        return replace(self, live=self.live[: int(np.searchsorted(sizes, size, side="right"))])

    def answers(self, items: pa.Array) -> pa.Array:
        """The prefixes of items that grow out of live ones; the others have nothing to say."""
        end, nothing = (pa.scalar(text, pa.large_string()) for text in (END, ""))
        marked = pc.binary_join_element_wise(items, end, nothing)
        if self.round:
            begin = pc.utf8_slice_codeunits(marked, 0, self.known)
            marked = marked.filter(pc.is_in(begin, pa.array(self.live, pa.large_string())))
        return pc.utf8_slice_codeunits(marked, 0, self.lengths[self.round])

    def after(self, counted: Histogram) -> Tree:
        """With the results of a round: what ends, or is as long as is looked at, is found."""
        last = self.round + 1 == len(self.lengths)
        names, tokens = (counted.table.column(c).to_pylist() for c in ("item", "token"))
        pairs = list(zip(names, tokens, strict=True))
        ended = [(name.removesuffix(END), n) for name, n in pairs if last or name.endswith(END)]
        live = () if last else tuple(name for name in names if not name.endswith(END))
        return replace(self, round=self.round + 1, found=(*self.found, *ended), live=live)

    def histogram(self, mechanism: SampleAndThreshold, coverage: float = 0.95) -> Histogram:
        items = pa.array([name for name, _ in self.found], pa.large_string())
        tokens = np.array([n for _, n in self.found], dtype=np.int64)
        return Histogram.of(mechanism, items, tokens, coverage)


def text_column(items: Any) -> pa.Array:
    """Items as one array of text without the end mark."""
    column = key_column(items, "items")
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if len(whole) and not pa.types.is_large_string(whole.type):
        raise InvalidInput("items must be text; convert them first.")
    whole = whole.cast(pa.large_string())
    if pc.any(pc.match_substring(whole, END)).as_py():
        raise InvalidInput("items must not hold the character 0, which marks where an item ends.")
    return whole
