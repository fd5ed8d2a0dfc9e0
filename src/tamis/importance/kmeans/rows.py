"""Rows of numbers as scikit-learn takes them, refused in sentences that hold none of them.

What scikit-learn says of bad data shows values. So it is asked for names and numbers of columns
only; the words that it expects of an estimator are in the sentences here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tamis.importance.kmeans.grid import Floats
from tamis.privacy.errors import BadData


class NoNumbers(BadData, TypeError):
    """Values that are no numbers: scikit-learn expects a `TypeError`."""


def rows_of(data: Any, least: int = 1) -> Floats:
    """At least so many rows of finite numbers, and a column or more."""
    parts = data if isinstance(data, (list, tuple)) else ()
    if any(np.ma.isMaskedArray(part) for part in (data, *parts)):  # NumPy would look behind it
        raise BadData("X is masked: leave out the rows that are, and give a plain array.")
    if sparse.issparse(data):
        raise NoNumbers("Sparse data was passed for X, but dense data is required: X.toarray().")
    rows = _numbers(data)
    if rows.ndim != 2:
        raise BadData(
            "X must have a row for each point and a column for each coordinate. Reshape your data: "
            "X.reshape(-1, 1) if it has one column, X.reshape(1, -1) if it is one row."
        )
    if not rows.shape[1]:
        raise BadData("X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    if len(rows) < least:
        many = "one sample or none" if least > 1 else "no rows"
        raise BadData(f"X has {many}, while a minimum of {least} is required.")
    with np.errstate(over="ignore", invalid="ignore"):
        surely = np.isfinite(rows.sum())  # one that is not finite makes the sum so
    if not surely and not np.isfinite(rows).all():
        raise BadData(
            "X holds NaN or infinity in some rows: leave them out, or repair each without looking "
            "at the others (an imputer that learns from the data is not private)."
        )
    return rows


def _numbers(data: Any) -> Floats:
    """As floats. No error of others stands behind ours: it could hold values."""
    try:
        found = np.asarray(data)
        if found.dtype.kind == "c":
            wrong = "Complex data not supported: X must hold real numbers."
        elif found.dtype.kind in "biuf" or (found.dtype.kind == "O" and not _has_text(found)):
            return found.astype(np.float64, copy=False)
        else:
            wrong = _NO_NUMBERS
    except Exception:  # of whatever kind: values may be objects of anybody's own
        wrong = _NO_NUMBERS
    raise NoNumbers(wrong)


def _has_text(found: npt.NDArray[np.object_]) -> bool:
    return any(isinstance(value, (str, bytes)) for value in found.flat)


_NO_NUMBERS = (
    "X must hold numbers only, none missing, in rows of one length (each argument must be a real "
    "number, and not a string, that is text, even if it reads like a number): convert or leave out "
    "other columns."
)
