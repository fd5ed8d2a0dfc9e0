"""What a summary promises: in plain words with its numbers, and formally."""

from __future__ import annotations

import math

from tamis.privacy.errors import counted
from tamis.privacy.guarantee import REPLACED
from tamis.releases.report.promise import bounds, chosen, factor, one_unit
from tamis.releases.report.text import listed, many, percent, safe, several, small, table
from tamis.releases.summary.about import AboutSummary
from tamis.releases.summary.summary import Summary


def facts(summary: Summary) -> str:
    """The handful of numbers that come first."""
    about, g = summary.about, summary.guarantee
    return listed(
        {
            f"{rows_are(about)} kept": f"{len(summary):,}",
            "cells of the table": many(summary.domain.cells),
            "epsilon": small(g.epsilon),
            "delta": small(g.delta),
            "protected": one_unit(about),
            "made on": safe(about.day),
        }
    )


def plainly(summary: Summary) -> str:
    """The guarantee for a person without mathematics."""
    about, g = summary.about, summary.guarantee
    even = 1 / (1 + math.exp(-g.epsilon))
    names = several(summary.domain.names, " and " if len(summary.domain) == 2 else ", ")
    depends, find = _question(about)
    return f"""
<p class="lead">This summary says about how many {_things(about)} there are for each combination of
values of <em>{names}</em>, and for sums of such combinations. The whole table has
{many(summary.domain.cells)} cells; the summary holds {counted(len(summary), rows_are(about)[:-1])}.
It was made at random in such a way that it hardly depends on {depends}.</p>
<p>Picture somebody who knows everything else: all the rest of the data, the method, and any other
source there is. They want to find out {find}.</p>
<ul>
<li>Whatever odds they would give beforehand, this summary changes them by a factor of at most
<strong>{factor(g.epsilon)}</strong> (e to the power epsilon, with epsilon = {small(g.epsilon)}).
If they thought it as likely as not, they end up between {percent(1 - even)} and
{percent(even)} sure.</li>
<li>That holds <strong>without exception</strong>: delta is 0, so there is no chance at all that it
fails.</li>
<li>{_nobody(about)}</li>
</ul>
<p>{bounds(about, "cell", "count")} {_counted(about)} {chosen(about)}</p>
"""


def formally(summary: Summary) -> str:
    """The guarantee as a statement, and every parameter behind it."""
    about, g, r = summary.about, summary.guarantee, summary.about.recipe
    how = "replaced by another" if g.neighbours == REPLACED else "added"
    return f"""
<p>Let <em>M</em> be the summary, as a random function of the data. For any two sets of data
<em>D</em> and <em>D′</em>, one of which is the other with one unit {how} ({one_unit(about)}, with
at most {counted(g.keys_per_unit, "cell")} and at most {counted(g.elements_per_key, "element")} in
each), and for any set <em>T</em> of results:</p>
<p class="formula">Pr[<em>M</em>(<em>D</em>) ∈ <em>T</em>] ≤ e<sup>{small(g.epsilon)}</sup> ·
Pr[<em>M</em>(<em>D′</em>) ∈ <em>T</em>]</p>
<p>This is epsilon-differential privacy. One unit changes the counts of the cells by at most
{r.change:,} in total. The noise is two-sided geometric, drawn exactly by comparing whole numbers,
so that no rounding weakens it. {_unvisited(about)}</p>
{table(["what", "value"], _parameters(about), "Every parameter of the guarantee", "parameters")}
"""


def _nobody(about: AboutSummary) -> str:
    if about.recipe.sketched:
        return (
            "Noise was put on every bucket, and each bucket is a sum over many cells. So no answer "
            "is a proof that anybody is in a cell, or that nobody is."
        )
    return (
        "All cells had noise put on their counts, empty ones as well. So a cell in this summary is "
        "no proof that anybody is in it, and a cell that is missing no proof that nobody is."
    )


def _unvisited(about: AboutSummary) -> str:
    if about.recipe.sketched:
        rows = counted(about.recipe.shape[1], "row")
        return (
            "Hashes were drawn without looking at the data and are published; whatever they are, "
            f"one unit changes the buckets by at most that in each of {rows}."
        )
    return (
        "Cells that hold nothing are not visited one by one, but what is published of them has the "
        "law that it would have if they were."
    )


def rows_are(about: AboutSummary) -> str:
    """What the rows are called."""
    r = about.recipe
    return "cells" if r.flat else "buckets" if r.sketched else "nodes"


def _question(about: AboutSummary) -> tuple[str, str]:
    """What the summary hardly depends on, and what somebody wants to find out."""
    one = one_unit(about)
    if about.guarantee.neighbours == REPLACED:
        return (
            f"what any {one} in the data says",
            f"which of two things {one} of their choice in the data says",
        )
    return f"whether {one} was in the data or not", f"whether {one} of their choice was in the data"


def _things(about: AboutSummary) -> str:
    g = about.guarantee
    if g.unit != "element" and g.elements_per_key == 1:
        return f"different <code>{safe(g.unit)}</code>"
    return "rows of the data" if about.counted == "rows" else "counted elements"


def _counted(about: AboutSummary) -> str:
    if about.counted == "counts":
        return "The data had been counted before: counts of cells are sums of given counts."
    if about.guarantee.unit == "element":
        return "The count of a cell is the number of its rows."
    what = "rows" if about.guarantee.elements_per_key > 1 else "units"
    return f"The count of a cell is the number of its {what}, as far as they were kept."


def _parameters(about: AboutSummary) -> list[list[str]]:
    g, r = about.guarantee, about.recipe
    return [
        ["epsilon", repr(g.epsilon)],
        ["delta", repr(g.delta)],
        ["unit", safe(g.unit)],
        ["neighbours", safe(g.neighbours)],
        ["cells per unit, at most", f"{g.keys_per_unit:,}"],
        ["elements per cell of a unit, at most", f"{g.elements_per_key:,}"],
        ["change of all counts by one unit, at most", f"{r.change:,}"],
        ["what was counted", safe(about.counted)],
        ["rows chosen by a condition", "yes" if about.filtered else "no, all were counted"],
        ["coverage of intervals", f"{about.coverage:.6g}"],
        ["made with", f"tamis {safe(about.library)}"],
    ]
