"""What simulated clients cost, on one core."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from benchmarks.measure import Cost, grouped_table, in_turns, timed
from benchmarks.page import Extent, Section, table
from tamis.federated import HeavyHitters, Quantiles, SampleAndThreshold

CLIENTS = 10_000_000
DIFFERENT = 50_000
REPEATS = 3
PROMISE = (1.0, 1e-6)


def clients(extent: Extent) -> Section:
    many = extent.pick(CLIENTS // 10, CLIENTS)
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 1 << 16, many)
    ranks = np.minimum(rng.zipf(1.3, many), DIFFERENT) - 1
    words = pa.array([f"{n:05d}word" for n in range(DIFFERENT)]).take(pa.array(ranks))
    search = Quantiles(*PROMISE, 1 << 16, clients=many)
    asked: dict[str, Callable[[], object]] = {
        "histogram of words": lambda: SampleAndThreshold(*PROMISE).release(words),
        "heavy hitters, 5 rounds": lambda: HeavyHitters(*PROMISE, 5, 9).release(words),
        "heavy hitters, 9 rounds": lambda: HeavyHitters(*PROMISE, 9, 9).release(words),
        "median, search in 16 rounds": lambda: search.release(numbers),
        "median, one round": lambda: Quantiles(*PROMISE, 1 << 16, interactive=False).release(
            numbers
        ),
    }
    plain = grouped_table(pa.table({"word": words}), "word")
    found = in_turns(plain, [_run(call) for call in asked.values()], REPEATS, warm=1)
    rows = [
        (name, f"{mine.seconds:.2f}", f"**{mine.ratio:.2f}**")
        for name, mine in zip(asked, found, strict=True)
    ]
    text = (
        f"{many:,} clients in one process, medians of {REPEATS}, after a first run in which rates "
        "and thresholds are chosen; ratio to the GROUP BY of their words, from a table in memory "
        "on all cores.\n\n"
    )
    return Section("Clients", text + table(("what", "seconds", "**ratio**"), rows))


def _run(call: Callable[[], object]) -> Callable[[], Cost]:
    return lambda: timed(call)
