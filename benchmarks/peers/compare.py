"""How many keys are named and how well they are counted, at the same guarantee, by everyone."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.charts import named_keys, times
from benchmarks.measure import Cost, grouped
from benchmarks.page import Chart, Extent, Section, table
from benchmarks.peers import files
from benchmarks.peers.data import BOUNDS, SOURCES, Source, frequencies, little, write
from benchmarks.peers.drawn import expected_of
from benchmarks.peers.environments import OURS, PEERS, Missing, Peer, python_of
from benchmarks.peers.explained import EXPLAINED, LAWS, TASK
from benchmarks.peers.laws import DELTA, EPSILON, laws
from benchmarks.peers.notes import notes
from benchmarks.peers.overview import OVERVIEW, overview
from benchmarks.peers.process import Done, Failed, Job, run
from benchmarks.peers.results import HEADS, Asked, Result, line, result_of
from benchmarks.peers.standings import matrix, short

SECONDS = 2.0  # for the runs of a method with one bound: laws say the rest, and runs check them


def peers(extent: Extent) -> Section:
    """A table for each data set."""
    pythons, absent = _pythons()
    parts, every = list[str](), list[Result]()
    for source in SOURCES[: 1 if extent.quick else None]:
        if source.file is not None and not source.there:
            absent.append(f"{source.name}: {files.missing(source.file)}")
            continue
        found, failed = _measured(source, extent.pick((4,), BOUNDS), pythons, extent)
        every += found
        absent += failed
        parts.append(f"## {source.name}\n\n{table(HEADS, [line(result) for result in found])}")
    points = [_point(result) for result in every]
    charts = (
        Chart("peers-keys", "Keys named by each library, by keys per unit", named_keys(points)),
        Chart("peers-time", "Time of each library beside the plain GROUP BY", times(points)),
    )
    said = "".join(f"\n\nNot run: {what}." for what in absent)
    ours = tuple(OURS.methods.values())
    text = [
        f"{TASK}\n\n{matrix(every, ours)}\n\n{_versions(pythons)}{said}",
        notes(every, ours),
        f"{OVERVIEW}\n\n{overview(every, ours)}",
        EXPLAINED,
        LAWS + laws(BOUNDS),
    ]
    return Section(
        "Beside other libraries",
        "\n\n".join(text),
        charts,
        short(every, ours),
        "\n\n".join(parts),
    )


def _versions(pythons: Mapping[Peer, str]) -> str:
    """Of those that were run."""
    pins = [pin for peer in PEERS if peer in pythons for pin in peer.packages if "==" in pin]
    return f"Versions: {', '.join(pins).replace('==', ' ')}."


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
) -> tuple[list[Result], list[str]]:
    """What everyone gave, bound by bound; and who gave nothing, and why."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = {bound: folder / f"pairs-{bound}.parquet" for bound in bounds}
        for bound, path in paths.items():
            write(source, bound, path)
        truth = {bound: frequencies(path) for bound, path in paths.items()}
        plain: dict[int, list[Cost]] = {bound: [] for bound in bounds}
        done, failed = list[tuple[Asked, Done]](), list[str]()
        for peer, python in pythons.items():
            _time_plain(paths, plain)
            for method, shown in peer.methods.items():
                print(f"  {source.name}: {shown} ...", file=sys.stderr, flush=True)
                jobs = [_job(peer, method, bound, path, extent) for bound, path in paths.items()]
                asked = [Asked(source.name, bound, shown, peer.counts) for bound in bounds]
                try:
                    done += zip(asked, run([python, peer.path, method], jobs, folder), strict=True)
                except Failed as reason:
                    failed.append(f"{shown}, {source.name}: {reason}")
        _time_plain(paths, plain)
    results = [_result(asked, truth[asked.bound], plain[asked.bound], m) for asked, m in done]
    return sorted(results, key=lambda result: result.asked.bound), failed


def _result(asked: Asked, truth: dict[str, int], plain: Sequence[Cost], done: Done) -> Result:
    """Beside the plain GROUP BY, and what the law of the method expects."""
    usual = Cost(median(one.seconds for one in plain), median(one.megabytes for one in plain))
    return result_of(asked, truth, usual, done, expected_of(asked, truth, len(done.found)))


def _job(peer: Peer, method: str, bound: int, path: Path, extent: Extent) -> Job:
    """Many runs of what is quick; names alone need fewer."""
    repeats = extent.pick(10, 100) if peer.counts else extent.pick(10, 20)
    return Job(str(path), str(little(path)), EPSILON, DELTA, bound, repeats, SECONDS)


def _time_plain(paths: dict[int, Path], plain: dict[int, list[Cost]]) -> None:
    """The plain GROUP BY of every file, once more: it takes turns with the libraries."""
    for bound, path in paths.items():
        group = grouped(str(path), "key", str(path.with_suffix(".out")))
        plain[bound].append(group())


def _point(found: Result) -> dict[str, object]:
    return {
        "data": found.asked.data,
        "keys per unit": found.asked.bound,
        "library": found.asked.method,
        "family": found.asked.method.split(",")[0].split(" ")[0],
        "keys": found.keys.value,
        "ratio": found.seconds.value / found.plain.seconds,
    }
