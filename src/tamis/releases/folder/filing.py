"""Which rows of a release are in which file: by their place in the order of all, and nothing else.

Where Spark would end a file depends on how it came by the rows: on the order of the input, and on
how many keys there were that are not named. So every file but the last has as many rows as any.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tamis.releases.folder.folder import in_order, order
from tamis.sampling.arrow import quoted
from tamis.sampling.attempt import attempt

ROWS = 1 << 20  # of a file
_ROW = (1 << 33) - 1  # the places of Spark's row numbers that count within a partition


@contextmanager
def filed(rows: Any, key: list[str], many: int) -> Iterator[Any]:
    """So many rows in partitions of which each is a file, for as long as they are needed."""
    names = [quoted(name) for name in key]
    with ExitStack() as kept:
        count = -(-many // ROWS)
        if count > 1:
            ordered = _kept(in_order(rows, names), kept)
            rows = _numbered(ordered, count)
            together = rows.repartition(count, rows.columns[-1]).drop(rows.columns[-1])
        else:
            together = rows.repartition(1)
        yield _kept(together.sortWithinPartitions(*order(names)), kept)


def _kept(frame: Any, until: ExitStack) -> Any:
    until.callback(lambda: attempt(frame.unpersist, Exception))
    return frame.persist()


def _numbered(ordered: Any, count: int) -> Any:
    """With a last column that takes a row to the partition that is its file."""
    from pyspark.sql import functions as f

    sizes = ordered.groupBy(f.spark_partition_id().alias("part")).count().collect()
    before, passed = dict[int, int](), 0
    for part, size in sorted(map(tuple, sizes)):
        before[part], passed = passed, passed + size
    first = _array(before.get(part, 0) for part in range(max(before) + 1))
    number = f.monotonically_increasing_id().bitwiseAND(f.lit(_ROW))
    place = f.element_at(first, f.spark_partition_id() + 1) + number
    file = f.floor(place / ROWS).cast("int")
    name = "file" + "_" * max(map(len, ordered.columns))  # which no other column has
    return ordered.withColumn(name, f.element_at(_goes_to(ordered.sparkSession, count), file + 1))


def _goes_to(session: Any, count: int) -> Any:
    """For each file a number that Spark's hash takes to the partition of the same place."""
    from pyspark.sql import functions as f

    found, many = dict[int, int](), 32 * count
    while len(found) < count:
        numbers = session.range(many)
        where = f.pmod(f.hash("id"), f.lit(count)).alias("part")
        found = dict(map(tuple, numbers.groupBy(where).agg(f.min("id")).collect()))
        many *= 4
    return _array(found[part] for part in range(count))


def _array(numbers: Any) -> Any:
    from pyspark.sql import functions as f

    return f.split(f.lit(",".join(map(str, numbers))), ",").cast("array<bigint>")
