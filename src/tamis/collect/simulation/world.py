"""Made-up devices for a simulation: what is asked, what they hold, and what is true of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tamis.collect.enquiry import Asked
from tamis.collect.simulation.simulate import Simulated
from tamis.federated import HeavyHitters, Quantiles, SampleAndThreshold
from tamis.federated.hitters import END

Kind = Literal["histogram", "heavy-hitters", "quantiles"]
EPSILON, DELTA = 1.0, 1e-6
DOMAIN = 64
AT = (0.25, 0.5, 0.9)
LONGEST = 10
_ROUNDS, _DEPTH = 3, 6  # of heavy hitters
_TEXT = (
    "the of and to in that was his he it with is for as had you not be her on at by which have or "
    "from this him but all she they were my are me one their so an said them we who would been"
)
_WORDS = _TEXT.split()

QUESTIONS = {
    "histogram": "Which word did you type last?",
    "heavy-hitters": "Which word did you type last?",
    "quantiles": "For how many minutes were you on the phone today?",
}


def asked(kind: Kind, clients: int) -> Asked:
    if kind == "quantiles":
        return Quantiles(EPSILON, DELTA, DOMAIN, AT, clients)
    if kind == "heavy-hitters":
        return HeavyHitters(EPSILON, DELTA, _ROUNDS, _DEPTH)
    return SampleAndThreshold(EPSILON, DELTA)


def items(kind: Kind, clients: int, seed: int | None) -> list[str] | list[int]:
    """A few words are frequent, and many rare; most calls are short."""
    random = np.random.default_rng(seed)
    if kind == "quantiles":
        return [int(DOMAIN * share) for share in random.beta(2, 5, clients)]
    weights = 1 / np.arange(1, len(_WORDS) + 1)
    return [_WORDS[n] for n in random.choice(len(_WORDS), clients, p=weights / weights.sum())]


def truth(kind: Kind, simulated: Simulated, held: Sequence[Any]) -> dict[Any, int]:
    """The quantiles of all devices, or for each item how many hold it whose report was accepted.

    Of an item that was found in an early round, these are the devices of that round.
    """
    if kind == "quantiles":
        values = np.quantile(np.array(held), AT, method="inverted_cdf")
        return dict(zip(AT, values.tolist(), strict=True))
    rounds = simulated.rounds
    return {name.removesuffix(END): n for sending in rounds for name, n in sending.held.items()}
