"""The experiments of papers/sparse: that what is measured is what is said, and what is skipped."""

from __future__ import annotations

import gzip
from fractions import Fraction
from itertools import combinations
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from papers.page import claims_table, replaced
from papers.sparse import claims_flat, figures, methods, queries, speed
from papers.sparse.claims import HEADER, Claim, holds_where
from papers.sparse.data import (
    ADULT,
    COUNTIES,
    FOLDER,
    RHODE_ISLAND,
    Data,
    adult,
    counties,
    rhode_island,
    synthetic,
    there,
)
from papers.sparse.draws import measure, repeatable
from papers.sparse.methods import Cells, Nodes
from tamis.privacy.noise import two_sided
from tamis.sparse.flat import Table
from tamis.sparse.hierarchy import Dyadic, Haar

EPSILON = Fraction(1, 2)
needs_data = pytest.mark.skipif(
    not all(there(name) for name in (RHODE_ISLAND, COUNTIES, ADULT)),
    reason="the real tables are not here",
)


def small(radices: tuple[int, ...], held: int) -> Data:
    rng = np.random.default_rng(5)
    places = np.sort(rng.choice(int(np.prod(radices)), held, replace=False))
    codes = np.stack(np.unravel_index(places, radices))
    return Data("small", Table(radices, codes, rng.integers(1, 50, held)))


@pytest.mark.parametrize("radices", [(300,), (21, 13)])
@pytest.mark.parametrize("kind", [Dyadic, Haar])
def test_answers_of_a_hierarchy_are_those_of_the_library(
    radices: tuple[int, ...], kind: type[Dyadic | Haar]
) -> None:
    data, boxes = small(radices, 60), queries.boxes(radices, (0.01, 0.3), 10)
    made = methods.hierarchical(kind, methods.shared(EPSILON, 150))(data.table)
    assert isinstance(made, Nodes)
    bounds = [[(a, b) for a, b in box] for box in boxes.bounds.tolist()]
    expected = [made.made.range(box).estimate for box in bounds]
    assert made.answers(boxes) == pytest.approx(expected)
    assert made.size == len(made.made)


@pytest.mark.parametrize("radices", [(300,), (21, 13)])
def test_answers_of_cells_are_their_sums(radices: tuple[int, ...]) -> None:
    data, boxes = small(radices, 60), queries.boxes(radices, (0.01, 0.3), 10)
    cells = Cells(data.dense, data.cells)
    for found, box in zip(cells.answers(boxes), boxes.bounds.tolist(), strict=True):
        assert found == data.dense[tuple(slice(a, b + 1) for a, b in box)].sum()


def test_a_filter_is_expected_to_pass_as_many_cells_as_it_does() -> None:
    rate, theta = Fraction(1, 5), 7
    with repeatable(3):
        noise = two_sided(rate, 200_000)
    for count in (0, 3, 7, 20):
        expected = float(methods.passing(np.array([count]), theta, rate)[0])
        share = float(np.mean(np.abs(count + noise) >= theta))
        assert share == pytest.approx(expected, abs=5 * sqrt(0.25 / 200_000))


def test_theta_of_a_filter_is_the_least_for_its_size() -> None:
    data, rate = synthetic(0.01), Fraction(1, 10)
    theta = methods.filter_theta([data.table], rate, 10_000)
    sizes = [_expected(data, rate, t) for t in (theta - 1, theta)]
    assert sizes[1] <= 10_000 < sizes[0]


def _expected(data: Data, rate: Fraction, theta: int) -> float:
    empty = (data.cells - data.held) * methods.passing(np.zeros(1), theta, rate)[0]
    return float(empty + methods.passing(data.table.counts, theta, rate).sum())


def test_rmse_of_subsets_is_that_over_all_of_them() -> None:
    missed = np.array([3.0, -1.0, 4.0, 0.0, 0.0, 2.0])
    sums = [sum(chosen) for chosen in combinations(missed.tolist(), 2)]
    expected = sqrt(float(np.mean(np.square(sums))))
    found = queries.subset_rmse(float(missed.sum()), float(missed @ missed), 6, 2 / 6)
    assert found == pytest.approx(expected)


def test_marginals_are_sums_over_the_other_attributes() -> None:
    cells = np.arange(24.0).reshape(2, 3, 4)
    ones = [*cells.sum(axis=(1, 2)), *cells.sum(axis=(0, 2)), *cells.sum(axis=(0, 1))]
    assert sorted(queries.marginals(cells, [1])) == sorted(ones)
    assert len(queries.marginals(cells, [1, 2])) == 9 + 6 + 8 + 12


def test_the_same_seed_gives_the_same_errors() -> None:
    data = small((300,), 60)
    boxes = queries.ranges(300, [5, 50], 20)
    compared = methods.flat_methods(data.table, EPSILON, 60)
    first, second = (measure(data, compared, boxes, 2) for _ in range(2))
    for name, errors in first.items():
        assert np.array_equal(errors.absolute, second[name].absolute)
    assert first[methods.PRIORITY].size == 60


def test_the_default_tables_are_those_of_the_paper() -> None:
    for density in (0.1, 0.01):
        data = synthetic(density)
        assert data.cells == 10**6
        assert data.held == round(density * 10**6)
        assert data.table.counts.min() >= 1
        assert float(data.table.counts.mean()) == pytest.approx(100, abs=1)
        assert float(data.table.counts.std()) == pytest.approx(20, abs=0.5)


@needs_data
def test_the_real_tables_have_their_known_sizes() -> None:
    found = {data.name: (data.cells, data.held) for data in (rhode_island(), counties(), adult())}
    assert found == {
        "Rhode Island": (811 * 811, 154_840),
        "US counties": (3142 * 3142, 135_760),
        "Adult": (907_200, 6_816),
    }
    assert int(rhode_island().table.counts.sum()) == 406_052
    assert int(adult().table.counts.sum()) == 32_561


def test_rows_of_a_cell_are_added_up(tmp_path: Path) -> None:
    rows = ["w_geocode,h_geocode,S000", "440010301001008,440010301003019,2"]
    rows += ["440010301001999,440010301003001,3", "440010301003001,440010301003001,1"]
    with gzip.open(tmp_path / RHODE_ISLAND, "wt", encoding="utf-8") as file:
        file.write("\n".join(rows))
    found = rhode_island(tmp_path).table
    assert found.radices == (2, 2)
    assert found.codes.T.tolist() == [[0, 1], [1, 1]]
    assert found.counts.tolist() == [5, 1]


def test_figures_of_missing_tables_are_skipped_aloud_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "figure-7.png"
    before.write_bytes(b"as it was")
    figures.run(tmp_path, only=(6, 7, 8), folder=tmp_path)
    assert capsys.readouterr().out.count("skipped, commute_rhode_island.csv.gz and") == 3
    assert before.read_bytes() == b"as it was"
    assert list(tmp_path.iterdir()) == [before]


def test_rows_of_skipped_figures_stay_in_the_table() -> None:
    old = "| 6a | old | old | old | old |\n| 5a | stale | - | - | - |"
    new = Claim("5a", "new", "1", "holds")
    assert claims_table(old, [new], frozenset({6}), HEADER)[2:] == [new.row(), old.splitlines()[0]]


def test_the_readme_has_a_row_for_every_figure_and_places_for_its_tables() -> None:
    text = figures.README.read_text(encoding="utf-8")
    for name in ("claims", "shares"):
        assert replaced(text, name, []) != text
    for number in (*figures.SYNTHETIC, *figures.REAL):
        assert f"\n| {number}a | " in text
        assert f"](figure-{number}.png)" in text
        assert (figures.HERE / f"figure-{number}.png").exists()


def test_a_verdict_says_where_a_statement_is_true() -> None:
    names = ["a", "b", "c"]
    assert holds_where([True] * 3, names, "x") == "holds"
    assert holds_where([False] * 3, names, "x") == "does not hold"
    assert holds_where([True, True, False], names, "x") == "holds in part: for x of a to b"
    assert holds_where([True, False, True], names, "x") == "holds in part: for x of a, c"


def test_the_laborious_way_runs_where_there_is_less_than_the_size() -> None:
    data = small((300,), 60)
    speed.laborious(data.table, EPSILON, 10, 290)
    speed.laborious(data.table, EPSILON, 1, 20)


@pytest.mark.slow
def test_readme_has_the_rows_that_are_measured() -> None:
    written = figures.README.read_text(encoding="utf-8").splitlines()
    for claim in claims_flat.figure_2():
        assert claim.row() in written


def test_real_tables_are_read_from_outside_the_project() -> None:
    assert figures.HERE.parents[1] not in FOLDER.parents
