"""Points come from columns of numbers, by name: of tables, and of files larger than memory."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.importance.sample import poisson, sample_parquet, sample_table
from tamis.importance.samplers import Coreset, Uniform
from tamis.privacy import randomness
from tamis.privacy.errors import BadData, InvalidInput
from tests.errors import told
from tests.sources import Forbidden, Stream

SAMPLER = Coreset(0.3, mean_norm=2.0)
SECRET = 918273645


def table(rows: int = 1000) -> pa.Table:
    values = np.random.default_rng(2).normal(size=(rows, 2))
    return pa.table({"name": ["a"] * rows, "x": values[:, 0], "y": values[:, 1]})


def columns_of(data: pa.Table, *names: str) -> Any:
    return np.stack([data[name].to_numpy() for name in names], axis=1)


# --- tables -------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda t: t,
    "arrow in pieces": lambda t: pa.concat_tables([t.slice(0, 7), t.slice(7)]),
    "pandas": lambda t: t.to_pandas(),
    "polars": pl.from_arrow,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_table_gives_the_sample_of_its_columns_in_the_order_asked_for(
    kind: Callable[[pa.Table], Any],
) -> None:
    data = table()
    with randomness.using(Stream(1)):
        expected = poisson(columns_of(data, "y", "x"), SAMPLER)
    with randomness.using(Stream(1)):
        found = sample_table(kind(data), ["y", "x"], SAMPLER)
    assert found.points.tolist() == expected.points.tolist()
    assert found.weights.tolist() == expected.weights.tolist()


NUMBERS = {
    "whole": pa.array([1, -2, 3], pa.int16()),
    "large": pa.array([2**63 + 1, 0, 2**53 + 1], pa.uint64()),
    "short": pa.array([1.5, 0.25, -3], pa.float32()),
    "decimal": pa.array([Decimal("1.5"), Decimal("-0.1"), Decimal(7)], pa.decimal128(9, 2)),
}


@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=NUMBERS)
def test_all_kinds_of_numbers_are_coordinates(numbers: pa.Array) -> None:
    found = sample_table(pa.table({"x": numbers}), ["x"], Uniform(1.0)).points[:, 0]
    assert found.tolist() == [float(value) for value in numbers.to_pylist()]


BAD: dict[str, tuple[Any, list[Any], str]] = {
    "null": ({"x": [SECRET, None]}, ["x"], "column 'x' holds missing values"),
    "NaN": ({"x": [float(SECRET), math.nan]}, ["x"], "column 'x' holds NaN or infinity"),
    "infinite": ({"z": [1.0], "x": [-math.inf]}, ["z", "x"], "column 'x' holds NaN or infinity"),
    "text": ({"x": [str(SECRET)]}, ["x"], "column 'x' is of type string; a coordinate is a number"),
    "boolean": ({"x": [True]}, ["x"], "column 'x' is of type bool"),
    "unknown": ({"first": [SECRET]}, ["frist"], "no column 'frist'. Did you mean 'first'?"),
    "twice": ({"x": [SECRET]}, ["x", "x"], "name each column once"),
    "none": ({"x": [SECRET]}, [], "at least one"),
    "no names": ({"x": [SECRET]}, [0], "names of columns, as text"),
}


@pytest.mark.parametrize(("held", "names", "said"), BAD.values(), ids=BAD)
def test_bad_columns_are_named_and_their_values_are_not(
    held: dict[str, Any], names: list[str], said: str, tmp_path: Path
) -> None:
    data, path = pa.table(held), tmp_path / "p.parquet"
    pq.write_table(data, path)
    calls: tuple[Callable[[], object], ...] = (
        lambda: sample_table(data, names, Uniform(0.5)),
        lambda: sample_parquet(path, names, Uniform(0.5)),
    )
    for call in calls:
        with randomness.using(Forbidden()), pytest.raises(InvalidInput) as error:
            call()
        assert said in str(error.value)
        assert str(SECRET) not in told(error.value)


def test_a_name_that_two_columns_have_is_refused() -> None:
    data = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["x", "x"])
    with pytest.raises(InvalidInput, match="more than one column 'x'"):
        sample_table(data, ["x"], SAMPLER)


@pytest.mark.parametrize("data", [{"x": [1.0]}, [[1.0]], None])
def test_what_is_no_table_is_refused(data: Any) -> None:
    with pytest.raises(InvalidInput, match=r"data must be a pyarrow\.Table"):
        sample_table(data, ["x"], SAMPLER)


def test_a_column_of_mixed_objects_is_refused_without_its_values() -> None:
    with pytest.raises(BadData, match="each column must be of one type") as error:
        sample_table(pd.DataFrame({"x": [f"a{SECRET}", 1.0, object()]}), ["x"], SAMPLER)
    assert str(SECRET) not in told(error.value)


# --- files --------------------------------------------------------------------------------------


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Four files with small row groups."""
    for i in range(4):
        pq.write_table(table(400_000).slice(i * 100_000, 100_000), tmp_path / f"{i}.parquet", 7000)
    return tmp_path


def test_files_give_the_sample_of_all_their_rows(parts: Path) -> None:
    with randomness.using(Stream(1)):
        expected = poisson(columns_of(table(400_000), "x", "y"), SAMPLER)
    paths = [parts / f"{i}.parquet" for i in range(4)]
    for given in (str(parts / "*.parquet"), paths, [str(path) for path in paths]):
        with randomness.using(Stream(1)):
            found = sample_parquet(given, ["x", "y"], SAMPLER)
        assert np.array_equal(found.points, expected.points)
        assert np.array_equal(found.weights, expected.weights)


def test_progress_comes_to_the_end_and_never_goes_back(parts: Path) -> None:
    said = list[tuple[str, float]]()
    sample_parquet(
        parts / "*.parquet", ["x"], SAMPLER, progress=lambda what, done: said.append((what, done))
    )
    assert {what for what, _ in said} == {"sampling"}
    percents = [done for _, done in said]
    assert percents == sorted(percents)
    assert percents[-1] == 100
    assert len(percents) >= 4


def test_an_empty_file_gives_an_empty_sample(tmp_path: Path) -> None:
    pq.write_table(table(0), tmp_path / "none.parquet")
    found = sample_parquet(tmp_path / "none.parquet", ["x", "y"], SAMPLER)
    assert found.points.shape == (0, 2)


def test_a_file_whose_name_looks_like_a_pattern_is_read(tmp_path: Path) -> None:
    pq.write_table(table(5), tmp_path / "a[1].parquet")
    assert len(sample_parquet(tmp_path / "a[1].parquet", ["x"], Uniform(1.0))) == 5


def test_a_file_that_is_named_twice_is_refused(parts: Path) -> None:
    with pytest.raises(InvalidInput, match="the same file is named twice"):
        sample_parquet([parts / "*.parquet", parts / "1.parquet"], ["x"], SAMPLER)


def test_all_files_are_looked_at_before_a_coin_is_tossed(parts: Path) -> None:
    pq.write_table(pa.table({"x": ["text"]}), parts / "9.parquet")
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match="is of type string"):
        sample_parquet(parts / "*.parquet", ["x"], SAMPLER)


def test_files_that_cannot_be_read_are_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 this is no Parquet file PAR1")
    cases = {
        "bad.parquet": "bad.parquet cannot be read as Parquet",
        "none.parquet": "there is no file",
        "*.csv": "no file matches",
        ".": "is a folder",
    }
    for path, said in cases.items():
        with pytest.raises(BadData, match=said):
            sample_parquet(tmp_path / path, ["x"], SAMPLER)
    with pytest.raises(InvalidInput, match="at least one Parquet file"):
        sample_parquet([], ["x"], SAMPLER)


@pytest.mark.parametrize("where", ["header", "data"])
def test_a_damaged_page_is_told_without_what_is_in_it(where: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    pq.write_table(table(100_000), path, use_dictionary=False, write_page_checksum=True)
    column = pq.read_metadata(path).row_group(0).column(2)
    place = column.data_page_offset + (
        0 if where == "header" else column.total_compressed_size // 2
    )
    content = bytearray(path.read_bytes())
    content[place : place + 8] = b"\xff" * 8
    path.write_bytes(bytes(content))
    with pytest.raises(BadData, match=r"damaged\.parquet cannot be read") as error:
        sample_parquet(path, ["x", "y"], SAMPLER)
    assert error.value.__context__ is None


MEASURED = """
import sys
from tamis.importance.sample import sample_parquet
from tamis.importance.samplers import Uniform

def peak():
    lines = dict(line.split(":") for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(lines["VmHWM"].split()[0]) * 1024

small, large = sys.argv[1:]
names = [f"c{i}" for i in range(10)]
sample_parquet(small, names, Uniform(0.01))
before = peak()
print(len(sample_parquet(large, names, Uniform(0.01))), peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured in /proc")
@pytest.mark.parametrize("groups", [1, 40], ids=["one row group", "many row groups"])
def test_a_file_larger_than_memory_is_sampled_in_little_memory(groups: int, tmp_path: Path) -> None:
    rows = 4_000_000
    values = np.random.default_rng(4).normal(size=(10, rows))
    data = pa.table({f"c{i}": column for i, column in enumerate(values)})
    large, small = tmp_path / "large.parquet", tmp_path / "small.parquet"
    pq.write_table(data, large, rows // groups, use_dictionary=False, compression="none")
    pq.write_table(data.slice(0, 200_000), small, use_dictionary=False, compression="none")
    size = large.stat().st_size
    assert size > 300e6
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(small), str(large)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    kept, grown = map(int, done.stdout.split())
    assert abs(kept - 40_000) < 1000  # five standard deviations
    assert grown < size / 8
