"""What each stage on Spark costs for what goes in and out, and what that makes of far more rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.charts import slopes
from benchmarks.page import Chart, Extent, Section, table
from benchmarks.scale_fit import Slopes, fitted
from benchmarks.scale_law import Law, Setting, flows, uniform, zipf
from benchmarks.scale_stages import CORES, LEVELS, Stage, measured, plain_seconds

SHUFFLED = 2 * CORES  # partitions after a shuffle, of a session on this machine
THEN = Setting(10**12, 10**9, 10**11, 10**5, 10**5)
CORES_THEN = 1000
POWER = 1.2
LAWS: dict[str, Law] = {
    "all as frequent": uniform(THEN.keys),
    f"Zipf {POWER:g}": zipf(THEN.keys, POWER),
}
Name = tuple[str, str]
# what goes in, and what goes out to be shuffled, of each stage
FLOWS: dict[Name, tuple[str, str]] = {
    ("rows", "group by key"): ("row", "key of a partition"),
    ("rows", "draw, name"): ("key", ""),
    ("units", "group by unit and key"): ("row", "pair of unit and key of a partition"),
    ("units", "bound units, group by key"): ("pair of unit and key", "key of a partition"),
    ("units", "draw, name"): ("key", ""),
}


def scale(extent: Extent) -> Section:
    """Measured in some settings, fitted, tried on another, and carried on to the one of then."""
    turns, (some, other) = extent.pick(1, 2), _settings(extent.pick(100_000, 1_000_000))
    measured(Setting(100_000, 1000, 100, 4, SHUFFLED))  # Java compiles what is used
    found = [stage for setting in some for stage in measured(setting, turns)]
    tried = measured(other, turns)
    lines = {name: fitted([s for s in found if (s.of, s.name) == name]) for name in FLOWS}
    parts = [
        _explained(some, turns),
        _slopes(lines),
        _trial(other, tried, lines),
        _beside(tried, plain_seconds(other)),
        *(_TOO_FEW if extent.quick else (_then(lines), _NOT_MEASURED)),
    ]
    points = [_point(stage, lines, stage in found) for stage in (*found, *tried)]
    chart = Chart("scale", "Seconds of each stage on Spark, by what slopes say", slopes(points))
    return Section("Scale", "\n\n".join(parts), (chart,), "" if extent.quick else _short(lines))


def _short(lines: Mapping[Name, Slopes]) -> str:
    times = {
        level: [_duration(sum(_seconds(level, law, lines))) for law in LAWS.values()]
        for level in LEVELS
    }
    said = "; ".join(f"{level}, {' or '.join(many)}" for level, many in times.items())
    return (
        f"{_power(THEN.rows)} rows on {CORES_THEN:,} cores (keys: {' or '.join(LAWS)}) would "
        f"compute for: {said}. That is arithmetic, from slopes that were measured on {CORES} cores."
    )


def _settings(n: int) -> tuple[list[Setting], Setting]:
    """Those that are fitted, from few pairs to one in almost every row, and one that is not."""
    few = [Setting(rows, 1000, 100, 4, SHUFFLED) for rows in (4 * n, 20 * n)]
    many = [
        Setting(rows, keys, rows // 10, partitions, SHUFFLED)
        for rows, keys, partitions in (
            (4 * n, n // 10, 16),
            (4 * n, 40 * n, 4),
            (2 * n, 20 * n, 4),
        )
    ]
    return [*few, *many], Setting(8 * n, 4 * n, 8 * n // 10, 8, SHUFFLED)


def _explained(some: Sequence[Setting], turns: int) -> str:
    rows, keys = [s.rows for s in some], [s.keys for s in some]
    parts = [s.partitions for s in some]
    return (
        f"Spark local[{CORES}], {len(some)} settings of {min(rows):,} to {max(rows):,} rows, "
        f"{min(keys):,} to {max(keys):,} possible keys of text, all as frequent, and {min(parts)} "
        f"to {max(parts)} partitions, {some[0].keys_per_unit} keys of each user: from few keys of "
        "few users to a key and a user of its own for almost every row. What goes out of a "
        "partition is counted there first, so that one record goes out for each key, or pair of "
        "unit and key, *of a partition*: Spark says how many. Seconds "
        f"(turns: {turns}; the least) times cores are fitted by a constant, a cost for each that "
        "goes in and one for each that goes out; drawing has one for each key alone."
    )


def _slopes(lines: Mapping[Name, Slopes]) -> str:
    heads = ("release of", "stage", "in: each", "µs of a core", "bytes shuffled", "out: each",
             "µs of a core", "bytes shuffled")  # fmt: skip
    rows = [
        (
            *name,
            into,
            f"{1e6 * lines[name].seconds_in:.2f}",
            f"{lines[name].bytes_in:.0f}",
            out,
            f"{1e6 * lines[name].seconds_out:.2f}" if out else "",
            f"{lines[name].bytes_out:.0f}" if out else "",
        )
        for name, (into, out) in FLOWS.items()
    ]
    return table(heads, rows)


def _trial(setting: Setting, tried: Sequence[Stage], lines: Mapping[Name, Slopes]) -> str:
    """What is said of a setting that was not fitted, beside what was measured."""
    expected = flows(setting, uniform(setting.keys))
    heads = ("release of", "stage", "out, expected", "counted", "seconds, predicted", "measured",
             "MB shuffled, predicted", "measured")  # fmt: skip
    rows = [
        (
            *name,
            f"{expected[name].out:,.0f}" if stage.shuffles else "",
            f"{stage.flow.out:,.0f}" if stage.shuffles else "",
            f"{lines[name].core_seconds(expected[name]) / CORES:.1f}",
            f"{stage.seconds:.1f}",
            f"{lines[name].bytes(expected[name]) / 1e6:.0f}",
            f"{stage.bytes / 1e6:.0f}",
        )
        for stage in tried
        for name in [(stage.of, stage.name)]
    ]
    return (
        f"How far these slopes can be trusted: a setting that was not fitted, {setting.rows:,} "
        f"rows, {setting.keys:,} possible keys, {setting.users:,} users and {setting.partitions} "
        "partitions. What goes out is expected from these numbers alone.\n\n" + table(heads, rows)
    )


def _beside(tried: Sequence[Stage], plain: float) -> str:
    """The same setting, all stages together, beside DuckDB's GROUP BY."""
    took = {level: sum(s.seconds for s in tried if s.of == level) for level in LEVELS}
    told = " and ".join(f"**{took[level] / plain:.1f}** times for {level}" for level in LEVELS)
    return (
        f"DuckDB's plain GROUP BY of the rows of that setting takes {plain:.2f} s on as many cores "
        f"({1e6 * CORES * plain / tried[0].setting.rows:.2f} µs of a core for a row); all stages "
        f"together take {told}."
    )


def _then(lines: Mapping[Name, Slopes]) -> str:
    """From the slopes, for keys that are all as frequent and for those of a power law."""
    heads = ("keys", "release of", "stage", "in (10^9)", "out (10^9)",
             f"{_power(THEN.rows)} rows, {CORES_THEN:,} cores", "shuffled (TB)")  # fmt: skip
    rows = [row for name, law in LAWS.items() for row in _carried(name, law, lines)]
    return (
        f"Arithmetic, from these slopes: {_power(THEN.rows)} rows in {THEN.partitions:,} "
        f"partitions, before and after shuffles, on {CORES_THEN:,} cores, {_power(THEN.keys)} "
        f"possible keys, {_power(THEN.users)} users, {THEN.keys_per_unit} keys of each. Where keys "
        "are all as frequent, almost every row is a key of its partition, and counting there saves "
        "nothing, which is the worst case; with a power law it saves most of what rows send, and "
        "little of what units do.\n\n"
        f"{table(heads, rows)}"
    )


def _seconds(level: str, law: Law, lines: Mapping[Name, Slopes]) -> list[float]:
    """What the stages of a release would take then."""
    expected = flows(THEN, law)
    names = [name for name in FLOWS if name[0] == level]
    return [lines[name].core_seconds(expected[name]) / CORES_THEN for name in names]


def _carried(law_name: str, law: Law, lines: Mapping[Name, Slopes]) -> list[tuple[str, ...]]:
    """A line for each stage, and one for all stages of a release."""
    expected = flows(THEN, law)
    rows = list[tuple[str, ...]]()
    for level in LEVELS:
        names = [name for name in FLOWS if name[0] == level]
        seconds = _seconds(level, law, lines)
        moved = [lines[name].bytes(expected[name]) / 1e12 for name in names]
        for name, took, many in zip(names, seconds, moved, strict=True):
            flow, out = expected[name], FLOWS[name][1]
            ends = (f"{flow.into / 1e9:,.1f}", f"{flow.out / 1e9:,.1f}" if out else "")
            rows.append((law_name, *name, *ends, _duration(took), f"{many:,.1f}"))
        total = (f"**{_duration(sum(seconds))}**", f"**{sum(moved):,.1f}**")
        rows.append((law_name, level, "**all**", "", "", *total))
    return rows


_NOT_MEASURED = (
    "That is what computing takes on cores like these. Not measured, and on top of it: what spills "
    "to disk, the memory of an executor, the network (at 100 MB a second for each of "
    f"{CORES_THEN:,} cores, a TB takes {1e12 / 1e8 / CORES_THEN:.0f} seconds), more than {CORES} "
    "cores, very many partitions, each of which has to be started and has a file for others to "
    "fetch from, reading from storage that is far away, and partitions with ten times as many keys "
    "and five times as many pairs as any above."
)


_TOO_FEW = (
    "What these make of far more rows is left to the full run: with so few rows, what a stage "
    "costs however little it has to do is most of it.",
)


def _point(stage: Stage, lines: Mapping[Name, Slopes], known: bool) -> dict[str, object]:
    return {
        "of": stage.of,
        "stage": stage.name,
        "predicted": lines[stage.of, stage.name].core_seconds(stage.flow) / CORES,
        "seconds": stage.seconds,
        "setting": "fitted" if known else "not fitted",
    }


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "less than 1 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _power(number: int) -> str:
    return f"10^{len(str(number)) - 1}"
