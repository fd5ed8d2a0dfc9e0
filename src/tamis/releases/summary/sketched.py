"""Sketches as rows of a file: one for each bucket."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tamis.privacy.errors import BadData
from tamis.releases.summary.about import AboutSummary
from tamis.sparse.sketch import Sketch


def sketch_table(sketch: Sketch) -> pa.Table:
    """Row by row; the weight of a bucket is its value, and tells nothing of single cells."""
    rows, width = sketch.buckets.shape
    values = sketch.buckets.ravel()
    return pa.table(
        {
            "row": np.repeat(np.arange(rows), width),
            "bucket": np.tile(np.arange(width), rows),
            "value": values,
            "weight": values.astype(np.float64),
        }
    )


def read_sketch(table: pa.Table, about: AboutSummary) -> Sketch:
    """The buckets of a file; what does not fit the recipe is refused."""
    recipe = about.recipe
    width, rows = recipe.shape
    if len(table) != width * rows:
        raise BadData("the table was changed: it has another number of buckets.")
    values = table["value"].to_numpy().reshape(rows, width)
    sketch = Sketch(recipe.domain.packed, about.hashes, recipe.rate / rows, values)
    if not sketch_table(sketch).equals(table):
        raise BadData("the table was changed: weights or order do not follow from values.")
    return sketch
