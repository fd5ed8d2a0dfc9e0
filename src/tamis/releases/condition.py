"""Which rows satisfy a condition that somebody asks with."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.privacy.errors import InvalidInput
from tamis.sampling.arrow import column_of

Ints = npt.NDArray[np.int64]

_PLACE = "tamis place"


def satisfying(table: pa.Table, where: str, what: str) -> Ints:
    """Where rows stand, in order, that satisfy a condition which `check_condition` has passed.

    It sees the columns of the table, and an error calls them ``what``.
    """
    numbered = table.append_column(_PLACE, column_of(np.arange(table.num_rows)))
    with duckdb.connect() as database:
        database.register("data", numbered)
        try:
            found = database.execute(f'SELECT "{_PLACE}" FROM data WHERE ({where}\n)').fetchnumpy()
        except duckdb.Error:
            raise not_on(table.column_names, what) from None
    return np.sort(found[_PLACE]).astype(np.int64)


def not_on(names: Iterable[str], what: str) -> InvalidInput:
    """A condition cannot be asked of these columns."""
    return InvalidInput(f"where must be a condition on the {what}: {', '.join(names)}.")
