"""The checker: its integers are the ones that are defined, and they are private.

Everything here is computed a second time in another way: exp in many digits, reporting by the plain
recursion, rows by a full table with no column left out, privacy from its definition.
"""

from __future__ import annotations

import ast
import json
import math
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath as mp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis.privacy import exact, verify
from tamis.privacy.curves import ApproximateCurve
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Survival, U, exp_bounds
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted.mechanism import Mechanism

SOURCE = Path(verify.__file__)

epsilons = st.floats(0.01, 5)
deltas = st.floats(-12, -3).map(lambda x: float(f"{10**x:.6g}"))
shares = st.integers(0, 10**6).map(lambda n: n / 10**6) | st.sampled_from([1e-30, 1e-9])
steps = st.dictionaries(st.integers(1, 60), shares, min_size=1, max_size=6).map(
    lambda found: Custom(dict(zip(sorted(found), sorted(found.values()), strict=True)))
)


@st.composite
def schemes(draw: st.DrawFn, epsilon: float, delta: float) -> Scheme:
    """Schemes of every kind, most of them where some constraint only just begins to bind."""
    kind = draw(st.sampled_from([Pps, Ppswor, Ppswor, None]))
    if kind is None:
        return draw(steps)
    near = st.floats(-1, 1).map(lambda x: 1 + x**5)
    power = draw(
        st.sampled_from([1.0, 2.0, 1 + 1e-12, 1 - 1e-12, 1.01, 0.99]) | st.floats(0.3, 2.0)
    )
    tau = draw(
        st.floats(-7, 1).map(lambda x: 10**x)
        | near.map(lambda f: epsilon * f)
        | near.map(lambda f: delta * f)
        | st.integers(2, 300).map(lambda i: epsilon / (power * i ** (power - 1)))
        | st.sampled_from([1.0, 1 + 1e-9, 3.0, 50.0, 1e6])
    )
    return kind(max(tau, 1e-13), power)


def survival(epsilon: float, delta: float, scheme: Scheme) -> Survival:
    return exact.survival(ApproximateCurve(epsilon, delta), scheme.rule())


# --- exp ----------------------------------------------------------------------------------------

rationals = (
    st.fractions(0, 50)
    | st.fractions(0, 1, max_denominator=10**40)
    | st.integers(1, 10**9).map(lambda n: Fraction(n, 10**40))
    | st.floats(1e-300, 50).map(lambda x: Fraction(repr(x)))
)


@settings(max_examples=100, deadline=None)
@given(rationals)
@example(Fraction(0))
@example(Fraction(50))
@example(Fraction(1, 10**300))
def test_exp_lies_between_its_bounds_and_they_are_tight(x: Fraction) -> None:
    low, high = exp_bounds(x)
    with mp.workdps(120):
        true = mp.exp(mp.mpf(x.numerator) / x.denominator) * mp.mpf(2) ** 256
        slip = true * mp.mpf(10) ** -115  # of the oracle itself
        assert low <= true + slip
        assert true - slip <= high
    assert high - low <= max(1000, low >> 225)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_first_finds_where_a_condition_becomes_true(at: int, start: int) -> None:
    assert verify.first(lambda i: i >= at, start) == max(at, start)


# --- reporting ----------------------------------------------------------------------------------


def plain_reporting(law: Survival, upto: int) -> list[int]:
    """P_0 .. P_upto straight from the definition, with terms of our own."""
    M, one, D, found = law.M, 1 << law.k, law.D, [0]
    for i in range(1, upto + 1):
        p = found[-1]
        down = (U - D - p) * one
        terms = (law.scheme.units(i), U, D + p * M // one, U - (down // M + (down % M > 0)))
        found.append(min(terms))
    return found


@settings(max_examples=25, deadline=None)
@given(epsilons, deltas, st.data())
def test_reporting_equals_the_plain_recursion(
    epsilon: float, delta: float, data: st.DataObject
) -> None:
    law = survival(epsilon, delta, data.draw(schemes(epsilon, delta)))
    for i, p in enumerate(plain_reporting(law, 600)):
        assert law.reporting(i) == p


HARD: list[tuple[float, float, Scheme]] = [
    (0.01, 1e-3, Ppswor(0.01, 1 + 1e-9)),
    (0.01, 1e-12, Ppswor(0.0100001)),
    (0.01, 1e-12, Ppswor(0.0001, 1.5)),
    (0.01, 1e-9, Pps(1 / 3000)),
    (0.01, 1e-6, Pps(1 / 3000**2, 2)),
    (0.01, 1e-6, Pps(1 / 3000**0.3, 0.3)),
    (0.02, 1e-12, Ppswor(1e-12)),
    (0.05, 1e-12, Ppswor(0.3, 0.3)),
    (0.05, 1e-3, Pps(1e-3)),
    (0.3, 1e-4, Pps(0.01)),
    (5.0, 1e-12, Ppswor(4.99999, 1.0)),
    (5.0, 1e-3, Ppswor(1000.0, 2)),
    (0.01, 1e-6, Custom({1: 1e-7, 2: 2e-6, 700: 0.5, 701: 0.500001, 3000: 1})),
    (0.01, 1e-6, Custom({3500: 1})),
]


@pytest.mark.parametrize(("epsilon", "delta", "scheme"), HARD, ids=repr)
def test_reporting_equals_the_plain_recursion_for_thousands_of_frequencies(
    epsilon: float, delta: float, scheme: Scheme
) -> None:
    law = survival(epsilon, delta, scheme)
    assert [law.reporting(i) for i in range(3001)] == plain_reporting(law, 3000)


def test_a_scheme_of_many_steps_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    law = survival(0.05, 1e-9, Custom([(i / 300) ** 2 for i in range(1, 301)]))
    asked, units = [0], law.scheme.units

    def counted(i: int) -> int:
        asked[0] += 1
        return units(i)

    monkeypatch.setattr(law.scheme, "units", counted)
    followed = 300 + len(law.below())
    assert asked[0] <= 10 * followed


@settings(max_examples=30, deadline=None)
@given(epsilons, deltas, st.data())
def test_outside_the_suspects_q_is_allowed_by_its_neighbour(
    epsilon: float, delta: float, data: st.DataObject
) -> None:
    """The claim of section 6 on its own, at frequencies that no recursion would reach."""
    law = survival(epsilon, delta, data.draw(schemes(epsilon, delta)))
    ranges = law.scheme.suspects(Fraction(law.M, 1 << law.k), law.D)
    edges = [e for pair in ranges for e in pair]
    near = st.tuples(st.sampled_from(edges), st.integers(-40, 40)).map(lambda t: t[0] + t[1])
    for i in data.draw(st.lists(near | st.integers(1, 10**9), min_size=30, max_size=30)):
        if i > 0 and not any(start <= i <= last for start, last in ranges):
            assert law.scheme.units(i) <= law.cap(law.scheme.units(i - 1))


# --- rows ---------------------------------------------------------------------------------------


class Table:
    """All rows up to ``upto`` in whole numbers, no column left out; fine tokens if cuts are given.

    A column is (k, t): it begins as T_k = t, the first t words of token k; t = 0 are whole tokens.
    """

    def __init__(self, law: Survival, upto: int, cuts: dict[int, list[int]] | None = None) -> None:
        self.law, self.P = law, plain_reporting(law, upto)
        columns = {(0, 0): 0}
        self.rows: list[dict[tuple[int, int], int]] = [dict(columns)]
        for i in range(1, upto + 1):
            columns = {c: self.step(i, s) for c, s in columns.items()}
            columns |= {(i, t): t for t in (cuts or {}).get(i, [])} | {(i, 0): 0}
            self.rows.append(dict(columns))

    def step(self, i: int, s: int) -> int:
        M, one, D, now, before = (self.law.M, 1 << self.law.k, self.law.D, self.P[i], self.P[i - 1])
        up = -((U - D - s) * one // -M)  # rounded up
        lower = -((before - D - s) * one // -M)
        return min(now, D + s * M // one, U - up, now - lower)

    def cells(self, i: int, upto: int) -> list[int]:
        """Words for: not reported, then every token of the rows up to ``upto``, lowest first."""
        order = sorted(self.rows[upto], key=lambda c: (c[0], -c[1]))
        falling = [self.P[i], *(self.rows[i].get(c, 0) for c in order)]
        assert falling == sorted(falling, reverse=True)
        return [U - falling[0], *(a - b for a, b in zip(falling, [*falling[1:], 0], strict=True))]


def exp_below(x: Fraction, bits: int = 220) -> int:
    """An integer at most exp(x) 2^bits: a series of positive terms may be cut anywhere."""
    term = total = Fraction(1)
    for n in range(1, 90):
        term *= x / n
        total += term
    return int(total * 2**bits)


def divergence(a: list[int], b: list[int], growth: int, bits: int = 220) -> Fraction:
    """At least the sum of max(0, a - e b), in words, where growth <= e 2^bits."""
    return Fraction(
        sum(max(0, (p << bits) - growth * q) for p, q in zip(a, b, strict=True)), 1 << bits
    )


def cuts_of(law: Survival, upto: int, extra: st.DataObject | None = None) -> dict[int, list[int]]:
    """The pieces that the rows up to a little beyond ``upto`` ask for, and some at random."""
    found = law.pieces(0, upto + min(law.width(), 80))
    cuts = {}
    for k in range(1, upto + 1):
        top, places = min(law.D, law.reporting(k)), set(found.get(k, []))
        if extra is not None and k % 5 == 1 and top > 1:
            places.add(extra.draw(st.integers(1, top - 1)))
        assert all(0 < t < top for t in places)
        cuts[k] = sorted(places, reverse=True)
    return cuts


@settings(max_examples=40, deadline=None)
@given(epsilons, deltas, st.booleans(), st.data())
def test_neighbouring_rows_are_private_by_the_definition(
    epsilon: float, delta: float, fine: bool, data: st.DataObject
) -> None:
    scheme = data.draw(schemes(epsilon, delta))
    law, upto = survival(epsilon, delta, scheme), 40
    table = Table(law, upto, cuts_of(law, upto, data) if fine else None)
    growth, allowed = exp_below(Fraction(repr(epsilon))), Fraction(repr(delta)) * U
    for i in range(1, upto + 1):
        new, old = table.cells(i, i), table.cells(i - 1, i)
        assert sum(new) == sum(old) == U
        assert divergence(new, old, growth) <= allowed
        assert divergence(old, new, growth) <= allowed


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "delta", "scheme"),
    [(0.3, 1e-4, Pps(0.01)), (1.0, 1e-6, Ppswor(0.05)), (0.5, 1e-3, Custom({1: 0.2, 9: 0.6}))],
    ids=repr,
)
def test_long_tables_are_private_by_the_definition_and_use_all_that_is_allowed(
    epsilon: float, delta: float, scheme: Scheme, fine: bool
) -> None:
    law, upto = survival(epsilon, delta, scheme), 110
    table = Table(law, upto, cuts_of(law, upto) if fine else None)
    growth, allowed = exp_below(Fraction(repr(epsilon))), Fraction(repr(delta)) * U
    worst = [Fraction(0), Fraction(0)]
    for i in range(1, upto + 1):
        new, old = table.cells(i, i), table.cells(i - 1, i)
        both = divergence(new, old, growth), divergence(old, new, growth)
        worst = [max(w, b) for w, b in zip(worst, both, strict=True)]
    assert all(allowed * (1 - Fraction(1, 10**15)) < w <= allowed for w in worst)


@settings(max_examples=12, deadline=None)
@given(epsilons, deltas, st.booleans(), st.data())
def test_rows_yields_the_full_table_less_columns_that_have_reached_the_top(
    epsilon: float, delta: float, fine: bool, data: st.DataObject
) -> None:
    law, upto = survival(epsilon, delta, data.draw(schemes(epsilon, delta))), 40
    cuts = cuts_of(law, upto) if fine else {}
    table = Table(law, upto, cuts)
    for i, old, new in law.rows(1, cuts):
        if i > upto:
            break
        assert len(old) == len(new)
        for row, number in ((old, i - 1), (new, i)):
            full = [table.P[number], *table.rows[number].values()]
            assert row[0] == U
            assert row == sorted(row, reverse=True)
            assert set(full) - {0} <= set(row)
            assert set(row) <= {U, 0, *full}


@settings(max_examples=12, deadline=None)
@given(epsilons, deltas, st.data())
def test_rows_begun_late_end_up_as_rows_begun_at_the_start(
    epsilon: float, delta: float, data: st.DataObject
) -> None:
    epsilon = max(epsilon, 0.5)
    law = survival(epsilon, delta, data.draw(schemes(epsilon, delta)))
    begin = data.draw(st.integers(1, 60))
    spot = begin + law.width()
    late = next(row for i, _, row in law.rows(begin, {}) if i == spot)
    early = next(row for i, _, row in law.rows(1, {}) if i == spot)
    assert sorted(set(late)) == sorted(set(early))


@settings(max_examples=20, deadline=None)
@given(epsilons, deltas, st.data())
def test_a_word_is_walked_to_the_token_whose_words_hold_it(
    epsilon: float, delta: float, data: st.DataObject
) -> None:
    law, upto = survival(epsilon, delta, data.draw(schemes(epsilon, delta))), 30
    table, i = Table(law, upto), data.draw(st.integers(1, upto))
    if table.P[i] == 0:
        return
    bounds = [b for t in table.rows[i].values() for b in (t - 1, t) if 0 <= b < table.P[i]]
    word = data.draw(st.integers(0, table.P[i] - 1) | st.sampled_from([*bounds, 0]))
    token, place = law.walk(i, word)
    above, least = table.rows[i][(token, 0)], [table.P[i], *table.rows[i].values()][token]
    assert above <= word < (least if token > 1 else table.P[i])
    assert 0 <= place < min(law.D, table.P[token])


# --- how wide rows are --------------------------------------------------------------------------


def tokens_of(row: list[int]) -> int:
    return sum(words > 0 for words in verify.cells(row)[1:])


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 5), deltas, st.data())
def test_no_row_has_more_tokens_than_width(
    epsilon: float, delta: float, data: st.DataObject
) -> None:
    law = survival(epsilon, delta, data.draw(schemes(epsilon, delta)))
    bound = law.width()
    for i, _, row in law.rows(1, {}):
        assert tokens_of(row) <= bound
        if i > 150:
            break


def test_the_width_of_the_paper_is_too_small_for_some_schemes() -> None:
    epsilon, delta = 0.3, 1e-4
    law = survival(epsilon, delta, Pps(0.01))
    e = math.exp(epsilon)
    paper = 2 * math.log((e - 1 + 2 * delta) / (delta * (e + 1))) / epsilon + 1
    widths = [tokens_of(row) for _, (_, _, row) in zip(range(250), law.rows(1, {}), strict=False)]
    assert math.ceil(paper) == 50
    assert max(widths) == 63
    assert max(widths) <= law.width()


@settings(max_examples=30, deadline=None)
@given(epsilons, deltas, st.booleans(), st.data())
def test_rounding_costs_no_more_than_the_slack(
    epsilon: float, delta: float, fine: bool, data: st.DataObject
) -> None:
    """Lemma 5: against its own growth and gift, a row is off by at most the slack."""
    law, upto = survival(epsilon, delta, data.draw(schemes(epsilon, delta))), 40
    table = Table(law, upto, cuts_of(law, upto, data) if fine else None)
    for i in range(1, upto + 1):
        new, old = table.cells(i, i), table.cells(i - 1, i)
        both = divergence(new, old, law.M, law.k), divergence(old, new, law.M, law.k)
        assert max(both) <= law.D + law.slack()


# --- fine tokens without sampling ---------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(st.floats(0.7, 5), deltas)
def test_the_fine_draw_is_the_row_of_fine_tokens_far_out(epsilon: float, delta: float) -> None:
    law = survival(epsilon, delta, Everything())
    table, stride = law.fine_draw()
    far = 2 * len(law.draw()) + 3
    cuts = cuts_of(law, far)
    row = next(r for i, _, r in law.rows(1, cuts) if i == far)
    assert sorted({0, *row}) == sorted(set(table))
    assert table[::stride] == law.draw()[: len(table[::stride])]
    assert stride <= 3


# --- the inequality itself ----------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, U), st.integers(0, U)), max_size=8),
    st.fractions(0, 100, max_denominator=2**20),
)
def test_hockey_is_the_sum_of_what_exceeds(pairs: list[tuple[int, int]], growth: Fraction) -> None:
    k = 40
    M = int(growth * 2**k)
    p, q = [a for a, _ in pairs], [b for _, b in pairs]
    direct = sum((max(Fraction(0), a - Fraction(M, 2**k) * b) for a, b in pairs), Fraction(0))
    assert verify.hockey(p, q, M, k) == direct * 2**k


def gift_of(law: Survival, gift: int) -> Survival:
    return Survival((law.M, law.k), gift, law.scheme)


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize(
    "scheme", [Pps(0.1), Ppswor(0.7), Ppswor(0.3, 2), Custom({1: 0.3})], ids=repr
)
def test_rows_are_refused_as_soon_as_the_gift_exceeds_delta(scheme: Scheme, fine: bool) -> None:
    epsilon, delta = Fraction(1, 2), Fraction(1, 1000)
    law, allowed = survival(0.5, 1e-3, scheme), int(delta * U)
    M = exp_bounds(epsilon)[0] >> 128
    assert "all rows" in verify.check_rows(law, M, 128, allowed, -1, fine)
    for gift in (allowed + 1, allowed + 1000, int(allowed * 1.0001), 2 * allowed):
        with pytest.raises(verify.Refused, match="told apart too well"):
            verify.check_rows(gift_of(law, gift), M, 128, allowed, -1, fine)


def test_rows_too_many_to_check_are_refused_unless_the_gift_leaves_the_slack() -> None:
    delta = Fraction(1, 10**6)
    law, allowed = survival(0.1, 1e-6, Ppswor(1e-5)), int(delta * U)
    M = exp_bounds(Fraction(1, 10))[0] >> 128
    assert "rounding lemma" in verify.check_rows(law, M, 128, allowed, -1, False)
    with pytest.raises(verify.Refused, match="slack"):
        verify.check_rows(gift_of(law, law.D + 1), M, 128, allowed, -1, False)
    assert "rounding lemma" in verify.check_rows(law, law.M << 64, 128, allowed, -1, False)
    with pytest.raises(verify.Refused, match="growth exceeds"):
        verify.check_rows(law, (law.M << 64) - 1, 128, allowed, -1, False)
    with pytest.raises(verify.Refused, match="slack"):  # a sample from elsewhere costs more
        verify.check_rows(law, M, 128, allowed, U >> 50, False)


def test_a_sample_from_elsewhere_is_charged_for_what_its_q_may_be_off() -> None:
    curve, scheme, away = ApproximateCurve(0.5, 1e-3), Pps(0.1), U >> 50
    allowed, M = U // 1000, exp_bounds(Fraction(1, 2))[0] >> 128
    careful = exact.survival(curve, scheme.rule(), away)
    assert "all rows" in verify.check_rows(careful, M, 128, allowed, away, False)
    with pytest.raises(verify.Refused):
        verify.check_rows(exact.survival(curve, scheme.rule()), M, 128, allowed, away, False)


# --- one file, nothing but the standard library, no floats ---------------------------------------


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "verify.py", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    shutil.copy(SOURCE, tmp_path / "verify.py")
    good = Mechanism(Guarantee(1.0, 1e-4), Pps(0.1)).certificate.text
    (tmp_path / "good.json").write_text(good)
    bad = json.loads(good)
    bad["guarantee"]["epsilon"] = "0.99"
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    (tmp_path / "torn.json").write_text(good[:100])
    (tmp_path / "list.json").write_text("[1, 2]")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["good.json"], 0, "verified: epsilon "),
        (["bad.json"], 1, "refused: "),
        (["list.json"], 1, "refused: "),
        (["torn.json"], 2, "usage: "),
        (["absent.json"], 2, "usage: "),
        ([], 2, "usage: "),
    ],
)
def test_the_checker_runs_alone(alone: Path, arguments: list[str], code: int, said: str) -> None:
    done = run(alone, *arguments)
    assert done.returncode == code
    assert (done.stdout + done.stderr).startswith(said)
    assert "Traceback" not in done.stderr
    assert bool(done.stdout) == (code == 0)


@pytest.mark.parametrize(
    "content",
    [b'{"version": ' + b"9" * 5000 + b"}", b"\xff\xfe\x00", b"[" * 10**5],
    ids=["a very long number", "not text", "very deep"],
)
def test_a_file_that_cannot_be_read_is_answered_without_a_traceback(
    alone: Path, content: bytes
) -> None:
    (alone / "odd.json").write_bytes(content)
    done = run(alone, "odd.json")
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr


def test_a_name_that_stands_twice_is_refused(alone: Path) -> None:
    text = (alone / "good.json").read_text()
    twice = text.replace('"epsilon": "1.0",', '"epsilon": "0.001", "epsilon": "1.0",', 1)
    assert twice != text
    (alone / "twice.json").write_text(twice)
    assert run(alone, "twice.json").returncode in {1, 2}


def tree() -> ast.Module:
    return ast.parse(SOURCE.read_text())


def test_the_checker_imports_only_the_standard_library() -> None:
    names = set()
    for node in ast.walk(tree()):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module).split(".")[0])
    assert names <= sys.stdlib_module_names
    assert names.isdisjoint({"math", "cmath", "statistics", "random"} - {"math"})


def test_the_checker_has_no_binary_floating_point() -> None:
    whole = {"comb", "gcd", "isqrt"}
    for node in ast.walk(tree()):
        if isinstance(node, ast.Constant):
            assert not isinstance(node.value, float | complex)
        if isinstance(node, ast.Name):
            assert node.id not in {"float", "complex"}
        if isinstance(node, ast.ImportFrom) and node.module == "math":
            assert {alias.name for alias in node.names} <= whole
        if isinstance(node, ast.Import):
            assert "math" not in {alias.name for alias in node.names}
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            assert whole_division_is_exact(node)


def whole_division_is_exact(node: Any) -> bool:
    """Every / in the file has a Fraction, a Decimal or a value made of them on one side."""
    exact_names = {"x", "one", "spent", "Decimal"}
    return bool({n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & exact_names)
