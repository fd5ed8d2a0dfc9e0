"""`tamis plan`: what a release would do. It costs nothing and touches no data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tamis.cli import files, inputs, streams
from tamis.cli import options as o
from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from tamis.cli.shape import Shape
    from tamis.weighted.plan import Plan

EXAMPLES = """Examples:
  tamis plan --epsilon 1 --delta 1e-8 --keys-per-unit 4
  tamis plan --epsilon 1 --delta 1e-8 --shape zipf:1.1:100000:1000000 --suggest
  tamis plan --epsilon 1 --delta 1e-8 --histogram public.csv --frequency n \\
      -o plan.html"""

_SHAPE = "How often keys might occur: zipf:exponent:keys:elements, as zipf:1.1:100000:1000000."
_SUGGEST = "Compare bounds on the keys per unit, on the shape or histogram."


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
    if suggest and stated is None:
        raise InvalidInput("--suggest compares on a shape: add --shape or --histogram.")
    _show(made, stated, suggest, output, json)


def _show(made: Plan, shape: Shape | None, suggest: bool, output: str | None, json: bool) -> None:
    document = describe(made, shape, suggest)
    if output is not None:
        from tamis.cli.page import page

        files.write_file(output, page(made, document).encode())
    if json:
        streams.put_json(document)
    elif output is None:
        show(made, document)
    elif output != streams.STANDARD:
        streams.say(f"written: {output}")


def describe(made: Plan, shape: Shape | None = None, suggest: bool = False) -> dict[str, Any]:
    """The plan as a document."""
    from tamis.cli import compare

    return compare.describe(made, shape, suggest)


def show(made: Plan, document: dict[str, Any]) -> None:
    """The plan in a terminal, or as plain text where there is none."""
    streams.put(f"{made}\n")
    _show_chart(made)
    if "expected" in document:
        shape = document["shape"]
        streams.put(f"\nkeys to be named on average, of {shape['keys']:,} ({shape['name']}):")
        for name, many in document["expected"].items():
            streams.put(f"{many:>12,.1f}  {name}")
    if "suggestions" in document:
        streams.put("\n" + suggested(document["suggestions"]) + f"\n{document['caveat']}")


def suggested(rows: list[dict[str, Any]]) -> str:
    """Bounds on the keys per unit, and what each would name."""
    names = {"keys_per_unit": "keys per unit", "half": "half named from", "expected": "named"}
    columns = [
        streams.column_text(name, [row[field] for row in rows]) for field, name in names.items()
    ]
    return streams.side_by_side(columns)


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
