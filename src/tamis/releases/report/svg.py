"""Line charts as inline SVG: two axes, a light grid, lines with their names beside them.

Colours and fonts come from the style sheet of the page, so that charts follow light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
WIDTH, HEIGHT = 460, 310
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 16, 48
_LINE = 15  # height of a line of text


@dataclass(frozen=True)
class Axis:
    """Values from ``low`` to ``high``, and the ones that are marked, with their text."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    name: str
    log: bool = False

    def share(self, value: npt.ArrayLike) -> Floats:
        """How far along the axis a value lies, from 0 to 1."""
        at = np.clip(np.asarray(value, dtype=np.float64), self.low, self.high)
        if self.log:
            return np.log(at / self.low) / math.log(self.high / self.low)
        return (at - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Label:
    """The name of a line: which point it belongs to, and where it stands (shares of the plot)."""

    text: Sequence[str]
    of: tuple[float, float]
    at: tuple[float, float]
    anchor: str = "start"


@dataclass(frozen=True)
class Line:
    """A line in one of the styles of the page: ``one``, ``two``, ``three`` or ``aside``."""

    x: Floats
    y: Floats
    style: str
    label: Label | None = None
    dot: tuple[float, float] | None = None


def chart(x: Axis, y: Axis, lines: Sequence[Line], name: str, title: str, described: str) -> str:
    """A chart with a title and a description for those who do not see it."""
    parts = [_grid(x, y), *(_path(x, y, line) for line in lines)]
    parts += [_label(line.label, line.style) for line in lines if line.label]
    parts += [_dot(x, y, line) for line in lines if line.dot]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-description">{escape(described)}</desc>\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten on a short axis, powers of ten alone on a long one."""
    decades = math.log10(high / low)
    steps = (1, 2, 5) if decades < 2.6 else (1,)
    every = max(1, math.ceil(decades / 7))
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [step * 10.0**p for p in powers if p % every == 0 for step in steps]
    return [v for v in values if low * 0.999 <= v <= high * 1.001]


def _grid(x: Axis, y: Axis) -> str:
    bottom, right, parts = HEIGHT - _BOTTOM, WIDTH - _RIGHT, []
    for value, text in y.ticks:
        at = _across(0.0, float(y.share(value)))[1]
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 7}" y="{at + 4:.1f}" {_END}>{text}</text>')
    for value, text in x.ticks:
        at = _across(float(x.share(value)), 0.0)[0]
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{bottom + 17}" {_MIDDLE}>{text}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>')
    middle = (_LEFT + right) / 2
    parts.append(f'<text class="name" x="{middle}" y="{HEIGHT - 9}" {_MIDDLE}>{x.name}</text>')
    return "\n".join(parts)


_END = 'text-anchor="end"'
_MIDDLE = 'text-anchor="middle"'


def _across(x: float, y: float) -> tuple[float, float]:
    """Shares of the plot as places in the picture."""
    return (
        _LEFT + x * (WIDTH - _LEFT - _RIGHT),
        HEIGHT - _BOTTOM - y * (HEIGHT - _TOP - _BOTTOM),
    )


def _path(x: Axis, y: Axis, line: Line) -> str:
    points = (_across(a, b) for a, b in zip(x.share(line.x), y.share(line.y), strict=True))
    return f'<polyline class="line {line.style}" points="' + (
        " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>'
    )


def _label(label: Label, style: str) -> str:
    (a, b), (c, d) = _across(*label.of), _across(*label.at)
    gap = -5 if label.anchor == "end" else 5
    top = d + 4 - _LINE * (len(label.text) - 1) / 2
    lines = "".join(
        f'<tspan x="{c + gap:.1f}" y="{top + _LINE * n:.1f}">{escape(text)}</tspan>'
        for n, text in enumerate(label.text)
    )
    leader = f'<line class="leader {style}" x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"/>'
    return f'{leader}<text class="label {style}" text-anchor="{label.anchor}">{lines}</text>'


def _dot(x: Axis, y: Axis, line: Line) -> str:
    assert line.dot is not None
    a, b = _across(float(x.share(line.dot[0])), float(y.share(line.dot[1])))
    return f'<circle class="dot {line.style}" cx="{a:.1f}" cy="{b:.1f}" r="4"/>'
