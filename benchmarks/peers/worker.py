"""Runs a library in an environment of its own: it, pyarrow and the standard library are there.

python with_NAME.py METHOD jobs.json found.json

The jobs are runs of the method: files, promises, and how often or how long. A file has two columns,
``unit`` (a whole number) and ``key`` (text), one row for each pair of them, and no unit has more
than ``keys_per_unit`` keys.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

# Keys that are named, and about how many units have each: None where a method says only names.
Found = dict[str, Any]
# (path, epsilon, delta, keys_per_unit), for one unit that is added or removed
Method = Callable[[str, float, float, int], Found]
SHORT = 5.0  # seconds


def main(methods: dict[str, Method]) -> None:
    """Do the jobs in turn, after a run of the first that does not count: Java compiles meanwhile.

    Reading and releasing are timed, importing is not. The clock is the same for all processes of a
    machine, so that whoever looks on knows which job was at work.
    """
    name, jobs, output = sys.argv[1:]
    warnings.simplefilter("ignore")
    with open(jobs, encoding="utf-8") as file:
        asked = json.load(file)
    one = asked[0]
    methods[name](one["path"], one["epsilon"], one["delta"], one["keys_per_unit"])
    found = [_done(methods[name], **job) for job in asked]
    with open(output, "w", encoding="utf-8") as file:
        json.dump(found, file)


def _done(
    method: Method,
    path: str,
    little: str,
    epsilon: float,
    delta: float,
    keys_per_unit: int,
    repeats: int,
    seconds: float,
) -> list[dict[str, Any]]:
    """So many runs, or fewer if they take longer than so many seconds, but not too few to compare.

    The first, of a little of the data, does not count: what is loaded and compiled once, or found
    once for a promise (how much noise, which threshold), is then there for all that count.
    """
    method(little, epsilon, delta, keys_per_unit)
    runs, spent = list[dict[str, Any]](), 0.0
    while len(runs) < repeats and (spent < seconds or len(runs) < _least(runs)):
        start = time.monotonic()
        found = method(path, epsilon, delta, keys_per_unit)
        end = time.monotonic()
        runs.append({"start": start, "end": end, "found": found})
        spent += end - start
    return runs


def _least(runs: list[dict[str, Any]]) -> int:
    """Two runs have a spread, and three have a median; the third only if they are short."""
    return 3 if all(run["end"] - run["start"] < SHORT for run in runs) else 2
