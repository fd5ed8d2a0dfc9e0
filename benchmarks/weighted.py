"""What sanitising costs beside the bare draw, and how long a mechanism takes to be ready."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tamis
from tamis.privacy.guarantee import Guarantee
from tamis.sampling.schemes import Scheme
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.tokens import draw

KEYS = 10_000_000
REPEATS = 5
DELTA = 1e-6
LOW: list[tuple[float, Scheme]] = [
    (0.1, tamis.Everything()),
    (1.0, tamis.Everything()),
    (1.0, tamis.Pps(0.1)),
    (1.0, tamis.Ppswor(0.01)),
    (0.1, tamis.Ppswor(0.01)),
]
HIGH: list[tuple[float, Scheme]] = [
    (0.01, tamis.Ppswor(1e-4)),
    (0.1, tamis.Ppswor(1e-4)),
    (1.0, tamis.Ppswor(1e-4)),
    (0.1, tamis.Pps(1e-5)),
    (1.0, tamis.Pps(1e-5)),
    (1.0, tamis.Ppswor(1e-3, power=0.5)),
    (1.0, tamis.Ppswor(1e-9, power=2)),
    (1.0, tamis.Custom({1: 0.5})),
]
MIXED: list[tuple[float, Scheme]] = [
    (0.01, tamis.Ppswor(1e-4)),
    (0.01, tamis.Ppswor(1e-3, power=0.5)),
    (0.01, tamis.Custom({1: 0.001, 10: 0.01, 100: 0.1, 1000: 1})),
    (0.1, tamis.Ppswor(0.1)),
    (0.1, tamis.Custom({1: 0.001, 10: 0.01, 100: 0.1, 1000: 1})),
    (1.0, tamis.Ppswor(1e-4)),
]
READY: list[tuple[float, float, str]] = [
    (1.0, 1e-6, "tamis.Ppswor(1e-6)"),
    (0.1, 1e-12, "tamis.Ppswor(1e-6)"),
    (0.01, 1e-6, "tamis.Everything()"),
    (0.01, 1e-12, "tamis.Everything()"),
]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare(table: npt.NDArray[np.uint64]) -> None:
    """Words from the operating system, looked up in a sorted table: the least a draw can cost."""
    words = np.frombuffer(os.urandom(8 * KEYS), dtype=np.uint64)
    np.searchsorted(table, words, side="right")


def sanitising() -> str:
    """Low frequencies, as in most data, and high ones that a scheme still samples."""
    generator = np.random.default_rng(1)
    zipf = np.maximum(1, 50_000_000 // np.arange(1, KEYS + 1))[generator.permutation(KEYS)]
    high = generator.integers(10**4, 10**5, KEYS)
    mixed = np.exp(generator.uniform(0, np.log(10**6), KEYS)).astype(np.int64)
    low = generator.integers(1, 1001, KEYS)
    return "\n\n".join(
        [
            f"{KEYS:,} keys, median of {REPEATS}; bare: drawing {KEYS:,} words from the operating "
            "system and looking them up in a sorted table of 300.",
            "Frequencies 50,000,000 / rank:",
            ratios(zipf, LOW),
            "Frequencies uniform from 10,000 to 100,000:",
            ratios(high, HIGH),
            "The logarithm of the frequency uniform, from 1 to 1,000,000:",
            ratios(mixed, MIXED),
            "Frequencies uniform from 1 to 1,000:",
            ratios(low, MIXED),
            whole_call(),
        ]
    )


def ratios(frequencies: npt.NDArray[np.int64], cases: list[tuple[float, Scheme]]) -> str:
    """Ratios to the bare cost; the two are timed in turn, so that a noisy machine hits both."""
    table = np.sort(np.frombuffer(os.urandom(8 * 300), dtype=np.uint64))
    lines = ["| epsilon | scheme | bare (s) | sanitising (s) | ratio |", "|---|---|---|---|---|"]
    for epsilon, scheme in cases:
        mechanism = Mechanism(Guarantee(epsilon, DELTA), scheme)
        pairs = [
            (seconds(partial(bare, table)), seconds(partial(draw, mechanism, frequencies)))
            for _ in range(REPEATS)
        ]
        one, other = median(a for a, _ in pairs), median(b for _, b in pairs)
        ratio = median(b / a for a, b in pairs)
        lines.append(f"| {epsilon:g} | {scheme} | {one:.2f} | {other:.2f} | **{ratio:.2f}** |")
    return "\n".join(lines)


def whole_call(keys: int = 1_000_000) -> str:
    """`tamis.sanitize` from a table of text keys to a sorted table, beside counting those keys."""
    names = pa.array([f"key-{n}" for n in range(keys)])
    counts = np.maximum(1, 5_000_000 // np.arange(1, keys + 1))
    table = pa.table({"key": names, "n": counts})
    pairs = [
        (
            seconds(lambda: table.group_by("key").aggregate([("n", "sum")])),
            seconds(
                lambda: tamis.sanitize(table, key="key", frequency="n", epsilon=1.0, delta=DELTA)
            ),
        )
        for _ in range(REPEATS)
    ]
    one, other = median(a for a, _ in pairs), median(b for _, b in pairs)
    return (
        f"The whole of `tamis.sanitize` (checks, draw, estimates, intervals, order) for {keys:,} "
        f"text keys: {other:.2f} s, beside {one:.2f} s for grouping the same table by key with "
        f"pyarrow: **{median(b / a for a, b in pairs):.2f}**"
    )


def ready(epsilon: float, delta: float, scheme: Scheme) -> tuple[float, float]:
    """Seconds to build the mechanism and draw at frequencies up to 10^12, and MB added by it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    frequencies = np.geomspace(1, 10**12, 1000).astype(np.int64)
    spent = seconds(lambda: draw(Mechanism(Guarantee(epsilon, delta), scheme), frequencies))
    return spent, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def readiness() -> str:
    """Each case in a process of its own, so that memory is counted from the start."""
    lines = [
        "Ready for frequencies up to 10^12 (building, and drawing 1,000 tokens):\n",
        "| epsilon, delta | scheme | seconds | MB beyond imports |",
        "|---|---|---|---|",
    ]
    for epsilon, delta, scheme in READY:
        code = (
            "import tamis; from benchmarks.weighted import ready; "
            f"print(*ready({epsilon}, {delta}, {scheme}))"
        )
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        spent, grown = map(float, out.stdout.split())
        lines.append(f"| {epsilon:g}, {delta:g} | {scheme} | {spent:.3f} | {grown:.0f} |")
    return "\n".join(lines)
