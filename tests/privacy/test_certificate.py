"""Certificates: data-independent, and no change that breaks the promise gets past the checker.

The oracle below rebuilds the integers naively and computes, by plain sums over outcomes, a lower
bound of what a unit can lose. If that exceeds the promise, the certificate must be refused.
"""

from __future__ import annotations

import json
import math
import pathlib
import random
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tamis.privacy import verify
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Refused, Survival, U
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor
from tamis.weighted.mechanism import Mechanism

Content = dict[str, Any]
Path = tuple[str | int, ...]
Pair = tuple[list[int], list[int]]

MECHANISMS: dict[str, Mechanism] = {
    "everything": Mechanism(Guarantee(1.0, 1e-3), Everything()),
    "fine": Mechanism(Guarantee(0.7, 1e-4), Everything(), "fine"),
    "three elements": Mechanism(Guarantee(2.0, 1e-3, 1, 3), Everything()),
    "two keys, optimal": Mechanism(Guarantee(1.0, 1e-3, 2), Everything(), "fine"),
    "three keys, two elements": Mechanism(Guarantee(2.0, 1e-3, 3, 2), Everything(), "fine"),
    "six keys, Gaussian": Mechanism(Guarantee(1.0, 1e-3, 6), Everything()),
    "five keys, two elements, Gaussian": Mechanism(Guarantee(2.0, 1e-3, 5, 2), Everything()),
    "pps": Mechanism(Guarantee(1.0, 1e-3), Pps(0.2)),
    "ppswor": Mechanism(Guarantee(0.8, 1e-3), Ppswor(4.0)),
    "squares": Mechanism(Guarantee(1.0, 1e-4), Ppswor(1.0, 2)),
    "steps": Mechanism(Guarantee(1.0, 1e-3), Custom({1: 0.1, 4: 0.6, 9: 1})),
    "pps, fine": Mechanism(Guarantee(1.0, 1e-3), Pps(0.2), "fine"),
    "pps, elsewhere": Mechanism(Guarantee(1.0, 1e-3), Pps(0.2), "whole", 2.0**-50),
    "pps, two keys, two elements": Mechanism(Guarantee(2.0, 1e-3, 2, 2), Pps(0.3)),
}


@cache
def text_of(name: str) -> str:
    return MECHANISMS[name].certificate.text


def original(name: str) -> Content:
    content: Content = json.loads(text_of(name))
    return content


def verdict(content: Any) -> bool:
    """True if the checker accepts, False if it refuses; any other answer is a failure."""
    try:
        return bool(verify.check(content))
    except Refused:
        return False


# --- the oracle ---------------------------------------------------------------------------------


def whole(value: object) -> int:
    """A number that the checker would read as a whole one, read in the strictest way."""
    assert isinstance(value, int | float | str)
    return math.ceil(float(value))


def naive_survival(rule: Content) -> tuple[int, int, int]:
    M, k, D = int(rule["growth"], 16), int(rule["shift"]), int(rule["gift"], 16)
    assert 0 < D < U
    assert M > 1 << k
    return M, k, D


def naive_draw(rule: Content) -> list[int]:
    """The law of D, in words per value."""
    if "table" in rule:
        table = [int(c, 16) for c in rule["table"]]
    else:
        (M, k, D), table = naive_survival(rule), [0]
        while table[-1] < U:
            s = table[-1]
            table.append(min(U, D + (s * M >> k), U + ((s + D - U << k) // M)))
            assert len(table) < 5000
    return [b - a for a, b in pairwise(table)]


def naive_rows(rule: Content, upto: int) -> list[list[int]]:
    """Rows 0 .. upto of a scheme: words for not reported, then for tokens 1 .. upto."""
    (M, k, D), scheme = naive_survival(rule), verify.Scheme(rule["scheme"])
    column, P, rows = [0] * (upto + 1), 0, [[U] + [0] * upto]
    for i in range(1, upto + 1):
        cap = min(U, D + (P * M >> k), U + ((P + D - U << k) // M))
        before, P = P, min(scheme.units(i), cap)
        for x in range(1, i):
            s = column[x]
            terms = (D + (s * M >> k), U + ((s + D - U << k) // M))
            column[x] = min(P, *terms, P + ((s + D - before << k) // M))
        column[0] = P
        rows.append([U - P, *(a - b for a, b in pairwise(column))])
    return rows


def naive_pairs(rule: Content, elements: int) -> Iterator[Pair]:
    """Pairs of laws that one unit can bring about for one key."""
    if rule["scheme"] == {"name": "everything"}:
        law, stride = naive_draw(rule), int(rule.get("stride", 1))
        for r in range(1, min(elements, 6) + 1):
            yield [*law, *[0] * (r * stride)], [*[0] * (r * stride), *law]
        return
    rows = naive_rows(rule, 36)
    for r in range(1, min(elements, 3) + 1):
        for i in range(r, len(rows), 2 if r > 1 else 1):
            yield rows[i], rows[i - r]


def single_loss(one: list[int], other: list[int], growth: Fraction) -> Fraction:
    top, bottom = growth.numerator, growth.denominator
    over = sum(max(0, a * bottom - b * top) for a, b in zip(one, other, strict=True))
    return Fraction(over, bottom * U)


def composed_loss(one: list[int], other: list[int], keys: int, epsilon: float) -> float:
    """At least what ``keys`` copies of a pair lose: outcomes are merged by their rounded loss.

    Any function of the outcome can only lose less than the outcome, so rounding is harmless.
    """
    step, sure = epsilon / 40, 0.0
    masses: dict[int, list[float]] = {}
    for a, b in zip(one, other, strict=True):
        if a and not b:
            sure += a / U
        elif a:
            place = max(-400, min(400, round((math.log(a) - math.log(b)) / step)))
            cell = masses.setdefault(place, [0.0, 0.0])
            cell[0], cell[1] = cell[0] + a / U, cell[1] + b / U
    lowest, highest = min(masses, default=0), max(masses, default=0)
    laws: list[npt.NDArray[np.float64]] = [np.zeros(highest - lowest + 1) for _ in "pq"]
    for place, cell in masses.items():
        laws[0][place - lowest], laws[1][place - lowest] = cell
    sums = [np.ones(1), np.ones(1)]
    for _ in range(keys):
        sums = [np.convolve(s, law) for s, law in zip(sums, laws, strict=True)]
    over = np.maximum(0, sums[0] - math.exp(epsilon) * sums[1]).sum()
    return float(-math.expm1(keys * math.log1p(-min(sure, 1 - 1e-16))) + over)


def violates(content: Content) -> bool:
    """Certainly not what it promises: a unit loses more than (epsilon, delta)."""
    promise, rule = content["guarantee"], content["rule"]
    epsilon, delta = Fraction(promise["epsilon"]), Fraction(promise["delta"])
    keys, elements = whole(promise["keys_per_unit"]), whole(promise["elements_per_key"])
    if epsilon <= 0 or not 0 < delta < 1:
        return True
    growth = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**12))
    pairs = [p for pair in naive_pairs(rule, elements) for p in (pair, pair[::-1])]
    if any(single_loss(one, other, growth) > delta for one, other in pairs):
        return True
    if keys == 1:
        return False
    if ahead := int(rule.get("head_start", 0)):  # all keys are the unit's alone: is one named?
        table = [int(c, 16) for c in rule["table"]]
        named = table[min(int(rule["stride"]) * elements + ahead, len(table) - 1)]
        if -math.expm1(keys * math.log1p(-min(named / U, 1 - 1e-16))) > float(delta) * (1 + 1e-9):
            return True
    weaker = 1 + (growth - 1) / keys
    worst = sorted(pairs, key=lambda pair: single_loss(pair[0], pair[1], weaker), reverse=True)[:4]
    keys, limit = min(keys, 40), float(delta) + 1e-9  # more than floating point can be off by
    return any(composed_loss(one, other, keys, float(epsilon)) > limit for one, other in worst)


def certainly_violates(content: Any) -> bool:
    """Like `violates`, and False for what the oracle cannot read."""
    try:
        return violates(content)
    except (AssertionError, ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
        return False


# --- mutations ----------------------------------------------------------------------------------


def leaves(content: Any, path: Path = ()) -> Iterator[Path]:
    """Paths to everything inside, lists of numbers counted as one thing."""
    items = content.items() if isinstance(content, dict) else ()
    for name, value in items:
        yield (*path, name)
        yield from leaves(value, (*path, name))


def at(content: Any, path: Path) -> Any:
    for name in path:
        content = content[name]
    return content


def put(content: Content, path: Path, value: Any) -> None:
    at(content, path[:-1])[path[-1]] = value


def scaled(rng: random.Random, value: str, spread: float) -> str:
    factor = Fraction(math.exp(rng.gauss(0, spread)))
    return f"{float(Fraction(value) * factor):.15g}"


def mutate_number(rng: random.Random, content: Content) -> None:
    """Epsilon, delta, or a number of the accounting."""
    options: list[Path] = [("guarantee", "epsilon"), ("guarantee", "delta")] * 2
    accounting = content["rule"]["accounting"]
    for part in ("key", "element"):
        options += [("rule", "accounting", part, n) for n in accounting.get(part, {})]
    options += [("rule", "accounting", "base")] if "base" in accounting else []
    path = rng.choice(options)
    put(content, path, scaled(rng, at(content, path), rng.choice([1e-6, 0.01, 0.2, 1])))


def mutate_bound(rng: random.Random, content: Content) -> None:
    path = ("guarantee", rng.choice(["keys_per_unit", "elements_per_key"]))
    put(content, path, max(0, at(content, path) + rng.choice([-2, -1, 1, 1, 2, 3, 5])))


def mutate_integers(rng: random.Random, content: Content) -> None:
    """Growth, gift, shift; or an entry of the table."""
    rule = content["rule"]
    if "table" in rule:
        d = rng.randrange(1, len(rule["table"]) - 1)
        value = int(rule["table"][d], 16)
        moved = value + int(rng.gauss(0, rng.choice([1, 1e-6, 1e-3, 0.1])) * min(value, U - value))
        rule["table"][d] = hex(max(0, min(U, moved)))
    elif rng.random() < 0.15:
        rule["shift"] += rng.choice([-1, 1])
    else:
        name = rng.choice(["growth", "gift"])
        value, spread = int(rule[name], 16), rng.choice([1e-15, 1e-9, 1e-3, 0.1])
        moved = value + int(value * Fraction(rng.gauss(0, spread))) + rng.choice([-1, 1])
        rule[name] = hex(max(0, moved))


def mutate_grid(rng: random.Random, content: Content) -> None:
    accounting = content["rule"]["accounting"]
    for name in ("span", "reach"):
        if name in accounting and rng.random() < 0.7:
            accounting[name] = max(0, int(accounting[name] * math.exp(rng.gauss(0, 0.5))))


def mutate_start(rng: random.Random, content: Content) -> None:
    content["rule"]["head_start"] = max(
        0, content["rule"].get("head_start", 0) + rng.choice([-1, 1, 1, 2, 5, 100])
    )


def mutate_scheme(rng: random.Random, content: Content) -> None:
    scheme = content["rule"]["scheme"]
    if "tau" in scheme:
        scheme["tau"] = scaled(rng, scheme["tau"], 0.3)
        scheme["power"] = rng.choice([scheme["power"], "1.5", "2", "0", "3"])
    elif "steps" in scheme:
        scheme["steps"][rng.randrange(len(scheme["steps"]))][1] = rng.choice(["1/3", "0", "1", "2"])
    else:
        content["rule"]["scheme"] = rng.choice([{"name": "pps", "tau": "0.3", "power": "1"}, {}])


def mutate_tokens(rng: random.Random, content: Content) -> None:
    content["rule"]["tokens"] = rng.choice(["whole", "fine", "coarse"])


def mutate_shape(rng: random.Random, content: Content) -> None:
    """Another type, another JSON value, or nothing at all in place of something."""
    path = rng.choice(list(leaves(content)))
    if rng.random() < 0.3:
        del at(content, path[:-1])[path[-1]]
        return
    odd: list[Any] = [
        None,
        [],
        {},
        "",
        "nan",
        "inf",
        "-1",
        True,
        -1,
        0,
        1.5,
        "0x",
        [[]],
        "1/3",
        "1e-3",
    ]
    put(content, path, rng.choice(odd))


MUTATIONS: list[Callable[[random.Random, Content], None]] = [
    *[mutate_number] * 5,
    *[mutate_bound] * 3,
    *[mutate_integers] * 5,
    mutate_grid,
    mutate_start,
    mutate_scheme,
    mutate_tokens,
    mutate_shape,
    mutate_shape,
]


def mutants(count: int, seed: int) -> Iterator[Content]:
    rng, names = random.Random(seed), list(MECHANISMS)
    for n in range(count):
        content = original(names[n % len(names)])
        for _ in range(rng.choice([1, 1, 1, 2])):
            try:
                rng.choice(MUTATIONS)(rng, content)
            except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError):
                continue  # the first change left nothing for the second to change
        yield content


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_a_mechanism_certifies_is_accepted_and_not_an_overstatement(name: str) -> None:
    assert MECHANISMS[name].certificate.verify()
    assert not violates(original(name))


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_oracle_sees_a_promise_that_is_a_fifth_too_strong(name: str) -> None:
    content = original(name)
    content["guarantee"]["epsilon"] = repr(float(content["guarantee"]["epsilon"]) * 0.8)
    assert violates(content)
    assert not verdict(content)


def test_a_thousand_mutated_certificates_and_every_violating_one_is_refused() -> None:
    violating = accepted = 0
    for content in mutants(1000, seed=20210413):
        bad = certainly_violates(content)
        ok = verdict(content)
        assert not (bad and ok), json.dumps(content["guarantee"])
        violating, accepted = violating + bad, accepted + ok
    assert violating >= 200
    assert accepted >= 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_many_more_mutated_certificates(seed: int) -> None:
    for content in mutants(2000, seed):
        assert not (certainly_violates(content) and verdict(content))


# --- shapes -------------------------------------------------------------------------------------

ODD: list[Any] = [None, True, -1, 0, 1.5, math.nan, math.inf, [], {}, "", "nan", "inf", "-1"]
ODD += ["1/0", "1/3", "0x", "0xzz", "\u0661", [1], {"name": "everything"}, 2**70, "1e5"]


@pytest.mark.parametrize("name", ["everything", "six keys, Gaussian", "pps, elsewhere", "steps"])
def test_odd_values_anywhere_are_refused_or_harmless(name: str) -> None:
    """Whatever stands in whatever place: never an exception of another kind."""
    for path in leaves(original(name)):
        for odd in ODD:
            content = original(name)
            put(content, path, deepcopy(odd))
            assert not (verdict(content) and certainly_violates(content)), (path, odd)


@pytest.mark.parametrize("name", ["everything", "six keys, Gaussian", "pps, elsewhere", "steps"])
def test_a_missing_field_is_refused_unless_the_check_does_not_need_it(name: str) -> None:
    unneeded = {"unit", "away", "element", "accounting", "key", "epsilon", "delta", "name"}
    for path in leaves(original(name)):
        content = original(name)
        del at(content, path[:-1])[path[-1]]
        assert not verdict(content) or path[-1] in unneeded, path
    for part in ("guarantee", "rule", "format", "version"):
        content = original(name)
        del content[part]
        assert not verdict(content)


@pytest.mark.parametrize("content", [None, [], [1], "x", 0, 1.5, True, {}, {"format": []}])
def test_what_is_not_a_certificate_is_refused(content: Any) -> None:
    assert not verdict(content)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("guarantee", "epsilon"), "0"),
        (("guarantee", "epsilon"), "-1"),
        (("guarantee", "epsilon"), 1.0),
        (("guarantee", "delta"), "0"),
        (("guarantee", "delta"), "1"),
        (("guarantee", "delta"), 1e-3),
        (("guarantee", "keys_per_unit"), 0),
        (("guarantee", "elements_per_key"), 0),
        (("guarantee", "neighbours"), "change one unit"),
        (("rule", "tokens"), "continuous"),
        (("rule", "shift"), -1),
        (("rule", "gift"), "0x0"),
        (("rule", "gift"), hex(U)),
        (("rule", "gift"), "-0x5"),
        (("rule", "growth"), hex(1 << 64)),
        (("rule", "scheme", "tau"), "0"),
        (("rule", "scheme", "tau"), "-0.1"),
        (("rule", "scheme", "tau"), "Infinity"),
        (("rule", "scheme", "tau"), "NaN"),
        (("rule", "scheme", "tau"), "sNaN"),
        (("rule", "scheme", "power"), "2.1"),
        (("rule", "scheme", "power"), "0"),
        (("rule", "scheme", "power"), "NaN"),
        (("rule", "scheme", "name"), "bernoulli"),
        (("rule", "accounting", "element", "delta"), "1"),
        (("rule", "accounting", "element", "epsilon"), "0"),
        (("version",), 2),
        (("format",), "certificate"),
    ],
    ids=str,
)
def test_values_out_of_range_are_refused(path: Path, value: Any) -> None:
    content = original("pps")
    put(content, path, value)
    assert not verdict(content)


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [[2, "0.5"]],
        [[1, "0.5"], [1, "0.6"]],
        [[1, "0.5"], [3, "0.4"]],
        [[1, "1.1"]],
        [[1, "-1"]],
    ],
    ids=str,
)
def test_steps_that_are_not_a_scheme_are_refused(steps: Any) -> None:
    content = original("steps")
    content["rule"]["scheme"]["steps"] = steps
    assert not verdict(content)


@pytest.mark.parametrize(
    "table",
    [
        [],
        ["0x0"],
        [hex(U)],
        ["0x0", hex(U)],
        ["0x1", hex(U)],
        ["0x0", hex(U - 1)],
        ["0x0", "0x5", "0x4", hex(U)],
        ["0x0", "-0x5", hex(U)],
        ["0x0", hex(U + 1), hex(U)],
    ],
    ids=str,
)
def test_tables_that_are_not_a_law_are_refused(table: list[str]) -> None:
    content = original("six keys, Gaussian")
    content["rule"]["table"] = table
    assert not verdict(content)


# --- forgeries: accounting that proves too much ---------------------------------------------------


def loose(name: str, delta: str) -> Content:
    """Half of all keys given away at once, and a number in the accounting that hides it."""
    content = original(name)
    content["rule"]["gift"] = hex(U // 2)
    content["rule"]["accounting"]["key"]["delta"] = delta
    return content


def test_a_delta_beyond_one_in_the_accounting_of_a_draw_is_refused() -> None:
    content = loose("two keys, optimal", "2")
    assert violates(content)
    assert not verdict(content)


def test_a_delta_beyond_one_in_the_accounting_of_a_sample_is_refused() -> None:
    content = loose("pps, two keys, two elements", "2")
    content["guarantee"]["elements_per_key"] = 1
    content["rule"]["accounting"]["element"] = {"epsilon": "0.5", "delta": "0.9"}
    content["rule"]["accounting"]["key"]["epsilon"] = "0.5"
    assert violates(content)
    assert not verdict(content)


@pytest.mark.parametrize("name", ["six keys, Gaussian", "five keys, two elements, Gaussian"])
def test_a_longer_head_start_names_too_many_new_keys_and_is_refused(name: str) -> None:
    content = original(name)
    assert content["rule"]["head_start"] > 0
    content["rule"]["head_start"] += 1
    assert violates(content)
    assert not verdict(content)
    content["rule"]["head_start"] -= 2
    assert verdict(content)


@pytest.mark.parametrize("name", ["everything", "fine", "two keys, optimal", "pps", "steps"])
@pytest.mark.parametrize("start", [0, 1])
def test_a_head_start_that_would_not_be_checked_is_refused(name: str, start: int) -> None:
    content = original(name)
    content["rule"]["head_start"] = start
    assert not verdict(content)


def test_a_head_start_on_a_table_of_one_key_is_refused() -> None:
    content = original("six keys, Gaussian")
    content["guarantee"]["keys_per_unit"] = 1
    assert not verdict(content)
    content["rule"]["head_start"] = 0
    assert verdict(content)


def test_a_table_with_gaps_is_checked_at_every_shift() -> None:
    content = original("everything")
    law = naive_draw(content["rule"])
    table = [0]
    for words in law:
        table += [table[-1] + words] * 3
    content["rule"] |= {"table": [hex(c) for c in table], "stride": 1}
    content["guarantee"]["elements_per_key"] = 3
    assert violates(content)
    assert not verdict(content)


@pytest.mark.parametrize("bound", ["keys_per_unit", "elements_per_key"])
def test_a_fractional_bound_is_refused(bound: str) -> None:
    content = original("everything")
    content["guarantee"][bound] = 1.9
    assert violates(content)
    assert not verdict(content)


# --- certificates that ask for too much -----------------------------------------------------------

ELEMENT_EPSILON: Path = ("rule", "accounting", "element", "epsilon")
SMALL_GROWTH = {("rule", "growth"): hex((1 << 64) + (1 << 49)), ("rule", "gift"): hex(1 << 40)}
KEYS: Path = ("guarantee", "keys_per_unit")
KEY_EPSILON: Path = ("rule", "accounting", "key", "epsilon")
KEY_DELTA: Path = ("rule", "accounting", "key", "delta")
LARGEST_GRID = {
    KEYS: 8191,
    ("rule", "accounting", "base"): "1.001",
    ("rule", "accounting", "span"): 5000,
    ("rule", "accounting", "reach"): 15_000,
}
MANY_STEPS = [[i, f"{i * i}/{20_000**2}"] for i in range(1, 20_001)]


GREEDY: list[Any] = [
    ("two keys, optimal", {("guarantee", "keys_per_unit"): 10**4}),
    ("two keys, optimal", {("guarantee", "keys_per_unit"): 10**9}),
    ("pps", {("guarantee", "keys_per_unit"): 10**9}),
    ("six keys, Gaussian", {("guarantee", "keys_per_unit"): 10**9}),
    ("everything", {("guarantee", "elements_per_key"): 10**9}),
    ("pps", {("guarantee", "elements_per_key"): 10**9}),
    ("everything", {("guarantee", "epsilon"): "1e9"}),
    ("everything", {("guarantee", "epsilon"): "1e1000000000"}),
    ("everything", {("guarantee", "delta"): "1e-1000000000"}),
    ("pps", {("rule", "accounting", "element", "epsilon"): "1e9"}),
    ("everything", {("rule", "shift"): 10**9}),
    ("everything", {("rule", "shift"): 10**12}),
    ("six keys, Gaussian", {("rule", "stride"): 10**9}),
    ("everything", {("rule", "gift"): "0x1"}),
    ("everything", {("rule", "growth"): hex((1 << 64) + 1), ("rule", "gift"): "0x1"}),
    ("pps", {("rule", "growth"): hex((1 << 64) + (1 << 34))}),
    ("pps", {("rule", "growth"): hex((1 << 64) + (1 << 44)), ("rule", "gift"): "0x1"}),
    ("pps", {("rule", "scheme", "tau"): "1e-300"}),
    ("pps", {("rule", "scheme", "tau"): "1e-999999"}),
    ("pps", {("rule", "scheme", "power"): "1e-3"}),
    ("pps", {("rule", "scheme", "power"): "1e-9"}),
    ("steps", {("rule", "scheme", "steps"): [[1, "0.1"], [10**18, "1"]]}),
    ("steps", {("rule", "scheme", "steps"): [[1, "1e-1000000000"]]}),
    ("steps", {("rule", "scheme", "steps"): [[i, f"{i}/1000000"] for i in range(1, 10**6)]}),
    ("six keys, Gaussian", {("rule", "accounting", "reach"): 10**5}),
    (
        "six keys, Gaussian",
        {("rule", "accounting", "reach"): 10**5, ("rule", "accounting", "span"): 10**5},
    ),
    ("six keys, Gaussian", {("rule", "accounting", "base"): "1e100000000"}),
    ("pps", {("guarantee", "elements_per_key"): 10**6, ELEMENT_EPSILON: "1000"}),
    ("six keys, Gaussian", {("guarantee", "elements_per_key"): 10**6, ("rule", "stride"): 1000}),
    ("six keys, Gaussian", {("guarantee", "elements_per_key"): 10**6}),
    ("six keys, Gaussian", {KEYS: 10**6}),
    ("two keys, optimal", {KEY_EPSILON: "1000", KEYS: 1000, ("guarantee", "epsilon"): "1000"}),
    ("two keys, optimal", {KEY_DELTA: "1e-999", KEYS: 1000, ("guarantee", "epsilon"): "1000"}),
    pytest.param("six keys, Gaussian", LARGEST_GRID, marks=pytest.mark.slow),
    (
        "steps",
        {
            ("rule", "scheme", "steps"): MANY_STEPS,
            ("rule", "growth"): hex((1 << 64) + (1 << 52)),
            ("rule", "gift"): hex(1 << 60),
        },
    ),
]


@pytest.mark.parametrize(
    ("name", "changes"),
    [*GREEDY, ("pps", SMALL_GROWTH), ("fine", SMALL_GROWTH)],
    ids=lambda value: str(value)[:60],
)
def test_no_certificate_keeps_the_checker_busy(
    name: str, changes: dict[Path, Any], tmp_path: pathlib.Path
) -> None:
    content = original(name)
    for path, value in changes.items():
        put(content, path, value)
    (tmp_path / "certificate.json").write_text(json.dumps(content))
    done = subprocess.run(
        [sys.executable, "-I", "-S", verify.__file__, str(tmp_path / "certificate.json")],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
        text=True,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert done.returncode in {0, 1, 2}
    assert "Traceback" not in done.stderr


# --- what a certificate says --------------------------------------------------------------------


def test_a_certificate_is_deterministic() -> None:
    for name, mechanism in MECHANISMS.items():
        again = Mechanism(
            mechanism.guarantee, mechanism.scheme, mechanism.tokens, mechanism.sampler_error
        )
        assert again.certificate.text == text_of(name)


def test_a_certificate_survives_being_written_and_read() -> None:
    for name, mechanism in MECHANISMS.items():
        read = Certificate.read(json.dumps(json.loads(text_of(name))))
        assert read.verify() == mechanism.certificate.verify()
        assert Certificate.read(text_of(name)) == mechanism.certificate


def test_a_certificate_states_the_guarantee_and_the_rule_and_nothing_else() -> None:
    for name, mechanism in MECHANISMS.items():
        content = original(name)
        assert set(content) == {"format", "version", "guarantee", "rule"}
        assert content["guarantee"] == mechanism.guarantee.describe()
        expected = {"scheme", "tokens", "accounting"}
        drawn = {"table", "stride", "head_start"}
        expected |= drawn if "Gaussian" in name else {"growth", "shift", "gift"}
        expected |= {"away"} if mechanism.elsewhere else set()
        assert set(content["rule"]) == expected


def test_no_number_in_a_certificate_is_a_binary_float() -> None:
    for name in MECHANISMS:
        json.loads(text_of(name), parse_float=pytest.fail)


@pytest.mark.parametrize("text", ["", "{", "certificate", "[1,", "\x00"])
def test_text_that_is_not_json_is_refused_by_a_sentence(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a certificate"):
        Certificate.read(text)


def test_json_that_is_no_certificate_is_refused_when_it_is_verified() -> None:
    with pytest.raises(Refused):
        Certificate.read("[1, 2, 3]").verify()


def test_the_integers_that_are_certified_are_those_that_are_used() -> None:
    for name in ("everything", "pps", "steps", "pps, elsewhere"):
        rule = original(name)["rule"]
        rebuilt = Survival(
            (int(rule["growth"], 16), rule["shift"]),
            int(rule["gift"], 16),
            verify.Scheme(rule["scheme"]),
        )
        used = MECHANISMS[name].integers
        assert [rebuilt.reporting(i) for i in range(60)] == [used.reporting(i) for i in range(60)]
    table = [int(c, 16) for c in original("six keys, Gaussian")["rule"]["table"]]
    assert table == MECHANISMS["six keys, Gaussian"].draw[0]
