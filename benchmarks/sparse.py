"""What a summary of a sparse table costs: beside the plain GROUP BY, and by the number of cells."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import QUIET, Beside, Cost, alone, grouped, in_turns, queried
from benchmarks.page import Extent, Section, table

REPEATS = 3
_CELLS = """
    COPY (
        SELECT floor(random() * 2000000)::BIGINT AS home, floor(random() * 1000000)::BIGINT AS work
        FROM range({rows})
    ) TO '{path}'
"""
_HELD = "CREATE TABLE t AS SELECT home, work, count(*) FROM '{path}' GROUP BY home, work"
_SUMMARY = """
import tamis
area = tamis.Domain(home=2000000, work=1000000)
tamis.summarize('{path}', domain=area, epsilon=1.0, size=100_000, method='{method}').save('{out}')
"""

_BY_SIZE = ("method", "cells", "seconds", "**ratio**", "summary (MB)", "**memory**")
_READ = """
import pyarrow.parquet as pq
data = pq.read_table({path!r})
start = time.perf_counter()
"""
_PLAIN = f"""{_READ}
database = duckdb.connect()
database.execute({{quiet!r}})
database.execute("CREATE TABLE counted AS SELECT {{keys}}, sum(n) AS n FROM data GROUP BY {{keys}}")
"""
_IN_MEMORY = f"""
import tamis
{_READ}
area = tamis.Domain({{domain!r}})
tamis.summarize(data, size=len(data), domain=area, epsilon=0.1, count='n', method={{method!r}})
"""


def summaries(extent: Extent) -> Section:
    """By method, and by the number of cells that hold nothing."""
    cells = extent.pick(1_000_000, 10_000_000)
    heads = ("summary", "plain (s)", "summary (s)", "**ratio**", "to one not written",
             "summary (MB)", "**memory**")  # fmt: skip
    text = (
        f"{cells:,} rows, nearly all in cells of their own, of 2 * 10^12 cells; summaries of "
        f"100,000, epsilon 1. Plain: DuckDB's `COPY (SELECT home, work, count(*) GROUP BY home, "
        f"work)` into a Parquet file; *to one not written*: to the same GROUP BY, into a table in "
        f"memory. Medians of {REPEATS} turns.\n\n"
    )
    text += table(heads, _by_method(cells))
    text += (
        "\n\n100,000 cells that hold something (mean 100, standard deviation 20), a summary of "
        "100,000, epsilon 0.1, five attributes, from a table in memory; ratio to the GROUP BY of "
        "the same table. Each in a process of its own, which has read the table.\n\n"
    )
    return Section("Summaries", text + table(_BY_SIZE, _sizes()))


def _by_method(cells: int) -> list[tuple[str, ...]]:
    found = list[tuple[str, ...]]()
    with tempfile.TemporaryDirectory() as folder:
        path, out = f"{folder}/cells.parquet", f"{folder}/out.parquet"
        with duckdb.connect() as database:
            database.execute(QUIET)
            database.execute("SELECT setseed(0.5)")
            database.execute(_CELLS.format(rows=cells, path=path))
        plain, held = grouped(path, "home, work", out), queried(_HELD.format(path=path))
        for method in ("filter-priority", "filter", "priority"):
            bare, mine = in_turns(plain, [held, _summary(path, out, method)], REPEATS)
            found.append(
                (
                    method,
                    f"{mine.plain_seconds:.2f}",
                    f"{mine.seconds:.2f}",
                    f"**{mine.ratio:.2f}**",
                    f"{Beside(bare.ours, mine.ours).ratio:.2f}",
                    f"{mine.megabytes:,.0f}",
                    f"**{mine.memory:.2f}**",
                )
            )
    return found


def _summary(path: str, out: str, method: str) -> Callable[[], Cost]:
    return lambda: alone(_SUMMARY.format(path=path, out=out, method=method))


def _sizes() -> list[tuple[str, ...]]:
    """The same number of cells that hold something, in ever larger domains."""
    found = list[tuple[str, ...]]()
    with tempfile.TemporaryDirectory() as folder:
        for bits in (4, 10, 20):
            data, path = _five(bits), f"{folder}/{bits}.parquet"
            pq.write_table(data, path)
            keys = ", ".join(data.column_names[:5])
            plain = partial(alone, _PLAIN.format(path=path, keys=keys, quiet=QUIET), "duckdb")
            methods = ("filter-priority", "priority")
            asked = {"path": path, "domain": {f"a{k}": 2**bits for k in range(5)}}
            runs = [partial(alone, _IN_MEMORY.format(**asked, method=name)) for name in methods]
            for method, mine in zip(methods, in_turns(plain, runs, REPEATS), strict=True):
                seconds, ratio = f"{mine.seconds:.2f}", f"**{mine.ratio:.1f}**"
                memory = f"{mine.megabytes:,.0f}", f"**{mine.memory:.2f}**"
                found.append((method, f"2^{5 * bits}", seconds, ratio, *memory))
    return sorted(found, key=lambda row: row[0])


def _five(bits: int, n: int = 100_000) -> pa.Table:
    rng = np.random.default_rng(1)
    numbers = rng.choice(2**20, n, replace=False)  # different cells also in the smallest domain
    codes = [(numbers >> 4 * k & 15) + 16 * rng.integers(0, 2 ** (bits - 4), n) for k in range(5)]
    counts = np.maximum(1, np.rint(rng.normal(100, 20, n))).astype(np.int64)
    return pa.table({**{f"a{k}": row for k, row in enumerate(codes)}, "n": counts})
