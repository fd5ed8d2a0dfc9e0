"""How a summary was made, and how to read, verify and cite it."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log, log1p, sqrt

from tamis.privacy.errors import counted
from tamis.privacy.noise import variance
from tamis.releases.report.summary_promise import rows_are
from tamis.releases.report.text import frequency, percent, safe, table
from tamis.releases.summary.about import AboutSummary
from tamis.releases.summary.summary import Summary
from tamis.sparse.planning import outlook
from tamis.sparse.recipe import Recipe

PAPER = """\
@inproceedings{cormode2012summaries,
  author    = {Cormode, Graham and Procopiuc, Cecilia and Srivastava, Divesh and
               Tran, Thanh T. L.},
  title     = {Differentially Private Summaries for Sparse Data},
  booktitle = {Proceedings of the 15th International Conference on Database Theory (ICDT)},
  pages     = {299--311},
  publisher = {ACM},
  year      = {2012},
}
"""

_METHODS = {
    "filter-priority": "cells with noisy counts from theta on, of these a sample of fixed size, "
    "larger counts first",
    "filter": "all cells with noisy counts from theta on, or from -theta down",
    "one-sided filter": "all cells with noisy counts from theta on",
    "threshold": "a sample of all cells: one with noisy count v stays with probability |v| / tau",
    "priority": "a sample of all cells, of fixed size, larger counts first",
    "full": "every cell with its noisy count",
    "dyadic": "sums over blocks of 1, 2, 4, ... values of each attribute",
    "consistent dyadic": "sums over blocks of 1, 2, 4, ... values of each attribute, as far as the "
    "blocks around them stayed",
    "haar": "differences between neighbouring blocks of 1, 2, 4, ... values (Haar wavelets)",
    "sketch": "one row of buckets: every cell is in one of them, with a sign, by a public hash",
    "median sketch": "five rows of buckets: every cell is in one of each row, with a sign, by "
    "public hashes, and the median of the rows answers",
}


def method_in_words(method: str) -> str:
    """What is published."""
    return _METHODS[method]


def made(about: AboutSummary) -> str:
    """The method and its numbers."""
    return table(["what", "value"], _numbers(about), "The method", "parameters method")


def reading(summary: Summary) -> str:
    """How to read rows, sums and intervals."""
    about = summary.about
    r = about.recipe
    lines = (_flat if r.flat else _buckets if r.sketched else _nodes)(summary)
    items = "\n".join(f"<li>{line}</li>" for line in [*lines, *_always(about)])
    return f"<ul>\n{items}\n</ul>"


def left_out(about: AboutSummary) -> str:
    """A warning where sums are shown that leave something out."""
    r = about.recipe
    if all(rule.theta <= 1 for rule in r.rules):
        return ""
    if r.method == "haar":
        return (
            "<p><strong>Small differences are left out.</strong> Where two blocks side by side "
            "differ by too little to be told from noise, what is in both is spread evenly.</p>\n"
        )
    return (
        f"<p><strong>These sums leave out all {rows_are(about)} with noisy counts below "
        f"{_theta(r)}.</strong> Where small counts are many, the true numbers are higher than the "
        "estimates; the intervals reach up so far that they can hold them.</p>\n"
    )


def by_noise(recipe: Recipe, value: int) -> float:
    """How many cells have a noisy count from ``value`` on, if all cells hold nothing.

    Pr[X >= v] = a^v / (1 + a) for v above 0, a = exp(-rate).
    """
    rate = float(recipe.rate)
    return exp(min(700.0, log(recipe.domain.cells) - rate * max(1, value) - log1p(exp(-rate))))


def verifying(summary: Summary) -> str:
    """How to check the file."""
    return f"""
<p>With tamis installed:</p>
<pre><code>tamis verify summary.parquet</code></pre>
<p>This checks that the promise follows from the noise and the bounds that the file states, and that
the rows are in order and follow from their noisy values. Of this file it says:
{safe(summary.verify())} It also prints the digest of the file, a SHA-256 over its rows and all that
it says about itself. The file that this page is about has the digest</p>
<pre><code class="digest">{summary.digest}</code></pre>
<p>Another digest means another file. The digest in a file notices accidents only: whoever changes a
file can renew it. Compare it with one that you have from elsewhere, such as from whoever published
the summary. No check of a file can prove that the noise in it was drawn as it says, from the data
you think of, or only once.</p>
"""


def _numbers(about: AboutSummary) -> list[list[str]]:
    r, rules = about.recipe, about.recipe.rules
    rates = [rule.rate for rule in rules] or [r.rate / r.shape[1]]
    spread = [sqrt(variance(rate)) for rate in rates]
    size = "not bounded" if r.size is None else f"{r.size:,}"
    rows = [
        ["method", f"{safe(r.method)}: {safe(method_in_words(r.method))}"],
        ["size" if about.chosen_size else "size that was asked for", size],
        *_kept(about),
        ["rate of the noise", _span(map(float, rates))],
        ["standard deviation of the noise", _span(spread)],
    ]
    if rules and not r.flat:
        rows.insert(2, ["tables of nodes, each with a share of epsilon", f"{len(rules):,}"])
    return rows


def _kept(about: AboutSummary) -> list[list[str]]:
    """What decided on what stays; in a sketch everything does."""
    r = about.recipe
    if r.sketched:
        width, rows = r.shape
        return [["buckets", f"{counted(rows, 'row')} of {width:,}"]]
    return [
        ["theta (smaller noisy counts are left out)", _span(rule.theta for rule in r.rules)],
        ["tau (smaller ones are sampled, and stand for it)", _span(about.taus)],
    ]


def _span(values: Iterable[float]) -> str:
    """One number, or the least and the most of several; 0 is none."""
    found = sorted({float(f"{value:.4g}") for value in values})
    text = " to ".join(frequency(value) for value in dict.fromkeys((found[0], found[-1])))
    return "none" if text == "0" else text


def _flat(summary: Summary) -> list[str]:
    about = summary.about
    example = safe(f"SELECT sum(weight) FROM 'summary.parquet' WHERE {_condition(about.recipe)}")
    noise = outlook(about.recipe).noise
    return [
        "<strong>Weights add up.</strong> Each row of the file is a cell with its <code>value"
        "</code>, the count with noise, and its <code>weight</code>, what it counts in sums. The "
        "sum of the weights over any set of cells estimates how much is in them, so any tool can "
        f"do it: <code>{example}</code>. Leave negative ones in: they make up for noise that is "
        "too high elsewhere.",
        f"<strong>Cells of noise alone</strong> are among the rows, and nothing tells them apart. "
        f"If nothing at all were in the data, there would be about {frequency(_rounded(noise))} "
        f"rows; so of the {counted(len(summary), 'row')} here, about so many or fewer are noise "
        "alone.",
        _below(about),
        *_sampled(about),
    ]


def _nodes(summary: Summary) -> list[str]:
    return [
        "<strong>Rows are nodes</strong>, not cells: each belongs to a block of neighbouring "
        "values. Do not add up their weights by hand; <code>tamis query</code> knows which nodes "
        "make up a range.",
        f"<strong>Nodes of noise alone</strong> are among the {counted(len(summary), 'row')}, and "
        "nothing tells them apart.",
        _below(summary.about),
    ]


def _buckets(summary: Summary) -> list[str]:
    return [
        "<strong>Rows are buckets</strong>, not cells: each holds the sum of many cells, some with "
        "a minus before them. Only together, and with the hashes that the file states, do they "
        "answer: <code>tamis query</code> knows how. Nothing can be listed, so there is no picture "
        "and no table of the largest cells here.",
        "<strong>Other cells are in the way.</strong> What shares a bucket with a cell is a part "
        "of its error. Where few cells hold nearly everything, ask the other methods; a sketch is "
        "for tables in which no cell stands out, and for lists of cells.",
    ]


def _always(about: AboutSummary) -> list[str]:
    c = about.coverage
    return [
        f"<strong>Interval.</strong> It holds the true number with a probability of about "
        f"{percent(c)}, as far as noise and sampling go. That is said of each question by itself: "
        f"of many intervals, some will be wrong, about {percent(1 - c)} of them; and of the "
        "largest of many estimates, more are too high than too low.",
        "Whatever is computed from this summary alone is as private as the summary: add it up, "
        "join it with public data, publish a part of it.",
    ]


def _below(about: AboutSummary) -> str:
    r, what = about.recipe, rows_are(about)
    if all(rule.theta <= 1 for rule in r.rules):
        return (
            f"<strong>Nothing was left out for being small</strong>: sums over {what} are right on "
            "average, however small the counts in them."
        )
    if r.method == "haar":
        return (
            f"<strong>Small differences count as nothing.</strong> Nodes are differences between "
            f"two blocks side by side; those below {_theta(r)} were left out. That does not change "
            "what both blocks hold together, but evens out what each holds; intervals have room "
            "for it."
        )
    return (
        f"<strong>What is below theta counts as nothing.</strong> {what.capitalize()} with noisy "
        f"counts below {_theta(r)} were left out and are not made up for. Sums over many small "
        "counts are too low by what was left out; their intervals have room for it, and are wide."
    )


def _theta(r: Recipe) -> str:
    text = _span(rule.theta for rule in r.rules)
    return text if r.flat else f"theta ({text}, by level)"


def _sampled(about: AboutSummary) -> list[str]:
    tau = about.taus[0]
    if tau <= max(1, about.recipe.theta):
        return []
    return [
        "<strong>A sample.</strong> A cell with a noisy count v below tau = "
        f"{frequency(_rounded(tau))} was kept with probability v / tau, and if kept counts as tau "
        "in sums: it stands for others like it that were not kept."
    ]


def _condition(r: Recipe) -> str:
    name = r.domain.names[0]
    column = name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '""') + '"'
    return f"{column} = ..."


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
