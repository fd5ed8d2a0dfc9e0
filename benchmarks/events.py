"""Events that are drawn: keys of a power law, text or whole numbers, and who they belong to."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from benchmarks.measure import QUIET

_TEXT = "'query ' || rank || ' of the day'"


@dataclass(frozen=True)
class Events:
    """So many rows; the key of rank r has about r^-zipf of them, of rows / 10 keys at the most.

    One tenth as many users as rows, some with many.
    """

    rows: int
    zipf: float
    text: bool

    @property
    def kind(self) -> str:
        return "text" if self.text else "number"

    def write(self, path: str) -> int:
        """A Parquet file with the columns key and user_id; how many keys there are."""
        keys, users = self.rows // 10, self.rows // 10
        power = 1 - self.zipf
        rank = f"pow(random() * (pow({keys}.0, {power}) - 1) + 1, {1 / power})"
        drawn = f"""
            SELECT {_TEXT if self.text else "rank"} AS key,
                   floor(pow(random(), 1.5) * {users})::BIGINT AS user_id
            FROM (SELECT floor({rank})::BIGINT AS rank FROM range({self.rows}))
        """
        with duckdb.connect() as database:
            database.execute(QUIET)
            database.execute("SELECT setseed(0.5)")
            database.execute(f"COPY ({drawn}) TO '{path}'")
            found = database.execute(f"SELECT count(DISTINCT key) FROM '{path}'").fetchone()
        return int(found[0]) if found else 0
