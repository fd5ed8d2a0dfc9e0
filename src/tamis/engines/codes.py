"""Keys, and units, in few bits: so that a pair of both is one word, which is quick to sort.

What is coded is known by 64-bit hashes. Codes are in the order of these hashes once a secret has
scattered them, whichever of two ways they are made:

* The first bits of the scattered hash. Where few share them, some more bits tell these apart.
* The number of each in that order, which takes longer.

So how two keys of a unit are ordered depends on these two and the secret, and on no other key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from tamis.privacy import randomness
from tamis.privacy.errors import BadData
from tamis.sampling.arrow import column_of

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

_CHANGED = "the data changed while it was read; start again."
_TIES = range(4)  # bits for those that share their first bits
_FEW = 64  # that many may share them in any case, and otherwise one in 16


class Collision(Exception):
    """Two keys share a hash; take another one."""


@dataclass(frozen=True)
class Secret:
    """A fresh, invertible way to scatter 64-bit words."""

    add: int
    multiply: int
    again: int

    @classmethod
    def fresh(cls) -> Secret:
        first, second, third = (int(w) for w in randomness.words(3))
        return cls(first, second | 1, third | 1)

    def scatter(self, words: Words) -> Words:
        """One-to-one on 64 bits: two rounds of multiplying and folding."""
        mixed = (words ^ np.uint64(self.add)) * np.uint64(self.multiply)
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(self.again)
        mixed ^= mixed >> np.uint64(29)
        return mixed


# fixed, for numbers that are alike, and where nothing depends on chance
MIXED = Secret(0, 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


@dataclass(frozen=True)
class Coding:
    """A code for each of some things: ``codes`` ascend, and ``order`` says whose they are.

    ``of`` gives the codes of rows, from their hashes. If that is ``slow``, it is so to begin with:
    all rows should be given at once.
    """

    codes: Words
    order: Ints
    of: Callable[[Words], Words]
    slow: bool = False

    def whose(self, codes: Words) -> Ints:
        """Which thing has each of these codes."""
        places = np.searchsorted(self.codes, codes)
        if len(places) and not np.array_equal(self.codes.take(places, mode="clip"), codes):
            raise BadData(_CHANGED)
        return self.order[places]


@dataclass(frozen=True)
class Keys:
    """Different keys (or units), by their hashes; parts of the data share what is found out."""

    hashes: Words
    shared: ClassVar[bool] = False  # whether some may have the same hash
    _found: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        ordered = np.sort(self.hashes)
        if not changes(ordered).all():
            raise Collision

    def coding(self, bits: int, secret: Secret) -> Coding | None:
        """Codes of so many bits; None if there are too few of them."""
        if len(self.hashes) > 1 << bits:
            return None
        if self._found.get("coded") != (bits, secret):
            made = self._by_first_bits(bits, secret) or self._by_number(secret)
            self._found.update(coded=(bits, secret), coding=made)
        coding: Coding = self._found["coding"]
        return coding

    def places(self, hashes: Words) -> npt.NDArray[Any]:
        """Which key each hash is of."""
        found = pc.index_in(column_of(hashes), value_set=column_of(self.hashes))
        if found.null_count:
            raise BadData(_CHANGED)
        places: npt.NDArray[Any] = found.to_numpy()
        return places

    def _by_first_bits(self, bits: int, secret: Secret) -> Coding | None:
        """Codes that are quick to compute; None if too many share their first bits."""
        order, scattered = self._ordered(secret)
        for low in _TIES:
            if bits <= low:
                return None
            first = scattered >> np.uint64(64 - bits + low)
            start = np.flatnonzero(changes(first))
            many = np.diff(start, append=len(first))
            if len(first) - len(start) > max(_FEW, len(first) // 16):
                return None
            if many.max(initial=1) <= 1 << low:
                tie = (np.arange(len(first)) - np.repeat(start, many)).astype(np.uint64)
                late = np.flatnonzero(tie)
                of = _First(secret, bits, low, self.hashes[order[late]], tie[late])
                return Coding((first << np.uint64(low)) | tie, order, of)
        return None

    def _by_number(self, secret: Secret) -> Coding:
        order, _ = self._ordered(secret)
        numbers = np.arange(len(order), dtype=np.uint64)
        number = np.empty_like(numbers)
        number[order] = numbers
        of = lambda hashes: number[self.places(hashes)]  # noqa: E731
        return Coding(numbers, order, of, slow=not self.shared)

    def _ordered(self, secret: Secret) -> tuple[Ints, Words]:
        """The order of the scattered hashes, and these in order."""
        if self._found.get("ordered") != secret:
            scattered = secret.scatter(self.hashes)
            order = np.argsort(scattered, kind="stable" if self.shared else None)
            self._found.update(ordered=secret, order=order, scattered=scattered[order])
        return self._found["order"], self._found["scattered"]


@dataclass(frozen=True)
class NumberedKeys(Keys):
    """Keys of which some share a hash. For rows, the place of their key stands in for its hash.

    Keys that share a hash follow each other in the order in which they are given; when that is an
    order by what the keys are, each unit keeps the same keys as it would beside any other units.
    """

    shared: ClassVar[bool] = True

    def __post_init__(self) -> None:
        pass

    def places(self, hashes: Words) -> npt.NDArray[Any]:
        return hashes

    def _by_first_bits(self, bits: int, secret: Secret) -> Coding | None:
        return None


@dataclass(frozen=True)
class Cells:
    """Keys that count as one where they share a cell.

    ``cells`` are columns of whole numbers, each once and in order; ``place`` says which of them the
    keys before are of. Their hashes depend on the cells alone, and the order is one of what they
    are: so each unit keeps the same cells as it would beside any other units.
    """

    cells: Ints
    place: Ints

    @classmethod
    def of(cls, keys: Ints) -> Cells:
        """The cells of these columns, one for each key."""
        order = np.lexsort(keys[::-1])
        ordered = keys[:, order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.cumsum(new) - 1
        return cls(ordered[:, new], place)

    def keys(self) -> NumberedKeys:
        hashes = np.zeros(self.cells.shape[1], dtype=np.uint64)
        for row in self.cells:
            hashes = MIXED.scatter(hashes ^ row.astype(np.uint64))
        return NumberedKeys(hashes)


class _First:
    """Codes of hashes by the first bits of what they are scattered to, and a tie in the last.

    ``late`` are the hashes that have a tie which is not 0. Few rows are looked up among them: those
    whose first bits end like some of theirs.
    """

    def __init__(self, secret: Secret, bits: int, low: int, late: Words, ties: Words) -> None:
        order = np.argsort(late)
        self._secret, self._late, self._ties = secret, late[order], ties[order]
        self._shift, self._low = np.uint64(64 - bits + low), np.uint64(low)
        size = 1 << max(16, len(late).bit_length() + 4)
        self._ends, self._like = np.uint64(size - 1), np.zeros(size, dtype=np.bool_)
        self._like[self._first(late) & self._ends] = True

    def __call__(self, hashes: Words) -> Words:
        first = self._first(hashes)
        codes = first << self._low
        if len(self._late):
            perhaps = np.flatnonzero(self._like[first & self._ends])
            sought = hashes[perhaps]
            places = np.searchsorted(self._late, sought)
            found = self._late.take(places, mode="clip") == sought
            codes[perhaps[found]] |= self._ties[places[found]]
        return codes

    def _first(self, hashes: Words) -> Words:
        return self._secret.scatter(hashes) >> self._shift


def changes(ascending: npt.NDArray[Any]) -> Mask:
    """Where a new value begins."""
    new = np.empty(len(ascending), dtype=np.bool_)
    new[:1] = True
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    return new
