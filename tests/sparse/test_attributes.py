"""Values of the data become codes of a public list, or are refused without being named."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.privacy.errors import BadData, InvalidInput
from tamis.sparse.attributes import (
    Attribute,
    Bins,
    Dates,
    Hierarchy,
    Labels,
    Whole,
    attribute,
)
from tests.errors import told

PLACES = {"North": ["Aberdeen", "Leeds"], "South": {"Kent": ["Dover"], "Capital": ["London"]}}
ALL: list[Attribute] = [
    Labels(["female", "male"]),
    Labels([3, 1, 2]),
    Labels([True, False]),
    Whole(-5, 12),
    Bins([0, 0.5, 18, 120]),
    Dates("2023-12-30", "2024-03-03"),
    Dates("2023-12-30", "2024-03-03", by="week"),
    Dates("2023-12-30", "2024-03-03", by="month"),
    Dates("2023-12-30", "2024-03-03", by="year"),
    Hierarchy(PLACES),
]
EACH = pytest.mark.parametrize("a", ALL, ids=repr)


def with_other(a: Attribute) -> Attribute:
    return attribute({**a.describe(), "other": "not stated"})


def codes(a: Attribute, values: list[Any], kind: Any = None) -> list[int]:
    found: list[int] = a.codes(pa.array(values, kind)).tolist()
    return found


# --- all kinds ----------------------------------------------------------------------------------


@EACH
def test_codes_become_values_and_codes_again(a: Attribute) -> None:
    for kind in (a, with_other(a)):
        every = np.arange(kind.cardinality)
        values = kind.decode(every)
        assert len(set(values.to_pylist())) == kind.cardinality
        assert kind.codes(values).tolist() == every.tolist()
        assert kind.codes(kind.shown(every)).tolist() == every.tolist()


@EACH
def test_a_description_makes_the_same_attribute_also_after_json(a: Attribute) -> None:
    for kind in (a, with_other(a)):
        described = json.loads(json.dumps(kind.describe(), sort_keys=True))
        again = attribute(described)
        assert again == kind
        assert hash(again) == hash(kind)
        assert again.decode(range(kind.cardinality)).equals(kind.decode(range(kind.cardinality)))


@EACH
def test_null_is_outside_unless_other_is_declared(a: Attribute) -> None:
    nulls = a.decode([0]).take(pa.array([None, 0], pa.int64()))
    with pytest.raises(BadData, match=r"'size'.*leave these rows out.*other="):
        a.codes(nulls, "Attribute 'size'")
    assert with_other(a).codes(nulls).tolist() == [a.cardinality, 0]
    assert with_other(a).codes(pa.nulls(2)).tolist() == [a.cardinality] * 2


@EACH
def test_an_error_names_the_attribute_and_never_the_value(a: Attribute) -> None:
    with pytest.raises(BadData) as refused:
        a.codes(pa.array(["31415926-secret"]), "Attribute 'size'")
    said = told(refused.value)
    assert "Attribute 'size'" in said
    assert "31415926" not in said
    assert "secret" not in said
    assert with_other(a).codes(pa.array(["31415926-secret"])).tolist() == [a.cardinality]


@EACH
def test_encodings_of_arrow_make_no_difference(a: Attribute) -> None:
    kind = with_other(a)
    every = np.arange(kind.cardinality)
    texts = kind.shown(every)
    views = texts.cast(pa.string_view())
    indices = pa.array([*reversed(range(len(every))), None], pa.int8())
    held = pa.DictionaryArray.from_arrays(indices, views)
    for column in (texts.cast(pa.string()), views, pa.chunked_array([texts, texts]).slice(0, 3)):
        assert kind.codes(column).tolist() == every.tolist()[: len(column)]
    assert kind.codes(held).tolist() == [*reversed(every.tolist()), kind.values]
    assert kind.codes(texts.dictionary_encode()).tolist() == every.tolist()
    assert kind.codes(pc.run_end_encode(texts.cast(pa.string()))).tolist() == every.tolist()
    assert kind.codes(pa.chunked_array([], type=pa.string())).tolist() == []
    empty = pa.chunked_array([], type=pa.dictionary(pa.int8(), pa.string()))
    assert kind.codes(empty).tolist() == []


def test_what_a_dictionary_holds_but_no_row_has_is_not_refused() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array(["nobody", "male"]))
    assert Labels(["female", "male"]).codes(column).tolist() == [1, 1]


@EACH
def test_codes_that_are_not_there_are_refused(a: Attribute) -> None:
    for bad in ([-1], [a.cardinality], [0.5], [[0]], [True]):
        with pytest.raises(InvalidInput, match="codes must be"):
            a.decode(bad)
    assert len(a.decode([])) == 0


@EACH
def test_other_can_be_asked_for_but_is_in_no_range(a: Attribute) -> None:
    kind = with_other(a)
    assert kind.span("not stated", "not stated") == (kind.values, kind.values)
    low = kind.decode([0])[0].as_py()
    with pytest.raises(InvalidInput, match="no place in a range"):
        kind.span(low, "not stated")
    with pytest.raises(InvalidInput, match="must be"):
        a.span("not stated", "not stated")


@EACH
def test_every_range_of_values_is_the_range_of_their_codes(a: Attribute) -> None:
    values = a.decode(range(a.cardinality)).to_pylist()
    for i, low in enumerate(values):
        for j, high in enumerate(values):
            if i <= j:
                assert a.span(low, high) == (i, j)
            else:
                with pytest.raises(InvalidInput, match=r"'size'.*swapped"):
                    a.span(low, high, "Attribute 'size'")
    for outside in (None, object(), 10**30, "nowhere", date(1800, 1, 1), float("nan"), b"x"):
        with pytest.raises(InvalidInput, match="'size' must be") as refused:
            a.span(outside, outside, "Attribute 'size'")
        assert not isinstance(refused.value, BadData)


def test_other_must_be_a_name_of_its_own() -> None:
    for make in (
        lambda other: Labels(["a", "b"], other),
        lambda other: Labels([1, 7], other),
        lambda other: Whole(0, 9, other),
        lambda other: Bins([0, 9], other),
        lambda other: Dates("2024-01-01", "2024-12-31", other=other),
        lambda other: Hierarchy({"n": ["a"]}, other),
    ):
        for bad in ("", "  ", 5, True, ["x"], np.str_("x")):
            with pytest.raises(InvalidInput, match="other must be a name"):
                make(bad)
    with pytest.raises(InvalidInput, match="one of the values"):
        Labels(["a", "b"], "a")
    with pytest.raises(InvalidInput, match="differ only in blanks"):
        Labels(["a", "b"], " a")
    with pytest.raises(InvalidInput, match="one of the values"):
        Labels([1, 7], "7")
    with pytest.raises(InvalidInput, match="one of the values"):
        Whole(0, 9, "5")
    with pytest.raises(InvalidInput, match="one of the values"):
        Bins([0, 9], "[0, 9]")
    with pytest.raises(InvalidInput, match="one of the values"):
        Dates("2024-01-01", "2024-12-31", other="2024-05-01")
    with pytest.raises(InvalidInput, match="must differ"):
        Hierarchy({"n": ["a"]}, "n")


# --- not from the data --------------------------------------------------------------------------

FROM_DATA: list[Any] = [
    None,
    "auto",
    "data",
    pd.Series(["a", "b"]),
    pd.Index(["a", "b"]),
    pd.Categorical(["a", "b"]),
    pl.Series(["a", "b"]),
    np.array(["a", "b"]),
    pa.array(["a", "b"]),
    pa.chunked_array([["a", "b"]]),
    {"a", "b"},
    frozenset({"a"}),
    {"a": 1}.keys(),
    {"a": 1}.values(),
    pa.table({"a": [1]}),
]


@pytest.mark.parametrize("seen", FROM_DATA)
@pytest.mark.parametrize(
    "make",
    [Labels, Bins, Hierarchy, lambda x: Whole(x, 3), lambda x: Dates(x, x)],
    ids=["labels", "bins", "tree", "low", "first"],
)
def test_what_was_read_off_the_data_is_refused(seen: Any, make: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidInput, match=r"not come from the data.*which ones occur.*public"):
        make(seen)


def test_a_list_of_values_of_numpy_is_from_a_column() -> None:
    for seen in (list(np.array(["a", "b"])), list(np.array([1, 2])), list(np.array([0.5, 2]))):
        for make in (Labels, Bins):
            with pytest.raises(InvalidInput, match="not come from the data"):
                make(seen)


def test_labels_that_are_words_for_it_are_labels_all_the_same() -> None:
    assert Labels(["auto", "data"], other="auto data").cardinality == 3


# --- labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([], "at least one"),
        ("abc", "must be a list"),
        ((x for x in "ab"), "must be a list"),
        (["a", "b", "a"], "'a' is there twice"),
        ([1, 2, 1], "there twice"),
        (["a", 1], "all text"),
        ([True, 1], "all text"),
        ([1.0, 2.0], "all text"),
        (["a", None], "all text"),
        ([date(2024, 1, 1)], "all text"),
        ([["a"]], "all text"),
        ([2**63], "64 bits"),
        (["\ud800"], "UTF-8"),
        (["Leeds", "Leeds "], "only in blanks"),
        (["Leeds", " Leeds"], "only in blanks"),
        (["New York", "New  York"], "only in blanks"),
        (["New York", "New\u00a0York"], "only in blanks"),
        (["Leeds", "Le\u200beds"], "only in blanks"),
        (["caf\u00e9", "cafe\u0301"], "form of Unicode"),
        (["ﬁsh", "fish"], "form of Unicode"),
        (["", " "], "only in blanks"),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused(labels: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Labels(labels)


def test_labels_that_differ_in_case_are_two() -> None:
    assert codes(Labels(["us", "US"]), ["US", "us"]) == [1, 0]


@pytest.mark.parametrize("value", ["Leeds ", "\u00a0Leeds", "Le\u200beds", "\uff2ceeds"])
def test_a_value_that_only_looks_like_a_label_is_refused_even_with_other(value: str) -> None:
    for a in (Labels(["Leeds"], "other"), Hierarchy({"North": ["Leeds"]}, "other")):
        with pytest.raises(BadData, match=r"'place'.*trim it") as refused:
            a.codes(pa.array(["elsewhere", None, value]), "Attribute 'place'")
        assert value not in told(refused.value)


def test_labels_of_numbers_and_booleans_are_found_in_columns_of_any_kind() -> None:
    whole = Labels([44, 7], "other")
    for kind in (pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.decimal128(30, 2)):
        assert whole.codes(pa.array([7, 44, 8, None]).cast(kind)).tolist() == [1, 0, 2, 2]
    assert codes(whole, ["7", " 44 ", "7.0", "7.5", "x"]) == [1, 0, 1, 2, 2]
    yes = Labels([True, False], "other")
    assert codes(yes, [False, True, None]) == [1, 0, 2]
    assert codes(yes, ["FALSE", "true", "1"]) == [1, 0, 2]
    assert Labels([1, 0]) != Labels([True, False])


def test_text_labels_match_whole_numbers_unless_zeros_were_lost() -> None:
    assert codes(Labels(["44001", "44003"]), [44003, 44001]) == [1, 0]
    assert codes(Labels(["true", "false"]), [False]) == [1]
    with pytest.raises(BadData, match=r"'fips'.*leading zeros"):
        Labels(["01001", "44003"], "other").codes(pa.array([1001]), "Attribute 'fips'")


@pytest.mark.parametrize(
    ("a", "column"),
    [
        (Labels(["a"], "other"), pa.array([1.5])),
        (Labels(["a"], "other"), pa.array([date(2024, 1, 1)])),
        (Labels(["a"], "other"), pa.array([["a"]])),
        (Labels([1], "other"), pa.array([True])),
        (Labels([True], "other"), pa.array([1])),
        (Whole(0, 1, "other"), pa.array([True])),
        (Whole(0, 1, "other"), pa.array([date(2024, 1, 1)])),
        (Bins([0, 1], "other"), pa.array([True])),
        (Dates("2024-01-01", "2024-12-31", other="other"), pa.array([20240101])),
        (Whole(0, 1, "other"), pa.array([b"1"])),
    ],
    ids=str,
)
def test_a_column_of_another_kind_is_refused_even_with_other(a: Attribute, column: Any) -> None:
    with pytest.raises(BadData, match=r"Attribute 'x' needs a column of .* convert it"):
        a.codes(column, "Attribute 'x'")


def test_a_label_that_is_not_there_brings_a_hint() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'female'"):
        Labels(["female", "male"]).span("femal", "femal")
    with pytest.raises(InvalidInput, match="Did you mean 'South'"):
        Hierarchy(PLACES).span("Sout", "Sout")


def test_a_million_text_labels_are_read_quickly() -> None:
    places = [f"place {n}" for n in range(5_000)]
    a = Labels(places)
    drawn = np.random.default_rng(1).integers(0, 5_000, 1_000_000)
    column = pa.array(places).take(pa.array(drawn))
    start = time.perf_counter()
    found = a.codes(column)
    print(f"10^6 text labels: {time.perf_counter() - start:.3f} s")  # noqa: T201
    assert np.array_equal(found, drawn)


# --- whole numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1, 0, "no values"),
        (0.0, 5, "low must be a whole number"),
        (0, 5.0, "high must be a whole number"),
        (False, 5, "low must be a whole number"),
        (0, True, "high must be a whole number"),
        ("0", 5, "low must be a whole number"),
        (0, 2**63, "64 bits"),
        (0, 2**63 - 1, r"at most 2\^63 - 1 values"),
        (-(2**63), 2**63 - 1, r"at most 2\^63 - 1 values"),
        (np.int64(0), 5, "not come from the data"),
    ],
)
def test_bounds_of_whole_numbers_that_are_refused(low: Any, high: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Whole(low, high)


def test_other_takes_one_of_the_codes() -> None:
    assert Whole(0, 2**63 - 2).cardinality == 2**63 - 1
    with pytest.raises(InvalidInput, match="at most"):
        Whole(0, 2**63 - 2, "other")


EXTREMES = [-(2**63), -(2**63) + 1, -(2**53) - 1, -1, 0, 1, 2**53 + 1, 2**63 - 2, 2**63 - 1]


@pytest.mark.parametrize(("low", "high"), [(-(2**63), -2), (1, 2**63 - 1), (-(2**62), 2**62 - 2)])
def test_the_largest_numbers_keep_their_codes(low: int, high: int) -> None:
    a = Whole(low, high)
    inside = [n for n in EXTREMES if low <= n <= high]
    expected = [n - low for n in inside]
    assert codes(a, inside, pa.int64()) == expected
    assert codes(a, [str(n) for n in inside]) == expected
    assert codes(a, [Decimal(n) for n in inside], pa.decimal128(30, 4)) == expected
    assert a.decode(expected).to_pylist() == inside
    for n in {*EXTREMES, 2**63, 2**64 - 1, -(2**63) - 1} - set(inside):
        with pytest.raises(InvalidInput):
            codes(a, [str(n)])


def test_numbers_that_are_not_whole_or_not_of_64_bits_are_outside() -> None:
    a = Whole(0, 9, "other")
    assert codes(a, [1.0, 1.5, float("nan"), float("inf"), -1e300, 2.0**63]) == [1] + [10] * 5
    assert codes(a, [2**64 - 1, 3], pa.uint64()) == [10, 3]
    texts = ["+7", " 7 ", "007", "7.", "7.00", "7.5", "7e0", "0x7", "", "-", "7" * 60, "\u0667"]
    assert codes(a, texts) == [7] * 5 + [10] * 7
    assert codes(a, [Decimal("7.0"), Decimal("7.5")], pa.decimal32(5, 2)) == [7, 10]
    assert codes(a, [Decimal("7"), Decimal(10) ** 70], pa.decimal256(76, 2)) == [7, 10]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
)
def test_every_width_of_whole_numbers_is_read(kind: Any) -> None:
    assert codes(Whole(5, 9), [5, 9, 7], kind) == [0, 4, 2]


# --- bins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([], "bins must be a list with at least one"),
        ([1], "bins must have two edges or more"),
        ([1, 1], "each larger than the one before"),
        ([2, 1], "each larger than the one before"),
        ([0, float("nan")], "finite numbers"),
        ([0, float("inf")], "finite numbers"),
        ([0, 10**400], "finite numbers"),
        ([0, 2**53 + 1], "which a float holds"),
        ([0, True], "finite numbers"),
        ([0, "1"], "finite numbers"),
        ([0, None], "finite numbers"),
        ([0, Decimal(1)], "finite numbers"),
    ],
)
def test_edges_that_make_no_bins_are_refused(edges: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Bins(edges)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8, unique=True).map(sorted),
    st.lists(st.floats(-2e6, 2e6) | st.just(float("nan"))),
)
def test_a_number_is_in_the_bin_whose_edges_are_around_it(
    edges: list[float], more: list[float]
) -> None:
    a, values = Bins(edges, "other"), [*edges, *more]
    last = len(edges) - 2
    for x, code in zip(values, codes(a, values, pa.float64()), strict=True):
        if code == a.values:
            assert not edges[0] <= x <= edges[-1]
        else:
            assert edges[code] <= x
            assert x < edges[code + 1] or (code == last and x == edges[-1])
    assert codes(a, [repr(x) for x in values]) == codes(a, values, pa.float64())


def test_numbers_of_all_kinds_have_bins() -> None:
    a = Bins([0.1, 0.3, 20], "other")
    tenths = [Decimal("0.1"), Decimal("0.2"), Decimal("0.3"), Decimal("20"), Decimal("20.1")]
    for kind in (pa.decimal32(5, 2), pa.decimal128(38, 30), pa.decimal256(76, 40)):
        assert codes(a, tenths, kind) == [0, 0, 1, 1, 2]
    assert codes(a, ["0.1", " .2 ", "3e-1", "2E1", "1e999", "nan", "inf", "0,2", ""]) == (
        [0, 0, 1, 1, 2, 2, 2, 2, 2]
    )
    assert codes(a, [2**63 - 1, 20, None], pa.int64()) == [2, 1, 2]
    assert codes(a, [2**64 - 1, 20, 0], pa.uint64()) == [2, 1, 2]


def test_bins_are_named_by_their_edges_as_they_are_written() -> None:
    a = Bins([0.0, 18, 29.5, 120], "unknown")
    assert a.decode(range(4)).to_pylist() == ["[0, 18)", "[18, 29.5)", "[29.5, 120]", "unknown"]
    assert a == Bins([0, 18.0, 29.5, 120], "unknown")


def test_a_range_of_bins_goes_from_edge_to_edge() -> None:
    a = Bins([0, 18, 30, 45, 120])
    assert a.span(18, 45) == a.span("18", "45") == a.span("[18, 30)", "[30, 45)") == (1, 2)
    assert a.span(18, 120) == (1, 3)
    assert a.span(20, 20) == a.span("20", "20") == (1, 1)
    assert a.span(120, 120) == (3, 3)
    with pytest.raises(InvalidInput, match=r"cuts a bin in two.* next to 20 are 18 and 30"):
        a.span(20, 45)
    with pytest.raises(InvalidInput, match=r"cuts a bin in two.* next to 44.9 are 30 and 45"):
        a.span(18, 44.9)
    with pytest.raises(InvalidInput, match="swapped"):
        a.span(45, 18)
    for low, high in ((-1, 18), (18, 121)):
        with pytest.raises(InvalidInput, match="must be a number from 0 to 120"):
            a.span(low, high)


# --- dates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "by", "said"),
    [
        ("2024-01-02", "2024-01-01", "day", "no values"),
        ("2024-02-30", "2024-12-31", "day", "first must be a date"),
        ("2024-01-01", datetime(2024, 12, 31), "day", "last must be a date"),
        (2024, 2025, "year", "first must be a date"),
        ("2024-01-01", "2024-12-31", "weeks", "Did you mean 'week'"),
        ("2024-01-01", "2024-12-31", None, "by must be day"),
        ("2024-01-01", "2024-12-31", ["day"], "by must be day"),
    ],
)
def test_periods_that_are_refused(first: Any, last: Any, by: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Dates(first, last, by)


@given(st.dates(), st.dates(), st.sampled_from(["day", "week", "month", "year"]), st.data())
def test_periods_are_those_of_the_calendar(one: date, two: date, by: str, data: Any) -> None:
    first, last = min(one, two), max(one, two)
    a = Dates(first, last, by)
    x = data.draw(st.dates(first, last))
    (code,) = codes(a, [x])
    begin = a.decode([code])[0].as_py()
    assert begin == max(first, _begin(x, by))
    assert codes(a, [x.isoformat()]) == [code]
    assert (code == 0) == (_begin(x, by) == _begin(first, by))
    assert codes(a, [last]) == [a.cardinality - 1]
    if begin > first:
        assert codes(a, [begin - timedelta(days=1)]) == [code - 1]


def _begin(x: date, by: str) -> date:
    days = {"day": 0, "week": x.weekday(), "month": x.day - 1, "year": x.timetuple().tm_yday - 1}
    return x - timedelta(days=days[by])


def test_moments_count_for_their_day_in_utc() -> None:
    a = Dates("1969-12-30", "2024-12-31", other="other")
    late = datetime(1969, 12, 31, 23, 59, 59)
    for unit in ("s", "ms", "us", "ns"):
        assert codes(a, [late, None], pa.timestamp(unit)) == [1, a.values]
    east = datetime(1970, 1, 1, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    assert codes(a, [east], pa.timestamp("us", "Europe/Berlin")) == [1]
    assert codes(a, [date(1969, 12, 31), None], pa.date64()) == [1, a.values]
    assert codes(a, [2**62, -(2**62)], pa.timestamp("s")) == [a.values] * 2


def test_dates_as_text_are_read_if_they_are_clear() -> None:
    a = Dates("2024-01-01", "2024-12-31", other="other")
    good = ["2024-02-29", " 2024-02-29 ", "2024-02-29 23:59", "2024-02-29T23:59:59.123456Z"]
    assert codes(a, [*good, "2024-02-29 10:00:00+00"]) == [59] * 5
    bad = ["2024-02-30", "2024-13-01", "2024-00-10", "2024-01-00", "29/02/2024", "2024-2-9", ""]
    assert codes(a, [*bad, "2024-02-29T10:00:00+02:00"]) == [a.values] * 8


def test_ends_of_a_range_of_dates_name_the_periods_they_are_in() -> None:
    a = Dates("2024-01-01", "2024-12-31", by="month")
    assert a.span("2024-02-01", "2024-03-01") == a.span(date(2024, 2, 9), "2024-03-31") == (1, 2)


# --- trees --------------------------------------------------------------------------------------


def test_inner_nodes_are_ranges_of_leaves() -> None:
    a = Hierarchy(PLACES)
    assert a.decode(range(4)).to_pylist() == ["Aberdeen", "Leeds", "Dover", "London"]
    assert a.span("North", "North") == (0, 1)
    assert a.span("South", "South") == (2, 3)
    assert a.span("Kent", "Kent") == (2, 2)
    assert a.span("Leeds", "Kent") == (1, 2)
    assert a.span("North", "South") == a.span("Aberdeen", "Capital") == (0, 3)
    for low, high in (("South", "North"), ("South", "Leeds"), ("Leeds", "North")):
        with pytest.raises(InvalidInput, match="swapped"):
            a.span(low, high)
    for node in ("North", "Kent"):
        with pytest.raises(BadData):
            codes(a, [node])


def test_a_tree_may_mix_leaves_and_nodes_and_be_of_numbers() -> None:
    a = Hierarchy(["Isles", {"North": ["Leeds", {"Far": ["Wick"]}]}, {"South": ["Dover"]}])
    assert a.span("North", "North") == (1, 2)
    assert a.span("Isles", "Far") == (0, 2)
    assert replace(a, other="abroad").tree == a.tree
    ages = Hierarchy({"young": [1, 2], "old": [3]})
    assert codes(ages, [3, 1]) == [2, 0]
    assert ages.span("young", 3) == (0, 2)


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({}, "something below"),
        ([], "at least one"),
        ({"North": []}, "at least one"),
        ({"North": {}}, "something below"),
        ({"North": "Leeds"}, "must be a list"),
        ({"North": None}, "not come from the data"),
        ({"North": pd.Series(["Leeds"])}, "not come from the data"),
        ({1: ["Leeds"]}, "names of text"),
        ({"North": ["Leeds"], "South": ["Leeds"]}, "must differ"),
        ({"Leeds": ["Leeds"]}, "must differ"),
        ({"North": ["Leeds"], "South": {"North": ["Dover"]}}, "must differ"),
        ({"North": ["Leeds"], "North ": ["Dover"]}, "only in blanks"),
        ({"North": ["Leeds", 1]}, "all text"),
        ({"North": [["Leeds"]]}, "all text"),
    ],
)
def test_trees_that_are_refused(tree: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Hierarchy(tree)


# --- descriptions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ({}, "none of these"),
        ({"other": "x"}, "none of these"),
        ({"labels": ["a"], "bins": [0, 1]}, "more than one"),
        ({"low": 1}, "high is missing"),
        ({"by": "day"}, "first is missing"),
        ({"lables": ["a"]}, "Did you mean 'labels'"),
        ({"labels_file": "a.txt"}, "no entry 'labels_file'"),
        ({"cardinality": 0}, "1 or more"),
        ({"cardinality": 2**63}, "at most"),
        ({"cardinality": "auto"}, "not come from the data"),
        ([1], "entries such as"),
    ],
)
def test_descriptions_that_are_refused(described: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        attribute(described)


def test_a_cardinality_is_that_many_whole_numbers() -> None:
    assert attribute({"cardinality": 5, "other": "x"}) == Whole(0, 4, "x")
