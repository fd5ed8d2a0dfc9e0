"""`tamis summarize`: a table too large to write down, as a file of the size that you choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tamis.cli import files, inputs, result, streams
from tamis.cli import options as o
from tamis.privacy.errors import counted

if TYPE_CHECKING:
    from tamis.releases.summary.summary import Summary

EXAMPLES = """Examples:
  tamis summarize trips.parquet --domain domain.toml --epsilon 0.1 \\
      --size 100000 -o summary.parquet
  tamis summarize --plan --domain domain.toml --epsilon 0.1 --size 100000
  tamis summarize --plan --domain domain.toml --epsilon 0.1 --size 100000 \\
      --workload range --json
  tamis summarize trips.parquet --domain domain.toml --unit person \\
      --keys-per-unit 2 --epsilon 1 --size 1000 --budget "trips 2024" \\
      -o charged.parquet"""

SUMMARY = "Summary"  # a heading in the help
_TOLD = ("guarantee", "spent", "domain", "method", "change", "size", "theta", "tau", "taus",
         "coverage", "counted", "filtered", "ledger", "day")  # fmt: skip

_DOMAIN = "A TOML file with the attributes, which are columns, and their values, which are public."
_SIZE = "How many cells are in the summary, about; with priority and filter-priority at most."
_METHOD = (
    "filter-priority, filter, one-sided-filter, threshold, priority or full; for ranges dyadic, "
    "consistent-dyadic or haar; for lists of cells sketch or median-sketch. By default the best "
    "for the workload."
)
_THETA = "Noisy counts below it are left out. By default it is chosen for the size."
_TAU = "The threshold of method threshold. By default it is chosen for the size."
_GROWTH = "For ranges: how many times the epsilon of a level the next finer one gets."
_TOTAL = "A share of epsilon for the number of elements, from which a threshold is chosen."
_SHARE = "In place of --size: a share of epsilon for the number of cells that hold something."
_KEYS = "In how many cells one unit may count; it is enforced."
_PLAN = "Show what each method would give, and which one is chosen: nothing is read or spent."


def summarize(
    *data: o.Data,
    domain: Annotated[str, Parameter(help=_DOMAIN)],
    epsilon: o.Epsilon,
    size: Annotated[int | None, Parameter(help=_SIZE, converter=o.whole)] = None,
    plan: Annotated[bool, Parameter(help=_PLAN)] = False,
    unit: o.Unit = None,
    keys_per_unit: Annotated[int | None, Parameter(help=_KEYS, converter=o.whole)] = None,
    elements_per_key: Annotated[
        int, Parameter(help="How often one unit may count in one cell.", converter=o.whole)
    ] = 1,
    neighbours: Annotated[
        Literal["add-or-remove", "replace"],
        Parameter(help="What is hidden of a unit: whether it is there, or which one it is."),
    ] = "add-or-remove",
    output: o.Output = None,
    format: o.Format = None,
    force: o.Force = False,
    show: o.Show = False,
    where: o.Where = None,
    count: o.Count = None,
    table: o.Table = None,
    method: Annotated[str | None, Parameter(group=SUMMARY, help=_METHOD)] = None,
    workload: Annotated[
        Literal["point", "subset", "range"],
        Parameter(group=SUMMARY, help="What will be asked: single cells, any sets, or ranges."),
    ] = "subset",
    theta: Annotated[int | None, Parameter(group=SUMMARY, help=_THETA, converter=o.whole)] = None,
    tau: Annotated[float | None, Parameter(group=SUMMARY, help=_TAU)] = None,
    level_growth: Annotated[float | None, Parameter(group=SUMMARY, help=_GROWTH)] = None,
    total_share: Annotated[float, Parameter(group=SUMMARY, help=_TOTAL)] = 0.0,
    size_share: Annotated[float, Parameter(group=SUMMARY, help=_SHARE)] = 0.0,
    coverage: Annotated[float, Parameter(help="How often intervals hold the true count.")] = 0.95,
    budget: o.Budget = None,
    ledger: o.Ledger = None,
    purpose: o.Purpose = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    engine: o.Engine = "duckdb",
    json: o.Json = False,
) -> None:
    """Summarise a table with more cells than can be written down.

    The file holds some of its cells, with noise and with weights, whose sum over
    any set of cells estimates the true sum. Cells of nothing but noise are among
    them. Whatever can be refused is refused before a budget is charged and before
    anything is drawn.
    """
    law: dict[str, Any] = {
        "domain": domain,
        "epsilon": epsilon,
        "size": size,
        "method": _named(method),
        "workload": workload,
        "theta": theta,
        "tau": tau,
        "level_growth": level_growth,
        "total_share": total_share,
        "size_share": size_share,
        "unit": unit,
        "keys_per_unit": keys_per_unit,
        "elements_per_key": elements_per_key,
        "neighbours": neighbours.replace("-", " "),
    }
    if plan:
        from tamis.cli.outlook import show_plan

        show_plan(law, coverage, json)
        return
    files.check_kept(budget, output)
    target = files.target(output, format, force, [*data, domain], other_output=json or show)
    with inputs.files(data) as paths:
        import tamis

        made = tamis.summarize(
            paths,
            where=where,
            count=count,
            table=table,
            coverage=coverage,
            budget=budget,
            ledger=ledger,
            purpose=purpose,
            memory=memory,
            threads=threads,
            engine=engine,
            **law,
        )
    result.save(made, target)
    recipe = made.about.recipe
    kept = counted(len(made), "cell" if recipe.flat else "bucket" if recipe.sketched else "node")
    promised = f"{kept} in the summary; {result.promise(made.guarantee, 'cell')}"
    result.tell(made, target, promised, free="--plan")
    _tell_noise(made)
    result.show(made, target, {"kept": len(made)}, _TOLD, show, json)


def _tell_noise(made: Summary) -> None:
    """Say so where most rows mean nothing."""
    alone = min(made.noise_alone(), len(made)) if made.about.recipe.flat else 0.0
    if made.about.recipe.method != "full" and alone > len(made) / 2:
        streams.say(
            f"about {alone:,.0f} of the {counted(len(made), 'cell')} are noise alone, or fewer: a "
            "smaller --size or a larger --theta leaves out more of them, but small counts too"
        )


def _named(method: str | None) -> str | None:
    """A method as the library calls it: what has a blank there may have a hyphen here."""
    from tamis.sparse.recipe import METHODS

    return {name.replace(" ", "-"): name for name in METHODS}.get(method or "", method)
