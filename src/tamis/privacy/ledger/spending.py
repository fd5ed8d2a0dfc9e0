"""Whether releases fit into a budget together.

Three bounds on what n releases (epsilon_i, delta_i) cost together are known, and each is enough:

* plain sums, for any releases, in exact fractions;
* the optimal composition of equal releases, in exact fractions (Kairouz, Oh, Viswanath 2017);
* losses added on a grid, for different ones, which is an upper bound (`losses`).

Numbers are read as they are printed: 0.1 is one tenth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from tamis.privacy.exact import exactly
from tamis.privacy.ledger.losses import LossLaw, loss_law
from tamis.privacy.verify import optimal_composition

PARTS = 1_000_000  # what is shown is known to a millionth of the budget
_LARGEST_EPSILON = 1000.0  # of any guarantee
_MOST_EQUAL = 1000  # releases that are composed optimally


class Cost(NamedTuple):
    """(epsilon, delta) of one release, or of a whole budget."""

    epsilon: float
    delta: float


Costs = tuple[tuple[Cost, int], ...]  # which costs, and how often each


def tally(costs: Iterable[Cost]) -> Costs:
    return tuple(sorted(Counter(costs).items()))


@lru_cache(maxsize=256)
def sums(costs: Costs) -> tuple[Fraction, Fraction]:
    """The plain sums of epsilon and delta."""
    epsilon = sum((exactly(c.epsilon) * n for c, n in costs), Fraction(0))
    return epsilon, sum((exactly(c.delta) * n for c, n in costs), Fraction(0))


def fits_with(costs: Costs, new: Cost, budget: Cost) -> bool:
    """Whether one more release fits.

    Guarantee: if this is true, the releases in ``costs`` and the new one together are
    (budget.epsilon, budget.delta)-differentially private, for parameters that were chosen without
    looking at earlier results.
    """
    epsilon, delta = exactly(budget.epsilon), exactly(budget.delta)
    spent, given = sums(costs)
    spent, given = spent + exactly(new.epsilon), given + exactly(new.delta)
    if spent <= epsilon and given <= delta:
        return True
    if _equally(_add(costs, new), epsilon, delta):
        return True
    if given > delta:
        return False
    return given + Fraction(_law(costs, budget).excess_with(new.epsilon, _less(epsilon))) <= delta


@lru_cache(maxsize=256)
def spent_epsilon(costs: Costs, budget: Cost) -> float:
    """The epsilon of all costs at the budget's delta, to a millionth of the budget, rounded up.

    It is the plain sum unless composition saves more than a thousandth of it.
    """
    if not costs:
        return 0.0
    whole, (plain, given) = exactly(budget.epsilon), sums(costs)
    bound = whole * _least(lambda part: _fits(costs, whole * part / PARTS, budget)) / PARTS
    if given <= exactly(budget.delta) and plain <= min(whole, bound * Fraction(1001, 1000)):
        return float(plain)
    return float(bound)


def largest_epsilon(costs: Costs, delta: float, budget: Cost) -> float:
    """The largest epsilon of one further release with this delta, to a millionth, rounded down."""

    def refused(part: int) -> bool:
        return not fits_with(costs, Cost(budget.epsilon * part / PARTS, delta), budget)

    most = PARTS  # a little more than the budget's epsilon fits when delta leaves room for it
    while not refused(most) and budget.epsilon * most < _LARGEST_EPSILON * PARTS:
        most *= 2
    found = min(_LARGEST_EPSILON, budget.epsilon * (_least(refused, most + 1) - 1) / PARTS)
    plain, given = sums(costs)
    if given + exactly(delta) <= exactly(budget.delta):
        found = max(found, floor_float(exactly(budget.epsilon) - plain))
    return found


def simply_left(costs: Costs, delta: float, budget: Cost) -> float:
    """`largest_epsilon` as people expect it: of 1, after 0.4, 0.6 is left, and not 0.600001.

    It is the plain difference unless composition adds more than a thousandth to it.
    """
    found, (spent, given) = largest_epsilon(costs, delta, budget), sums(costs)
    plain = floor_float(exactly(budget.epsilon) - spent)
    simple = given + exactly(delta) <= exactly(budget.delta) and found <= plain * 1.001
    return plain if simple else found


def floor_float(value: Fraction) -> float:
    """The largest number that is printed as at most ``value``; 0 for what is negative."""
    if value <= 0:
        return 0.0
    number = float(value)
    while exactly(number) > value:
        number = math.nextafter(number, 0.0)
    return number


def _fits(costs: Costs, epsilon: Fraction, budget: Cost) -> bool:
    delta, (spent, given) = exactly(budget.delta), sums(costs)
    if spent <= epsilon and given <= delta:
        return True
    if _equally(costs, epsilon, delta):
        return True
    if given > delta:
        return False
    return given + Fraction(_law(costs, budget).excess(_less(epsilon))) <= delta


def _equally(costs: Costs, epsilon: Fraction, delta: Fraction) -> bool:
    if len(costs) != 1 or costs[0][1] > _MOST_EQUAL:
        return False
    (each, times) = costs[0]
    return optimal_composition(exactly(each.epsilon), exactly(each.delta), times, epsilon) <= delta


def _law(costs: Costs, budget: Cost) -> LossLaw:
    groups: Counter[float] = Counter()
    for cost, times in costs:
        groups[cost.epsilon] += times
    return loss_law(tuple(sorted(groups.items())), budget.epsilon, budget.delta)


def _add(costs: Costs, new: Cost) -> Costs:
    return tuple(sorted((Counter(dict(costs)) + Counter({new: 1})).items()))


def _less(epsilon: Fraction) -> float:
    """A float that is not above ``epsilon``."""
    return math.nextafter(float(epsilon), -math.inf)


def _least(holds: Callable[[int], bool], most: int = PARTS) -> int:
    """The least part of 1 to ``most`` at which a condition that stays true becomes true."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
