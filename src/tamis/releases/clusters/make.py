"""From a table of numbers to a release of clusters, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tamis.engines.choice import made_for
from tamis.importance.kmeans.grid import Grid
from tamis.privacy.errors import InvalidInput, meant, shown
from tamis.privacy.guarantee import Guarantee, as_float, check_bound
from tamis.privacy.ledger.charge import Charge
from tamis.releases.checks import check_running, check_texts
from tamis.releases.clusters.about import UNIT, AboutClusters, Bounds, check_columns
from tamis.releases.clusters.clusters import Clusters, table_of
from tamis.releases.progress import Report, bar

if TYPE_CHECKING:
    from tamis.importance.kmeans.estimator import PrivateKMeans

_READ = 50.0  # per cent of the work, about


def kmeans(
    data: Any,
    *,
    columns: str | Sequence[str],
    n_clusters: int,
    epsilon: float,
    bounds: Any = None,
    radius: float | None = None,
    sampler: Literal["full", "optimal", "coreset", "uniform"] = "full",
    rate: float | None = None,
    mixing: float = 0.5,
    init: Literal["private", "random"] = "private",
    max_iter: int | Literal["auto"] = "auto",
    where: str | None = None,
    table: str | None = None,
    budget: str | None = None,
    ledger: str | Path | None = None,
    purpose: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    engine: Literal["duckdb", "spark"] | None = None,
) -> Clusters:
    """Release where the clusters of a table of numbers are, and about how many rows each has.

    Parameters
    ----------
    data, table
        a path or glob (Parquet, CSV, JSON lines, also compressed), a DuckDB database (with
        ``table``, a name or a query), a DuckDB relation, a table of Arrow, pandas or polars, or a
        DataFrame of Spark. Only the columns that are named are read, into memory; on Spark rows
        stay on the executors, and a sample of them comes back: that needs a ``sampler``.
    columns
        the columns of numbers that make a point.
    n_clusters
        how many centres.
    epsilon
        what is promised for one row, and spent; delta is 0.
    bounds, radius
        one of the two, known without looking at the data. Bounds are a pair (low, high) of numbers,
        or of one number for each column, or a pair for each column by its name, such as
        ``{"age": (0, 120)}``: rows beyond are moved to them. A radius is the largest sum of
        absolute values of a row: rows beyond are shortened.
    sampler, rate, mixing, init, max_iter
        as in `tamis.PrivateKMeans`.
    where
        a condition in SQL on single rows.
    budget, ledger, purpose
        the budget to be charged, in which ledger (a file or a PostgreSQL URL; see the page on the
        ledger), and a few words for its history. It is charged before anything is drawn.
    memory, threads, progress
        limits for reading, such as ``"4GB"`` and 2. A progress bar is shown at a terminal (or if
        ``progress`` is True).
    engine
        "duckdb" or "spark"; without it, the one that suits the data.

    Notes
    -----
    Guarantee: epsilon-differential privacy (pure) when one row is added or removed, whatever it
    holds. A person with several rows is protected less: with m of them, m times epsilon.
    What is missing, NaN or infinite is refused before anything is charged.

    >>> import tamis, pyarrow as pa
    >>> rows = pa.table({"x": [1.0] * 4000 + [9.0] * 6000})
    >>> found = tamis.kmeans(rows, columns="x", n_clusters=2, epsilon=1.0, bounds=(0, 10))
    >>> found.centers.round().ravel().tolist()
    [9.0, 1.0]
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    check_columns(names)
    check_texts(where=where, table=table, budget=budget, memory=memory)
    check_running(threads, progress, engine)
    ends, size = _enclosed(names, bounds, radius)
    clusters = check_bound("n_clusters", n_clusters)
    guarantee = Guarantee(epsilon, 0.0, unit=UNIT)
    with Charge(budget, ledger, purpose, guarantee):
        pass  # what cannot be paid is refused before anything is read
    from tamis.importance.kmeans.estimator import PrivateKMeans

    found = PrivateKMeans(
        clusters,
        epsilon=guarantee.epsilon,
        bounds=None if ends is None else np.array(ends).T,
        radius=size,
        sampler=sampler,
        rate=rate,
        mixing=mixing,
        init=init,
        max_iter=max_iter,
        budget=budget,
        ledger=ledger,
        purpose=purpose,
    )
    with bar(progress) as report, made_for(data, engine, memory, threads, report) as own:
        _fit(found, own.numbers(data, names, where, table), report)
    about = AboutClusters(
        guarantee,
        found.certificate_,
        names,
        clusters,
        ends,
        size,
        sampler,
        None if rate is None else float(rate),
        float(mixing) if sampler == "coreset" else None,
        init,
        "auto" if max_iter == "auto" else int(max_iter),
        found.n_iter_,
        where is not None,
        found.entry_,
    )
    return Clusters(table_of(names, found.cluster_centers_, found.cluster_sizes_), about)


def _fit(found: PrivateKMeans, rows: Any, report: Report) -> None:
    if rows.shape[0] < max(2, found.n_clusters):
        raise InvalidInput(
            f"n_clusters = {found.n_clusters} is more than there are rows, or there are fewer than "
            "two: look at the data and at the condition, or take fewer clusters."
        )
    found.set_params(
        progress=lambda done, whole: report("searching", _READ + (100 - _READ) * done / whole)
    )
    found.fit(rows)


def _enclosed(
    names: tuple[str, ...], bounds: object, radius: object
) -> tuple[Bounds | None, float | None]:
    """Bounds for each column, or a radius: what can be refused of them is refused here."""
    if (bounds is None) == (radius is None):
        raise InvalidInput(
            "give either bounds or a radius, which must be known without looking at the data: "
            "taken from it, they would tell of its farthest row."
        )
    if radius is not None:
        Grid.of_radius(radius, len(names))
        return None, as_float(radius)
    ends = _by_column(names, bounds) if isinstance(bounds, Mapping) else bounds
    grid = Grid.of_bounds(ends, len(names))
    return tuple(zip(grid.low.tolist(), grid.high.tolist(), strict=True)), None


def _by_column(names: tuple[str, ...], bounds: Mapping[str, object]) -> tuple[Any, Any]:
    """The low and the high ends of columns that have a pair each."""
    for name in bounds:
        if name not in names:
            raise InvalidInput(
                f"bounds are given for {shown(name)}, which is none of the columns."
                f"{meant(name, names)}"
            )
    for name in names:
        if name not in bounds:
            raise InvalidInput(f"bounds of the column {name!r} are missing; every one needs them.")
        pair = bounds[name]
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise InvalidInput(f"bounds of the column {name!r} must be a pair (low, high).")
    low, high = zip(*(bounds[name] for name in names), strict=True)
    return low, high
