"""What each method would give, from public numbers, before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log, pi, prod, sqrt
from typing import Literal

from tamis.privacy.errors import InvalidInput
from tamis.privacy.noise import passing, variance
from tamis.sparse.domain import Domain
from tamis.sparse.hierarchy import Transform
from tamis.sparse.recipe import FLAT, MOST_CELLS, SKETCHES, SPLIT, Recipe, choose
from tamis.sparse.rules import combinations, shares

Workload = Literal["point", "subset", "range"]

_LARGEST_SPLIT = 4096  # combinations of levels; with more, each has next to no share of epsilon
_WORSE = 3  # times the noise of plain cells is the price of sums without a bias
_PLACES = 256  # so many places of a range are tried
_SHARE = 10  # a range of a tenth of each attribute stands for the others


@dataclass(frozen=True)
class Outlook:
    """What is known of a method beforehand.

    ``half`` is the count at which a cell is in the summary in one of two cases; ``noise`` how many
    cells of nothing but noise there are in it on average; ``point``, ``subset`` and ``range`` the
    errors (root of the mean square) that noise makes: of one cell that stays, of a tenth of all
    cells, and of a range of a tenth of each attribute.
    """

    recipe: Recipe
    half: float
    noise: float
    point: float
    subset: float
    range: float

    def error(self, workload: Workload) -> float:
        return float(getattr(self, workload))


def outlook(recipe: Recipe) -> Outlook:
    """From the recipe alone. What a filter takes from small counts is in none of the errors."""
    domain, rate = recipe.domain, recipe.rate
    lengths = _lengths(domain)
    if recipe.sketched:
        return _sketched(recipe, prod(lengths))
    if not recipe.flat:
        cells = hierarchical(recipe.transforms, [1] * len(domain), rate, recipe.growth)
        box = hierarchical(recipe.transforms, lengths, rate, recipe.growth)
        assert recipe.size is not None
        return Outlook(recipe, 0.0, float(recipe.size), cells, float("inf"), box)
    rule = recipe.rules[0]
    sampled = float(max(rule.guess(domain.cells), rule.tau))  # the threshold of noise alone
    theta = max(rule.theta, 1) if not rule.whole else 0
    each, mean = _mean_square(rate, theta, sampled), 0.0
    if rule.one_sided:  # what passes is above 0, and adds up
        each, mean = each / 2, _mean_size(rate, theta) / 2
    return Outlook(
        recipe,
        0.0 if rule.whole else max(sampled / 2, float(max(rule.theta, 1))),
        _noise(recipe),
        sqrt(variance(rate)),
        sqrt(each * domain.cells / _SHARE + (mean * domain.cells / _SHARE) ** 2),
        sqrt(each * prod(lengths) + (mean * prod(lengths)) ** 2),
    )


def hierarchical(
    transforms: Sequence[Transform],
    lengths: Sequence[int],
    rate: Fraction,
    growth: Fraction = Fraction(1),
) -> float:
    """The error of a range from whole levels that share the rate, each finer one growth times."""
    each = [_squares(t, length) for t, length in zip(transforms, lengths, strict=True)]
    levels = combinations(transforms)
    total = 0.0
    for combination, share in zip(levels, shares(levels, growth), strict=True):
        weight = prod(of[k] for of, k in zip(each, combination, strict=True))
        total += variance(rate * share) * weight if weight else 0.0
    return sqrt(total)


def _squares(transform: Transform, length: int) -> list[float]:
    """The sum of the squared weights on each level, on average over places of the range."""
    free = transform.size - length
    starts = sorted({free * k // (_PLACES - 1) for k in range(_PLACES)})
    sums = [0.0] * transform.levels
    for start in starts:
        for p in transform.parts(start, start + length - 1):
            sums[p.level] += p.many * p.weight**2 / len(starts)
    return sums


def _sketched(recipe: Recipe, asked: int) -> Outlook:
    """Other cells in the same buckets add an error that depends on the data, and is not in it."""
    (width, rows), spread = recipe.shape, variance(recipe.rate / recipe.shape[1])
    each = spread / rows * (pi / 2 if recipe.over == "median" else 1.0)
    errors = (sqrt(each * cells) for cells in (1, recipe.domain.cells / _SHARE, asked))
    return Outlook(recipe, 0.0, float(width * rows), *errors)


def _noise(recipe: Recipe) -> float:
    """Cells of noise alone that stay."""
    rule = recipe.rules[0]
    passed = rule.alone(recipe.domain.cells)
    return passed if rule.size is None else min(passed, float(rule.size))


def _mean_square(rate: Fraction, theta: int, tau: float) -> float:
    """Of the weight of a cell that holds nothing: tau |v| on average below tau, v^2 above."""
    if tau <= theta:
        return passing(rate, theta)
    above = int(tau) + 1
    return tau * (_mean_size(rate, theta) - _mean_size(rate, above)) + passing(rate, above)


def _mean_size(rate: Fraction, theta: int) -> float:
    """The mean of |X| over |X| >= theta >= 1."""
    a = exp(-rate)
    return 2 * exp(-rate * theta) / (1 + a) * (theta - a / expm1(-rate))


def outlooks(domain: Domain, epsilon: Fraction, change: int, size: int | None) -> list[Outlook]:
    """Of all methods that can be used."""
    found = []
    for method in (*FLAT, *SPLIT, *SKETCHES):
        if method in SPLIT and _combinations(domain) > _LARGEST_SPLIT:
            continue
        if method == "full" and domain.cells > MOST_CELLS:
            continue
        try:
            recipe = choose(
                domain,
                epsilon,
                change,
                method=method,
                size=None if method == "full" else size,
            )
            found.append(outlook(recipe))
        except InvalidInput:
            if method == FLAT[0]:
                raise
    return found


def suggest(
    domain: Domain, epsilon: Fraction, change: int, size: int | None, workload: Workload
) -> str:
    """The method for a workload: flat for cells and subsets, and often a hierarchy for ranges.

    For ranges, a flat filter leaves out counts below theta, and how much that is cannot be known
    beforehand. So a hierarchy is taken unless its noise is more than that of cells without a
    filter, three times over; in three or more dimensions it nearly always is.
    """
    if workload != "range":
        return FLAT[0]
    errors = {o.recipe.method: o.range for o in outlooks(domain, epsilon, change, size)}
    split = [method for method in SPLIT if method in errors]
    plain = sqrt(variance(epsilon / change) * prod(_lengths(domain)))
    if not split:
        return FLAT[0]
    best = min(split, key=lambda method: errors[method])
    return best if errors[best] <= _WORSE * plain else FLAT[0]


def _lengths(domain: Domain) -> list[int]:
    return [max(1, radix // _SHARE) for radix in domain.radices]


def _combinations(domain: Domain) -> int:
    return prod(1 + max(0, int(log(max(1, radix - 1), 2)) + 1) for radix in domain.radices)
