"""The largest cells of a summary, its attributes one by one, and its domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tamis.privacy.answer import Answer
from tamis.privacy.errors import counted
from tamis.releases.report.blocks import Blocks, main_branches
from tamis.releases.report.rows import TOP, ruler, scale_of, whisker
from tamis.releases.report.summary_advice import by_noise, left_out
from tamis.releases.report.text import SEVERAL, cell, frequency, many, percent, safe, short, table
from tamis.releases.summary.summary import Summary
from tamis.sparse.attributes import Attribute
from tamis.sparse.points import point

FEW = 12  # values that are shown one by one
_MORE = "<p>And so on for the other attributes: <code>tamis query</code> answers for them.</p>"

Block = tuple[str, int, int]  # a name, and the first and the last code


def largest(summary: Summary, found: Blocks) -> str:
    """The largest cells with their intervals, or the largest blocks where there are no cells."""
    if summary.about.recipe.flat:
        return _cells(summary)
    order = np.argsort(-found.estimates, axis=None, kind="stable")[:TOP]
    keys, answers = [], []
    for at in zip(*np.unravel_index(order, found.estimates.shape), strict=True):
        pairs = list(zip(found.sides, map(int, at), strict=True))
        keys.append([_shown(side.called(n)) for side, n in pairs])
        answers.append(_range(summary, {side.place: side.ends(n) for side, n in pairs}))
    caption = f"The largest of {counted(found.estimates.size, 'block')} in the picture"
    names = [side.name for side in found.sides]
    return _table(names, keys, answers, caption, summary.about.coverage)


def marginals(summary: Summary) -> str:
    """A table for each attribute with few values, or with few main branches."""
    every = [(place, _parts(a)) for place, (_, a) in enumerate(summary.domain.attributes)]
    few = [(place, parts) for place, parts in every if parts]
    tables = [_marginal(summary, place, parts) for place, parts in few[:SEVERAL]]
    if not tables:
        return (
            f"<p>No attribute has at most {FEW} values, so none is shown value by value. "
            "<code>tamis query</code> answers for any of them.</p>"
        )
    return left_out(summary.about) + "\n".join(tables) + (_MORE if len(few) > SEVERAL else "")


def _marginal(summary: Summary, place: int, parts: Sequence[Block]) -> str:
    name = summary.domain.names[place]
    answers = [_range(summary, {place: (first, last)}) for _, first, last in parts]
    keys = [[_shown(text)] for text, _, _ in parts]
    return _table([name], keys, answers, f"By {safe(name)}", summary.about.coverage, ranked=False)


def domain_table(summary: Summary) -> str:
    """The attributes and their values, which are public."""
    rows = [[short(name), f"{a.cardinality:,}", _said(a)] for name, a in summary.domain.attributes]
    rows.append(["together", many(summary.domain.cells), "cells"])
    head = ["attribute", "values", "which"]
    return (
        "<p>What the table could hold, whoever is in it. This was fixed beforehand and is public; "
        "nothing in it was taken from the data.</p>"
        + table(head, rows, "The attributes of the table", "parameters domain")
    )


def _cells(summary: Summary) -> str:
    level = summary.ranges.levels[0]
    if not len(summary):
        return "<p>No cell is in the summary: none had a count that was large enough.</p>"
    order = np.argsort(-level.flat.values, kind="stable")[:TOP]
    codes = level.flat.codes[:, order]
    pairs = zip(summary.domain.attributes, codes, strict=True)
    texts = [[_shown(t) for t in a.shown(row).to_pylist()] for (_, a), row in pairs][:SEVERAL]
    answers = [point(level, column, summary.about.coverage) for column in codes.T.tolist()]
    shown = f"The first {TOP} of" if len(summary) > TOP else "The"
    caption = f"{shown} {counted(len(summary), 'cell')}, by noisy count"
    keys = [list(key) for key in zip(*texts, strict=True)]
    if len(summary.domain) > SEVERAL:
        caption += f", with {SEVERAL} of {len(summary.domain)} attributes"
    names = summary.domain.names[:SEVERAL]
    least = int(level.flat.values[order[-1]])
    return _noise(summary, least) + _table(names, keys, answers, caption, summary.about.coverage)


def _noise(summary: Summary, least: int) -> str:
    """How many of the cells that are shown noise alone could have brought there."""
    expected = by_noise(summary.about.recipe, least)
    if expected < 0.5:
        chance = "under 0.1 %" if expected < 0.001 else f"at most {percent(expected)}"
        return (
            "<p>Counts like these do not come from noise alone: the probability that it lifts any "
            f"cell that holds nothing to {max(1, least):,} is {chance}.</p>\n"
        )
    return (
        f"<p><strong>Some or all of these may be noise alone.</strong> If all cells held nothing, "
        f"about {frequency(float(f'{expected:.2g}'))} of them would have a noisy count from "
        f"{max(1, least):,} on. The intervals are right for a cell that was chosen beforehand, and "
        "not for one that is looked at because it is large.</p>\n"
    )


def _table(
    names: Sequence[str],
    keys: Sequence[Sequence[str]],
    answers: Sequence[Answer],
    caption: str,
    coverage: float,
    ranked: bool = True,
) -> str:
    """Rows with a dot for the estimate and a line for the interval; counts are not below 0."""
    drawn = [
        {"estimate": max(0.0, a.estimate), "low": max(0.0, a.low), "high": max(1.0, a.high)}
        for a in answers
    ]
    scale = scale_of(drawn)
    body = [
        [*[str(n)][:ranked], *key, f"{a.estimate:,.0f}", _interval(a), whisker(row, scale)]
        for n, (key, a, row) in enumerate(zip(keys, answers, drawn, strict=True), start=1)
    ]
    way = "logarithmic" if scale.log else "linear"
    line = f"; dot: estimate, line: {percent(coverage)} interval, on a {way} scale"
    head = [*["rank"][:ranked], *map(short, names), "estimate", "interval", ruler(scale)]
    return table(head, body, caption + line, "keys" if ranked else "keys values")


def _interval(a: Answer) -> str:
    return f"{a.low:,.0f}&nbsp;to {a.high:,.0f}"


def _range(summary: Summary, asked: dict[int, tuple[int, int]]) -> Answer:
    bounds = [(0, radix - 1) for radix in summary.domain.radices]
    for place, ends in asked.items():
        bounds[place] = ends
    return summary.ranges.range(bounds, summary.about.coverage)


def _parts(a: Attribute) -> list[Block]:
    """The values if they are few, or the main branches of a tree; none if both are many."""
    if a.cardinality <= FEW:
        texts = a.shown(np.arange(a.cardinality)).to_pylist()
        return [(text, n, n) for n, text in enumerate(texts)]
    found = main_branches(a)
    if found and a.other is not None:
        found.append((a.other, a.values, a.values))
    return found if 1 < len(found) <= FEW else []


def _said(a: Attribute) -> str:
    other = "" if a.other is None else f", or {safe(a.other)} for all else"
    return safe(a.extent) + other


def _shown(text: str) -> str:
    return cell(pa.scalar(text))
