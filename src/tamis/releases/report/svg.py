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

from tamis.releases.report.text import frequency

Floats = npt.NDArray[np.float64]
WIDTH, HEIGHT = 460, 310
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 22, 30, 46
_LINE = 15  # height of a line of text
DIGIT, NUMBER = 0.024, 0.011  # of the width and the height that figures on the axes take


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
    """The name of a line: the point it belongs to, and where it stands, in shares of the plot."""

    text: Sequence[str]
    of: tuple[float, float]
    at: tuple[float, float]
    anchor: str = "start"


@dataclass(frozen=True)
class Line:
    """A line in one of the styles of the page, such as ``one``, and its name."""

    x: npt.NDArray[np.int64] | Floats
    y: Floats
    style: str
    label: Label


def chart(
    x: Axis,
    y: Axis,
    lines: Sequence[Line],
    name: str,
    title: str,
    described: str,
    dots: Sequence[str] = (),
) -> str:
    """A chart with a title and a description for those who do not see it."""
    parts = [grid(x, y), *(_path(x, y, line) for line in lines), *dots]
    parts += [_label(line.label, line.style) for line in lines]
    return picture((WIDTH, HEIGHT), parts, name, title, described)


def picture(
    size: tuple[float, float],
    parts: Sequence[str],
    name: str,
    title: str,
    described: str,
    grows: bool = True,
) -> str:
    """Parts of a drawing as one, with a title and a description; it may grow with the page."""
    width, height = size
    own = "" if grows else f'width="{width:.6g}" '
    return (
        f'<svg {own}viewBox="0 0 {width:.6g} {height:.6g}" role="img" '
        f'aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-description">{escape(described)}</desc>\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def log_axis(low: float, high: float, name: str, room: float) -> Axis:
    """A logarithmic axis with as many round numbers as there is room for.

    ``room`` is the share of the axis that one number takes, or one digit if it lies across.
    """
    decades = math.log10(high / low)
    for steps, apart in (((1, 2, 5), 0.3), ((1, 3), 0.47), ((1,), 1.0), ((1,), 2.0), ((1,), 4.0)):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        round_ones = [s * 10.0**p for p in powers if p % max(1, int(apart)) == 0 for s in steps]
        ticks = [(v, frequency(v)) for v in round_ones if low * 0.999 <= v <= high * 1.001]
        if apart / decades >= room * max((len(text) for _, text in ticks), default=0):
            break
    return Axis(low, high, ticks, f"{name} (logarithmic)" if name else "", log=True)


def share_axis(name: str) -> Axis:
    """From nothing to all, in per cent."""
    return Axis(0.0, 1.0, [(p / 100, f"{p} %") for p in (0, 25, 50, 75, 100)], name)


def zero_axis(high: float, parts: int, room: float = 1.0) -> Axis:
    """From 0 to ``room`` times ``high``, which has so many round parts at most."""
    step = next(v for v, _ in log_axis(high / 10, high, "", 0.0).ticks if v >= high / parts)
    ticks = [(n * step, frequency(n * step)) for n in range(int(high / step) + 1)]
    return Axis(0.0, room * high, ticks, "")


def whole_axis(low: float, high: float, name: str, most: int = 6) -> Axis:
    """An axis of whole numbers, of which at most so many round ones are marked."""
    rough = max((high - low) / most, 1.0)
    power = 10 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
    marks = range(math.ceil(low / step) * step, math.floor(high) + 1, step)
    return Axis(low, high, [(v, frequency(v)) for v in marks], name)


def grid(x: Axis, y: Axis) -> str:
    """The axes of a chart with their numbers and names."""
    bottom, right, parts = HEIGHT - _BOTTOM, WIDTH - _RIGHT, []
    for value, text in y.ticks:
        at = across(0.0, float(y.share(value)))[1]
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 7}" y="{at + 4:.1f}" {_END}>{text}</text>')
    for value, text in x.ticks:
        at = across(float(x.share(value)), 0.0)[0]
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{bottom + 17}" {_MIDDLE}>{text}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>')
    parts.append(f'<text class="name" x="{right}" y="{HEIGHT - 8}" {_END}>{x.name}</text>')
    parts.append(f'<text class="name" x="2" y="14">{y.name}</text>')
    return "\n".join(parts)


_END = 'text-anchor="end"'
_MIDDLE = 'text-anchor="middle"'


def across(x: float, y: float) -> tuple[float, float]:
    """Shares of the plot as places in the picture."""
    return (
        _LEFT + x * (WIDTH - _LEFT - _RIGHT),
        HEIGHT - _BOTTOM - y * (HEIGHT - _TOP - _BOTTOM),
    )


def _path(x: Axis, y: Axis, line: Line) -> str:
    points = (across(a, b) for a, b in zip(x.share(line.x), y.share(line.y), strict=True))
    return f'<polyline class="line {line.style}" points="' + (
        " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>'
    )


def _label(label: Label, style: str) -> str:
    (a, b), (c, d) = across(*label.of), across(*label.at)
    gap = {"start": 5, "middle": 0, "end": -5}[label.anchor]
    top = d + 4 - _LINE * (len(label.text) - 1) / 2
    lines = "".join(
        f'<tspan x="{c + gap:.1f}" y="{top + _LINE * n:.1f}">{escape(text)}</tspan>'
        for n, text in enumerate(label.text)
    )
    leader = f'<line class="leader {style}" x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"/>'
    return f'{leader}<text class="label {style}" text-anchor="{label.anchor}">{lines}</text>'
