"""What is expected of each stage on Spark, and the slopes that are laid through what it took."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.scale import FLOWS, THEN, _duration, _settings, _then, _trial
from benchmarks.scale_fit import Slopes, fitted, plane
from benchmarks.scale_law import Flow, Law, Setting, flows, uniform, zipf
from benchmarks.scale_stages import CORES, Shuffle, Stage

SETTING = Setting(40_000, 3000, 2000, 4, 3)
BY_KEY = ("rows", "group by key")


def drawn(law: Law, many: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    rng = np.random.default_rng(1)
    group = rng.choice(len(law.keys), many, p=law.shares)
    below = np.cumsum(law.keys) - law.keys
    return (below[group] + np.floor(rng.random(many) * law.keys[group])).astype(np.int64)


@pytest.mark.parametrize("law", [uniform(3000), zipf(3000, 1.2, groups=200)], ids=["even", "zipf"])
def test_what_goes_out_is_what_a_drawing_has(law: Law) -> None:
    rng = np.random.default_rng(2)
    keys, users = drawn(law, SETTING.rows), rng.integers(0, SETTING.users, SETTING.rows)
    part = np.arange(SETTING.rows) % SETTING.partitions
    expected = flows(SETTING, law)
    pairs = {*zip(part, keys, strict=True)}
    assert expected[BY_KEY].out == pytest.approx(len(pairs), rel=0.02)
    triples = {*zip(part, users, keys, strict=True)}
    assert expected["units", "group by unit and key"].out == pytest.approx(len(triples), rel=0.02)
    owned = {*zip(users, keys, strict=True)}
    assert expected["units", "bound units, group by key"].into == pytest.approx(
        len(owned), rel=0.02
    )
    assert expected["rows", "draw, name"].into == pytest.approx(len({*keys}), rel=0.02)


def test_a_power_law_has_the_shares_that_events_have() -> None:
    law = zipf(10**9, 1.2)
    assert law.shares.sum() == pytest.approx(1)
    assert law.keys.sum() == pytest.approx(10**9)
    assert law.shares[0] / law.shares[31] == pytest.approx(
        (1 - 2**-0.2) / (32**-0.2 - 33**-0.2), rel=1e-6
    )


def test_almost_every_row_goes_out_where_keys_are_all_as_frequent() -> None:
    even, skewed = (flows(THEN, law)[BY_KEY].out for law in (uniform(10**9), zipf(10**9, 1.2)))
    assert 0.99 < even / THEN.rows < 1
    assert 0.05 < skewed / THEN.rows < 0.15
    some, other = _settings(1_000_000)
    shares = [flows(s, uniform(s.keys))[BY_KEY].out / s.rows for s in some]
    assert min(shares) < 0.01
    assert max(shares) > 0.97
    assert other not in some


def test_slopes_are_found_and_none_is_negative() -> None:
    given = [Flow(n, k) for n, k in ((5, 5), (10, 5), (20, 5), (10, 1), (10, 20))]
    exact = [3 + 2 * flow.into + 7 * flow.out for flow in given]
    assert plane(given, exact) == pytest.approx((3.0, 2.0, 7.0))
    assert min(plane(given, [100.0 - 2 * flow.into for flow in given])) >= 0
    keys = [Flow(n) for n in (1, 10, 100)]
    assert plane(keys, [1 + 2 * flow.into for flow in keys]) == pytest.approx((1.0, 2.0, 0.0))


def test_bytes_are_those_of_a_record_of_each_shuffle() -> None:
    stages = [
        Stage("units", "bound units, group by key", SETTING, 1.0 + n,
              (Shuffle(100, 2400), Shuffle(10 + n, 110 + 11 * n)))
        for n in range(3)
    ]  # fmt: skip
    found = fitted(stages)
    assert (found.bytes_in, found.bytes_out) == (24.0, 11.0)
    assert found.bytes(Flow(2, 3)) == 2 * 24 + 3 * 11


def test_the_tables_are_what_slopes_make_of_what_is_expected() -> None:
    lines = {name: Slopes(0.0, 1e-6, 2e-6, 0.0, 10.0) for name in FLOWS}
    first = _then(lines).splitlines()[4].split(" | ")
    assert "10^12 rows, 1,000 cores" in _then(lines)
    # 10^12 rows and 0.995 * 10^12 pairs
    assert first[3:] == ["1,000.0", "995.0", "50 min", "10.0 |"]
    stage = Stage(*BY_KEY, SETTING, 9.0, (Shuffle(9000, 5e6),))
    (row,) = _trial(SETTING, [stage], lines).splitlines()[4:]
    out = flows(SETTING, uniform(SETTING.keys))[BY_KEY].out
    assert row.split(" | ")[2:] == [
        f"{out:,.0f}", "9,000", f"{(0.04 + 2e-6 * out) / CORES:.1f}", "9.0", "0", "5 |",
    ]  # fmt: skip
    assert [_duration(n) for n in (59.6, 600, 9000)] == ["60 s", "10 min", "2.5 h"]
