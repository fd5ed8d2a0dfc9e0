"""`tamis budget`: what may be revealed in all, and what has been."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tamis.cli import options as o
from tamis.cli import streams

if TYPE_CHECKING:
    from tamis.privacy.ledger import Budget, Entry

EXAMPLES = """Examples:
  tamis budget create "visits 2024" --epsilon 2 --delta 1e-6 --unit user_id
  tamis budget list
  tamis budget show "visits 2024"
  tamis budget history "visits 2024" --json"""
CREATE_EXAMPLES = """Examples:
  tamis budget create "visits 2024" --epsilon 2 --delta 1e-6 --unit user_id
  tamis budget create team --epsilon 1 --delta 1e-7 --unit customer \\
      --ledger ledger.sqlite"""
LIST_EXAMPLES = """Examples:
  tamis budget list
  tamis budget list --ledger ledger.sqlite --json"""
SHOW_EXAMPLES = """Examples:
  tamis budget show "visits 2024"
  tamis budget show "visits 2024" --json"""
HISTORY_EXAMPLES = """Examples:
  tamis budget history "visits 2024"
  tamis budget history "visits 2024" --ledger ledger.sqlite --json"""

Name = Annotated[str, Parameter(help="The name of the budget.")]
_UNIT = "Whom it protects: the name of the unit column of its releases."


def create(
    name: Name,
    /,
    *,
    epsilon: o.Epsilon,
    delta: o.Delta,
    unit: Annotated[str, Parameter(help=_UNIT)] = "element",
    ledger: o.Ledger = None,
    json: o.Json = False,
) -> None:
    """Create a budget. It cannot be changed afterwards."""
    from tamis.privacy.ledger import open_ledger

    with open_ledger(ledger) as opened:
        made = opened.create(name, epsilon, delta, unit)
    if json:
        streams.put_json(_describe(made))
    else:
        streams.say(f"created: budget {name!r} for each {unit}")


def list_all(*, ledger: o.Ledger = None, json: o.Json = False) -> None:
    """List all budgets, with what was spent."""
    from tamis.privacy.ledger import open_ledger

    with open_ledger(ledger) as opened:
        budgets = opened.budgets()
    if json:
        streams.put_json([_describe(b) for b in budgets])
    elif budgets:
        fields = ("name", "unit", "epsilon", "delta", "releases", "spent epsilon")
        streams.put(_table([_told(b) for b in budgets], fields))
    else:
        streams.say("there is no budget yet; make one with: tamis budget create")


def show(name: Name, /, *, ledger: o.Ledger = None, json: o.Json = False) -> None:
    """Show a budget: what was spent, and what is left."""
    from tamis.privacy.ledger import open_ledger

    with open_ledger(ledger) as opened:
        found = opened.show(name)
    if json:
        streams.put_json(_describe(found))
        return
    said = _told(found)
    width = max(map(len, said))
    streams.put("\n".join(f"{field:<{width}}  {value}" for field, value in said.items()))


def history(name: Name, /, *, ledger: o.Ledger = None, json: o.Json = False) -> None:
    """List what was charged to a budget, oldest first."""
    from tamis.privacy.ledger import open_ledger

    with open_ledger(ledger) as opened:
        entries = opened.history(name)
    if json:
        streams.put_json([_entry(e) for e in entries])
    elif entries:
        fields = ("entry", "day", "epsilon", "delta", "keys per unit", "unit", "purpose")
        streams.put(_table([_charged(e) for e in entries], fields))
    else:
        streams.say(f"nothing was charged to budget {name!r} yet")


def _describe(budget: Budget) -> dict[str, Any]:
    next_one = budget.remaining
    return {
        "name": budget.name,
        "unit": budget.unit,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "created": budget.created.isoformat(),
        "releases": budget.entries,
        "spent_epsilon": budget.spent_epsilon,
        "remaining_epsilon": next_one.epsilon,
        "remaining_epsilon_with_delta": next_one.delta,
        "remaining_delta": budget.remaining_delta,
    }


def _told(budget: Budget) -> dict[str, Any]:
    """The same for people: what is spent is rounded up, and what is left is rounded down."""
    from tamis.privacy.ledger.budget import at_least, at_most

    left = budget.remaining
    once = f"for one more release, with delta {at_most(left.delta)}"
    if left.epsilon == 0:
        some = budget.remaining_delta > 0
        once = "or less than a millionth of the budget" if some else "no delta is left"
    return {
        "name": budget.name,
        "unit": budget.unit,
        "epsilon": _amount(budget.epsilon),
        "delta": _amount(budget.delta),
        "created": budget.created.isoformat(),
        "releases": budget.entries,
        "spent epsilon": at_least(budget.spent_epsilon),
        "remaining epsilon": f"{at_most(left.epsilon)} ({once})",
        "remaining delta": at_most(budget.remaining_delta),
    }


def _amount(number: float) -> str:
    """A number as it was given, without a zero after the point."""
    return repr(number).removesuffix(".0")


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "entry": entry.number,
        "day": entry.day.isoformat(),
        "epsilon": entry.epsilon,
        "delta": entry.delta,
        "keys_per_unit": entry.keys_per_unit,
        "elements_per_key": entry.elements_per_key,
        "unit": entry.unit,
        "purpose": entry.purpose,
        "digest": entry.digest,
        "ledger": entry.ledger,
    }


def _charged(entry: Entry) -> dict[str, Any]:
    """The same for people."""
    said = {field.replace("_", " "): value for field, value in _entry(entry).items()}
    return {**said, "epsilon": _amount(entry.epsilon), "delta": _amount(entry.delta)}


def _table(rows: list[dict[str, Any]], fields: Sequence[str]) -> str:
    from tamis.weighted.show import column, side_by_side

    return side_by_side([column(field, [row[field] for row in rows]) for field in fields])
