"""The figures and claims of papers/weighted: numbers, verdicts, and what happens without data."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from papers import page
from papers.weighted import (
    accuracy,
    claims_estimation,
    claims_histogram,
    claims_sampling,
    figures,
    tables,
)
from papers.weighted.claims import HEADER, Claim
from papers.weighted.data import HEADLINES, Counts, headline_words, zipf
from papers.weighted.methods import over_delta, over_tau
from papers.weighted.settings import FINE_DELTA, HISTOGRAMS
from tamis.sampling.schemes import Pps
from tamis.weighted.estimators import MaximumLikelihood, population_error
from tamis.weighted.laws import SurvivalLaw

needs_headlines = pytest.mark.skipif(not HEADLINES.exists(), reason="the ABC data are not here")


@pytest.fixture
def few_words(tmp_path: Path) -> Path:
    path = tmp_path / "headlines.csv.gz"
    rows = ["publish_date,headline_text", *["20030219,rain in town"] * 60, "20030220,more rain"]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(rows))
    return path


def verdicts(claims: list[Claim]) -> dict[str, str]:
    return {claim.number: claim.verdict for claim in claims}


def by_hand(alpha: float, threshold: float) -> float:
    """Gain at (0.1, 0.001) from Algorithm 3 and the Laplace distribution, key by key."""
    e, delta, counts = math.exp(0.1), 0.001, zipf(alpha)
    pi = [0.0]
    while pi[-1] < 1:
        pi.append(min(1.0, e * pi[-1] + delta, 1 + (pi[-1] + delta - 1) / e))
    pws = sbh = 0.0
    for i, keys in zip(counts.frequency.tolist(), counts.keys.tolist(), strict=True):
        tail = 0.5 * math.exp(-0.1 * abs(threshold - i))
        pws += keys * pi[min(i, len(pi) - 1)]
        sbh += keys * (tail if i < threshold else 1 - tail)
    return pws / sbh - 1


@pytest.mark.parametrize(("alpha", "stated"), [(0.5, 2.30), (1, 0.97), (2, 0.37)])
def test_gains_without_sampling_are_those_of_the_caption_of_figure_5(
    alpha: float, stated: float
) -> None:
    gain, fair = claims_sampling.unsampled_gain(alpha)
    assert 0 <= gain - stated < 0.025
    assert gain == pytest.approx(by_hand(alpha, 10 * math.log(1000) + 1))
    assert fair == pytest.approx(by_hand(alpha, 10 * math.log(500) + 1))


def test_the_least_gain_of_figure_5_holds_for_zipf_one_half_only() -> None:
    found = verdicts(claims_sampling.figure_5())
    assert found["5a"] == "holds"
    assert found["5b"].startswith("does not hold below τ = 0.025 (95 %)")
    assert found["5c"].startswith("does not hold below τ = 0.04 (14 %)")


def test_the_range_of_figure_2_holds_for_zipf_1_and_not_for_zipf_2() -> None:
    found = verdicts(claims_histogram.figure_2())
    assert found["2a"].startswith("holds with at most 224 %")
    assert found["2b"].startswith("does not hold: less than 20 %")


@pytest.mark.parametrize(("epsilon", "delta"), HISTOGRAMS)
def test_reporting_ratio_is_a_geometric_sum_up_to_l(epsilon: float, delta: float) -> None:
    upto = math.floor(claims_histogram.turning(epsilon, delta))
    sums = np.cumsum(np.exp(-epsilon * np.arange(upto)))
    assert claims_histogram.ratios(epsilon, delta, upto) == pytest.approx(2 * sums)
    assert claims_histogram.ratios(epsilon, delta, upto, fair=True) == pytest.approx(sums)


def test_reporting_ratio_exceeds_the_printed_bound() -> None:
    assert claims_histogram.ratios(1.0, 1e-6, 12).max() > 2 / 1.0
    assert claims_histogram.ratios(0.01, 1e-6, 851).max() > 2 / 0.01


def test_pws_is_the_non_private_sample_up_to_delta_and_not_above() -> None:
    sweep = over_tau(zipf(1), 0.1, 1e-3, np.array([1e-4, 1e-3, 2e-3]))
    assert sweep.pws[:2] == pytest.approx(sweep.non_private[:2], rel=1e-12)
    assert sweep.pws[2] < 0.99 * sweep.non_private[2]


def test_fair_threshold_reports_more_than_the_printed_one_and_less_than_pws() -> None:
    sweep = over_delta(zipf(1), 0.1, np.logspace(-8, -1, 8))
    assert np.all(sweep.sbh < sweep.fair)
    assert np.all(sweep.fair < sweep.pws)


def test_error_of_the_selection_is_the_population_error_of_its_keys() -> None:
    law = SurvivalLaw(0.1, FINE_DELTA, Pps(1e-4))
    keys = np.repeat(accuracy.SELECTION, accuracy.PER_FREQUENCY)
    expected = population_error(law, MaximumLikelihood(law), keys).nrmse
    assert accuracy.pws(0.1, 1e-4, 200).of_selection() == pytest.approx(expected, rel=1e-9)


def test_pws_has_its_sweet_spot_midway_and_sbh_has_not() -> None:
    rates = (1e-6, 2.4e-5, 1.0)
    few, best, none = (accuracy.pws(0.1, tau, 200).of_selection() for tau in rates)
    assert best == pytest.approx(0.057, abs=1e-3)
    assert best < 0.5 * min(few, none)
    sampled = [accuracy.sbh(0.1, tau, 200).of_selection() for tau in rates]
    assert sampled == sorted(sampled, reverse=True)


def test_accuracy_reaches_twice_as_low_with_sampling_and_not_without() -> None:
    for target in tables.BIAS_TARGETS:
        plain, sampled = (tables.bias_reach(0.1, tau, target) for tau in (1.0, 1e-4))
        assert plain is not None
        assert sampled is not None
        assert plain < 1.5
        assert 2 < sampled < 8


def test_reached_is_the_place_from_which_an_error_stays_low() -> None:
    errors = np.array([0.9, 0.1, 0.4, 0.2, 0.1])
    assert accuracy.reached(errors, 0.2) == 4
    assert accuracy.reached(errors, 1.0) == 1
    assert accuracy.reached(errors, 0.05) is None


def test_readme_has_the_rows_that_are_computed() -> None:
    written = figures.README.read_text(encoding="utf-8").splitlines()
    checks = (
        claims_histogram.figure_1,
        claims_histogram.figure_2,
        claims_sampling.figure_4,
        claims_sampling.figure_5,
        claims_estimation.figure_9,
    )
    for claim in (claim for check in checks for claim in check()):
        assert claim.row() in written


@needs_headlines
def test_readme_has_the_rows_of_the_headline_words() -> None:
    words = headline_words()
    assert words is not None
    assert words.distinct == 24_828
    assert int(words.keys @ words.frequency) == 472_078
    written = figures.README.read_text(encoding="utf-8").splitlines()
    for _, check in figures.REAL.values():
        assert all(claim.row() in written for claim in check(words))


def test_headlines_are_split_into_words_and_counted(few_words: Path) -> None:
    words = headline_words(few_words)
    assert isinstance(words, Counts)
    assert dict(zip(words.frequency.tolist(), words.keys.tolist(), strict=True)) == {
        1: 1,
        60: 2,
        61: 1,
    }


def test_figures_of_missing_data_are_skipped_aloud_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "figure-7.png"
    before.write_bytes(b"as it was")
    figures.run(tmp_path, only=(3, 6, 7), headlines=tmp_path / "nothing.csv.gz")
    assert capsys.readouterr().out.count("skipped, nothing.csv.gz is not there") == 3
    assert before.read_bytes() == b"as it was"
    assert list(tmp_path.iterdir()) == [before]


def test_rows_of_skipped_figures_stay_in_the_table() -> None:
    old = "| 3a | old | old | old | old | old |\n| 5a | stale | - | - | - | - |"
    new = Claim("5a", "new", "1", "2", "holds")
    table = page.claims_table(old, [new], frozenset({3}), HEADER)
    assert table[2:] == [old.splitlines()[0], new.row()]


def test_a_table_is_replaced_between_its_comments_only() -> None:
    text = "a\n<!-- t -->\nold\n<!-- end of t -->\nb"
    assert page.replaced(text, "t", ["new"]) == text.replace("old", "new")
    with pytest.raises(ValueError, match="no place for 'other'"):
        page.replaced(text, "other", ["new"])


@pytest.mark.slow
def test_the_same_figure_is_drawn_to_the_same_bytes(
    tmp_path: Path, few_words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        figures.run(tmp_path / name, only=(1, 7), headlines=few_words)
        pictures.append([(tmp_path / name / f"figure-{n}.png").read_bytes() for n in (1, 7)])
    assert pictures[0] == pictures[1]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures[0])
    assert "7a" in capsys.readouterr().out
