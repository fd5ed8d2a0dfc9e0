"""Build the data, measure, and write the page of results: `make bench`, `make bench-quick`.

python -m benchmarks.run [--quick] [--only WORD ...] [--output benchmarks/results.md]
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    collector,
    federated,
    importance,
    real,
    release,
    scale,
    spark,
    sparse,
    weighted,
)
from benchmarks.page import Extent, Section, write
from benchmarks.peers import compare

PAGE = Path(__file__).with_name("results.md")
PARTS: dict[str, Callable[[Extent], Section]] = {
    "release": release.main_job,
    "peers": compare.peers,
    "sanitising": weighted.sanitising,
    "building": weighted.building,
    "summaries": sparse.summaries,
    "importance": importance.importance,
    "spark": spark.spark,
    "scale": scale.scale,
    "real": real.real,
    "clients": federated.clients,
    "collector": collector.collecting,
}
LONG = ("collector",)  # and not about data: left out of what is quick


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="what fits into a few minutes")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[], metavar="PART",
                        help=f"some of: {', '.join(PARTS)}")  # fmt: skip
    parser.add_argument("--output", type=Path, default=PAGE, help="the page to write")
    asked = parser.parse_args()
    extent, sections, failed = Extent(asked.quick), list[Section](), list[str]()
    start = time.monotonic()
    usual = [name for name in PARTS if not (asked.quick and name in LONG)]
    for name in asked.only or usual:
        begun = time.monotonic()
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            sections.append(PARTS[name](extent))
        except Exception as error:  # the others are measured all the same
            traceback.print_exc()
            failed.append(name)
            sections.append(Section(name, f"This part failed ({type(error).__name__})."))
        now = time.monotonic()
        print(f"{name}: {now - begun:.0f} s", file=sys.stderr, flush=True)
        write(asked.output, _head(asked.quick, now - start), sections)
    print(f"written: {asked.output}", file=sys.stderr)
    return 1 if failed else 0


def _head(quick: bool, seconds: float) -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "pyspark", "pyarrow"))
    return (
        "# Results\n\n"
        f"Written by `make {'bench-quick' if quick else 'bench'}` in {seconds / 60:.0f} minutes, "
        f"on {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
        f"{libraries}. Times differ between machines and from run to run; a **ratio** is one to "
        "the plain GROUP BY of DuckDB of the same data, in the same run."
    )


if __name__ == "__main__":
    sys.exit(main())
