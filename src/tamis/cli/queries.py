"""Queries to devices, as `tamis collect status` shows them to people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tamis.collect.collector import Status


def text(found: Sequence[Status]) -> str:
    """Three lines for each query, in two columns that fit into a terminal."""
    from tamis.weighted.show import Column, printable, shorten, side_by_side

    left, right = list[str](), list[str]()
    for each in found:
        question = printable(each.question)
        left += [each.query, f"  {each.kind}, round {each.round} of {each.rounds}"]
        left += [f"  epsilon {each.epsilon:g}, delta {each.delta:g}", ""]
        right += [_state(each), question if len(found) == 1 else shorten(question)]
        right += [f"p {each.p:.4g}, tau {each.tau}", ""]
    return side_by_side([Column(left[:-1], right=False), Column(right[:-1], right=False)])


def _state(each: Status) -> str:
    if each.state == "open":
        return f"open until {each.closes}"
    if each.state == "not open yet":
        return f"not open yet: from {each.opens}"
    return "closed, not counted yet" if each.state == "closed" else each.state


def next_steps(found: Sequence[Status]) -> list[str]:
    """What can be done with the queries that are not at their end, a line each."""
    open_ones = [each for each in found if each.state in ("open", "not open yet")]
    steps = [
        f"{'to count' if each.state == 'closed' else 'to write it'}: "
        f"tamis collect release {each.query} -o FILE"
        for each in found
        if each.state == "closed" or (each.state == "released" and len(found) == 1)
    ]
    if open_ones:
        query = open_ones[0].query if len(open_ones) == 1 else "QUERY"
        steps.append(f"to make tokens: tamis collect tokens {query} COUNT")
        steps.append("to take reports: tamis collect serve")
    return steps
