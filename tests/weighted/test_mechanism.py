"""Mechanisms: a guarantee and a scheme made into integers, whatever the data will be."""

from __future__ import annotations

import dataclasses
import json
import resource
import sys
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.privacy.curves import ApproximateCurve, GaussianCurve
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import U
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted.laws import DrawLaw, SurvivalLaw
from tamis.weighted.mechanism import Mechanism

SCHEMES: list[Scheme] = [
    Everything(),
    Pps(0.1),
    Pps(0.2, 0.5),
    Ppswor(2.0),
    Ppswor(0.1, 2),
    Custom({1: 0.1, 9: 0.8}),
]
guarantees = st.builds(
    Guarantee, st.floats(0.3, 3), st.floats(1e-8, 1e-2), st.integers(1, 4), st.integers(1, 2)
)


# --- what it certifies --------------------------------------------------------------------------


@pytest.mark.parametrize("error", [None, 0.0, 2.0**-50])
@pytest.mark.parametrize("tokens", ["whole", "fine"])
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_every_kind_of_mechanism_is_certified(
    scheme: Scheme, tokens: Any, error: float | None
) -> None:
    for guarantee in (Guarantee(1.0, 1e-4), Guarantee(1.5, 1e-3, 2, 2)):
        mechanism = Mechanism(guarantee, scheme, tokens, error)
        assert mechanism.certificate.verify()


@settings(max_examples=25, deadline=None)
@given(guarantees, st.sampled_from(SCHEMES), st.sampled_from(["whole", "fine"]))
def test_any_guarantee_is_certified(guarantee: Guarantee, scheme: Scheme, tokens: Any) -> None:
    assert Mechanism(guarantee, scheme, tokens).certificate.verify()


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_the_certificate_does_not_depend_on_what_was_drawn_or_asked(scheme: Scheme) -> None:
    """The text is the same before and after the integers have been used at any frequency."""
    fresh, used = (Mechanism(Guarantee(1.0, 1e-4), scheme) for _ in range(2))
    for i in (1, 5, 17, 10**6, 10**12):
        used.integers.reporting(i)
        used.integers.walk(i, used.integers.reporting(i) - 1)
        used.law.row(min(i, 100))
    assert used.certificate.text == fresh.certificate.text


def test_the_certificate_names_the_scheme_the_tokens_and_who_sampled() -> None:
    mechanism = Mechanism(Guarantee(1.0, 1e-4), Pps(0.1), "fine", sampler_error=2.0**-50)
    rule = json.loads(mechanism.certificate.text)["rule"]
    assert rule["scheme"] == {"name": "pps", "tau": "0.1", "power": "1.0"}
    assert rule["tokens"] == "fine"
    assert int(rule["away"], 16) == U >> 50
    assert "away" not in Mechanism(Guarantee(1.0, 1e-4), Pps(0.1)).rule


def test_a_sample_from_elsewhere_gives_a_little_less_away() -> None:
    here = Mechanism(Guarantee(1.0, 1e-4), Pps(0.1)).integers
    there = Mechanism(Guarantee(1.0, 1e-4), Pps(0.1), sampler_error=2.0**-50).integers
    exact = Mechanism(Guarantee(1.0, 1e-4), Pps(0.1), sampler_error=0.0).integers
    assert there.D < exact.D < here.D
    assert here.D - exact.D < 10_000  # words of 2^128
    assert Fraction(here.D - there.D, here.D) < Fraction(1, 10**9)
    everything = Mechanism(Guarantee(1.0, 1e-4), Everything(), sampler_error=2.0**-50)
    assert everything.integers.D == Mechanism(Guarantee(1.0, 1e-4), Everything()).integers.D


def test_what_the_sampler_may_be_off_is_seen_in_the_plan_and_never_outweighs_delta() -> None:
    guarantee, scheme = Guarantee(5.0, 1e-12), Ppswor(0.01)
    exact = Mechanism(guarantee, scheme, sampler_error=0.0)
    rough = Mechanism(guarantee, scheme, sampler_error=2.0**-50)
    assert rough.law.reporting(1) == pytest.approx(rough.integers.D / U)
    assert 0.6 < rough.law.reporting(1) / exact.law.reporting(1) < 0.8
    assert rough.certificate.verify()
    with pytest.raises(InvalidInput, match="sampler_error"):
        Mechanism(guarantee, scheme, sampler_error=2.0**-45).certificate  # noqa: B018


# --- what it is made of -------------------------------------------------------------------------


def test_a_mechanism_is_a_frozen_value() -> None:
    mechanism = Mechanism(Guarantee(1.0, 1e-4), Pps(0.1))
    assert mechanism == Mechanism(Guarantee(1.0, 1e-4), Pps(0.1))
    assert mechanism != Mechanism(Guarantee(1.0, 1e-4), Pps(0.2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.tokens = "fine"  # type: ignore[misc]


def test_several_keys_take_the_gaussian_curve_only_where_nothing_is_sampled_away() -> None:
    guarantee = Guarantee(1.0, 1e-6, 10)
    assert isinstance(Mechanism(guarantee, Everything()).curve, GaussianCurve)
    assert isinstance(Mechanism(guarantee, Everything(), "fine").curve, ApproximateCurve)
    assert isinstance(Mechanism(guarantee, Pps(0.1)).curve, ApproximateCurve)
    assert isinstance(Mechanism(Guarantee(1.0, 1e-6), Everything()).curve, ApproximateCurve)


def test_the_law_in_floating_point_is_the_draw_or_the_survival_map() -> None:
    assert isinstance(Mechanism(Guarantee(1.0, 1e-6, 10), Everything()).law, DrawLaw)
    assert isinstance(Mechanism(Guarantee(1.0, 1e-6), Pps(0.1)).law, SurvivalLaw)
    fine = Mechanism(Guarantee(1.0, 1e-6), Everything(), "fine").law
    whole = Mechanism(Guarantee(1.0, 1e-6), Everything()).law
    assert isinstance(fine, DrawLaw)
    assert isinstance(whole, DrawLaw)
    assert fine.cumulative == pytest.approx(whole.cumulative)


@pytest.mark.parametrize("tokens", ["whole", "fine"])
@pytest.mark.parametrize("keys", [1, 10])
def test_the_draw_is_a_law_and_every_piece_of_it_can_occur(keys: int, tokens: Any) -> None:
    table, stride = Mechanism(Guarantee(1.0, 1e-6, keys), Everything(), tokens).draw
    assert (table[0], table[-1]) == (0, U)
    assert all(a < b for a, b in pairwise(table))
    assert stride == (1 if tokens == "whole" else 3)


@pytest.mark.parametrize("scheme", SCHEMES[1:], ids=repr)
def test_reporting_never_exceeds_sampling_and_never_falls(scheme: Scheme) -> None:
    law = Mechanism(Guarantee(0.5, 1e-5), scheme).integers
    chances = [law.reporting(i) for i in range(300)]
    assert chances == sorted(chances)
    assert all(p <= law.scheme.units(i) for i, p in enumerate(chances))
    assert chances[0] == 0


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(SCHEMES), st.floats(0.3, 3), st.floats(1e-8, 1e-3))
def test_a_larger_budget_names_every_key_more_often(
    scheme: Scheme, epsilon: float, delta: float
) -> None:
    small = Mechanism(Guarantee(epsilon, delta), scheme).integers
    for larger in (Guarantee(epsilon * 1.1, delta), Guarantee(epsilon, delta * 1.1)):
        large = Mechanism(larger, scheme).integers
        spare = small.slack() + large.slack()  # a few words out of 2^128 are kept for rounding
        for i in (1, 2, 5, 10, 30, 100):
            assert small.reporting(i) <= large.reporting(i) + spare


# --- what it costs ------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [Ppswor(1e-6), Pps(1e-9), Ppswor(1e-9, 0.5)], ids=repr)
def test_the_largest_frequency_does_not_matter(scheme: Scheme) -> None:
    """Few frequencies are kept, and any frequency can be asked for."""
    law = Mechanism(Guarantee(1.0, 1e-6), scheme).integers
    assert len(law.below()) < 100
    for i in (10**6, 10**9, 10**12, 2**63 - 1):
        p = law.reporting(i)
        assert law.walk(i, p - 1)[0] >= i - law.width()
        assert law.walk(i, 0)[0] == i


@pytest.mark.skipif(sys.platform == "win32", reason="memory is not measured there")
def test_a_mechanism_fits_into_little_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    law = Mechanism(Guarantee(0.01, 1e-6), Ppswor(1e-6)).integers
    assert law.reporting(10**12) == U
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_a_promise_beyond_128_places_is_refused_by_a_sentence() -> None:
    for guarantee in (Guarantee(1.0, 1e-30), Guarantee(60.0, 1e-6), Guarantee(1e-9, 1e-6)):
        with pytest.raises(InvalidInput, match="take a larger"):
            _ = Mechanism(guarantee, Everything()).certificate
