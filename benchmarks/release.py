"""The main job: what a release costs beside the plain GROUP BY, in time and memory."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.charts import ratios
from benchmarks.events import Events
from benchmarks.measure import OURS, Beside, Cost, alone, grouped, in_turns, queried
from benchmarks.page import Chart, Extent, Section, table

KEYS_PER_UNIT = 10
LARGE = 100_000_000
SKEWS = (0.8, 1.2, 1.6, 2.0)
LEFT_OUT = 1.6  # of what is large
_RELEASE = """
import tamis
tamis.release({path!r}, key='key', epsilon=1.0, delta=1e-8{options}).save({out!r})
"""
_LEVELS = {"rows": "", "units": f", unit='user_id', keys_per_unit={KEYS_PER_UNIT}"}
_HEADS = ("rows", "keys are", "Zipf", "keys", "of", "plain (s)", "release (s)", "**ratio**",
          "to distinct units", "release (MB)", "**memory**")  # fmt: skip


def main_job(extent: Extent) -> Section:
    """Every size, kind of key and skew, at both levels."""
    rows, points = [], list[dict[str, Any]]()
    for events in _cases(extent):
        for line, point in _measured(events, 1 if events.rows == LARGE else 3):
            rows.append(line)
            points.append(point)
            print("|".join(map(str, line)), file=sys.stderr, flush=True)
    chart = Chart(
        "release", "Time of a release, as a multiple of the plain GROUP BY", ratios(points)
    )
    parts = [_explained(extent), table(_HEADS, rows), _text_units(extent), _least()]
    text = "\n\n".join(parts)
    return Section("The main job", text, (chart,), _short(points))


def _text_units(extent: Extent) -> str:
    """The same where users are text, and told apart by hashes."""
    events = Events(extent.pick(1_000_000, 10_000_000), 1.2, text=True)
    with tempfile.TemporaryDirectory() as folder:
        numbers, path, out = (f"{folder}/{name}.parquet" for name in ("numbers", "events", "out"))
        events.write(numbers)
        named = f"SELECT key, md5(user_id::VARCHAR) AS user_id FROM '{numbers}'"
        queried(f"COPY ({named}) TO '{path}'")()
        distinct = grouped(path, "key", out, "count(DISTINCT user_id)")
        jobs = [_release(path, out, _LEVELS["units"]), distinct]
        mine, units = in_turns(grouped(path, "key", out), jobs, 3)
    return (
        f"Where users are text of 32 letters ({events.rows:,} rows, keys of text, Zipf "
        f"{events.zipf:g}), a release of units takes {mine.seconds:.2f} s, **{mine.ratio:.2f}** "
        f"times the plain GROUP BY and {Beside(units.ours, mine.ours).ratio:.2f} times "
        "`count(DISTINCT user_id)`."
    )


def _least() -> str:
    """What a release takes without any data to speak of."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = f"{folder}/events.parquet", f"{folder}/out.parquet"
        Events(10, 1.2, text=True).write(path)
        costs = [_release(path, out, options) for options in _LEVELS.values()]
        rows, units = (Beside((), tuple(run() for _ in range(5))) for run in costs)
        imported = alone("").megabytes
    return (
        f"A release of ten rows takes {1000 * rows.seconds:.0f} ms, and one of units "
        f"{1000 * units.seconds:.0f} ms: a database is opened, and what is guaranteed is computed "
        f"and written. What is imported takes {imported:,.0f} MB, and such a release "
        f"{units.megabytes:,.0f} MB in all."
    )


def _short(points: Sequence[dict[str, Any]]) -> str:
    """The ranges of the ratios."""
    rows, units = ([p for p in points if p["of"] == level] for level in _LEVELS)
    return (
        f"a release of rows takes {_range(rows, 'ratio')} times the plain GROUP BY of the same "
        f"file, and {_range(rows, 'memory')} times its memory. Units take "
        f"{_range(units, 'ratio')} times, with {_range(units, 'memory')} times the memory: that "
        "GROUP BY reads one column, and whoever bounds what a unit contributes has to look at "
        f"every pair of unit and key. Of `count(DISTINCT user_id)`, which does so too, it is "
        f"{_range(units, 'distinct')} times the time."
    )


def _range(points: Sequence[dict[str, Any]], name: str) -> str:
    least, most = (pick(point[name] for point in points) for pick in (min, max))
    return f"{least:.1f} to {most:.1f}"


def _explained(extent: Extent) -> str:
    large = f" ({LARGE:,} rows: one, without Zipf {LEFT_OUT:g}, which would take minutes more)"
    return (
        "Plain: DuckDB's own `COPY (SELECT key, count(*) GROUP BY key)` of the same Parquet file "
        "into a Parquet file, in a process of its own; release: `tamis.release(...).save(...)`, "
        "epsilon 1, delta 1e-8. Reading, drawing and writing are timed, importing is not. Units: "
        f"{KEYS_PER_UNIT} keys of each user are kept, who are a tenth as many as rows; what that "
        "needs, `count(DISTINCT user_id)` for every key, is the second thing to compare with: it "
        "grows faster than the data too, where there are ever more keys and users. "
        f"Medians of 3 turns{extent.pick('', large)}."
    )


def _cases(extent: Extent) -> Iterator[Events]:
    sizes: dict[int, tuple[float, ...]] = extent.pick(
        {1_000_000: (0.8, 2.0), 10_000_000: (1.2,)},
        {
            1_000_000: SKEWS,
            10_000_000: SKEWS,
            LARGE: tuple(skew for skew in SKEWS if skew != LEFT_OUT),
        },
    )
    for rows, skews in sizes.items():
        for text in (True, False):
            for zipf in skews:
                yield Events(rows, zipf, text)


def _measured(events: Events, repeats: int) -> Iterator[tuple[tuple[object, ...], dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        path, out = f"{folder}/events.parquet", f"{folder}/out.parquet"
        keys = events.write(path)
        distinct = grouped(path, "key", out, "count(DISTINCT user_id)")
        jobs = [_release(path, out, options) for options in _LEVELS.values()]
        plain = grouped(path, "key", out)
        plain()  # so that the file is in memory for all who are timed
        *found, units = in_turns(plain, [*jobs, distinct], repeats)
        for level, beside in zip(_LEVELS, found, strict=True):
            other = Beside(units.ours, beside.ours).ratio if level == "units" else None
            yield (
                _line(events, keys, level, beside, other),
                {
                    "rows": events.rows,
                    "keys": events.kind,
                    "Zipf": events.zipf,
                    "of": level,
                    "ratio": beside.ratio,
                    "memory": beside.memory,
                    "distinct": other,
                },
            )
        Path(path).unlink()


def _release(path: str, out: str, options: str) -> Callable[[], Cost]:
    imports = f"{OURS}, scipy.optimize" if options else OURS  # units need it
    return lambda: alone(_RELEASE.format(path=path, out=out, options=options), imports)


def _line(
    events: Events, keys: int, level: str, beside: Beside, other: float | None
) -> tuple[object, ...]:
    return (
        f"{events.rows:,}",
        events.kind,
        f"{events.zipf:g}",
        f"{keys:,}",
        level,
        f"{beside.plain_seconds:.2f}",
        f"{beside.seconds:.2f}",
        f"**{beside.ratio:.2f}**",
        "" if other is None else f"{other:.2f}",
        f"{beside.megabytes:,.0f}",
        f"**{beside.memory:.2f}**",
    )
