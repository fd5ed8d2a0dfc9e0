"""What an attribute is made of is public: checks of what its owner wrote down."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set, ValuesView
from datetime import date, datetime
from typing import Any, NoReturn

import pyarrow.compute as pc

from tamis.privacy.errors import InvalidInput, meant, shown
from tamis.sampling.arrow import texts_of

MOST = 2**63 - 1  # so many values of one attribute, or of attributes packed together, have codes

_COLUMNS = ("__arrow_c_stream__", "__arrow_c_array__", "__array__", "__dataframe__")
_WISHES = ("auto", "data")


def check_public(given: object, what: str) -> None:
    """Refuse what was read off the data: a column, its distinct values, or a wish for them."""
    asked = given is None or (isinstance(given, str) and given in _WISHES)
    if asked or _is_column(type(given)) or isinstance(given, (Set, ValuesView)):
        _refuse(shown(given) if asked else f"a {type(given).__name__}", what)


def _is_column(kind: type) -> bool:
    return any(hasattr(kind, name) for name in _COLUMNS)


def _refuse(given: str, what: str) -> NoReturn:
    raise InvalidInput(
        f"{what} must not come from the data, because a list of the categories seen there tells "
        "which ones occur; write it down from a public source (a code book, the geography of a "
        f"census) as a list of plain values or as a file, not as {given}."
    )


def listed(given: Any, what: str) -> tuple[Any, ...]:
    """A list that its owner wrote down, with something in it."""
    check_public(given, what)
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        raise InvalidInput(f"{what} must be a list, not {type(given).__name__}.")
    if not given:
        raise InvalidInput(f"{what} must be a list with at least one value; this one is empty.")
    for kind in set(map(type, given)):
        if _is_column(kind):  # a value of numpy or Arrow was taken from a column
            _refuse(f"a list of {kind.__name__}", what)
    return tuple(given)


def whole_number(given: Any, what: str) -> int:
    """A whole number that its owner wrote down, of 64 bits."""
    check_public(given, what)
    if type(given) is not int:
        raise InvalidInput(f"{what} must be a whole number, not {shown(given)}.")
    if not -MOST - 1 <= given <= MOST:
        raise InvalidInput(f"{what} must be a whole number of 64 bits, not {shown(given)}.")
    return given


def day(given: Any, what: str) -> date:
    """A date that its owner wrote down, or the same as text: 2024-01-31."""
    check_public(given, what)
    if isinstance(given, str):
        try:
            return date.fromisoformat(given)
        except ValueError:
            pass
    elif isinstance(given, date) and not isinstance(given, datetime):
        return given
    raise InvalidInput(f"{what} must be a date such as 2024-01-31, not {shown(given)}.")


def check_many(cardinality: int) -> None:
    """Codes are numbers of 64 bits."""
    if cardinality > MOST:
        raise InvalidInput(
            f"An attribute has at most 2^63 - 1 values, not {shown(cardinality)}; split it in two."
        )


def folded(texts: Any) -> Any:
    """Texts without what the eye does not see: forms of Unicode, invisible signs, extra blanks."""
    seen = pc.utf8_normalize(pc.replace_substring_regex(texts, r"\p{Cf}", ""), form="NFKC")
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(seen, r"[\s\p{Z}]+", " "))


def check_distinct(texts: Sequence[str], what: str, cased: bool = True) -> None:
    """No two texts may be the same, nor look it."""
    seen: dict[str, str] = {}
    for text, plain in zip(texts, _plain(texts, what), strict=True):
        mark = plain if cased else plain.casefold()
        if mark in seen:
            raise InvalidInput(f"{what} must differ, but {_alike(seen[mark], text, cased)}.")
        seen[mark] = text


def _plain(texts: Sequence[str], what: str) -> list[str]:
    try:
        array = texts_of(texts)
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} must be text that UTF-8 can hold.") from None
    plain: list[str] = folded(array).to_pylist()
    return plain


def _alike(one: str, two: str, cased: bool) -> str:
    if one == two:
        return f"{shown(one)} is there twice"
    but = "in blanks or in their form of Unicode" if cased else "in case, blanks or form of Unicode"
    return f"{shown(one)} and {shown(two)} differ only {but}"


def unknown(name: object, there: Collection[str], what: str) -> InvalidInput:
    """What to raise for a name that is not there."""
    few = f"; there are: {', '.join(there)}." if len(there) <= 30 else "."
    return InvalidInput(f"There is no {what} {shown(name)}{few}{meant(name, there)}")
