"""Keys that share a cell count as one, and are bounded as one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.engines.bounding import bounded_counts
from tamis.engines.codes import Cells, Secret
from tamis.engines.protocol import Engine, Frequencies, Ints, Request
from tamis.privacy import randomness
from tests.engines.counting import Repeated, table

Cell = tuple[int, ...]
COLUMNS = {"u": pa.int64(), "age": pa.int8(), "place": pa.string()}
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 9), st.sampled_from("abcd")), max_size=30
)


def cell_of(age: int, place: str) -> Cell:
    return (age // 4, 2**61 + "abcd".index(place) // 2)  # some words of two parts


def encode(keys: pa.Table) -> Ints:
    values = zip(keys["age"].to_pylist(), keys["place"].to_pylist(), strict=True)
    return np.array([cell_of(*value) for value in values], dtype=np.int64).reshape(-1, 2).T


def joined(engine: Engine, rows: list[tuple[Any, ...]], k: int, e: int) -> dict[Cell, int]:
    """The frequencies of cells, with the same secret every time."""
    counted = engine.count(table(COLUMNS, rows), Request(("age", "place"), "u", k, e))
    with randomness.using(Repeated()):
        counted.join(encode)
        frequencies = counted.frequencies()
    return held(frequencies)


def held(frequencies: Frequencies) -> dict[Cell, int]:
    """What the cells hold; one may come in several columns."""
    total: Counter[Cell] = Counter()
    cells, found = frequencies.cells()
    for cell, n in zip(cells.T.tolist(), found.tolist(), strict=True):
        assert n > 0
        total[tuple(cell)] += n
    assert frequencies.total == total.total()
    return dict(total)


def plain(rows: list[tuple[Any, ...]], e: int) -> dict[Cell, int]:
    """What a person would count, if no unit has too many cells."""
    found: Counter[Cell] = Counter()
    for (_, *cell), n in Counter((u, *cell_of(*value)) for u, *value in rows).items():
        found[tuple(cell)] += min(n, e)
    return dict(found)


@settings(max_examples=10, deadline=None)
@given(ROWS, st.integers(1, 3))
def test_cells_are_counted_as_a_person_would(
    engine: Engine, rows: list[tuple[Any, ...]], e: int
) -> None:
    assert joined(engine, rows, 9, e) == plain(rows, e)


@settings(max_examples=10, deadline=None)
@given(ROWS, st.integers(1, 3), st.integers(1, 3))
def test_removing_a_unit_changes_few_cells_by_little(
    engine: Engine, rows: list[tuple[Any, ...]], k: int, e: int
) -> None:
    """Also where its values were the only ones of their kind in a cell that others have too."""
    before = joined(engine, rows, k, e)
    for gone in {row[0] for row in rows}:
        after = joined(engine, [row for row in rows if row[0] != gone], k, e)
        cells = before.keys() | after.keys()
        changes = [before.get(cell, 0) - after.get(cell, 0) for cell in cells]
        assert sum(change != 0 for change in changes) == min(
            k, len({cell_of(*value) for u, *value in rows if u == gone})
        )
        assert all(0 <= change <= e for change in changes)


def test_all_cells_of_a_unit_survive_equally_often() -> None:
    joined, many = Cells.of(np.arange(6)[None] // 2), 3000
    units, places = np.repeat(np.arange(many), 6), np.tile(joined.place, many).astype(np.uint64)
    found = bounded_counts(units, places, joined.keys(), 1, 1, Secret.fresh())
    assert found.sum() == many
    assert (np.abs(found - many / 3) < 5 * (many * 2 / 9) ** 0.5).all()


@pytest.mark.parametrize("unit", [None, "u"])
def test_keys_are_joined_before_frequencies_are_asked_for(engine: Engine, unit: str | None) -> None:
    data = pa.table({"age": [1, 2, 5], "place": ["a", "a", "c"], "u": [1, 1, 2]})
    counted = engine.count(data, Request(("age", "place"), unit, elements_per_key=9))
    counted.join(encode)
    first = counted.frequencies()
    assert held(first) == {cell_of(1, "a"): 2, cell_of(5, "c"): 1}
    assert counted.frequencies() is first
    with pytest.raises(tamis.InvalidInput, match="that are not bounded yet"):
        counted.join(encode)


@pytest.mark.parametrize("unit", [None, "u"])
def test_a_key_that_has_no_cell_is_refused_when_keys_are_joined(
    engine: Engine, unit: str | None
) -> None:
    data = pa.table({"age": [1, 2], "u": [1, 1]})
    counted = engine.count(data, Request(("age",), unit))
    with pytest.raises(tamis.BadData, match="no such cell"):
        counted.join(refuse)


def refuse(keys: pa.Table) -> Ints:
    raise tamis.BadData("no such cell.")
