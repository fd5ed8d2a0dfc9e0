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

import tamis
from tamis.privacy.guarantee import Guarantee
from tamis.sampling.schemes import Scheme
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.tokens import draw

KEYS = 10_000_000
REPEATS = 5
CASES: list[tuple[float, float, Scheme]] = [
    (0.1, 1e-6, tamis.Everything()),
    (1.0, 1e-6, tamis.Everything()),
    (1.0, 1e-6, tamis.Pps(0.1)),
    (1.0, 1e-6, tamis.Ppswor(0.01)),
    (0.1, 1e-6, tamis.Ppswor(0.01)),
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
    """Ratios to the bare cost; the two are timed in turn, so that a noisy machine hits both."""
    frequencies = np.maximum(1, 50_000_000 // np.arange(1, KEYS + 1))
    frequencies = frequencies[np.random.default_rng(1).permutation(KEYS)]
    table = np.sort(np.frombuffer(os.urandom(8 * 300), dtype=np.uint64))
    lines = [
        f"Sanitising {KEYS:,} frequencies (50,000,000 / rank), median of {REPEATS}:\n",
        "| epsilon, delta | scheme | bare (s) | sanitising (s) | ratio |",
        "|---|---|---|---|---|",
    ]
    for epsilon, delta, scheme in CASES:
        mechanism = Mechanism(Guarantee(epsilon, delta), scheme)
        pairs = [
            (seconds(partial(bare, table)), seconds(partial(draw, mechanism, frequencies)))
            for _ in range(REPEATS)
        ]
        one, other = median(a for a, _ in pairs), median(b for _, b in pairs)
        ratio = median(b / a for a, b in pairs)
        lines.append(
            f"| {epsilon:g}, {delta:g} | {scheme} | {one:.2f} | {other:.2f} | **{ratio:.2f}** |"
        )
    return "\n".join(lines)


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
