"""Build the data, measure, and write the page of results: `make bench`, `make bench-quick`.

python -m benchmarks.run [--quick] [--only PART ...] [--output benchmarks/results.md]

Each section of the page says by which command and on which day it was measured. What is measured
replaces the section of the same heading and leaves the others as they are, so that a part can be
measured anew, and a run that is interrupted loses nothing. With --quick the page is
benchmarks/results-quick.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import FrameType

from benchmarks import (
    collector,
    federated,
    importance,
    kmeans_peers,
    real,
    release,
    scale,
    spark,
    sparse,
    weighted,
)
from benchmarks.page import Extent, Page, Section, anew, read, refusal, rendered, write
from benchmarks.peers import compare

PAGE = Path(__file__).with_name("results.md")
QUICK_PAGE = PAGE.with_name("results-quick.md")


@dataclass(frozen=True)
class Part:
    """What is measured by one word of the command line, and the heading of its section."""

    title: str
    measure: Callable[[Extent], Section]


PARTS = {
    "release": Part("The main job", release.main_job),
    "peers": Part("Beside other libraries", compare.peers),
    "sanitising": Part("Sanitising", weighted.sanitising),
    "building": Part("Building a mechanism", weighted.building),
    "summaries": Part("Summaries", sparse.summaries),
    "importance": Part("Importance sampling and k-means", importance.importance),
    "clusters": Part("Clusters beside other libraries", kmeans_peers.clusters),
    "spark": Part("Spark", spark.spark),
    "scale": Part("Scale", scale.scale),
    "real": Part("Names as expected, and intervals that hold", real.real),
    "clients": Part("Clients", federated.clients),
    "collector": Part("Collector", collector.collecting),
}
_INTERRUPTED = threading.Event()
LONG = ("clusters", "collector")  # left out of what is quick


@dataclass(frozen=True)
class Run:
    """How much is measured, where it is written, and whether its text is shown too."""

    extent: Extent
    page: Path
    shown: bool

    def part(self, name: str) -> bool:
        """Measure a part and put it on the page; whether that went well."""
        print(f"{name} ...", file=sys.stderr, flush=True)
        begun = time.monotonic()
        section, fine = self._section(name)
        title, text = PARTS[name].title, rendered(section, self._measured(name), self.page)
        if fine or title not in self._there().sections:  # what was measured before stays
            there = self._there()
            head = anew(there.head, title) if self.shown else there.head
            write(self.page, Page(head, there.sections).replaced(title, text))
        if self.shown:
            print(f"## {title}\n\n{text}\n", flush=True)
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        return fine

    def whole(self, names: Sequence[str], seconds: float) -> None:
        """Say that everything was measured in one run, and drop what is measured no more."""
        command = "make bench-quick" if self.extent.quick else "make bench"
        took = f"All of it by `{command}` in {seconds / 60:.0f} minutes, on {_today()}. "
        if left := [PARTS[name].title for name in PARTS if name not in names]:
            took += f"Left out of a quick run: {', '.join(left)}. "
        there, place = self._there(), f", on {_machine()}."  # which the head says now
        texts = {PARTS[name].title: there.sections[PARTS[name].title] for name in names}
        for title, text in texts.items():
            there = there.replaced(title, text.replace(place, ".", 1))
        write(self.page, there.only(_head(took), list(texts)))

    def _section(self, name: str) -> tuple[Section, bool]:
        part = PARTS[name]
        try:
            return part.measure(self.extent), True
        except Exception as error:  # the others are measured all the same
            if _INTERRUPTED.is_set():  # DuckDB says so by an error of its own
                raise KeyboardInterrupt from None
            traceback.print_exc()
            return Section(part.title, f"This part failed ({type(error).__name__})."), False

    def _measured(self, name: str) -> str:
        """The sentence below a heading; it names the machine where the head names another."""
        quick = "--quick " if self.extent.quick else ""
        where = "" if _machine() in self._there().head else f", on {_machine()}"
        return f"Measured on {_today()} by `python -m benchmarks.run {quick}--only {name}`{where}."

    def _there(self) -> Page:
        return read(self.page, _head())


def main() -> int:
    asked, names = _asked()
    run = Run(Extent(asked.quick), Path(asked.output).resolve(), bool(asked.only))
    start, fine = time.monotonic(), list[bool]()
    _INTERRUPTED.clear()
    before = signal.signal(signal.SIGINT, _interrupted)
    try:
        for name in names:
            fine.append(run.part(name))
    except KeyboardInterrupt:
        what = (
            f"what was measured is in {asked.output}" if any(fine) else "nothing was measured yet"
        )
        print(f"interrupted: {what}", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGINT, before)
    if not asked.only and all(fine):
        run.whole(names, time.monotonic() - start)
    print(f"written: {asked.output}", file=sys.stderr)
    return 0 if all(fine) else 1


def _interrupted(number: int, frame: FrameType | None) -> None:
    """Ctrl-C, which is remembered: not everything that is measured lets it through."""
    _INTERRUPTED.set()
    raise KeyboardInterrupt


def _asked() -> tuple[argparse.Namespace, list[str]]:
    """The command line, and the parts that it means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="what fits into a few minutes")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[], metavar="PART",
                        help=f"some of: {', '.join(PARTS)}")  # fmt: skip
    parser.add_argument("--output", help="the page to write, or to replace sections of "
                        f"(default: {PAGE.name}, or {QUICK_PAGE.name} with --quick)")  # fmt: skip
    asked = parser.parse_args()
    if asked.output is None:
        asked.output = str(QUICK_PAGE if asked.quick else PAGE)
    if reason := refusal(asked.output):
        parser.exit(2, f"{reason}\n")
    usual = [name for name in PARTS if not (asked.quick and name in LONG)]
    return asked, asked.only or usual


def _head(took: str = "") -> str:
    return (
        f"# Results\n\n{took}Measured on {_machine()}. Times differ between machines and from run "
        "to run; a **ratio** is one to the plain GROUP BY of DuckDB of the same data, in the same "
        "run. Where there are turns it is the median of the ratios of neighbours, which need not "
        "be that of the medians that stand beside it."
    )


def _machine() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "pyspark", "pyarrow"))
    memory = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    cores = f"{os.cpu_count()} cores ({platform.machine()}), {memory}"
    return f"{cores}, Python {platform.python_version()}, {libraries}"


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


if __name__ == "__main__":
    sys.exit(main())
