"""The experiments of papers/importance: what is measured is what is said, and what is skipped."""

from __future__ import annotations

import gzip
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from papers.importance import claims_costs, claims_privacy, draw, figures, lloyd, privacy
from papers.importance.claims import HEADER, Claim, compared, never_higher
from papers.importance.data import REAL, Table, missing, mixture, prepared, real
from papers.importance.experiments import OURS, Sweep, best, sweep
from papers.importance.lloyd import CORESET, FULL, OPTIMAL, SAMPLERS, UNIFORM
from papers.importance.settings import EPSILONS, ITERATIONS, RADII
from papers.page import claims_table, replaced
from papers.sparse.draws import repeatable
from tamis.importance import amplified
from tamis.importance.kmeans.run import mechanism
from tamis.importance.kmeans.steps import Step
from tamis.importance.kmeans.totals import Points

needs_tables = pytest.mark.skipif(bool(missing()), reason="the tables are not here")


@pytest.fixture(scope="module")
def few() -> Table:
    return mixture(3000, 4)


def test_every_sampler_promises_epsilon_and_no_less(few: Table) -> None:
    for epsilon in (0.1, 1.0, 10.0, 1000.0):
        for kind in SAMPLERS:
            chosen = lloyd.sampling(few, kind, 500, epsilon)
            profile = mechanism(chosen.spent, few.dimensions, few.grid.steps)
            points = privacy.at_norms(few.grid.steps, 2000)
            psi = amplified(profile, 1 / chosen.sampler.probability(points), points)
            assert psi.max() <= epsilon
            assert psi.max() == pytest.approx(epsilon, rel=1e-6)


def test_samples_are_as_large_as_is_asked_for(few: Table) -> None:
    for kind in SAMPLERS:
        size = lloyd.sampling(few, kind, 500, 10.0).sampler.expected_size(few.places)
        assert size == pytest.approx(500, rel=0.02)


def test_optimal_weights_take_no_more_points_than_need_no_more_noise(few: Table) -> None:
    chosen = lloyd.sampling(few, OPTIMAL, 2900, 0.1)
    assert chosen.spent == pytest.approx(0.1)
    assert chosen.sampler.expected_size(few.places) < 2900 / 2


def test_the_steps_of_one_run_spend_what_they_may() -> None:
    """T steps of the noise that is drawn, on a point at the radius: Proposition 5."""
    spent, radius = 3.0, 1 << 20
    step = Step(Fraction(spent) / ITERATIONS, radius, 5)
    assert ITERATIONS * (step.count_rate + radius * step.sum_rate) == spent
    assert float(step.sum_rate / step.count_rate) * radius == pytest.approx(
        5 * (4 * 5 * 0.225**2) ** (1 / 3), rel=1e-3
    )


def test_without_noise_dp_lloyd_is_lloyd() -> None:
    """Four corners; with hardly any noise every centre ends on one, or between some."""
    radius = 1 << 20
    corners = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]) * (radius // 2)
    points = Points(np.repeat(corners, 1000, axis=0).astype(np.float64))
    with repeatable(1):
        centres = lloyd.lloyd(points, 1e6, radius)
    away = np.abs(centres[:, None] - corners[None]).sum(axis=2).min(axis=0)
    assert away.max() < radius / 1000


def test_the_same_seed_gives_the_same_costs(few: Table) -> None:
    first, second = (sweep.__wrapped__(few, 2, (1.0, 30.0)) for _ in range(2))
    assert set(first.costs) == {(FULL, 0)}  # 3,000 points are fewer than any sample
    assert all(np.array_equal(first.costs[key], second.costs[key]) for key in first.costs)


def test_more_epsilon_costs_less_and_our_best_costs_less_than_dp_lloyd(few: Table) -> None:
    full = sweep(few, 5, (0.3, 30.0)).at(FULL)
    ours = best(few, 5, (0.3, 30.0)).at(OURS)
    assert full[1] < full[0]
    assert (ours < full).all()


def test_quantiles_are_of_all_draws() -> None:
    found = Sweep({(FULL, 0): np.array([[1.0, 2, 3, 4, 5]]), (UNIFORM, 7): np.array([[6.0] * 5])})
    assert found.sizes == [7]
    assert [found.at(FULL, 0, q)[0] for q in (0.25, 0.5, 0.75)] == [2, 3, 4]
    assert found.over(UNIFORM, FULL, 7, same=False).tolist() == [2.0]


def test_sampling_gains_nothing_and_the_printed_bracket_misses_roots(few: Table) -> None:
    assert privacy.most_gained(few, 1.0) <= 1e-12
    printed, corrected = privacy.missed_roots(few, 1.0)
    assert printed > 0.5
    assert corrected == 0
    optimal, coreset = privacy.fewest(few, 1.0)
    assert optimal < coreset <= 1


def test_the_printed_noise_overspends_in_few_dimensions() -> None:
    assert privacy.printed_noise(2) > 1 > privacy.printed_noise(54)
    flat = 1 / (4 * 0.225**2)  # where both noises have one scale
    assert math.isclose(privacy.printed_noise(round(flat)), 1, rel_tol=0.01)


def test_rows_beyond_the_radius_are_dropped_and_the_rest_is_centred() -> None:
    rows = np.random.default_rng(1).normal(0, 1, (2000, 3))
    rows[:10] = RADII["mixture"]
    table = prepared("mixture", rows)
    assert len(table.points) == 1990
    assert np.abs(table.points.mean(axis=0)).max() < 1e-12
    assert table.norms[-1] <= table.grid.steps


def test_radii_leave_out_about_as_many_rows_as_in_the_paper() -> None:
    assert len(mixture().points) == pytest.approx(97_500, rel=0.002)


@pytest.mark.slow
@needs_tables
def test_the_tables_are_those_that_the_readme_tells_of() -> None:
    tables = real()
    shapes = {name: table.points.shape for name, table in tables.items()}
    assert {name: columns for name, (_, columns) in shapes.items()} == {
        "letter": 16,
        "shuttle": 9,
        "covtype": 54,
    }
    rows = {"letter": 20_000, "shuttle": 58_000, "covtype": 581_012}
    for name, (kept, _) in shapes.items():
        assert kept == pytest.approx(0.975 * rows[name], rel=0.004)


def test_a_missing_table_is_named_and_its_figures_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with gzip.open(tmp_path / "letter.csv.gz", "wt") as file:
        file.write("a,b,class\n1,2,x\n")
    assert missing(tmp_path) == ["shuttle.csv.gz", "covtype.csv.gz"]
    before = tmp_path / "figure-2.png"
    before.write_bytes(b"as it was")
    figures.run(tmp_path, only=(2, 3, 4, 6), folder=tmp_path)
    said = "skipped, shuttle.csv.gz and covtype.csv.gz are not there"
    assert capsys.readouterr().out.count(said) == 4
    assert before.read_bytes() == b"as it was"


def test_rows_of_skipped_figures_stay_in_the_table() -> None:
    old = "| 2a | old | old | old |\n| 5a | stale | - | - |"
    new = Claim("5a", "new", "1", "holds")
    assert claims_table(old, [new], frozenset({2}), HEADER)[2:] == [old.splitlines()[0], new.row()]


def test_a_verdict_holds_only_if_nothing_is_worse() -> None:
    verdicts = {
        "holds": [0.5, 1.0],
        "in part": [0.5, 1.1],
        "does not hold": [1.0, 1.1],
        "equal everywhere": [1.0, 1.01],
    }
    for said, ratios in verdicts.items():
        assert never_higher(np.array(ratios)) == said
    assert compared(np.array([0.5, 1.0, 1.0, 2.0])) == (
        "lower 1, equal 2, higher 1 times; ×0.50 to ×2.00, median ×1.00"
    )


def test_every_method_has_a_colour_of_its_own() -> None:
    assert set(draw.STYLES) == {FULL, OURS, *SAMPLERS}
    assert len({style["color"] for style in draw.STYLES.values()}) == len(draw.STYLES)


def test_the_readme_has_a_row_for_every_figure_and_places_for_its_tables() -> None:
    text = figures.README.read_text(encoding="utf-8")
    for name in ("claims", "costs"):
        assert replaced(text, name, []) != text
    for number in (*figures.SYNTHETIC, *figures.REAL):
        assert f"\n| {number}a | " in text
        assert f"](figure-{number}.png)" in text
        assert (figures.HERE / f"figure-{number}.png").exists()


def test_the_readme_has_a_row_of_costs_for_every_method() -> None:
    text = figures.README.read_text(encoding="utf-8")
    for name in (*REAL, "mixture"):
        for kind in (OURS, FULL, UNIFORM, CORESET, OPTIMAL):
            rows = [row for row in text.splitlines() if row.startswith(f"| {name} | ")]
            assert any(
                f" | {kind} | " in row and row.count("|") == len(EPSILONS) + 4 for row in rows
            )


def test_readme_has_the_rows_that_are_computed() -> None:
    written = figures.README.read_text(encoding="utf-8").splitlines()
    for claim in claims_privacy.figure_1():
        assert claim.row() in written


@pytest.mark.slow
def test_readme_has_the_rows_that_are_measured() -> None:
    written = figures.README.read_text(encoding="utf-8").splitlines()
    for claim in claims_costs.figure_5():
        assert claim.row() in written
