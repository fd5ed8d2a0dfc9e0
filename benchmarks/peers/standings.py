"""How ours stands in each figure, by data set and bound: in a sentence, and in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.page import table
from benchmarks.peers.results import Result
from benchmarks.peers.verdicts import COLUMNS, VERDICTS, Standing, first, standing
from tamis.privacy.errors import counted

NOBODY = "There was no other library to compare with."


@dataclass(frozen=True)
class Ours:
    """The names of our rows: the default call, and all of them."""

    default: str
    every: tuple[str, ...]


def cases_of(results: Sequence[Result]) -> list[list[Result]]:
    """Results of the same data and bound."""
    keys = dict.fromkeys((r.asked.data, r.asked.bound) for r in results)
    return [[r for r in results if (r.asked.data, r.asked.bound) == key] for key in keys]


def standings(
    column: str, cases: Sequence[Sequence[Result]], rows: Sequence[str], ours: Ours
) -> list[Standing]:
    """The best of these rows in each case where another library has a figure."""
    found = list[Standing]()
    for case in cases:
        mine = first([r for r in case if r.asked.method in rows], column)
        others = [r for r in case if r.asked.counts and COLUMNS[column](r)]
        others = [r for r in others if r.asked.method not in ours.every]
        if mine and others:
            found.append(standing(column, mine, others))
    return found


def short(results: Sequence[Result], ours: Sequence[str]) -> str:
    """Each column in a few words: of the better of our rows, and of the default call alone."""
    rows, cases = Ours(ours[0], tuple(ours)), cases_of(results)
    told = list[str]()
    for column in COLUMNS:
        better, default = (
            standings(column, cases, which, rows) for which in (rows.every, (rows.default,))
        )
        if better:
            alone, both = (_behind(some) for some in (default, better))
            more = f" (the default call alone: behind in {alone})" if alone != both else ""
            told.append(f"*{column}* {counts_of(better)}{more}")
    if not told:
        return NOBODY
    return (
        "at the same guarantee, the better of two calls of tamis beside the best of the other "
        f"libraries that count, by data set and bound: {'; '.join(told)}. Behind whom, and why, "
        "is said there."
    )


def matrix(results: Sequence[Result], ours: Sequence[str]) -> str:
    """Of each figure and bound, in how many data sets ours is first, level or behind."""
    rows, cases = Ours(ours[0], tuple(ours)), cases_of(results)
    bounds = list(dict.fromkeys(case[0].asked.bound for case in cases))
    heads = ("figure", "which of ours", *(counted(bound, "key") for bound in bounds))
    lines = list[Sequence[str]]()
    for column in COLUMNS:
        for name, which in (("default call", (rows.default,)), ("better of two", rows.every)):
            of_bounds = [[c for c in cases if c[0].asked.bound == bound] for bound in bounds]
            found = [standings(column, some, which, rows) for some in of_bounds]
            lines.append((column, name, *map(_cell, found)))
    return table(heads, lines)


def _cell(these: Sequence[Standing]) -> str:
    """One word, if it is the same for all data sets."""
    each = {one.verdict for one in these}
    return f"{each.pop()}" if len(each) == 1 else _each(these)


def _each(these: Sequence[Standing]) -> str:
    many = [(verdict, sum(one.verdict == verdict for one in these)) for verdict in VERDICTS]
    return ", ".join(f"{verdict} in {some}" for verdict, some in many if some)


def _behind(these: Sequence[Standing]) -> int:
    return sum(one.verdict == "behind" for one in these)


def counts_of(these: Sequence[Standing]) -> str:
    """How often each verdict is given."""
    return f"{_each(these)} of {len(these)}"
