"""TrieHH: heavy hitters by votes of sampled clients for longer and longer prefixes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.privacy.coins import uniform
from tamis.privacy.errors import InvalidInput
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import check_bound, check_delta, check_epsilon
from tamis.privacy.reals import Interval
from tamis.sampling.arrow import column_of
from tamis.sampling.keys import key_column

Ints = npt.NDArray[np.int64]

_END = "\0"  # the mark at the end of a word
_DIGITS = 40
_VOTERS = 10  # times theta: with fewer, that their number is fixed tells too much


@dataclass(frozen=True)
class TrieHH:
    """Words that are frequent, letter by letter, in ``depth`` rounds of votes.

    In every round m = n (1 - e^(-epsilon/depth)) / theta of the n clients are drawn without
    replacement. Each votes for as many letters of its word (with an end mark) as the round has
    number, if one letter less stayed in the round before; prefixes with at least theta votes
    stay. A word is found when its end mark stays, so words of ``depth`` letters or more are not.

    Guarantee: (epsilon, delta)-differentially private for one client that is added or removed
    while m stays, as the authors state it (their Theorem 1): theta is the least number from 4 on
    with (theta - 2) / ((theta - 3) theta!) <= delta. It is not proved again here; the tests compute
    it exactly for the votes on the way to one word. A fixed number of voters also leaves fewer
    votes to others, which tells too much if there are few: with m - 1 = 2 (theta - 1) and all
    others holding one of two words, one of these surely stays, unless a client with a third word
    was drawn; then none may. So m must be at least 10 theta here: such ties are then rarer than
    delta.

    Reference: Zhu, Kairouz, McMahan, Sun, Li, "Federated heavy hitters discovery with differential
    privacy" (2020), Algorithm 1, Theorem 1 and Corollary 1.

    >>> made = TrieHH(epsilon=1.0, delta=1e-6, depth=10)
    >>> made.theta, made.voters(204_000)
    (10, 1941)
    """

    epsilon: float
    delta: float
    depth: int
    theta: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta))
        object.__setattr__(self, "depth", check_bound("depth", self.depth))
        most = exactly(self.delta)
        object.__setattr__(self, "theta", next(t for t in count(4) if spent(t) <= most))

    def voters(self, clients: int) -> int:
        """m: how many clients vote in each round."""
        share = 1 - Interval.of(-exactly(self.epsilon) / self.depth, _DIGITS).exp()
        return int((share * clients / self.theta).floors(0)[0])

    def release(self, words: Any) -> list[str]:
        """The words found, in order. Each call **spends the budget again**."""
        held, m = self._checked(words)
        stay, found = pa.array([""], pa.large_string()), list[str]()
        for letters in range(1, self.depth + 1):
            stay = self._stay(held.take(column_of(drawn(len(held), m))), stay, letters)
            found += [w.removesuffix(_END) for w in stay.to_pylist() if w.endswith(_END)]
        return sorted(found)

    def _checked(self, words: Any) -> tuple[Any, int]:
        held = key_column(words, "words")
        if not pa.types.is_large_string(held.type):
            raise InvalidInput("words must be text; TrieHH goes through it letter by letter.")
        if pc.any(pc.match_substring(held, _END)).as_py():
            raise InvalidInput("words hold the character of code 0, which marks their ends here.")
        m = self.voters(len(held))
        if m < _VOTERS * self.theta:
            share = -math.expm1(-self.epsilon / self.depth)
            least = math.ceil(_VOTERS * self.theta**2 / share)
            raise InvalidInput(
                f"TrieHH needs about {least:,} clients with this epsilon, delta and depth; "
                "take fewer rounds, or a larger epsilon."
            )
        return held, m

    def _stay(self, words: Any, before: Any, letters: int) -> Any:
        """The prefixes of so many letters that have votes enough."""
        end, nothing = (pa.scalar(text, words.type) for text in (_END, ""))
        marked = pc.binary_join_element_wise(words, end, nothing)
        votes = marked.filter(
            pc.and_(
                pc.greater_equal(pc.utf8_length(marked), letters),
                pc.is_in(pc.utf8_slice_codeunits(marked, 0, letters - 1), value_set=before),
            )
        )
        counted = pc.value_counts(pc.utf8_slice_codeunits(votes, 0, letters))
        return counted.field("values").filter(pc.greater_equal(counted.field("counts"), self.theta))


def spent(theta: int) -> Fraction:
    """The delta of the authors' Theorem 1."""
    return Fraction(theta - 2, (theta - 3) * math.factorial(theta))


def drawn(n: int, m: int) -> Ints:
    """m of 0, ..., n - 1 without replacement: draws with replacement, until m are different."""
    found = np.unique(uniform(n, m))
    while len(found) < m:
        found = np.union1d(found, uniform(n, m - len(found)))
    return found
