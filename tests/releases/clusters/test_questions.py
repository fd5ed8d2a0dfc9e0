"""Clusters answer questions."""

from __future__ import annotations

from typing import Any

import pytest

import tamis
from tests.releases.clusters.making import made


def numbers(table: Any) -> list[int]:
    found: list[int] = table["cluster"].to_pylist()
    return found


def test_the_largest_come_first() -> None:
    assert numbers(made().top(2)) == [0, 1]
    assert numbers(made().top()) == [0, 1, 2]
    assert numbers(made().top(1, where="x > 0")) == [1]
    with pytest.raises(tamis.InvalidInput, match="count must be a whole number from 1"):
        made().top(0)


def test_rows_are_chosen_by_coordinates_and_sizes() -> None:
    assert numbers(made().rows("size > 100 AND y < 0")) == [1]
    assert numbers(made().rows("cluster = 2 OR x + z < 0")) == [0, 2]
    assert made().rows() is made().rows() or numbers(made().rows()) == [0, 1, 2]
    for where in ("nothing > 1", "size IN (SELECT 1)", "size >", "random() < 0.5"):
        with pytest.raises(tamis.InvalidInput):
            made().rows(where)


def test_the_nearest_centre_of_a_point_is_found() -> None:
    release = made()
    for n, centre in enumerate(release.centers.tolist()):
        assert numbers(release.nearest([c + 0.05 for c in centre])) == [n]
    for point in ([0.0], [0.0, 0.0, float("nan")], [0.0, 0.0, "x"], [0.0] * 4):
        with pytest.raises(tamis.InvalidInput, match="a number for each of x, y, z"):
            release.nearest(point)  # type: ignore[arg-type]
