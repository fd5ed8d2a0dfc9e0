"""A client that takes nobody's word for what a query promises: it computes it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tamis.federated import lifetime
from tamis.federated.calibrate import Promise
from tamis.federated.device import Device, Refused, Specification
from tamis.privacy.exact import exactly


class Client(Device):
    """A `Device` that also refuses a query whose sampling and threshold do not meet its promise.

    Guarantee: what an aggregator releases of a query, if that is counts of at least tau clients,
    each counted once, and nothing else, is (epsilon, delta)-differentially private for this client
    with the epsilon and delta that the query states; and all queries in which it ever takes part,
    together, with those that its limits allow in a lifetime. They are added up tightly, from what
    each of them really costs, so that more queries fit than by plain sums.
    """

    def check(self, specification: Specification) -> None:
        """Refuse what goes beyond the limits, is not open now, or does not meet its promise."""
        super().check(specification)
        needed = promised(specification)
        if needed > exactly(specification.delta):
            raise Refused(
                f"the query states delta {specification.delta:g}, but needs {float(needed):.3g}: "
                f"tau {specification.tau} is too small for its sampling rate and its rounds."
            )

    def check_lifetime(self, asked: Specification, before: list[dict[str, Any]]) -> None:
        """Refuse what does not fit, neither by plain sums nor by what it really costs."""
        try:
            super().check_lifetime(asked, before)
        except Refused:
            terms = [*before, vars(asked)]
            settings = [(t["parts"], t["tau"], t["rounds"]) for t in terms]
            replaced = any(t["neighbours"] == "replace" for t in terms)
            cost = lifetime.spent(settings, self.limits.lifetime_epsilon, replaced)
            if cost > exactly(self.limits.lifetime_delta):
                raise


def promised(specification: Specification) -> Fraction:
    """The delta of all rounds together, at the stated epsilon: an upper bound, and a close one."""
    epsilon, delta = exactly(specification.epsilon), exactly(specification.delta)
    replaced = specification.neighbours == "replace"
    promise = Promise(epsilon, delta, replaced, specification.rounds)
    return promise.spent(specification.parts, specification.tau)
