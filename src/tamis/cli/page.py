"""A plan as one page of HTML that needs nothing else: a table and a chart."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from tamis.cli.plan import expected, percent, suggestions
from tamis.privacy.errors import counted
from tamis.weighted.show import column

if TYPE_CHECKING:
    from tamis.weighted.plan import Plan

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 300, 48, 40
_STYLE = """
:root { color-scheme: light dark; --a: #0a7d4f; --b: #b35c00; --c: #2b5fc7; }
@media (prefers-color-scheme: dark) { :root { --a: #4fd39a; --b: #f0a050; --c: #84aaff; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #8884; }
svg { width: 100%; height: auto; } svg text { fill: currentColor; font-size: 13px; }
polyline { fill: none; stroke-width: 2.5; } .grid { stroke: #8884; }
.way0 { stroke: var(--a); } .way1 { stroke: var(--b); stroke-dasharray: 7 4; }
.way2 { stroke: var(--c); stroke-dasharray: 2 4; }
"""


def page(plan: Plan, document: dict[str, Any]) -> str:
    """The plan, with what `compare.describe` says of it."""
    g = plan.guarantee
    promise = (
        f"epsilon {g.epsilon:g}, delta {g.delta:g} for one {g.unit} with at most "
        f"{counted(g.keys_per_unit, 'key')} and {counted(g.elements_per_key, 'element')} in each"
    )
    body = [
        "<h1>Plan of a release</h1>",
        f"<p>{escape(promise)}. Curve: {escape(plan.curve.describe())}.</p>",
        "<h2>How likely a key is named</h2>",
        _chart(document["frequency"], document["named"]),
        _halves(document["half"]),
        "<h2>What is said of a key</h2>",
        _keys(plan),
        *_expected(document),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Plan of a release</title><style>{_STYLE}</style></head>\n"
        f"<body>{chr(10).join(body)}</body></html>\n"
    )


def _chart(at: list[int], named: dict[str, list[float]]) -> str:
    """Lines over the frequency; each kind has its own dashes, so that colour is not needed."""
    right, low = _WIDTH - 12, _HEIGHT - _BOTTOM
    scale = (right - _LEFT) / max(1, at[-1] - at[0])
    parts = []
    for share in (0, 25, 50, 75, 100):
        y = low - (low - 10) * share / 100
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share} %</text>')
    for frequency, anchor in ((at[0], "start"), (at[len(at) // 2], "middle"), (at[-1], "end")):
        x = _LEFT + (frequency - at[0]) * scale
        parts.append(
            f'<text x="{x:.1f}" y="{low + 18}" text-anchor="{anchor}">{frequency:,}</text>'
        )
    for i, (name, values) in enumerate(named.items()):
        points = " ".join(
            f"{_LEFT + (w - at[0]) * scale:.1f},{low - (low - 10) * p:.1f}"
            for w, p in zip(at, values, strict=True)
        )
        parts.append(f'<polyline class="way{i}" points="{points}"/>')
        x = _LEFT + 220 * i
        parts.append(
            f'<line class="way{i}" stroke-width="2.5" x1="{x}" x2="{x + 28}" '
            f'y1="{_HEIGHT - 8}" y2="{_HEIGHT - 8}"/>'
        )
        parts.append(f'<text x="{x + 34}" y="{_HEIGHT - 4}">{escape(name)}</text>')
    title = "Probability of being named, over the frequency of a key"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}">'
        f"{''.join(parts)}</svg>"
    )


def _halves(halves: dict[str, int | None]) -> str:
    rows = ((name, "never" if half is None else f"{half:,}") for name, half in halves.items())
    return _table(("", "half are named from frequency"), rows)


def _keys(plan: Plan) -> str:
    shares = (0.5, 0.75, 1, 1.5, 2, 5, 50) if plan.half else ()
    at = sorted({max(1, round((plan.half or 1) * share)) for share in shares})
    rows = []
    for frequency in at:
        low, high = plan.interval(frequency)
        rows.append((f"{frequency:,}", f"{plan.reporting(frequency):.3g}", f"{low:,} to {high:,}"))
    said = f"typical {percent(plan.coverage)} interval of a named key"
    return _table(("frequency", "how likely it is named", said), rows)


def _expected(document: dict[str, Any]) -> list[str]:
    parts = []
    if "expected" in document:
        parts.append(f"<h2>Keys to expect</h2><p>{escape(expected(document))}:</p>")
        rows = ((name, f"{many:,.1f}") for name, many in document["expected"].items())
        parts.append(_table(("", "named on average"), rows))
    if "suggestions" in document:
        head, *body = zip(
            *(column(n, v).cells for n, v in suggestions(document).items()), strict=True
        )
        parts.append(f"<h2>Keys per unit, if units have {escape(document['units']['have'])}</h2>")
        parts.append(_table(head, body))
        parts.append(
            f"<p>Suggested: {document['suggested'] or 'none'}. {escape(document['model'])}</p>"
        )
    return parts


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
