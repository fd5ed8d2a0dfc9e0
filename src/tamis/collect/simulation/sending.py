"""What became of a simulated round, and what must be counted of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tamis.collect.simulation.fleet import Letter
from tamis.federated.device import Specification

NEW, AGAIN = 201, 200
REFUSED = {401: "forged", 409: "second", 410: "late"}


@dataclass(frozen=True)
class Sending:
    """A round, as those see it who know what every device holds.

    ``expected`` follows from what was accepted, by the coins and tau; ``held`` is what all of these
    devices would say, kept or not.
    """

    asked: Specification
    seconds: float  # for all letters that were sent in the window
    letters: int  # how many these were
    taken: frozenset[bytes]  # ids of the reports that were accepted
    again: int  # answers that a report was there before
    dropped: int  # connections that were ended on purpose
    refused: dict[str, int]
    wrong: int  # answers that should have been others
    expected: dict[str, int]
    held: dict[str, int]


@dataclass(frozen=True)
class Answered:
    """A letter, and the status of its answer."""

    letter: Letter
    status: int

    @property
    def accepted(self) -> bool:
        return self.status in (NEW, AGAIN)


def settled(
    asked: Specification,
    seconds: float,
    timely: Sequence[Answered],
    late: Sequence[Answered],
    over: bool,
) -> Sending:
    """``over`` says that the window ended while devices were still reporting."""
    taken = {each.letter.report: each.letter for each in timely if each.accepted}
    statuses = Counter(each.status for each in (*timely, *late))
    counting = Counter(letter.said for letter in taken.values() if letter.kept)
    said = Counter(letter.said for letter in taken.values())
    return Sending(
        asked=asked,
        seconds=seconds,
        letters=len(timely),
        taken=frozenset(taken),
        again=statuses[AGAIN],
        dropped=sum(each.letter.dropped is not None for each in timely),
        refused={kind: statuses[status] for status, kind in REFUSED.items()},
        wrong=_wrong(timely, late, over),
        expected={word: n for word, n in counting.items() if word is not None and n >= asked.tau},
        held={word: n for word, n in said.items() if word is not None},
    )


def _wrong(timely: Sequence[Answered], late: Sequence[Answered], over: bool) -> int:
    """How many answers cannot be, if every token counts once and nothing accepted is forgotten."""
    issued = [each for each in timely if each.letter.kind != "forged"]
    ids: dict[str, set[bytes]] = {each.letter.token: set() for each in issued}
    for each in issued:
        if each.accepted:
            ids[each.letter.token].add(each.letter.report)
    new = Counter(each.letter.report for each in timely if each.status == NEW)
    return (
        sum(each.status not in _allowed(each, ids, over) for each in timely)
        + sum(each.status != 410 for each in late)
        + sum(len(one) > 1 or not (one or over) for one in ids.values())
        + sum(many > 1 for many in new.values())
    )


def _allowed(each: Answered, ids: dict[str, set[bytes]], over: bool) -> set[int]:
    if each.letter.kind == "forged":
        return {401}
    others = ids[each.letter.token] - {each.letter.report}
    usual = {409} if others else {NEW, AGAIN}
    return usual | {410} if over else usual
