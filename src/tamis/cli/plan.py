"""`tamis plan`: what a release would do. It costs nothing and touches no data."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tamis.cli import files, inputs, streams
from tamis.cli import options as o
from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from tamis.cli.shape import Shape
    from tamis.cli.units import Units
    from tamis.weighted.plan import Plan

EXAMPLES = """Examples:
  tamis plan --epsilon 1 --delta 1e-8 --keys-per-unit 4
  tamis plan --epsilon 1 --delta 1e-8 --units-have 12 --suggest
  tamis plan --epsilon 1 --delta 1e-8 --shape zipf:1.1:100000:1000000 \\
      --units-have 1:500,4:300,30:200 --suggest
  tamis plan --epsilon 1 --delta 1e-8 --histogram public.csv --frequency n \\
      -o plan.html"""

_SHAPE = "How often keys might occur: zipf:exponent:keys:elements, as zipf:1.1:100000:1000000."
_HAVE = (
    "How many keys units have: a number (12); numbers, and how many units have so many "
    "(1:500,4:300); zipf:exponent:most (zipf:1.5:1000); or a public file with columns keys and "
    "units. Those beyond --keys-per-unit are dropped at random, which leaves keys a share of "
    "their frequency."
)
_SUGGEST = "Compare bounds on the keys per unit and suggest one; it needs --units-have."


def plan(
    *,
    epsilon: o.Epsilon,
    delta: o.Delta,
    keys_per_unit: o.KeysPerUnit = 1,
    elements_per_key: o.ElementsPerKey = 1,
    unit: Annotated[str, Parameter(help="What a unit is called; it is only repeated.")] = "element",
    shape: Annotated[str | None, Parameter(help=_SHAPE)] = None,
    histogram: Annotated[str | None, Parameter(help="A public histogram: a file.")] = None,
    frequency: Annotated[str | None, Parameter(help="Its column with frequencies.")] = None,
    table: o.Table = None,
    units_have: Annotated[str | None, Parameter(help=_HAVE)] = None,
    suggest: Annotated[bool, Parameter(help=_SUGGEST)] = False,
    scheme: o.Scheme = "everything",
    tau: o.Tau = None,
    power: o.Power = 1.0,
    tokens: o.Tokens = "whole",
    coverage: o.Coverage = 0.95,
    output: Annotated[
        str | None, Parameter(name=("--output", "-o"), help="Write it as a page of HTML.")
    ] = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Show what a release would do, before anything is spent.

    How likely a key is named at each frequency, how wide its interval is, and how
    many keys to expect for a stated shape or a public histogram, next to two
    classical ways. No data is read.
    """
    if output == streams.STANDARD and json:
        raise InvalidInput("standard output cannot take two things: name a file with -o.")
    files.check_output(output, force, [histogram] if histogram else [])
    from tamis.cli.shape import shape_of
    from tamis.cli.units import units_of
    from tamis.weighted.plan import plan as make_plan

    law = inputs.scheme(scheme, tau, power)
    made = make_plan(
        epsilon,
        delta,
        keys_per_unit,
        elements_per_key,
        unit=unit,
        scheme=law,
        tokens=tokens,
        coverage=coverage,
    )
    stated = shape_of(shape, histogram, frequency, table)
    units = None if units_have is None else units_of(units_have)
    if suggest and units is None:
        raise InvalidInput(
            "no bound can be suggested before it is known how many keys units have, because a "
            "small one drops what units with more keys contribute: state it with --units-have, "
            "such as --units-have 12."
        )
    _show(made, describe(made, stated, units, suggest), output, json)


def _show(made: Plan, document: dict[str, Any], output: str | None, json: bool) -> None:
    if output is not None:
        from tamis.cli.page import page

        files.write_file(output, page(made, document).encode())
    if json:
        streams.put_json(document)
    elif output is None:
        show(made, document)
    elif output != streams.STANDARD:
        streams.say(f"written: {output}")


def describe(
    made: Plan, shape: Shape | None = None, units: Units | None = None, suggest: bool = False
) -> dict[str, Any]:
    """The plan as a document."""
    from tamis.cli import compare

    return compare.describe(made, shape, units, suggest)


def show(made: Plan, document: dict[str, Any]) -> None:
    """The plan in a terminal, or as plain text where there is none."""
    streams.put(table_text(made) + "\n")
    _show_chart(made)
    if "expected" in document:
        streams.put(f"\n{expected(document)}:")
        for name, many in document["expected"].items():
            streams.put(f"{many:>12,.1f}  {name}")
    elif "units" in document:
        streams.put(f"\n{kept(document['units'])}")
    if "suggestions" in document:
        streams.put(f"\n{suggested(document)}")


def table_text(made: Plan) -> str:
    """The table of a plan, and what its columns mean."""
    if made.half is None:
        return str(made)
    words = [f"{name:>13}: {meaning}" for name, meaning in columns(made).items()]
    return "\n".join([str(made), "", *words])


def columns(made: Plan) -> dict[str, str]:
    """What the columns of a plan's table mean."""
    return {
        "named": "how likely a key of this frequency is named",
        "mean +- error": "of its estimate, which counts as 0 where it is not named",
        "interval": f"a typical one if it is named; {percent(made.coverage)} of all named keys "
        f"have their\n{'':15}true frequency in their interval",
    }


def percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def expected(document: dict[str, Any]) -> str:
    """What the expected numbers of keys are of."""
    shape = document["shape"]
    given = f"keys to be named on average, of {shape['keys']:,} ({shape['name']})"
    return f"{given}; {kept(document['units'])}" if "units" in document else given


def kept(units: dict[str, Any]) -> str:
    """What the bound of the plan leaves."""
    return f"if units have {units['have']}, {percent(units['kept'])} of the data is kept"


def suggested(document: dict[str, Any]) -> str:
    """Bounds on the keys per unit, what each would keep and name, and which one is best."""
    from tamis.weighted.show import column, side_by_side

    shown = [column(name, values) for name, values in suggestions(document).items()]
    best = document["suggested"]
    choice = "none, because no frequency is named half of the time"
    choice = choice if best is None else f"--keys-per-unit {best}"
    lines = [f"if units have {document['units']['have']}:", side_by_side(shown), ""]
    return "\n".join([*lines, f"suggested: {choice}", *textwrap.wrap(document["model"], 80)])


def suggestions(document: dict[str, Any]) -> dict[str, list[Any]]:
    """The columns of the table of bounds."""
    rows = document["suggestions"]
    before = [None if row["before"] is None else math.ceil(row["before"]) for row in rows]
    found = {
        "keys per unit": [row["keys_per_unit"] for row in rows],
        "% kept": [100 * row["kept"] for row in rows],
        "half named from": [row["half"] for row in rows],
        "before bounding": before,
    }
    if "expected" in rows[0]:
        found["named on average"] = [row["expected"] for row in rows]
    return {name: ["never" if v is None else v for v in values] for name, values in found.items()}


def _show_chart(made: Plan) -> None:
    from rich.console import Console
    from rich.text import Text

    from tamis.cli import chart, compare

    console, found = Console(highlight=False, width=200), compare.ways(made)
    with console.capture() as capture:
        pictures = chart.chart(found, blocks=console.is_terminal)
        for (title, lines), colour in zip(pictures, _COLOURS, strict=False):
            console.print(Text(title))
            console.print(Text("\n".join(lines), style=colour))
        console.print(Text(chart.axis(found)))
        if len(found) == 1:
            console.print(Text("(the classical ways are for all keys, and one element in each)"))
    streams.put(capture.get().rstrip("\n"))


_COLOURS = ("green", "yellow", "blue")
