"""What a release answers, at no further cost, and how well."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
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
    assert (release.about.part, some.about.part) == (False, True)
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


def test_counts_and_sums_of_nothing_are_zero_but_could_be_more(release: tamis.Release) -> None:
    for ask in (release.sum, release.count):
        answer = ask("word = 'no such'")
        assert (answer.estimate, answer.standard_error, answer.low) == (0, 0, 0)
        assert answer.high > 1  # keys that chance left out


def test_an_answer_is_a_number_with_an_interval(release: tamis.Release) -> None:
    answer = release.sum()
    assert answer.low < float(answer) < answer.high
    assert answer.high - answer.estimate > 1.95 * answer.standard_error
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


# --- keys and other arguments --------------------------------------------------------------------


def kept(values: Any) -> tamis.Release:
    """A release of values that are all named, the first one 300 times, the others less often."""
    events = pa.concat_arrays(
        [pa.array(values).take(pa.array([n] * (300 - 40 * n))) for n in range(len(values))]
    )
    return tamis.release(pa.table({"k": events}), key="k", nulls="keep", epsilon=1.0, delta=1e-6)


MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5)
ANY_TYPE: dict[str, Any] = {
    "text": ["a", 'b "', "", None],
    "whole numbers": [5, -7, 0, None],
    "truth": [True, None, False],
    "bytes": [b"a", b"", None, b"\xff"],
    "dates": [MOMENT.date(), datetime.date(1, 1, 1), None],
    "moments": [MOMENT, datetime.datetime(1970, 1, 1), None],
    "nanoseconds": pa.array([MOMENT, None], pa.timestamp("ns")),
    "decimals": pa.array([150, -1, None]).cast(pa.decimal128(21, 2)),
}


@pytest.mark.parametrize("values", ANY_TYPE.values(), ids=ANY_TYPE)
def test_keys_of_every_type_have_a_rank_also_the_missing_one(values: Any) -> None:
    release = kept(values)
    for place, key in enumerate(pa.array(values).to_pylist(), start=1):
        assert release.rank(key) == place
        assert len(release.above(key)) == place - 1
        assert len(release.below(key)) == len(release) - place


def test_a_key_of_several_columns_may_be_missing_in_one_of_them() -> None:
    data = pa.table({"a": ["x"] * 500 + [None] * 400 + ["x"] * 300, "b": [1] * 900 + [None] * 300})
    release = tamis.release(data, key=["a", "b"], nulls="keep", epsilon=1.0, delta=1e-6)
    assert [release.rank("x", 1), release.rank(None, 1), release.rank("x", None)] == [1, 2, 3]
    with pytest.raises(tamis.InvalidInput, match="was not named"):
        release.rank(None, None)


def test_a_number_that_is_given_as_a_number_of_another_library_is_found() -> None:
    release = kept([5, 7])
    assert release.rank(np.int32(7)) == release.rank(7.0) == release.rank(pa.scalar(7)) == 2


ASKED: dict[str, tuple[str, Callable[[tamis.Release], object]]] = {
    "rank of nothing": ("key", lambda r: r.rank(None)),
    "rank without a key": ("key", lambda r: r.rank()),
    "rank of two keys": ("key", lambda r: r.rank("a000", "b001")),
    "rank of a number": ("key", lambda r: r.rank(5)),
    "rank of bytes": ("key", lambda r: r.rank(b"a000")),
    "rank of a list": ("key", lambda r: r.rank(["a000"])),
    "rank of an array": ("key", lambda r: r.rank(np.array(["a000"]))),
    "rank of broken text": ("key", lambda r: r.rank("\ud800")),
    "rank of an absent key": ("key", lambda r: r.rank("absent")),
    "above nothing": ("key", lambda r: r.above(None)),
    "below a number": ("key", lambda r: r.below(1.5)),
    "top of text": ("k", lambda r: r.top("x")),  # type: ignore[arg-type]
    "top of nothing": ("k", lambda r: r.top(None)),  # type: ignore[arg-type]
    "top of a fraction": ("k", lambda r: r.top(1.5)),  # type: ignore[arg-type]
    "top of less than nothing": ("k", lambda r: r.top(-1)),
    "quantile of text": ("p", lambda r: r.quantile("x")),  # type: ignore[arg-type]
    "quantile of nothing": ("p", lambda r: r.quantile(None)),  # type: ignore[arg-type]
    "quantile of truth": ("p", lambda r: r.quantile(True)),
    "quantile of a list": ("p", lambda r: r.quantile([0.5])),  # type: ignore[arg-type]
    "quantile beyond": ("p", lambda r: r.quantile(1.1)),
    "quantile of no number": ("p", lambda r: r.quantile(float("nan"))),
    "sum of a number": ("where", lambda r: r.sum(where=5)),  # type: ignore[arg-type]
    "count of bytes": ("where", lambda r: r.count(where=b"true")),  # type: ignore[arg-type]
    "rows of a list": ("where", lambda r: r.rows(["true"])),  # type: ignore[arg-type]
    "rows of truth": ("where", lambda r: r.rows(True)),  # type: ignore[arg-type]
    "save nowhere": ("path", lambda r: r.save(None)),  # type: ignore[arg-type]
    "save in a number": ("path", lambda r: r.save(5)),  # type: ignore[arg-type]
    "save under no name": ("path", lambda r: r.save("a\0b")),
    "open a number": ("path", lambda r: tamis.open(5)),  # type: ignore[arg-type]
    "open nothing": ("path", lambda r: tamis.open(None)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("name", "ask"), ASKED.values(), ids=ASKED)
def test_a_wrong_argument_is_named_in_a_sentence(
    release: tamis.Release, name: str, ask: Callable[[tamis.Release], object]
) -> None:
    with pytest.raises(tamis.InvalidInput, match=rf"^{name} (must|may|was) [^\n]*\.$"):
        ask(release)


@pytest.mark.parametrize("wrong", [1.5, True, "5", 2**100, datetime.date(2020, 1, 1)])
def test_what_is_not_the_same_number_is_no_key_of_numbers(wrong: object) -> None:
    with pytest.raises(tamis.InvalidInput, match="key must be of type int64 in k"):
        kept([1, 5]).rank(wrong)


# --- what is printed -----------------------------------------------------------------------------


def closing(release: tamis.Release) -> str:
    return str(release).splitlines()[-1]


def test_numbers_of_keys_and_elements_are_in_the_singular_where_they_are_one() -> None:
    data = pa.table({"k": ["a"] * 600 + ["b"] * 500, "u": np.arange(1100)})
    asked: dict[str, Any] = {"key": "k", "epsilon": 1.0, "delta": 1e-6}
    two = tamis.release(data, **asked)
    assert closing(two).startswith("2 keys; released")
    assert closing(two.top(1)).startswith("1 key, a part of what was released")
    assert closing(two.rows("k = 'b'")).startswith("1 key, ")
    assert closing(two.rows("k = 'c'")).startswith("0 keys, ")
    one = tamis.release(data.slice(0, 600), **asked)
    assert closing(one).startswith("1 key; released")
    for keys, elements, words in (
        (1, 3, "with at most 1 key and 3 elements in each"),
        (2, 1, "with at most 2 keys"),
        (2, 4, "with at most 2 keys and 4 elements in each"),
    ):
        bounds: dict[str, Any] = {"unit": "u", "keys_per_unit": keys, "elements_per_key": elements}
        assert closing(tamis.release(data, **asked, **bounds)).endswith(f"for one u {words}")


def test_that_a_condition_chose_the_rows_is_said_and_not_which(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"key": "word", "epsilon": 1.0, "delta": 1e-6}
    for where, said in ((None, False), ("word <> 'secret'", True)):
        made = tamis.release(EVENTS, where=where, **asked)
        made.save(tmp_path / "r.parquet")
        opened = tamis.open(tmp_path / "r.parquet")
        for release in (made, opened, made.top(3)):
            assert release.about.filtered is said
            assert closing(release).endswith("; a condition chose the rows") is said
            assert "secret" not in str(release) + release._repr_html_()
        assert b"secret" not in (tmp_path / "r.parquet").read_bytes()


def test_a_part_that_was_saved_is_still_a_part(tmp_path: Path) -> None:
    whole = tamis.release(EVENTS, key="word", epsilon=1.0, delta=1e-6, total_share=0.1)
    whole.top(5).save(tmp_path / "r.parquet")
    opened = tamis.open(tmp_path / "r.parquet")
    assert opened == whole.top(5)
    assert "5 keys, a part of what was released" in str(opened)
    with pytest.raises(tamis.InvalidInput, match="not of a part"):
        opened.suppressed()


@pytest.mark.parametrize(
    ("coverage", "said"),
    [(0.95, "(95%:"), (0.999, "(99.9%:"), (0.5, "(50%:"), (0.99995, "99.995%")],
)
def test_the_coverage_of_an_answer_is_not_rounded_away(coverage: float, said: str) -> None:
    release = tamis.release(EVENTS, key="word", epsilon=1.0, delta=1e-6, coverage=coverage)
    assert said in str(release.sum())


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
