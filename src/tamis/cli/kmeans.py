"""`tamis kmeans`: from a table of numbers to a file of private centres."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tamis.cli import files, inputs, result, streams
from tamis.cli import options as o
from tamis.cli.clusters_questions import CLUSTERS
from tamis.cli.failures import Missing
from tamis.privacy.errors import InvalidInput, counted

if TYPE_CHECKING:
    from tamis.releases.clusters.clusters import Clusters

EXAMPLES = """Examples:
  tamis kmeans points.parquet --columns x,y,z -k 3 --epsilon 1 --radius 10 \\
      -o centers.parquet
  tamis kmeans points.parquet --columns x,y -k 3 --epsilon 0.5 \\
      --bound x=-5,5 --bound y=0,10 --where "z >= 0" -o plane.parquet
  tamis kmeans points.parquet --columns x,y -k 3 --epsilon 1 --bounds -5,10 \\
      --sampler optimal --budget "points 2024" -o charged.parquet
  tamis query centers.parquet top 2
  tamis report centers.parquet"""

ENCLOSED, SEARCH = "Bounds (give one of these)", "Search"  # headings in the help
_TOLD = ("guarantee", "spent", "columns", "bounds", "radius", "sampler", "rate", "mixing", "init",
         "max_iter", "steps", "filtered", "ledger", "day")  # fmt: skip

_COLUMNS = "The columns of numbers that make a point: a,b,c; or repeat it."
_BOUNDS = "LOW,HIGH of all columns, known without the data: rows beyond are moved to them."
_BOUND = "COLUMN=LOW,HIGH of one column; repeat it for each."
_RADIUS = "The largest sum of absolute values of a row: rows beyond are shortened."
_SAMPLER = "Which rows are looked at: all, or fewer by importance sampling."
_RATE = "The share of rows that are sampled; of optimal, of the farthest ones."
_MIXING = "Of coreset: from near 0 (likelier far out) to 1 (uniform)."
_INIT = "Whether seeds are found privately, or put anywhere."
_STEPS = "How many steps; more have more noise each. auto takes 1 to 4."


def kmeans(
    *data: o.Data,
    columns: Annotated[list[str], Parameter(help=_COLUMNS)],
    n_clusters: Annotated[
        int,
        Parameter(name=("--n-clusters", "-k"), help="How many clusters.", converter=o.whole),
    ],
    epsilon: o.Epsilon,
    bounds: Annotated[
        str | None, Parameter(group=ENCLOSED, help=_BOUNDS, allow_leading_hyphen=True)
    ] = None,
    bound: Annotated[list[str] | None, Parameter(group=ENCLOSED, help=_BOUND)] = None,
    radius: Annotated[float | None, Parameter(group=ENCLOSED, help=_RADIUS)] = None,
    output: o.Output = None,
    format: o.Format = None,
    force: o.Force = False,
    show: o.Show = False,
    where: Annotated[str | None, Parameter(help="Use only rows with this condition.")] = None,
    table: o.Table = None,
    sampler: Annotated[
        Literal["full", "optimal", "coreset", "uniform"], Parameter(group=SEARCH, help=_SAMPLER)
    ] = "full",
    rate: Annotated[float | None, Parameter(group=SEARCH, help=_RATE)] = None,
    mixing: Annotated[float, Parameter(group=SEARCH, help=_MIXING)] = 0.5,
    init: Annotated[Literal["private", "random"], Parameter(group=SEARCH, help=_INIT)] = "private",
    max_iter: Annotated[
        int | Literal["auto"],
        Parameter(group=SEARCH, help=_STEPS, converter=o.whole_or_auto),
    ] = "auto",
    budget: o.Budget = None,
    ledger: o.Ledger = None,
    purpose: o.Purpose = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    engine: o.Engine = "duckdb",
    json: o.Json = False,
) -> None:
    """Find clusters in a table of numbers, and write a file that may be shared.

    It holds the centres, about how many rows each has, and what is guaranteed, for
    one row. Whatever can be refused is refused before a budget is charged and
    before anything is drawn.
    """
    files.check_kept(budget, output)
    target = files.target(output, format, force, data, other_output=json or show)
    names = [name for text in columns for name in _fields(text)]
    enclosed = _enclosed(bounds, bound, radius)
    _need_package()
    with inputs.files(data) as paths:
        import tamis

        made = tamis.kmeans(
            paths,
            columns=names,
            n_clusters=n_clusters,
            epsilon=epsilon,
            sampler=sampler,
            rate=rate,
            mixing=mixing,
            init=init,
            max_iter=max_iter,
            where=where,
            table=table,
            budget=budget,
            ledger=ledger,
            purpose=purpose,
            memory=memory,
            threads=threads,
            engine=engine,
            **enclosed,
        )
    result.save(made, target)
    g = made.guarantee
    promised = f"epsilon {g.epsilon:g}, delta 0 when one {g.unit} is added or removed"
    result.tell(made, target, f"{counted(len(made), 'cluster')}; {promised}")
    _show(made, target, show, json)


def _enclosed(
    bounds: str | None, single: Sequence[str] | None, radius: float | None
) -> dict[str, Any]:
    """What the options say of the range of the data."""
    if [bounds, single, radius].count(None) != 2:
        raise InvalidInput(
            "give one of --bounds LOW,HIGH, --bound COLUMN=LOW,HIGH for each column, or --radius. "
            "They must be known without looking at the data: taken from it, they would tell of its "
            "farthest row."
        )
    if single is None:
        return {"radius": radius} if bounds is None else {"bounds": _pair("--bounds", bounds)}
    pairs = [text.rpartition("=")[::2] for text in single]
    if len(dict(pairs)) < len(pairs):
        raise InvalidInput("--bound is given twice for the same column; give it once for each.")
    return {"bounds": {name: _pair("--bound", ends) for name, ends in pairs}}


def _pair(option: str, text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        example = "a=0,10" if option == "--bound" else "0,10"
        raise InvalidInput(f"{option} takes LOW,HIGH, as in {option} {example}.") from None
    return low, high


def _fields(text: str) -> list[str]:
    """Names between commas; one with a comma in it stands in double quotes."""
    return [name.strip() for name in next(csv.reader([text]), [])]


def _need_package() -> None:
    try:
        import tamis.importance.kmeans.estimator  # noqa: F401
    except ImportError as error:
        raise Missing(str(error)) from None


def _show(made: Clusters, target: files.Target | None, rows: bool, json: bool) -> None:
    if json:
        result.show(made, target, {"clusters": len(made)}, _TOLD, rows, json)
    elif rows or target is None:
        shown = CLUSTERS.shown(made.to_arrow())
        streams.put(streams.table_text(shown, streams.FIRST, CLUSTERS.numbers))
