"""The plan of a summary: what each method would give, from public numbers alone."""

from __future__ import annotations

import textwrap
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from tamis.cli import result, streams
from tamis.engines.protocol import Counted, Request
from tamis.privacy.errors import InvalidInput, counted
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import NEIGHBOURS, REPLACED, Guarantee
from tamis.releases.budgeting import shared
from tamis.releases.summary.about import change
from tamis.releases.summary.make import summarize
from tamis.sparse.domain import Domain
from tamis.sparse.planning import Outlook, Workload, outlook, outlooks, suggest
from tamis.sparse.recipe import FLAT, METHODS, SPLIT, choose
from tamis.weighted.show import Column, side_by_side

_ASKED: dict[Workload, str] = {
    "point": "one cell",
    "subset": "a tenth of all cells",
    "range": "a range of a tenth of each attribute",
}
_COLUMNS = {
    "theta": "noisy counts below it are left out (a hierarchy has one for each level)",
    "noise cells": "cells of nothing but noise in the summary, on average; of a hierarchy all "
    "nodes, at most",
    "half from": "the count from which on a cell is in the summary half of the time or more",
    "cell": "the error that noise makes in one cell that is in the summary",
    "subset": "in a tenth of all cells",
    "range": "in a range of a tenth of each attribute",
}
_NOTE = (
    "Errors are roots of mean squares, and come from noise and the sample of it. What a filter "
    "takes from small counts, and what other cells add in the buckets of a sketch, depends on the "
    "data, and is in none of them."
)


@dataclass(frozen=True)
class Prospect:
    """What each method would give, which one is taken, and which one suits the workload."""

    domain: Domain
    guarantee: Guarantee
    epsilon: float  # what is left for the cells
    size: int | None
    workload: Workload
    found: tuple[Outlook, ...]
    chosen: str
    suggested: str | None

    @property
    def left_out(self) -> list[str]:
        there = [o.recipe.method for o in self.found]
        return [] if self.suggested is None else [m for m in METHODS if m not in there]


class _Reached(Exception):
    """Nothing was refused, and the data would be read now."""


class _NoData:
    """An engine that reads nothing."""

    def count(self, data: Any, request: Request, table: str | None = None) -> Counted:
        raise _Reached

    def close(self) -> None:
        """There is nothing to close."""


def show_plan(law: dict[str, Any], coverage: float, json: bool) -> None:
    """Print the plan of a summary, if nothing of it would be refused before data is read."""
    with suppress(_Reached):
        summarize(None, engine=_NoData(), coverage=coverage, **law)
    made = prospect(**law)
    if json:
        streams.put_json(describe(made))
    else:
        streams.put(text(made))


def prospect(
    domain: str,
    epsilon: float,
    size: int | None,
    method: str | None,
    workload: Workload,
    theta: int | None,
    tau: float | None,
    level_growth: float | None,
    total_share: float,
    size_share: float,
    unit: str | None,
    keys_per_unit: int | None,
    elements_per_key: int,
    neighbours: str,
) -> Prospect:
    """All that can be known of what `tamis.summarize` would do, where it refuses nothing."""
    area, of = Domain.load(domain), REPLACED if neighbours == "replace" else NEIGHBOURS
    guarantee = Guarantee(epsilon, 0.0, keys_per_unit or 1, elements_per_key, unit or "element", of)
    if size_share:
        raise InvalidInput("a plan is for a size: give one with --size instead of --size-share.")
    left = shared(guarantee.epsilon, total_share=total_share)[0]
    public = (area, exactly(left), change(guarantee))
    suggested, others = _compared(*public, size, workload)
    taken = method or suggested or FLAT[0]
    at = None if tau is None else exactly(tau)
    growth = None if level_growth is None else exactly(level_growth)
    own = outlook(choose(*public, method=taken, size=size, theta=theta, tau=at, growth=growth))
    found = {o.recipe.method: o for o in others} | {taken: own}
    listed = tuple(found[name] for name in METHODS if name in found)
    return Prospect(area, guarantee, left, size, workload, listed, taken, suggested)


def _compared(
    domain: Domain, epsilon: Fraction, change: int, size: int | None, workload: Workload
) -> tuple[str | None, list[Outlook]]:
    """The method that suits the workload, and all others; none if the size is not for them."""
    try:
        return (
            suggest(domain, epsilon, change, size, workload),
            outlooks(domain, epsilon, change, size),
        )
    except InvalidInput:
        return None, []


def describe(made: Prospect) -> dict[str, Any]:
    """The plan as a document."""
    return {
        "domain": made.domain.describe(),
        "cells": made.domain.cells,
        "guarantee": made.guarantee.describe(),
        "change": change(made.guarantee),
        "epsilon_for_cells": repr(made.epsilon),
        "size": made.size,
        "workload": made.workload,
        "methods": [_described(o) for o in made.found],
        "left_out": made.left_out,
        "chosen": made.chosen,
        "suggested": made.suggested,
        "why": why(made),
    }


def _described(o: Outlook) -> dict[str, Any]:
    flat = o.recipe.flat
    return {
        "method": o.recipe.method,
        "theta": o.recipe.theta or None,
        "tau": float(o.recipe.tau) or None,
        "noise_cells": o.noise,
        "half_from": o.half if flat else None,
        "error": {asked: _finite(o.error(asked)) for asked in _ASKED},
    }


def text(made: Prospect) -> str:
    """The plan for a person."""
    promised = result.promise(made.guarantee, "cell")
    if made.epsilon < made.guarantee.epsilon:
        promised += f"; {made.epsilon:g} of it for the cells"
    rows = [_described(o) for o in made.found]
    shown = [Column(["method", *(row["method"] for row in rows)], right=False)]
    values = [(r["theta"], r["noise_cells"], r["half_from"], *r["error"].values()) for r in rows]
    for n, name in enumerate(_COLUMNS):
        shown.append(Column([name, *(_number(row[n]) for row in values)], right=True))
    width = max(map(len, _COLUMNS))
    words = [line for name, said in _COLUMNS.items() for line in _wrapped(said, name, width)]
    parts = [str(made.domain), promised, "", side_by_side(shown), "", *words, *_wrapped(_NOTE)]
    if made.left_out:
        cannot = "cannot be used with this domain, epsilon and size"
        parts += ["", *_wrapped(f"not listed: {', '.join(made.left_out)}, which {cannot}")]
    return "\n".join([*parts, "", *_wrapped(f"chosen: --method {_typed(made)}, {why(made)}")])


def _typed(made: Prospect) -> str:
    return made.chosen.replace(" ", "-")


def why(made: Prospect) -> str:
    """Why this method is taken, and what speaks for another one."""
    if made.suggested is None:
        return "as you say; with a --size that suits other methods too they are compared"
    if made.chosen != made.suggested:
        other = f"for {_ASKED[made.workload]}, {made.suggested} is the one to take"
        return f"as you say; {other}{_many(made)}"
    reason = _REASONS[made.workload] if made.workload != "range" else _smallest(made)
    return f"because {reason}{_many(made)}"


_REASONS: dict[Workload, str] = {
    "point": "in methods without levels a cell has all of epsilon, and this one keeps to the size "
    "and drops most cells of nothing but noise",
    "subset": "any set of cells can be asked of methods without levels only, and this one keeps to "
    "the size and drops most cells of nothing but noise",
}


def _smallest(made: Prospect) -> str:
    """For ranges, the error next to that of the best method of the other kind."""
    mine = next(o for o in made.found if o.recipe.method == made.chosen)
    others = [o for o in made.found if o.recipe.flat != mine.recipe.flat]
    said = f"noise makes an error of {_number(mine.range)} in such a range"
    if not others:
        return said
    best = min(others, key=lambda o: o.range)
    lost = "" if mine.recipe.flat else ", which would lose small counts in its filter"
    return f"{said}, and of {_number(best.range)} with {best.recipe.method}{lost}"


def _many(made: Prospect) -> str:
    """In many dimensions a hierarchy is hardly ever worth it."""
    if len(made.domain) < 3 or made.suggested in SPLIT:
        return ""
    return (
        f"; in {counted(len(made.domain), 'dimension')} every combination of levels takes its "
        "share of epsilon, so flat summaries are better for nearly all ranges"
    )


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None


def _number(value: float | None) -> str:
    """A number that fits into a column; - where there is none."""
    if value is None:
        return "-"
    if abs(value) >= 10**9:
        return f"{value:.1e}"
    return f"{value:,.1f}" if value < 100 and value != int(value) else f"{value:,.0f}"


def _wrapped(said: str, name: str = "", width: int = 0) -> list[str]:
    start = f"{name:>{width}}: " if name else ""
    return textwrap.wrap(start + said, 80, subsequent_indent=" " * len(start))
