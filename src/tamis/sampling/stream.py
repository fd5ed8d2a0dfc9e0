"""One pass over uncounted elements, in memory proportional to the sample; a second pass counts.

Each element draws its own u ~ Exp[1], and the seed of a key is the smallest u of its elements. The
minimum of w such draws is Exp[w], which is the ppswor seed of a key with frequency w. So

* all keys with a seed below tau are a threshold sample: q(w) = 1 - exp(-tau w);
* the k keys with the smallest seeds are a bottom-k sample.

Exp[1] is -log(1 - V/2^64) for a uniform word V, and grows with V. So the words stand for the
seeds: they are compared as whole numbers, and logarithms are taken only when seeds are asked for.

Reference: Cohen, Geri, Sarlos, Stemmer, "Differentially private weighted sampling", section 3.1;
Cohen, "Stream sampling framework and application for frequency cap statistics" (2018).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.privacy import randomness, verify
from tamis.privacy.errors import InvalidInput, meant
from tamis.sampling.arrow import column_of, quoted
from tamis.sampling.executors import checked
from tamis.sampling.frequencies import check_whole
from tamis.sampling.keys import check_kind, key_column
from tamis.sampling.schemes import Everything, Ppswor, Scheme
from tamis.sampling.spark import at_rest, guarded

Floats = npt.NDArray[np.float64]
Words = randomness.Words
Keys: TypeAlias = "pa.Array | pa.ChunkedArray | npt.ArrayLike"

_AT_ONCE = 1 << 18  # elements drawn for at a time
_ROOM = 1 << 16  # rows that may wait before they are merged
_PIECES = 1 << 10  # and in how many pieces: each costs more than its rows


class PpsworStream:
    """A ppswor sample of the keys of a stream, with f(w) = w: give ``tau`` or ``k``.

    The sample is not private. With ``tau`` chosen without looking at the data, or by `private_tau`,
    it may be sanitised with ``scheme()`` once a second pass has counted the keys. With ``k``, tau
    is computed from the data and **is not private**: do not sanitise such a sample with it.

    Exactness: with ``tau``, a key is kept with probability 1 - (1 - Q/2^128)^w exactly, where Q is
    ``units(1)`` of `tamis.privacy.verify.Scheme`. That is within ``sampler_error`` of ``units(w)``.

    >>> stream = PpsworStream(k=10)
    >>> stream.update(["a", "b", "a"])
    >>> stream.keys().to_pylist()
    ['a', 'b']
    """

    def __init__(self, *, tau: float | None = None, k: int | None = None) -> None:
        if (tau is None) == (k is None):
            raise InvalidInput("PpsworStream needs either tau or k, and not both.")
        self._tau = None if tau is None else Ppswor(tau).tau
        self._k = None if k is None else check_whole(k, "k")
        # A word of 128 bits is looked at if it is below this; with k, it falls as seeds come in.
        self._limit = verify.U if tau is None else verify.Scheme(Ppswor(tau).rule()).units(1)
        self._kept: pa.Table | None = None  # columns key and word, one row for each key
        self._waiting: list[pa.Table] = []  # rows to be merged into it

    def update(self, keys: Keys) -> None:
        """Draw for each element of a batch, and keep what may be in the sample."""
        column = key_column(keys)
        if not len(column):
            return
        self._check_type(column.type)
        for start in range(0, len(column), _AT_ONCE):
            self._take(column.slice(start, _AT_ONCE))

    @guarded
    def update_frame(self, frame: Any, key: str) -> None:
        """Draw for each element of a column of a DataFrame of Spark, on its executors.

        What may be in the sample comes back from each partition, and is merged here.
        """
        column, kind = _column(frame, key)
        self._check_type(kind)
        tau, k = self._tau, self._k

        def kept(batches: Iterator[Any]) -> Iterator[Any]:
            part = PpsworStream(tau=tau, k=k)
            for batch in batches:
                part.update(pc.drop_null(batch.column(0)))
            part._settle()
            if part._kept is not None:
                yield from _signed(part._kept).to_batches()

        theirs = column.schema["key"].dataType.simpleString()
        theirs = "bigint" if kind == pa.int64() else theirs
        found = column.mapInArrow(checked(kept), f"key {theirs}, word bigint").toArrow()
        if found.num_rows:
            words = column_of(found["word"].to_numpy().view(np.uint64))
            self._append(pa.table({"key": key_column(found["key"]), "word": words}))

    def merge(self, other: PpsworStream) -> None:
        """Take in the sample of another part of the data, as if both had been one stream."""
        if (self._tau, self._k) != (other._tau, other._k):
            raise InvalidInput(
                "streams can be merged only if they have the same tau or the same k."
            )
        other._settle()
        if other._kept is not None:
            self._check_type(other._kept["key"].type)
            self._append(other._kept)

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> pa.Array:
        """The sampled keys, each once, in the order of the keys."""
        return self._sample()["key"].combine_chunks()

    def seeds(self) -> Floats:
        """The seed of each of ``keys()``: the smallest of the Exp[1] that its elements drew."""
        return _exponential(self._sample()["word"].to_numpy())

    @property
    def tau(self) -> float:
        """The rate: as given, or the (k+1)-th smallest seed, infinite if there are only k keys."""
        if self._tau is not None:
            return self._tau
        self._settle()
        if self._kept is None or self._kept.num_rows <= (self._k or 0):
            return math.inf
        return float(_exponential(self._kept["word"].to_numpy()).max())

    def scheme(self) -> Scheme:
        """The scheme of this sample: with ``k``, given the seeds of all other keys."""
        return Everything() if math.isinf(self.tau) else Ppswor(self.tau)

    @property
    def sampler_error(self) -> float:
        """How far q may be from that of ``scheme()``, for `tamis.sanitize`; only with ``tau``.

        Q and ``units(w)`` are rounded by at most one unit of 2^-128 each, Q upwards, and the
        derivative of x -> 1 - (1 - x)^w is w (1 - x)^(w - 1) <= 1/x.
        """
        if self._tau is None:
            raise InvalidInput("sampler_error is known only for a stream with tau; this one has k.")
        words = verify.ceil_div(verify.U, max(1, self._limit - 1)) + 1
        return math.nextafter(words / verify.U, 1)

    def _check_type(self, kind: Any) -> None:
        if self._kept is not None and self._kept["key"].type != kind:
            held = self._kept["key"].type
            raise InvalidInput(f"keys are {kind} here but {held} before; convert them to one type.")

    def _take(self, column: Any) -> None:
        words = randomness.words(len(column))
        chosen = np.flatnonzero(self._looked_at(words))
        rows = {"key": column.take(pa.array(chosen)), "word": pa.array(words[chosen])}
        self._append(pa.table(rows))

    def _looked_at(self, words: Words) -> npt.NDArray[np.bool_]:
        """Is a word of 128 bits below the limit? Its second half is drawn only if it matters."""
        first, second = divmod(self._limit, 1 << 64)
        below = words < first
        for place in np.flatnonzero(words == first) if second else ():
            below[place] = int(randomness.words(1)[0]) < second
        return below

    def _append(self, rows: pa.Table) -> None:
        if self._kept is None:
            self._kept = rows.slice(0, 0)
        if rows.num_rows:
            self._waiting.append(rows)
        if _is_full([piece.num_rows for piece in self._waiting], self._kept.num_rows):
            self._settle()

    def _settle(self) -> None:
        """One row for each key, with its smallest word; with k, no more than the k + 1 smallest."""
        if self._kept is None or not self._waiting:
            return
        rows = pa.concat_tables([self._kept, *self._waiting])
        rows = rows.group_by("key").aggregate([("word", "min")])
        self._kept = rows.select(["key", "word_min"]).rename_columns(["key", "word"])
        self._waiting = []
        if self._k is not None and rows.num_rows > self._k:
            order = pc.sort_indices(self._kept, [("word", "ascending"), ("key", "ascending")])
            self._kept = self._kept.take(order[: self._k + 1])  # copies, so that the rest is freed
            self._limit = (self._kept["word"][self._k].as_py() + 1) << 64

    def _sample(self) -> pa.Table:
        self._settle()
        if self._kept is None:
            return pa.table(
                {"key": pa.array([], pa.large_string()), "word": pa.array([], pa.uint64())}
            )
        rows = self._kept if self._k is None else self._kept.slice(0, self._k)
        return rows.sort_by("key")


class SecondPass:
    """Counts of some keys in a stream, in memory proportional to these keys."""

    def __init__(self, keys: Keys) -> None:
        column = key_column(keys)
        self._keys = column.unique()  # a copy: the caller may use the memory again
        if len(self._keys) < len(column):
            raise InvalidInput("keys must name each key once.")
        self._counts = np.zeros(len(self._keys), dtype=np.int64)
        self._waiting: list[Any] = []

    def update(self, keys: Keys) -> None:
        """Count a batch of elements."""
        column = key_column(keys)
        if not len(column) or not len(self._keys):
            return
        self._check_type(column.type)
        self._waiting.append(column.value_counts())
        if _is_full([len(piece) for piece in self._waiting], len(self._keys)):
            self._settle()

    def _check_type(self, kind: pa.DataType) -> None:
        if len(self._keys) and kind != self._keys.type:
            raise InvalidInput(
                f"keys are {kind} here but the counted keys are {self._keys.type}; "
                "convert them to one type."
            )

    def merge(self, other: SecondPass) -> None:
        """Add the counts of another part of the data."""
        if not self._keys.equals(other._keys):
            raise InvalidInput("second passes can be merged only if they count the same keys.")
        other._settle()
        self._settle()
        self._counts += other._counts

    def table(self) -> pa.Table:
        """Columns key and frequency; a key that did not occur has frequency 0."""
        self._settle()
        return pa.table({"key": self._keys, "frequency": pa.array(self._counts)})

    def _settle(self) -> None:
        if self._waiting:
            values, counts = pa.chunked_array(self._waiting).flatten()
            place = pc.fill_null(pc.index_in(values, self._keys), len(self._keys)).to_numpy()
            here = place < len(self._keys)
            np.add.at(self._counts, place[here], counts.to_numpy()[here])
            self._waiting = []


def count(keys: Keys, batches: Iterable[Keys]) -> pa.Table:
    """The exact frequency of each of ``keys`` in all batches together.

    >>> count(["a", "c"], [["a", "b", "a"], ["c"]]).to_pydict()
    {'key': ['a', 'c'], 'frequency': [2, 1]}
    """
    counted = SecondPass(keys)
    for batch in batches:
        counted.update(batch)
    return counted.table()


def _signed(kept: pa.Table) -> pa.Table:
    """With words as Spark can hold them: it has no whole numbers without a sign."""
    words = column_of(kept["word"].to_numpy().view(np.int64))
    large = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    keys = kept["key"].cast(large.get(kept["key"].type, kept["key"].type))
    return pa.table({"key": keys, "word": words})


@guarded
def count_frame(keys: Keys, frame: Any, key: str) -> pa.Table:
    """The exact frequency of each of ``keys`` in a column of a DataFrame of Spark: the second pass.

    Elements are counted in each partition, and the counts of these keys come back.
    """
    counted = SecondPass(keys)
    column, kind = _column(frame, key)
    counted._check_type(kind)
    wanted = counted._keys

    def part(batches: Iterator[Any]) -> Iterator[Any]:
        mine = SecondPass(wanted)
        for batch in batches:
            mine.update(pc.drop_null(batch.column(0)))
        mine._settle()
        places = np.flatnonzero(mine._counts)
        columns = {"place": column_of(places), "many": column_of(mine._counts[places])}
        yield from pa.table(columns).to_batches()

    found = column.mapInArrow(checked(part), "place bigint, many bigint").toArrow()
    np.add.at(counted._counts, found["place"].to_numpy(), found["many"].to_numpy())
    return counted.table()


def _column(frame: Any, key: str) -> tuple[Any, pa.DataType]:
    """A column of a DataFrame, under the name key, and the type that its keys have here."""
    at_rest(frame)
    if key not in frame.columns:
        raise InvalidInput(f"data has no column {key!r}.{meant(key, frame.columns)}")
    column = frame.selectExpr(f"{quoted(key)} AS key")
    kind = key_column(column.limit(0).toArrow()["key"], f"column {key!r}").type
    check_kind(kind, f"column {key!r}")
    return column, kind


def _is_full(waiting: list[int], kept: int) -> bool:
    """Whether so much waits that merging costs no more than what came in."""
    return sum(waiting) > max(_ROOM, kept) or len(waiting) > _PIECES


def _exponential(words: Words) -> Floats:
    middle = (words.astype(np.float64) + 0.5) * 2.0**-64
    seeds: Floats = -np.log1p(-np.minimum(middle, 1 - 2.0**-53))
    return seeds
