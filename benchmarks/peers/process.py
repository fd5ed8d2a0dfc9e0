"""A library at work in a process of its own, and how much memory it has meanwhile."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.measure import megabytes

LONGEST = 600.0  # seconds that one process may take
_REASON = 200  # letters
_PATH = re.compile(r"(?:/[^\s/'\"]+)+/([^\s/'\"]*)")


@dataclass(frozen=True)
class Job:
    """What a method is asked to do, and how often or for how long."""

    path: str
    little: str  # some rows of the same, for a run that does not count
    epsilon: float
    delta: float
    keys_per_unit: int
    repeats: int
    seconds: float


class Failed(Exception):
    """A method that did not do its jobs, and why."""


@dataclass(frozen=True)
class Done:
    """The runs of a job: seconds and what was found; and megabytes at most."""

    seconds: list[float]
    found: list[dict[str, float | None]]
    megabytes: float


def run(command: Sequence[str], jobs: Sequence[Job], folder: Path) -> list[Done]:
    """Do the jobs in turn, in one process."""
    asked, output, log = (folder / name for name in ("jobs.json", "found.json", "log.txt"))
    asked.write_text(json.dumps([asdict(job) for job in jobs]), encoding="utf-8")
    used = list[tuple[float, float]]()
    with log.open("w", encoding="utf-8") as said:
        words = [*command, str(asked), str(output)]
        process = _started(words, said)
        start = time.monotonic()
        try:
            while process.poll() is None:
                used.append((time.monotonic(), megabytes(process.pid)))
                if time.monotonic() - start > LONGEST:
                    raise Failed(f"it took longer than {LONGEST:,.0f} seconds")
                time.sleep(0.02)
        except BaseException:  # an interruption, too
            _end(process)
            raise
    if process.returncode:
        raise Failed(_reason(log.read_text(encoding="utf-8", errors="replace"), process.returncode))
    found = json.loads(output.read_text(encoding="utf-8"))
    return [_done(runs, used) for runs in found]


def _started(words: Sequence[str], said: IO[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(words, stdout=said, stderr=said)
    except OSError as error:
        raise Failed(f"it could not be started ({error.strerror})") from error


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _reason(log: str, code: int) -> str:
    """The last line of what it said, without the folders of this machine."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    said = lines[-1] if lines else f"it ended with code {code} and said nothing"
    return _PATH.sub(r"\1", said)[:_REASON].rstrip(".")


def _done(runs: list[dict[str, Any]], used: Sequence[tuple[float, float]]) -> Done:
    start, end = runs[0]["start"], runs[-1]["end"]
    # one look before, for jobs that are shorter than the time between two looks
    most = max((much for when, much in used if start - 0.05 <= when <= end), default=0.0)
    seconds = [one["end"] - one["start"] for one in runs]
    return Done(seconds, [one["found"] for one in runs], most)
