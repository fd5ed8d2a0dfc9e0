from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest

from tamis.privacy.errors import BudgetRefused, InvalidInput, LedgerUnavailable
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.ledger import Budget, Entry, Ledger
from tamis.privacy.ledger.spending import Cost
from tests.privacy.ledger.conftest import Place

PEOPLE = Guarantee(0.5, 1e-8, keys_per_unit=4, elements_per_key=2, unit="user_id")


def make(ledger: Ledger, name: str = "visits", epsilon: float = 1.0, delta: float = 1e-6) -> None:
    ledger.create(name, epsilon, delta, "user_id")


def people(epsilon: float, delta: float = 1e-8) -> Guarantee:
    return Guarantee(epsilon, delta, unit="user_id")


def test_a_charge_is_in_the_history_with_all_that_it_promised(ledger: Ledger) -> None:
    make(ledger)
    entry = ledger.charge("visits", PEOPLE, "top pages of May")
    assert ledger.history("visits") == [entry]
    kept = (entry.epsilon, entry.delta, entry.keys_per_unit, entry.elements_per_key, entry.unit)
    assert kept == (0.5, 1e-8, 4, 2, "user_id")
    assert (entry.number, entry.purpose, type(entry.day)) == (1, "top pages of May", date)
    assert entry.describe() == {
        "ledger": ledger.id,
        "budget": "visits",
        "entry": 1,
        "digest": entry.digest,
    }


def test_budgets_and_charges_are_there_when_the_ledger_is_opened_again(place: Place) -> None:
    with place.open() as ledger:
        make(ledger)
        first, identity = ledger.charge("visits", PEOPLE, "one"), ledger.id
    with place.open() as ledger:
        second = ledger.charge("visits", people(0.1), "two")
        assert ledger.history("visits") == [first, second]
        assert (ledger.id, second.previous) == (identity, first.digest)
        ledger.check()


def test_the_ledger_shows_what_is_spent_and_what_is_left(ledger: Ledger) -> None:
    make(ledger)
    make(ledger, "another", 2.0, 1e-5)
    ledger.charge("visits", PEOPLE, "")
    another, visits = ledger.budgets()
    assert (another.name, another.entries, another.spent_epsilon) == ("another", 0, 0.0)
    assert (another.remaining.epsilon, another.remaining_delta) == (2.0, 1e-5)
    assert visits == ledger.show("visits")
    assert (visits.entries, visits.spent_epsilon) == (1, 0.5)
    assert 0.5 <= visits.remaining.epsilon < 0.51
    assert visits.remaining_delta == 9.9e-7
    assert visits.largest_epsilon(1e-8) >= 0.5


def test_a_charge_beyond_the_budget_is_refused_and_leaves_no_trace(ledger: Ledger) -> None:
    make(ledger)
    ledger.charge("visits", people(0.8), "")
    with pytest.raises(BudgetRefused) as refusal:
        ledger.charge("visits", people(0.5), "too much")
    said = str(refusal.value)
    assert "spent epsilon 0.8" in said
    assert "epsilon 0.5 with delta 1e-08 was asked for" in said
    assert "at most epsilon 0.2" in said
    assert [e.purpose for e in ledger.history("visits")] == [""]
    ledger.charge("visits", people(0.2), "what is left still fits")


def test_delta_runs_out_too(ledger: Ledger) -> None:
    make(ledger)
    ledger.charge("visits", people(0.1, 9e-7), "")
    with pytest.raises(BudgetRefused, match=r"nothing is left \(delta 1e-07 is\)"):
        ledger.charge("visits", people(0.1, 2e-7), "")
    assert not ledger.can_afford("visits", people(0.1, 2e-7))
    assert ledger.can_afford("visits", people(0.1, 1e-7))


def test_many_small_releases_fit_that_would_not_by_adding_up(ledger: Ledger) -> None:
    ledger.create("visits", 1.0, 1e-5, "user_id")
    sizes = [0.01, 0.0125, 0.015, 0.02] * 22
    accepted: list[Entry] = [ledger.charge("visits", people(e, 1e-9), "") for e in sizes]
    budget = ledger.show("visits")
    assert sum(e.epsilon for e in accepted) > 1.25
    assert 0.45 < budget.spent_epsilon < 0.55
    assert 0.45 < budget.remaining.epsilon < 0.55


def test_what_is_left_for_a_release_with_a_smaller_delta_is_not_called_nothing() -> None:
    many = ((Cost(0.05, 1e-9), 25),)
    budget = Budget("visits", 1.0, 1e-6, "user_id", date(2024, 5, 1), many)
    assert budget.largest_epsilon(budget.remaining_delta / 2) == 0
    left = budget.remaining
    assert 0.05 < left.epsilon < 0.06
    assert left.delta == budget.remaining_delta / 100
    assert budget.can_afford(people(*left))


def test_nothing_is_left_where_no_delta_is() -> None:
    budget = Budget("visits", 1.0, 1e-6, "user_id", date(2024, 5, 1), ((Cost(0.5, 1e-6), 1),))
    assert budget.remaining == Cost(0.0, 0.0)


def test_asking_costs_nothing(ledger: Ledger) -> None:
    make(ledger)
    assert ledger.can_afford("visits", people(1.0, 1e-6))
    assert not ledger.can_afford("visits", people(1.01, 1e-6))
    assert ledger.history("visits") == []


def test_an_unknown_budget_is_refused_with_the_nearest_name(ledger: Ledger) -> None:
    make(ledger)
    with pytest.raises(InvalidInput, match=r"no budget 'visit' .* Did you mean 'visits'"):
        ledger.charge("visit", PEOPLE, "")
    with pytest.raises(InvalidInput, match="Create it first"):
        ledger.show("something else")


def test_protecting_elements_is_not_protecting_people(ledger: Ledger) -> None:
    make(ledger)
    for ask in (ledger.can_afford, lambda n, g: ledger.charge(n, g, "")):
        with pytest.raises(InvalidInput, match="unit 'element' but budget 'visits' protects"):
            ask("visits", Guarantee(0.1, 1e-9))
    assert ledger.history("visits") == []


@pytest.mark.parametrize("name", ["", "a" * 101, "two\nlines", " padded", "nul\0", "\ud800", 7])
def test_names_are_short_and_printable(ledger: Ledger, name: str) -> None:
    with pytest.raises(InvalidInput, match="name must be 1 to 100 printable characters"):
        ledger.create(name, 1.0, 1e-6, "user_id")
    assert ledger.budgets() == []


@pytest.mark.parametrize("name", ["a" * 100, "'; DROP TABLE entries; --", "été {x} % ? 東京"])
def test_any_printable_name_will_do(ledger: Ledger, name: str) -> None:
    ledger.create(name, 1.0, 1e-6, "user_id")
    ledger.charge(name, PEOPLE, name)
    ledger.check(name)
    assert ledger.history(name)[0].purpose == name


@pytest.mark.parametrize(
    ("epsilon", "delta", "unit"),
    [(0, 1e-6, "u"), (float("nan"), 1e-6, "u"), (1, 0, "u"), (1, 1, "u"), (1, 1e-6, "")],
)
def test_a_budget_without_bounds_is_not_made(
    ledger: Ledger, epsilon: float, delta: float, unit: str
) -> None:
    with pytest.raises(InvalidInput):
        ledger.create("visits", epsilon, delta, unit)
    assert ledger.budgets() == []


def test_a_purpose_is_one_line_of_words(ledger: Ledger) -> None:
    make(ledger)
    for purpose in ("two\nlines", "x" * 1001):
        with pytest.raises(InvalidInput, match="purpose must be 0 to 1000"):
            ledger.charge("visits", PEOPLE, purpose)
    assert ledger.history("visits") == []


def test_a_budget_is_made_once(ledger: Ledger) -> None:
    make(ledger)
    with pytest.raises(InvalidInput, match="already"):
        ledger.create("visits", 100.0, 1e-3, "user_id")
    assert ledger.show("visits").epsilon == 1.0


@pytest.mark.slow
def test_the_two_hundredth_release_is_charged_with_little_work(ledger: Ledger) -> None:
    ledger.create("visits", 2.0, 1e-5, "user_id")
    for n in range(199):
        ledger.charge("visits", people(0.005 + n * 1e-5, 1e-9), "")
    start = time.process_time()  # whatever else the machine does
    ledger.charge("visits", people(0.01, 1e-9), "")
    assert time.process_time() - start < 1


def test_threads_may_share_a_ledger(ledger: Ledger) -> None:
    make(ledger)
    together = threading.Barrier(4)

    def charge() -> int:
        together.wait()
        return ledger.charge("visits", people(0.1), "").number

    with ThreadPoolExecutor(4) as pool:
        numbers = [job.result() for job in [pool.submit(charge) for _ in range(4)]]
    assert sorted(numbers) == [1, 2, 3, 4]


def test_a_ledger_is_not_taken_along_into_another_process(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(ledger)
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(LedgerUnavailable, match="opened by another process"):
        ledger.charge("visits", PEOPLE, "")
