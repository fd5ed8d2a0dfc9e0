"""What all attributes have in common: codes 0, 1, ..., and perhaps a last one for all else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.privacy.errors import BadData, InvalidInput, shown
from tamis.sparse.attributes.columns import TEXT, plain
from tamis.sparse.attributes.public import check_many

Ints = npt.NDArray[np.int64]

THIS = "This attribute"


class Attribute(ABC):
    """A public list of values; each has a code, and ``other`` is a last one for all else.

    ``of`` is how errors call the attribute. They never hold a value of the data.
    """

    other: str | None

    @property
    @abstractmethod
    def values(self) -> int:
        """How many values there are, without ``other``."""

    @property
    @abstractmethod
    def extent(self) -> str:
        """Which values there are, in words that follow "must be"."""

    @abstractmethod
    def find(self, column: Any, of: str) -> Ints:
        """The codes of a plain column, -1 for what is not a value."""

    @abstractmethod
    def named(self, codes: Ints) -> Any:
        """The values with these codes, as an Arrow array."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """All that is needed to make the attribute anew, for JSON or TOML."""

    @property
    def cardinality(self) -> int:
        """How many codes there are."""
        return self.values + (self.other is not None)

    def codes(self, column: Any, of: str = THIS) -> Ints:
        """The codes of a column of the data."""
        data = plain(column)
        found = self.find(data, of)
        outside = found < 0
        if outside.any():
            if self.alike(data.filter(pa.array(outside))):
                raise BadData(
                    f"{of}: some rows hold a label with other blanks or in another form of "
                    "Unicode; write it as in the domain (trim it, and normalise it to NFC)."
                )
            if self.other is None:
                raise BadData(
                    f"{of} must be {self.extent}, but some rows hold something else, or nothing "
                    '(NULL); leave these rows out, or declare a level for them: other="...".'
                )
            found[outside] = self.values
        return found

    def alike(self, column: Any) -> bool:
        """Whether something that is not a value looks like one, and so is no ``other``."""
        return False

    def decode(self, codes: npt.ArrayLike) -> Any:
        """The values with these codes; ``other`` by its name if they are text, and else null."""
        given = checked(codes, self.cardinality)
        if self.other is None:
            return self.named(given)
        found = self.named(np.minimum(given, self.values - 1))
        last = self.other if pa.types.is_large_string(found.type) else None
        return pc.if_else(pa.array(given == self.values), pa.scalar(last, found.type), found)

    def shown(self, codes: npt.ArrayLike) -> Any:
        """The values with these codes as text for people."""
        texts = self.decode(codes).cast(TEXT)
        return texts if self.other is None else texts.fill_null(self.other)

    def span(self, low: Any, high: Any, of: str = THIS) -> tuple[int, int]:
        """The first and the last code of a range, given by the values at its ends.

        For a single value, or for ``other``, give it twice.
        """
        if self.other is not None and self.other in (low, high):
            if low != high:
                raise InvalidInput(f"{of}: {self.other!r} has no place in a range; ask for it.")
            return self.values, self.values
        first, last = self.ends(low, high, of)
        if first > last:
            raise InvalidInput(
                f"{of}: the range from {shown(low)} to {shown(high)} has its ends swapped."
            )
        return first, last

    def ends(self, low: Any, high: Any, of: str) -> tuple[int, int]:
        """The codes at both ends of a range."""
        return self.place(low, of), self.place(high, of)

    def place(self, value: Any, of: str) -> int:
        """The code of one value that somebody asks for."""
        code = self.look_up(value)
        if code < 0:
            raise InvalidInput(f"{of} must be {self.extent}, not {shown(value)}.{self.near(value)}")
        return code

    def look_up(self, value: Any) -> int:
        """The code of one value, -1 if it has none."""
        try:
            return int(self.find(plain(pa.array([value])), "")[0])
        except (TypeError, ValueError, OverflowError, pa.ArrowException):
            return -1

    def near(self, value: Any) -> str:
        """A hint at the value that may have been meant."""
        return ""

    def check(self) -> None:
        """What every attribute is asked when it is made."""
        check_many(self.cardinality)
        if self.other is None:
            return
        if not _is_name(self.other):
            raise InvalidInput('other must be a name for all other values, such as "not stated".')
        if self.look_up(self.other) >= 0:
            raise InvalidInput(f"other is {shown(self.other)}, which is one of the values already.")

    def described(self, **what: Any) -> dict[str, Any]:
        """A description, with ``other`` if it is declared."""
        return what if self.other is None else {**what, "other": self.other}

    def __repr__(self) -> str:
        other = "" if self.other is None else f", other={self.other!r}"
        return f"{type(self).__name__}({self.extent}{other})"


def _is_name(given: Any) -> bool:
    return type(given) is str and bool(given.strip())


def checked(codes: npt.ArrayLike, cardinality: int) -> Ints:
    """Codes, all of which are there."""
    given = np.asarray(codes)
    if given.ndim != 1 or not is_whole(given):
        raise InvalidInput("codes must be one row of whole numbers.")
    if given.size and not (0 <= int(given.min()) and int(given.max()) < cardinality):
        raise InvalidInput(f"codes must be from 0 to {cardinality - 1}.")
    return given.astype(np.int64)


def is_whole(codes: npt.NDArray[Any]) -> bool:
    """Whether an array holds whole numbers, or nothing."""
    return not codes.size or np.issubdtype(codes.dtype, np.integer)
