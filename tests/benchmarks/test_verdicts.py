"""What laws decide where few runs do not, and what is said of laws that do not fit their runs."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.measure import Cost
from benchmarks.peers.notes import notes
from benchmarks.peers.results import Asked, Expected, Figure, Result
from benchmarks.peers.standings import NOBODY
from benchmarks.peers.verdicts import KEYS, NAMED, misfits, standing, verdict

PLAIN = Cost(0.5, 14.0)


def result(
    method: str, law: tuple[float, float] | None, keys: float, error: float, runs: int = 2
) -> Result:
    """Runs with these figures, and a law that expects others."""
    figure, wide = Figure(error, 0.5), Figure(keys, 5.0)
    by_law = law and Expected(Figure(law[0], 2.0), *[Figure(law[1], 0.1)] * 3)
    return Result(
        Asked("log", 4, method), PLAIN, runs, wide, figure, figure, figure, Figure(1.0),
        Figure(50.0), by_law,
    )  # fmt: skip


def test_laws_decide_where_few_runs_do_not() -> None:
    ours, without = result("tamis", (100, 2.0), 100, 2.0), result("x", None, 95, 1.9)
    assert verdict(NAMED, ours, without) == "too few runs to tell"
    for law, keys, error in (
        ((95, 2.1), "first", "first"),
        ((99.6, 1.995), "level", "level"),
        ((99.4, 1.985), "first", "behind"),
        ((101.1, 1.9), "behind", "behind"),
    ):
        other = result("x", (float(law[0]), law[1]), 96, 1.95)
        assert (verdict(KEYS, ours, other), verdict(NAMED, ours, other)) == (keys, error)
    few = replace(ours, expected=Expected(Figure(3.0, 0.1), *[Figure(2.0, 0.1)] * 3))
    few = replace(few, keys=Figure(3.0))
    other = replace(few, expected=Expected(Figure(3.09, 0.1), *[Figure(2.0, 0.1)] * 3))
    assert verdict(KEYS, few, replace(other, keys=Figure(3.4))) == "level"
    assert standing(NAMED, ours, [result("x", (95, 1.5), 96, 1.8)]).figures == (1.5, 2.0)


def test_a_law_that_does_not_fit_its_runs_is_told_and_does_not_decide() -> None:
    ours, wrong = result("tamis", (100, 2.0), 100, 2.0), result("OpenDP, x", (80, 1.0), 100, 1.9)
    assert KEYS in misfits(wrong)
    assert NAMED in misfits(wrong)
    assert not misfits(ours)
    assert verdict(NAMED, ours, wrong) == "too few runs to tell"
    said = notes([ours, wrong], ("tamis",))
    line = "- **does not fit**: OpenDP, x on log with 4 keys, keys named: 100 in 2 runs, and 80 ± 2"
    assert f"{line} by its law. So the runs decide." in said
    assert "Its law does not fit, and 2 runs named 200 keys." in said
    assert "does not fit**" in notes([wrong], ("OpenDP, x",))
    assert NOBODY in notes([wrong], ("OpenDP, x",))
    assert misfits(replace(ours, keys=Figure(85.0))) == [KEYS]
    lucky = replace(ours, keys=Figure(0.5), expected=Expected(Figure(0.01, 0.07), *[None] * 3))
    assert not misfits(lucky)  # one key in two runs
    little = replace(wrong, keys=Figure(4.0), expected=Expected(Figure(4.0, 1.0), *[None] * 3))
    assert not misfits(little)  # errors of 8 keys say nothing against a law


def test_every_case_without_a_verdict_is_told_with_its_reason() -> None:
    ours, without = result("tamis", (100, 2.0), 100, 2.0), result("OpenDP, x", None, 95, 1.9, 3)
    said = notes([ours, without], ("tamis",))
    assert "said of every case. Left to runs: OpenDP, x.\n" in said
    assert (
        "too few runs to tell even with the better row: OpenDP, x on log with 4 keys (1.9, ours 2)."
        " Its law was not computed, and 3 runs named 285 keys."
    ) in said
    known = replace(without, expected=Expected(Figure(95.0, 2.0), *[Figure(1.9, 0.1)] * 3))
    unknown = replace(ours, expected=None, named=Figure(2.0, 1.0))
    told = notes([unknown, known], ("tamis",))
    assert "level in 1 of 1; with the better row level in 1 of 1" in told
    few = replace(unknown, keys=Figure(9.0, 5.0))
    assert "The law of ours was not computed, and 2 runs named 18 keys." in notes(
        [few, known], ("tamis",)
    )
