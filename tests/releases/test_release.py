"""What a release answers, at no further cost, and how well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import tamis
from tamis.engines.duckdb import DuckDB
from tamis.privacy import randomness
from tests.sources import Forbidden

TRUTH = {f"{'ab'[n % 2]}{n:03d}": 3000 // (n + 1) for n in range(300)}
EVENTS = pa.table({"word": [word for word, n in TRUTH.items() for _ in range(n)]})


@pytest.fixture(scope="module")
def release() -> tamis.Release:
    return tamis.release(EVENTS, key="word", epsilon=1.0, delta=1e-6)


def test_questions_cost_nothing(release: tamis.Release) -> None:
    with randomness.using(Forbidden()):
        release.top(3), release.sum(), release.count(), release.quantile(0.5), release.rows("true")
        release.rank("a000"), release.above("b001"), release.below("b001"), str(release)
        assert release.verify()


def test_the_table_is_in_canonical_order(release: tamis.Release) -> None:
    rows = release.to_arrow().to_pylist()
    assert rows == sorted(rows, key=lambda r: (-r["estimate"], -r["token"], r["word"]))
    assert len(release) == len(rows) == len(release.to_pandas()) == len(release.to_polars())
    assert pa.table(release).equals(release.to_arrow())
    assert pl.DataFrame(release).shape == (len(rows), 5)


def test_top_rank_above_below_and_quantile_agree_with_the_table(release: tamis.Release) -> None:
    rows = release.to_arrow().to_pylist()
    assert release.top(3).to_arrow().to_pylist() == rows[:3]
    assert release.rank(rows[0]["word"]) == 1
    assert len(release.above(rows[1]["word"])) == 1
    assert len(release.below(rows[0]["word"])) == len(rows) - 1
    assert release.quantile(1.0) == rows[0]["estimate"]
    with pytest.raises(tamis.InvalidInput, match="was not named"):
        release.rank("no such word")


def test_a_selection_is_a_release_too(release: tamis.Release) -> None:
    some = release.rows("word LIKE 'a%'")
    assert isinstance(some, tamis.Release)
    words = some.to_arrow()["word"].to_pylist()
    assert words == [w for w in release.to_arrow()["word"].to_pylist() if w.startswith("a")]
    assert some.guarantee == release.guarantee
    assert some.verify()
    assert len(release.rows("word = 'nothing'")) == 0
    assert release.rows() is release


CONDITIONS: dict[str, Callable[[str], bool]] = {
    "word LIKE 'a%'": lambda word: word[0] == "a",
    "word < 'a050' OR word = 'b001'": lambda word: word < "a050" or word == "b001",
    "length(word) = 4": lambda word: True,
}


@pytest.fixture(scope="module")
def many() -> list[tamis.Release]:
    counted = pa.table({"word": list(TRUTH), "n": list(TRUTH.values())})
    settings: dict[str, Any] = {"key": "word", "count": "n", "epsilon": 1.0, "delta": 1e-4}
    with DuckDB() as engine:
        return [tamis.release(counted, engine=engine, **settings) for _ in range(40)]


@pytest.mark.parametrize("where", CONDITIONS)
def test_sums_are_as_close_as_they_say(many: list[tamis.Release], where: str) -> None:
    """In standard errors, over 40 releases; a truth that is off by 3 % would be noticed."""
    truth = sum(n for word, n in TRUTH.items() if CONDITIONS[where](word))
    answers = [release.sum(where) for release in many]
    estimates = np.array([answer.estimate for answer in answers])
    errors = np.array([answer.standard_error for answer in answers])
    off = (estimates - truth) / errors
    assert (np.abs(off) < 6).all()
    assert abs(off.mean()) < 1.5
    assert 0.4 < off.std() < 2
    assert abs(((estimates - 1.03 * truth) / errors).mean()) > 1.5


def test_counts_and_sums_of_nothing_are_zero(release: tamis.Release) -> None:
    for ask in (release.sum, release.count):
        answer = ask("word = 'no such'")
        assert (answer.estimate, answer.standard_error, answer.low, answer.high) == (0, 0, 0, 0)


def test_an_answer_is_a_number_with_an_interval(release: tamis.Release) -> None:
    answer = release.sum()
    assert answer.low < float(answer) < answer.high
    assert answer.high - answer.estimate == pytest.approx(1.96 * answer.standard_error, rel=1e-3)
    assert "+-" in str(answer)
    assert "95%" in repr(answer)


WRONG = [
    "nothing = 1",
    "token > 5",
    "word > 5 +",
    "word IN (SELECT 1)",
    "count(*) > 1",
    "",
    "1=1) --",
]


@pytest.mark.parametrize("where", WRONG)
@pytest.mark.parametrize("ask", ["rows", "sum", "count"])
def test_conditions_that_are_none_are_refused(release: tamis.Release, where: str, ask: str) -> None:
    with pytest.raises(tamis.InvalidInput, match=r"^(where|data) .*\.$"):
        getattr(release, ask)(where)


@pytest.mark.parametrize("name", ["data", "place", "tamis", "select", 'a "b"', "rowid", "K"])
def test_questions_work_whatever_the_key_is_called(name: str) -> None:
    made = tamis.release(EVENTS.rename_columns([name]), key=name, epsilon=1.0, delta=1e-6)
    quoted = '"' + name.replace('"', '""') + '"'
    assert len(made.rows(f"{quoted} LIKE 'a%'")) == sum(
        word.startswith("a") for word in made.to_arrow()[name].to_pylist()
    )


def test_a_release_prints_its_first_rows_and_its_guarantee(release: tamis.Release) -> None:
    for text in (str(release), release._repr_html_()):
        assert "a000" in text
        assert "released with epsilon 1, delta 1e-06 for one element" in text
    assert str(release).splitlines()[0].split() == ["word", "token", "estimate", "low", "high"]


def printed(value: Any) -> str:
    data = pa.table({"k": pa.array([value] * 200)})
    return str(tamis.release(data, key="k", epsilon=1.0, delta=1e-6))


def test_keys_cannot_draw_on_the_screen() -> None:
    assert printed("<b>\x1b[2J\n").count("\n") == 2
    assert "\x1b" not in printed("\x1b[2J")
