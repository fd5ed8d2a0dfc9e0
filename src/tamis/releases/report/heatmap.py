"""A heat map of two attributes and a bar chart of one, as inline SVG.

Shades come from the style sheet, so that they follow light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tamis.releases.report.blocks import Blocks, Floats, Side, Tick
from tamis.releases.report.svg import picture, zero_axis
from tamis.releases.report.text import frequency
from tamis.weighted.show import printable

SHADES = 8
_WIDE, _HIGH = 520.0, 500.0  # of the field, at most
_BLOCK = (64.0, 34.0)  # of a block, at most
_LINE, _LETTER = 15.0, 6.9  # of a line of text, of a letter
_LONGEST = 18  # letters of a label
_FEW = 9  # so many columns have room for a number in each block
_SWATCH = 46.0
_BARS = 260.0  # height of a bar chart


def shades(values: Floats, error: float) -> Floats:
    """The lower ends of the shades: equal steps, or equal ratios where most are small.

    With equal ratios the first shade goes up to twice a typical standard error.
    """
    high, some = float(values.max(initial=0.0)), values[values > 0]
    if not some.size:
        return np.array([])
    low = max(2 * error, high * 1e-4)
    if high > 8 * float(np.median(some)) and high > 4 * low:
        ends = np.array([0.0, *np.geomspace(low, high, SHADES)[:-1]])
    else:
        ends = np.linspace(0.0, high, SHADES + 1)[:-1]
    return np.unique([float(f"{end:.2g}") for end in ends])


def shade(values: Floats, ends: Floats) -> npt.NDArray[np.int64]:
    """The number of the shade, 0 for what is not above 0."""
    return np.where(values > 0, np.searchsorted(ends, values, side="right"), 0)


def heat_map(b: Blocks) -> str:
    """The first attribute from top to bottom, the second from left to right."""
    down, across = b.sides
    size = min(_BLOCK[0], _WIDE / across.many), min(_BLOCK[1], _HIGH / down.many)
    ends = shades(b.estimates, b.typical)
    of = shade(b.estimates, ends)
    texts = _apart(down.ticks, size[1], _LINE)
    left = 22 + _LETTER * max((len(text) for _, text in texts), default=0)
    beneath, foot = _beneath(across, size[0], left, down.many * size[1] + 30)
    bottom = 30 + down.many * size[1]
    width = max(left + across.many * size[0] + 30, left + _SWATCH * len(ends) + 60)
    parts = [
        f'<text class="name" x="0" y="14">{_text(down.name)} (down), {_text(across.name)} '
        "(across)</text>",
        f'<g transform="translate({left:.1f} 30) scale({size[0]:.4f} {size[1]:.4f})">',
        f'<rect class="field" width="{across.many}" height="{down.many}"/>',
        *(_shape(of == n, n + SHADES - len(ends)) for n in range(1, len(ends) + 1)),
        "</g>",
        *_cuts(b.sides, size, left),
        *(_at(left - 7, 30 + at * size[1] + 4, text, "end") for at, text in texts),
        *beneath,
        *(_numbers(b, of > len(ends) / 2, size, left) if across.many <= _FEW else ()),
        *_legend(ends, b, left, bottom + foot),
    ]
    height = bottom + foot + 52
    title = printable(f"Counts by {down.name} and {across.name}")
    return picture((width, height), parts, "heat", title, _described(b), grows=False)


def bars(b: Blocks) -> str:
    """One attribute: a bar for each block, with a line of two standard errors to both sides."""
    (side,) = b.sides
    step = min(_BLOCK[0], _WIDE / side.many)
    tops = np.maximum(b.estimates, 0.0) + 2 * b.errors
    high = max(1.0, float(tops.max()))
    axis, left = zero_axis(high, 4), 64.0
    bottom, right = 30 + _BARS, left + step * side.many
    parts = [f'<text class="name" x="0" y="14">estimate, by {_text(side.name)}</text>']
    for value, text in axis.ticks:
        at = bottom - _BARS * float(axis.share(value))
        parts.append(_rule("grid", left, at, right, at))
        parts.append(_at(left - 7, at + 4, text, "end"))
    places = left + step * (np.arange(side.many) + 0.5)
    for x, estimate, error in zip(places, b.estimates, b.errors, strict=True):
        ends = (estimate, estimate - 2 * error, estimate + 2 * error)
        top, low, up = (bottom - _BARS * float(axis.share(v)) for v in ends)
        bar = f'x="{x - 0.4 * step:.1f}" y="{top:.1f}" width="{0.8 * step:.1f}"'
        parts.append(f'<rect class="bar" {bar} height="{bottom - top:.1f}"/>')
        parts.append(_rule("axis", x, low, x, up))
    parts.append(_rule("axis", left, bottom, right, bottom))
    beneath, foot = _beneath(side, step, left, bottom)
    title = printable(f"Counts by {side.name}")
    size = (right + 30, bottom + foot + 8)
    return picture(size, [*parts, *beneath], "heat", title, _described(b), grows=False)


def _shape(mask: npt.NDArray[np.bool_], number: int) -> str:
    """All blocks of a shade as one path, runs side by side as one piece."""
    path = []
    for y, row in enumerate(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8)):
        edges = np.flatnonzero(np.diff(row)).reshape(-1, 2)
        path += [f"M{first} {y}h{last - first}v1H{first}z" for first, last in edges.tolist()]
    return f'<path class="h{number}" d="{"".join(path)}"/>'


def _cuts(sides: Sequence[Side], size: tuple[float, float], left: float) -> list[str]:
    """Lines between the main branches of trees."""
    down, across = sides
    right, bottom = left + across.many * size[0], 30 + down.many * size[1]
    lines = []
    for end in down.cuts:
        at = 30 + end * size[1]
        lines.append(_rule("cut", left, at, right, at))
    for end in across.cuts:
        at = left + end * size[0]
        lines.append(_rule("cut", at, 30, at, bottom))
    return lines


def _beneath(side: Side, step: float, left: float, top: float) -> tuple[list[str], float]:
    """The labels under blocks, aslant if they are long, and the height that they take."""
    level = _apart(side.ticks, step, 0.0)
    longest = _LETTER * max((len(text) for _, text in level), default=0)
    if all(
        (b - a) * step >= 8 + _LETTER * (len(one) + len(other)) / 2
        for (a, one), (b, other) in pairwise(level)
    ):
        return [_at(left + at * step, top + 17, text, "middle") for at, text in level], 36.0
    slanted = [
        f'<text class="tick" text-anchor="end" transform="translate({left + at * step + 4:.1f} '
        f'{top + 14:.1f}) rotate(-45)">{_text(text)}</text>'
        for at, text in _apart(side.ticks, step, 1.3 * _LINE)
    ]
    return slanted, 26 + 0.71 * longest


def _apart(ticks: Sequence[Tick], step: float, gap: float) -> list[Tick]:
    """Those that have room, cut where they are too long."""
    kept = list[Tick]()
    for at, text in ticks:
        if not kept or (at - kept[-1][0]) * step >= gap:
            short = printable(text[: _LONGEST + 1])
            kept.append((at, short if len(short) <= _LONGEST else short[: _LONGEST - 1] + "…"))
    return kept


def _numbers(
    b: Blocks, dark: npt.NDArray[np.bool_], size: tuple[float, float], left: float
) -> list[str]:
    """The estimates in their blocks."""
    if size[1] < _LINE + 2:
        return []
    return [
        f'<text class="{"on" if dark[y, x] else "in"}" text-anchor="middle" '
        f'x="{left + (x + 0.5) * size[0]:.1f}" y="{34 + (y + 0.5) * size[1]:.1f}">'
        f"{frequency(round(value))}</text>"
        for (y, x), value in np.ndenumerate(b.estimates)
        if value > 0
    ]


def _legend(ends: Floats, b: Blocks, left: float, top: float) -> list[str]:
    if not len(ends):
        return [_at(left, top + 14, "no block is above 0", "start")]
    parts = []
    for n, end in enumerate(ends):
        x = left + n * _SWATCH
        kind = f'class="h{n + 1 + SHADES - len(ends)}"'
        parts.append(f'<rect {kind} x="{x:.1f}" y="{top:.1f}" width="{_SWATCH}" height="12"/>')
        parts.append(_at(x, top + 28, frequency(float(end)), "middle"))
    highest = frequency(float(f"{b.estimates.max():.2g}"))
    parts.append(_at(left + len(ends) * _SWATCH, top + 28, highest, "middle"))
    return parts


def _described(b: Blocks) -> str:
    at = np.unravel_index(int(b.estimates.argmax()), b.estimates.shape)
    where = ", ".join(
        f"{side.name} {side.called(int(n))[:60]}" for side, n in zip(b.sides, at, strict=True)
    )
    return f"The largest estimate is {b.estimates.max():,.0f}, at {printable(where)}."


def _at(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="tick" text-anchor="{anchor}" x="{x:.1f}" y="{y:.1f}">{_text(text)}</text>'


def _rule(kind: str, x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'


def _text(text: str) -> str:
    return escape(printable(text[:60]))
