"""A client computes what a query promises, and refuses a promise that is not kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tamis.federated import SampleAndThreshold, lifetime
from tamis.federated.calibrate import PARTS
from tamis.federated.client import Client, promised
from tamis.federated.device import Refused, Specification, unseal
from tests.federated.devices import (
    OPENER,
    PUBLIC,
    QUERY,
    ROOMY,
    SECRET,
    TOKEN,
    Collector,
    asked,
    serving,
)


def made(**given: Any) -> Specification:
    """The specification of a mechanism that is chosen as usual."""
    found = SampleAndThreshold(**{"epsilon": 1.0, "delta": 1e-6, **given})
    return asked(
        parts=int(found.p * PARTS),
        tau=found.tau,
        neighbours=found.neighbours,
        rounds=found.rounds,
        epsilon=found.epsilon,
        delta=found.delta,
    )


@pytest.fixture
def collector() -> Iterator[Collector]:
    with serving() as found:
        yield found


def client(collector: Collector, folder: Path, **limits: Any) -> Client:
    wanted = replace(ROOMY, **limits)
    return Client(collector.address, PUBLIC, folder / "state", wanted, wait=0.001)


def test_the_delta_of_one_round_is_exact() -> None:
    assert float(promised(asked(parts=PARTS // 10, tau=6))) == pytest.approx(6.01e-6, rel=1e-3)


@pytest.mark.parametrize(
    "given",
    [{}, {"delta": 1e-9}, {"epsilon": 0.3}, {"neighbours": "replace"}, {"rounds": 4}],
    ids=str,
)
def test_what_was_calibrated_is_taken(
    collector: Collector, tmp_path: Path, given: dict[str, Any]
) -> None:
    collector.show(made(**given))
    client(collector, tmp_path).report(QUERY, "the", TOKEN)
    ((_, _, body),) = collector.sent
    assert unseal(made(**given), body, OPENER, SECRET) in (b"the", None)


@pytest.mark.parametrize(
    ("given", "change"),
    [
        ({}, {"tau": 13}),
        ({}, {"delta": 9e-7}),
        ({}, {"epsilon": 0.95}),
        ({}, {"neighbours": "replace"}),
        ({}, {"rounds": 2}),
        ({"rounds": 4}, {"rounds": 5}),
        ({"rounds": 4}, {"tau": 12}),
    ],
    ids=str,
)
def test_a_promise_that_is_not_kept_is_refused(
    collector: Collector, tmp_path: Path, given: dict[str, Any], change: dict[str, Any]
) -> None:
    collector.show(replace(made(**given), **change))
    with pytest.raises(Refused, match=r"the query states delta .*, but needs"):
        client(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert not collector.sent
    assert not (tmp_path / "state").exists()


def test_one_part_more_than_the_most_is_refused() -> None:
    most = made(tau=14)
    assert promised(most) <= 1e-6 < promised(replace(most, parts=most.parts + 1))


def test_the_limits_of_a_device_hold_too(collector: Collector, tmp_path: Path) -> None:
    collector.show(made())
    with pytest.raises(Refused, match=r"allows at most 0\.5"):
        client(collector, tmp_path, epsilon=0.5).report(QUERY, "the", TOKEN)
    mine = client(collector, tmp_path, lifetime_epsilon=1.0, lifetime_delta=1e-7)
    with pytest.raises(Refused, match="lifetime"):
        mine.report(QUERY, "the", TOKEN)
    assert not collector.sent


def test_a_lifetime_is_a_plain_sum_whatever_tighter_bounds_say(
    collector: Collector, tmp_path: Path
) -> None:
    """Queries may be chosen after results were seen; tight composition does not cover that."""
    mine = client(collector, tmp_path, lifetime_epsilon=3.0, lifetime_delta=1e-5)
    queries = [replace(made(), query=f"{n:032x}") for n in range(4)]
    collector.show(*queries)
    for each in queries[:3]:
        mine.report(each.query, "the", TOKEN)
    with pytest.raises(Refused, match="in its lifetime"):
        mine.report(queries[3].query, "the", TOKEN)
    assert lifetime.spent([(made().parts, made().tau, 1)] * 4, 3.0, False) < 1e-6


def test_what_cannot_be_checked_is_refused(collector: Collector, tmp_path: Path) -> None:
    collector.show(replace(made(), tau=200_000, rounds=2))
    with pytest.raises(Refused, match="cannot be checked"):
        client(collector, tmp_path).report(QUERY, "the", TOKEN)


def test_a_lifetime_of_equal_rounds_costs_what_one_query_of_them_does() -> None:
    query = made(rounds=4)
    one = lifetime.spent([(query.parts, query.tau, 4)], 1.0, False)
    split = lifetime.spent([(query.parts, query.tau, 1)] * 4, 1.0, False)
    assert one == split == promised(query)
