"""How many keys are named and how well they are counted, at the same guarantee, by everyone."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.charts import named_keys, times
from benchmarks.measure import grouped
from benchmarks.page import Chart, Extent, Section, table
from benchmarks.peers.data import BOUNDS, SOURCES, Source, frequencies, write
from benchmarks.peers.environments import OURS, PEERS, Missing, Peer, python_of
from benchmarks.peers.notes import notes
from benchmarks.peers.process import Job, run
from benchmarks.peers.results import HEADS, Asked, Result, line, result_of

EPSILON, DELTA = 1.0, 1e-8


def peers(extent: Extent) -> Section:
    """A table for each data set."""
    pythons, missing = _pythons()
    parts, every, absent = list[str](), list[Result](), list[str]()
    for source in SOURCES[: 1 if extent.quick else None]:
        if not source.there:
            absent.append(f"{source.name}, because `{source.file}` is not there")
            continue
        found = _measured(source, extent.pick((4,), BOUNDS), pythons, extent)
        every += found
        parts.append(f"### {source.name}\n\n{table(HEADS, [line(result) for result in found])}")
    points = [_point(result) for result in every]
    charts = (
        Chart("peers-keys", "Keys named by each library, by keys per unit", named_keys(points)),
        Chart("peers-time", "Time of each library beside the plain GROUP BY", times(points)),
    )
    said = "".join(f"\n\nNot run: {what}." for what in (*missing, *absent))
    text = [_EXPLAINED + said, notes(every, tuple(OURS.methods.values())), *parts]
    return Section("Beside other libraries", "\n\n".join(text), charts)


def _pythons() -> tuple[dict[Peer, str], list[str]]:
    found, missing = {OURS: python_of(OURS)}, []
    for peer in PEERS:
        try:
            print(f"  {peer.name} ...", file=sys.stderr, flush=True)
            found[peer] = python_of(peer)
        except Missing as reason:
            missing.append(f"{peer.name}: {reason}")
    return found, missing


def _measured(
    source: Source, bounds: Sequence[int], pythons: dict[Peer, str], extent: Extent
) -> list[Result]:
    """What everyone gave, bound by bound."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {bound: Path(folder) / f"pairs-{bound}.parquet" for bound in bounds}
        for bound, path in paths.items():
            write(source, bound, path)
        truth = {bound: frequencies(path) for bound, path in paths.items()}
        plain = {bound: _plain(path) for bound, path in paths.items()}
        repeats, seconds = extent.pick((10, 2.0), (20, 3.0))
        jobs = [
            Job(str(path), EPSILON, DELTA, bound, repeats, seconds) for bound, path in paths.items()
        ]
        results = list[Result]()
        for peer, python in pythons.items():
            for method, shown in peer.methods.items():
                done = run([python, peer.path, method], jobs, Path(folder))
                for bound, job in zip(bounds, done, strict=True):
                    asked = Asked(source.name, bound, shown, peer.counts)
                    made = result_of(asked, truth[bound], plain[bound], job)
                    print("|".join(line(made)), file=sys.stderr, flush=True)
                    results.append(made)
    return sorted(results, key=lambda result: result.asked.bound)


def _plain(path: Path) -> float:
    group = grouped(str(path), "key", str(path.with_suffix(".out")))
    return sorted(group().seconds for _ in range(3))[1]


def _point(found: Result) -> dict[str, object]:
    return {
        "data": found.asked.data,
        "keys per unit": found.asked.bound,
        "library": found.asked.method,
        "family": found.asked.method.split(",")[0].split(" ")[0],
        "keys": found.keys.value,
        "ratio": found.seconds.value / found.plain,
    }


_EXPLAINED = (
    f"Which keys occur and how many units have each, epsilon {EPSILON:g}, delta {DELTA:g} for one "
    "unit that is added or removed, keys not known beforehand. Data is cut to the bound first, so "
    "that all are given the same frequencies. Every library is in an environment of its own, the "
    "best settings for it were looked for, and where what it states is not what it does, the true "
    "guarantee is the same (`benchmarks/peers`, one file each, says how). PyDP's selections say "
    "names only, with all of the budget for that, of counts that Arrow made for them. Errors are "
    "root mean squares: over the keys that were named, and over the 100 most frequent keys, where "
    "one that is not named counts as 0; the mean absolute error is over the keys that were named. "
    "Seconds: reading and releasing, the median; ratio: to the plain GROUP BY of the same file. "
    "MB: of all processes of a library."
)
