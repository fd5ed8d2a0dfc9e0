"""What a release is made of: shares of epsilon, private choices, and when it is charged."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Counted, Encode, Frequencies, Ints, Request
from tamis.privacy import randomness
from tamis.privacy.errors import BudgetRefused
from tamis.privacy.ledger import Ledger, open_ledger
from tamis.releases import bound
from tamis.releases.budgeting import split
from tests.errors import told
from tests.sources import Counted as CountedWords
from tests.sources import Forbidden

EVENTS = pa.table({"q": [f"q{n % 30}" for n in range(9000)], "u": [n // 9 for n in range(9000)]})


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as made:
        made.create("visits", 1.0, 1e-6, "u")
        made.create("rows", 1.0, 1e-6, "element")
    return path


def released(**options: Any) -> tamis.Release:
    settings: dict[str, Any] = {"key": "q", "epsilon": 0.8, "delta": 1e-7}
    return tamis.release(EVENTS, **settings | options)


def entries(ledger: Path, budget: str) -> int:
    with open_ledger(ledger) as opened:
        return len(opened.history(budget))


# --- shares -------------------------------------------------------------------------------------


@given(st.floats(0.001, 100), st.floats(0, 0.5), st.floats(0, 0.5))
def test_the_parts_never_add_up_to_more_than_epsilon_as_printed(
    epsilon: float, total: float, bound: float
) -> None:
    costs = split(epsilon, total, bound)
    spent = sum(Fraction(repr(x)) for x in (costs.keys, costs.total, costs.bound))
    whole = Fraction(repr(epsilon))
    assert whole * (1 - Fraction(1, 10**12)) <= spent <= whole


@pytest.mark.parametrize("share", [-0.1, 0.6, float("nan")])
def test_shares_are_at_most_a_half(share: float) -> None:
    with pytest.raises(tamis.InvalidInput, match="total_share"):
        released(total_share=share)


def test_without_other_parts_the_keys_get_all_of_epsilon() -> None:
    assert released().plan.guarantee.epsilon == 0.8


def test_the_total_is_released_with_noise_and_tells_what_is_suppressed() -> None:
    made = released(total_share=0.1)
    assert [p.epsilon for p in made.about.parts] == [0.72, 0.08]
    total = made.about.parts[1].value
    assert total is not None
    assert abs(total - 9000) < 25 / 0.08
    rest = made.suppressed()
    left = max(0.0, total - sum(made.to_arrow()["estimate"].to_pylist()))
    assert rest.low <= left <= rest.high
    assert rest.low <= rest.estimate <= rest.high
    assert made.verify()
    with pytest.raises(tamis.InvalidInput, match="total_share"):
        released().suppressed()


def test_a_sample_size_costs_a_small_share_and_sets_tau() -> None:
    made = released(sample_size=9)
    assert made.about.parts[1].epsilon == 0.016
    assert isinstance(made.plan.scheme, tamis.Ppswor)
    assert made.plan.scheme.tau == pytest.approx(9 / 9000, rel=0.2)
    with pytest.raises(tamis.InvalidInput, match="not both"):
        released(sample_size=9, scheme=tamis.Pps(0.1))


# --- a bound that is chosen ---------------------------------------------------------------------


def test_the_spread_counts_every_unit_once_by_its_number_of_keys() -> None:
    sizes = [1, 1, 2, 3, 4, 5, 8, 9, 128, 129, 400]
    rows = [(u, k) for u, size in enumerate(sizes) for k in range(size)] * 2
    data = pa.table({"q": [k for _, k in rows], "u": [u for u, _ in rows]})
    with DuckDB() as engine:
        found = engine.count(data, Request(("q",), "u", 1)).spread()
    assert found.tolist() == [2, 1, 2, 2, 1, 0, 0, 1, 2]


@pytest.mark.parametrize(("size", "near"), [(1, (1,)), (10, (8, 16)), (100, (32, 64, 128))])
def test_the_chosen_bound_suits_units_that_are_alike(size: int, near: tuple[int, ...]) -> None:
    spread = np.zeros(9, dtype=np.int64)
    spread[int(np.ceil(np.log2(size)))] = 100_000
    half = bound.halves(0.95, 1e-8, 1, sampled=False)
    assert half == sorted(half)
    assert bound.choose(spread, half, 0.05) in near


def test_a_chosen_bound_is_in_the_guarantee_and_its_cost_among_the_parts() -> None:
    made = released(unit="u", keys_per_unit="auto")
    assert made.guarantee.keys_per_unit == made.about.parts[1].value
    assert made.about.parts[1].epsilon == 0.04
    assert made.guarantee.keys_per_unit in bound.CHOICES
    assert made.verify()


# --- charging -----------------------------------------------------------------------------------


class Watching:
    """The real engine; tells when frequencies are asked for, and fails on demand."""

    def __init__(self, seen: Callable[[], None], fail: bool = False) -> None:
        self.own, self.seen, self.fail = DuckDB(), seen, fail

    def count(self, data: Any, request: Request, table: str | None = None) -> Counted:
        self.counted = self.own.count(data, request, table)
        return self

    def spread(self) -> Ints:
        return self.counted.spread()

    def join(self, encode: Encode) -> None:
        self.counted.join(encode)

    def frequencies(self, keys_per_unit: int | None = None) -> Frequencies:
        self.seen()
        if self.fail:
            raise KeyboardInterrupt
        return self.counted.frequencies(keys_per_unit)

    def close(self) -> None:
        self.own.close()


@pytest.mark.parametrize("fail", [False, True])
def test_a_budget_is_charged_before_the_first_draw_and_stays_charged(
    ledger: Path, fail: bool
) -> None:
    source, told = CountedWords(), list[tuple[int, int]]()
    engine = Watching(lambda: told.append((entries(ledger, "visits"), source.drawn)), fail)
    options = {"unit": "u", "keys_per_unit": 4, "budget": "visits", "ledger": ledger}
    with randomness.using(source):
        if fail:
            with pytest.raises(KeyboardInterrupt):
                released(engine=engine, **options)
        else:
            released(engine=engine, **options)
    engine.close()
    assert told == [(1, 0)]
    assert entries(ledger, "visits") == 1
    assert fail or source.drawn > 0


def test_what_the_budget_cannot_pay_is_refused_before_data_is_read(ledger: Path) -> None:
    released(budget="rows", ledger=ledger)
    with randomness.using(Forbidden()), pytest.raises(BudgetRefused, match="is left"):
        tamis.release(
            "absent.parquet", key="q", epsilon=0.8, delta=1e-7, budget="rows", ledger=ledger
        )
    assert entries(ledger, "rows") == 1


@pytest.mark.parametrize(
    "wrong", [{"key": "absent"}, {"where": "("}, {"count": "q"}, {"nulls": "x"}], ids=repr
)
def test_what_is_refused_costs_nothing(ledger: Path, wrong: dict[str, Any]) -> None:
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput):
        released(budget="rows", ledger=ledger, **wrong)
    assert entries(ledger, "rows") == 0


def damaged(folder: Path, column: str) -> str:
    """A Parquet file of which one column cannot be read, though its schema and statistics can."""
    path = folder / "damaged.parquet"
    pq.write_table(EVENTS, path, compression="zstd", use_dictionary=False)
    group = pq.read_metadata(path).row_group(0)
    place = EVENTS.column_names.index(column)
    start, size = group.column(place).data_page_offset, group.column(place).total_compressed_size
    content = bytearray(path.read_bytes())
    content[start + 50 : start + size] = bytes(size - 50)
    path.write_bytes(content)
    return str(path)


UNITS = {"unit": "u", "keys_per_unit": 4, "budget": "visits"}
AUTO = {**UNITS, "keys_per_unit": "auto"}
HUGE = pa.table({"q": ["canary", "b", "c"], "n": [2**61, 2**61, 2**61]})
MANY = pa.table({"q": list("abcd"), "n": [2**61] * 4})
COUNTS = {"count": "n", "budget": "rows"}
TOO_LATE: dict[str, tuple[Callable[[Path], Any], dict[str, Any], str]] = {
    "damaged keys": (lambda f: damaged(f, "q"), UNITS, "is it damaged"),
    "damaged units": (lambda f: damaged(f, "u"), UNITS, "is it damaged"),
    "damaged keys, any bound": (lambda f: damaged(f, "q"), AUTO, "is it damaged"),
    "a condition that fails": (lambda f: EVENTS, {**UNITS, "where": "q::INT > 0"}, "on some row"),
    "too much for pieces": (lambda f: HUGE, {**COUNTS, "tokens": "fine"}, "too often for fine"),
    "too much in all": (lambda f: MANY, {**COUNTS, "total_share": 0.1}, r"n adds up to 2\^63"),
    "too much to sample": (lambda f: MANY, {**COUNTS, "sample_size": 5}, r"n adds up to 2\^63"),
    "a small share": (lambda f: EVENTS, {"budget": "rows", "total_share": 1e-13}, "total_share"),
    "hardly a share": (
        lambda f: EVENTS,
        {"budget": "rows", "total_share": 5e-324, "sample_size": 9, "epsilon": 0.1},
        "total_share",
    ),
    "no share": (lambda f: EVENTS, {**AUTO, "bound_share": 0.0}, "bound_share"),
    "purpose": (lambda f: EVENTS, {"budget": "rows", "purpose": "two\nlines"}, "purpose"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "options", "words"), TOO_LATE.values(), ids=TOO_LATE)
def test_whatever_is_wrong_with_the_data_is_found_before_the_charge(
    ledger: Path,
    tmp_path: Path,
    data: Callable[[Path], Any],
    options: dict[str, Any],
    words: str,
) -> None:
    settings: dict[str, Any] = {"key": "q", "epsilon": 0.8, "delta": 1e-7, "ledger": ledger}
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=words) as refused:
        tamis.release(data(tmp_path), **settings | options)
    assert str(refused.value).endswith(".")
    assert "canary" not in told(refused.value)
    assert entries(ledger, str(options["budget"])) == 0


@pytest.mark.parametrize("options", [{}, {"tokens": "fine"}, {"sample_size": 2}], ids=str)
def test_counts_just_below_the_limits_are_released(options: dict[str, Any]) -> None:
    data = pa.table({"q": list("abcd"), "n": [2**60] * 4})
    made = tamis.release(data, key="q", count="n", epsilon=1.0, delta=1e-7, **options)
    assert len(made) == 4 if "sample_size" not in options else len(made) <= 4


class OneShot:
    """A stream that can be consumed once, and is no reader of pyarrow's."""

    def __init__(self, table: pa.Table) -> None:
        self.streams = [table]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.streams.pop().__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("bound", [4, "auto"])
def test_a_stream_that_can_be_read_once_is_enough_also_to_choose_a_bound(
    ledger: Path, bound: int | str
) -> None:
    options: dict[str, Any] = {**UNITS, "keys_per_unit": bound, "ledger": ledger}
    made = tamis.release(OneShot(EVENTS), key="q", epsilon=0.8, delta=1e-7, **options)
    assert len(made) == 30
    assert entries(ledger, "visits") == 1


def test_the_release_names_its_entry_in_the_ledger(ledger: Path, tmp_path: Path) -> None:
    made = released(budget="rows", ledger=ledger, purpose="weekly queries")
    made.save(tmp_path / "r.parquet")
    said = tamis.open(tmp_path / "r.parquet").about.entry
    with open_ledger(ledger) as opened:
        assert isinstance(opened, Ledger)
        entry = opened.history("rows")[0]
    assert said == entry.describe()
    assert entry.purpose == "weekly queries"


def test_a_budget_for_other_units_is_refused(ledger: Path) -> None:
    with pytest.raises(tamis.InvalidInput, match="protect"):
        released(budget="visits", ledger=ledger)


def test_a_unit_column_called_element_is_refused() -> None:
    data = EVENTS.rename_columns(["q", "element"])
    with pytest.raises(tamis.InvalidInput, match="rename it"):
        tamis.release(data, key="q", unit="element", keys_per_unit=1, epsilon=1.0, delta=1e-6)


def test_verifying_tells_what_all_parts_cost_together() -> None:
    said = released(total_share=0.1).verify()
    assert said.startswith("epsilon 0.8 in all: 0.72 for which keys occur")


def test_a_ledger_without_a_budget_is_refused(ledger: Path) -> None:
    with pytest.raises(tamis.InvalidInput, match="budget="):
        released(ledger=ledger)
