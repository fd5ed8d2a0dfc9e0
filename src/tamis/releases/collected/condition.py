"""Rows whose key satisfies a condition that somebody asks with."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa

from tamis.engines.condition import check_condition
from tamis.privacy.errors import InvalidInput
from tamis.sampling.arrow import column_of

_PLACE = "tamis place"


def satisfying(table: pa.Table, key: Sequence[str], where: str) -> pa.Table:
    """The rows, in their order; a condition sees the key columns alone."""
    check_condition(where, key)
    places = column_of(np.arange(table.num_rows))
    with duckdb.connect() as database:
        database.register("data", table.select(key).append_column(_PLACE, places))
        try:
            found = database.execute(f'SELECT "{_PLACE}" FROM data WHERE ({where}\n)').fetchnumpy()
        except duckdb.Error:
            raise InvalidInput(
                f"where must be a condition on the key columns: {', '.join(key)}."
            ) from None
    return table.take(column_of(np.sort(found[_PLACE]).astype(np.int64)))
