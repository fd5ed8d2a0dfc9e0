"""What ten million simulated clients cost, on one core: seconds, and beside a plain count."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.federated import HeavyHitters, Quantiles, SampleAndThreshold

CLIENTS = 10_000_000
DIFFERENT = 50_000
REPEATS = 3
PROMISE = (1.0, 1e-6)


def clients() -> str:
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 1 << 16, CLIENTS)
    ranks = np.minimum(rng.zipf(1.3, CLIENTS), DIFFERENT) - 1
    words = pa.array([f"{n:05d}word" for n in range(DIFFERENT)]).take(pa.array(ranks))
    search = Quantiles(*PROMISE, 1 << 16, clients=CLIENTS)
    asked: dict[str, Callable[[], object]] = {
        "histogram of words": lambda: SampleAndThreshold(*PROMISE).release(words),
        "heavy hitters, 5 rounds": lambda: HeavyHitters(*PROMISE, 5, 9).release(words),
        "heavy hitters, 9 rounds": lambda: HeavyHitters(*PROMISE, 9, 9).release(words),
        "median, search in 16 rounds": lambda: search.release(numbers),
        "median, one round": lambda: Quantiles(*PROMISE, 1 << 16, interactive=False).release(
            numbers
        ),
    }
    plain = _seconds(lambda: pc.value_counts(words))
    lines = [
        f"{CLIENTS:,} clients, one core, median of {REPEATS}; the plain count of the words, by "
        f"Arrow's value_counts, takes {plain:.2f} s.\n",
        "| what | seconds | to the plain count |",
        "|---|---|---|",
    ]
    for name, run in asked.items():
        seconds = _seconds(run)
        lines.append(f"| {name} | {seconds:.2f} | {seconds / plain:.1f} |")
    return "\n".join(lines)


def _seconds(run: Callable[[], object]) -> float:
    """After a first run, in which rates and thresholds are chosen."""
    run()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times)


if __name__ == "__main__":
    print(clients())
