"""Summaries: what they answer, what is in the file, and what is refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import tamis
from tamis.privacy import randomness
from tamis.privacy.ledger import open_ledger
from tamis.privacy.noise import variance
from tamis.releases.summary.regions import matching
from tamis.sparse.recipe import SKETCHES
from tamis.sparse.sketch import Sketch
from tests.sources import Forbidden, Stream

Ints = npt.NDArray[np.int64]

RARE = 1e-6
AREA = tamis.Domain(home=40, work=tamis.Labels(["north", "south", "east", "west"]))
SURE = 1000.0  # an epsilon at which noise is 0, all but never
METHODS = ["filter-priority", "filter", "one-sided filter", "threshold", "priority", "full"]
SPLIT = ["dyadic", "consistent dyadic", "haar"]


def trips(n: int = 3000, seed: int = 1) -> pa.Table:
    r = np.random.default_rng(seed)
    work = np.array(["north", "south", "east", "west"])[r.integers(0, 4, n) ** 2 % 4]
    return pa.table({"home": np.minimum(r.geometric(0.2, n), 39), "work": work})


def made(method: str = "full", epsilon: float = SURE, **options: Any) -> tamis.Summary:
    size = None if method == "full" else 500 if method in SPLIT else 100
    given: dict[str, Any] = {"domain": AREA, "epsilon": epsilon, "method": method, "size": size}
    return tamis.summarize(trips(), **(given | options))


def truth(where: Callable[[dict[str, Any]], bool]) -> int:
    return sum(where(row) for row in trips().to_pylist())


@pytest.mark.parametrize("method", [*METHODS, *SPLIT])
def test_without_noise_ranges_and_points_are_counts(method: str) -> None:
    summary = made(method, size=640 if method in SPLIT else None if method == "full" else 160)
    box = summary.range(home=(1, 3), work=("north", "south"))
    assert box.estimate == pytest.approx(
        truth(lambda row: row["home"] in (1, 2, 3) and row["work"] in ("north", "south"))
    )
    one = summary.point(home=2, work="south")
    assert one.estimate == truth(lambda row: row == {"home": 2, "work": "south"})
    assert summary.range().estimate == pytest.approx(3000)


@pytest.mark.parametrize("method", METHODS)
def test_a_condition_is_the_box_that_it_describes(method: str) -> None:
    summary = made(method, 1.0)
    condition = summary.subset("home BETWEEN 1 AND 3 AND work IN ('north', 'south')")
    box = summary.range(home=(1, 3), work=("north", "south"))
    assert (condition.estimate, condition.low) == pytest.approx((box.estimate, box.low))
    everything = summary.subset("true")
    assert everything.estimate == pytest.approx(summary.range().estimate)
    assert everything.estimate == pytest.approx(sum(summary.to_arrow()["weight"].to_pylist()))


@pytest.mark.parametrize("method", METHODS)
def test_a_marginal_holds_the_ranges_of_each_value(method: str) -> None:
    summary = made(method, 1.0)
    for row in summary.marginal("work").to_pylist():
        alone = summary.range(work=row["work"])
        assert (row["estimate"], row["standard_error"], row["low"], row["high"]) == pytest.approx(
            (alone.estimate, alone.standard_error, alone.low, alone.high)
        )
    both = summary.marginal("work", "home")
    assert both.column_names[:2] == ["work", "home"]
    assert sum(both["estimate"].to_pylist()) == pytest.approx(summary.range().estimate)


def drawn(data: pa.Table, times: int, **options: Any) -> Iterator[tamis.Summary]:
    """The same summary many times; the data is read once."""
    first = tamis.summarize(data, **options)
    recipe, count = first.about.recipe, options.get("count")
    counts = data[count].to_numpy() if count else np.ones(len(data), dtype=np.int64)
    table = recipe.table(recipe.domain.pack(recipe.domain.encode(data)), counts)
    for _ in range(times):
        made = recipe.draw(table)
        assert not isinstance(made, Sketch)
        yield tamis.Summary(
            made, replace(first.about, taus=tuple(level.flat.tau for level in made.levels))
        )


@pytest.mark.parametrize("method", ["filter-priority", "filter", "priority"])
def test_intervals_of_points_hold_whether_the_cell_stays_or_not(method: str) -> None:
    counts = [0, 3, 8, 15, 30, 60, 300]
    data = pa.table({"home": np.arange(1, 7), "n": counts[1:]})
    given: dict[str, Any] = {
        "domain": tamis.Domain(home=400),
        "epsilon": 0.3,
        "size": 20,
        "count": "n",
    }
    held = np.zeros(len(counts), dtype=np.int64)
    for summary in drawn(data, 400, method=method, **given):
        answers = [summary.point(home=n) for n in range(7)]
        held += [a.low <= count <= a.high for a, count in zip(answers, counts, strict=True)]
    assert all(stats.binom.cdf(times, 400, 0.95) > RARE for times in held)


@pytest.mark.parametrize("method", ["priority", "threshold", "full", "dyadic", "haar"])
def test_intervals_of_sums_hold_where_nothing_is_filtered(method: str) -> None:
    count = truth(lambda row: row["home"] <= 5)
    size = {"full": None, "dyadic": 640, "haar": 640}.get(method, 80)
    given: dict[str, Any] = {"domain": AREA, "epsilon": 0.5, "size": size, "method": method}
    answers = [summary.range(home=(0, 5)) for summary in drawn(trips(), 150, **given)]
    held = sum(a.low <= count <= a.high for a in answers)
    assert stats.binom.cdf(held, 150, 0.95) > RARE


RANGES = [(0, 499), (100, 131), (64, 127), (17, 803)]
HIERARCHIES = [*itertools.product(["dyadic", "consistent dyadic", "haar"], [40, 200])]


def held_ranges(counts: Ints, times: int, **options: Any) -> list[int]:
    """How often the intervals of some ranges held the truth."""
    there = np.flatnonzero(counts)
    data = pa.table({"home": there, "n": counts[there]})
    held = np.zeros(len(RANGES), dtype=np.int64)
    area = tamis.Domain(home=len(counts))
    for summary in drawn(data, times, domain=area, count="n", **options):
        answers = [summary.range(home=ends) for ends in RANGES]
        truths = [counts[first : last + 1].sum() for first, last in RANGES]
        held += [a.low <= truth <= a.high for a, truth in zip(answers, truths, strict=True)]
    return held.tolist()


@pytest.mark.parametrize(
    ("method", "size"), [("filter-priority", 40), ("filter", 40), *HIERARCHIES]
)
def test_intervals_have_room_for_what_a_filter_leaves_out(method: str, size: int) -> None:
    """Many counts are small here, and nearly all of them are left out."""
    counts = np.arange(900) % 7 + 1
    for times in held_ranges(counts, 60, epsilon=0.5, method=method, size=size):
        assert stats.binom.cdf(times, 60, 0.95) > RARE


@pytest.mark.parametrize("more", [1.05, pytest.param(1.3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", ["filter", "filter-priority", "dyadic", "consistent dyadic"])
def test_intervals_hold_a_single_cell_just_above_the_filter(method: str, more: float) -> None:
    """Half of the time noise takes it down, or a block around it, and it is not there."""
    given: dict[str, Any] = {"domain": tamis.Domain(home=1024), "epsilon": 1.0, "method": method}
    given["size"] = 200 if method in SPLIT else 20
    theta = tamis.summarize(pa.table({"home": [1]}), **given).about.recipe.rules[-1].theta
    count = int(more * theta)
    data, held = pa.table({"home": [500], "n": [count]}), list[bool]()
    for n, summary in enumerate(drawn(data, 120, count="n", **given)):
        asked = [summary.range(home=500), summary.range(home=(500, 501))]
        asked += [summary.subset("home = 500")] if method not in SPLIT and n % 4 == 0 else []
        held += [answer.low <= count <= answer.high for answer in asked]
    assert stats.binom.cdf(sum(held), len(held), 0.95) > RARE


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
@pytest.mark.parametrize(("method", "size"), HIERARCHIES)
def test_intervals_of_ranges_hold_for_tables_of_all_kinds(
    method: str, size: int, epsilon: float
) -> None:
    rng = np.random.default_rng(5)
    falling = rng.permutation(np.maximum(1, 2000 // np.arange(1, 901)))
    sparse = np.where(rng.random(900) < 0.05, rng.integers(1, 60, 900), 0)
    block = np.where((np.arange(900) >= 110) & (np.arange(900) < 140), 13, 0)
    for counts in (falling, sparse, block):
        for times in held_ranges(counts, 100, epsilon=epsilon, method=method, size=size):
            assert stats.binom.cdf(times, 100, 0.95) > RARE


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 42])
def test_a_cell_that_a_sample_left_out_is_in_the_interval(count: int) -> None:
    data = pa.table({"home": [7], "n": [count]})
    given: dict[str, Any] = {"domain": tamis.Domain(home=2000), "epsilon": 0.3, "count": "n"}
    held = []
    for n, summary in enumerate(drawn(data, 80, method="priority", size=50, **given)):
        asked = [summary.range(home=7), summary.range(home=(6, 9))]
        asked += [summary.subset("home = 7")] if n % 4 == 0 else []
        held += [answer.low <= count <= answer.high for answer in asked]
    assert stats.binom.cdf(sum(held), len(held), 0.95) > RARE


def test_an_interval_half_as_wide_would_not_hold() -> None:
    count = truth(lambda row: row["home"] <= 5)
    given: dict[str, Any] = {"domain": AREA, "epsilon": 0.5, "size": 80, "method": "priority"}
    answers = [summary.range(home=(0, 5)) for summary in drawn(trips(), 150, **given)]
    held = sum(abs(a.estimate - count) <= (a.high - a.low) / 4 for a in answers)
    assert stats.binom.cdf(held, 150, 0.95) < RARE


@pytest.mark.parametrize("method", [*METHODS, *SPLIT, *SKETCHES])
def test_a_file_is_what_was_saved(method: str, tmp_path: Path) -> None:
    summary, path = made(method, 1.0), tmp_path / "s.parquet"
    if method == "haar":
        summary = made(method, 1.0, level_growth=1.1)
    summary.save(path)
    again = tamis.open(path)
    assert isinstance(again, tamis.Summary)
    assert again.to_arrow().equals(summary.to_arrow())
    assert again.about == summary.about
    assert again.digest == summary.digest
    assert again.range(home=(1, 3)) == summary.range(home=(1, 3))
    assert "epsilon 1.0, delta 0" in again.verify()
    assert pq.read_table(path).column_names == summary.to_arrow().column_names


def tampered(path: Path, change: Callable[[pa.Table, dict[str, Any]], pa.Table]) -> None:
    table, said = pq.read_table(path), json.loads(pq.read_metadata(path).metadata[b"tamis"])
    changed = change(table.replace_schema_metadata(None), said)
    with pq.ParquetWriter(path, changed.schema, compression="zstd") as writer:
        writer.write_table(changed)
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        writer.add_key_value_metadata({b"tamis": text.encode()})


def stated(name: str, value: Any) -> Callable[[pa.Table, dict[str, Any]], pa.Table]:
    def change(table: pa.Table, said: dict[str, Any]) -> pa.Table:
        part, _, rest = name.partition(".")
        if rest:
            said[part][rest] = value
        else:
            said[part] = value
        from tamis.releases.digest import digest

        said["digest"] = digest({k: v for k, v in said.items() if k != "digest"}, table)
        return table

    return change


def shifted(table: pa.Table, said: dict[str, Any]) -> pa.Table:
    value = pa.array(np.append(table["value"].to_numpy()[1:], 5))
    return table.set_column(table.column_names.index("value"), "value", value)


CHANGES = {
    "values": shifted,
    "order": lambda table, said: table.take(pa.array(range(len(table))[::-1])),
    "fewer rows": lambda table, said: table.slice(1),
    "a smaller epsilon": stated("guarantee.epsilon", "0.1"),
    "another unit": stated("guarantee.keys_per_unit", 2),
    "replaced units": stated("guarantee.neighbours", "replace one unit"),
    "another filter": stated("theta", 90),
    "a filter of nothing": stated("theta", -1),
    "another size": stated("size", 2),
    "another threshold": stated("taus", ["7000.0"]),
    "a sample of fewer than its size": stated("taus", ["1.5"]),
    "another method": stated("method", "priority"),
    "an unknown method": stated("method", "magic"),
    "a damaged domain": stated("domain", {"attributes": [{"name": "home", "kind": "?"}]}),
    "a smaller domain": stated(
        "domain", {"attributes": [{"name": "home", "kind": "whole", "low": 0, "high": 1}]}
    ),
    "more change": stated("change", 7),
}


SKETCH_CHANGES = {
    "values": shifted,
    "fewer rows": lambda table, said: table.slice(1),
    "no hashes": stated("hashes", []),
    "other hashes": stated("hashes", [[[1], [2, 3], [4, 5, 6]]]),
    "hashes of text": stated("hashes", [[["a"], ["b", "c"], ["d", "e", "f", "g"]]]),
    "another size": stated("size", 2),
}


@pytest.mark.parametrize(
    ("method", "change"),
    [
        *(pytest.param("filter-priority", change, id=name) for name, change in CHANGES.items()),
        *(
            pytest.param("sketch", change, id=f"sketch, {name}")
            for name, change in SKETCH_CHANGES.items()
        ),
    ],
)
def test_a_file_that_was_changed_is_refused(method: str, change: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    made(method, 1.0).save(path)
    tampered(path, change)
    with pytest.raises(tamis.BadData):
        tamis.open(path).verify()


def test_input_order_leaves_no_trace() -> None:
    def bytes_of(data: pa.Table) -> str:
        with randomness.using(Stream(7)):
            return tamis.summarize(data, domain=AREA, epsilon=0.5, size=50).digest

    data = trips()
    shuffled = data.take(pa.array(np.random.default_rng(3).permutation(len(data))))
    assert bytes_of(data) == bytes_of(shuffled)


def test_neighbours_have_the_same_schema_and_metadata(tmp_path: Path) -> None:
    said = []
    for n in (3000, 2999):
        path = tmp_path / f"{n}.parquet"
        tamis.summarize(trips(n), domain=AREA, epsilon=0.5, size=50, theta=9).save(path)
        about = json.loads(pq.read_metadata(path).metadata[b"tamis"])
        said.append(
            ({k: v for k, v in about.items() if k not in ("taus", "digest")}, pq.read_schema(path))
        )
    assert said[0] == said[1]


def test_what_a_unit_changes_sets_the_noise() -> None:
    data = pa.table({"home": [1, 2, 3] * 50, "u": np.arange(150) // 3})
    options: dict[str, Any] = {"domain": tamis.Domain(home=5), "epsilon": 1.0, "method": "full"}
    alone = tamis.summarize(data, **options)
    units = tamis.summarize(data, unit="u", keys_per_unit=2, elements_per_key=3, **options)
    swapped = tamis.summarize(
        data, unit="u", keys_per_unit=2, elements_per_key=3, neighbours="replace", **options
    )
    assert [s.about.recipe.change for s in (alone, units, swapped)] == [1, 6, 12]
    assert [str(s.about.recipe.rate) for s in (alone, units, swapped)] == ["1", "1/6", "1/12"]


def test_units_are_cut_to_their_bound() -> None:
    data = pa.table({"home": np.tile(np.arange(30), 40), "u": np.repeat(np.arange(40), 30)})
    summary = tamis.summarize(
        data,
        domain=tamis.Domain(home=40),
        epsilon=SURE,
        method="full",
        unit="u",
        keys_per_unit=4,
    )
    assert summary.range().estimate == 160


def test_values_that_share_a_cell_are_added() -> None:
    data = pa.table({"age": [1, 2, 17, 18, 30], "n": [5, 6, 7, 8, 9]})
    area = tamis.Domain(age=tamis.Bins([0, 18, 40]))
    summary = tamis.summarize(data, domain=area, epsilon=SURE, method="full", count="n")
    assert summary.to_arrow().to_pydict() == {
        "age": ["[0, 18)", "[18, 40]"],
        "value": [18, 17],
        "weight": [18.0, 17.0],
    }


def test_units_are_bounded_by_cells_not_by_values() -> None:
    """Three ages in one bin are one cell, in which the unit counts once."""
    data = pa.table({"age": [1, 2, 17, 30], "u": [7, 7, 7, 7]})
    area = tamis.Domain(age=tamis.Bins([0, 18, 40]))
    for k, sums in ((2, {(1, 1)}), (1, {(1, 0), (0, 1)})):
        options: dict[str, Any] = {"epsilon": SURE, "method": "full", "unit": "u"}
        summary = tamis.summarize(data, domain=area, keys_per_unit=k, **options)
        assert tuple(summary.to_arrow()["value"].to_pylist()) in sums


def test_a_threshold_from_a_private_total_gives_about_the_size() -> None:
    sizes = []
    for _ in range(20):
        summary = made("threshold", 2.0, size=30, total_share=0.2)
        assert [part.epsilon for part in summary.about.parts] == [1.6, 0.4]
        assert summary.about.parts[1].value is not None
        sizes.append(len(summary))
    assert 10 < np.mean(sizes) <= 33


@pytest.mark.parametrize("method", [None, "filter", "priority", "threshold", "one-sided filter"])
def test_a_size_from_a_private_number_of_cells(method: str | None, tmp_path: Path) -> None:
    data = pa.table({"home": np.repeat(np.arange(2000) * 400, 300)})
    area = tamis.Domain(home=10**6)
    summary = tamis.summarize(data, domain=area, epsilon=2.0, method=method, size_share=0.25)
    cells, held = summary.about.parts
    assert (cells.epsilon, held.epsilon) == (1.5, 0.5)
    assert held.value is not None
    assert abs(held.value - 2000) < 60
    assert summary.about.recipe.size == held.value
    assert summary.about.recipe.rate == Fraction(3, 2)
    assert 1900 < len(summary) < (4500 if method == "threshold" else 3100)
    summary.save(tmp_path / "s.parquet")
    assert tamis.open(tmp_path / "s.parquet").verify() == summary.verify()
    tampered(tmp_path / "s.parquet", stated("size", 5000))
    with pytest.raises(tamis.BadData):
        tamis.open(tmp_path / "s.parquet")


@pytest.mark.slow
def test_the_noise_of_a_chosen_size_is_for_the_cells_of_a_unit() -> None:
    """Ten cells of a unit come and go at once, whatever it counts in each."""
    data = pa.table({"home": np.arange(400), "u": np.arange(400) // 10})
    values = []
    for _ in range(60):
        summary = tamis.summarize(
            data, domain=tamis.Domain(home=10**4), epsilon=4.0, size_share=0.25, unit="u",
            keys_per_unit=10, elements_per_key=5, neighbours="replace",
        )  # fmt: skip
        values.append(summary.about.parts[1].value or 0)
    squares = (np.array(values) - 400.0) ** 2
    right, wrong = variance(Fraction(1, 10)), variance(Fraction(1, 50))
    assert abs(squares.mean() - right) < 5 * squares.std() / 60**0.5
    assert abs(squares.mean() - wrong) > 5 * squares.std() / 60**0.5


def test_few_cells_give_a_size_of_a_hundred_and_no_more_than_there_are() -> None:
    data = pa.table({"home": [1, 2, 2]})
    for cells, size in ((10**6, 100), (40, 40)):
        summary = tamis.summarize(
            data, domain=tamis.Domain(home=cells), epsilon=1.0, size_share=0.5
        )
        assert summary.about.recipe.size == size


@pytest.mark.parametrize("method", ["filter-priority", "priority", "one-sided filter", "threshold"])
def test_how_many_rows_are_noise_alone(method: str) -> None:
    data, area = pa.table({"home": [7] * 900}), tamis.Domain(home=2000)
    made = list(drawn(data, 200, domain=area, epsilon=0.3, method=method, size=50))
    there = np.array([len(summary) - 1 for summary in made])
    stated = np.array([summary.noise_alone() for summary in made])
    assert abs((there - stated).mean()) < 5 * (there - stated).std() / 200**0.5
    assert abs((there - 1.3 * stated).mean()) > 5 * (there - 1.3 * stated).std() / 200**0.5


@pytest.mark.parametrize(
    ("where", "share"),
    [
        ("a = 3 AND b = 4", 1e-12),
        ("a < 10 AND b BETWEEN 0 AND 99 AND c = 1", 5e-10),
        ("a = 3 AND (b = 4 OR c = 1)", None),
        ("true", 1.0),
        ("c = 1 AND c = 0", 0.0),
    ],
)
def test_cells_of_a_condition_are_counted_exactly_where_it_is_a_box(
    where: str, share: float | None
) -> None:
    """And so the interval of a single cell is as narrow as that of the point."""
    area = tamis.Domain(a=10**6, b=10**6, c=2)
    data = pa.table({"a": [5] * 500, "b": [6] * 500, "c": [1] * 500})
    summary = tamis.summarize(data, domain=area, epsilon=1.0, size=100)
    found = matching(area, summary.to_arrow(), where).cells
    if share is not None:
        assert found == pytest.approx(share * area.cells)
    one = summary.subset("a = 3 AND b = 4 AND c = 0")
    assert one.high < 2 * summary.point(a=3, b=4, c=0).high


def test_all_or_no_cells_are_noise_alone() -> None:
    assert made("full").noise_alone() == 160
    with pytest.raises(tamis.InvalidInput, match="noise alone"):
        made("haar").noise_alone()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no size": ({"size": None}, "size is missing"),
    "a size that is no number": ({"size": True}, "size must be a whole number"),
    "a size beyond all nodes": ({"size": 641, "method": "haar"}, "number of nodes, about, 640"),
    "too high a filter": ({"theta": 2**62, "method": "filter"}, "theta must be a whole number"),
    "hardly anything for a level": (
        {"domain": tamis.Domain(home=2**20), "method": "haar", "level_growth": 10},
        "at least 1e-15",
    ),
    "hardly anything for a row": (
        {"epsilon": 1.5e-15, "method": "median sketch"},
        "at least 1e-15",
    ),
    "more cells than a float can hold": (
        {"domain": tamis.Domain({f"a{n}": 2 for n in range(1100)}), "theta": 5},
        "at most 2\\^1000 cells",
    ),
    "data for a domain": ({"domain": trips()["work"]}, "not a ChunkedArray; it lists public"),
    "a size and a share": ({"size_share": 0.1}, "in place of a size"),
    "a share of too much": ({"size": None, "size_share": 0.6}, "size_share must be a share"),
    "a share and levels": (
        {"size": None, "size_share": 0.1, "method": "haar"},
        "size_share is for methods without levels",
    ),
    "a share of too little": (
        {"size": None, "size_share": 1e-20},
        "at least",
    ),
    "a size beyond the domain": ({"size": 161}, "at most the number of cells, 160"),
    "a size of 0": ({"size": 0}, "size must be a whole number"),
    "epsilon 0": ({"epsilon": 0}, "epsilon must be"),
    "epsilon NaN": ({"epsilon": float("nan")}, "epsilon must be"),
    "epsilon infinite": ({"epsilon": float("inf")}, "epsilon must be"),
    "an unknown method": ({"method": "magic"}, "method must be one of"),
    "an attribute that is not there": ({"domain": tamis.Domain(age=99)}, "age"),
    "a value outside": ({"domain": tamis.Domain(home=3), "size": 2}, "'home'"),
    "the data as domain": ({"domain": trips()}, "never taken from the data"),
    "theta for no filter": ({"method": "priority", "theta": 3}, "theta is for a filter"),
    "tau for no threshold": ({"tau": 3.0}, "tau"),
    "an unknown workload": ({"workload": "all"}, "workload must be"),
    "replaced by name": ({"neighbours": "swap"}, "neighbours must be"),
    "a bound without units": ({"keys_per_unit": 2}, "unit="),
    "units without a bound": ({"unit": "work", "domain": tamis.Domain(home=40)}, "keys_per_unit"),
    "levels for cells": ({"level_growth": 1.1}, "level_growth is for"),
    "a growth of nothing": ({"level_growth": 0, "method": "haar"}, "level_growth must be"),
    "a share for nothing": ({"total_share": 0.1}, "total_share"),
    "a full table of too many": (
        {"method": "full", "size": None, "domain": tamis.Domain(home=2**40)},
        "every cell",
    ),
    "a condition that fails": ({"where": "home::INTEGER / 0 > 'a'"}, "where"),
}


@pytest.mark.parametrize(("options", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_refused_before_anything_is_spent(
    options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    place = tmp_path / "ledger"
    with open_ledger(place) as ledger:
        ledger.create("trips", 1000.0, 1e-6, "element")
    given: dict[str, Any] = {"domain": AREA, "epsilon": 1.0, "size": 50}
    given |= {"budget": "trips", "ledger": place}
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=words):
        tamis.summarize(trips(), **(given | options))
    with open_ledger(place) as ledger:
        assert not ledger.history("trips")


@pytest.mark.parametrize("count", [[1, -1], [1.5, 1], [float("nan"), 1]])
def test_counts_that_are_none_are_refused(count: list[float]) -> None:
    data = pa.table({"home": [1, 2], "n": count})
    with randomness.using(Forbidden()), pytest.raises(tamis.BadData):
        tamis.summarize(data, domain=tamis.Domain(home=5), epsilon=1.0, size=2, count="n")


def test_a_summary_is_charged_before_it_is_drawn_and_costs_no_delta(tmp_path: Path) -> None:
    place = tmp_path / "ledger"
    with open_ledger(place) as ledger:
        ledger.create("trips", 1.0, 1e-6, "element")
    given: dict[str, Any] = {"domain": AREA, "size": 50, "budget": "trips", "ledger": place}
    first = tamis.summarize(trips(), epsilon=0.7, **given)
    assert first.about.entry is not None
    with pytest.raises(tamis.BudgetRefused), randomness.using(Forbidden()):
        tamis.summarize(trips(), epsilon=0.7, **given)
    with pytest.raises(AssertionError, match="a word was drawn"), randomness.using(Forbidden()):
        tamis.summarize(trips(), epsilon=0.2, **given)
    with open_ledger(place) as ledger:
        assert [(e.epsilon, e.delta) for e in ledger.history("trips")] == [(0.7, 0.0), (0.2, 0.0)]


ASKED: dict[str, tuple[Callable[[tamis.Summary], Any], str]] = {
    "a point without a value": (lambda s: s.point(home=1), "'work' is missing"),
    "an unknown attribute": (lambda s: s.range(hom=1), "home"),
    "ends swapped": (lambda s: s.range(home=(3, 1)), "home"),
    "ends outside": (lambda s: s.range(home=(3, 40)), "home"),
    "three ends": (lambda s: s.range(home=(1, 2, 3)), "two ends"),
    "a condition on what is not there": (lambda s: s.subset("age > 3"), "attributes"),
    "no condition": (
        lambda s: s.subset(3),  # type: ignore[arg-type]
        "as text",
    ),
    "a marginal of nothing": (lambda s: s.marginal(), "different attributes"),
    "a marginal of one twice": (lambda s: s.marginal("home", "home"), "different attributes"),
}


@pytest.mark.parametrize(("ask", "words"), ASKED.values(), ids=ASKED)
def test_wrong_questions_are_refused(ask: Any, words: str) -> None:
    with pytest.raises(tamis.InvalidInput, match=words):
        ask(made("filter-priority", 1.0))


def test_a_summary_for_ranges_says_what_it_cannot_answer() -> None:
    with pytest.raises(tamis.InvalidInput, match="no cells"):
        made("haar", 1.0).subset("home > 3")


def test_it_prints_well() -> None:
    text = str(made("filter", 1.0))
    assert "value" in text
    assert "epsilon 1 for one element" in text
    assert "<table>" in made("filter", 1.0)._repr_html_()


def test_a_huge_domain_is_no_more_work() -> None:
    area = tamis.Domain({f"a{n}": 2**20 for n in range(5)})
    cells = np.random.default_rng(2).integers(0, 2**20, (5, 2000))
    data = pa.table({f"a{n}": row for n, row in enumerate(cells)})
    data = data.append_column("n", pa.array(np.full(2000, 3000)))
    summary = tamis.summarize(data, domain=area, epsilon=0.1, size=5000, count="n")
    assert area.cells == 2**100
    assert summary.range().estimate == pytest.approx(2000 * 3000, rel=0.5)
    asked = {f"a{n}": int(row[0]) for n, row in enumerate(cells)}
    assert abs(summary.point(**asked).estimate - 3000) < 400


@pytest.mark.parametrize("method", SKETCHES)
def test_a_sketch_answers_lists_of_cells(method: str) -> None:
    """Of nine sketches: some 2 % are off by 3 standard errors, where large cells share a bucket.

    That five of nine are has a probability of 1e-6.
    """
    sides, off = ("north", "south"), list[tuple[float, float]]()
    count = truth(lambda row: row["home"] == 2 and row["work"] == "south")
    inside = truth(lambda row: row["home"] in (1, 2, 3) and row["work"] in sides)
    for _ in range(9):
        summary = made(method, SURE, size=160)
        one = summary.point(home=2, work="south")
        box = summary.range(home=(1, 3), work=sides)
        pairs = ((one, count), (box, inside))
        point, several = (abs(a.estimate - true) / (a.standard_error + 1) for a, true in pairs)
        off.append((point, several))
    assert (np.median(off, axis=0) < 3).all()
    same = summary.subset("home BETWEEN 1 AND 3 AND work IN ('north', 'south')")
    assert same == box
    assert len(summary) == 160


def test_a_sketch_says_what_it_cannot_answer() -> None:
    summary = made("sketch", 1.0)
    with pytest.raises(tamis.InvalidInput, match="buckets, not cells"):
        summary.marginal("home")
    huge = tamis.summarize(
        trips().select(["home"]),
        domain=tamis.Domain(home=2**40),
        epsilon=1.0,
        size=9,
        method="sketch",
    )
    with pytest.raises(tamis.InvalidInput, match="at most 1,000,000 cells"):
        huge.range()
    with pytest.raises(tamis.InvalidInput, match="at most 1,000,000 cells"):
        huge.subset("home > 3")
