"""Items as the baselines take them: one whole number for each client, from a known domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import check_bound

Ints = npt.NDArray[np.int64]

_ONE_COLUMN = "items must be one column of whole numbers, one for each client."


def check_items(items: npt.ArrayLike, domain: int) -> Ints:
    """The items, all of them in 0, ..., domain - 1."""
    many, held = check_bound("domain", domain), _column(items)
    if held.ndim != 1 or (held.dtype.kind not in "iu" and len(held)):
        raise InvalidInput(_ONE_COLUMN)
    if len(held) and (held.min() < 0 or held.max() >= many):
        raise InvalidInput(
            f"items must be whole numbers from 0 to domain - 1 = {many - 1}; "
            "give others a number of the domain first."
        )
    return held.astype(np.int64, copy=False)


def _column(items: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        return np.asarray(items)
    except ValueError:  # rows of different lengths
        raise InvalidInput(_ONE_COLUMN) from None


def histogram(items: npt.ArrayLike, domain: int) -> Ints:
    """How many clients hold each item of the domain."""
    return np.bincount(check_items(items, domain), minlength=domain)
