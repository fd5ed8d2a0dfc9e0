"""A progress bar for people who wait at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[str, float], None]  # what is going on, and how many per cent of all are done


def silent(what: str, percent: float) -> None:
    """For when nobody is looking."""


@contextmanager
def bar(wanted: bool | None) -> Iterator[Report]:
    """One bar for a whole release, with a word for what is going on."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    percent = TextColumn("{task.percentage:>3.0f}%")
    columns = TextColumn("{task.description}"), BarColumn(), percent, TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=100)
        # drawn at once: what is told while others keep the machine busy would never be seen
        yield lambda what, done: progress.update(
            task, description=what, completed=done, refresh=True
        )
