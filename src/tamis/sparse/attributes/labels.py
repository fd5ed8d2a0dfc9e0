"""Attributes whose values are listed one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.privacy.errors import BadData, InvalidInput, meant, shown
from tamis.sampling.arrow import column_of, texts_of
from tamis.sparse.attributes.base import Attribute, Ints
from tamis.sparse.attributes.columns import TEXT, filled, is_text, whole, wrong
from tamis.sparse.attributes.public import check_distinct, folded, listed, whole_number

Label = str | int | bool

_KINDS = {str: "text", int: "whole numbers", bool: "booleans"}


@dataclass(frozen=True, repr=False)
class Labels(Attribute):
    """Text, whole numbers or booleans, in the given order.

    >>> sex = Labels(["female", "male"], other="not stated")
    >>> sex.codes(pa.array(["male", None, "female"])).tolist()
    [1, 2, 0]
    """

    labels: Sequence[Label]
    other: str | None = None
    kind: type = field(init=False)  # True equals 1, but labels of it do not

    def __post_init__(self) -> None:
        labels = listed(self.labels, "labels")
        object.__setattr__(self, "labels", labels)
        kinds = {type(label) for label in labels}
        object.__setattr__(self, "kind", type(labels[0]))
        if len(kinds) > 1 or not kinds <= set(_KINDS):
            raise InvalidInput(
                "labels must be all text, all whole numbers or all booleans, not "
                f"{', '.join(sorted(kind.__name__ for kind in kinds))}."
            )
        if self.kind is int:
            for label in labels:
                whole_number(label, "labels")
        self.check()
        names = [*labels] if self.other is None else [*labels, self.other]
        check_distinct([str(name) for name in names], "labels")

    @cached_property
    def _array(self) -> Any:
        if self.kind is str:
            return texts_of([str(label) for label in self.labels])
        return pa.array(self.labels, pa.int64() if self.kind is int else pa.bool_())

    @property
    def values(self) -> int:
        return len(self.labels)

    @property
    def extent(self) -> str:
        if len(self.labels) <= 3:
            return "one of " + ", ".join(map(shown, self.labels))
        return f"one of {len(self.labels):,} labels, from {shown(self.labels[0])} on"

    def find(self, column: Any, of: str) -> Ints:
        read = {str: self._texts, int: whole, bool: _booleans}[self.kind]
        return filled(pc.index_in(read(column, of), value_set=self._array), -1)

    def _texts(self, column: Any, of: str) -> Any:
        if is_text(column):
            return column
        if pa.types.is_integer(column.type) and self._padded:
            raise BadData(
                f"{of} has labels with leading zeros, which whole numbers in its column have lost; "
                "read the column as text."
            )
        if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
            return column.cast(TEXT)
        raise wrong(column, of, "text")

    @cached_property
    def _padded(self) -> bool:
        return bool(pc.any(pc.match_substring_regex(self._array, r"^[+-]?0[0-9]+$")).as_py())

    def alike(self, column: Any) -> bool:
        if self.kind is not str or not is_text(column):
            return False
        seen = folded(pc.unique(column.drop_null()))
        return bool(pc.any(pc.is_in(seen, value_set=folded(self._array))).as_py())

    def named(self, codes: Ints) -> Any:
        return self._array.take(column_of(codes))

    def near(self, value: Any) -> str:
        return meant(value, self.labels)

    def describe(self) -> dict[str, Any]:
        return self.described(labels=list(self.labels))


def _booleans(column: Any, of: str) -> Any:
    if pa.types.is_boolean(column.type):
        return column
    if not is_text(column):
        raise wrong(column, of, "booleans")
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    known = pc.is_in(texts, value_set=pa.array(["true", "false"], TEXT))
    return pc.if_else(known, pc.equal(texts, "true"), pa.scalar(None, pa.bool_()))
