"""Tables as people see them: whatever stands in a key, columns are straight and nothing escapes."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.weighted.show import (
    as_html,
    as_text,
    column,
    printable,
    shorten,
    side_by_side,
    width,
)

ESCAPED = {
    "a\nb": r"a\nb",
    "a\tb\r": r"a\tb\r",
    "\x1b[31mred": r"\x1b[31mred",
    "\x00\x7f\x9b": r"\x00\x7f\x9b",
    "\u202etxt": r"\u202etxt",  # would turn the direction of the line
    "\u2028": r"\u2028",
    "\U000e0041": r"\U000e0041",
}
WIDTHS = {
    "": 0,
    "abc": 3,
    "é": 1,
    "e\u0301": 1,
    "日本": 4,
    "\uff21\uff22": 4,
    "한": 2,
    "😀": 2,
    "שלום": 4,
}


def table(*keys: str) -> pa.Table:
    return pa.table({"key": pa.array(keys, pa.string()), "n": list(range(len(keys)))})


@pytest.mark.parametrize("text", ESCAPED)
def test_what_does_not_print_is_spelt_out(text: str) -> None:
    assert printable(text) == ESCAPED[text]


@pytest.mark.parametrize("text", WIDTHS)
def test_wide_characters_take_two_columns_and_marks_none(text: str) -> None:
    assert width(text) == WIDTHS[text]


@given(st.text(max_size=130))
def test_a_cell_is_printable_and_never_wider_than_forty_columns(text: str) -> None:
    cell = shorten(printable(text))
    assert cell.isprintable()
    assert width(cell) <= 40
    assert len(cell) <= 101
    assert cell == printable(text) or cell.endswith("…")


@settings(deadline=None)  # the first call loads what Arrow needs
@given(st.lists(st.text(max_size=60), max_size=12))
def test_every_line_is_one_row_and_all_rows_are_equally_wide(keys: list[str]) -> None:
    rows = 1 + min(10, len(keys))
    lines = as_text(table(*keys), ["n"], "closing").split("\n")
    assert len(lines) == rows + (len(keys) > 10) + 1
    assert all(line.isprintable() for line in lines)
    assert len({width(line) for line in lines[:rows]}) == 1


def test_wide_keys_do_not_move_the_next_column() -> None:
    assert as_text(table("日本", "e\u0301", "abcde"), ["n"], "end").split("\n") == [
        "key    n",
        "日本   0",
        "e\u0301      1",
        "abcde  2",
        "end",
    ]


def test_rows_beyond_the_tenth_are_counted() -> None:
    assert "\n... and 1 more row\n" in as_text(table(*"abcdefghijk"), ["n"], "end")
    assert "<p>... and 2 more rows</p>" in as_html(table(*"abcdefghijkl"), ["n"], "end")
    assert "more" not in as_text(table(*"abcdefghij"), ["n"], "end")


def test_html_holds_the_rows_and_nothing_that_a_key_or_a_name_could_add() -> None:
    hostile = table("<script>alert('1')</script>", "a & b\n\x1b[0m").rename_columns(["<b>", "n"])
    page = as_html(hostile, ["n"], "for one <i>")
    assert page.count("<tr>") == 3
    assert "<th>&lt;b&gt;</th><th>n</th>" in page
    assert "<td>&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;</td><td>0</td>" in page
    assert r"<td>a &amp; b\n\x1b[0m</td>" in page
    assert page.endswith("<p>for one &lt;i&gt;</p></div>")


def test_html_says_that_dollars_are_not_formulas() -> None:
    assert as_html(table("$1 and $2"), ["n"], "end").startswith(
        '<div class="tex2jax_ignore mathjax_ignore"><table>'
    )


def test_values_are_shown_as_in_a_database() -> None:
    shown = pa.table(
        {
            "text": ["a", None],
            "truth": [True, False],
            "bytes": [b"\x00\xff", b""],
            "year": [2024, 7],
            "day": [datetime.date(2024, 5, 1), None],
            "n": [1234567, 2],
            "mean": [1234.56, 0.0],
        }
    )
    assert as_text(shown, ["n", "mean"], "end").split("\n") == [
        "text  truth  bytes  year  day                 n     mean",
        "a     true   00ff   2024  2024-05-01  1,234,567  1,234.6",
        "NULL  false            7  NULL                2      0.0",
        "end",
    ]


def test_a_date_beyond_the_calendar_of_python_is_shown() -> None:
    far = pa.table({"day": pa.array([10**7], pa.int32()).cast(pa.date32())})
    assert "29349-01-26" in as_text(far, [], "end")


def test_columns_of_numbers_are_laid_out_without_a_table() -> None:
    shown = side_by_side([column("name", ["a", "bc"]), column("n", [1000, "never"])])
    assert shown.split("\n") == ["name      n", "a     1,000", "bc    never"]
