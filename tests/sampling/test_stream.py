"""A stream gives the same sample however it is cut and merged, with the law of ppswor."""

from __future__ import annotations

import datetime
import math
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from tamis.privacy import randomness, verify
from tamis.privacy.errors import InvalidInput
from tamis.sampling import Everything, Ppswor, PpsworStream, SecondPass, count, stream
from tests.sources import Counted, Forbidden, Listed

RARE = 1e-6  # a right law fails a statistical test this often

words = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 5).map(lambda n: n << 60))
tied = st.tuples(st.integers(0, 6), st.integers(0, 1))  # so that every rule for ties is met
elements = st.one_of(
    st.lists(st.tuples(st.integers(0, 12), words), max_size=60), st.lists(tied, max_size=20)
)
Make = Callable[[], PpsworStream]
makes = st.one_of(
    st.sampled_from([0.03, 0.4, 2.0, 100.0]).map(lambda tau: lambda: PpsworStream(tau=tau)),
    st.one_of(st.integers(1, 3), st.integers(1, 15)).map(lambda k: lambda: PpsworStream(k=k)),
)


# --- the same sample, however the data comes ----------------------------------------------------


@contextmanager
def tight() -> Iterator[None]:
    """With little room, so that rows are drawn for and merged in many small steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_ROOM", 3)
        patch.setattr(stream, "_PIECES", 2)
        patch.setattr(stream, "_AT_ONCE", 4)
        yield


def run(make: Make, part: list[tuple[int, int]], cut: int = 60) -> PpsworStream:
    """One stream over these elements, in batches of ``cut``, with the word that each comes with."""
    seen = make()
    with randomness.using(Listed([word for _, word in part])):
        for start in range(0, len(part), cut):
            seen.update([key for key, _ in part[start : start + cut]])
    return seen


def parts(seen: PpsworStream) -> tuple[list[Any], list[float], float]:
    return seen.keys().to_pylist(), seen.seeds().tolist(), seen.tau


@given(makes, elements, st.integers(1, 9), st.integers(0, 60))
@example(lambda: PpsworStream(k=1), [(5, 0), (6, 0), (5, 0), (6, 0), (3, 0)], 4, 0)
def test_merged_streams_equal_one_pass(
    make: Make, data: list[tuple[int, int]], cut: int, place: int
) -> None:
    whole = parts(run(make, data))
    with tight():
        assert parts(run(make, data, cut)) == whole
        for first, second in ((data[:place], data[place:]), (data[place:], data[:place])):
            merged = run(make, first, cut)
            merged.merge(run(make, second))
            assert parts(merged) == whole


@given(makes, elements, elements, elements)
def test_a_merged_stream_goes_on_like_any_other(
    make: Make,
    one: list[tuple[int, int]],
    two: list[tuple[int, int]],
    three: list[tuple[int, int]],
) -> None:
    merged = run(make, one)
    merged.merge(run(make, two))
    with randomness.using(Listed([word for _, word in three])):
        merged.update([key for key, _ in three])
    assert parts(merged) == parts(run(make, one + two + three))


@given(elements, st.data())
def test_the_order_of_the_elements_leaves_no_trace(
    data: list[tuple[int, int]], draws: st.DataObject
) -> None:
    shuffled = draws.draw(st.permutations(data))
    make = draws.draw(makes)
    assert parts(run(make, shuffled, 7)) == parts(run(make, data))


@given(elements, st.integers(1, 15))
def test_k_keeps_the_keys_with_the_smallest_words(data: list[tuple[int, int]], k: int) -> None:
    least = dict[int, int]()
    for key, word in data:
        least[key] = min(word, least.get(key, word))
    order = sorted(least, key=lambda key: (least[key], key))
    seen = run(lambda: PpsworStream(k=k), data)
    assert seen.keys().to_pylist() == sorted(order[:k])
    assert len(seen) == len(order[:k])
    if len(order) > k:
        u = (least[order[k]] + 0.5) / 2**64
        assert seen.tau == pytest.approx(-math.log1p(-min(u, 1 - 2**-53)))
    else:
        assert seen.tau == math.inf


@given(elements, st.floats(0.01, 10))
def test_tau_keeps_the_keys_with_seeds_below_it(data: list[tuple[int, int]], tau: float) -> None:
    seen = run(lambda: PpsworStream(tau=tau), data)
    limit = verify.Scheme(Ppswor(tau).rule()).units(1) >> 64
    assert seen.keys().to_pylist() == sorted({key for key, word in data if word < limit})
    assert (seen.seeds() <= tau * (1 + 1e-15)).all()


@pytest.mark.parametrize(("second", "kept"), [(-1, True), (0, False), (1, False)])
def test_the_second_half_of_a_word_decides_when_the_first_does_not(second: int, kept: bool) -> None:
    high, low = divmod(verify.Scheme(Ppswor(0.3).rule()).units(1), 2**64)
    source = Listed([high, high - 1, low + second])
    seen = PpsworStream(tau=0.3)
    with randomness.using(source):
        seen.update(["in doubt", "in"])
    assert seen.keys().to_pylist() == (["in", "in doubt"] if kept else ["in"])
    assert source.left == 0


def test_one_word_for_each_element_is_drawn() -> None:
    source = Counted()
    with randomness.using(source):
        PpsworStream(tau=0.01).update(np.arange(10_000))
        PpsworStream(k=5).update(np.arange(10_000))
    assert source.drawn == 20_000


def test_with_a_large_tau_every_key_is_kept() -> None:
    seen = PpsworStream(tau=1000)
    with randomness.using(Listed([2**64 - 1] * 3)):
        seen.update(["a", "b", "a"])
    assert seen.keys().to_pylist() == ["a", "b"]
    assert np.isfinite(seen.seeds()).all()


@pytest.mark.parametrize(
    "batches",
    [
        [["b", "a"], pa.array(["b"]), np.array(["c"])],
        [pd.Series(["b", "a"]), pl.Series(["b", "c"]), pa.chunked_array([["a"], ["c"]])],
        [pa.array(["b", "a", "b"]).dictionary_encode(), [], ["c"]],
    ],
)
def test_batches_may_be_held_in_different_ways(batches: list[Any]) -> None:
    seen = PpsworStream(k=5)
    for batch in batches:
        seen.update(batch)
    assert seen.keys().equals(pa.array(["a", "b", "c"], pa.large_string()))


@pytest.mark.parametrize("key", [7, True, b"x", "text", datetime.date(2024, 1, 1)])
def test_keys_may_have_any_type_that_can_be_compared(key: Any) -> None:
    seen = PpsworStream(k=1)
    seen.update([key, key])
    assert count(seen.keys(), [[key], [key, key]])["frequency"].to_pylist() == [3]


def test_an_empty_stream_has_no_keys() -> None:
    for seen in (PpsworStream(k=3), PpsworStream(tau=1)):
        seen.update([])
        seen.merge(PpsworStream(k=3) if seen.tau == math.inf else PpsworStream(tau=1))
        assert (len(seen), len(seen.keys()), len(seen.seeds())) == (0, 0, 0)


def test_the_scheme_is_ppswor_at_tau() -> None:
    assert PpsworStream(tau=0.25).scheme() == Ppswor(0.25)
    seen = PpsworStream(k=3)
    seen.update(range(3))
    assert seen.scheme() == Everything()
    seen.update([3])
    assert seen.scheme() == Ppswor(seen.tau)


@given(st.floats(-9, 1).map(lambda x: 10.0**x), st.integers(1, 300))
def test_the_real_probability_is_within_the_stated_error_of_the_scheme(tau: float, w: int) -> None:
    scheme = verify.Scheme(Ppswor(tau).rule())
    kept = 1 - (1 - Fraction(scheme.units(1), verify.U)) ** w
    error = Fraction(PpsworStream(tau=tau).sampler_error)
    assert abs(kept - Fraction(scheme.units(w), verify.U)) <= error


# --- laws, by testing ---------------------------------------------------------------------------


def test_a_key_is_kept_with_probability_one_minus_exp_and_not_five_percent_off() -> None:
    w, tau, many = np.array([1, 3, 10, 40]), 0.05, 100_000
    keys = np.repeat(np.arange(len(w) * many), np.repeat(w, many))
    seen = PpsworStream(tau=tau)
    for start in range(0, len(keys), 700_001):  # keys straddle batches
        seen.update(keys[start : start + 700_001])
    taken = np.bincount(seen.keys().to_numpy() // many, minlength=len(w))

    def fit(rate: float) -> float:
        q = -np.expm1(-rate * w)
        z = (taken - many * q) / np.sqrt(many * q * (1 - q))
        return float(stats.chi2.sf(z @ z, len(z)))

    assert fit(tau) > RARE
    assert fit(1.05 * tau) < RARE
    assert fit(tau / 1.05) < RARE


def test_the_seed_of_a_key_is_exponential_with_its_frequency_and_not_five_percent_off() -> None:
    many = 100_000
    seen = PpsworStream(k=many)
    for _ in range(7):
        seen.update(np.arange(many))
    draws = 7 * seen.seeds()
    assert stats.kstest(draws, "expon").pvalue > RARE
    assert stats.kstest(1.05 * draws, "expon").pvalue < RARE


# --- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"k": 100}, {"tau": 5e-5}], ids=str)
def test_memory_is_that_of_the_sample_and_not_of_the_stream(options: Any) -> None:
    batch, batches, seen = 50_000, 80, PpsworStream(**options)
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    for n in range(batches):
        seen.update(np.arange(n * batch, (n + 1) * batch))
    held = pa.total_allocated_bytes() - before
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < 16 * batch * 3  # the whole stream: 80 times 16 bytes for each element of a batch
    assert peak < 16 * batch * 5
    assert 50 < len(seen) < 500
    assert pa.total_allocated_bytes() - before < 100_000  # nothing waits after a look at the sample


def test_what_leaves_the_sample_is_freed() -> None:
    seen, before = PpsworStream(k=10), pa.total_allocated_bytes()
    seen.update(range(200_000))
    assert len(seen) == 10
    assert pa.total_allocated_bytes() - before < 10_000


# --- the second pass ----------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=9), max_size=9),
    st.lists(st.integers(0, 12), unique=True, max_size=8),
    st.integers(0, 9),
)
def test_counts_are_exact_and_merge(batches: list[list[int]], keys: list[int], place: int) -> None:
    true = Counter(key for batch in batches for key in batch)
    table = count(keys, batches)
    assert table["key"].to_pylist() == keys
    assert table["frequency"].to_pylist() == [true[key] for key in keys]
    one, other = SecondPass(keys), SecondPass(keys)
    with tight():
        for batch in batches[:place]:
            one.update(batch)
        for batch in batches[place:]:
            other.update(batch)
        one.merge(other)
    assert one.table().equals(table)


def test_a_batch_may_be_overwritten_once_it_was_given() -> None:
    keys, batch = np.array([1, 2]), np.array([1, 1, 2])
    counted = SecondPass(keys)
    counted.update(batch)
    keys[:], batch[:] = 9, 9
    assert counted.table().to_pydict() == {"key": [1, 2], "frequency": [2, 1]}


def test_two_passes_over_uncounted_text_give_a_counted_sample() -> None:
    text = ["to", "be", "or", "not", "to", "be"] * 50
    seen = PpsworStream(tau=0.5)
    seen.update(text)
    table = count(seen.keys(), [text[:120], text[120:]])
    assert table.to_pydict() == {"key": ["be", "not", "or", "to"], "frequency": [100, 50, 50, 100]}


# --- bad input ----------------------------------------------------------------------------------


def held(keys: list[Any]) -> PpsworStream:
    seen = PpsworStream(k=3)
    with randomness.using(Counted()):
        seen.update(keys)
    return seen


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "neither": (PpsworStream, "either tau or k"),
    "both": (lambda: PpsworStream(tau=1, k=1), "either tau or k"),
    "k of zero": (lambda: PpsworStream(k=0), "k must be"),
    "fractional k": (lambda: PpsworStream(k=1.5), "k must be"),  # type: ignore[arg-type]
    "tau of zero": (lambda: PpsworStream(tau=0), "tau must lie"),
    "negative tau": (lambda: PpsworStream(tau=-1), "tau must lie"),
    "NaN as tau": (lambda: PpsworStream(tau=math.nan), "tau must lie"),
    "null": (lambda: PpsworStream(k=1).update(["secret", None]), "keys holds nulls"),
    "floats": (lambda: PpsworStream(k=1).update([0.5]), "not double"),
    "another type": (lambda: held(["secret"]).update([1]), "int64 here but large_string before"),
    "merge of types": (lambda: held(["secret"]).merge(held([1])), "int64 here but large_string"),
    "merge of k": (lambda: PpsworStream(k=1).merge(PpsworStream(k=2)), "same k"),
    "merge of tau and k": (lambda: PpsworStream(k=1).merge(PpsworStream(tau=1)), "same tau"),
    "error of k": (lambda: PpsworStream(k=1).sampler_error, "only for a stream with tau"),
    "count of a null": (lambda: SecondPass(["secret", None]), "nulls"),
    "count of a key twice": (lambda: SecondPass(["secret", "secret"]), "each key once"),
    "count in another type": (lambda: count(["secret"], [[1]]), "int64 here but the counted keys"),
    "count with a null": (lambda: count(["secret"], [[None]]), "nulls"),
    "merge of counts": (lambda: SecondPass([1]).merge(SecondPass([2])), "same keys"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_by_name_before_any_draw(name: str) -> None:
    call, sentence = BAD[name]
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=sentence) as caught:
        call()
    assert "secret" not in str(caught.value)
