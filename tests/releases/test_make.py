"""From events to a release: what comes out, what leaves no trace, and what is refused."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Counted, Encode, Frequencies, Ints, Request
from tamis.privacy import randomness
from tamis.privacy.randomness import Words
from tests.engines.counting import named
from tests.errors import behind, told
from tests.sources import Forbidden

EPSILON, DELTA = 1.0, 1e-9
USUAL = {f"usual {n}": 40 * (n + 1) for n in range(20)}
CANARIES = [f"canary {n:04d}" for n in range(1000)]


def events(seed: int = 0, canaries: list[str] = CANARIES) -> pa.Table:
    """Usual keys, canaries that occur once, each row of another user; in some order."""
    words = [word for word, n in USUAL.items() for _ in range(n)] + canaries
    order = np.random.default_rng(seed).permutation(len(words))
    table = pa.table({"word": words, "user": np.arange(len(words)), "n": np.ones(len(words), int)})
    return table.take(pa.array(order))


def released(data: Any = None, **options: Any) -> tamis.Release:
    settings: dict[str, Any] = {"key": "word", "epsilon": EPSILON, "delta": DELTA}
    return tamis.release(events() if data is None else data, **settings | options)


# --- what comes out ------------------------------------------------------------------------------

WAYS: dict[str, dict[str, Any]] = {
    "elements": {},
    "counts": {"count": "n"},
    "units": {"unit": "user", "keys_per_unit": 1},
    "fine tokens": {"tokens": "fine"},
    "a sample": {"scheme": tamis.Pps(0.05)},
}


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_usual_keys_are_named_with_intervals_that_hold_their_frequencies(
    options: dict[str, Any],
) -> None:
    rows = released(**options, coverage=1 - 1e-6).to_arrow().to_pylist()
    assert {row["word"] for row in rows} <= set(USUAL)
    assert {row["word"] for row in rows} >= {w for w, n in USUAL.items() if n > 100}
    assert all(row["low"] <= USUAL[row["word"]] <= row["high"] for row in rows)


def test_the_guarantee_states_the_unit_and_the_bounds_that_were_enforced() -> None:
    g = released(unit="user", keys_per_unit=3, elements_per_key=2).guarantee
    assert g == tamis.Guarantee(EPSILON, DELTA, 3, 2, "user")
    assert released().guarantee == tamis.Guarantee(EPSILON, DELTA)


def test_a_unit_with_everything_changes_no_more_than_its_bounds() -> None:
    data = pa.concat_tables(
        [
            events(),
            pa.table({"word": ["greedy"] * 5000, "user": [-1] * 5000, "n": [1] * 5000}),
            pa.table(
                {"word": [f"many {n}" for n in range(5000)], "user": [-2] * 5000, "n": [1] * 5000}
            ),
        ]
    )
    assert len(released(data.filter(pa.compute.field("word") == "greedy"))) == 1
    for bounds in ({"keys_per_unit": 1}, {"keys_per_unit": 2, "elements_per_key": 2}):
        words = released(data, unit="user", **bounds).to_arrow()["word"].to_pylist()
        assert set(words) <= set(USUAL)


def test_no_rows_give_an_empty_release_of_the_same_shape() -> None:
    for options in WAYS.values():
        empty = released(events().slice(0, 0), **options)
        assert len(empty) == 0
        assert empty.to_arrow().schema == released(**options).to_arrow().schema
        assert "0 keys; released with" in str(empty)


def test_rows_without_a_key_are_dropped_or_kept_as_is_said() -> None:
    data = pa.table({"word": ["a", None] * 300})
    assert released(data).to_arrow()["word"].to_pylist() == ["a"]
    kept = released(data, nulls="keep")
    assert set(kept.to_arrow()["word"].to_pylist()) == {"a", None}
    assert (released(data).about.nulls, kept.about.nulls) == ("drop", "keep")


def test_keys_of_a_megabyte_are_released_and_shown_in_short(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    release = released(pa.table({"word": [long] * 60 + ["y"] * 60}))
    release.save(tmp_path / "r.parquet")
    assert set(tamis.open(tmp_path / "r.parquet").to_arrow()["word"].to_pylist()) == {long, "y"}
    assert len(str(release)) < 1000
    assert len(release._repr_html_()) < 2000


# --- what leaves no trace ------------------------------------------------------------------------


def outputs(release: tamis.Release, folder: Path) -> Iterator[bytes]:
    """Everything that can come out of a release."""
    release.save(folder / "release.parquet")
    yield (folder / "release.parquet").read_bytes()
    table = pq.read_table(folder / "release.parquet", read_dictionary=["word"])
    yield repr(table["word"].combine_chunks().dictionary.to_pylist()).encode()
    yield repr(pq.read_metadata(folder / "release.parquet").to_dict()).encode()
    pq.write_table(release.to_arrow(), folder / "plain.parquet", compression="none")
    yield (folder / "plain.parquet").read_bytes()
    for text in (str(release), repr(release), release._repr_html_(), repr(release.about)):
        yield text.encode()
    yield release.to_pandas().to_string().encode()
    yield release.to_pandas().to_json().encode()
    yield release.to_polars().write_csv().encode()
    stream, written = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_stream(stream, release.to_arrow().schema) as writer:
        writer.write_table(pa.table(release))
    pyarrow.csv.write_csv(release.to_arrow(), written)
    yield stream.getvalue()
    yield written.getvalue()
    for column in release.to_arrow().columns:
        for chunk in column.chunks:
            yield b"".join(bytes(part) for part in chunk.buffers() if part is not None)
    yield json.dumps(release.about.describe()).encode()
    yield str(release.sum("word LIKE 'can%'")).encode()


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_a_thousand_keys_of_frequency_one_appear_in_no_byte_of_any_output(
    options: dict[str, Any], tmp_path: Path
) -> None:
    release = released(**options)
    for content in outputs(release, tmp_path):
        assert b"canary" not in content
    assert any(b"usual" in content for content in outputs(release, tmp_path))


def enumerated(folder: Path) -> Any:
    made = duckdb.connect(folder / "e.duckdb")
    values = ", ".join(f"'{word}'" for word in [*USUAL, *CANARIES])
    made.register("given", events())
    made.execute(f"CREATE TABLE e AS SELECT word::ENUM({values}) AS word FROM given")
    made.close()
    return str(folder / "e.duckdb")


CATEGORIES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: events().to_pandas().astype({"word": "category"}),
    "polars": lambda _: pl.DataFrame(events()).with_columns(pl.col("word").cast(pl.Categorical)),
    "polars enum": lambda _: pl.DataFrame(events()).with_columns(
        pl.col("word").cast(pl.Enum([*USUAL, *CANARIES]))
    ),
    "arrow": lambda _: pa.table({"word": events()["word"].dictionary_encode()}),
    "duckdb": enumerated,
}


@pytest.mark.parametrize("form", CATEGORIES.values(), ids=CATEGORIES)
def test_categories_that_are_not_released_do_not_come_along(
    form: Callable[[Path], Any], tmp_path: Path
) -> None:
    data = form(tmp_path)
    release = released(data, table="e" if isinstance(data, str) else None)
    assert release.to_arrow().schema.field("word").type == pa.string()
    for content in outputs(release, tmp_path):
        assert b"canary" not in content


class Watched(threading.Thread):
    """Reads all files below a folder, over and over, and looks for something in them."""

    def __init__(self, folder: Path, what: bytes) -> None:
        super().__init__(daemon=True)
        self.folder, self.what, self.done = folder, what, threading.Event()
        self.found: set[str] = set()
        self.most = 0

    def files(self) -> Iterator[Path]:
        # files and folders may vanish at any moment: `os.walk` passes over those that have
        for folder, _, names in os.walk(self.folder):
            yield from (Path(folder, name) for name in names)

    def run(self) -> None:
        while not self.done.wait(0.01):
            for file in self.files():
                try:
                    content = file.read_bytes()
                except FileNotFoundError:
                    continue
                self.most = max(self.most, len(content))
                if self.what in content:
                    self.found.add(file.name)


def spilled(unit: str | None, folder: Path) -> Watched:
    """A release that needs more memory than it gets; the files that DuckDB wrote meanwhile."""
    data = folder.parent / f"{folder.name}.parquet"
    query = "SELECT 'canary ' || repeat(md5(i::VARCHAR), 4) AS word, i AS u FROM range(400000) t(i)"
    with duckdb.connect() as database:
        database.sql(query).write_parquet(str(data), compression="zstd")
    watched = Watched(folder, b"canary ")
    watched.start()
    bound = None if unit is None else 1
    released(str(data), unit=unit, keys_per_unit=bound, memory="80MB", threads=1)
    watched.done.set()
    watched.join()
    assert watched.most > 1_000_000, "nothing was spilled: this shows nothing"
    return watched


@pytest.mark.parametrize("unit", [None, pytest.param("u", marks=pytest.mark.slow)])
def test_what_is_spilled_to_disk_cannot_be_read_there_and_is_removed(
    unit: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert not spilled(unit, tmp_path).found
    assert list(tmp_path.iterdir()) == []


def test_without_encryption_it_could_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("tamis.engines.database.SETTINGS", ())
    assert spilled(None, tmp_path).found


class ByName:
    """Gives each key its draw by name; before the keys are known, always the same words."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def words(self, n: int) -> Words:
        given, self.names = self.names[:n] or ["secret"] * n, self.names[n:]
        assert len(given) == n
        drawn = [hashlib.sha256(name.encode()).digest()[:8] for name in given]
        return np.frombuffer(b"".join(drawn), dtype=np.uint64)


class Recording:
    """An engine that tells a source of words which keys come in which order."""

    def __init__(self, engine: DuckDB, source: ByName) -> None:
        self.engine, self.source = engine, source

    def count(self, data: Any, request: Request, table: str | None = None) -> Counted:
        return Recorded(self.engine.count(data, request, table), self.source)

    def close(self) -> None:
        self.engine.close()


class Recorded:
    def __init__(self, counted: Counted, source: ByName) -> None:
        self.counted, self.source = counted, source

    def spread(self) -> Ints:
        return self.counted.spread()

    def join(self, encode: Encode) -> None:
        self.counted.join(encode)

    def frequencies(self, keys_per_unit: int | None = None) -> Frequencies:
        found = self.counted.frequencies(keys_per_unit)
        keys, _ = named(found)
        self.source.names = [repr(sorted(row.items())) for row in keys.to_pylist()]
        return found


def by_name(data: Any, path: Path, threads: int = 2, **options: Any) -> bytes:
    source = ByName()
    with randomness.using(source), DuckDB(threads=threads) as engine:
        released(data, engine=Recording(engine, source), **options).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("unit", [None, "user"])
def test_the_order_of_the_input_leaves_no_trace_in_the_file(
    unit: str | None, tmp_path: Path
) -> None:
    options = {} if unit is None else {"unit": unit, "keys_per_unit": 2}

    def made(data: Any, threads: int = 2) -> bytes:
        return by_name(data, tmp_path / "r.parquet", threads, **options)

    first = made(events(0))
    assert made(events(1)) == made(events(2), threads=1) == first
    pq.write_table(events(3), tmp_path / "e.parquet", row_group_size=100)
    assert made(str(tmp_path / "e.parquet")) == first
    assert made(events(4).to_pandas()) == first
    assert made(pl.DataFrame(events(5))) == first
    assert tamis.open(tmp_path / "r.parquet").verify()


def said_about(release: tamis.Release, path: Path) -> tuple[pa.Schema, dict[bytes, bytes]]:
    """All that a file says beside its rows; the digest, which is made of them, is blackened."""
    release.save(path)
    inside = pq.read_metadata(path).metadata
    digest = json.loads(inside[b"tamis"])["digest"].encode()
    inside[b"tamis"] = inside[b"tamis"].replace(digest, b"#" * 64)
    return pq.read_schema(path).remove_metadata(), inside


NEIGHBOURS = {
    **WAYS,
    "several keys": {"unit": "user", "keys_per_unit": 5, "elements_per_key": 2},
    "kept nulls": {"unit": "user", "keys_per_unit": 2, "nulls": "keep"},
}


def neighbours(options: dict[str, Any]) -> tuple[pa.Table, pa.Table]:
    """Without and with one more unit, whose keys no one else has, longer and stranger."""
    words = ["canary " * 99, "", None, "\n"] if "unit" in options else ["canary " * 99]
    more = pa.table({"word": words, "user": [10**9] * len(words), "n": [1] * len(words)})
    return events(), pa.concat_tables([events(), more])


@pytest.mark.parametrize("options", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_neighbours_differ_in_nothing_but_rows(tmp_path: Path, options: dict[str, Any]) -> None:
    one, two = neighbours(options)
    first, second = released(one, **options), released(two, **options)
    assert said_about(first, tmp_path / "one") == said_about(second, tmp_path / "two")
    assert first.to_arrow().schema.equals(second.to_arrow().schema, check_metadata=True)


@pytest.mark.parametrize("options", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_neighbours_give_as_many_lines_in_logs_and_streams(
    options: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    recwarn: pytest.WarningsRecorder,
) -> None:
    caplog.set_level(1)
    seen = []
    for data in neighbours(options):
        caplog.clear()
        recwarn.clear()
        released(data, **options)
        logged = [(record.name, record.levelno) for record in caplog.records]
        seen.append((logged, [stream.count("\n") for stream in capfd.readouterr()], len(recwarn)))
    assert seen[0] == seen[1] == ([], [0, 0], 0)


PROGRAMS = {
    "elements": ("-o", "{n}.parquet"),
    "units": ("--unit", "user", "--keys-per-unit", "2", "-o", "{n}.csv"),
    "auto": ("--unit", "user", "--keys-per-unit", "auto", "--total-share", "0.1", "-o", "{n}.json"),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", PROGRAMS.values(), ids=PROGRAMS)
def test_neighbours_give_as_many_lines_of_messages_on_the_command_line(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """And the same words: only numbers, which are a part of the release, may differ."""
    said = []
    for n, data in enumerate(neighbours({"unit": "user"} if "--unit" in words else {})):
        pq.write_table(data, tmp_path / "e.parquet")
        command = [sys.executable, "-m", "tamis", "release", "e.parquet", "--key", "word"]
        command += ["--epsilon", "1", "--delta", "1e-9", *(word.format(n=n) for word in words)]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        said.append((ran.stdout, re.sub(r"[\d,.]+", "#", ran.stderr).replace("keys", "key")))
    assert said[0] == said[1]
    assert said[0][1].count("\n") >= 1


# --- what is refused -----------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no key": ({"key": []}, "key must name"),
    "an empty key": ({"key": ""}, "key must name"),
    "unknown key": ({"key": "wrod"}, "no column 'wrod'.*Did you mean 'word'"),
    "unknown unit": ({"unit": "usr", "keys_per_unit": 1}, "no column 'usr'.*mean 'user'"),
    "unknown count": ({"count": "m"}, "no column 'm'"),
    "key twice": ({"key": ["word", "word"]}, "different columns"),
    "unit without a bound": ({"unit": "user"}, "keys_per_unit is missing"),
    "bound without a unit": ({"keys_per_unit": 3}, "name the column of units"),
    "elements without a unit": ({"elements_per_key": 3}, "name the column of units"),
    "unit and count": ({"unit": "user", "keys_per_unit": 1, "count": "n"}, "unit or count"),
    "bound of 0": ({"unit": "user", "keys_per_unit": 0}, "keys_per_unit"),
    "bound of a half": ({"unit": "user", "keys_per_unit": 0.5}, "keys_per_unit"),
    "bound of words": ({"unit": "user", "keys_per_unit": "many"}, "keys_per_unit"),
    "bound of truth": ({"unit": "user", "keys_per_unit": True}, "keys_per_unit"),
    "elements of -1": ({"unit": "user", "keys_per_unit": 1, "elements_per_key": -1}, "elements"),
    "nulls": ({"nulls": "x"}, 'nulls must be "drop" or "keep"'),
    "table": ({"table": "events"}, "table names a table of a DuckDB database"),
    "epsilon": ({"epsilon": -1}, "epsilon"),
    "delta": ({"delta": 0}, "delta"),
    "coverage": ({"coverage": 1.5}, "coverage"),
    "tokens": ({"tokens": "coarse"}, "tokens"),
    "scheme": ({"scheme": "pps"}, "scheme"),
    "scheme and size": ({"scheme": tamis.Pps(0.1), "sample_size": 5}, "not both"),
    "size": ({"sample_size": 0}, "sample_size"),
    "memory": ({"memory": "much"}, "memory='much'"),
    "threads": ({"threads": 0}, "threads=0"),
    "too many threads": ({"threads": 10**6}, "from 1 to 1,024"),
    "where: garbage": ({"where": "garbage garbage"}, "not a condition in SQL"),
    "where: nothing": ({"where": ""}, "where must be a condition"),
    "where: closing": ({"where": "1=1) --"}, "not a condition"),
    "where: subquery": ({"where": "word IN (SELECT 'canary')"}, "subquery"),
    "where: aggregate": ({"where": "count(*) > 1"}, "may not use count_star"),
    "where: no function": ({"where": "lenght(q) > 1"}, "no such function. Did you mean 'length'"),
    "where: two statements": ({"where": "true; SELECT 1"}, "not a condition"),
    "where: types": ({"where": "user > 'canary'"}, "where"),
    "where: fails": ({"where": "word::INTEGER > 1"}, "a cast .* in where=.* fails on some row"),
    "where: unknown": ({"where": "users > 1"}, "no column 'users'.*mean 'user'"),
}


@pytest.mark.parametrize(("options", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_in_one_sentence_before_any_draw(
    options: dict[str, Any], words: str
) -> None:
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=words) as refused:
        released(**options)
    said = str(refused.value)
    assert said.endswith((".", "?"))
    assert "\n" not in said
    shown = "".join(traceback.format_exception(refused.value)) + told(refused.value)
    assert "canary 0" not in shown
    assert "usual 1" not in shown
    assert not any(isinstance(error, duckdb.Error) for error in behind(refused.value))


TEXT = ("unit", "count", "where", "table", "nulls", "tokens", "budget", "purpose", "memory")
NUMBER: tuple[str, ...] = ("epsilon", "delta", "keys_per_unit", "elements_per_key")
NUMBER += ("sample_size", "threads", "total_share", "bound_share", "coverage")
NEITHER: tuple[Any, ...] = (b"word", [], ["word", 5], {}, object(), float("nan"), 1 + 2j)
NEITHER += (np.array([1, 2]), Path("word"), -1, True, "\ud800", "a\0b")
WRONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(TEXT, (5, 1.5, *NEITHER)),
    **dict.fromkeys(NUMBER, ("x", "", 2**70, *NEITHER)),
    "key": (5, None, [], ["word", 5], b"word", {}, float("nan")),
    "scheme": (5, "pps", tamis.Pps, [], True),
    "ledger": (5, 1.5, b"x", [], True, "a\0b", "\ud800"),
    "progress": (5, "x", [], np.array([1, 2])),
    "engine": (5, "x", [], object()),
}
NEEDED: dict[str, dict[str, Any]] = {
    "keys_per_unit": {"unit": "user"},
    "elements_per_key": {"unit": "user", "keys_per_unit": 1},
    "bound_share": {"unit": "user", "keys_per_unit": "auto"},
    "purpose": {"budget": "visits"},
    "ledger": {"budget": "visits"},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_value_of_another_kind_is_refused_by_the_name_of_its_parameter(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMIS_LEDGER", str(tmp_path / "ledger.sqlite"))
    for value in WRONG[name]:
        with (
            randomness.using(Forbidden()),
            pytest.raises(tamis.InvalidInput, match=rf"\b{name}\b") as refused,
        ):
            released(**NEEDED.get(name, {}) | {name: value})
        assert str(refused.value).endswith("."), value
        assert list(behind(refused.value)) == [refused.value]


@pytest.mark.parametrize("name", ["token", "estimate", "low", "high", "Token", "LOW", "eStimate"])
def test_keys_may_not_be_called_like_what_is_added(name: str) -> None:
    data = events().rename_columns([name, "user", "n"])
    with (
        randomness.using(Forbidden()),
        pytest.raises(tamis.InvalidInput, match="may not be called"),
    ):
        released(data, key=name)


def test_keys_may_not_differ_in_case_only() -> None:
    with pytest.raises(tamis.InvalidInput, match="differ only in upper and lower case"):
        released(key=["word", "Word"])


DATA: dict[str, tuple[Any, dict[str, Any], str]] = {
    "units missing": (
        {"word": ["canary"] * 2, "user": pa.array([None, None], pa.int64())},
        {"unit": "user", "keys_per_unit": 1},
        "unit 'user' is missing in some rows",
    ),
    "units not numbers": (
        {"word": ["canary"] * 2, "user": [1.0, float("nan")]},
        {"unit": "user", "keys_per_unit": 1},
        "unit 'user' is missing in some rows",
    ),
    "negative counts": ({"word": ["canary"], "n": [-1]}, {"count": "n"}, "n holds values below 1"),
    "counts not numbers": ({"word": ["canary"], "n": [float("nan")]}, {"count": "n"}, "not a num"),
    "counts in parts": ({"word": ["canary"], "n": [1.5]}, {"count": "n"}, "n holds fractions"),
    "lists as keys": ({"word": [["canary"]]}, {}, "'word' is of type LIST"),
    "floats as keys": ({"word": [1.5]}, {}, "'word' is of type DOUBLE"),
    "no type": ({"word": pa.array([None, None])}, {}, "convert it to text"),
}


@pytest.mark.parametrize(("data", "options", "words"), DATA.values(), ids=DATA)
def test_data_that_cannot_be_counted_is_refused_before_any_draw(
    data: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=words) as refused:
        released(pa.table(data), **options)
    assert "canary" not in told(refused.value)


def test_a_release_that_is_refused_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for options in ({"key": "nothing"}, {"memory": "much"}, {"where": "("}):
        with pytest.raises(tamis.InvalidInput):
            released(**options)
    assert list(tmp_path.iterdir()) == []


def test_frequencies_that_fine_tokens_cannot_hold_are_refused() -> None:
    data = pa.table({"word": ["canary"], "n": [2**61]})
    with pytest.raises(tamis.BadData, match="too often for fine tokens") as refused:
        released(data, count="n", tokens="fine")
    assert "canary" not in str(refused.value)
    assert len(released(data, count="n")) == 1


def test_pandas_columns_of_objects_are_read_if_they_are_of_one_type() -> None:
    data = pd.DataFrame({"word": np.array(["usual"] * 200, dtype=object)})
    assert released(data).to_arrow()["word"].to_pylist() == ["usual"]


def test_moments_in_whole_seconds_come_back_as_they_were_saved(tmp_path: Path) -> None:
    rows = duckdb.sql("SELECT TIMESTAMP_S '2024-02-29 12:30:01' AS at FROM range(500)")
    made = tamis.release(rows, key="at", epsilon=1.0, delta=1e-9)
    made.save(tmp_path / "moments.parquet")
    opened = tamis.open(tmp_path / "moments.parquet")
    assert opened.to_arrow().equals(made.to_arrow())
    assert [moment.second for moment in opened.to_arrow()["at"].to_pylist()] == [1]


def test_units_that_are_not_a_number_are_refused_also_in_parquet(tmp_path: Path) -> None:
    """The statistics of the file do not tell of them."""
    owners = np.where(np.arange(400) % 4 == 0, np.nan, np.arange(400.0))
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"k": ["a"] * 400, "u": owners}), path)
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match="is missing"):
        tamis.release(str(path), key="k", unit="u", keys_per_unit=2, epsilon=1.0, delta=1e-6)
