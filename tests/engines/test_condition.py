"""A condition may look at one row only, and must say the same of it every time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.engines.condition import check_condition
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine, Request
from tamis.privacy import randomness
from tests.engines.counting import counts
from tests.errors import behind, told
from tests.sources import Forbidden

COLUMNS = ["k", "age", "day", "Tags"]

FINE = [
    "k = 'a'",
    "k LIKE 'a%' OR k ILIKE '%b' AND NOT age BETWEEN 1 AND 5",
    "lower(k) IN ('a', 'b') -- a comment",
    "day >= DATE '2020-01-01' - INTERVAL 3 DAYS",
    "extract(year FROM day) = 2020",
    "day < current_date",
    "day < today()",
    "CASE WHEN age > 3 THEN k = 'a' ELSE k IS NOT NULL END",
    "tags[1] = 'x' AND len(TAGS) > 2",
    "age::INTEGER % 2 = 0 AND try_cast(k AS INTEGER) > 1",
    "k ~ '^a' AND regexp_matches(k, 'b')",
    "(k, age) = ('a', 3)",
    "k = ')'",
    "k = ') OR (1=1 --'",
    "\"k\" = 'it''s'",
    "repeat(k, 2) = 'aa' AND list_contains(range(3), age)",
]


@pytest.mark.parametrize("where", FINE)
def test_conditions_on_a_row_are_taken_as_they_are(where: str) -> None:
    assert check_condition(where, COLUMNS) == where


REFUSED = {
    "other rows": [
        "k IN (SELECT k FROM data)",
        "EXISTS (FROM data)",
        "age > (SELECT avg(age) FROM data)",
        "count(*) > 1",
        "age = max(age)",
        "row_number() OVER () < 5",
        "sum(age) OVER (PARTITION BY k) < 5",
        "stats(k) = 'x'",
    ],
    "hidden columns": ["rowid < 5", "file_row_number < 5", "filename = 'x'", "data.k = 'a'"],
    "chance and state": ["random() < 0.5", "uuid() > k", "nextval('s') = 1", "setseed(0.5)"],
    "the world outside": ["getenv('HOME') = 'x'", "main.f(k)", "a.b.f(k)", "no_such(k)"],
    "other tables": ["pg_get_viewdef(1) = k", "pg_sleep(1) IS NULL", "get_block_size('data') > 1"],
    "more than a condition": [
        "true) GROUP BY (k",
        "true) HAVING (true",
        "true) QUALIFY (row_number() OVER () = 1",
        "true) LIMIT (1",
        "true) ORDER BY (k",
        "true) UNION ALL SELECT 1 FROM data WHERE (true",
        "true) OR (true",
        "true) FILTER (WHERE true",
        "true) OVER (",
        "true) USING SAMPLE 10 ROWS --",
        "1=1) --",
        "1=1; DROP TABLE data",
        "true, true",
        "x := true",
        "true ORDER BY k",
        "DISTINCT true",
        "*",
        "",
        " \n",
        "-- nothing",
        "garbage garbage",
        "'",
        '"',
        "/* open",
        "?",
        "$1 = 1",
        "list_filter(Tags, lambda k: k = 'a') = []",
    ],
}  # fmt: skip


@pytest.mark.parametrize("where", [w for ways in REFUSED.values() for w in ways], ids=repr)
def test_what_looks_elsewhere_or_says_more_is_refused(where: str) -> None:
    with pytest.raises(tamis.InvalidInput, match=r"^(where|data has no column) .*[.?]$"):
        check_condition(where, COLUMNS)


@pytest.mark.parametrize("where", [5, None, [], b"k = 1", "k = '\ud800'"], ids=ascii)
def test_what_is_no_text_is_refused(where: Any) -> None:
    with pytest.raises(tamis.InvalidInput, match=r"^where .* in SQL.*\.$"):
        check_condition(where, COLUMNS)


def test_a_misspelt_column_is_guessed() -> None:
    with pytest.raises(tamis.InvalidInput, match=r"no column 'agee'.* Did you mean 'age'"):
        check_condition("agee > 3", COLUMNS)


def test_conditions_on_a_release_may_name_columns_that_are_checked_later() -> None:
    assert check_condition("anything = 1") == "anything = 1"


@pytest.mark.parametrize("where", ["age > 'x'", "age + k > 2", "k.part = 1", "age[1] = 'a'"])
def test_conditions_that_do_not_fit_the_types_are_refused_before_any_draw(
    engine: Engine, where: str
) -> None:
    data = pa.table({"k": ["secret"], "age": [5]})
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput) as refused:
        engine.count(data, Request(("k",), where=where))
    assert list(behind(refused.value)) == [refused.value]


FAILS = r"fails on some row: (put TRY\(|write try_cast\()"


def test_a_condition_that_fails_on_some_rows_shows_none_of_them(engine: Engine) -> None:
    data = pa.table({"k": ["5", "secret"]})
    with pytest.raises(
        tamis.BadData, match=r"fails on some row: (put TRY\(|write try_)"
    ) as refused:
        engine.count(data, Request(("k",), where="k::INTEGER = 5"))
    assert "secret" not in told(refused.value)
    assert "Exception" not in str(refused.value)
    assert list(behind(refused.value)) == [refused.value]
    assert counts(engine, data, Request(("k",), where="try_cast(k AS INTEGER) = 5")) == {("5",): 1}


def test_a_condition_may_be_tried() -> None:
    with DuckDB() as engine:
        data = pa.table({"k": ["5", "secret"]})
        assert counts(engine, data, Request(("k",), where="TRY(k::INTEGER) = 5")) == {("5",): 1}


def test_a_number_that_grows_too_large_in_a_condition_is_no_damaged_file(engine: Engine) -> None:
    data = pa.table({"k": [2**63 - 1]})
    with pytest.raises(tamis.BadData, match=FAILS):
        engine.count(data, Request(("k",), where="k * k > 5"))


def test_a_comment_at_the_end_of_a_condition_hides_nothing(engine: Engine) -> None:
    data = pa.table({"k": ["a", None, "b"]})
    assert counts(engine, data, Request(("k",), where="k = 'a' OR k IS NULL --")) == {("a",): 1}
