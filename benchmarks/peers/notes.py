"""How ours stands beside the others, and where it is behind and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from benchmarks.peers.reasons import reason, trade
from benchmarks.peers.results import Result
from benchmarks.peers.standings import NOBODY, Ours, cases_of, counts_of, standings
from benchmarks.peers.verdicts import (
    AWAY,
    COLUMNS,
    DRAWN,
    ENOUGH,
    ERRORS,
    MEMORY,
    NEAR,
    NEAR_KEYS,
    NOISE,
    PART,
    SECONDS,
    SURE,
    VERDICTS,
    Standing,
    first,
    misfits,
    verdict,
)
from tamis.privacy.errors import counted

_UNSURE = VERDICTS[-1]


def notes(results: Sequence[Result], ours: Sequence[str]) -> str:
    """A line for each column: the default call, and the better of our rows, beside the others."""
    rows = Ours(ours[0], tuple(ours))
    cases = cases_of(results)
    wrong = [line for result in results for line in _misfits(result)]
    if not any(standings(column, cases, rows.every, rows) for column in COLUMNS):
        return "\n".join([NOBODY, *(["", *wrong] if wrong else [])])
    lines = [line for column in COLUMNS for line in _lines(column, cases, rows)]
    bought = [trade(case, rows.default, rows.every[-1]) for case in cases]
    return "\n".join([_head(results), "", *lines, *wrong, *_bought([one for one in bought if one])])


_HEAD = (
    "How ours stands beside the best of the libraries that count: once with the default call alone "
    "(`tamis`), and once with the better of our two rows, which is another one from column to "
    "column. Of keys and errors the laws decide, where those of both are known: noise and "
    "threshold, and the true frequencies, give what is expected, without chance "
    "(`benchmarks/peers/expected.py`); figures in this list are these, and the tables after it "
    "are what the runs gave, with chance in them. Level is then a difference of less "
    f"than {NEAR:.1%}, or {NEAR_KEYS:g} keys. The runs check the laws: where keys, or errors of "
    f"named keys, are more than {AWAY} standard errors and {PART:.0%} from what a law expects, it "
    "is said below that it does not fit, and runs decide. So they do where a law is not known. By "
    f"runs, level is a difference within {ERRORS} standard errors, or within {NOISE:.0%} for times "
    "and memory. Too few runs to tell: it is, but the other library's standard error is more than "
    f"{SURE:.0%} of its figure; or, whatever the difference, fewer than {ENOUGH} keys were named "
    "in all of the runs of one without a law. Behind, and too few, is said of every case"
)


def _head(results: Sequence[Result]) -> str:
    """With those that have no law."""
    lacking = dict.fromkeys(r.asked.method for r in results if r.asked.counts and not r.expected)
    return f"{_HEAD}." + (f" Left to runs: {'; '.join(lacking)}." if lacking else "")


def _lines(column: str, cases: Sequence[Sequence[Result]], ours: Ours) -> Iterator[str]:
    default = standings(column, cases, (ours.default,), ours)
    better = standings(column, cases, ours.every, ours)
    yield (
        f"- **{column}**: {counts_of(default)}; with the better row {counts_of(better)}."
        + _names_only(column, cases, ours)
        if better
        else f"- **{column}**: {NOBODY}"
    )
    worse = [one for one in better if one.verdict == "behind"]
    places = {_place(one) for one in worse}
    more = [one for one in default if one.verdict == "behind" and _place(one) not in places]
    yield from _told("behind even with the better row", worse, reason)
    yield from _told("behind with the default call alone", more, reason)
    unsure = [one for one in better if one.verdict == _UNSURE]
    places = {_place(one) for one in unsure}
    more = [one for one in default if one.verdict == _UNSURE and _place(one) not in places]
    yield from _told(f"{_UNSURE} even with the better row", unsure, _few)
    yield from _told(f"{_UNSURE} with the default call alone", more, _few)


def _place(one: Standing) -> tuple[str, int]:
    return one.ours.asked.data, one.ours.asked.bound


def _told(
    head: str, standings: Sequence[Standing], reason_of: Callable[[Standing], str]
) -> Iterator[str]:
    """A line for each reason, with all cases that it is the reason of."""
    reasons = dict.fromkeys(map(reason_of, standings))
    for why in reasons:
        these = [one for one in standings if reason_of(one) == why]
        yield f"    - {head}: {_cells(these)}. {why}"


def _few(one: Standing) -> str:
    """Why the laws do not decide, and how little there is to decide by."""
    unknown = one.ours if one.other.expected and not misfits(one.other) else one.other
    whose = "The law of ours" if unknown is one.ours else "Its law"
    why = "does not fit" if unknown.expected else "was not computed"
    runs, keys = counted(unknown.runs, "run"), counted(round(unknown.total), "key")
    return f"{whose} {why}, and {runs} named {keys}."


def _misfits(result: Result) -> Iterator[str]:
    """A line for each column in which a law is not that of the runs."""
    asked, law = result.asked, result.expected
    for column in misfits(result):
        ran, expected = DRAWN[column](result), law and DRAWN[column](law)
        if ran and expected:
            yield (
                f"- **does not fit**: {asked.method} on {asked.data} with "
                f"{counted(asked.bound, 'key')}, {column}: {abs(ran.value):,.4g} in "
                f"{counted(result.runs, 'run')}, and {abs(expected.value):,.4g} ± "
                f"{expected.spread:.2g} by its law. So the runs decide."
            )


def _cells(standings: Sequence[Standing]) -> str:
    """Theirs and ours, by library and data set."""
    groups: dict[tuple[str, str], list[Standing]] = {}
    for one in standings:
        groups.setdefault((one.other.asked.method, one.ours.asked.data), []).append(one)
    return "; ".join(
        f"{method} on {data} with {', '.join(map(_cell, many))}"
        for (method, data), many in groups.items()
    )


def _cell(one: Standing) -> str:
    theirs, ours = one.figures
    return f"{counted(one.ours.asked.bound, 'key')} ({theirs:.4g}, ours {ours:.4g})"


def _names_only(column: str, cases: Sequence[Sequence[Result]], ours: Ours) -> str:
    before = 0
    for case in cases:
        mine = first([r for r in case if r.asked.method in ours.every], column)
        bare = first([r for r in case if not r.asked.counts], column)
        before += bool(mine and bare and verdict(column, mine, bare) == "behind")
    if not before:
        return ""
    return f" In {before} of {len(cases)}, one that says names only is before ours: {_bare(column)}"


def _bare(column: str) -> str:
    """Why."""
    if column in (SECONDS, MEMORY):
        return "it is given counts, and enforces no bound."
    return "it spends nothing on counts, or its Gaussian threshold is told all of delta."


def _bought(trades: Sequence[tuple[int, str]]) -> list[str]:
    if not trades:
        return []
    least, most = (pick(keys for keys, _ in trades) for pick in (min, max))
    where = f"with {least}" if least == most else f"from {least} to {most}"
    head = f"The default call buys names with error, beside fine tokens, {where} keys per unit: "
    return ["", head + "; ".join(told for _, told in trades) + "."]
