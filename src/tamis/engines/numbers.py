"""Columns of numbers that are read whole: for mechanisms that look at points, and not at keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engines.columns import FLOATS, NUMBERS
from tamis.engines.condition import unknown
from tamis.engines.source import advised, identifier
from tamis.privacy.errors import BadData, InvalidInput

Floats = npt.NDArray[np.float64]

_TEXT = "VARCHAR"


@dataclass(frozen=True)
class Numbers:
    """Which columns are read, and the types of all that are there."""

    names: tuple[str, ...]
    types: dict[str, str]
    listed: bool = True  # whether names may be shown: those of a file may be its first row
    finite: str = "isfinite({})"  # in the words of the engine

    def __post_init__(self) -> None:
        for name in self.names:
            if name not in self.types:
                raise InvalidInput(unknown(name, list(self.types), self.listed))
            kind = self._kind(name)
            if kind not in (*NUMBERS, *FLOATS, "BOOLEAN", _TEXT):
                raise InvalidInput(
                    f"column {name!r} is of type {kind}, and must hold numbers; convert it first."
                )

    def _kind(self, name: str) -> str:
        """The type without its parameters, which may hold data."""
        kind = self.types[name]
        return "LIST" if kind.endswith("]") else kind.split("(")[0]

    def selected(self) -> str:
        """All columns as floats, under names of the engine's own; what is no number is NULL."""
        casts = (f"TRY_CAST({identifier(name)} AS DOUBLE)" for name in self.names)
        return ", ".join(f"{cast} AS n{place}" for place, cast in enumerate(casts))

    def matrix(self, read: pa.Table) -> Floats:
        """What was read, a row for each point; refused if a number is missing or not finite."""
        made = np.empty((read.num_rows, len(self.names)))
        for place, name in enumerate(self.names):
            column = read.column(place)
            if column.null_count:
                raise self.refused(name)
            made[:, place] = column.to_numpy()
            if not np.isfinite(made[:, place]).all():
                raise self.refused(name)
        return made

    def refused(self, name: str) -> BadData:
        """What to raise if a column holds what is not a finite number."""
        number, kind = advised(name), self._kind(name)
        finite = f"{number} IS NOT NULL"
        if kind in (*FLOATS, _TEXT):
            text = f"TRY_CAST({number} AS DOUBLE)"
            finite = self.finite.format(text if kind == _TEXT else number)
        return BadData(
            f"column {name!r} holds what is not a finite number in some rows (NULL, NaN, infinite "
            f"or text): repair them, or leave them out with where={finite!r}."
        )
