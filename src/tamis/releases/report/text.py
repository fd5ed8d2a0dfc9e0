"""Text that is safe in a page, and numbers as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape
from typing import Any

from tamis.weighted.show import printable, shorten

SEVERAL = 8  # names of attributes that are shown
_LONG = 102  # characters; fewer are shown
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def safe(value: object) -> str:
    """Anything as text with nothing in it for a browser to interpret."""
    return escape(printable(str(value)))


def cell(scalar: Any) -> str:
    """A key, or a part of one, as it stands in a table.

    Text that could not be seen, or not where it ends, stands in quotes.
    """
    if not scalar.is_valid:
        return "<em>NULL</em>"
    try:
        value = scalar.as_py()
    except (OverflowError, ValueError):  # a date that Python cannot hold
        value = scalar.cast("string")
    text = str(value)[:_LONG]
    return short(f'"{text}"' if text != text.strip() or text[:1] in ('"', "") else text)


def short(text: str) -> str:
    """Text that stays in its cell, also when it is long or runs from right to left."""
    return f"<bdi>{escape(shorten(printable(text[:_LONG])))}</bdi>"


def small(value: float) -> str:
    """A small number, in powers of ten where that is shorter.

    >>> small(1e-8), small(0.25), small(2.5e-7), small(0.0)
    ('10⁻⁸', '0.25', '2.5×10⁻⁷', '0')
    """
    plain = f"{value:.6g}"
    if "e" not in plain:
        return plain
    digits, power = plain.split("e")
    raised = "10" + str(int(power)).translate(_RAISED)
    return raised if digits == "1" else f"{digits}×{raised}"


def one_in(probability: float) -> str:
    """A small probability as odds that can be pictured.

    >>> one_in(1e-8), one_in(0.03), one_in(3e-15)
    ('1 in 100 million', '1 in 33', '1 in 330 trillion')
    """
    ways = 1 / probability
    for size, name in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if ways >= size:
            return f"1 in {_two_digits(ways / size):,.10g}{name}"
    return f"1 in {_two_digits(ways):,.10g}"


def frequency(value: float) -> str:
    """A frequency on an axis.

    >>> frequency(20_000), frequency(5_000_000), frequency(1e-5)
    ('20,000', '5×10⁶', '10⁻⁵')
    """
    return small(value) if value >= 1e6 or value < 1e-4 else f"{value:,.6g}"


def percent(share: float) -> str:
    """A probability in per cent; what is neither never nor always does not look so.

    >>> percent(0.123), percent(0.99999), percent(3e-6), percent(1.0)
    ('12.3 %', 'over 99.9 %', 'under 0.1 %', '100 %')
    """
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    return f"{100 * share:.3g} %"


def many(number: int) -> str:
    """A whole number of any size.

    >>> many(657_721), many(2**100)
    ('657,721', '1.27×10³⁰')
    """
    if number < 10**12:
        return f"{number:,}"
    digits, power = f"{Decimal(number):.2e}".split("e+")
    return f"{digits}×10{power.translate(_RAISED)}"


def several(names: Sequence[str], word: str = ", ") -> str:
    """Names as ready HTML, those beyond the first few by their number.

    >>> several(["home", "work"], " and "), several([str(n) for n in range(99)])
    ('home and work', '0, 1, 2, 3, 4, 5, 6, 7 and 91 more')
    """
    more = f" and {len(names) - SEVERAL} more" if len(names) > SEVERAL else ""
    return word.join(safe(name) for name in names[:SEVERAL]) + more


def listed(said: dict[str, str]) -> str:
    """The handful of facts that come first, ready HTML by name."""
    return (
        '<dl class="facts">'
        + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in said.items())
        + "</dl>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str, kind: str = "") -> str:
    """A table of ready HTML; the first cell of a row names it."""
    top = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{c}</td>" for c in rest) + "</tr>\n"
        for first, *rest in rows
    )
    return (
        f'<div class="scroll" role="region" aria-label="{caption}" tabindex="0">'
        f'<table class="{kind}"><caption>{caption}</caption>\n<thead><tr>{top}</tr></thead>\n'
        f"<tbody>\n{body}</tbody></table></div>"
    )


def _two_digits(value: float) -> float:
    scale = 10 ** (math.floor(math.log10(value)) - 1)
    return math.floor(value / scale + 1e-9) * scale if scale > 1 else math.floor(value + 1e-9)
