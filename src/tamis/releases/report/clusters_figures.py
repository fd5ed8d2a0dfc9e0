"""What noise costs, by epsilon: from the released sizes and public settings, without any data."""

from __future__ import annotations

import numpy as np

from tamis.releases.clusters.clusters import Clusters
from tamis.releases.clusters.noise import Floats, Noise, spread, suggested_reach
from tamis.releases.report.svg import (
    DIGIT,
    NUMBER,
    Axis,
    Label,
    Line,
    across,
    chart,
    log_axis,
)
from tamis.releases.report.text import small, table

_TIMES = 30.0  # so much smaller and larger epsilons are drawn
_SHOWN = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # of epsilon, in the table
_OVER = 0.055  # from a line to its name
_NEAR, _FAR = "rows as near as centres suggest", "rows as far out as declared"
_APART = "spread of the centres"


def expected(release: Clusters) -> str:
    """Two figures, and the same in numbers."""
    noise, near = Noise(release.about, release.sizes), suggested_reach(release)
    lines = _NEAR if near else _FAR
    return f"""
<p>How good the centres are for the data cannot be said without looking at it, and would have to be
paid for. What <em>can</em> be said is how much noise is in them, and how much there would be with
another epsilon: that follows from the sizes above and from the settings. The figures are
computed from these alone, with as many steps as here, and for sizes as they were released.</p>
<div class="figures">
<figure>{_error_figure(release, noise, near)}
<figcaption>The standard error that noise makes in a coordinate of the centre of a cluster of
middling size, by epsilon; the dots are this release.</figcaption></figure>
<figure>{_cost_figure(release, noise, near)}
<figcaption>What that noise adds to the cost, the mean squared distance of rows to their centre;
{_compared(near)}</figcaption></figure>
</div>
{_reading(release, near)}
{_numbers(release, noise, near, lines)}
"""


def _epsilons(release: Clusters) -> Floats:
    own = release.guarantee.epsilon
    return np.geomspace(own / _TIMES, min(own * _TIMES, 1000.0), 61)


def _error_figure(release: Clusters, noise: Noise, near: float | None) -> str:
    middle = _places(release)[1]
    curves = {
        name: np.array([noise.errors(e, reach)[middle] for e in _epsilons(release)])
        for name, reach in _reaches(release, near).items()
    }
    return _drawn(release, curves, "standard error", "error", "Error of a coordinate")


def _cost_figure(release: Clusters, noise: Noise, near: float | None) -> str:
    at = _epsilons(release)
    curves = {
        name: np.array([noise.cost(e, reach) for e in at])
        for name, reach in _reaches(release, near).items()
    }
    if (level := spread(release)) > 0:
        curves[_APART] = np.full(len(at), level)
    return _drawn(release, curves, "squared distance", "cost", "What noise adds to the cost")


def _reaches(release: Clusters, near: float | None) -> dict[str, float]:
    far = {_FAR: release.about.reach}
    return {_NEAR: near, **far} if near else far


def _drawn(release: Clusters, curves: dict[str, Floats], unit: str, name: str, title: str) -> str:
    at, own = _epsilons(release), release.guarantee.epsilon
    values = np.concatenate(list(curves.values()))
    x = log_axis(float(at[0]), float(at[-1]), "epsilon", DIGIT)
    y = log_axis(float(values.min()) / 2, float(values.max()) * 2, unit, NUMBER)
    styles = {_NEAR: "one", _FAR: "two", _APART: "other"}
    lines = [
        Line(at, curve, styles[label], _label(label, x, y, at, curve))
        for label, curve in curves.items()
    ]
    dots = [
        _dot(x, y, own, float(np.exp(np.interp(np.log(own), np.log(at), np.log(curve)))))
        for label, curve in curves.items()
        if label != _APART
    ]
    said = (f"{label}: {np.interp(own, at, curve):.3g}" for label, curve in curves.items())
    return chart(x, y, lines, name, title, f"At epsilon {own:g}: {'; '.join(said)}.", dots)


def _label(text: str, x: Axis, y: Axis, at: Floats, curve: Floats) -> Label:
    """Names of lines that fall: to the right of the upper one, to the left of the lower one."""
    place = {_FAR: 0.30, _NEAR: 0.73, _APART: 0.98}[text]
    height = float(np.interp(place, x.share(at), y.share(curve)))
    side = {_FAR: (0.03, 0.05, "start"), _NEAR: (-0.03, -0.05, "end"), _APART: (0, -_OVER, "end")}
    right, up, anchor = side[text]
    spot = (place + right, min(0.97, max(0.03, height + up)))
    return Label((text,), spot, spot, anchor)


def _dot(x: Axis, y: Axis, epsilon: float, value: float) -> str:
    a, b = across(float(x.share(epsilon)), float(y.share(value)))
    return f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="4"/>'


def _compared(near: float | None) -> str:
    if near is None:
        return "the dot is this release."
    return (
        "beside it, the mean squared distance of the centres from their own mean. Where noise adds "
        "as much as that, centres say nothing any more."
    )


def _reading(release: Clusters, near: float | None) -> str:
    about = release.about
    if near is None:
        guess = ""
    elif about.sampler == "full":
        guess = (
            f" Rows as near as centres suggest: {near:.3g}, half of how far a centre is from the "
            "next one. That is a guess, not a bound: where clusters are well apart, centres are "
            "mostly nearer to the truth than this line; where they overlap, k-means may divide "
            "rows in another way, which is in neither line."
        )
    else:
        guess = (
            f" Rows as near as centres suggest: {near:.3g}, how far the farthest centre is from "
            "the middle. That is a guess, not a bound; and that only a sample of rows was looked "
            "at adds an error that is not in these figures."
        )
    return f"""
<p>Noise is in proportion to how far rows lie from where they are measured from, as a sum of
absolute values, up to a length that was found privately and is not released. Rows as far out as
declared: {about.reach:.6g}, what the bounds allow.{guess} Means are drawn together where they are
little but noise, which helps further.</p>"""


def _places(release: Clusters) -> tuple[int, int, int]:
    """The largest, a middling and the smallest cluster: they stand in this order."""
    return 0, (len(release) - 1) // 2, len(release) - 1


def _numbers(release: Clusters, noise: Noise, near: float | None, words: str) -> str:
    reach, far = near or release.about.reach, release.about.reach
    own = release.guarantee.epsilon
    rows = []
    for epsilon in (own * times for times in _SHOWN if own * times <= 1000):
        errors = noise.errors(epsilon, reach)
        shown = [errors[n] for n in _places(release)]
        shown += [noise.errors(epsilon, far)[_places(release)[1]], noise.cost(epsilon, reach)]
        rows.append([small(epsilon), *(f"{value:.3g}" for value in shown)])
    head = ["epsilon", "error, largest cluster", "middling", "smallest",
            f"middling, {_FAR}", "added to the cost"]  # fmt: skip
    caption = f"The same in numbers, for {words} unless it says otherwise"
    return table(head, rows, caption, "numbers")
