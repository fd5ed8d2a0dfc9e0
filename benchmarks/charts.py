"""The pictures of the page, made with Altair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

_COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#6b4e71", "#2e4057", "#8d96a3", "#a4653a")
Points = Sequence[dict[str, object]]


def _data(points: Points) -> Any:
    return alt.Data(values=list(points))  # type: ignore[no-untyped-call]


def _palette() -> Any:
    return alt.Scale(range=list(_COLOURS))


def _dressed(chart: Any) -> Any:
    return chart.configure_axis(labelFontSize=11, titleFontSize=11, gridOpacity=0.5).configure_view(
        strokeOpacity=0
    )


def ratios(points: Points) -> Any:
    """Ratios by the number of rows, a point for each skew: one panel for rows, one for units."""
    even = alt.Chart(_data([{"one": 1}])).mark_rule(strokeDash=[4, 3]).encode(y="one:Q")
    dots = (
        alt.Chart(_data(points))
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(
            x=alt.X("rows:O", axis=alt.Axis(format="~s", labelAngle=0)),
            xOffset=alt.XOffset("Zipf:N"),
            y=alt.Y("ratio:Q", title="times the plain GROUP BY", scale=alt.Scale(zero=True)),
            color=alt.Color("Zipf:N", scale=_palette()),
            shape=alt.Shape("keys:N"),
        )
        .properties(width=280, height=220)
    )
    panels = [
        alt.layer(even, dots.transform_filter(f"datum.of == '{level}'")).properties(
            title="every row counts" if level == "rows" else "users, 10 keys each"
        )
        for level in ("rows", "units")
    ]
    return _dressed(alt.hconcat(*panels))


def named_keys(points: Points) -> Any:
    """Keys that are named by the bound: a panel for each data set, each library at its best."""
    chart = (
        alt.Chart(_data(points))
        .transform_aggregate(most="max(keys)", groupby=["data", "family", "keys per unit"])
        .mark_line(point=alt.OverlayMarkDef(size=45), strokeWidth=2)
        .encode(
            x=alt.X("keys per unit:O", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("most:Q", title="keys named"),
            color=alt.Color("family:N", scale=_palette(), sort=None, title="library, at its best"),
        )
        .properties(width=260, height=200)
        .facet(facet=alt.Facet("data:N", title=None, sort=None), columns=2)
        .resolve_scale(y="independent")
    )
    return _dressed(chart)


def times(points: Points) -> Any:
    """The time of each library, as a multiple of the plain GROUP BY: a dot for each comparison."""
    chart = (
        alt.Chart(_data(points))
        .mark_point(filled=True, size=45, opacity=0.7)
        .encode(
            x=alt.X("ratio:Q", scale=alt.Scale(type="log"), title="times the plain GROUP BY"),
            y=alt.Y("library:N", sort=None, title=None),
            color=alt.Color("data:N", scale=_palette(), sort=None),
        )
        .properties(width=420, height=240)
    )
    return _dressed(chart)


def slopes(points: Points) -> Any:
    """Seconds of each stage by the number of rows: one panel for rows, one for units."""
    chart = (
        alt.Chart(_data(points))
        .mark_line(point=True)
        .encode(
            x=alt.X("rows:Q", axis=alt.Axis(format="~s")),
            y=alt.Y("seconds:Q"),
            color=alt.Color("stage:N", scale=_palette(), sort=None),
        )
        .properties(width=260, height=200)
        .facet(column=alt.Column("of:N", title=None, sort=None))
        .resolve_scale(y="independent")
    )
    return _dressed(chart)
