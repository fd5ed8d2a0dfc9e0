"""`tamis release`: from a table of events to a file that may be shared."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tamis.cli import files, inputs, result, streams
from tamis.cli import options as o
from tamis.cli.folder import TOLD, into_folder
from tamis.privacy.errors import InvalidInput, counted

EXAMPLES = """Examples:
  tamis release events.parquet --key query --unit user_id --keys-per-unit 4 \\
      --epsilon 1 --delta 1e-8 -o release.parquet
  tamis release 'logs/*.csv.gz' --key page --epsilon 1 --delta 1e-8 \\
      --where "status = '200'" --format csv > pages.csv
  tamis release sales.duckdb --table sales --key product --unit customer \\
      --keys-per-unit auto --epsilon 0.5 --delta 1e-7 \\
      --budget "sales 2024" -o products.parquet"""

BOUND_SHARE = 0.05  # of epsilon, for the choice of a bound

_KEYS = "To how many keys one unit may contribute; it is enforced. auto chooses it privately."
_SIZE = "At most about so many keys are sampled, in place of a scheme, at a share of epsilon."
_BOUND = f"The share of epsilon that choosing a bound (auto) costs; {BOUND_SHARE} by default."
_TOTAL = "A share of epsilon for the total, with which to estimate what is not named."


def release(
    *events: o.Data,
    key: o.Key,
    epsilon: o.Epsilon,
    delta: o.Delta,
    unit: o.Unit = None,
    keys_per_unit: Annotated[
        int | Literal["auto"] | None, Parameter(help=_KEYS, converter=o.whole_or_auto)
    ] = None,
    bound_share: Annotated[float | None, Parameter(help=_BOUND)] = None,
    elements_per_key: o.ElementsPerKey = 1,
    output: o.FileOrFolder = None,
    format: o.Format = None,
    force: o.Force = False,
    show: o.Show = False,
    where: o.Where = None,
    count: o.Count = None,
    table: o.Table = None,
    nulls: Annotated[
        Literal["drop", "keep"], Parameter(help="Whether rows without a key count, as NULL.")
    ] = "drop",
    scheme: o.Scheme = "everything",
    tau: o.Tau = None,
    power: o.Power = 1.0,
    sample_size: Annotated[
        int | None, Parameter(group=o.SAMPLE, help=_SIZE, converter=o.whole)
    ] = None,
    total_share: Annotated[float, Parameter(help=_TOTAL)] = 0.0,
    tokens: o.Tokens = "whole",
    coverage: o.Coverage = 0.95,
    budget: o.Budget = None,
    ledger: o.Ledger = None,
    purpose: o.Purpose = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    engine: o.Engine = "duckdb",
    dry_run: Annotated[bool, Parameter(help="Show the plan only: nothing is read.")] = False,
    json: o.Json = False,
) -> None:
    """Turn a table of events into a file that may be shared.

    It holds which keys occur, about how often (with intervals), and what is
    guaranteed. Whatever can be refused is refused before a budget is charged and
    before anything is drawn.
    """
    law: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "elements_per_key": elements_per_key,
        "scheme": inputs.scheme(scheme, tau, power),
        "tokens": tokens,
        "coverage": coverage,
    }
    bound = _bound_share(bound_share, keys_per_unit)
    if dry_run:
        law["epsilon"] = _left(epsilon, total_share, bound)
        _show_plan(law, unit, keys_per_unit, sample_size, json)
        return
    files.check_kept(budget, output)
    asked: dict[str, Any] = {
        "key": key,
        "unit": unit,
        "keys_per_unit": keys_per_unit,
        "where": where,
        "count": count,
        "table": table,
        "nulls": nulls,
        "sample_size": sample_size,
        "budget": budget,
        "ledger": ledger,
        "purpose": purpose,
        "memory": memory,
        "threads": threads,
        "engine": engine,
        "total_share": total_share,
        "bound_share": bound,
        **law,
    }
    if output is not None and output.endswith(("/", "\\")):
        into_folder(list(events), output, asked, format, force, show, json)
        return
    target = files.target(output, format, force, events, other_output=json or show)
    with inputs.files(events) as paths:
        import tamis

        made = tamis.release(paths, **asked)
    result.save(made, target)
    named = f"{counted(len(made), 'key')} named"
    result.tell(made, target, f"{named}; {result.promise(made.guarantee)}", free="--dry-run")
    result.show(made, target, {"keys": len(made)}, TOLD, show, json)


def _bound_share(share: float | None, bound: int | str | None) -> float:
    """What choosing a bound costs: nothing if it is given."""
    if bound != "auto":
        if share is not None:
            raise InvalidInput("--bound-share is for a bound that is chosen: --keys-per-unit auto.")
        return 0.0
    return BOUND_SHARE if share is None else share


def _left(epsilon: float, total: float, bound: float) -> float:
    """What the shares leave of epsilon for the keys."""
    from tamis.privacy.guarantee import check_epsilon
    from tamis.releases.budgeting import split

    return split(check_epsilon(epsilon), total, bound).keys


def _show_plan(
    law: dict[str, Any], unit: str | None, bound: int | str | None, size: int | None, json: bool
) -> None:
    import tamis
    from tamis.cli.plan import describe, table_text

    if bound == "auto":
        streams.say("the plan is for the largest bound that auto may choose; others name more.")
    if size is not None:
        streams.say("the plan is for all keys; a sample costs a share of epsilon and names fewer.")
    keys = bound if isinstance(bound, int) else 1 if bound is None else 128
    made = tamis.plan(**law, keys_per_unit=keys, unit=unit or "element")
    if json:
        streams.put_json(describe(made))
    else:
        streams.put(table_text(made))
