"""What laws expect of figures, beside closed forms, integrals and draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import quad

import tamis
from benchmarks.measure import Cost
from benchmarks.peers.drawn import expected_of, law_of
from benchmarks.peers.expected import Drawn, Ours, expected
from benchmarks.peers.laws import DELTA, others
from benchmarks.peers.process import Done
from benchmarks.peers.results import Asked, Expected, result_of
from tamis.weighted.mechanism import Tokens
from tamis.weighted.tokens import draw

Floats = npt.NDArray[np.float64]
PLAIN = Cost(0.5, 14.0)
FREQUENT = [10_000] * 5


def values(found: Expected) -> tuple[float, float, float, float]:
    assert found.named
    assert found.top
    assert found.absolute
    return found.keys.value, found.named.value, found.top.value, found.absolute.value


@pytest.mark.parametrize("keys", [1, 4, 50])
def test_a_frequent_key_errs_by_all_of_its_noise(keys: int) -> None:
    noises = {
        "OpenDP, Laplace": others(keys, "Laplace"),
        "SmartNoise SQL, Laplace": others(keys, "cut Laplace"),
        "Tumult Core": others(keys, "geometric"),
        "PipelineDP, Gaussian": others(keys, "Gaussian"),
    }
    for method, error in noises.items():
        law = law_of(method, keys)
        assert law
        found = values(expected(law, FREQUENT, 1))
        assert found == pytest.approx((5, error.root, error.root, error.absolute), rel=1e-7)
    assert others(keys, "Laplace").root == pytest.approx(math.sqrt(2) * keys)
    sigma = 3.0 * keys  # of which a sum over whole numbers differs by nothing that a float shows
    discrete = expected(Drawn("discrete Gaussian", sigma), FREQUENT, 1).named
    assert discrete
    assert discrete.value == pytest.approx(sigma)


@pytest.mark.parametrize("frequency", [3, 19, 25])
def test_one_key_is_named_and_errs_as_the_integral_says(frequency: int) -> None:
    threshold, scale = 20.3, 1.7

    def density(z: float) -> float:
        return math.exp(-abs(z) / scale) / (2 * scale)

    least = threshold - frequency
    points = sorted({least, max(least, 0.0), max(least, 0.0) + 80})

    def integral(of: Callable[[float], float]) -> float:
        pieces = itertools.pairwise(points)
        return sum(quad(lambda z: of(z) * density(z), *piece)[0] for piece in pieces)

    named = integral(lambda z: 1.0)
    found = values(expected(Drawn("Laplace", scale, threshold), [frequency], 1))
    assert found[0] == pytest.approx(named, rel=1e-6)
    assert found[1] == pytest.approx(math.sqrt(integral(lambda z: z * z) / named), rel=1e-6)
    assert found[3] == pytest.approx(integral(abs) / named, rel=1e-6)
    top = integral(lambda z: z * z) + (1 - named) * frequency**2
    assert found[2] == pytest.approx(math.sqrt(top), rel=1e-6)


def test_rare_keys_have_an_error_if_they_are_named_at_all() -> None:
    found = expected(Drawn("geometric", 1.0, 40), [1, 2], 3)
    assert found.keys.value < 1e-15
    assert found.named
    assert 38 < found.named.value < 40
    assert expected(Drawn("geometric", 1.0, 1000), [1], 3).named is None


FREQUENCIES = np.array([400, 90, 60, 30, 28, 26, 24, 22, 20, 18, 15, 12, 8, 3, 1])
TRIES = 40_000


def drawn(kind: str, scale: float, rng: np.random.Generator) -> Floats:
    """Noise for every key, in many tries."""
    shape = (TRIES, len(FREQUENCIES))
    if kind == "Laplace":
        return rng.laplace(0, scale, shape)
    if kind == "Gaussian":
        return rng.normal(0, scale, shape)
    if kind == "geometric":
        p = 1 - math.exp(-1 / scale)
        return (rng.geometric(p, shape) - rng.geometric(p, shape)).astype(np.float64)
    steps = np.arange(-99, 100)
    mass = np.exp(-((steps / scale) ** 2) / 2)
    return rng.choice(steps, shape, p=mass / mass.sum()).astype(np.float64)


def ran(law: Drawn, rng: np.random.Generator) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Errors, and what is named."""
    noisy = FREQUENCIES + drawn(law.noise, law.scale, rng)
    names = law.naming or law
    seen = FREQUENCIES + drawn(names.noise, names.scale, rng) if law.naming else noisy
    named = seen >= names.threshold if names.equal else seen > names.threshold
    return (np.trunc(noisy) if law.cut else noisy) - FREQUENCIES, named


LAWS = (
    Drawn("Laplace", 4.0, 23.7),
    Drawn("Laplace", 4.0, 23.7, equal=False, cut=True),
    Drawn("Laplace", 0.4, 22.2, cut=True),
    Drawn("geometric", 3.0, 24),
    Drawn("geometric", 1.0, 24, equal=False),
    Drawn("Gaussian", 6.0, 25.5),
    Drawn("discrete Gaussian", 2.5, 24),
    Drawn("geometric", 2.0, naming=Drawn("geometric", 5.0, 21)),
    Drawn("discrete Gaussian", 2.5, naming=Drawn("Gaussian", 5.0, 21)),
)


def check(found: Expected, told: tuple[float, float, float, float]) -> None:
    """Keys, errors of the named and of the top, and mean absolute error are as they were drawn."""
    for figure, value in zip(
        (found.keys, found.named, found.top, found.absolute), told, strict=True
    ):
        assert figure
        assert figure.spread is not None
        assert abs(value - figure.value) <= 4 * figure.spread + 1e-9


def figures(
    away: Floats, named: npt.NDArray[np.bool_], truth: npt.NDArray[np.int64]
) -> tuple[float, float, float, float]:
    """Of a row for each try."""
    return (
        float(named.sum(axis=1).mean()),
        math.sqrt(float((away**2)[named].mean())),
        math.sqrt(float(np.where(named, away**2, truth**2).mean())),
        float(np.abs(away)[named].mean()),
    )


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_laws_expect_what_draws_give(law: Drawn) -> None:
    away, named = ran(law, np.random.default_rng(7))
    found = expected(law, FREQUENCIES.tolist(), TRIES)
    check(found, figures(away, named, FREQUENCIES))


def test_standard_errors_are_those_of_draws() -> None:
    law = LAWS[1]
    away, named = ran(law, np.random.default_rng(8))
    runs = 40  # in each of a thousand times
    each = [
        figures(a, n, FREQUENCIES)
        for a, n in zip(np.split(away, TRIES // runs), np.split(named, TRIES // runs), strict=True)
    ]
    found = expected(law, FREQUENCIES.tolist(), runs)
    spreads = [f.spread for f in (found.keys, found.named, found.top, found.absolute) if f]
    assert np.std(each, axis=0) == pytest.approx(spreads, rel=0.1)


@pytest.mark.parametrize(("keys", "tokens"), [(1, "whole"), (4, "whole"), (4, "fine")])
def test_ours_are_expected_as_they_are_drawn(keys: int, tokens: Tokens) -> None:
    plan = tamis.plan(1.0, 1e-8, keys, tokens=tokens)
    truth = np.array([2000, 500, 90, 70, 60, 50, 40, 30, 20, 15])
    tries = 20_000
    given = draw(plan.mechanism, np.tile(truth, tries)).reshape(tries, len(truth))
    whole = -(-given // plan.mechanism.stride)
    estimate = plan.estimator.frequencies(np.maximum(whole, 1).ravel()).reshape(whole.shape)
    found = expected(Ours(keys, tokens), truth.tolist(), tries)
    assert found.keys.value == pytest.approx(plan.expected(truth))
    check(found, figures(estimate - truth, whole > 0, truth))


def test_selections_of_names_are_known_without_errors() -> None:
    asked = Asked("log", 4, "PyDP, truncated geometric", counts=False)
    found = expected_of(asked, {"maps": 500, "rare": 1}, 10)
    assert found
    assert found.keys.value == pytest.approx(1 + 1e-8 / 4)
    assert (found.named, found.top, found.absolute) == (None, None, None)


@pytest.mark.parametrize("keys", [1, 4, 50])
def test_keys_of_one_unit_alone_are_named_with_no_more_than_delta(keys: int) -> None:
    """Whole thresholds are the least that do, and so is what OpenDP leaves of delta for them."""
    for method in ("OpenDP, Laplace", "PipelineDP, Laplace", "OpenDP, Gaussian", "Tumult Core",
                   "OpenDP, discrete Gaussian", "SmartNoise SQL, Laplace",
                   "SmartNoise SQL, Gaussian"):  # fmt: skip
        law = law_of(method, keys)
        assert isinstance(law, Drawn)
        named = [
            keys * expected(replace(law, threshold=threshold, cut=False), [1], 1).keys.value
            for threshold in (law.threshold, law.threshold - 1)
        ]
        assert 0.02 * DELTA < named[0] <= DELTA * (1 + 1e-9), method
        assert named[1] > named[0] * 1.01
        if "Laplace" in method:
            assert named[0] == pytest.approx(DELTA)
        if law.noise == "geometric":
            assert named[1] > DELTA


def test_gaussian_noise_in_whole_numbers_is_that_of_floats() -> None:
    whole, floats = (law_of(f"OpenDP, {kind}Gaussian", 4) for kind in ("discrete ", ""))
    assert isinstance(whole, Drawn)
    assert isinstance(floats, Drawn)
    assert whole.scale == pytest.approx(floats.scale, rel=0.03)
    assert 0 < whole.threshold - floats.threshold < 1.5


def test_methods_without_a_law_are_left_to_runs() -> None:
    assert expected_of(Asked("log", 4, "unknown"), {"maps": 500}, 3) is None
    gaussian, geometric = (law_of("Tumult Analytics", keys) for keys in (50, 10))
    assert isinstance(gaussian, Drawn)
    assert isinstance(geometric, Drawn)
    assert (gaussian.noise, geometric.noise) == ("discrete Gaussian", "geometric")


def test_a_result_holds_what_its_law_expects() -> None:
    truth = {"maps": 500, "news": 300}
    asked = Asked("log", 1, "OpenDP, Laplace")
    done = Done([1.0, 1.0], [{"maps": 501.0, "news": 300.0}] * 2, 7.0)
    found = result_of(asked, truth, PLAIN, done, expected_of(asked, truth, 2))
    assert found.expected
    assert values(found.expected) == pytest.approx((2, math.sqrt(2), math.sqrt(2), 1))
