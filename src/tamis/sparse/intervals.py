"""Intervals for sums of noisy numbers, whose tails are heavier than those of the normal law."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, log, sqrt

from tamis.privacy.answer import Answer, quantile

_MOST = 6.0  # that of noise at rate 2; beyond it, noise is nearly always 0


@dataclass(frozen=True)
class Unseen:
    """What nodes that are not in a summary could add, beside the noise.

    ``hidden``: theta for each node that a filter left out, and ``reach``: how far noise can have
    taken nodes down to there, by their weight over its rate. ``tau``: the largest threshold of a
    sample, times its weight, and ``room``: tau for each node that is not there. ``signed`` if nodes
    can be below 0, so that what is left out can be too.
    """

    hidden: float = 0.0
    reach: float = 0.0
    tau: float = 0.0
    room: float = 0.0
    signed: bool = False

    def plus(self, other: Unseen) -> Unseen:
        """Of both together; noise and samples of different tables are independent of each other."""
        return Unseen(
            self.hidden + other.hidden,
            max(self.reach, other.reach),
            hypot(self.tau, other.tau),
            self.room + other.room,
            self.signed or other.signed,
        )

    def above(self, coverage: float) -> float:
        """So much can nodes hold, beyond theta each, that a filter leaves them all out by chance.

        Noise of rate r takes a node down by e with probability exp(-r e) at most, and so nodes of
        rates r_i by e_i with probability exp(-sum of r_i e_i).
        """
        return self.reach * log(2 / (1 - coverage))

    def missed(self, coverage: float) -> float:
        """So much can nodes hold of which a sample at tau keeps none, with this probability.

        It keeps none of nodes v_1, v_2, ... with probability prod (1 - v_i / tau), which is at most
        exp(-sum of v_i / tau).
        """
        return min(self.room, self.tau * log(2 / (1 - coverage)))


NOTHING = Unseen()


def answer(
    estimate: float,
    variance: float,
    fourth: float,
    coverage: float = 0.95,
    said: str = "",
    unseen: Unseen = NOTHING,
) -> Answer:
    """An estimate whose error has this variance and this fourth cumulant.

    The interval is that of the normal approximation with the next term of its expansion, z + (z^3 -
    3z) k / 24, k = fourth / variance^2, where that is wider. For the noise of one count the normal
    one has 93.7 % in place of 95 %; for a sum of many they are the same.

    Reference: Cornish, Fisher, "Moments and cumulants in the specification of distributions"
    (1938).
    """
    excess = min(fourth / variance**2, _MOST) if variance else 0.0
    z, error = quantile(coverage), sqrt(variance)
    margin = (z + max(0.0, z**3 - 3 * z) * excess / 24) * error
    half = unseen.missed(coverage) / 2
    more = unseen.hidden + unseen.above(coverage) + half + sqrt(margin**2 + half**2)
    less = more if unseen.signed else margin
    return Answer(estimate, error, estimate - less, estimate + more, coverage, said)
