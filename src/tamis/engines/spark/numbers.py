"""Columns of numbers that stay on the executors: for mechanisms that look at points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engines.numbers import Floats, Numbers
from tamis.engines.protocol import Ints
from tamis.engines.spark.frames import check_same
from tamis.engines.spark.work import Batches, gathered
from tamis.sampling.arrow import column_of, quoted
from tamis.sampling.executors import checked
from tamis.sampling.spark import run


class SparkNumbers:
    """Rows of finite numbers, a column for each coordinate. All of them were read and checked."""

    def __init__(self, frame: Any, many: int, columns: int) -> None:
        self._frame = frame
        self.shape = many, columns

    def total(self, work: Callable[[Floats], Ints]) -> Ints:
        """What ``work`` gives for some rows at a time, added up over all of them."""
        call = checked(partial(_totalled, work=work))
        found = run(lambda: self._frame.mapInArrow(call, "place int, n bigint").toArrow())
        place, many = (found.column(name).to_numpy() for name in ("place", "n"))
        added = np.zeros(int(place.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(added, place, many)
        return added

    def gather(self, work: Callable[[Floats], Floats]) -> Floats:
        """The rows that ``work`` gives, a coordinate more than it is given, in any order.

        It is the last stage of a job: Spark takes one result of each task, whole.
        """
        names = [f"n{place}" for place in range(self.shape[1] + 1)]
        schema = ", ".join(f"{name} double" for name in names)
        call = checked(partial(_gathered, work=work, names=names))
        found = run(lambda: self._frame.mapInArrow(call, schema).toArrow())
        return matrix_of(found)


def numbers(frame: Any, wanted: Numbers, keep: Callable[[Any], Any]) -> SparkNumbers:
    """The columns as floats; refused if one is missing, no number or not finite in some row."""
    casts = (
        f"try_cast({quoted(name)} AS double) AS n{place}" for place, name in enumerate(wanted.names)
    )
    chosen = run(lambda: frame.selectExpr(*casts))
    check_same(chosen)
    made = keep(chosen)
    finite = [
        f"max(n{place} IS NULL OR isnan(n{place}) OR abs(n{place}) = double('inf')) AS w{place}"
        for place in range(len(wanted.names))
    ]
    (row,) = run(lambda: made.selectExpr("count(*) AS many", *finite).collect())
    for place, name in enumerate(wanted.names):
        if row[f"w{place}"]:
            raise wanted.refused(name)
    return SparkNumbers(made, int(row["many"]), len(wanted.names))


def matrix_of(table: pa.Table) -> Floats:
    """Columns of floats side by side."""
    made = np.empty((table.num_rows, table.num_columns))
    for place, column in enumerate(table.columns):
        made[:, place] = column.to_numpy()
    return made


def _totalled(batches: Batches, work: Callable[[Floats], Ints]) -> Iterator[pa.RecordBatch]:
    added: npt.NDArray[np.int64] | int = 0
    for table in gathered(batches):
        added = added + work(matrix_of(table))
    if isinstance(added, np.ndarray):
        places = np.arange(len(added), dtype=np.int32)
        columns = {"place": column_of(places), "n": column_of(added)}
        yield from pa.table(columns).to_batches()


def _gathered(
    batches: Batches, work: Callable[[Floats], Floats], names: list[str]
) -> Iterator[pa.RecordBatch]:
    for table in gathered(batches):
        found = work(matrix_of(table))
        columns = [column_of(column) for column in found.T]
        yield from pa.table(columns, names=names).to_batches()
