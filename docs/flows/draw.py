"""The pictures of docs/flows.md: a private map of flows, and the whole table as a heat map.

    python docs/flows/draw.py docs/flows           (commuting in Rhode Island, if the data is there)
    python docs/flows/draw.py --city some/folder   (a city that is made up)

Both are drawn from a summary that tamis makes, and from nothing else. Noise is drawn anew each
time, so numbers differ a little from those in the text.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import permutations
from math import hypot, sqrt
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import tamis
from tamis.releases.report.blocks import blocks
from tamis.releases.report.heatmap import heat_map

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "commute_rhode_island.csv.gz"
COUNTIES = {  # the code of a county, its name, and about where its middle is
    "44001": ("Bristol", 41.70, -71.28),
    "44003": ("Kent", 41.67, -71.58),
    "44005": ("Newport", 41.53, -71.27),
    "44007": ("Providence", 41.87, -71.58),
    "44009": ("Washington", 41.45, -71.62),
}
CITY = {
    "Harbour": (0.0, 1.0),
    "Old Town": (1.0, 1.1),
    "Hills": (0.5, 2.0),
    "Riverside": (2.0, 0.6),
    "Airport": (2.2, 1.9),
}
_JOBS = """
SELECT substr(h_geocode, 1, 12) AS home, substr(w_geocode, 1, 12) AS work,
       sum(S000::BIGINT)::BIGINT AS jobs
FROM read_csv(?, all_varchar = true) GROUP BY ALL
"""
_WIDE, _HIGH, _MARGIN = 520.0, 560.0, 90.0


@dataclass(frozen=True)
class Flows:
    """A table of counts, the areas of each district, and where districts are (east, north)."""

    counts: pa.Table
    areas: dict[str, list[str]]
    places: dict[str, tuple[float, float]]


def rhode_island(path: Path = DATA) -> Flows:
    """Jobs by the block groups of home and work, as the Census Bureau publishes them."""
    found = duckdb.sql(_JOBS, params=[str(path)])
    assert found is not None
    counts = found.to_arrow_table()
    known = sorted({*counts["home"].to_pylist(), *counts["work"].to_pylist()})
    areas = {
        name: [area for area in known if area.startswith(code)]
        for code, (name, _, _) in COUNTIES.items()
    }
    # a degree of longitude is three quarters of a degree of latitude here
    places = {name: (0.75 * east, north) for name, north, east in COUNTIES.values()}
    return Flows(counts, areas, places)


def city(people: int = 50_000) -> Flows:
    """A city that is made up: half of the people work in their district, the others anywhere."""
    rng, each = np.random.default_rng(7), 40
    areas = {name: [f"{name} {n:02}" for n in range(each)] for name in CITY}
    names = np.array([area for group in areas.values() for area in group])
    popular = rng.permutation(1 / np.arange(1, len(names) + 1))
    home = rng.integers(0, len(names), people)
    near = home // each * each + rng.integers(0, each, people)
    far = rng.choice(len(names), people, p=popular / popular.sum())
    work = np.where(rng.random(people) < 0.5, near, far)
    counts = pa.table({"home": names[home], "work": names[work], "jobs": np.ones(people, np.int64)})
    return Flows(counts, areas, CITY)


def summarize(flows: Flows, epsilon: float = 1.0, size: int = 20_000) -> Any:
    """A summary for sums over neighbouring areas."""
    tree = tamis.Hierarchy(flows.areas)
    domain = tamis.Domain(home=tree, work=tree)
    return tamis.summarize(
        flows.counts, domain=domain, epsilon=epsilon, size=size, count="jobs", method="haar"
    )


def between(summary: Any, names: list[str]) -> dict[tuple[str, str], Any]:
    """The answer for each pair of districts."""
    return {(a, b): summary.range(home=a, work=b) for a in names for b in names}


# --- the map -------------------------------------------------------------------------------------


def flow_map(answers: dict[tuple[str, str], Any], places: dict[str, tuple[float, float]]) -> str:
    """Discs for those who stay, arcs for those who leave, in proportion; arcs bend to the right."""
    at = _fitted(places)
    most = max(answers[pair].estimate for pair in permutations(at, 2))
    stay = max(answers[name, name].estimate for name in at)
    parts = [f'<rect width="{_WIDE}" height="{_HIGH}" fill="#ffffff"/>']
    pairs = sorted(permutations(at, 2), key=lambda pair: -answers[pair].estimate)
    parts += [_arc(at[a], at[b], answers[a, b].estimate / most) for a, b in pairs]
    parts += [_disc(name, at[name], answers[name, name].estimate, stay) for name in at]
    parts += [_number(at[a], at[b], answers[a, b].estimate) for a, b in pairs[:6]]
    return _svg(_WIDE, _HIGH, "\n".join(parts), "Flows between districts")


def _fitted(places: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Places in the picture: as wide or as high as it is."""
    east, north = np.array(list(places.values())).T
    spread = (_WIDE - 2 * _MARGIN) / np.ptp(east), (_HIGH - 2 * _MARGIN) / np.ptp(north)
    scale = min(spread)
    x = _WIDE / 2 + (east - (east.min() + east.max()) / 2) * scale
    y = _HIGH / 2 - (north - (north.min() + north.max()) / 2) * scale
    return dict(zip(places, zip(x.tolist(), y.tolist(), strict=True), strict=True))


def _bend(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """The point that an arc bends towards, to the right of who goes along it."""
    (x, y), (u, v) = a, b
    return (x + u) / 2 - 0.3 * (v - y), (y + v) / 2 + 0.3 * (u - x)


def _arc(a: tuple[float, float], b: tuple[float, float], share: float) -> str:
    """A wedge that is wide where people come from, and comes to a point where they go."""
    (x, y), (u, v), (p, q) = a, b, _bend(a, b)
    half = max(0.6, 15 * max(share, 0.0))
    length = hypot(p - x, q - y)
    dx, dy = -half * (q - y) / length, half * (p - x) / length
    path = (
        f"M{x + dx:.1f} {y + dy:.1f}Q{p + dx / 2:.1f} {q + dy / 2:.1f} {u:.1f} {v:.1f}"
        f"Q{p - dx / 2:.1f} {q - dy / 2:.1f} {x - dx:.1f} {y - dy:.1f}z"
    )
    return f'<path d="{path}" fill="#1d6caa" fill-opacity=".55"/>'


def _disc(name: str, at: tuple[float, float], count: float, most: float) -> str:
    x, y = at
    radius = 42 * sqrt(max(count, 0.0) / most)
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#d9935c"/>'
        f'<text x="{x:.1f}" y="{y - max(radius, 8) - 20:.1f}" class="name">{escape(name)}</text>'
        f'<text x="{x:.1f}" y="{y - max(radius, 8) - 5:.1f}">{count:,.0f} stay</text>'
    )


def _number(a: tuple[float, float], b: tuple[float, float], count: float) -> str:
    """A number beside the middle of an arc, on its outer side."""
    (x, y), (u, v), (p, q) = a, b, _bend(a, b)
    middle = (x + u) / 2, (y + v) / 2
    out = 0.5 + 24 / hypot(p - middle[0], q - middle[1])
    at = middle[0] + out * (p - middle[0]), middle[1] + out * (q - middle[1])
    return f'<text x="{at[0]:.1f}" y="{at[1] + 4:.1f}">{count:,.0f}</text>'


def _svg(wide: float, high: float, inside: str, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" role="img">'
        f"<title>{title}</title><style>text{{font:13px sans-serif;text-anchor:middle;"
        "fill:#1d2329;paint-order:stroke;stroke:#fff;stroke-width:4px}"
        f".name{{font-weight:600;font-size:15px}}</style>\n{inside}\n</svg>\n"
    )


# --- the heat map --------------------------------------------------------------------------------


def matrix(summary: Any) -> str:
    """The picture of the report, with the shades that it has in light."""
    style = files("tamis.releases.report").joinpath("style.css").read_text(encoding="utf-8")
    light = style[: style.index("@media")]
    colours = dict(re.findall(r"--(\w+): (#\w+)", light))
    rules = "\n".join(line for line in style.split("\n") if line.startswith("svg "))
    plain = re.sub(r"var\(--(\w+)\)", lambda found: colours[found[1]], rules).replace("svg ", "")
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    drawing = heat_map(blocks(summary)).replace("</desc>", f"</desc><style>{plain}</style>{paper}")
    return drawing.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def main(folder: Path, made_up: bool) -> None:
    """Draw both pictures, and say what each flow is."""
    flows = city() if made_up or not DATA.exists() else rhode_island()
    summary = summarize(flows)
    answers = between(summary, list(flows.areas))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "map.svg").write_text(flow_map(answers, flows.places), encoding="utf-8")
    (folder / "matrix.svg").write_text(matrix(summary), encoding="utf-8")
    for (home, work), answer in answers.items():
        sys.stdout.write(f"{home} to {work}: {answer}\n")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--city"]
    main(Path(words[0] if words else "."), "--city" in sys.argv)
