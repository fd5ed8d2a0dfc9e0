"""What runs on the executors: batches of rows come in as Arrow, and few go out.

No randomness that is drawn with is sent to them: it comes from the operating system of each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engines.protocol import Choose, Draw, Encode
from tamis.privacy.errors import BadData, InvalidInput
from tamis.sampling.arrow import column_of
from tamis.sampling.executors import code

Batches = Iterator[pa.RecordBatch]

WRONG = "wrong"  # the column that says why keys have no cell
AT_ONCE = 1 << 18  # rows, so that what a draw sets up is used often


def ready(_: Batches) -> Batches:
    """What draws here, once the packages that it needs could be loaded (this module's are, too)."""
    import tamis.engines.spark.numbers  # noqa: F401

    yield from pa.table({"code": [code()]}).to_batches()


def named(batches: Batches, draw: Draw) -> Batches:
    """The rows with a token above 0; their frequency, the last column, gives way to the token."""
    for table in gathered(batches):
        tokens = draw(table.column("n").to_numpy())
        kept = np.flatnonzero(tokens)
        found = table.drop_columns("n").take(column_of(kept))
        yield from found.append_column("token", column_of(tokens[kept])).to_batches()


def stayed(batches: Batches, choose: Choose) -> Batches:
    """The cells that stay, and in the last column their value in the place of the frequency."""
    for table in gathered(batches):
        stay, values = choose(table.column("n").to_numpy())
        cells = table.drop_columns("n").take(column_of(np.flatnonzero(stay)))
        yield from cells.append_column("n", column_of(values)).to_batches()


def encoded(batches: Batches, encode: Encode, names: list[str], keys: int) -> Batches:
    """Cells in the place of the first ``keys`` columns, whose true names are given.

    Spark would write an error, with all that it holds, into its log: it is a row here, and who asks
    for cells looks whether there is one.
    """
    for table in gathered(batches):
        rest = table.select(range(keys, table.num_columns))
        why = ""
        try:
            cells = encode(table.select(range(keys)).rename_columns(names))
        except InvalidInput as error:
            why = f"{'data' if isinstance(error, BadData) else 'input'}:{error}"
            cells, rest = np.zeros((width_of(encode, table, names), 1), np.int64), rest.slice(0, 1)
        columns = {f"c{n}": column_of(codes) for n, codes in enumerate(cells)}
        columns |= {name: rest.column(name) for name in rest.column_names}
        columns[WRONG] = pa.array([why] * rest.num_rows, pa.string())
        yield from pa.table(columns).to_batches()


def width_of(encode: Encode, table: pa.Table, names: list[str]) -> int:
    """How many whole numbers a cell has."""
    return len(encode(table.slice(0, 0).select(range(len(names))).rename_columns(names)))


def gathered(batches: Batches) -> Iterator[pa.Table]:
    """Batches, many at a time."""
    waiting, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def columns_of(table: pa.Table, names: list[str]) -> npt.NDArray[np.int64]:
    """Columns of whole numbers, one below the other."""
    made = np.empty((len(names), table.num_rows), dtype=np.int64)
    for row, name in zip(made, names, strict=True):
        row[:] = table.column(name).to_numpy()
    return made
