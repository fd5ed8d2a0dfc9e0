"""Quantiles: how far the answers are off in rank, in rounds and in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tamis.federated import Quantiles
from tamis.federated.levels import Levels
from tamis.federated.quantiles import Search
from tamis.privacy import randomness
from tamis.privacy.errors import InvalidInput
from tests.sources import Forbidden, Stream

Ints = npt.NDArray[np.int64]


def rank_error(value: int, held: Ints, q: float) -> float:
    """How far q is from the ranks that the value has."""
    return float(max(0, (held < value).mean() - q, q - (held <= value).mean()))


def numbers(domain: int, seed: int, size: int = 100_000) -> Ints:
    rng = np.random.default_rng(seed)
    normal = rng.normal(0.4 * domain, 0.1 * domain, size)
    return np.clip(normal, 0, domain - 1).astype(np.int64)


def errors(made: Quantiles, times: int) -> tuple[list[float], int]:
    """Rank errors of the first quantile, and how often its interval held it."""
    found, inside = [], 0
    for seed in range(times):
        held = numbers(made.domain, seed)
        with randomness.using(Stream(seed)):
            row = made.release(held).table.slice(0, 1).to_pylist()[0]
        found.append(rank_error(row["estimate"], held, row["quantile"]))
        inside += (held < row["low"]).mean() <= row["quantile"] <= (held <= row["high"]).mean()
    return found, inside


@pytest.mark.parametrize(("domain", "most"), [(1024, 0.0015), (65_536, 0.003)])
def test_the_median_by_search_is_off_by_a_thousandth_of_rank(domain: int, most: float) -> None:
    found, inside = errors(Quantiles(1.0, 1e-6, domain, clients=100_000), 20)
    assert np.mean(found) <= most
    assert inside >= 15  # of 20 at 95 %: fewer once in 4,000 times


@pytest.mark.parametrize("clients", [200, 1000])
def test_intervals_hold_with_few_clients_too(clients: int) -> None:
    """Ranges that are not named hide some; of 40 intervals at 95 %, 32 hold but once in 2,000."""
    made, inside = Quantiles(2.0, 1e-5, 256, clients=100_000), 0
    for seed in range(40):
        held = numbers(256, seed, clients)
        with randomness.using(Stream(seed)):
            row = made.release(held).table.to_pylist()[0]
        inside += (held < row["low"]).mean() <= 0.5 <= (held <= row["high"]).mean()
    assert inside > 32


@pytest.mark.parametrize("domain", [1024, 65_536])
def test_the_median_from_one_round_is_off_by_less_than_a_hundredth(domain: int) -> None:
    made = Quantiles(1.0, 1e-6, domain, interactive=False)
    assert made.rounds == 1
    found, inside = errors(made, 20)
    assert np.mean(found) <= 0.01
    assert inside >= 15


@pytest.mark.parametrize("interactive", [True, False])
def test_several_quantiles_come_together_and_in_order(interactive: bool) -> None:
    at = (0.05, 0.25, 0.5, 0.75, 0.95)
    made = Quantiles(1.0, 1e-6, 1000, at, 100_000, interactive)
    held = numbers(1000, 3)
    with randomness.using(Stream(3)):
        values = made.release(held).values
    assert values == sorted(values)
    assert max(rank_error(v, held, q) for v, q in zip(values, at, strict=True)) < 0.03


@pytest.mark.parametrize("domain", [1, 2, 3, 5, 100, pytest.param(1 << 40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("interactive", [True, False])
def test_all_clients_with_one_number_are_found_at_it(domain: int, interactive: bool) -> None:
    made = Quantiles(2.0, 1e-5, domain, (0.0, 0.5, 1.0), 1_000_000, interactive)
    for number in (0, domain // 2, domain - 1):
        with randomness.using(Stream(1)):
            table = made.release(np.full(5000, number)).table
        assert table["estimate"].to_pylist()[1] == number
        assert table["low"].to_pylist()[1] <= number <= table["high"].to_pylist()[1]


def test_with_too_few_clients_the_interval_is_everything() -> None:
    for interactive in (True, False):
        made = Quantiles(2.0, 1e-5, 16, clients=1_000_000, interactive=interactive)
        row = made.release([3] * 5).table.to_pylist()[0]
        assert (row["low"], row["high"]) == (0, 15)


def test_a_round_asks_in_which_range_a_number_is() -> None:
    search = Search((0.25, 0.5), 16, ((0, 8), (8, 16)), tau=14)
    assert search.task == {"cuts": [4, 12]}
    values = np.array([0, 3, 4, 11, 12, 15])
    assert search.answers(values).to_pylist() == [0, 0, 1, 1, 2, 2]


def test_ranges_of_all_levels_have_numbers_of_their_own() -> None:
    levels = Levels(1000, 10)
    assert levels.widths == [100, 10, 1]
    assert levels.firsts == [0, 10, 110, 1110]
    with randomness.using(Stream(1)):
        told = np.asarray(levels.answers(np.full(3000, 457)))
    places, counts = np.unique(told, return_counts=True)
    assert places.tolist() == [4, 10 + 45, 110 + 457]
    assert np.all(abs(counts - 1000) < 6 * np.sqrt(1000))  # a level is drawn evenly


@pytest.mark.parametrize("interactive", [True, False])
def test_a_rate_or_a_threshold_can_be_given(interactive: bool) -> None:
    usual = Quantiles(1.0, 1e-6, 256, interactive=interactive)
    assert (usual.p, usual.tau) == (usual.mechanism.p, usual.mechanism.tau)
    higher = Quantiles(1.0, 1e-6, 256, interactive=interactive, tau=usual.tau + 10)
    assert (higher.mechanism.tau, higher.mechanism.rounds) == (usual.tau + 10, usual.rounds)
    assert higher.p > usual.p
    slower = Quantiles(1.0, 1e-6, 256, interactive=interactive, p=0.05)
    assert slower.tau < usual.tau
    assert slower.mechanism.spent <= 1e-6


@pytest.mark.parametrize("interactive", [True, False])
@pytest.mark.parametrize("clients", [1000, 100_000])
def test_against_colluding_clients_the_threshold_is_larger_by_them(
    interactive: bool, clients: int
) -> None:
    usual, made = (
        Quantiles(1.0, 1e-6, 64, clients=clients, interactive=interactive, colluding=c)
        for c in (0, 6)
    )
    assert (made.tau, made.p) == (usual.tau + 6, usual.p)
    assert made.mechanism.spent == usual.mechanism.spent
    assert made.start().tau == made.tau


def test_a_threshold_of_one_client_is_hinted_at() -> None:
    made = Quantiles(1.0, 0.3, 2, clients=100)
    assert made.tau == 1
    assert repr(made).endswith(f")  # {made.mechanism.hint}")
    assert eval(repr(made)) == made


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tau": 3, "p": 0.1}, "over 4 rounds; the smallest .* is 9"),
        ({"tau": 0}, "tau must be a whole number"),
        ({"p": 0.7}, "p must be at most"),
        ({"colluding": -1}, "colluding must be a whole number"),
        ({"colluding": 5, "tau": 5}, "tau must be more than colluding = 5"),
        ({"domain": 0}, "domain must be a whole number from 1"),
        ({"domain": -4}, "domain must be"),
        ({"domain": 2.5}, "domain must be"),
        ({"domain": True}, "domain must be"),
        ({"domain": 1 << 70}, "domain must be"),
        ({"at": ()}, "at must be numbers from 0 to 1"),
        ({"at": (0.5, 1.5)}, "at must be"),
        ({"at": float("nan")}, "at must be"),
        ({"clients": 0}, "clients must be"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"delta": 0.0}, "delta must lie"),
        ({"neighbours": "swap"}, "neighbours must be"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Quantiles(**({"epsilon": 1.0, "delta": 1e-6, "domain": 16} | options))


@pytest.mark.parametrize("values", [[16], [-1], ["a"], [0.5], [None], 3])
def test_values_outside_of_the_domain_are_refused_before_a_coin_is_tossed(values: Any) -> None:
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match="values"):
        Quantiles(1.0, 1e-6, 16).release(values)
