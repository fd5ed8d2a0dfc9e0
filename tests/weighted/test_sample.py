"""`sanitize` and `private_sample`: what comes out, what is refused, and what leaves no trace."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import tamis
from tamis.privacy import randomness
from tamis.sampling import threshold_sample
from tamis.weighted.estimators import BiasedDown
from tamis.weighted.plan import make_plan
from tamis.weighted.sample import PrivateSample, private_sample
from tests.sources import Forbidden, Listed

HISTOGRAM: dict[str, list[Any]] = {
    "word": [f"w{n:03d}" for n in range(200)],
    "n": [2000 // (n + 1) for n in range(200)],
}


def sanitized(data: Any = HISTOGRAM, **options: Any) -> PrivateSample:
    settings: dict[str, Any] = {"key": "word", "frequency": "n", "epsilon": 1.0, "delta": 1e-6}
    return tamis.sanitize(data, **settings | options)


def named(word: str) -> int:
    """The word that a key draws, by its name."""
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")


# --- what comes out ------------------------------------------------------------------------------


def test_the_table_holds_keys_tokens_estimates_and_intervals_in_canonical_order() -> None:
    table = sanitized().to_arrow()
    assert table.column_names == ["word", "token", "estimate", "low", "high"]
    rows = table.to_pylist()
    assert rows == sorted(rows, key=lambda r: (-r["estimate"], -r["token"], r["word"]))
    assert all(1 <= r["low"] <= r["estimate"] <= r["high"] for r in rows)
    truth = dict(zip(HISTOGRAM["word"], HISTOGRAM["n"], strict=True))
    assert {r["word"] for r in rows} <= set(truth)
    assert all(abs(r["estimate"] - truth[r["word"]]) < 60 for r in rows)


@pytest.mark.parametrize(
    "form", [dict, pa.table, pd.DataFrame, pl.DataFrame], ids=["dict", "arrow", "pandas", "polars"]
)
def test_every_form_of_table_is_read(form: Callable[[Any], Any]) -> None:
    private = sanitized(form(HISTOGRAM))
    assert private.to_arrow()["word"][0].as_py() == "w000"
    assert len(private.to_pandas()) == len(private.to_polars()) == len(pa.table(private))


def test_several_key_columns_of_several_types_keep_their_names_and_types() -> None:
    data = {"shop": ["a", "a", "b"], "day": pa.array([1, 2, 1], pa.date32()), "n": [900, 800, 700]}
    private = sanitized(data, key=["shop", "day"])
    assert private.keys == ["shop", "day"]
    assert private.table.schema.field("day").type == pa.date32()
    assert private.rank("a", data["day"][0].as_py()) == 1


def test_an_empty_table_gives_an_empty_result_of_the_same_shape() -> None:
    empty = pa.table({"word": pa.array([], pa.string()), "n": pa.array([], pa.int64())})
    with randomness.using(Forbidden()):
        private = sanitized(empty)
    assert len(private) == 0
    assert private.table.column_names == sanitized().table.column_names
    assert "0 keys; released with" in str(private)


def test_a_key_of_frequency_one_is_not_named_in_a_thousand_tries() -> None:
    data = {"word": [f"only-{n}" for n in range(1000)], "n": [1] * 1000}
    assert len(sanitized(data, delta=1e-9)) == 0


@pytest.mark.parametrize("scheme", [tamis.Ppswor(0.02), tamis.Pps(0.01)], ids=repr)
def test_sampling_and_sanitising_apart_has_the_same_law_as_both_at_once(
    scheme: tamis.Ppswor,
) -> None:
    """Two-sample test of the tokens at one frequency; a false alarm has probability 1e-6."""
    frequencies = np.full(40_000, 60)
    plan = tamis.plan(epsilon=0.5, delta=1e-4, scheme=scheme)
    data = {"word": np.arange(len(frequencies)), "n": frequencies}
    at_once = private_sample(plan, data, key="word", frequency="n")
    kept = threshold_sample(frequencies, scheme)
    apart = tamis.sanitize(
        {"word": kept, "n": frequencies[kept]},
        key="word", frequency="n", scheme=scheme, epsilon=0.5, delta=1e-4,
    )  # fmt: skip

    cells = [np.bincount(np.clip(p.table["token"], 30, 60), minlength=61) for p in (at_once, apart)]
    counts = np.array([[len(frequencies) - len(at_once), *cells[0]],
                       [len(frequencies) - len(apart), *cells[1]]])  # fmt: skip
    counts = counts[:, counts.sum(axis=0) > 20]
    assert stats.chi2_contingency(counts).pvalue > 1e-6
    lost = counts[1, 1:] // 10  # if one in ten were lost on the way it would be noticed
    counts[1, 1:] -= lost
    counts[1, 0] += lost.sum()
    assert stats.chi2_contingency(counts).pvalue < 1e-6


def test_fine_tokens_give_the_same_estimates_from_their_whole_part() -> None:
    whole, fine = sanitized(), sanitized(tokens="fine")
    assert fine.plan.mechanism.stride == 3
    assert (fine.whole_tokens() <= 2000).all()
    assert abs(len(whole) - len(fine)) < 20
    assert fine.certificate.verify()


# --- questions -----------------------------------------------------------------------------------


def test_top_rank_above_below_and_quantile_agree_with_the_table() -> None:
    private = sanitized()
    rows = private.to_arrow().to_pylist()
    assert private.top(3).to_arrow().to_pylist() == rows[:3]
    assert private.rank("w000") == 1
    assert len(private.above("w001")) == 1
    assert len(private.below("w000")) == len(private) - 1
    assert private.quantile(1.0) == rows[0]["estimate"]


def test_sum_adds_estimates_with_weights_and_another_estimator() -> None:
    private = sanitized()
    weights = private.plan.estimator.values(private.whole_tokens())
    first = np.arange(len(private)) < 5
    assert private.sum() == pytest.approx(weights.sum())
    assert private.sum(first) == pytest.approx(np.array(private.table["estimate"])[:5].sum())
    cautious = BiasedDown(private.plan.mechanism.law)
    assert 0 < private.sum(first, cautious) < private.sum(first) * 1.01


def test_a_key_that_was_not_named_cannot_be_asked_for() -> None:
    for ask in (PrivateSample.rank, PrivateSample.above, PrivateSample.below):
        with pytest.raises(tamis.InvalidInput, match="was not named"):
            ask(sanitized(), "no such word")
        with pytest.raises(tamis.InvalidInput, match="1 part"):
            ask(sanitized(), "two", "parts")
        with pytest.raises(tamis.InvalidInput, match="type"):
            ask(sanitized(), 3)


def test_it_prints_as_a_table_with_its_guarantee() -> None:
    text = str(sanitized())
    assert text.splitlines()[0].split() == ["word", "token", "estimate", "low", "high"]
    assert "more rows" in text


@pytest.mark.parametrize(("part", "many"), [(10, "10 keys"), (1, "1 key")])
def test_a_selection_is_printed_as_a_part_of_the_release(part: int, many: str) -> None:
    private = sanitized()
    closing = "released with epsilon 1, delta 1e-06 for one element"
    assert str(private).splitlines()[-1] == f"{len(private)} keys; {closing}"
    assert repr(private.top(part)).splitlines()[-1] == f"{many}; {closing}"
    assert private.top(part)._repr_html_().endswith(f"<p>{many}; {closing}</p></div>")


def test_keys_cannot_draw_on_the_screen_or_in_a_notebook() -> None:
    data = {"word": ["<b>\x1b[2J\nfake  9  9  9  9", "日本"], "n": [2000, 1000]}
    private = sanitized(data)
    lines = str(private).split("\n")
    assert len(lines) == 4
    assert lines[1].startswith(r"<b>\x1b[2J\nfake  9  9  9  9  ")
    assert lines[2].startswith("日本  ")
    assert str(private).replace("\n", "").isprintable()
    assert r"<td>&lt;b&gt;\x1b[2J\nfake  9  9  9  9</td>" in private._repr_html_()
    with pytest.raises(tamis.InvalidInput, match="unit must say"):
        sanitized(data, unit="\x1b[0m person")


def test_weights_that_do_not_fit_the_rows_are_refused() -> None:
    private = sanitized()
    assert private.sum([1.0] * len(private)) == pytest.approx(private.sum())
    with pytest.raises(tamis.InvalidInput, match="weights"):
        private.sum([2.0])


# --- what leaves no trace ------------------------------------------------------------------------


def test_the_order_of_the_input_leaves_no_trace() -> None:
    def released(order: list[int]) -> bytes:
        data = {name: [column[n] for n in order] for name, column in HISTOGRAM.items()}
        with randomness.using(Listed(named(str(w)) for w in data["word"])):
            table = sanitized(data).to_arrow()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        return bytes(sink.getvalue())

    forward = list(range(200))
    shuffled = sorted(forward, key=lambda n: named(f"shuffle {n}"))
    assert released(forward) == released(forward[::-1]) == released(shuffled)


def test_the_certificate_does_not_depend_on_the_data() -> None:
    other = {"word": ["x", "y"], "n": [10**12, 3]}
    for scheme in (tamis.Everything(), tamis.Ppswor(0.01)):
        one, two = (sanitized(d, scheme=scheme).certificate for d in (HISTOGRAM, other))
        assert one == two
        assert one.verify()


def test_no_randomness_but_the_operating_systems_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("another generator was used")

    for module in (random, np.random):
        for name in dir(module):
            if not name.startswith("_") and callable(getattr(module, name)):
                monkeypatch.setattr(module, name, refuse)
    for scheme in (tamis.Everything(), tamis.Ppswor(0.01), tamis.Pps(0.01)):
        assert len(sanitized(scheme=scheme)) > 0


# --- what is refused -----------------------------------------------------------------------------

FREQUENCIES: dict[str, Any] = {
    "negative": [3, -1],
    "zero": [3, 0],
    "nan": [3.0, float("nan")],
    "fraction": [3.0, 1.5],
    "infinite": [3.0, float("inf")],
    "missing": [3, None],
    "too large": [3, 2**63],
    "much too large": [3, 10**30],
    "text": ["3", "4"],
    "truth": [True, True],
    "decimal fraction": [Decimal("3"), Decimal("1.5")],
    "nested": [[3], [4]],
}


@pytest.mark.parametrize("values", FREQUENCIES.values(), ids=FREQUENCIES.keys())
def test_bad_frequencies_are_refused_by_name_before_any_draw(values: list[Any]) -> None:
    with (
        randomness.using(Forbidden()),
        pytest.raises(tamis.InvalidInput, match=r"^n holds|^n must") as refused,
    ):
        sanitized({"word": ["secret-a", "secret-b"], "n": values})
    assert "secret" not in str(refused.value)


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "epsilon 0": ({"epsilon": 0}, "epsilon"),
    "epsilon infinite": ({"epsilon": float("inf")}, "epsilon"),
    "epsilon nan": ({"epsilon": float("nan")}, "epsilon"),
    "epsilon text": ({"epsilon": "1"}, "epsilon"),
    "delta 0": ({"delta": 0}, "delta"),
    "delta 1": ({"delta": 1}, "delta"),
    "delta nan": ({"delta": float("nan")}, "delta"),
    "delta far too small": ({"delta": 1e-25}, "delta"),
    "no keys": ({"keys_per_unit": 0}, "keys_per_unit"),
    "half an element": ({"elements_per_key": 0.5}, "elements_per_key"),
    "coverage": ({"coverage": 1.0}, "coverage"),
    "scheme": ({"scheme": "ppswor"}, "scheme"),
    "tokens": ({"tokens": "coarse"}, "tokens"),
    "unknown column": ({"frequency": "m"}, "no column 'm'"),
    "misspelt column": ({"key": "wrd"}, "Did you mean 'word'"),
    "same column twice": ({"key": "n"}, "none twice"),
}


@pytest.mark.parametrize(("options", "words"), OPTIONS.values(), ids=OPTIONS.keys())
def test_bad_options_are_refused_by_name_before_any_draw(
    options: dict[str, Any], words: str
) -> None:
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match=words):
        sanitized(**options)


DATA: dict[str, tuple[Any, str]] = {
    "duplicate keys": ({"word": ["secret", "secret"], "n": [1, 2]}, "more than one row"),
    "missing key": ({"word": ["secret", None], "n": [1, 2]}, "word holds nulls"),
    "lengths differ": ({"word": ["secret"], "n": [1, 2]}, "the same length"),
    "mixed types": ({"word": ["secret", 3], "n": [1, 2]}, "word must be .* of one type"),
    "no lists": ({"word": pa.array([], pa.list_(pa.int64())), "n": []}, "word must be text"),
    "value_counts": (pd.Series(["secret"]).value_counts(), r"reset_index\(\) first"),
    "not computed": (pl.LazyFrame({"word": ["secret"], "n": [1]}), r"collect\(\) first"),
    "float keys": ({"word": [1.5, 2.5], "n": [1, 2]}, "word must be text"),
    "not a table": ([1, 2, 3], "must be a pyarrow.Table"),
    "key called token": (pa.table({"token": ["secret"], "n": [5]}), "may not be called 'token'"),
}


def test_a_plan_for_samples_made_elsewhere_cannot_be_used_to_sample() -> None:
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match="elsewhere"):
        private_sample(sanitized_plan(), HISTOGRAM, key="word", frequency="n")


def sanitized_plan() -> tamis.Plan:
    guarantee = tamis.Guarantee(1.0, 1e-6)
    return make_plan(guarantee, tamis.Ppswor(0.01), "whole", 0.95, sampler_error=0.0)


def test_the_error_of_the_sampler_is_charged_as_stated_or_as_floats_have_it() -> None:
    def gift(scheme: tamis.Pps | tamis.Ppswor, **options: float) -> int:
        made = sanitized({"word": ["a"], "n": [7]}, scheme=scheme, delta=1e-9, **options)
        return made.plan.mechanism.integers.D

    for scheme, usual in ((tamis.Pps(0.1), 2.0**-50), (tamis.Ppswor(0.1, 0.5), 2.0**-45)):
        assert gift(scheme) == gift(scheme, sampler_error=usual) < gift(scheme, sampler_error=0)


@pytest.mark.parametrize("error", [-1e-9, 1.0, float("nan"), True, "0"])
def test_an_error_of_the_sampler_that_is_no_probability_is_refused(error: Any) -> None:
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match="sampler_error"):
        sanitized(HISTOGRAM, scheme=tamis.Pps(0.1), sampler_error=error)


def test_frequencies_that_tokens_cannot_hold_are_refused_before_any_draw() -> None:
    for tokens, scheme in (("fine", tamis.Everything()), ("fine", tamis.Ppswor(0.1))):
        with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match="n holds"):
            sanitized({"word": ["a"], "n": [2**62]}, tokens=tokens, scheme=scheme)


@pytest.mark.parametrize("scheme", [tamis.Ppswor(0.01), tamis.Pps(0.001)], ids=repr)
def test_estimates_lie_in_their_intervals_under_sampling_too(scheme: tamis.Ppswor) -> None:
    plan = tamis.plan(epsilon=1.0, delta=1e-4, scheme=scheme)
    table = private_sample(plan, HISTOGRAM, key="word", frequency="n").table
    low, estimate, high = (table[name].to_numpy() for name in ("low", "estimate", "high"))
    assert ((low <= estimate) & (estimate <= high)).all()


def test_a_sample_that_the_scheme_cannot_have_made_is_refused() -> None:
    never = tamis.Custom({10: 0.5})
    with randomness.using(Forbidden()), pytest.raises(tamis.InvalidInput, match="never samples"):
        sanitized({"word": ["a", "b"], "n": [50, 9]}, scheme=never)
    assert len(sanitized({"word": ["a"], "n": [50]}, scheme=never)) <= 1


@pytest.mark.parametrize(("data", "words"), DATA.values(), ids=DATA.keys())
def test_bad_data_is_refused_without_showing_it(data: Any, words: str) -> None:
    key = "token" if isinstance(data, pa.Table) else "word"
    with (
        randomness.using(Forbidden()),
        pytest.raises(tamis.InvalidInput, match=words) as refused,
    ):
        sanitized(data, key=key)
    assert "secret" not in str(refused.value)
