"""A client that takes nobody's word for what a query promises: it computes it."""

from __future__ import annotations

from fractions import Fraction

from tamis.federated.calibrate import Promise
from tamis.federated.device import Device, Refused, Specification
from tamis.privacy.errors import InvalidInput
from tamis.privacy.exact import exactly


class Client(Device):
    """A `Device` that also refuses a query whose sampling and threshold do not meet its promise.

    Guarantee: what an aggregator releases of a query, if that is counts of at least tau clients,
    each counted once, and nothing else, is (epsilon, delta)-differentially private for this client
    with the epsilon and delta that the query states; and all queries in which it ever takes part,
    together, with the lifetime sums of its limits. Plain sums, because an aggregator may choose a
    query after it has seen the results of others, and nothing tighter is sure to hold then; the
    rounds of one query are fixed beforehand, and added up tightly.
    """

    def check(self, specification: Specification) -> None:
        """Refuse what goes beyond the limits, is not open now, or does not meet its promise."""
        super().check(specification)
        try:
            needed = promised(specification)
        except InvalidInput as wrong:
            raise Refused(f"what the query promises cannot be checked: {wrong}") from None
        if needed > exactly(specification.delta):
            raise Refused(
                f"the query states delta {specification.delta:g}, but needs {float(needed):.3g}: "
                f"tau {specification.tau} is too small for its sampling rate and its rounds."
            )


def promised(specification: Specification) -> Fraction:
    """The delta of all rounds together, at the stated epsilon: an upper bound, and a close one."""
    epsilon, delta = exactly(specification.epsilon), exactly(specification.delta)
    replaced = specification.neighbours == "replace"
    promise = Promise(epsilon, delta, replaced, specification.rounds)
    return promise.spent(specification.parts, specification.tau)
