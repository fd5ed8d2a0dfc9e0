"""Between Arrow, NumPy, pandas and polars."""

from __future__ import annotations

from collections.abc import Sequence
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


def numbers_of(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """An Arrow column of numbers, none of them missing, as an array that may not be written to.

    What `to_numpy` does, without pandas.

    >>> numbers_of(pa.chunked_array([column_of(np.array([1, 2])), column_of(np.array([3]))]))
    array([1, 2, 3])
    """
    parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    kind = np.dtype(column.type.to_pandas_dtype())
    found = [
        np.frombuffer(part.buffers()[1], kind, len(part), part.offset * kind.itemsize)
        for part in parts
        if len(part)
    ]
    return found[0] if len(found) == 1 else np.concatenate([np.empty(0, kind), *found])


def texts_of(texts: Sequence[str]) -> pa.Array:
    """Texts as an Arrow array, for the same reason.

    >>> texts_of(["a", "", "é"]).to_pylist()
    ['a', '', 'é']
    """
    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.large_string(), len(parts), buffers)


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
