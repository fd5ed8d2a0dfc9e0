"""Predicted errors are those that are then made."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tamis.privacy import randomness
from tamis.privacy.noise import passing, two_sided
from tamis.sparse.flat import Table
from tamis.sparse.hierarchy import Dyadic, Haar, Plain
from tamis.sparse.planning import hierarchical
from tamis.sparse.ranges import summarize
from tamis.sparse.rules import Rule, combinations
from tests.sources import Stream

TENTH = Fraction(1, 10)


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        (Dyadic, (100,)),
        pytest.param(Dyadic, (9, 12), marks=pytest.mark.slow),
        (Haar, (100,)),
        pytest.param(Haar, (9, 12), marks=pytest.mark.slow),
    ],
)
def test_a_hierarchy_has_the_error_that_was_predicted(
    kind: type[Dyadic], sizes: tuple[int, ...]
) -> None:
    lengths = [size // 3 for size in sizes]
    predicted = hierarchical([kind(size) for size in sizes], lengths, Fraction(1))
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


@pytest.mark.parametrize("theta", [0, 1, 2, 15])
def test_what_passes_a_filter_has_the_mean_square_stated(theta: int) -> None:
    rate = Fraction(1, 5)
    with randomness.using(Stream(2)):
        noise = two_sided(rate, 400_000)
    squares = np.where(np.abs(noise) >= theta, noise, 0).astype(np.float64) ** 2
    assert abs(squares.mean() - passing(rate, theta)) < 4 * squares.std() / len(noise) ** 0.5


def test_wavelets_are_best_for_long_ranges_and_cells_for_short_ones() -> None:
    def error(kind: type[Plain] | type[Dyadic] | type[Haar], length: int) -> float:
        return hierarchical([kind(2**20)], [length], TENTH)

    assert error(Haar, 2**18) < error(Dyadic, 2**18) < error(Plain, 2**18)
    assert error(Plain, 3) < error(Haar, 3)


def test_cells_are_best_in_three_dimensions() -> None:
    for length in (1, 2, 8, 20, 32):
        errors = [
            hierarchical([kind(64)] * 3, [length] * 3, TENTH) for kind in (Plain, Dyadic, Haar)
        ]
        assert min(errors) == errors[0]
