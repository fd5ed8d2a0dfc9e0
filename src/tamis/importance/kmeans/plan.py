"""How the epsilon of private k-means is spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from tamis.importance.kmeans.steps import Step, count_share
from tamis.importance.kmeans.totals import COUNT_BITS
from tamis.privacy.errors import InvalidInput
from tamis.privacy.noise import check_rate

Init = Literal["private", "random"]

PER_CLUSTER = 4  # seeds
_CENTRE, _NORMS, _WIDTHS = Fraction(2, 100), Fraction(2, 100), Fraction(3, 100)
USUAL, _FEWER = 4, 2  # steps
CHOICES = (1, _FEWER, USUAL)
_MOST_SEED_STEPS = 2  # they have more centres, and take longer; after that, others do as much
_SOME_NOISE, _MUCH_NOISE = 0.5, 4.0


@dataclass(frozen=True)
class Spending:
    """What each part spends; together exactly epsilon.

    Guarantee: the parts are run one after the other, each private for its epsilon whatever those
    before have shown, so all together are epsilon-differentially private (pure).
    """

    centre: Fraction  # where the middle of the data is
    norms: Fraction  # how far points are from it
    search: Fraction  # the centres

    @classmethod
    def of(cls, epsilon: Fraction) -> Spending:
        centre, norms = epsilon * _CENTRE, epsilon * _NORMS
        return cls(centre, norms, epsilon - centre - norms)

    def rule(
        self, dimensions: int, schedule: Schedule, sample: dict[str, str] | None
    ) -> dict[str, Any]:
        """All of it, for a certificate.

        The noise of a step that spends e follows: its counts have the rate share e, its sums
        (1 - share) e over the radius, which is that of what is measured, in steps of the grid.
        """
        parts = {"middle": self.centre, "norms": self.norms, "centres": self.search}
        return {
            "name": "k-means",
            "parts": {name: str(part) for name, part in parts.items()},
            "search": schedule.rule(),
            "count_share": str(count_share(dimensions)),
            "sample": sample,
        }


@dataclass(frozen=True)
class Schedule:
    """How many steps the search takes, and what they spend; together exactly ``search``."""

    seed_steps: int  # with more centres than are asked for
    steps: int  # with those that are asked for
    seeds: Fraction
    widths: Fraction  # how far points are from their centre
    lloyd: Fraction

    @classmethod
    def of(cls, search: Fraction, max_iter: int, init: Init, sampled: bool) -> Schedule:
        """Half of the steps, but few, find seeds, and take about half of what there is."""
        seed_steps = min((max_iter + 1) // 2, _MOST_SEED_STEPS) if init == "private" else 0
        steps = max_iter - seed_steps
        widths = search * _WIDTHS if steps and not sampled else Fraction(0)
        share = Fraction(1, 2) if seed_steps and steps else Fraction(bool(seed_steps))
        rest = search - widths
        return cls(seed_steps, steps, rest * share, widths, rest * (1 - share))

    def rule(self) -> dict[str, Any]:
        """As it stands in a certificate."""
        spent = {"seeds": self.seeds, "widths": self.widths, "lloyd": self.lloyd}
        steps = {"seed_steps": self.seed_steps, "steps": self.steps}
        return {name: str(part) for name, part in spent.items()} | steps

    @property
    def total(self) -> Fraction:
        return self.seeds + self.widths + self.lloyd

    @property
    def each(self) -> list[Fraction]:
        """What one step of either kind spends."""
        kinds = ((self.seeds, self.seed_steps), (self.lloyd, self.steps))
        return [part / steps for part, steps in kinds if steps]


def check_noise(spending: Spending, schedule: Schedule, radius: int, dimensions: int) -> None:
    """Refuse, before anything is charged, what would need more noise than 64 bits hold.

    Points are up to twice the radius from the middle, and up to four times from a centre.
    """
    steps = [Step(part, 4 * radius, dimensions, 1 << COUNT_BITS) for part in schedule.each]
    steps.append(Step(spending.centre, radius, dimensions))
    try:
        check_rate(min(min(step.count_rate, step.sum_rate) for step in steps))
    except InvalidInput:
        raise InvalidInput(
            "epsilon is too small for so much noise to fit in 64 bits; take a larger epsilon, "
            "a smaller max_iter, or a larger rate of sampling."
        ) from None


def fitting_steps(search: Fraction, clusters: int, dimensions: int, size: float) -> int:
    """How many steps are worth their noise, for about so many points.

    Each step more leaves less epsilon for each. What counts is the noise of a seed's mean, in
    parts of how far a coordinate is from 0: d noise / radius.
    """
    share = float(1 - count_share(dimensions))
    seeds = Schedule.of(search, USUAL, "private", sampled=False)
    noise = dimensions * seeds.seed_steps / (float(seeds.seeds) * share)
    relative = noise * 2**0.5 * clusters * PER_CLUSTER / size
    return USUAL if relative <= _SOME_NOISE else _FEWER if relative <= _MUCH_NOISE else 1
