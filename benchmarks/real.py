"""Real data: whether as many keys are named as the law expects, and how often intervals hold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

import tamis
from benchmarks.measure import QUIET
from benchmarks.page import Extent, Section, table
from benchmarks.peers import files
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Ints, Request
from tamis.weighted.intervals import intervals
from tamis.weighted.tokens import draw

TITLE = "Names as expected, and intervals that hold"
RELEASES = 200


@dataclass(frozen=True)
class Case:
    name: str
    file: str
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
        "abc_headlines.csv.gz",
        "SELECT unnest(string_split(headline_text, ' ')) AS word FROM read_csv('{path}')",
        Request(("word",)),
    ),
    Case(
        "Online Retail, StockCode per customer, 30 keys",
        "online_retail.csv.gz",
        'SELECT "StockCode", "CustomerID" FROM read_csv(\'{path}\', '
        'all_varchar=true) WHERE "CustomerID" IS NOT NULL',
        Request(("StockCode",), "CustomerID", 30),
    ),
    Case(
        "msweb, area per user, 4 keys",
        "msweb.csv.gz",
        "SELECT vroot, \"user\" FROM read_csv('{path}')",
        Request(("vroot",), "user", 4),
    ),
]


def real(extent: Extent) -> Section:
    releases = extent.pick(RELEASES // 10, RELEASES)
    text = (
        f"Epsilon 1, delta 1e-8, {releases} releases each. Expected: the number of named "
        "keys, from the exact law and the true (bounded) frequencies. Coverage: the share of named "
        "keys whose 95 % interval holds the true frequency; rare: keys up to twice the frequency "
        "at which half are named. Frequencies, and so intervals, are those after the bounds were "
        "enforced.\n\n"
    )
    heads = ("data", "keys", "half named at", "expected", "named, mean of all",
             "deviation (sd of mean)", "coverage", "of rare keys")  # fmt: skip
    lines = [line(case, releases) for case in CASES if files.there(case.file)]
    absent = [case for case in CASES if not files.there(case.file)]
    said = "".join(f"\n\nNot run: {case.name}: {files.missing(case.file)}." for case in absent)
    return Section(TITLE, (text + table(heads, lines) if lines else text.strip()) + said)


def line(case: Case, releases: int) -> tuple[str, ...]:
    plan, frequencies = case.plan, counted(case)
    p = plan.mechanism.law.reporting(frequencies)
    expected, spread = float(p.sum()), math.sqrt(float((p * (1 - p)).sum()))
    named, held, rare = [], [], []
    for _ in range(releases):
        tokens = draw(plan.mechanism, frequencies)
        there = np.flatnonzero(tokens)
        low, high = intervals(plan.mechanism.law, tokens[there], plan.coverage)
        true = frequencies[there]
        inside = (low <= true) & (true <= high)
        named.append(len(there))
        held.append(inside)
        rare.append(inside[true <= 2 * (plan.half or 0)])
    mean = float(np.mean(named))
    off = (mean - expected) / (spread / math.sqrt(releases))
    return (
        case.name,
        f"{len(frequencies):,}",
        str(plan.half),
        f"{expected:,.1f}",
        f"{mean:,.1f}",
        f"{off:+.1f}",
        f"{np.concatenate(held).mean():.1%}",
        f"{np.concatenate(rare).mean():.1%}",
    )


def counted(case: Case) -> Ints:
    with duckdb.connect() as database:
        database.execute(QUIET)
        rows: pa.Table = database.sql(
            case.query.format(path=files.SHARED / case.file)
        ).to_arrow_table()
    return frequencies_of(rows, case.request)


def frequencies_of(rows: pa.Table, request: Request) -> Ints:
    """All of them, which no release would show."""
    with DuckDB() as engine:
        return engine.count(rows, request).frequencies().named(np.copy)[1]
