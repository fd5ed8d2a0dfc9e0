"""The pictures of the page, made with Altair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

_COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#6b4e71", "#2e4057", "#8d96a3", "#a4653a")
_GIVES = "test(/^PyDP/, datum['{of}']) ? 'names only' : 'names and counts'"
_TENS, _THREES = [0.01, 0.1, 1, 10, 100, 1000], [0.3, 3, 30, 300]
Points = Sequence[dict[str, object]]


def _data(points: Points) -> Any:
    return alt.Data(values=list(points))  # type: ignore[no-untyped-call]


def _palette() -> Any:
    return alt.Scale(range=list(_COLOURS))


def _dressed(chart: Any) -> Any:
    """With room for a font that is wider than the one for which the picture was laid out."""
    return (
        chart.configure_axis(labelFontSize=11, titleFontSize=11, gridOpacity=0.5, labelLimit=0)
        .configure_legend(labelLimit=0, titleLimit=0)
        .configure_view(strokeOpacity=0)
        .properties(padding={"left": 40, "right": 60, "top": 8, "bottom": 8})
    )


def ratios(points: Points) -> Any:
    """Ratios by the number of rows, a point for each skew: one panel for rows, one for units."""
    even = alt.Chart(_data([{"one": 1}])).mark_rule(strokeDash=[4, 3]).encode(y="one:Q")
    dots = (
        alt.Chart(_data(points))
        .mark_point(filled=True, size=60, opacity=0.85)
        .encode(
            x=alt.X("rows:O", axis=alt.Axis(format="~s", labelAngle=0)),
            xOffset=alt.XOffset("Zipf:N"),
            y=alt.Y(
                "ratio:Q",
                title="times the plain GROUP BY",
                scale=alt.Scale(type="log", domain=[0.8, _most(points)], nice=False),
                axis=alt.Axis(values=[1, 2, 5, 10, 20, 30, 50, 100]),
            ),
            color=alt.Color("Zipf:N", scale=_palette()),
            shape=alt.Shape("keys:N", title="keys are"),
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


def _most(points: Points) -> float:
    return 1.2 * max(float(str(point["ratio"])) for point in points)


def _gives() -> Any:
    """Hollow, if it gives names only."""
    scale = alt.Scale(domain=["names and counts", "names only"], range=[0.85, 0])
    return alt.FillOpacity("gives:N", scale=scale, legend=None)


def _told(first: str) -> Any:
    """What hollow marks are."""
    return alt.Title(
        f"{first}; hollow: names only", anchor="start", fontSize=11, fontWeight="normal"
    )


def named_keys(points: Points) -> Any:
    """Keys that are named by the bound, beside ours: a panel for each data set."""
    family = {"scale": _palette(), "sort": None, "title": "library"}
    best = _best(points)
    panels = [
        alt.Chart(_data([one for one in best if one["data"] == data]))
        .transform_calculate(gives=_GIVES.format(of="family"))
        .mark_point(size=45, strokeWidth=1.5)
        .encode(
            x=alt.X("keys per unit:O", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("family:N", sort=None),
            y=alt.Y("share:Q", title="keys named / by tamis", scale=alt.Scale(zero=False)),
            stroke=alt.Stroke("family:N", **family),
            fill=alt.Fill("family:N", **family),
            fillOpacity=_gives(),
        )
        .properties(width=280, height=200, title=str(data))
        for data in dict.fromkeys(one["data"] for one in best)
    ]
    return _dressed(alt.concat(*panels, columns=2).properties(title=_told("each at its best")))


def _best(points: Points) -> list[dict[str, object]]:
    """Each library where it names most, as a part of what ours names there."""
    most: dict[tuple[object, object, object], float] = {}
    for point in points:
        place = point["data"], point["keys per unit"], point["family"]
        most[place] = max(most.get(place, 0.0), float(str(point["keys"])))
    return [
        {"data": d, "keys per unit": k, "family": f, "share": many / most[d, k, "tamis"]}
        for (d, k, f), many in most.items()
        if most.get((d, k, "tamis"))
    ]


def times(points: Points) -> Any:
    """The time of each library, as a multiple of the plain GROUP BY: a dot for each comparison."""
    data = {"scale": _palette(), "sort": None}
    chart = (
        alt.Chart(_data(points))
        .transform_calculate(gives=_GIVES.format(of="library"))
        .mark_point(size=45, strokeWidth=1.5)
        .encode(
            x=alt.X(
                "ratio:Q",
                scale=alt.Scale(type="log"),
                title="times the plain GROUP BY",
                axis=alt.Axis(values=_TENS),
            ),
            y=alt.Y("library:N", sort=None, title=None),
            stroke=alt.Stroke("data:N", **data),
            fill=alt.Fill("data:N", **data),
            fillOpacity=_gives(),
        )
        .properties(
            width=420, height=260, title=_told("a mark for each data set and number of keys")
        )
    )
    return _dressed(chart)


def slopes(points: Points) -> Any:
    """Seconds measured by seconds that slopes say: one panel for rows, one for units."""
    ends = [0.7 * min(_seconds(points)), 1.4 * max(_seconds(points))]
    axis, ticks = alt.Scale(type="log", domain=ends, nice=False), alt.Axis(values=_TENS + _THREES)
    even = (
        alt.Chart(_data([{"end": end} for end in ends]))
        .mark_line(strokeDash=[4, 3], color="#888888", strokeWidth=1)
        .encode(x=alt.X("end:Q", scale=axis), y=alt.Y("end:Q", scale=axis))
    )
    dots = (
        alt.Chart(_data(points))
        .mark_point(size=70, opacity=0.85)
        .encode(
            x=alt.X("predicted:Q", scale=axis, title="seconds, by slopes", axis=ticks),
            y=alt.Y("seconds:Q", scale=axis, title="seconds, measured", axis=ticks),
            color=alt.Color("stage:N", scale=_palette(), sort=None),
            shape=alt.Shape("setting:N", sort=None, scale=alt.Scale(range=["circle", "diamond"])),
        )
        .properties(width=260, height=220)
    )
    panels = [
        alt.layer(even, dots.transform_filter(f"datum.of == '{level}'")).properties(
            title=f"release of {level}"
        )
        for level in ("rows", "units")
    ]
    return _dressed(alt.hconcat(*panels))


def _seconds(points: Points) -> list[float]:
    return [float(str(point[name])) for point in points for name in ("seconds", "predicted")]
