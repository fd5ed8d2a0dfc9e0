"""The most frequent keys, each with a dot for its estimate and a whisker for its interval."""

from __future__ import annotations

from typing import Any

from tamis.privacy.errors import counted
from tamis.releases.release import Release
from tamis.releases.report.svg import Axis, log_axis, zero_axis
from tamis.releases.report.text import cell, percent, short, table
from tamis.weighted.sample import ADDED

TOP = 20  # so many are shown


def top_keys(release: Release) -> str:
    """A table of the first keys, or a sentence if there are none."""
    if not len(release):
        return "<p>No key was named: none was frequent enough, or none was there.</p>"
    first = release.to_arrow().slice(0, TOP)
    rows = first.select(ADDED).to_pylist()
    keys = zip(*(map(cell, first[name]) for name in release.about.key), strict=True)
    scale = scale_of(rows)
    head = ["place", *map(short, release.about.key), "estimate", "interval", ruler(scale)]
    body = [
        [str(n), *key, *_row(row, scale)]
        for n, (key, row) in enumerate(zip(keys, rows, strict=True), start=1)
    ]
    way = "logarithmic" if scale.log else "linear"
    shown = f"The first {TOP} of" if len(release) > TOP else "All" if len(release) > 1 else "The"
    caption = (
        f"{shown} {counted(len(release), 'named key')}, by estimate; dot: estimate, line: "
        f"{percent(release.plan.coverage)} interval, on a {way} scale"
    )
    return table(head, body, caption, "keys")


def _row(row: dict[str, Any], scale: Axis) -> list[str]:
    interval = f"{row['low']:,}&nbsp;to {row['high']:,}"  # on two lines at most
    return [f"{row['estimate']:,.1f}", interval, whisker(row, scale)]


def scale_of(rows: list[dict[str, Any]]) -> Axis:
    """From zero if all rows can then be told apart, and by orders of magnitude otherwise."""
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    if high > 10 * low:
        return log_axis(max(1.0, low * 0.8), high * 1.25, "", 0.04)
    return zero_axis(high, 3, 1.02)


def ruler(scale: Axis) -> str:
    """The numbers of the scale, to stand above drawings."""
    marks = "".join(
        f'<text x="{_share(scale, v)}" y="12" text-anchor="middle">{text}</text>'
        for v, text in scale.ticks
    )
    return f'<svg class="whisker ruler" role="img" aria-label="scale">{marks}</svg>'


def whisker(row: dict[str, Any], scale: Axis) -> str:
    """A dot for the estimate of a row, on the line of its interval."""
    grid = "".join(
        f'<line class="grid" x1="{at}" x2="{at}" y1="0" y2="100%"/>'
        for at in (_share(scale, v) for v, _ in scale.ticks)
    )
    low, high, dot = (_share(scale, row[name]) for name in ("low", "high", "estimate"))
    return (
        f'<svg class="whisker" aria-hidden="true">{grid}'
        f'<line class="span" x1="{low}" x2="{high}" y1="50%" y2="50%"/>'
        f'<circle class="dot" cx="{dot}" cy="50%" r="3.5"/></svg>'
    )


def _share(scale: Axis, value: float) -> str:
    """A place in per cent, so that the drawing can be made narrower; with a margin for the dot."""
    return f"{4 + 92 * float(scale.share(value)):.2f}%"
