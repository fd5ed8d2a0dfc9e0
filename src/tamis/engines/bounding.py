"""What one unit may contribute, enforced on whole arrays.

Rows come as pairs of a unit and the hash of a key. Packed into one word each and sorted, the keys
of a unit stand together, equal ones side by side. A unit with more keys than it may have keeps a
run of them, in the order of a hash with a fresh secret, that starts at a place of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.engines.codes import MIXED, Coding, Ints, Keys, Mask, Secret, Words, changes

Units = npt.NDArray[np.int64] | Words

_LIMITS = 2 ** np.arange(8)
_SHARED = 1 << 18  # rows, from which on threads share the work
_BLOCK = 1 << 16  # rows that are packed at a time, so that they stay near the processor


def bounded_counts(
    units: Units,
    hashes: Words,
    keys: Keys,
    keys_per_unit: int,
    elements_per_key: int,
    secret: Secret,
    names: Words | None = None,
    known: Keys | None = None,
    threads: int = 1,
) -> Ints:
    """The frequency of each of ``keys`` over these rows.

    All rows of a unit must be given in one call. Its frequency counts a unit at most
    ``elements_per_key`` times, and a unit counts in at most ``keys_per_unit`` of them. With
    ``names``, units are places in them, and the names are what units are known by. ``known`` are
    all units there are, where that was found out. Threads share the units.

    Guarantee: which keys a unit keeps depends on its keys, its name and the secret alone.
    """
    if not len(units):
        return np.zeros(len(keys.hashes), dtype=np.int64)
    packing = _packing(units, keys, secret, known)
    name = packing.units if names is None else lambda owner: names[packing.units(owner)]

    def counted(part: Words) -> Ints:
        part.sort()
        new = changes(part)
        pairs = part[new]
        kept = _kept(packing.owners(pairs), keys_per_unit, name, secret)
        found = pairs[kept] & packing.mask
        if elements_per_key == 1:
            return _add_up(found, None, packing.keys)
        many = np.diff(np.flatnonzero(new), append=len(part))
        return _add_up(found, np.minimum(many[kept], elements_per_key), packing.keys)

    threads = threads if len(units) >= _SHARED else 1
    with ThreadPoolExecutor(threads) as pool:
        parts = packing.parts(units, hashes, threads, pool)
        total: Ints = np.sum(list(pool.map(counted, parts)), axis=0)
    return total


def spread_of_units(units: Units, hashes: Words, keys: Keys, known: Keys | None = None) -> Ints:
    """How many units have 1, 2, 3 to 4, 5 to 8, ..., 65 to 128, and more keys.

    All rows of a unit must be given in one call.
    """
    if not len(units):
        return np.zeros(len(_LIMITS) + 1, dtype=np.int64)
    packing = _packing(units, keys, MIXED, known)
    with ThreadPoolExecutor(1) as pool:
        (packed,) = packing.parts(units, hashes, 1, pool)
    packed.sort()
    owner = packing.owners(packed[changes(packed)])
    many = np.diff(np.flatnonzero(changes(owner)), append=len(owner))
    return np.bincount(np.searchsorted(_LIMITS, many), minlength=len(_LIMITS) + 1)


@dataclass(frozen=True)
class _Packing:
    """(unit, key) in one word, whose last ``bits`` are the key's code; the first are the unit's.

    ``front`` gives the codes of units, and ``units`` says whose they are.
    """

    bits: int
    keys: Coding
    front: Callable[[Units], Words]
    units: Callable[[Words], Words]
    slow: bool = False  # as of `Coding`

    @property
    def mask(self) -> np.uint64:
        return np.uint64((1 << self.bits) - 1)

    def owners(self, packed: Words) -> Words:
        return packed >> np.uint64(self.bits) if self.bits < 64 else np.zeros_like(packed)

    def parts(
        self, units: Units, hashes: Words, parts: int, pool: ThreadPoolExecutor
    ) -> list[Words]:
        """All rows, packed, in parts that have whole units."""
        at_once = len(units) if self.slow else _BLOCK

        def split(start: int) -> list[Words]:
            rows = slice(start, start + at_once)
            packed = self._packed(units[rows], hashes[rows])
            if parts == 1:
                return [packed]
            which = MIXED.scatter(self.owners(packed)) % np.uint64(parts)  # codes may all be even
            return [packed[which == n] for n in range(parts)]

        blocks = list(pool.map(split, range(0, len(units), at_once)))
        return [np.concatenate([block[n] for block in blocks]) for n in range(parts)]

    def _packed(self, units: Units, hashes: Words) -> Words:
        keys = self.keys.of(hashes)
        return (self.front(units) << np.uint64(self.bits)) | keys if self.bits < 64 else keys


def _packing(units: Units, keys: Keys, secret: Secret, known: Keys | None = None) -> _Packing:
    """Units are coded by how far they are from the least, if that leaves bits enough for keys.

    Otherwise both get codes, and share the bits that are more than their numbers need.
    """
    least = units.min()
    bits = 64 - int(int(units.max()) - int(least)).bit_length()
    coding, name = keys.coding(bits, secret), np.array(least).astype(np.uint64)[()]
    if coding is not None and not coding.slow:
        return _Packing(bits, coding, lambda u: (u - least).astype(np.uint64), lambda c: c + name)
    owners = known or _different(units)
    least_bits, front = (max(1, (len(k.hashes) - 1).bit_length()) for k in (keys, owners))
    bits = least_bits + (64 - least_bits - front) // 2
    coded, coding = owners.coding(64 - bits, secret), keys.coding(bits, secret)
    assert coded is not None
    assert coding is not None  # there are fewer of both together than words
    return _Packing(
        bits,
        coding,
        lambda u: coded.of(u.astype(np.uint64)),
        lambda codes: owners.hashes[coded.whose(codes)],
        coding.slow or coded.slow,
    )


def _different(units: Units) -> Keys:
    ordered = np.sort(units)
    return Keys(ordered[changes(ordered)].astype(np.uint64))


def _kept(owner: Words, keys_per_unit: int, name: Callable[[Words], Words], secret: Secret) -> Mask:
    """Which pairs stay: of a unit with c > k keys a run of k, around the corner if need be."""
    first = np.flatnonzero(changes(owner))
    count = np.diff(first, append=len(owner))
    over = np.flatnonzero(count > keys_per_unit)
    kept = np.ones(len(owner), dtype=np.bool_)
    if len(over):
        start, many = first[over], count[over]
        scattered = secret.scatter(secret.scatter(name(owner[start])))
        offset = (scattered % many.astype(np.uint64)).astype(np.int64)
        rank = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        run = (rank - np.repeat(offset, many)) % np.repeat(many, many) < keys_per_unit
        kept[np.repeat(start, many) + rank] = run
    return kept


def _add_up(found: Words, weights: Ints | None, keys: Coding) -> Ints:
    """How often each key was found, in the order of the keys."""
    if weights is not None:
        order = np.argsort(found)
        found, weights = found[order], weights[order]
    else:
        found.sort()
    starts = np.flatnonzero(changes(found))
    if weights is not None and len(found):
        sums = np.add.reduceat(weights, starts)
    else:
        sums = np.diff(starts, append=len(found))
    total = np.zeros(len(keys.codes), dtype=np.int64)
    total[keys.whose(found[starts])] = sums
    return total
