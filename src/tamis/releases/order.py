"""What was asked for, checked; and how it is carried out: count, charge, draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tamis.engines.protocol import Engine, Frequencies, Request
from tamis.privacy.errors import BadData, InvalidInput
from tamis.privacy.guarantee import Guarantee
from tamis.releases import bound
from tamis.releases.about import About
from tamis.releases.budgeting import Split
from tamis.releases.parts import Part
from tamis.releases.progress import Report, silent
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
    order: Order,
    engine: Engine,
    data: Any,
    table: str | None,
    charge: Callable[[], Any],
    report: Report = silent,
) -> Release:
    """Read and check the data, charge the budget, and only then draw."""
    counted = engine.count(data, order.request, table)
    facts = counted.frequencies() if order.request.unit is None else None
    if facts is not None:
        _check_sizes(order, facts)
    halves = order.halves() if order.costs.bound else []
    entry, chosen = charge(), None
    if order.costs.bound:
        chosen = bound.choose(counted.spread(), halves, order.costs.bound)
        order = replace(order, request=replace(order.request, keys_per_unit=chosen))
    frequencies = counted.frequencies(chosen) if facts is None else facts
    report("drawing", 90)
    plan, total = _plan(order, frequencies)
    keys, tokens = frequencies.named(partial(draw, plan.mechanism))
    about = _about(order, plan, order.costs.parts(order.promise.delta, total, chosen), entry)
    return Release(tabulate(plan, keys, tokens), about)


def _about(order: Order, plan: Plan, parts: list[Part], entry: Any) -> About:
    asked = order.request
    return About(
        order.guarantee(),
        plan,
        asked.key,
        tuple(parts),
        asked.nulls,
        "counts" if asked.count else "rows",
        entry,
        filtered=asked.where is not None,
    )


def _check_sizes(order: Order, frequencies: Frequencies) -> None:
    """Refuse counts that are too large for what is to be done with them; rows never are so many."""
    if frequencies.largest > 2**62 // order.plan().mechanism.stride:
        raise BadData("some key occurs too often for fine tokens; use whole ones.")
    if order.costs.total and frequencies.total >= 2**63:
        raise BadData(
            f"{order.request.count} adds up to 2^63 or more, too much for a total: divide it, or "
            "leave out total_share and sample_size."
        )


def _plan(order: Order, frequencies: Frequencies) -> tuple[Plan, int | None]:
    """The plan, and the noisy number of elements, if that is a part of the release."""
    if not order.costs.total:
        return order.plan(), None
    most = order.request.keys_per_unit * order.request.elements_per_key
    noisy = private_tau(
        frequencies.total,
        order.sample_size or 1,
        order.costs.total,
        elements_per_unit=most,
    )
    return order.plan(noisy.tau), noisy.noisy_total
