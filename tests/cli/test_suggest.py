"""`tamis plan --suggest`: a small bound drops data, a large one adds noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis as library
from tamis.cli import compare, plan
from tamis.cli.units import Units, stated
from tamis.releases import bound
from tests.cli.conftest import Run

PLAN = ("plan", "--epsilon", "1", "--delta", "1e-8", "--keys-per-unit", "4")
SHAPE = ("--shape", "zipf:1.1:10000:100000")


def units(text: str) -> Units:
    found = stated(text)
    assert found is not None
    return found


def test_without_a_word_on_units_there_is_no_suggestion(tamis: Run) -> None:
    for words in (("--suggest",), (*SHAPE, "--suggest")):
        ran = tamis(*PLAN, *words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
        assert "how many keys units have" in ran.err
        assert "--units-have 12" in ran.err


@pytest.mark.parametrize(
    ("have", "best"),
    [("1", 1), ("12", 12), ("100", 100), ("500", 128), ("1:500,20:100", 1), ("zipf:1:100", 32)],
)
def test_the_suggestion_goes_with_the_keys_of_units(tamis: Run, have: str, best: int) -> None:
    words = (*PLAN, *SHAPE, "--units-have", have, "--suggest")
    said = tamis(*words, "--json").json
    assert said["suggested"] == best
    assert f"suggested: --keys-per-unit {best}\n" in tamis(*words).text
    named = {row["keys_per_unit"]: row["expected"] for row in said["suggestions"]}
    assert named[best] == max(named.values())


def test_every_row_says_what_is_kept_and_what_is_named(tamis: Run) -> None:
    rows = tamis(*PLAN, *SHAPE, "--units-have", "12", "--suggest", "--json").json["suggestions"]
    assert [row["keys_per_unit"] for row in rows] == [1, 2, 4, 8, 12, 16, 32, 64, 128]
    kept = [min(1, row["keys_per_unit"] / 12) for row in rows]
    assert [row["kept"] for row in rows] == pytest.approx(kept)
    for row in rows:
        assert row["half"] == library.plan(1.0, 1e-8, row["keys_per_unit"]).half
        assert row["before"] == pytest.approx(row["half"] / row["kept"])


def test_a_bound_of_your_own_is_compared_too(tamis: Run) -> None:
    words = (*PLAN[:-1], "10", "--units-have", "40", "--suggest", "--json")
    rows = tamis(*words).json["suggestions"]
    assert [row["keys_per_unit"] for row in rows] == [1, 2, 4, 8, 10, 16, 32, 40, 64, 128]
    assert "expected" not in rows[0]


def test_expected_keys_take_account_of_what_is_dropped(tamis: Run) -> None:
    whole = tamis(*PLAN, *SHAPE, "--json").json["expected"]
    few = tamis(*PLAN, *SHAPE, "--units-have", "3", "--json").json["expected"]
    many = tamis(*PLAN, *SHAPE, "--units-have", "40", "--json").json
    assert few == whole
    assert many["units"]["kept"] == pytest.approx(0.1)
    assert all(many["expected"][way] < whole[way] for way in whole)
    for words in ((), SHAPE):
        shown = tamis(*PLAN, *words, "--units-have", "40").text
        assert "if units have 40 keys each, 10 % of the data is kept" in shown
    assert "if units have 1 key each" in tamis(*PLAN, "--units-have", "1").text


TYPICAL = [1, 2, 3, 6, 12, 24, 48, 96, 192]  # what the private choice takes units to have


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 1000), min_size=9, max_size=9).filter(any))
def test_it_is_what_the_private_choice_would_take(many: list[int]) -> None:
    """With so many units that its noise does not matter; it knows powers of two only."""
    spread = np.array(many, dtype=np.int64) * 10**9
    chosen = bound.choose(spread, bound.halves(1.0, 1e-8, 1, False), 100.0)
    have = Units("", np.array(TYPICAL, dtype=np.float64), np.array(many, dtype=np.float64))
    rows = compare.suggestions(library.plan(1.0, 1e-8), have, None)
    before = {row["keys_per_unit"]: row["before"] for row in rows}
    assert before[chosen] == pytest.approx(min(before[k] for k in bound.CHOICES))


def test_a_public_table_of_units(tamis: Run, folder: Path) -> None:
    (folder / "units.csv").write_text("keys,units\n1,500\n30,100\n")
    said = tamis(*PLAN, "--units-have", "units.csv", "--suggest", "--json").json
    listed = tamis(*PLAN, "--units-have", "1:500,30:100", "--suggest", "--json").json
    assert said["suggestions"] == listed["suggestions"]


def test_shares_of_units_and_means_of_keys_will_do() -> None:
    assert units("1:0.5,4:0.5").kept(2) == pytest.approx(units("1:5,4:5").kept(2))
    assert units("2.5").kept(1) == pytest.approx(0.4)


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 9)), min_size=1, max_size=9))
def test_a_larger_bound_keeps_more_until_all_is_kept(pairs: list[tuple[int, int]]) -> None:
    have = units(",".join(f"{keys}:{many}" for keys, many in pairs))
    kept = [have.kept(k) for k in (1, 2, 50, 299, 300, 1000)]
    assert kept == sorted(kept)
    assert 0 < kept[0]
    assert kept[-1] == pytest.approx(1)


def test_where_half_are_never_named_there_is_no_suggestion() -> None:
    rows = [{"keys_per_unit": k, "kept": 1.0, "half": None, "before": None} for k in (1, 2)]
    assert compare.best(rows) is None
    document = {"units": {"have": "3 keys"}, "suggestions": rows, "suggested": None, "model": ""}
    shown = plan.suggested(document)
    assert shown.count("never") == 4
    assert "suggested: none, because" in shown


def test_a_sample_has_suggestions_too(tamis: Run) -> None:
    words = (*PLAN, "--units-have", "3", "--suggest", "--scheme", "ppswor", "--tau", "0.01")
    said = tamis(*words, "--json").json
    half = {row["keys_per_unit"]: row["half"] for row in said["suggestions"]}
    assert said["suggested"] == 3
    assert half[4] == library.plan(1.0, 1e-8, 4, scheme=library.Ppswor(0.01)).half


@pytest.mark.parametrize(
    ("have", "code"),
    [
        ("many", 2),
        ("0", 2),
        ("-3", 2),
        ("1:0,2:0", 2),
        ("0:5,2:5", 2),
        ("10000000", 2),
        ("zipf:1:100000000", 2),
        ("zipf:1:0", 2),
        ("1:2:3", 2),
        ("words.csv", 2),
        ("bad.csv", 4),
        ("nowhere.csv", 2),
    ],
)
def test_what_cannot_be_is_refused(tamis: Run, folder: Path, have: str, code: int) -> None:
    (folder / "bad.csv").write_text("keys,units\nx,1\n")
    ran = tamis(*PLAN, f"--units-have={have}", "--suggest")
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, b"", 1), ran.err
