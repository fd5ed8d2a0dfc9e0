"""What all queries together cost a client in its lifetime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from tamis.federated.rounds import Grid, delta
from tamis.privacy.exact import exactly


def spent(settings: Iterable[tuple[int, int, int]], epsilon: float, replaced: bool) -> Fraction:
    """The delta at ``epsilon`` of all queries (parts, tau, rounds) that a client takes part in.

    Guarantee: an upper bound, if the settings of all of them were chosen without looking at the
    results of any: then more queries fit than by plain sums. What is asked in a round may depend on
    results; a `Client`, who cannot know how queries were chosen, goes by plain sums.
    """
    rounds: Counter[tuple[int, int]] = Counter()
    for parts, tau, times in settings:
        rounds[parts, tau] += times
    together = tuple((*setting, times) for setting, times in sorted(rounds.items()))
    return delta(together, exactly(epsilon), replaced, Grid.suited(epsilon, rounds.total()))
