"""Predicted errors of ranges are those that are then made."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tamis.sparse.advice import DYADIC, FILTERED, FLAT, HAAR, flat_or_ranges
from tamis.sparse.flat import Table
from tamis.sparse.hierarchy import Dyadic, Haar
from tamis.sparse.noise import passing, two_sided, variance
from tamis.sparse.ranges import summarize
from tamis.sparse.rules import Rule, combinations
from tests.sources import Stream

TENTH = Fraction(1, 10)


@pytest.mark.parametrize(("name", "kind"), [(DYADIC, Dyadic), (HAAR, Haar)])
@pytest.mark.parametrize("sizes", [(100,), (9, 12)])
def test_a_hierarchy_has_the_error_that_was_predicted(
    name: str, kind: type[Dyadic], sizes: tuple[int, ...]
) -> None:
    lengths = [size // 3 for size in sizes]
    predicted = flat_or_ranges(sizes, lengths, Fraction(1)).errors[name]
    none = Table(sizes, np.zeros((len(sizes), 0), dtype=np.int64), np.zeros(0, dtype=np.int64))
    transforms = [kind(size) for size in sizes]
    levels = combinations(transforms)
    rng, errors = np.random.default_rng(1), list[float]()
    with randomness.using(Stream(1)):
        for _ in range(150):
            made = summarize(
                none, transforms, [Rule(of, Fraction(1, len(levels))) for of in levels]
            )
            for _ in range(8):
                starts = [rng.integers(0, m - n + 1) for m, n in zip(sizes, lengths, strict=True)]
                bounds = [(int(a), int(a) + n - 1) for a, n in zip(starts, lengths, strict=True)]
                errors.append(made.range(bounds).estimate)
    assert np.mean(np.square(errors)) ** 0.5 == pytest.approx(predicted, rel=0.1)


def test_flat_errors_are_those_of_the_cells_asked_for() -> None:
    advice = flat_or_ranges([1000, 50], [100, 5], TENTH, change=2, held=100, theta=60)
    rate = TENTH / 2
    assert advice.errors[FLAT] ** 2 == pytest.approx(500 * variance(rate))
    filtered = 1 * variance(rate) + 499 * passing(rate, 60)
    assert advice.errors[FILTERED] ** 2 == pytest.approx(filtered)
    assert advice.errors[FILTERED] < advice.errors[FLAT]
    assert FILTERED not in flat_or_ranges([10], [2], TENTH).errors


@pytest.mark.parametrize("theta", [0, 1, 2, 15])
def test_what_passes_a_filter_has_the_mean_square_stated(theta: int) -> None:
    rate = Fraction(1, 5)
    with randomness.using(Stream(2)):
        noise = two_sided(rate, 400_000)
    squares = np.where(np.abs(noise) >= theta, noise, 0).astype(np.float64) ** 2
    assert abs(squares.mean() - passing(rate, theta)) < 4 * squares.std() / len(noise) ** 0.5


def test_wavelets_are_best_for_long_ranges_and_cells_for_short_ones() -> None:
    assert flat_or_ranges([2**20], [2**18], TENTH).best == HAAR
    assert flat_or_ranges([2**20], [3], TENTH).best == FLAT
    assert flat_or_ranges([2**20], [2**18], TENTH).said.startswith("haar has the smallest error")


def test_flat_is_best_in_three_dimensions_and_advice_says_so() -> None:
    for length in (1, 2, 8, 20, 32):
        advice = flat_or_ranges([64] * 3, [length] * 3, TENTH)
        assert advice.best == FLAT
        assert "in 3 dimensions" in advice.said
        assert "flat summaries are better for nearly all ranges" in advice.said


@pytest.mark.parametrize("lengths", [[0], [11], [3, 3], []])
def test_lengths_that_no_range_has_are_refused(lengths: list[int]) -> None:
    with pytest.raises(InvalidInput, match="from 1 to the size"):
        flat_or_ranges([10], lengths, TENTH)
