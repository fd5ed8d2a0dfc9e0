"""Real data: how many keys are named beside the optimum, and how often intervals hold the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import tamis
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Ints, Request
from tamis.weighted.intervals import intervals
from tamis.weighted.laws import Law
from tamis.weighted.selections import GaussianThreshold, LaplaceThreshold
from tamis.weighted.tokens import draw

DATA = Path(__file__).parents[2] / "shared" / "data"
RELEASES = 200


@dataclass(frozen=True)
class Case:
    name: str
    query: str
    request: Request
    epsilon: float = 1.0
    delta: float = 1e-8

    @property
    def plan(self) -> tamis.Plan:
        r = self.request
        return tamis.plan(self.epsilon, self.delta, r.keys_per_unit, r.elements_per_key)


CASES = [
    Case(
        "ABC headline words, per word",
        "SELECT unnest(string_split(headline_text, ' ')) AS word "
        "FROM read_csv('{data}/abc_headlines.csv.gz')",
        Request(("word",)),
    ),
    Case(
        "Online Retail, StockCode per customer, 30 keys",
        'SELECT "StockCode", "CustomerID" FROM read_csv(\'{data}/online_retail.csv.gz\', '
        'all_varchar=true) WHERE "CustomerID" IS NOT NULL',
        Request(("StockCode",), "CustomerID", 30),
    ),
    Case(
        "msweb, area per user, 4 keys",
        "SELECT vroot, \"user\" FROM read_csv('{data}/msweb.csv.gz')",
        Request(("vroot",), "user", 4),
    ),
]


def real() -> str:
    if not DATA.is_dir():
        return "Real data: not there; the table needs the shared data sets."
    lines = [
        f"Real data, epsilon 1, delta 1e-8, {RELEASES} releases each. Optimum: the expected number "
        "of named keys, from the exact law and the true (bounded) frequencies. Coverage: the share "
        "of named keys whose 95 % interval holds the true frequency; rare: keys up to twice the "
        "frequency at which half are named.\n",
        "| data | keys | half named at | optimum | named, mean of all | deviation (sd of mean) | "
        "coverage | of rare keys |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(line(case) for case in CASES)])


def line(case: Case) -> str:
    plan, frequencies = case.plan, counted(case)
    p = plan.mechanism.law.reporting(frequencies)
    best, spread = float(p.sum()), math.sqrt(float((p * (1 - p)).sum()))
    named, held, rare = [], [], []
    for _ in range(RELEASES):
        tokens = draw(plan.mechanism, frequencies)
        there = np.flatnonzero(tokens)
        low, high = intervals(plan.mechanism.law, tokens[there], plan.coverage)
        true = frequencies[there]
        inside = (low <= true) & (true <= high)
        named.append(len(there))
        held.append(inside)
        rare.append(inside[true <= 2 * (plan.half or 0)])
    mean = float(np.mean(named))
    off = (mean - best) / (spread / math.sqrt(RELEASES))
    return (
        f"| {case.name} | {len(frequencies):,} | {plan.half} | {best:,.1f} | {mean:,.1f} | "
        f"{off:+.1f} | {np.concatenate(held).mean():.1%} | {np.concatenate(rare).mean():.1%} |"
    )


def counted(case: Case) -> Ints:
    with duckdb.connect() as database:
        database.execute("SET enable_progress_bar = false")
        table: pa.Table = database.sql(case.query.format(data=DATA)).to_arrow_table()
    return frequencies_of(table, case.request)


def frequencies_of(table: pa.Table, request: Request) -> Ints:
    """All of them, which no release would show."""
    with DuckDB() as engine:
        return engine.count(table, request).frequencies().named(np.copy)[1]


def log() -> str:
    """A synthetic log: keys named beside the best that the classical selections could name."""
    keys_per_unit, epsilon, delta = 4, 1.0, 1e-8
    generator = np.random.default_rng(3)
    users = generator.integers(0, 250_000, 1_000_000)
    ranks = generator.zipf(1.25, 3_000_000)
    queries = ranks[ranks <= 40_000][:1_000_000]
    table = pa.table({"query": queries, "user": users})
    frequencies = frequencies_of(table, Request(("query",), "user", keys_per_unit))
    made = tamis.release(
        table, key="query", unit="user", keys_per_unit=keys_per_unit, epsilon=epsilon, delta=delta
    )
    each = tamis.plan(epsilon / keys_per_unit, delta / keys_per_unit)
    rivals: dict[str, LaplaceThreshold | GaussianThreshold | Law] = {
        "Laplace noise and a threshold": LaplaceThreshold(epsilon, delta, keys_per_unit),
        "Gaussian noise and a threshold": GaussianThreshold(epsilon, delta, keys_per_unit),
        "optimal selection, budget divided by keys": each.mechanism.law,
    }
    lines = [
        f"Synthetic log: 1,000,000 rows, {len(np.unique(users)):,} users, {len(frequencies):,} "
        f"keys after bounding; epsilon 1, delta 1e-8, {keys_per_unit} keys per user. Expected "
        "number of named keys, for the rivals without any counts:\n",
        "| selection | expected keys |",
        "|---|---|",
        *(f"| {n} | {float(np.sum(r.reporting(frequencies))):,.1f} |" for n, r in rivals.items()),
        f"| tamis, with counts | {made.plan.expected(frequencies):,.1f} |",
        f"\nOne release named {len(made):,}.",
    ]
    return "\n".join(lines)
