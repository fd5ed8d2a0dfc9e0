"""One unit's contribution is bounded, and these tests try to break it."""

from __future__ import annotations

import datetime
import math
import uuid
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tamis
from tamis.engines import bounding
from tamis.engines.bounding import _packing, bounded_counts, spread_of_units
from tamis.engines.codes import Collision, Keys, Secret
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine, Request
from tamis.privacy import randomness
from tests.engines.counting import Repeated, counts, named, repeated, table
from tests.sources import Counted, Forbidden

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

FULL = 2**64 - 1
SECRETS = st.builds(lambda a, b, c: Secret(a, b | 1, c | 1), *[st.integers(2**32, FULL)] * 3)
UNITS: dict[str, Callable[[int], int]] = {
    "from the least on": lambda n: n - 3,
    "far apart": lambda n: (n * 0x9E3779B97F4A7C15 % 2**64) - 2**63,
    "at both ends": lambda n: (-(2**63) + n) if n % 2 else (2**63 - 1 - n),
}
KINDS = ["usual", "small", "pairs", "alike"]
ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=60)


def scatter(secret: Secret, word: int) -> int:
    """`Secret.scatter` in Python's integers."""
    mixed = (word % 2**64 ^ secret.add) * secret.multiply % 2**64
    mixed = (mixed ^ mixed >> 32) * secret.again % 2**64
    return mixed ^ mixed >> 29


def unscatter(secret: Secret, word: int) -> int:
    mixed = word ^ word >> 29 ^ word >> 58
    mixed = mixed * pow(secret.again, -1, 2**64) % 2**64
    mixed ^= mixed >> 32
    return mixed * pow(secret.multiply, -1, 2**64) % 2**64 ^ secret.add


def by_hand(
    rows: list[tuple[int, int]], hashes: list[int], k: int, e: int, secret: Secret
) -> list[int]:
    """Unit by unit: keys in the order of the secret, and a run of k from a place of the unit's."""
    seen: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for unit, key in rows:
        seen[unit][key] += 1
    total = [0] * len(hashes)
    for unit, found in seen.items():
        order = sorted(found, key=lambda key: scatter(secret, hashes[key]))
        start = scatter(secret, scatter(secret, unit)) % len(order) if len(order) > k else 0
        for n in range(min(k, len(order))):
            key = order[(start + n) % len(order)]
            total[key] += min(found[key], e)
    return total


def bounded(
    rows: list[tuple[int, int]], hashes: list[int], k: int, e: int, secret: Secret
) -> list[int]:
    units = np.array([unit for unit, _ in rows], dtype=np.int64)
    codes = np.array([hashes[key] for _, key in rows], dtype=np.uint64)
    keys = Keys(np.array(hashes, dtype=np.uint64))
    found = bounded_counts(units, codes, keys, k, e, secret)
    assert found.dtype == np.int64
    known = Keys(np.unique(units).astype(np.uint64))
    again = bounded_counts(units, codes, keys, k, e, secret, known=known)
    assert np.array_equal(again, found)
    with pytest.MonkeyPatch.context() as patch:  # few rows are shared by threads too
        patch.setattr(bounding, "_SHARED", 1)
        for threads in (2, 3):
            again = bounded_counts(units, codes, keys, k, e, secret, threads=threads)
            assert np.array_equal(again, found)
    return [int(n) for n in found]


def hashes_for(kind: str, secret: Secret) -> list[int]:
    if kind == "usual":
        return [n * 0xD1B54A32D192ED03 % 2**64 for n in range(10)]
    if kind == "small":
        return list(range(10))
    if kind == "pairs":  # two each share their first bits
        return [unscatter(secret, (n // 2 << 58) + n % 2 * 3) for n in range(10)]
    return [unscatter(secret, n) for n in range(10)]  # no short form of these tells them apart


# --- on arrays -----------------------------------------------------------------------------------


@given(SECRETS, st.integers(0, FULL))
def test_a_secret_scatters_one_to_one(secret: Secret, word: int) -> None:
    assert int(secret.scatter(np.array([word], dtype=np.uint64))[0]) == scatter(secret, word)
    assert unscatter(secret, scatter(secret, word)) == word


@settings(deadline=None)
@given(
    ROWS,
    st.integers(1, 12),
    st.integers(1, 4),
    SECRETS,
    st.sampled_from(list(UNITS)),
    st.sampled_from(KINDS),
)
def test_whole_arrays_are_bounded_as_unit_by_unit(
    rows: list[tuple[int, int]], k: int, e: int, secret: Secret, units: str, kind: str
) -> None:
    rows = [(UNITS[units](unit), key) for unit, key in rows]
    hashes = hashes_for(kind, secret)
    assert bounded(rows, hashes, k, e, secret) == by_hand(rows, hashes, k, e, secret)


@settings(deadline=None)
@given(ROWS, SECRETS, st.sampled_from(list(UNITS)), st.sampled_from(KINDS))
def test_the_spread_of_whole_arrays_is_counted_as_unit_by_unit(
    rows: list[tuple[int, int]], secret: Secret, units: str, kind: str
) -> None:
    hashes = np.array(hashes_for(kind, secret), dtype=np.uint64)
    owners = np.array([UNITS[units](unit) for unit, _ in rows])
    found = spread_of_units(owners, hashes[[key for _, key in rows]], Keys(hashes))
    wanted = [0] * 9
    for unit in {unit for unit, _ in rows}:
        wanted[(len({key for other, key in rows if other == unit}) - 1).bit_length()] += 1
    assert found.tolist() == wanted


def test_all_ways_to_pack_units_and_keys_are_tried_above() -> None:
    """Units by their distance from the least or with codes; keys with three kinds of codes."""
    secret = Secret.fresh()
    ways = set()
    for number in UNITS.values():
        for kind in KINDS:
            numbers = np.array([number(n) for n in range(7)], dtype=np.int64)
            hashes = np.array(hashes_for(kind, secret), dtype=np.uint64)
            packing = _packing(numbers, Keys(hashes), secret)
            first = secret.scatter(hashes) >> np.uint64(64 - packing.bits)
            told_apart = np.array_equal(packing.keys.of(hashes), first)
            ways.add((packing.bits, packing.keys.slow, told_apart))
    far = 4 + (64 - 4 - 3) // 2
    kinds = [(False, True), (False, False), (True, False)]
    assert ways == {(61, *kinds[0]), (61, *kinds[1])} | {(far, *kind) for kind in kinds}


@settings(deadline=None)
@given(ROWS, st.integers(1, 4), st.integers(1, 3), SECRETS, st.sampled_from(list(UNITS)))
def test_removing_a_unit_changes_few_frequencies_by_little(
    rows: list[tuple[int, int]], k: int, e: int, secret: Secret, units: str
) -> None:
    """Keys that no one else has disappear together with the unit."""
    rows = [(UNITS[units](unit), key) for unit, key in rows]
    hashes = hashes_for("usual", secret)
    before = bounded(rows, hashes, k, e, secret)
    for gone in {unit for unit, _ in rows}:
        left = [row for row in rows if row[0] != gone]
        there = sorted({key for _, key in left})
        fewer = [hashes[key] for key in there]
        renamed = [(unit, there.index(key)) for unit, key in left]
        after = [0] * len(hashes)
        if left:
            for key, n in zip(there, bounded(renamed, fewer, k, e, secret), strict=True):
                after[key] = n
        changes = [a - b for a, b in zip(before, after, strict=True) if a != b]
        assert len(changes) <= k
        assert all(1 <= change <= e for change in changes)


NAMES: dict[str, Words] = {
    "one after the other": np.arange(100_000, dtype=np.uint64),
    "only high bits": np.arange(100_000, dtype=np.uint64) << np.uint64(44),
    "random": np.random.default_rng(5).integers(2**64, size=100_000, dtype=np.uint64),
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize(("many", "k"), [(7, 3), (8, 1)])
def test_each_key_of_a_unit_survives_equally_often(names: Words, many: int, k: int) -> None:
    """With one secret, over 100,000 units; a false alarm has probability below 1e-6."""
    secret = Secret(*(int(w) | 1 for w in Repeated(3).words(3)))
    units = np.repeat(names.view(np.int64), many)
    keys = np.array([n * 0xD1B54A32D192ED03 % 2**64 for n in range(many)], dtype=np.uint64)
    found = bounded_counts(units, np.tile(keys, len(names)), Keys(keys), k, 1, secret)
    assert found.sum() == k * len(names)
    share, spread = k / many, (k / many * (1 - k / many) / len(names)) ** 0.5
    assert (np.abs(found / len(names) - share) < 5.7 * spread).all()
    off = found * 0.94  # a selection that forgets a key now and then would be noticed
    assert (np.abs(off / len(names) - share) > 5.7 * spread).any()


def test_each_key_of_one_unit_survives_equally_often_over_secrets() -> None:
    """Which run of 2 of 5 keys is kept is uniform; a false alarm has probability 1e-6."""
    keys = np.arange(5, dtype=np.uint64)
    units, runs = np.full(5, -7), np.zeros(32)
    source = Repeated(8)
    with randomness.using(source):
        for _ in range(5000):
            found = bounded_counts(units, keys, Keys(keys), 2, 1, Secret.fresh())
            runs[int(found @ (1 << np.arange(5)))] += 1
    pairs = runs[runs > 0]
    assert len(pairs) == 10  # any two of them can stand side by side
    assert stats.chisquare(pairs).pvalue > 1e-6
    assert stats.chisquare(pairs + pairs.sum() * np.array([0.03, -0.03] + [0] * 8)).pvalue < 1e-6


def test_a_unit_with_very_many_rows_or_keys_counts_no_more_than_any_other() -> None:
    secret = Secret.fresh()
    same = np.zeros(100_000, dtype=np.uint64)
    one = Keys(np.array([0], dtype=np.uint64))
    assert bounded_counts(np.zeros(100_000, np.int64), same, one, 3, 2, secret).tolist() == [2]
    many = np.arange(100_000, dtype=np.uint64)
    found = bounded_counts(np.full(100_000, 9), many, Keys(many), 3, 2, secret)
    assert (found.sum(), found.max()) == (3, 1)
    assert spread_of_units(np.full(100_000, 9), many, Keys(many)).tolist() == [0] * 8 + [1]


def test_keys_that_share_a_hash_are_noticed() -> None:
    with pytest.raises(Collision):
        Keys(np.array([5, 6, 5], dtype=np.uint64))


def test_rows_that_came_after_the_keys_were_listed_are_noticed() -> None:
    for hashes in ([1, 2, 9], [1, 2, 2**64 - 1], [0, 1, 2]):
        units, keys = np.arange(3), Keys(np.array([1, 2], dtype=np.uint64))
        with pytest.raises(tamis.BadData, match="changed while it was read"):
            bounded_counts(units, np.array(hashes, dtype=np.uint64), keys, 1, 1, Secret.fresh())


# --- in an engine --------------------------------------------------------------------------------

TYPES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "int8": ("TINYINT", lambda n: n - 100),
    "int16": ("SMALLINT", lambda n: -n),
    "int32": ("INTEGER", lambda n: n * 10**8 - 2**31),
    "int64": ("BIGINT", lambda n: n * 10**18 - 2**63),
    "uint32": ("UINTEGER", lambda n: 2**32 - 1 - n),
    "uint64": ("UBIGINT", lambda n: 2**64 - 1 - n),
    "hugeint": ("HUGEINT", lambda n: (n - 3) << 64),
    "hugeint around 0": ("HUGEINT", lambda n: n - 3),
    "double": ("DOUBLE", lambda n: n / 7),
    "text": ("VARCHAR", lambda n: f"user {n}"),
    "bytes": ("BLOB", lambda n: f"{n}".encode()),
    "uuid": ("UUID", lambda n: str(uuid.UUID(int=n << 64 | n))),
    "date": ("DATE", lambda n: datetime.date(1970, 1, 1) + datetime.timedelta(n - 3)),
    "decimal": ("DECIMAL(38,2)", lambda n: n - 3),
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One table for every type of unit. Unit n has keys 0, ..., n, and two rows with each."""
    path = str(tmp_path_factory.mktemp("typed") / "events.duckdb")
    with duckdb.connect(path) as database:
        for table, (kind, name) in TYPES.items():
            rows = [(n, key) for n in range(10) for key in range(n + 1) for _ in range(2)]
            values = ", ".join(f"({n}, {key})" for n, key in rows)
            database.execute("CREATE OR REPLACE TEMP TABLE names (n INTEGER, u VARCHAR)")
            database.execute(f"ALTER TABLE names ALTER u TYPE {kind}")
            database.executemany(
                "INSERT INTO names VALUES (?, ?)", [(n, name(n)) for n in range(10)]
            )
            database.execute(
                f'CREATE TABLE "{table}" AS SELECT u, k FROM (VALUES {values}) AS r (n, k) '
                "JOIN names USING (n)"
            )
    return path


@pytest.mark.parametrize("table", TYPES)
def test_units_may_be_of_any_type(engine: Engine, typed: str, table: str) -> None:
    loose = counts(engine, typed, Request(("k",), "u", 10, 2), table)
    assert loose == {(key,): 2 * (10 - key) for key in range(10)}
    tight = counts(engine, typed, Request(("k",), "u", 3, 2), table)
    assert sum(tight.values()) == 2 * (1 + 2 + 8 * 3)
    assert all(tight[key] <= loose[key] for key in tight)


EVENTS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("abcdefg"), st.none() | st.integers(0, 1)),
    max_size=30,
)
COLUMNS = {"u": pa.int64(), "k": pa.string(), "j": pa.int8()}


@settings(max_examples=12, deadline=None)
@given(EVENTS, st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_removing_a_unit_from_the_data_changes_few_frequencies_by_little(
    engine: Engine, rows: list[tuple[Any, ...]], k: int, e: int, named: bool
) -> None:
    columns = COLUMNS
    if named:
        rows = [(f"user {u}", *rest) for u, *rest in rows]
        columns = COLUMNS | {"u": pa.string()}
    request = Request(("k", "j"), "u", k, e, nulls="keep")
    before = repeated(engine, table(columns, rows), request)
    for gone in {row[0] for row in rows}:
        left = [row for row in rows if row[0] != gone]
        after = repeated(engine, table(columns, left), request)
        changes = [
            before.get(key, 0) - after.get(key, 0)
            for key in before.keys() | after.keys()
            if before.get(key, 0) != after.get(key, 0)
        ]
        assert len(changes) <= k
        assert all(1 <= change <= e for change in changes)


@settings(max_examples=6, deadline=None)
@given(EVENTS, st.integers(1, 3), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_parts_decide_which_keys_survive(
    rows: list[tuple[Any, ...]], k: int, random: Any
) -> None:
    shuffled = random.sample(rows, len(rows))
    request = Request(("k",), "u", k)
    with DuckDB() as whole, DuckDB(at_once=2) as parts:
        found = repeated(whole, table(COLUMNS, rows), request)
        assert repeated(parts, table(COLUMNS, shuffled), request) == found


def test_a_fresh_secret_decides_each_time(engine: Engine) -> None:
    data = pa.table({"k": range(50), "u": [1] * 50})
    request = Request(("k",), "u", 3)
    assert len({tuple(sorted(counts(engine, data, request))) for _ in range(8)}) > 1


def test_units_with_the_same_keys_keep_runs_of_one_order(engine: Engine) -> None:
    """Not only how often a key survives, but which survive together, is the same for all engines.

    With 2 of 4 keys a run has one of two opposite ones, so that these add up to all units. If each
    unit kept any two of them, that would happen by chance in one of twenty thousand tests.
    """
    units = 4000
    data = pa.table({"u": np.repeat(np.arange(units), 4), "k": np.tile(np.arange(4), units)})
    for seed in range(3):
        kept = repeated(engine, data, Request(("k",), "u", 2), seed)
        first, *others = (kept[(key,)] for key in range(4))
        assert units in [first + other for other in others]
        spread = math.sqrt(units / 4)
        assert all(abs(n - units / 2) < 5 * spread for n in kept.values())


def test_nothing_is_drawn_before_frequencies_are_asked_for(engine: Engine) -> None:
    data = pa.table({"k": range(50), "u": [1] * 50})
    with randomness.using(Forbidden()):
        counted = engine.count(data, Request(("k",), "u", 3))
    source = Counted()
    with randomness.using(source):
        first = named(counted.frequencies())
        drawn = source.drawn
        assert named(counted.frequencies())[0] == first[0]
    assert 0 < source.drawn == drawn


def test_units_and_keys_that_share_a_hash_of_the_database_are_told_apart(engine: Engine) -> None:
    """DuckDB gives -1 and 0 the same hash when they have 128 bits."""
    values = pa.array([-1, 0]).cast(pa.decimal128(38, 0))
    with duckdb.connect() as database:
        same = database.execute("SELECT hash((-1)::HUGEINT) = hash(0::HUGEINT)").fetchall()
    assert same == [(True,)]
    found = counts(engine, pa.table({"k": ["a", "a"], "u": values}), Request(("k",), "u"))
    assert found == {("a",): 2}
    keyed = counts(engine, pa.table({"k": values, "u": [1, 2]}), Request(("k",), "u"))
    assert sorted(keyed.values()) == [1, 1]


def test_a_key_that_shares_its_hash_with_another_leaves_other_units_as_they_are(
    engine: Engine,
) -> None:
    """Unit 9 brings a key whose hash is taken: 0, where -1 is. That must change at most k keys."""

    def kept(rows: list[tuple[int, int]], seed: int) -> dict[tuple[Any, ...], int]:
        values = pa.array([key for _, key in rows]).cast(pa.decimal128(38, 0))
        data = pa.table({"k": values, "u": [unit for unit, _ in rows]})
        return repeated(engine, data, Request(("k",), "u", 2), seed)

    others = [(unit, key) for unit in range(5) for key in (-1, 3, 4, 5, 6, 7)]
    both = [(unit, key) for unit in range(10, 20) for key in (-1, 0, 3)]
    for seed in range(5):
        before, after = kept(others, seed), kept([*others, (9, 0)], seed)
        changes = {key for key in before | after if before.get(key) != after.get(key)}
        assert changes == {(0,)}
        before, after = kept(both, seed), kept([*both, (9, -1)], seed)
        assert after == before | {(-1,): before[(-1,)] + 1}


def test_a_unit_that_shares_its_hash_with_another_leaves_other_units_as_they_are(
    engine: Engine,
) -> None:
    """Unit 0 has the hash of unit -1, and a key of its own."""

    def kept(rows: list[tuple[int, str]], seed: int) -> dict[tuple[Any, ...], int]:
        units = pa.array([unit for unit, _ in rows]).cast(pa.decimal128(38, 0))
        data = pa.table({"k": [key for _, key in rows], "u": units})
        return repeated(engine, data, Request(("k",), "u", 2), seed)

    others = [(unit, key) for unit in (-1, 3, 4, 5) for key in "abcdef"]
    for seed in range(5):
        before, after = kept(others, seed), kept([*others, (0, "own")], seed)
        assert after == before | {("own",): 1}


@pytest.mark.parametrize(
    "units",
    [
        pa.array([1, None]),
        pa.array([None, None], pa.string()),
        pl.Series([1.0, float("nan")]),
        pl.Series([1.0, -float("nan")]),
        pa.array([None, None]),
    ],
    ids=["some", "all", "nan", "nan with a sign", "no type"],
)
def test_rows_that_belong_to_no_one_are_refused(engine: Engine, units: Any) -> None:
    data = pl.DataFrame({"k": ["secret", "secret"], "u": units})
    with randomness.using(Forbidden()), pytest.raises(tamis.BadData, match="unit 'u' is missing"):
        engine.count(data, Request(("k",), "u"))


def test_rows_that_belong_to_no_one_may_be_left_out(engine: Engine) -> None:
    data = pa.table({"k": ["a", "a"], "u": pa.array([1, None])})
    assert counts(engine, data, Request(("k",), "u", where="u IS NOT NULL")) == {("a",): 1}
