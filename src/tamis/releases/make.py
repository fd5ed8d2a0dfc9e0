"""From a table of events to a release, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tamis.engines.choice import Choice, engine_for
from tamis.engines.protocol import Nulls, Request
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import Guarantee, as_float, check_bound, check_epsilon
from tamis.privacy.ledger.charge import Charge
from tamis.releases.bound import CHOICES
from tamis.releases.budgeting import Split, split
from tamis.releases.checks import check_choices, check_running, check_texts, check_units
from tamis.releases.order import Order, carry_out
from tamis.releases.progress import bar
from tamis.releases.release import Release
from tamis.sampling.frequencies import check_whole
from tamis.sampling.schemes import Scheme
from tamis.weighted.mechanism import Tokens
from tamis.weighted.sample import check_names

_LEAST_RATE = 1e-11  # epsilon for one element; with less, noise would hide any number
_TOTAL_SHARE = 0.02  # of epsilon, for the number of elements when a sample size is asked for


def release(
    data: Any,
    *,
    key: str | Sequence[str],
    epsilon: float,
    delta: float,
    unit: str | None = None,
    keys_per_unit: int | Literal["auto"] | None = None,
    elements_per_key: int = 1,
    count: str | None = None,
    where: str | None = None,
    table: str | None = None,
    nulls: Nulls = "drop",
    scheme: Scheme | None = None,
    sample_size: int | None = None,
    total_share: float = 0.0,
    bound_share: float = 0.05,
    tokens: Tokens = "whole",
    coverage: float = 0.95,
    budget: str | None = None,
    ledger: str | Path | None = None,
    purpose: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    engine: Choice = None,
) -> Release:
    """Release which keys occur and how often, from a table of events.

    Parameters
    ----------
    data, table
        a path or glob (Parquet, CSV, JSON lines, also compressed), a DuckDB database (with
        ``table``, a name or a query), a DuckDB relation, a table of Arrow, pandas or polars, or a
        DataFrame of Spark.
    key
        the column, or columns, whose values are counted.
    epsilon, delta
        what is promised for one unit.
    unit
        the column that says to whom a row belongs; without it each row stands for itself, which
        protects rows and not people.
    keys_per_unit, elements_per_key
        to how many keys one unit may contribute, and how much to each. It is enforced: of a unit
        with more keys, so many are kept at random. With ``unit``, ``keys_per_unit`` must be given;
        "auto" spends ``bound_share`` of epsilon to choose it privately.
    count
        a column of counts, when the data is counted already; the promise is then for one element.
    where
        a condition in SQL on single rows.
    nulls
        whether rows without a key are dropped, or counted under the key NULL.
    scheme, tokens, coverage
        as in `tamis.plan`.
    sample_size
        at most about how many keys a weighted sample should have, in place of a scheme: tau is
        this size over a noisy number of elements, which costs ``total_share`` of epsilon (then 0.02
        if not given). Where few keys hold most of the elements, the sample is much smaller.
    total_share, bound_share
        shares of epsilon: for the noisy number of elements, so that what is not released can be
        estimated (`Release.suppressed`), and for the choice of ``keys_per_unit``.
    budget, ledger, purpose
        the budget to be charged, in which ledger (a file or a PostgreSQL URL; see the page on the
        ledger), and a few words for its history. It is charged before anything is drawn.
    memory, threads, progress, engine
        limits for the engine, such as ``"4GB"`` and 2; more data than memory goes to disk. A
        progress bar is shown at a terminal (or if ``progress`` is True). A DataFrame of Spark is
        counted there, all else by DuckDB: or name the engine ("duckdb", "spark"), or give one.

    Notes
    -----
    Guarantee: (epsilon, delta)-differential privacy when one unit is added or removed, with the
    bounds that are stated in the result. Everything that can be refused is refused before a draw,
    and before a budget is charged; by then all of the data has been read and checked.

    >>> import tamis, pyarrow as pa
    >>> events = pa.table({"word": ["the"] * 500 + ["rare"]})
    >>> tamis.release(events, key="word", epsilon=1.0, delta=1e-9).to_arrow()["word"].to_pylist()
    ['the']
    """
    check_texts(unit=unit, count=count, where=where, table=table, budget=budget, memory=memory)
    check_choices(nulls=(nulls, "drop", "keep"), tokens=(tokens, "whole", "fine"))
    check_running(threads, progress, engine)
    keys = (key,) if isinstance(key, str) or not isinstance(key, Sequence) else tuple(key)
    request = _request(keys, unit, keys_per_unit, elements_per_key, where, count, nulls)
    order = Order(
        request,
        Guarantee(epsilon, delta, unit=unit or "element"),
        _costs(
            epsilon,
            total_share,
            sample_size is not None,
            bound_share,
            keys_per_unit == "auto",
            request.keys_per_unit * request.elements_per_key,
        ),
        scheme,
        None if sample_size is None else check_whole(sample_size, "sample_size"),
        tokens,
        coverage,
    )
    order.check()
    with (
        Charge(budget, ledger, purpose, order.guarantee()) as charge,
        bar(progress) as report,
        engine_for(data, engine, memory, threads, report) as chosen,
    ):
        return carry_out(order, chosen, data, table, charge, report)


def _request(
    keys: tuple[str, ...],
    unit: str | None,
    keys_per_unit: int | Literal["auto"] | None,
    elements_per_key: int,
    where: str | None,
    count: str | None,
    nulls: Nulls,
) -> Request:
    if not keys or not all(isinstance(name, str) and name for name in keys):  # type: ignore[redundant-expr]
        raise InvalidInput("key must name one column or more, as text.")
    check_names(keys)
    most = _most(keys_per_unit)
    elements = check_bound("elements_per_key", elements_per_key)
    advice = 'tamis.plan shows what a bound costs, and "auto" chooses one'
    check_units(unit, most, elements, count, advice)
    if most is None:
        return Request(keys, None, 1, 1, where, count, nulls)
    return Request(keys, unit, most, elements, where, count, nulls)


def _most(keys_per_unit: object) -> int | None:
    """The largest bound that there may be."""
    if keys_per_unit is None:
        return None
    auto = isinstance(keys_per_unit, str) and keys_per_unit == "auto"
    return CHOICES[-1] if auto else check_bound("keys_per_unit", keys_per_unit)


def _costs(
    epsilon: float, total: float, sampled: bool, bound: float, chosen: bool, elements: int
) -> Split:
    """What the parts cost, if there is a sample to be sized, or a bound to be chosen."""
    total = _TOTAL_SHARE if sampled and as_float(total) == 0 else total
    costs = split(check_epsilon(epsilon), total, bound if chosen else 0.0)
    if total and costs.total / elements < _LEAST_RATE:
        raise InvalidInput("total_share is too small for so many elements of a unit; raise it.")
    if chosen and costs.bound < _LEAST_RATE:
        raise InvalidInput(
            'bound_share is too small: with keys_per_unit="auto" it pays for the choice; 0.05 is '
            "usual."
        )
    return costs
