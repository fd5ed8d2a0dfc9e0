"""A condition chooses the same rows on every engine, of data that is awkward."""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine, Request
from tamis.engines.spark.engine import Spark
from tamis.privacy import randomness
from tests.engines.counting import counts
from tests.sources import Forbidden

DAYS = ["0001-01-01", "1969-12-31", "1970-01-01", "2021-01-01", "2024-01-07", "2024-11-03", None]
MOMENTS = [
    datetime.datetime(1900, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(1970, 1, 1),
    datetime.datetime(2024, 1, 7, 3),
    datetime.datetime(2024, 3, 10, 2, 30),
    datetime.datetime(2024, 11, 3, 5, 30),
    None,
]
TABLE = pa.table(
    {
        "k": list("abcdefg"),
        "x": [1.5, 2.5, -1.5, -0.0, float("nan"), float("inf"), None],
        "f": pa.array([0.1, 2.5, -1.5, -0.0, float("nan"), float("inf"), None], pa.float32()),
        "i": [1, 2, -3, 0, 2**53 + 1, 2**63 - 1, None],
        "w": pa.array([1, 2, -3, 0, 2**31 - 1, -(2**31), None], pa.int32()),
        "m": [Decimal(n) for n in ("1.50", "-1.50", "0.00", "9.99", "0.10", "3.00")] + [None],
        "s": ["a", "a ", "", "É", "a\\b\n", "👍%", None],
        "t": ["A", "\u00a0a\u3000", "ΣΑΣ", "ß", "İ", "\ta", None],
        "n": ["1", "-3", "007", "99999999999", "", "abc", None],
        "b": [True, False, None, True, False, None, True],
        "c": [True, True, True, None, None, False, False],
        "d": pa.array([None if d is None else datetime.date.fromisoformat(d) for d in DAYS]),
        "ts": pa.array(MOMENTS, pa.timestamp("us")),
        "tz": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
    }
)

# each with the keys of the rows that it chooses
CHOSEN: dict[str, str] = {
    # comparisons: NaN is the largest number, and 0 has no sign
    "x = 0": "d",
    "x > 1e308": "ef",
    "x IN (0, 1.5)": "ad",
    "x IN (9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 0)": "d",
    "x NOT IN (1.5, NULL)": "",
    "x IS DISTINCT FROM 1.5": "bcdefg",
    "f = 2.5": "b",
    "f = x": "bcdef",
    "i = 9007199254740993": "e",
    "i > 1.5": "bef",
    "i BETWEEN -3 AND 1.5": "acd",
    "i IS NOT DISTINCT FROM NULL": "g",
    "m = 1.5": "a",
    "m > w": "acdf",
    "m < 1e0": "bce",
    "s = 'a'": "a",
    "s > 'a'": "bdef",
    "s <> ''": "abdef",
    "b = c": "a",
    "b OR c": "abcdg",
    "b AND c": "a",
    "NOT b": "be",
    "b IS NOT TRUE": "bcef",
    "NOT b = c AND b": "g",
    "d = '2024-01-07'": "e",
    "d < tz": "abdef",
    "tz >= '2024-01-07 03:00:00'": "def",
    "tz > TIMESTAMP '1969-12-31 23:59:59.999999'": "cdef",
    "ts = tz": "abcdef",
    # LIKE: a backslash is itself
    "s LIKE 'a%'": "abe",
    "s LIKE 'a\\b_'": "e",
    "s LIKE '_!%' ESCAPE '!'": "f",
    "s NOT LIKE '%a%'": "cdf",
    # numbers
    "w % 2 = -1": "c",
    "i / 2 = 0.5": "a",
    "x * 2 = 3": "a",
    "w * 0 = 0": "abcdef",
    "abs(x) < 1e308": "abcd",
    "isnan(x)": "e",
    "NOT isfinite(x)": "ef",
    "-x = 1.5": "c",
    # text
    "length(s) = 2": "bf",
    "lower(t) = 'σασ'": "c",
    "lower(t) = 'a'": "a",
    "upper(t) = 'SS'": "",
    "trim(t) = 'a'": "b",
    "concat(s, 'z') = 'z'": "cg",
    "s || 'z' = 'z'": "c",
    "left(s, 1) = '👍'": "f",
    "right(s, 1) = ' '": "b",
    "substring(s, 2, 1) = '%'": "f",
    "contains(s, '')": "abcdef",
    "coalesce(s, 'none') = 'none'": "g",
    "nullif(s, 'a') IS NULL": "ag",
    "CASE WHEN b THEN 1 ELSE 2.5 END = 2.5": "bcef",
    # casts: floats are rounded half to even, and text is what all read alike
    "try_cast(x AS INTEGER) = 2": "ab",
    "try_cast(x AS BIGINT) IS NULL": "efg",
    "try_cast(i AS INTEGER) IS NULL": "efg",
    "try_cast(n AS INTEGER) = 7": "c",
    "try_cast(n AS INTEGER) IS NULL": "defg",
    "try_cast(n AS DOUBLE) > 1": "cd",
    "CAST(w AS VARCHAR) = '-2147483648'": "f",
    "CAST(tz AS DATE) = '1969-12-31'": "b",
    # fields of days and moments
    "dayofweek(d) = 0": "ef",
    "weekday(d) = 5": "d",
    "extract(dow FROM d) = 0": "ef",
    "extract(isodow FROM d) = 7": "ef",
    "week(d) = 53": "d",
    "year(d) = 1": "a",
    "hour(tz) = 5": "f",
    "second(ts) = 59": "b",
    # words
    '"X" > 1 -- and no more': "abef",
    "s = $$a$$ /* a */": "a",
}
REFUSED: dict[str, str] = {
    "log(x) < 3": "log",
    "left(s, 99999999999) = 'a'": "left with such numbers",
    "ln(x) < 3": "ln",
    "i ^ 2 = 4": r"\^",
    "i & 1 = 1": "&",
    "i // 2 = 3": "//",
    "1 / i > 0": "/ by what is not a number",
    "w % w = 0": "% of what",
    "m * 2 > 1": r"\* of DECIMAL",
    "CAST(m AS INTEGER) = 2": "a cast of DECIMAL",
    "CAST(x AS VARCHAR) = '7.0'": "a cast of DOUBLE to VARCHAR",
    "CAST(i AS BOOLEAN)": "a cast of BIGINT to BOOLEAN",
    "CAST(s AS DECIMAL(4, 1)) = 1": "parameters",
    "TRY(CAST(n AS INTEGER)) = 1": "TRY",
    "monthname(d) = 'January'": "monthname",
    "dayname(d) = 'Monday'": "dayname",
    "substring(s, 0, 2) = '1'": "substring",
    "hash(i) = 1": "hash",
    "round(x) = 2": "round",
    "s ILIKE 'A'": "~~",
    "s LIKE t": "LIKE",
    "regexp_matches(s, 'a')": "regexp_matches",
    "s COLLATE NOCASE = 'a'": "COLLATE",
    "s > 9": "INTEGER with VARCHAR",
    "i = '1'": "BIGINT with VARCHAR",
    "b = 1": "BOOLEAN with INTEGER",
    "f = 0.1": "FLOAT",
    "i": "BIGINT for true or false",
    "d = '2024-1-7'": "writes a DATE like",
    "tz = '2024-01-07 03:00:00+01'": "writes a TIMESTAMP",
    "d = current_date": "current_date",
    "d + INTERVAL 1 DAY > d": "",
}


def _keys(engine: Engine, data: Any, where: str) -> str:
    return "".join(sorted(key for (key,) in counts(engine, data, Request(("k",), where=where))))


def test_a_condition_chooses_the_rows_that_are_written_down(engine: Engine) -> None:
    assert {where: _keys(engine, TABLE, where) for where in CHOSEN} == CHOSEN


# in files whose statistics leave NaN out, and in which 0 may stand with a sign
FLOATS = pa.table({"k": list("abc"), "x": [1.0, float("nan"), -0.0]})
CHOSEN_FLOATS = {"x > 5": "b", "x < 5": "ac", "NOT x < 5": "b", "isnan(x)": "b", "x = 0": "c"}
MILLIS = pa.table({"x": pa.array([datetime.datetime(2024, 2, 1)] * 9, pa.timestamp("ms", "UTC"))})
OLD = pa.table({"x": [datetime.date(1582, 10, 12)] * 9})
# what is there once as often as it is true of: no statistics may settle it otherwise
SETTLED = [
    (MILLIS, "x < TIMESTAMP '2024-02-01 00:00:00.0005'"),
    (MILLIS, "x <> TIMESTAMP '2024-02-01 00:00:00.0005'"),
    (OLD, "x >= DATE '1582-10-10'"),
    (OLD, "x = DATE '1582-10-12'"),
    (OLD.cast(pa.schema({"x": pa.timestamp("us", "UTC")})), "x >= TIMESTAMP '1582-10-10 00:00:00'"),
]


def test_rows_are_compared_one_by_one_and_not_by_the_statistics_of_a_file(
    engine: Engine, tmp_path: Path
) -> None:
    for kind, rows in itertools.product(("double", "float"), ([0, 1], [2])):
        data = FLOATS.take(rows).set_column(1, "x", FLOATS.take(rows)["x"].cast(kind))
        path = str(tmp_path / f"{kind}{rows[0]}.parquet")
        pq.write_table(data, path)
        there = "".join(data["k"].to_pylist())
        for where, chosen in CHOSEN_FLOATS.items():
            assert _keys(engine, path, where) == "".join(k for k in chosen if k in there), where
    for number, (rows_of_one, where) in enumerate(SETTLED):
        path = str(tmp_path / f"{number}.parquet")
        pq.write_table(rows_of_one.append_column("k", pa.array(["a"] * 9)), path)
        assert counts(engine, path, Request(("k",), where=where)) == {("a",): 9}, where


def test_filters_of_a_frame_look_at_every_row_too(session: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    pq.write_table(FLOATS, tmp_path / "floats.parquet")
    pq.write_table(MILLIS.append_column("k", pa.array(["a"] * 9)), tmp_path / "millis.parquet")
    floats = session.read.parquet(str(tmp_path / "floats.parquet")).where("x > 5")
    late = f.lit("2024-02-01 00:00:00.0005+00:00").cast("timestamp")
    millis = session.read.parquet(str(tmp_path / "millis.parquet")).where(f.col("x") < late)
    with Spark(session=session) as engine:
        assert counts(engine, floats, Request(("k",))) == {("b",): 1}
        assert counts(engine, millis, Request(("k",))) == {("a",): 9}
        assert engine.numbers(floats.selectExpr("1 AS one"), ["one"]).shape == (1, 1)
    assert session.conf.get("spark.sql.parquet.filterPushdown") == "true"


def test_filters_of_what_is_cached_look_at_every_row_too(session: Any) -> None:
    """One row of another person does not decide whether thousands count."""
    many = "SELECT 'many' AS k, double('NaN') AS x FROM range(50)"
    name = "spark.sql.inMemoryColumnarStorage.partitionPruning"
    before = session.conf.get(name)
    with Spark(session=session) as engine:
        for more, found in (("1.0", {}), ("9.0", {("one",): 1})):
            frame = session.sql(f"{many} UNION ALL SELECT 'one', double({more})").coalesce(1)
            cached = frame.cache()
            assert cached.count() == 51
            try:
                rows, asked = cached.where("x > 5"), Request(("k",))
                assert counts(engine, rows, asked) == {("many",): 50, **found}
                numbers = engine.numbers(rows.selectExpr("1 AS one"), ["one"])
                assert numbers.shape == (50 + len(found), 1)
                again = rows.cache()  # it is planned now, with the settings of now
                with pytest.raises(tamis.InvalidInput, match="cached behind a filter"):
                    engine.count(again, asked)
                with pytest.raises(tamis.InvalidInput, match="cached behind a filter"):
                    engine.numbers(again, ["x"])
                again.unpersist()
                whole = cached.where("k <> 'x' AND x IS NOT NULL").cache()  # statistics know these
                assert counts(engine, whole, asked) == {("many",): 50, ("one",): 1}
                whole.unpersist()
            finally:
                cached.unpersist()
    assert session.conf.get(name) == before


def test_floats_of_a_view_are_compared_row_by_row(tmp_path: Path) -> None:
    pq.write_table(FLOATS, tmp_path / "floats.parquet")
    path = str(tmp_path / "d.duckdb")
    with duckdb.connect(path) as database:
        database.execute(f"CREATE VIEW v AS FROM '{tmp_path}/floats.parquet'")
    with DuckDB() as engine:
        for where, chosen in CHOSEN_FLOATS.items():
            found = counts(engine, path, Request(("k",), where=where), "v")
            assert "".join(key for (key,) in sorted(found)) == chosen, where
            assert len(engine.numbers(path, ["x"], f"x <> 'nan' AND ({where})", "v")) == len(
                chosen.replace("b", "")
            )
        with pytest.raises(tamis.BadData, match="unit 'x' is missing in some rows"):
            engine.count(path, Request(("k",), unit="x"), "v")


def _chosen_at_once(frame: Any) -> dict[str, str]:
    """The same by one query, for which all conditions are columns."""
    from tamis.engines.spark.conditions import condition

    columns = [condition(frame, where).alias(f"c{n}") for n, where in enumerate(CHOSEN)]
    rows = frame.select("k", *columns).collect()
    return {
        where: "".join(row["k"] for row in rows if row[f"c{n}"]) for n, where in enumerate(CHOSEN)
    }


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_spark_chooses_these_rows_in_any_zone(session: Any, zone: str) -> None:
    from tamis.engines.spark.frames import frame_of

    before = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", zone)
    try:
        assert _chosen_at_once(frame_of(session, TABLE, [])) == CHOSEN
    finally:
        session.conf.set("spark.sql.session.timeZone", before)


def test_what_may_mean_something_else_to_spark_is_refused(session: Any) -> None:
    with Spark(session=session) as engine, randomness.using(Forbidden()):
        for where, said in REFUSED.items():
            with pytest.raises(tamis.InvalidInput, match=f"^where .*{said}.* on Spark"):
                engine.count(TABLE, Request(("k",), where=where))


@pytest.mark.parametrize("text", ["9.5", " 7 ", "1e3", "0x1f", "1_000", "5.", "٣7"])
def test_text_that_engines_may_read_in_different_ways_is_refused(session: Any, text: str) -> None:
    data = pa.table({"k": [text]})
    with Spark(session=session) as engine, randomness.using(Forbidden()):
        for cast in ("CAST", "try_cast"):
            with pytest.raises(tamis.BadData, match=r"such as 9\.5") as refused:
                engine.count(data, Request(("k",), where=f"{cast}(k AS INTEGER) > 1"))
            assert f"'{text}'" not in str(refused.value).replace("' 7 '", "")


def test_casts_and_sums_need_a_session_in_which_they_can_fail(session: Any) -> None:
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with Spark(session=session) as engine, randomness.using(Forbidden()):
            for where in ("i + 1 > 0", "CAST(n AS INTEGER) > 1"):
                with pytest.raises(tamis.InvalidInput, match=r"ansi\.enabled is false"):
                    engine.count(TABLE, Request(("k",), where=where))
            assert _keys(engine, TABLE, "i > 1") == "bef"
    finally:
        session.conf.set("spark.sql.ansi.enabled", "true")
