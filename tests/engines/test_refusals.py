"""What no engine counts, each with the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.engines.protocol import Engine, Request
from tamis.privacy import randomness
from tests.errors import told
from tests.sources import Forbidden

COLUMNS_REFUSED: dict[str, tuple[Request, str]] = {
    "key": (Request(("kk",)), "no column 'kk'; its columns are: k, u, n, f, l.* mean 'k'"),
    "unit": (Request(("k",), "users"), "no column 'users'"),
    "unit without a name": (Request(("k",), ""), "no column ''"),
    "count": (Request(("k",), count="m"), "no column 'm'"),
    "key twice": (Request(("k", "k")), "different columns"),
    "key as unit": (Request(("k",), "k"), "different columns"),
    "key as count": (Request(("n",), count="n"), "different columns"),
    "a list": (Request(("l",)), "'l' is of type LIST"),
    "a float": (Request(("f",)), "'f' is of type DOUBLE"),
}


@pytest.mark.parametrize(("asked", "words"), COLUMNS_REFUSED.values(), ids=COLUMNS_REFUSED)
def test_columns_that_cannot_be_used_are_refused(
    engine: Engine, asked: Request, words: str
) -> None:
    data = pa.table({"k": ["a"], "u": [1], "n": [1], "f": [1.5], "l": [["secret"]]})
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=words) as refused:
        engine.count(data, asked)
    assert "secret" not in str(refused.value)


COUNTS_REFUSED: dict[str, tuple[Any, str]] = {
    "negative": ([1, -1], "below 1"),
    "zero": ([1, 0], "below 1"),
    "fraction": ([1.5, 1], "fractions"),
    "nan": ([1.0, float("nan")], "not a number; repair"),
    "nan with a sign": ([1.0, -float("nan")], "not a number"),
    "infinite": ([1.0, float("inf")], "too large"),
    "missing": ([1, None], "not a number"),
    "text": (["1", "secret"], "not a number"),
    "text with a fraction": (["1", "1.5"], "fractions"),
    "truth": ([True, True], "type is BOOLEAN"),
    "beyond floats": ([1.0, 2.0**54], "too large"),
    "large": (pa.array([1, 2**63], pa.uint64()), "too large"),
    "large together": ([2**61] * 2, "adds up to 2\\^62"),
}


@pytest.mark.parametrize(("values", "words"), COUNTS_REFUSED.values(), ids=COUNTS_REFUSED)
def test_bad_counts_are_refused_by_name_before_any_draw(
    engine: Engine, values: Any, words: str
) -> None:
    data = pl.DataFrame({"k": ["secret"] * 2, "n": values}, strict=False)
    with randomness.using(Forbidden()), pytest.raises(tamis.BadData, match=words) as refused:
        engine.count(data, Request(("k",), count="n"))
    assert str(refused.value).startswith("n ")
    assert "secret" not in str(refused.value)


UNITS: dict[str, tuple[Any, str, str]] = {
    "missing": (["a", None], "u", "u IS NOT NULL"),
    "missing, of a name in quotes": (["a", None], "the user", '"the user" IS NOT NULL'),
    "nan": ([1.5, float("nan")], "u", "u IS NOT NULL AND NOT isnan(u)"),
}


@pytest.mark.parametrize(("units", "name", "advice"), UNITS.values(), ids=UNITS)
def test_rows_of_no_one_are_refused_with_advice_that_works(
    engine: Engine, units: Any, name: str, advice: str
) -> None:
    data = pa.table({"k": ["a"] * 2, name: units})
    with randomness.using(Forbidden()), pytest.raises(tamis.BadData) as refused:
        engine.count(data, Request(("k",), name))
    assert f"where={advice!r}" in str(refused.value)
    assert engine.count(data, Request(("k",), name, where=advice)).frequencies().total == 1


@pytest.mark.parametrize("asked", [Request(("k",)), Request(("k",), "u", 2)], ids=["rows", "units"])
def test_text_that_is_not_in_utf_8_is_refused_before_any_draw(
    engine: Engine, asked: Request, tmp_path: Path
) -> None:
    bad = pa.array([b"secret\xff", b"maps"]).view(pa.string())
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"k": bad, "u": [1, 2]}), path)
    with randomness.using(Forbidden()), pytest.raises(tamis.BadData, match="not in UTF-8") as why:
        engine.count(str(path), asked)
    assert "secret" not in told(why.value)


def test_a_table_that_is_not_computed_yet_is_refused(engine: Engine) -> None:
    with pytest.raises(tamis.InvalidInput, match="is a LazyFrame; call collect"):
        engine.count(pl.LazyFrame({"k": ["a"]}), Request(("k",)))
