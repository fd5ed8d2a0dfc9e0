"""What sanitising alone costs, and how long a mechanism takes to be ready."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import tamis
from benchmarks.measure import QUIET, Beside, Cost, alone, grouped_table, in_turns, timed
from benchmarks.page import Extent, Section, table
from tamis.privacy.guarantee import Guarantee
from tamis.sampling.schemes import Scheme
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.tokens import draw

Ints = npt.NDArray[np.int64]
Case = tuple[float, Scheme]

REPEATS = 3
DELTA = 1e-6
_STEPS = tamis.Custom({1: 0.001, 10: 0.01, 100: 0.1, 1000: 1})
LOW: list[Case] = [
    (0.1, tamis.Everything()),
    (1.0, tamis.Everything()),
    (1.0, tamis.Pps(0.1)),
    (1.0, tamis.Ppswor(0.01)),
    (0.1, tamis.Ppswor(0.01)),
]
HIGH: list[Case] = [
    (0.01, tamis.Ppswor(1e-4)),
    (0.1, tamis.Ppswor(1e-4)),
    (1.0, tamis.Ppswor(1e-4)),
    (0.1, tamis.Pps(1e-5)),
    (1.0, tamis.Pps(1e-5)),
    (1.0, tamis.Ppswor(1e-3, power=0.5)),
    (1.0, tamis.Ppswor(1e-9, power=2)),
    (1.0, tamis.Custom({1: 0.5})),
]
MIXED: list[Case] = [
    (0.01, tamis.Ppswor(1e-4)),
    (0.01, tamis.Ppswor(1e-3, power=0.5)),
    (0.01, _STEPS),
    (0.1, tamis.Ppswor(0.1)),
    (0.1, _STEPS),
    (1.0, tamis.Ppswor(1e-4)),
]
READY = [
    (1.0, 1e-6, "tamis.Ppswor(1e-6)"),
    (0.1, 1e-12, "tamis.Ppswor(1e-6)"),
    (0.01, 1e-6, "tamis.Everything()"),
    (0.01, 1e-12, "tamis.Everything()"),
]
_BUILD = """
import numpy as np
import tamis
from tamis.privacy.guarantee import Guarantee
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.tokens import draw
frequencies = np.geomspace(1, 10**12, 1000).astype(np.int64)
start = time.perf_counter()
draw(Mechanism(Guarantee({epsilon}, {delta}), {scheme}), frequencies)
"""


_READ = """
import pyarrow.parquet as pq
counted = pq.read_table({path!r})
start = time.perf_counter()
"""
_SANITISE = f"""
import tamis
{_READ}
tamis.sanitize(counted, key="key", frequency="n", epsilon=1.0, delta={DELTA})
"""
_PLAIN = f"""
{_READ}
database = duckdb.connect()
database.execute("{QUIET}")
database.execute("CREATE TABLE t AS SELECT key, sum(n) FROM counted GROUP BY key")
"""


def sanitising(extent: Extent) -> Section:
    """Low frequencies, as in most data, and high ones that a scheme still samples."""
    keys = extent.pick(1_000_000, 10_000_000)
    generator = np.random.default_rng(1)
    zipf = np.maximum(1, 50_000_000 // np.arange(1, keys + 1))[generator.permutation(keys)]
    rows = _rows("50,000,000 / rank", zipf, LOW)
    if not extent.quick:
        mixed = np.exp(generator.uniform(0, np.log(10**6), keys)).astype(np.int64)
        rows += _rows("10,000 to 100,000", generator.integers(10**4, 10**5, keys), HIGH)
        rows += _rows("log uniform, 1 to 1,000,000", mixed, MIXED)
        rows += _rows("1 to 1,000", generator.integers(1, 1001, keys), MIXED)
    heads = ("frequencies", "epsilon", "scheme", "GROUP BY (s)", "sanitising (s)", "**ratio**",
             "to the bare draw")  # fmt: skip
    text = (
        f"{keys:,} keys that are counted already (whole numbers), medians of {REPEATS} turns. "
        "GROUP BY: DuckDB's sum of the counts of each key, from a table in memory into one. Bare "
        "draw: as many words from the operating system, looked up in a sorted table of 300, which "
        "is the least that a draw can cost. What it takes of memory is below, for the whole "
        "call.\n\n"
    )
    return Section("Sanitising", f"{text}{table(heads, rows)}\n\n{_whole_call()}")


def _rows(name: str, frequencies: Ints, cases: list[Case]) -> list[tuple[str, ...]]:
    """A row for each case."""
    keys = np.random.default_rng(2).permutation(len(frequencies))
    plain = grouped_table(pa.table({"key": keys, "n": frequencies}), "key", "sum(n)")
    words = np.sort(np.frombuffer(os.urandom(8 * 300), dtype=np.uint64))
    bare = partial(timed, partial(_bare, words, len(frequencies)))
    found = list[tuple[str, ...]]()
    for epsilon, scheme in cases:
        draws = _draw(Mechanism(Guarantee(epsilon, DELTA), scheme), frequencies)
        least, mine = in_turns(plain, [bare, draws], REPEATS)
        found.append(
            (
                name,
                f"{epsilon:g}",
                f"`{scheme}`",
                f"{mine.plain_seconds:.2f}",
                f"{mine.seconds:.2f}",
                f"**{mine.ratio:.2f}**",
                f"{Beside(least.ours, mine.ours).ratio:.2f}",
            )
        )
    return found


def _bare(words: npt.NDArray[np.uint64], keys: int) -> None:
    drawn = np.frombuffer(os.urandom(8 * keys), dtype=np.uint64)
    np.searchsorted(words, drawn, side="right")


def _draw(mechanism: Mechanism, frequencies: Ints) -> Callable[[], Cost]:
    return lambda: timed(lambda: draw(mechanism, frequencies))


def _whole_call(keys: int = 1_000_000) -> str:
    """`tamis.sanitize` from a table of text keys to a sorted table, beside counting those keys."""
    names = pa.array([f"key-{n}" for n in range(keys)])
    counts = np.maximum(1, 5_000_000 // np.arange(1, keys + 1))
    with _beside(pa.table({"key": names, "n": counts})) as (plain, path):
        (mine,) = in_turns(plain, [partial(alone, _SANITISE.format(path=path))], REPEATS)
    return (
        f"The whole of `tamis.sanitize` (checks, draw, estimates, intervals, order) for {keys:,} "
        f"keys of text, in a new process: {mine.seconds:.2f} s, beside {mine.plain_seconds:.2f} s "
        f"for the GROUP BY of the same table: **{mine.ratio:.2f}**. Memory, with the table: "
        f"{mine.megabytes:,.0f} MB, beside {mine.plain_megabytes:,.0f}: **{mine.memory:.2f}**."
    )


@contextmanager
def _beside(counts: pa.Table) -> Iterator[tuple[Callable[[], Cost], str]]:
    """The plain GROUP BY of a table in memory, in a process of its own; and the table as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/counts.parquet"
        pq.write_table(counts, path)
        yield partial(alone, _PLAIN.format(path=path), "duckdb"), path


def building(extent: Extent) -> Section:
    """Each case in a process of its own, so that nothing is known from before."""
    numbers = np.random.default_rng(1).zipf(1.3, 1_000_000) % 100_000
    runs = [partial(alone, _BUILD.format(epsilon=e, delta=d, scheme=s)) for e, d, s in READY]
    with _beside(pa.table({"key": numbers, "n": np.ones_like(numbers)})) as (plain, _):
        found = in_turns(plain, runs, REPEATS)
    rows = []
    for (epsilon, delta, scheme), mine in zip(READY, found, strict=True):
        rows.append(
            (
                f"{epsilon:g}",
                f"{delta:g}",
                f"`{scheme}`",
                f"{1000 * mine.seconds:.0f}",
                f"**{mine.ratio:.2f}**",
                f"{mine.megabytes:,.0f}",
                f"**{mine.memory:.2f}**",
            )
        )
    heads = ("epsilon", "delta", "scheme", "ready (ms)", "**ratio**", "process (MB)",
             "**memory**")  # fmt: skip
    text = (
        "From the parameters to the first 1,000 tokens, of frequencies up to 10^12, in a new "
        "process; ratio to the GROUP BY of 1,000,000 whole numbers in memory, in a new process "
        "too. MB: at most, of a process with all that it imported.\n\n"
    )
    return Section("Building a mechanism", text + table(heads, rows))
