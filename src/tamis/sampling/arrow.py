"""Between Arrow, NumPy, pandas and polars."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def column_of(values: npt.NDArray[Any]) -> pa.Array:
    """Numbers as an Arrow array, over the same memory where it is in one piece.

    `pyarrow.array` first looks whether it was given something of pandas, and imports it for that:
    a quarter of a second that a release need not spend.

    >>> column_of(np.array([1, 2])).type
    DataType(int64)
    """
    whole = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(whole.dtype)
    return pa.Array.from_buffers(kind, len(whole), [None, pa.py_buffer(whole)])


def quoted(name: str) -> str:
    """A column of a DataFrame of Spark, whatever it is called.

    >>> quoted("a.b`c")
    '`a.b``c`'
    """
    return "`" + name.replace("`", "``") + "`"


class Tabular:
    """What has a ``table``, for other libraries that work with tables."""

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        return self.table

    def to_pandas(self) -> Any:
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        import polars

        return polars.from_arrow(self.table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)
