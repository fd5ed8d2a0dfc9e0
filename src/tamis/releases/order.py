"""What was asked for, checked; and how it is carried out: count, charge, draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tamis.engines.protocol import Engine, Ints, Request
from tamis.privacy.errors import BadData, InvalidInput
from tamis.privacy.guarantee import Guarantee
from tamis.releases import bound
from tamis.releases.about import About
from tamis.releases.budgeting import Split
from tamis.releases.release import Release
from tamis.sampling.schemes import Ppswor, Scheme
from tamis.sampling.threshold import private_tau
from tamis.weighted.mechanism import Tokens
from tamis.weighted.plan import Plan, make_plan
from tamis.weighted.sample import tabulate
from tamis.weighted.tokens import draw

_SOME_TAU = 0.001  # stands for a tau that is not known yet


@dataclass(frozen=True)
class Order:
    """All that a release is to be, but for what is chosen privately on the way.

    ``promise`` holds epsilon, delta and the unit; the bounds are those of the request.
    """

    request: Request
    promise: Guarantee
    costs: Split
    scheme: Scheme | None = None
    sample_size: int | None = None
    tokens: Tokens = "whole"
    coverage: float = 0.95

    def guarantee(self) -> Guarantee:
        """What all parts together promise."""
        r = self.request
        return replace(
            self.promise, keys_per_unit=r.keys_per_unit, elements_per_key=r.elements_per_key
        )

    def plan(self, tau: float = _SOME_TAU) -> Plan:
        """The plan of the keys, which get what the other parts leave of epsilon."""
        scheme = self.scheme if self.sample_size is None else Ppswor(tau)
        mine = replace(self.guarantee(), epsilon=self.costs.keys)
        return make_plan(mine, scheme, self.tokens, self.coverage)

    def halves(self) -> list[int]:
        """For a bound that is to be chosen: what each choice would be good for."""
        sampled = self.scheme is not None or self.sample_size is not None or self.tokens == "fine"
        bounds = self.request.elements_per_key
        return bound.halves(self.costs.keys, self.promise.delta, bounds, sampled)

    def check(self) -> None:
        """Refuse what cannot be carried out, before any data is read."""
        if self.scheme is not None and self.sample_size is not None:
            raise InvalidInput("give a scheme or a sample_size, not both.")
        self.plan().certificate  # noqa: B018  it is made, so that it cannot fail later
        if self.costs.bound:
            self.halves()


def carry_out(
    order: Order, engine: Engine, data: Any, table: str | None, charge: Callable[[], Any]
) -> Release:
    """Read and check the data, charge the budget, and only then draw."""
    counted = engine.count(data, order.request, table)
    halves = order.halves() if order.costs.bound else []
    entry, chosen = charge(), None
    if order.costs.bound:
        spread = engine.spread(data, order.request, table)
        chosen = bound.choose(spread, halves, order.costs.bound)
        order = replace(order, request=replace(order.request, keys_per_unit=chosen))
        counted = engine.count(data, order.request, table)
    frequencies = counted.frequencies()
    plan, total = _plan(order, frequencies)
    if len(frequencies) and int(frequencies.max()) > 2**62 // plan.mechanism.stride:
        raise BadData("some key occurs too often for fine tokens; use whole ones.")
    drawn = draw(plan.mechanism, frequencies)
    named = np.flatnonzero(drawn)
    parts = order.costs.parts(order.promise.delta, total, chosen)
    said = order.request.nulls, "counts" if order.request.count else "rows"
    about = About(order.guarantee(), plan, order.request.key, tuple(parts), *said, entry)
    return Release(tabulate(plan, counted.keys(named), drawn[named]), about)


def _plan(order: Order, frequencies: Ints) -> tuple[Plan, int | None]:
    """The plan, and the noisy number of elements, if that is a part of the release."""
    if not order.costs.total:
        return order.plan(), None
    most = order.request.keys_per_unit * order.request.elements_per_key
    noisy = private_tau(
        int(frequencies.sum()),
        order.sample_size or 1,
        order.costs.total,
        elements_per_unit=most,
    )
    return order.plan(noisy.tau), noisy.noisy_total
