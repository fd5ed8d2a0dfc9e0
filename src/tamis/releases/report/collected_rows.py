"""What devices have reported: the most frequent items, or the quantiles as a picture."""

from __future__ import annotations

from typing import Any

from tamis.privacy.errors import counted
from tamis.releases.collected.collected import Collected
from tamis.releases.report.rows import TOP, ruler, scale_of, whisker
from tamis.releases.report.svg import (
    HEIGHT,
    WIDTH,
    Axis,
    across,
    grid,
    picture,
    share_axis,
    whole_axis,
)
from tamis.releases.report.text import cell, many, percent, table

Row = dict[str, Any]


def top_items(release: Collected) -> str:
    """A table of the first items, or a sentence if there are none."""
    if not len(release):
        tau = release.about.mechanism.tau
        return (
            f"<p>No item was named: none was given by {tau:,} or more of the clients that "
            "counted.</p>"
        )
    first = release.to_arrow().slice(0, TOP)
    rows, items = first.to_pylist(), map(cell, first["item"])
    scale = scale_of(rows)
    body = [
        [str(n), item, *_row(row), whisker(row, scale)]
        for n, (item, row) in enumerate(zip(items, rows, strict=True), start=1)
    ]
    head = ["place", "item", "token", "estimate", "interval", ruler(scale)]
    way = "logarithmic" if scale.log else "linear"
    shown = f"The first {TOP} of" if len(release) > TOP else "All" if len(release) > 1 else "The"
    caption = (
        f"{shown} {counted(len(release), 'named item')}, by estimated number of clients; dot: "
        f"estimate, line: {percent(release.about.coverage)} interval, on a {way} scale"
    )
    return table(head, body, caption, "keys items")


def _row(row: Row) -> list[str]:
    return [f"{row['token']:,}", f"{row['estimate']:,.1f}", _interval(row)]


def quantiles(release: Collected) -> str:
    """The picture, and beside it the numbers."""
    rows = sorted(release.to_arrow().to_pylist(), key=lambda row: row["quantile"])
    body = [[f"{row['quantile']:g}", f"{row['estimate']:,}", _interval(row)] for row in rows]
    shown = table(["quantile", "estimate", "interval"], body, "The same in numbers", "numbers")
    return f"""
<div class="figures">
<figure>{_picture(rows, release.about.domain)}
<figcaption>The share of clients whose number is at most as large. Dots are estimates, lines are
{percent(release.about.coverage)} intervals. Numbers may lie from 0 to
{many(release.about.domain - 1)}; what is drawn is where the quantiles are.</figcaption></figure>
{shown}
</div>
"""


def _picture(rows: list[Row], domain: int) -> str:
    """A dot for each quantile on the line of its interval, joined from one to the next."""
    x, y = _numbers(rows, domain), share_axis("share of the clients")
    spots = [_at(x, row["estimate"], row["quantile"]) for row in rows]
    parts = [grid(x, y), _joined(spots)]
    for row, (at, height) in zip(rows, spots, strict=True):
        ends = [_at(x, row[name], row["quantile"])[0] for name in ("low", "high")]
        parts.append(
            f'<line class="span" x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{height:.1f}" '
            f'y2="{height:.1f}"/><circle class="dot" cx="{at:.1f}" cy="{height:.1f}" r="4"/>'
        )
    described = "; ".join(
        f"{row['quantile']:g}: {row['estimate']:,} ({row['low']:,} to {row['high']:,})"
        for row in rows
    )
    return picture((WIDTH, HEIGHT), parts, "quantiles", "Quantiles", described)


def _numbers(rows: list[Row], domain: int) -> Axis:
    """Where the intervals lie, with a margin on both sides, and not too narrow."""
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    margin = max((high - low) / 10, (domain / 20 - (high - low)) / 2, 2.0)
    return whole_axis(max(0.0, low - margin), min(domain - 1.0, high + margin) or 1.0, "number")


def _at(x: Axis, value: float, share: float) -> tuple[float, float]:
    return across(float(x.share(value)), share)


def _joined(spots: list[tuple[float, float]]) -> str:
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in spots)
    return f'<polyline class="line other" points="{points}"/>'


def _interval(row: Row) -> str:
    return f"{row['low']:,}&nbsp;to {row['high']:,}"  # on two lines at most
