"""What each method would give, from public numbers, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log, prod, sqrt
from typing import Literal

from tamis.privacy.errors import InvalidInput
from tamis.sparse.advice import hierarchical
from tamis.sparse.domain import Domain
from tamis.sparse.noise import passing, variance
from tamis.sparse.recipe import FLAT, MOST_CELLS, SPLIT, Recipe, choose

Workload = Literal["point", "subset", "range"]

_LARGEST_SPLIT = 4096  # combinations of levels; with more, each has next to no share of epsilon
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
    lengths = [max(1, radix // _SHARE) for radix in domain.radices]
    if not recipe.flat:
        cells = hierarchical(recipe.transforms, [1] * len(domain), rate)
        box = hierarchical(recipe.transforms, lengths, rate)
        assert recipe.size is not None
        return Outlook(recipe, 0.0, float(recipe.size), cells, float("inf"), box)
    rule = recipe.rules[0]
    sampled = float(max(rule.guess(domain.cells), rule.tau))  # the threshold of noise alone
    each = _mean_square(rate, max(rule.theta, 1) if not rule.whole else 0, sampled)
    return Outlook(
        recipe,
        0.0 if rule.whole else max(sampled / 2, float(max(rule.theta, 1))),
        _noise(recipe, sampled),
        sqrt(variance(rate)),
        sqrt(each * domain.cells / _SHARE),
        sqrt(each * prod(lengths)),
    )


def _noise(recipe: Recipe, sampled: float) -> float:
    """Cells of noise alone that stay."""
    rule = recipe.rules[0]
    if rule.whole:
        return float(recipe.domain.cells)
    passed = float(rule.law.p(60).low) * recipe.domain.cells
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
    for method in (*FLAT, *SPLIT):
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
    """The method for a workload: flat for cells and subsets, for ranges what noise hurts least."""
    if workload != "range":
        return FLAT[0]
    can = outlooks(domain, epsilon, change, size)
    can = [o for o in can if o.recipe.method in (FLAT[0], "consistent dyadic", "haar")]
    return min(can, key=lambda o: o.error(workload)).recipe.method


def _combinations(domain: Domain) -> int:
    return prod(1 + max(0, int(log(max(1, radix - 1), 2)) + 1) for radix in domain.radices)
