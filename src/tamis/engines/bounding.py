"""What one unit may contribute, enforced on whole arrays.

Rows come as pairs of a unit and the hash of a key. Packed into one word each and sorted, the keys
of a unit stand together, equal ones side by side. A unit with more keys than it may have keeps a
run of them, in the order of a hash with a fresh secret, that starts at a place of its own.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

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

    def shorten(self, words: Words, bits: int) -> Words:
        return self.scatter(words) >> np.uint64(64 - bits)


@dataclass(frozen=True)
class Keys:
    """The distinct keys of the data, by their hashes; parts of the data share what is found out."""

    hashes: Words
    _found: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not _differ(self.hashes):
            raise Collision

    def short(self, bits: int, secret: Secret) -> Words | None:
        """Their scattered hashes in so many bits, or None if these do not tell all keys apart."""
        if bits < 1:
            return None
        if self._found.get("asked") != (bits, secret):
            short = secret.shorten(self.hashes, bits)
            self._found.update(asked=(bits, secret), short=short if _differ(short) else None)
        known: Words | None = self._found["short"]
        return known

    def fit(self, bits: int) -> bool:
        """Whether their numbers have so few bits."""
        return len(self.hashes) <= 1 << max(bits, 0)

    def rank(self, short: Words) -> Ints:
        """The order of these names of keys."""
        if self._found.get("ranked") is not short:
            self._found.update(ranked=short, rank=np.argsort(short))
        rank: Ints = self._found["rank"]
        return rank

    def numbers(self, hashes: Words, secret: Secret) -> tuple[Words, Words]:
        """The number of the key of each hash, and of each key, in scattered order."""
        rank = np.argsort(secret.scatter(self.hashes), kind="stable")
        number = np.empty(len(rank), dtype=np.uint64)
        number[rank] = np.arange(len(rank), dtype=np.uint64)
        return number[self.places(hashes)], number

    def places(self, hashes: Words) -> npt.NDArray[Any]:
        """Which key each hash is of."""
        found = pc.index_in(column_of(hashes), value_set=column_of(self.hashes))
        if found.null_count:
            raise BadData(_CHANGED)
        places: npt.NDArray[Any] = found.to_numpy()
        return places


@dataclass(frozen=True)
class NumberedKeys(Keys):
    """Keys of which some share a hash. For rows, the place of their key stands in for its hash.

    Keys that share a hash follow each other in the order in which they are given; when that is an
    order by what the keys are, each unit keeps the same keys as it would beside any other units.
    """

    def __post_init__(self) -> None:
        pass

    def short(self, bits: int, secret: Secret) -> Words | None:
        return None

    def fit(self, bits: int) -> bool:
        return False  # units that come with such keys are numbered, and names go by numbers

    def places(self, hashes: Words) -> npt.NDArray[Any]:
        return hashes


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
            hashes = _MIXED.scatter(hashes ^ row.astype(np.uint64))
        return NumberedKeys(hashes)


_MIXED = Secret(0, 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)  # fixed, for numbers that are alike
_PLAIN = Secret(0, 1, 1)  # where nothing may depend on chance
_LIMITS = 2 ** np.arange(8)
_SHARED = 1 << 18  # rows, from which on threads share the work


def bounded_counts(
    units: npt.NDArray[np.int64] | Words,
    hashes: Words,
    keys: Keys,
    keys_per_unit: int,
    elements_per_key: int,
    secret: Secret,
    names: Words | None = None,
    threads: int = 1,
) -> Ints:
    """The frequency of each of ``keys`` over these rows.

    All rows of a unit must be given in one call. Its frequency counts a unit at most
    ``elements_per_key`` times, and a unit counts in at most ``keys_per_unit`` of them. With
    ``names``, units are places in them, and the names are what units are known by. Threads share
    the units.

    Guarantee: which keys a unit keeps depends on its keys, its name and the secret alone.
    """
    if not len(units):
        return np.zeros(len(keys.hashes), dtype=np.int64)
    packed, bits, short, known = _pack(units, hashes, keys, secret)
    if names is not None:
        assert isinstance(known, np.ndarray)  # NumberedKeys come with numbered units
        known = names[known]
    rank = keys.rank(short)

    def counted(part: Words) -> Ints:
        part.sort()
        new = _changes(part)
        pairs = part[new]
        kept = _kept(pairs >> np.uint64(bits), keys_per_unit, known, secret)
        found = pairs[kept] & np.uint64((1 << bits) - 1)
        if elements_per_key == 1:
            return _add_up(found, None, short, rank)
        many = np.diff(np.flatnonzero(new), append=len(part))
        return _add_up(found, np.minimum(many[kept], elements_per_key), short, rank)

    if threads == 1 or len(packed) < _SHARED:
        return counted(packed)
    with ThreadPoolExecutor(threads) as pool:
        parts = _split(packed, bits, threads, pool)
        del packed
        total: Ints = np.sum(list(pool.map(counted, parts)), axis=0)
    return total


def _split(packed: Words, bits: int, parts: int, pool: ThreadPoolExecutor) -> list[Words]:
    """In parts that have whole units."""
    which = ((packed >> np.uint64(bits)) % np.uint64(parts)).astype(np.uint16)
    return list(pool.map(lambda n: packed[which == n], range(parts)))


def spread_of_units(units: npt.NDArray[np.int64] | Words, hashes: Words, keys: Keys) -> Ints:
    """How many units have 1, 2, 3 to 4, 5 to 8, ..., 65 to 128, and more keys.

    All rows of a unit must be given in one call.
    """
    if not len(units):
        return np.zeros(len(_LIMITS) + 1, dtype=np.int64)
    packed, bits, *_ = _pack(units, hashes, keys, _PLAIN)
    packed.sort()
    owner = packed[_changes(packed)] >> np.uint64(bits)
    many = np.diff(np.flatnonzero(_changes(owner)), append=len(owner))
    return np.bincount(np.searchsorted(_LIMITS, many), minlength=len(_LIMITS) + 1)


def _differ(words: Words) -> bool:
    ordered = np.sort(words)
    return bool((ordered[1:] != ordered[:-1]).all())


def _changes(ascending: npt.NDArray[Any]) -> Mask:
    """Where a new value begins."""
    new = np.empty(len(ascending), dtype=np.bool_)
    new[:1] = True
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    return new


def _pack(
    units: npt.NDArray[np.int64] | Words, hashes: Words, keys: Keys, secret: Secret
) -> tuple[Words, int, Words, Words | np.uint64]:
    """(unit, key) in one word; the bits of the key; every key in these bits; the names of units.

    Units are numbered from the least on if that leaves bits enough for the keys, and otherwise
    without gaps. Keys are shortened to the bits that are left if that tells them apart, and
    otherwise numbered too, which takes longer.
    """
    least = units.min()
    bits = 64 - int(int(units.max()) - int(least)).bit_length()
    front, name = (units - least).astype(np.uint64), np.array(least).astype(np.uint64)[()]
    if (short := keys.short(bits, secret)) is not None:
        return _join(front, secret.shorten(hashes, bits), bits), bits, short, name
    if keys.fit(bits):
        places, short = keys.numbers(hashes, secret)
        return _join(front, places, bits), bits, short, name
    order = np.argsort(units)
    ordered, hashes = units[order], hashes[order]
    new = _changes(ordered)
    front, names = (np.cumsum(new) - 1).astype(np.uint64), ordered[new].astype(np.uint64)
    bits = 64 - int(front[-1]).bit_length()
    if (short := keys.short(bits, secret)) is not None:
        return _join(front, secret.shorten(hashes, bits), bits), bits, short, names
    places, short = keys.numbers(hashes, secret)
    return _join(front, places, bits), bits, short, names


def _join(front: Words, back: Words, bits: int) -> Words:
    return (front << np.uint64(bits)) | back if bits < 64 else back


def _kept(owner: Words, keys_per_unit: int, names: Words | np.uint64, secret: Secret) -> Mask:
    """Which pairs stay: of a unit with c > k keys a run of k, around the corner if need be."""
    first = np.flatnonzero(_changes(owner))
    count = np.diff(first, append=len(owner))
    over = np.flatnonzero(count > keys_per_unit)
    kept = np.ones(len(owner), dtype=np.bool_)
    if len(over):
        start, many = first[over], count[over]
        name = names[owner[start]] if isinstance(names, np.ndarray) else owner[start] + names
        offset = (secret.scatter(secret.scatter(name)) % many.astype(np.uint64)).astype(np.int64)
        rank = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        run = (rank - np.repeat(offset, many)) % np.repeat(many, many) < keys_per_unit
        kept[np.repeat(start, many) + rank] = run
    return kept


def _add_up(found: Words, weights: Ints | None, short: Words, rank: Ints) -> Ints:
    """How often each key was found, in the order of the keys."""
    if weights is not None:
        order = np.argsort(found)
        found, weights = found[order], weights[order]
    else:
        found.sort()
    starts = np.flatnonzero(_changes(found))
    if weights is not None and len(found):
        sums = np.add.reduceat(weights, starts)
    else:
        sums = np.diff(starts, append=len(found))
    total, ordered = np.zeros(len(short), dtype=np.int64), short[rank]
    places = np.searchsorted(ordered, found[starts])
    if len(places) and not np.array_equal(ordered.take(places, mode="clip"), found[starts]):
        raise BadData(_CHANGED)
    total[rank[places]] = sums
    return total
