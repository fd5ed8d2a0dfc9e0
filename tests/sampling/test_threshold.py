"""Threshold samples keep each key with exactly the stated probability; tau gives the size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tamis.privacy import randomness, verify
from tamis.privacy.errors import InvalidInput
from tamis.sampling import (
    Custom,
    Everything,
    Pps,
    Ppswor,
    PrivateTau,
    Scheme,
    private_tau,
    tau_for_size,
    threshold,
    threshold_sample,
    threshold_sample_table,
)
from tests.sources import Counted, Forbidden, Listed

RARE = 1e-6  # a right law fails a statistical test this often

frequencies = st.one_of(st.integers(1, 300), st.integers(1, 2**63 - 1))
rates = st.floats(-60, 3).map(lambda x: 10.0**x)
powers = st.sampled_from([0.25, 0.5, 1.0, 1.3, 2.0])
schemes = st.one_of(
    st.builds(Pps, rates, powers),
    st.builds(Ppswor, rates, powers),
    st.just(Everything()),
    st.just(Custom({1: 0.1, 7: 0.3, 40: 1})),
    st.just(Custom({5: 1e-30, 9: 0.3})),
)


# --- exactly the integers of the scheme ---------------------------------------------------------


def units(scheme: Scheme, frequency: int) -> int:
    return verify.Scheme(scheme.rule()).units(frequency)


def kept(scheme: Scheme, frequency: int, word: int) -> bool:
    """Is a key kept when the word of 128 bits is this one?"""
    with randomness.using(Listed(divmod(word, 2**64))):
        return len(threshold_sample([frequency], scheme)) == 1


@given(schemes, frequencies)
def test_a_key_is_kept_for_as_many_words_as_the_scheme_has_units(
    scheme: Scheme, frequency: int
) -> None:
    limit = units(scheme, frequency)
    assert limit == 0 or kept(scheme, frequency, limit - 1)
    assert limit == verify.U or not kept(scheme, frequency, limit)


@given(schemes, frequencies, st.integers(0, verify.U - 1))
def test_any_word_is_compared_as_a_whole_number(scheme: Scheme, frequency: int, word: int) -> None:
    assert kept(scheme, frequency, word) == (word < units(scheme, frequency))


@given(schemes, frequencies)
def test_floating_point_is_close_enough_to_settle_the_clear_cases(
    scheme: Scheme, frequency: int
) -> None:
    exact = Fraction(units(scheme, frequency), verify.U)
    rounded = Fraction(float(scheme.probability([frequency])[0]))
    assert abs(rounded - exact) <= exact / 2**45 + Fraction(1, verify.U)


def test_one_word_for_each_key_is_enough() -> None:
    source = Counted()
    with randomness.using(source):
        threshold_sample(np.arange(1, 10_001), Ppswor(1e-4))
    assert source.drawn == 10_000


def test_the_sample_does_not_depend_on_how_many_keys_are_drawn_for_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words, counts = randomness.words(1000), np.arange(1, 1001)
    with randomness.using(Listed(words)):
        at_once = threshold_sample(counts, Ppswor(0.002))
    monkeypatch.setattr(threshold, "_AT_ONCE", 7)
    with randomness.using(Listed(words)):
        in_parts = threshold_sample(counts, Ppswor(0.002))
    assert at_once.tolist() == in_parts.tolist()


def test_indices_are_sorted_64_bit_integers() -> None:
    sample = threshold_sample(np.full(1000, 3), Pps(0.1))
    assert sample.dtype == np.int64
    assert (np.diff(sample) > 0).all()
    assert threshold_sample([], Pps(0.1)).dtype == np.int64


# --- the law, by testing ------------------------------------------------------------------------


def fit(taken: Sequence[int], many: int, q: Any) -> float:
    """The p-value of keeping each of ``many`` keys with probability q, for several q."""
    z = (np.asarray(taken) - many * q) / np.sqrt(many * q * (1 - q))
    return float(stats.chi2.sf(z @ z, len(z)))


@pytest.mark.parametrize(
    ("scheme", "off"),
    [
        (Ppswor(0.05), Ppswor(0.0515)),
        (Pps(0.01), Pps(0.0103)),
        (Ppswor(0.05, 0.5), Ppswor(0.0515, 0.5)),
        (Pps(0.002, 2), Pps(0.00206, 2)),
        (Custom({1: 0.1, 5: 0.5}), Custom({1: 0.103, 5: 0.515})),
    ],
)
def test_keys_are_kept_with_probability_q_and_not_three_percent_off(
    scheme: Scheme, off: Scheme
) -> None:
    values, many = np.array([1, 4, 10, 20]), 300_000
    sample = threshold_sample(np.repeat(values, many), scheme)
    taken = np.bincount(sample // many, minlength=len(values))
    assert fit(list(taken), many, scheme.probability(values)) > RARE
    assert fit(list(taken), many, off.probability(values)) < RARE


# --- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"]
)
def test_a_table_gives_the_sampled_rows_and_only_key_and_frequency(make: Any) -> None:
    data = make({"query": ["a", "b", "c"], "n": [5, 1, 7], "other": [0, 0, 0]})
    with randomness.using(Listed([0, 2**64 - 1, 0])):
        sample = threshold_sample_table(data, Pps(0.1), key="query", frequency="n")
    assert sample.to_pydict() == {"query": ["a", "c"], "n": [5, 7]}


def test_a_key_may_be_several_columns() -> None:
    data = pa.table({"x": ["a", "a"], "y": [1, 2], "n": [3, 4]})
    sample = threshold_sample_table(data, Everything(), key=["x", "y"], frequency="n")
    assert sample.equals(data.cast(sample.schema))
    with pytest.raises(InvalidInput, match="more than one row"):
        threshold_sample_table(data, Everything(), key="x", frequency="n")


# --- choosing tau -------------------------------------------------------------------------------


def expected_size(scheme: Scheme, counts: list[int]) -> float:
    return math.fsum(scheme.probability(counts))


@given(
    st.lists(frequencies, min_size=1, max_size=40),
    st.floats(0, 1),
    st.sampled_from([Pps, Ppswor]),
    powers,
)
def test_tau_gives_the_expected_size_that_was_asked_for(
    counts: list[int], share: float, kind: type[Pps] | type[Ppswor], power: float
) -> None:
    size = 1 + share * (len(counts) - 1)
    scheme = kind(tau_for_size(counts, size, kind, power), power)
    assert expected_size(scheme, counts) == pytest.approx(size, rel=1e-9)


@given(st.lists(frequencies, min_size=2, max_size=40), st.integers(1, 12), powers)
def test_tau_is_precise_when_almost_every_key_is_wanted(
    counts: list[int], digits: int, power: float
) -> None:
    missing = len(counts) - (len(counts) - 10.0**-digits)  # as it is after rounding
    tau = tau_for_size(counts, len(counts) - 10.0**-digits, Ppswor, power)
    grown = Ppswor(tau, power).size(counts)
    assert math.fsum(np.exp(-grown)) == pytest.approx(missing, rel=1e-9, abs=0)


@given(st.lists(frequencies, min_size=1, max_size=10), powers)
def test_a_size_of_all_keys_gives_every_key_all_words(counts: list[int], power: float) -> None:
    scheme = Ppswor(tau_for_size(counts, len(counts), Ppswor, power), power)
    assert all(units(scheme, i) == verify.U for i in counts)
    assert Pps(tau_for_size(counts, len(counts), Pps)).probability(min(counts)) >= 1 - 2**-52


@given(st.lists(frequencies, min_size=3, max_size=20), st.floats(0, 0.99), st.floats(0.001, 1))
def test_tau_grows_with_the_size(counts: list[int], start: float, share: float) -> None:
    low = 1 + start * (len(counts) - 1)
    high = low + share * (len(counts) - low)
    for kind in (Pps, Ppswor):
        assert tau_for_size(counts, low, kind) < tau_for_size(counts, high, kind)


@pytest.mark.parametrize("kind", [Pps, Ppswor])
@pytest.mark.parametrize("power", [5e-324, 1.0, 2.0])
def test_tau_of_the_most_extreme_frequencies_is_one_that_schemes_take(
    kind: type[Pps] | type[Ppswor], power: float
) -> None:
    for counts in ([2**63 - 1] * 1000, [1] * 1000, [1, 2**63 - 1]):
        for size in (1, math.nextafter(1, 2), math.nextafter(len(counts), 0), len(counts)):
            scheme = kind(tau_for_size(counts, size, kind, power), power)
            assert expected_size(scheme, counts) == pytest.approx(size, rel=1e-9)


def test_a_private_tau_of_the_most_extreme_sizes_is_one_that_schemes_take() -> None:
    for total, size in ((0, 1e250), (2**63 - 1, 1e-250)):
        chosen = private_tau(total, size, 1e-12)
        assert Pps(chosen.tau).tau == Ppswor(chosen.tau).tau == size / chosen.noisy_total


def test_tau_for_pps_is_the_textbook_solution() -> None:
    # 100 is sure to be taken; the other 1.5 are shared in proportion to 1 + 2 + 3
    assert tau_for_size([1, 2, 100, 3], 2.5, Pps) == 1.5 / 6


# --- tau chosen privately -----------------------------------------------------------------------


def test_the_noise_of_a_private_tau_has_rate_epsilon_over_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates = list[Fraction]()

    def noise(rate: Fraction) -> int:
        rates.append(rate)
        return -300

    monkeypatch.setattr(randomness, "two_sided_geometric", noise)
    chosen = private_tau(1000, 35, 0.1, elements_per_unit=3)
    assert chosen == PrivateTau(35 / 700, 700, 0.1, 3)
    assert rates == [Fraction(1, 30)]
    assert private_tau(200, 35, 0.1).noisy_total == 1  # never below one


def test_a_private_tau_has_the_stated_noise_and_not_four_percent_less() -> None:
    many, rate = 60_000, 1.5 / 3
    with randomness.using(Listed(randomness.words(30 * many))):
        noisy = [private_tau(10**6, 1, 1.5, elements_per_unit=3) for _ in range(many)]
    sizes = np.abs([chosen.noisy_total - 10**6 for chosen in noisy])

    def z(scale: float) -> float:
        return float((sizes.mean() - 1 / math.sinh(scale)) / (sizes.std() / math.sqrt(many)))

    limit = stats.norm.isf(RARE / 2)
    assert abs(z(rate)) < limit
    assert abs(z(rate * 1.04)) > limit
    assert all(chosen.tau == 1 / chosen.noisy_total for chosen in noisy)


# --- bad input ----------------------------------------------------------------------------------

BAD: dict[str, tuple[Any, str]] = {
    "zero frequency": (lambda: threshold_sample([0], Pps(0.1)), "frequency"),
    "null frequency": (lambda: threshold_sample(pa.nulls(1), Pps(0.1)), "frequency"),
    "no scheme": (lambda: threshold_sample([1], 0.1), "scheme"),  # type: ignore[arg-type]
    "tau of zero": (lambda: threshold_sample([1], Pps(0)), "tau"),
    "NaN as tau": (lambda: threshold_sample([1], Ppswor(math.nan)), "tau"),
    "unknown column": (
        lambda: threshold_sample_table(pa.table({"k": ["a"], "n": [1]}), Pps(1), frequency="n"),
        "no column 'key'; its columns are: k, n",
    ),
    "null key": (
        lambda: threshold_sample_table(pa.table({"key": [None, "a"], "frequency": [1, 1]}), Pps(1)),
        "key holds nulls",
    ),
    "key twice": (
        lambda: threshold_sample_table(pa.table({"key": ["a", "a"], "frequency": [1, 2]}), Pps(1)),
        "more than one row",
    ),
    "bad column": (
        lambda: threshold_sample_table(pa.table({"key": ["a"], "n": [0.5]}), Pps(1), frequency="n"),
        "n holds fractions",
    ),
    "not a table": (lambda: threshold_sample_table([1, 2], Pps(1)), "data"),
    "size below one": (lambda: tau_for_size([1, 2], 0.5), "size"),
    "size above all": (lambda: tau_for_size([1, 2], 3), "size"),
    "size of nothing": (lambda: tau_for_size([], 1), "size"),
    "size as text": (lambda: tau_for_size([1, 2], "1"), "size"),  # type: ignore[arg-type]
    "wrong power": (lambda: tau_for_size([1, 2], 1, Ppswor, 3), "power"),
    "private size": (lambda: private_tau(10, -1, 1), "size"),
    "private size out of reach": (lambda: private_tau(10, 1e308, 1), "size"),
    "private size near zero": (lambda: private_tau(10, 1e-308, 1), "size"),
    "private epsilon": (lambda: private_tau(10, 1, 0), "epsilon"),
    "private NaN": (lambda: private_tau(10, 1, math.nan), "epsilon"),
    "private epsilon too small": (lambda: private_tau(10, 1, 1e-13), "epsilon"),
    "private bound": (lambda: private_tau(10, 1, 1, elements_per_unit=0), "elements_per_unit"),
    "private total": (lambda: private_tau(-4711, 1, 1), "total"),
    "fractional total": (lambda: private_tau(4711.5, 1, 1), "total"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_by_name_before_any_draw(name: str) -> None:
    call, parameter = BAD[name]
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=parameter) as caught:
        call()
    assert "4711" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
