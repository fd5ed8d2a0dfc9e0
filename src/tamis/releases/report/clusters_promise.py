"""What a release of clusters promises: in plain words with its numbers, and formally."""

from __future__ import annotations

import math

from tamis.privacy.errors import counted
from tamis.privacy.verify import decimals, number
from tamis.releases.clusters.about import AboutClusters
from tamis.releases.clusters.clusters import Clusters
from tamis.releases.report.promise import factor
from tamis.releases.report.text import listed, percent, safe, several, small, table

_SHOWN = 100  # columns whose bounds are listed


def facts(release: Clusters) -> str:
    """The handful of numbers that come first."""
    about, g = release.about, release.guarantee
    return listed(
        {
            "clusters": f"{len(release):,}",
            "columns": f"{len(about.columns):,}",
            "epsilon": small(g.epsilon),
            "delta": "0",
            "protected": f"one {safe(g.unit)}",
            "made on": safe(about.day),
        }
    )


def plainly(release: Clusters) -> str:
    """The guarantee for a person without mathematics."""
    about, g = release.about, release.guarantee
    even = 1 / (1 + math.exp(-g.epsilon))
    chosen = " Rows were chosen by a condition beforehand." if about.filtered else ""
    return f"""
<p class="lead">This release says where the rows of a table gather: it holds the centres of
{counted(len(release), "cluster")} in <em>{several(about.columns)}</em>, and about how many rows
each has. It was made at random in such a way that it hardly depends on whether any one row was in
the data.</p>
<p>Picture somebody who knows everything else: all other rows, the method, and any other source
there is. They want to find out whether one row of their choice was in the data.</p>
<ul>
<li>Whatever odds they would give beforehand, this release changes them by a factor of at most
<strong>{factor(g.epsilon)}</strong> (e to the power epsilon, with epsilon = {small(g.epsilon)}).
If they thought it as likely as not, they end up between {percent(1 - even)} and
{percent(even)} sure.</li>
<li>That holds <strong>without exception</strong>: delta is 0, so there is no chance at all that it
fails.</li>
<li>That holds for every row, however far out it lies. {_moved(about)}</li>
</ul>
<p>A person with several rows is protected less: with two, the factor is {factor(2 * g.epsilon)} and
not {factor(g.epsilon)}, and so on.{chosen}</p>
"""


def formally(about: AboutClusters) -> str:
    """The guarantee as a statement, and every parameter behind it."""
    g = about.guarantee
    return f"""
<p>Let <em>M</em> be the release, as a random function of the data. For any two tables <em>D</em>
and <em>D′</em>, one of which is the other with one row added, and for any set <em>T</em> of
results:</p>
<p class="formula">Pr[<em>M</em>(<em>D</em>) ∈ <em>T</em>] ≤ e<sup>{small(g.epsilon)}</sup> ·
Pr[<em>M</em>(<em>D′</em>) ∈ <em>T</em>]</p>
<p>This is epsilon-differential privacy. Rows are put on a grid of whole numbers within public
bounds, and counts and sums of them get two-sided geometric noise that is drawn exactly, so that no
rounding weakens it. Steps are run one after the other, and what they spend adds up to
epsilon.</p>
{table(["what", "value"], _parameters(about), "Every parameter of the guarantee", "parameters")}
{_bounds(about)}
"""


def sampled(about: AboutClusters) -> str:
    """How rows were sampled, in a few words."""
    sample = about.rule["sample"]
    if sample is None:
        return "no, all rows were used"
    far = f"the farthest rows with probability {decimals(number(sample['far']))}"
    return f"{safe(about.sampler)}: {far}"


def _moved(about: AboutClusters) -> str:
    if about.bounds is not None:
        return "What lies beyond the bounds, which were fixed beforehand, counted as if at them."
    return (
        "Rows whose absolute values add up to more than the radius, which was fixed beforehand "
        f"({about.radius:.6g}), were shortened to it."
    )


def _parameters(about: AboutClusters) -> list[list[str]]:
    g = about.guarantee
    steps = "chosen privately" if about.max_iter == "auto" else "as asked for"
    found = "found privately" if about.init == "private" else "put at random"
    rows = [
        ["epsilon", repr(g.epsilon)],
        ["delta", repr(g.delta)],
        ["unit", safe(g.unit)],
        ["neighbours", safe(g.neighbours)],
        ["clusters", f"{about.clusters:,}"],
        ["columns", f"{len(about.columns):,}"],
        ["steps of the search", f"{about.steps:,} ({steps})"],
        ["first centres", found],
        ["rows sampled", sampled(about)],
        ["rows chosen by a condition", "yes" if about.filtered else "no, all were used"],
        ["made with", f"tamis {safe(about.library)}"],
    ]
    if about.radius is not None:
        rows.insert(6, ["radius (sum of absolute values)", f"{about.radius:.10g}"])
    if about.mixing is not None:
        rows.insert(-2, ["mixing of the sampler", f"{about.mixing:.6g}"])
    return rows


def _bounds(about: AboutClusters) -> str:
    if about.bounds is None:
        return ""
    pairs = zip(about.columns, about.bounds, strict=True)
    rows = [[safe(name), f"{low:.10g}", f"{high:.10g}"] for name, (low, high) in pairs]
    more = len(rows) - _SHOWN
    caption = "Bounds of the columns, fixed beforehand" + (
        f" (the first {_SHOWN}; {more} more are in the file)" if more > 0 else ""
    )
    return table(["column", "low", "high"], rows[:_SHOWN], caption, "numbers bounds")
