"""What is asked of each combination of levels: its noise, its filter, its sample.

In several dimensions every combination (l_1, ..., l_d) of levels is a table of its own. One record
changes each of them by exactly 1, so the combinations share epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import ceil, exp, expm1, log, log1p, prod

from tamis.privacy.errors import InvalidInput, counted, shown
from tamis.sparse.hierarchy import Transform
from tamis.sparse.law import Zero


@dataclass(frozen=True)
class Rule:
    """The noise of a combination of levels, and which of its nodes stay.

    ``theta`` 0 stands for no filter and ``tau`` 0 for no sample at a threshold; with a ``size``
    there is a priority sample. With none of them every node is published.
    """

    levels: tuple[int, ...]
    rate: Fraction
    theta: int = 0
    tau: Fraction = Fraction(0)
    size: int | None = None
    one_sided: bool = False

    def __post_init__(self) -> None:
        if self.theta < 0 or self.tau < 0 or (self.size is not None and self.size < 0):
            raise InvalidInput("theta, tau and size must be 0 or more; leave out those not wanted.")
        if self.size is not None and (self.tau or self.one_sided):
            raise InvalidInput(
                "A priority sample has its own threshold and keeps both signs; "
                "give a size, or tau and one_sided, not both."
            )

    @property
    def whole(self) -> bool:
        """Whether every node is published."""
        return self.size is None and self.theta == 0 and self.tau == 0

    @property
    def law(self) -> Zero:
        """A node that holds nothing, filtered and sampled; a value of 0 is never in a sample."""
        return Zero(self.rate, max(self.theta, 1), self.tau, self.one_sided)

    @property
    def filter(self) -> Zero:
        """The same before the sample, where there is a filter."""
        return Zero(self.rate, self.theta, one_sided=self.one_sided)

    def alone(self, nodes: int, tau: Fraction | None = None) -> float:
        """About how many of so many nodes that hold nothing pass the filter and the threshold.

        ``tau`` is the threshold that a priority sample turned out to have.
        """
        if self.whole:
            return float(nodes)
        law = self.law if tau is None else replace(self.law, tau=tau)
        return exp(min(log(nodes) + float(law.p(40).low.ln()), 700.0))

    def guess(self, nodes: int) -> Fraction:
        """About the threshold of a sample of a table of noise; it changes nothing but the time."""
        least, a = max(self.theta, 1), exp(-self.rate)
        passed = log(2) + log(nodes) - float(self.rate) * least - log1p(a)  # its logarithm
        if not self.size or passed <= log(self.size):
            return Fraction(least)
        return Fraction(exp(passed - log(self.size)) * (least - a / expm1(-self.rate)))


def combinations(transforms: Sequence[Transform]) -> list[tuple[int, ...]]:
    """All combinations of levels, in order: whatever is above another comes before it."""
    return list(product(*(range(t.levels) for t in transforms)))


def nodes(transforms: Sequence[Transform], levels: Sequence[int]) -> int:
    """How many nodes a combination has."""
    return prod(t.nodes(level) for t, level in zip(transforms, levels, strict=True))


def shares(levels: Sequence[tuple[int, ...]], growth: Fraction) -> list[Fraction]:
    """Parts of 1: in every dimension, a level has ``growth`` times that of the one above it."""
    weights = [growth ** sum(combination) for combination in levels]
    total = sum(weights, Fraction(0))
    return [weight / total for weight in weights]


def cost(rules: Sequence[Rule], change: int) -> Fraction:
    """Epsilon, where one unit changes the counts of the cells by at most ``change`` in total."""
    return change * sum((rule.rate for rule in rules), Fraction(0))


def plan(
    transforms: Sequence[Transform],
    epsilon: Fraction,
    change: int,
    size: int,
    budgets: Sequence[Fraction] | None = None,
) -> tuple[Rule, ...]:
    """Rules that cost epsilon and publish at most ``size`` nodes, from public numbers only.

    ``budgets`` are the parts of epsilon for `combinations`, in their order; by default all are
    equal. Combinations with few nodes are published whole, and leave the rest of their share of
    the size to larger ones, which get a priority sample and a filter that lets about as many nodes
    of nothing but noise pass as there is room for.
    """
    _check_size(prod(t.levels for t in transforms), size)
    levels = combinations(transforms)
    shares = _shares(levels, epsilon, budgets)
    sizes = _sizes([nodes(transforms, combination) for combination in levels], size)
    return tuple(
        _rule(combination, share / change, nodes(transforms, combination), room)
        for combination, share, room in zip(levels, shares, sizes, strict=True)
    )


def _rule(levels: tuple[int, ...], rate: Fraction, nodes: int, size: int) -> Rule:
    if nodes <= size:
        return Rule(levels, rate)
    return Rule(levels, rate, least_theta(rate, nodes, size), size=size)


def least_theta(rate: Fraction, nodes: int, most: int) -> int:
    """The least theta at which about ``most`` of so many nodes that hold nothing pass."""
    return max(1, ceil((log(2 * nodes) - log(most) - log(1 + exp(-rate))) / rate))


def _shares(
    levels: Sequence[tuple[int, ...]], epsilon: Fraction, budgets: Sequence[Fraction] | None
) -> list[Fraction]:
    if budgets is None:
        return [epsilon / len(levels)] * len(levels)
    if len(budgets) != len(levels) or min(budgets) <= 0 or sum(budgets) != epsilon:
        raise InvalidInput(
            f"budgets must be {len(levels)} positive fractions, one for each combination of "
            f"levels, that add up to epsilon = {epsilon}; leave them out to share equally."
        )
    return list(budgets)


def _check_size(many: int, size: int) -> None:
    if size < many:  # before they are listed
        raise InvalidInput(
            f"size must be at least {counted(many, 'node')}, one for each combination of levels, "
            f"not {shown(size)}; give a larger size, or take a method without levels."
        )


def _sizes(nodes: Sequence[int], size: int) -> list[int]:
    """An equal share for each; what small tables leave over is shared by the larger ones."""
    rooms, left = [0] * len(nodes), size
    for done, k in enumerate(sorted(range(len(nodes)), key=nodes.__getitem__)):
        rooms[k] = min(nodes[k], left // (len(nodes) - done))
        left -= rooms[k]
    return rooms
