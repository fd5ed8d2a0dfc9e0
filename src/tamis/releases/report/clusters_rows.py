"""The clusters of a release: a table with a bar for each size, and a picture in two components."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.privacy.errors import counted
from tamis.releases.clusters.clusters import Clusters
from tamis.releases.report.rows import ruler
from tamis.releases.report.svg import Axis, picture, zero_axis
from tamis.releases.report.text import percent, safe, short, table

Floats = npt.NDArray[np.float64]

_ROWS, _COLUMNS = 100, 6  # so many are shown, beside bars
_WIDE, _HIGH, _ROOM = 640.0, 460.0, 44.0  # of the picture, and of its margin
_LARGEST, _SMALLEST = 30.0, 3.0  # radius of a disc
_NUMBERED = 60  # so many discs have a number
_HOLDS_NUMBER = 9.0  # radius
_NAMED = 3  # columns that a component is described by
_DIGITS = 5


def centres(release: Clusters) -> str:
    """A table of the centres, with sizes as bars."""
    columns, first = release.about.columns, release.to_arrow().slice(0, _ROWS)
    names, more = columns[:_COLUMNS], len(columns) - _COLUMNS
    scale = zero_axis(max(1.0, float(release.sizes.max())), 4, 1.02)
    places = zip(*(first.column(name).to_pylist() for name in names), strict=True)
    sizes = first.column("size").to_pylist()
    body = [
        [str(n), *(f"{value:,.{_DIGITS}g}" for value in place), f"{size:,.0f}", _bar(size, scale)]
        for n, (place, size) in enumerate(zip(places, sizes, strict=True))
    ]
    many = len(release)
    shown = f"The {_ROWS} largest of" if many > _ROWS else "All" if many > 1 else "The"
    rest = f"; {counted(more, 'column')} more in the file" if more > 0 else ""
    caption = f"{shown} {counted(many, 'cluster')}, by estimated size{rest}"
    head = ["cluster", *map(short, names), "size", ruler(scale)]
    return table(head, body, caption, "numbers bars")


def _bar(size: float, scale: Axis) -> str:
    wide = 92 * float(scale.share(size))
    return (
        '<svg class="whisker" aria-hidden="true">'
        f'<rect class="bar" x="4%" y="25%" width="{wide:.2f}%" height="50%"/></svg>'
    )


@dataclass(frozen=True)
class Components:
    """Centres in the two directions in which they differ most, by size."""

    places: Floats  # a row for each centre
    shares: Floats  # of the spread of all centres
    directions: Floats  # a row for each direction


def components(release: Clusters) -> Components:
    """Principal components of the released centres; no data is looked at."""
    weights = np.maximum(release.sizes, 1.0) / np.maximum(release.sizes, 1.0).sum()
    away = release.centers - weights @ release.centers
    _, sizes, rows = np.linalg.svd(np.sqrt(weights)[:, None] * away, full_matrices=False)
    found = np.zeros((2, away.shape[1]))
    found[: len(rows[:2])] = rows[:2]
    largest = np.take_along_axis(found, np.abs(found).argmax(axis=1)[:, None], axis=1)
    found *= np.where(largest < 0, -1.0, 1.0)  # either sign would do: always the same
    squares = np.append(sizes**2, [0.0, 0.0])
    total = float(squares.sum())
    shares = squares[:2] / total if total else np.zeros(2)
    return Components(away @ found.T, shares, found)


def map_of(release: Clusters) -> str:
    """A disc for each cluster, whose area is its size; distances are those of k-means."""
    found = components(release)
    spots, unit = _spots(found.places)
    radii = _radii(release.sizes)
    order = np.argsort(-radii, kind="stable")  # small ones on top
    parts = [_frame(found, unit)]
    parts += [_disc(spots[n], radii[n]) for n in order]
    if len(release) <= _NUMBERED:
        parts += [_number(int(n), spots[n], radii[n]) for n in order]
    title = "Clusters in two components"
    described = "; ".join(
        f"{n}: {x:.3g}, {y:.3g}, size {size:,.0f}"
        for n, ((x, y), size) in enumerate(zip(found.places, release.sizes, strict=True))
        if n < _ROWS
    )
    return f"""<figure class="heat">{picture((_WIDE, _HIGH), parts, "map", title, described, False)}
<figcaption>{_caption(release, found)}</figcaption></figure>"""


def _spots(places: Floats) -> tuple[Floats, float]:
    """Where discs are in the picture, and how long one unit of the data is there."""
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([_WIDE - 2 * _ROOM, _HIGH - 2 * _ROOM - 24])
    with np.errstate(divide="ignore"):
        unit = float(np.min(room / (high - low)))
    unit = unit if math.isfinite(unit) else 1.0
    middle = (low + high) / 2
    centre = np.array([_WIDE / 2, (_HIGH - 24) / 2])
    return centre + (places - middle) * unit * np.array([1.0, -1.0]), unit


def _radii(sizes: Floats) -> Floats:
    whole = max(1.0, float(sizes.max()))
    return np.maximum(_SMALLEST, _LARGEST * np.sqrt(np.maximum(sizes, 0.0) / whole))


def _frame(found: Components, unit: float) -> str:
    """A field, the names of the directions, and a rule with a round length."""
    length = _round(120 / unit)
    end, foot = 14 + length * unit, _HIGH - 34
    return f"""<rect class="field" width="{_WIDE:.6g}" height="{_HIGH - 24:.6g}" rx="8"/>
<line class="axis" x1="14" x2="{end:.1f}" y1="{foot:.1f}" y2="{foot:.1f}"/>
<text x="{end + 7:.1f}" y="{foot + 4:.1f}">{length:.6g}</text>
<text class="name" x="{_WIDE:.6g}" y="{_HIGH - 6:.6g}" text-anchor="end">first component →</text>
<text class="name" x="6" y="18">second component ↑</text>"""


def _round(value: float) -> float:
    """1, 2 or 5 times a power of ten, not above a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(step * power for step in (1, 2, 5) if step * power <= value * 1.000001)


def _disc(spot: Floats, radius: float) -> str:
    return f'<circle class="disc" cx="{spot[0]:.1f}" cy="{spot[1]:.1f}" r="{radius:.1f}"/>'


def _number(n: int, spot: Floats, radius: float) -> str:
    """In the disc, or above it if it would hide it."""
    up = 4.0 if radius >= _HOLDS_NUMBER else -3.0 - radius
    place = "in" if radius >= _HOLDS_NUMBER else "above"
    return (
        f'<text class="label {place}" x="{spot[0]:.1f}" y="{spot[1] + up:.1f}" '
        f'text-anchor="middle">{n}</text>'
    )


def _caption(release: Clusters, found: Components) -> str:
    ways = zip(("First", "Second"), found.shares.tolist(), found.directions, strict=True)
    words = [
        f" {place} component, with {percent(share)} of how far the centres are spread: "
        f"{_described(release.about.columns, direction)}."
        for place, share, direction in ways
        if share
    ]
    return (
        "The released centres, seen along the two directions in which they differ most (principal "
        "components, by size). The area of a disc is the size of its cluster, and the rule has a "
        f"length in units of the data. It shows centres, and no rows.{''.join(words)}"
    )


def _described(columns: tuple[str, ...], direction: Floats) -> str:
    most = np.argsort(-np.abs(direction), kind="stable")[:_NAMED]
    said = [f"{direction[n]:+.2f} × {safe(columns[n])}" for n in most if direction[n]]
    return ", ".join(said) + (", and others" if len(columns) > _NAMED else "")
