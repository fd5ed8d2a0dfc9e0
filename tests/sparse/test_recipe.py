"""Recipes: what is chosen from public numbers, and what is predicted of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tamis.privacy.errors import InvalidInput
from tamis.sparse.domain import Domain
from tamis.sparse.flat import Table
from tamis.sparse.planning import outlook, outlooks, suggest
from tamis.sparse.ranges import Ranges
from tamis.sparse.recipe import FLAT, METHODS, SKETCHES, SPLIT, Recipe, choose
from tamis.sparse.rules import cost
from tamis.sparse.sketch import Sketch

AREA = Domain(home=300, work=200)
TENTH = Fraction(1, 10)


def chosen(method: str, **options: Any) -> Recipe:
    size = None if method == "full" else 2000
    return choose(AREA, TENTH, 1, method=method, **({"size": size} | options))


@pytest.mark.parametrize("method", SPLIT)
def test_finer_levels_can_have_more_of_epsilon(method: str) -> None:
    grown = chosen(method, growth=Fraction(11, 10))
    assert cost(grown.rules, 1) == TENTH
    rates = {rule.levels: rule.rate for rule in grown.rules}
    assert rates[1, 0] == rates[0, 1] == rates[0, 0] * Fraction(11, 10)
    assert rates[3, 2] == rates[0, 0] * Fraction(11, 10) ** 5
    assert outlook(grown).point < outlook(chosen(method)).point


def nothing(recipe: Recipe) -> Table:
    none = np.empty(0, dtype=np.int64)
    return recipe.table(recipe.domain.pack(np.array([none, none])), none)


@pytest.mark.parametrize("change", [1, 6])
@pytest.mark.parametrize("method", METHODS)
def test_the_rules_cost_epsilon_exactly(method: str, change: int) -> None:
    recipe = choose(AREA, TENTH, change, method=method, size=None if method == "full" else 5000)
    if recipe.sketched:
        drawn = recipe.draw(nothing(recipe))
        assert isinstance(drawn, Sketch)
        assert drawn.rate * change * len(drawn.hashes) == TENTH
    else:
        assert cost(recipe.rules, change) == TENTH


@pytest.mark.parametrize("method", [m for m in FLAT if m != "full"])
def test_an_empty_table_gives_about_as_many_cells_of_noise_as_predicted(method: str) -> None:
    recipe = chosen(method)
    sizes = [len(recipe.draw(nothing(recipe))) for _ in range(30)]
    predicted = outlook(recipe).noise
    assert np.mean(sizes) == pytest.approx(predicted, abs=5 * np.sqrt(predicted / 30) + 1)
    assert recipe.size is not None
    assert max(sizes) <= recipe.size or method in ("filter", "one-sided filter", "threshold")


@pytest.mark.parametrize(
    "method",
    [
        "full",
        "filter",
        "filter-priority",
        "priority",
        "threshold",
        *(pytest.param(method, marks=pytest.mark.slow) for method in SPLIT),
    ],
)
def test_noise_alone_makes_the_errors_that_were_predicted(method: str) -> None:
    """Of ranges, over an empty table; levels that are filtered lose noise, so it can be less."""
    recipe = chosen(method, **({"size": 240_000} if method in SPLIT else {}))
    seen = []
    rng = np.random.default_rng(1)
    for _ in range(60):
        summary = recipe.draw(nothing(recipe))
        assert isinstance(summary, Ranges)
        for _ in range(5):
            first = rng.integers(0, [270, 180])
            bounds = [(int(first[0]), int(first[0]) + 29), (int(first[1]), int(first[1]) + 19)]
            seen.append(summary.range(bounds).estimate)
    predicted = outlook(recipe).range
    assert np.sqrt(np.mean(np.square(seen))) == pytest.approx(predicted, rel=0.25)


def test_half_is_where_a_cell_stays_half_of_the_time() -> None:
    recipe = chosen("filter")
    count = round(outlook(recipe).half)
    cells = np.array([[7], [9]])
    stayed = 0
    for _ in range(300):
        drawn = recipe.draw(recipe.table(recipe.domain.pack(cells), np.array([count])))
        assert isinstance(drawn, Ranges)
        flat = drawn.levels[0].flat
        stayed += bool((flat.codes == cells).all(axis=0).any())
    assert 100 < stayed < 220  # just at theta, noise of 0 still lets it stay


def test_methods_are_suggested_by_workload() -> None:
    assert suggest(AREA, TENTH, 1, 2000, "subset") == "filter-priority"
    assert suggest(AREA, TENTH, 1, 2000, "point") == "filter-priority"
    long = Domain(day=2**20)
    best = suggest(long, TENTH, 1, 100_000, "range")
    errors = {o.recipe.method: o.range for o in outlooks(long, TENTH, 1, 100_000)}
    assert best == "haar"
    assert errors["haar"] < errors["dyadic"] < errors["full"]


def test_in_many_dimensions_flat_is_suggested() -> None:
    wide = Domain({f"a{n}": 16 for n in range(4)})
    assert suggest(wide, TENTH, 1, 20_000, "range") == "filter-priority"


def test_huge_domains_are_not_split() -> None:
    found = {
        o.recipe.method for o in outlooks(Domain({f"a{n}": 2 for n in range(100)}), TENTH, 1, 99)
    }
    assert found == {*FLAT, *SKETCHES} - {"full"}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no size": ({"size": None}, "size is missing"),
    "no method": ({"method": "best"}, "method must be one of"),
    "a size for full": ({"method": "full", "size": 3}, "leave out size"),
    "theta of 0": ({"theta": 0}, "theta must be"),
    "theta in part": ({"theta": 2.5}, "theta must be"),
    "tau of 0": ({"method": "threshold", "tau": Fraction(0)}, "tau must be"),
    "a total for no threshold": ({"total": 7}, "for method 'threshold'"),
    "levels of cells": ({"growth": Fraction(11, 10)}, "level_growth is for"),
    "levels that shrink": (
        {"method": "haar", "size": 999, "growth": Fraction(0)},
        "from 0.1 to 10",
    ),
    "too few nodes": ({"method": "haar", "size": 3}, "size must be at least"),
}


@pytest.mark.parametrize(("options", "words"), WRONG.values(), ids=WRONG)
def test_recipes_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"method": "filter-priority", "size": 50} | options
    with pytest.raises(InvalidInput, match=words):
        _ = choose(AREA, TENTH, 1, **given).rules


def test_a_rate_at_which_numbers_would_overflow_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 1e-15"):
        choose(AREA, Fraction(1, 10**9), 10**9, size=5)
