"""Who has which key: real and drawn tables, cut to a bound once, so that all see the same.

Every library bounds what a unit contributes, each in its own random way. Here that is done before,
so that no bound takes anything away, all are given the same frequencies, and what differs is how
many keys are named and how well they are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import QUIET
from benchmarks.peers import files

LITTLE = 20_000  # rows
BOUNDS = (1, 2, 4, 10, 50)
_BOUNDED = """
    SELECT unit::BIGINT AS unit, key::VARCHAR AS key FROM (
        SELECT DISTINCT unit, key FROM {rows} WHERE unit IS NOT NULL AND key IS NOT NULL
    )
    QUALIFY row_number() OVER (PARTITION BY unit ORDER BY hash(unit, key, 1)) <= {bound}
    ORDER BY hash(unit, key, 2)
"""


@dataclass(frozen=True)
class Source:
    """A data set: what it is, its file in the folder of real data, and how it is read."""

    name: str
    file: str | None
    query: str = ""

    @property
    def there(self) -> bool:
        return self.file is None or files.there(self.file)


SOURCES = (
    Source("synthetic log", None),
    Source(
        "Online Retail",
        "online_retail.csv.gz",
        'SELECT "CustomerID"::DOUBLE::BIGINT AS unit, "StockCode" AS key '
        "FROM read_csv('{path}', all_varchar=true) WHERE \"CustomerID\" IS NOT NULL",
    ),
    Source(
        "msweb",
        "msweb.csv.gz",
        "SELECT \"user\"::BIGINT AS unit, vroot::VARCHAR AS key FROM read_csv('{path}')",
    ),
    Source(
        "ABC words",
        "abc_headlines.csv.gz",
        "SELECT unit, unnest(string_split(headline_text, ' ')) AS key FROM (SELECT row_number() "
        "OVER () AS unit, headline_text FROM read_csv('{path}'))",
    ),
)


def synthetic_log() -> pa.Table:
    """1,000,000 rows, about 245 thousand users and 30 thousand keys."""
    generator = np.random.default_rng(3)
    users = generator.integers(0, 250_000, 1_000_000)
    ranks = generator.zipf(1.25, 3_000_000)
    queries = ranks[ranks <= 52_000][:1_000_000]
    return pa.table({"unit": users, "key": queries})


def write(source: Source, bound: int, path: Path) -> None:
    """The pairs of unit and key, at most so many of each unit, in an order that means nothing."""
    with duckdb.connect() as database:
        database.execute(QUIET)
        if source.file is None:
            database.register("log", synthetic_log())
            rows = "log"
        else:
            rows = f"({source.query.format(path=files.SHARED / source.file)})"
        found = database.sql(_BOUNDED.format(rows=rows, bound=bound)).to_arrow_table()
    pq.write_table(found, path)
    pq.write_table(found.slice(0, LITTLE), little(path))


def little(path: Path) -> Path:
    """Where some of the rows of a file are, for runs that do not count."""
    return path.with_suffix(".little.parquet")


def frequencies(path: Path) -> dict[str, int]:
    """How many units have each key."""
    with duckdb.connect() as database:
        database.execute(QUIET)
        return dict(database.sql(f"SELECT key, count(*) FROM '{path}' GROUP BY key").fetchall())
