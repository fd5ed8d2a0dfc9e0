"""The experiments of papers/federated: what is measured is what is said, and what is skipped."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from papers.federated import (
    claims_errors,
    claims_privacy,
    draw,
    experiments,
    figures,
    methods,
    privacy,
)
from papers.federated.claims import DETAIL, HEADER, Claim, listed, verdict, where
from papers.federated.data import SHAKESPEARE, Held, Words, binomial, hashed, shakespeare
from papers.federated.experiments import ALL, LARGEST, MISSED, SAMPLED, TOTAL, estimated, sweep
from papers.federated.methods import AMPLIFIED, CENTRAL, DROPPED, LOCAL, OURS, SHUFFLED
from papers.federated.settings import DOMAINS, EPSILONS, POSTER_P, POSTER_TAU, RECALL, THRESHOLDS
from papers.federated.words import COMPARED, LEAF, TRIE, recall
from papers.page import by_claim, claims_table, replaced
from papers.sparse.draws import repeatable

needs_text = pytest.mark.skipif(not SHAKESPEARE.exists(), reason="the text is not here")

FEW = binomial(64, 6000)


@pytest.fixture
def short_text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("The king's\thorse, the HORSE;\n[the 2 kings]\n")
    return path


def test_every_method_is_measured_where_it_belongs() -> None:
    with repeatable(1):
        drawn = [(setting, method) for setting, method, _ in estimated(FEW, 1.0)]
    others = [CENTRAL, LOCAL, SHUFFLED, DROPPED]
    expected = {(SAMPLED, m) for m in [OURS, AMPLIFIED, *others]} | {(ALL, m) for m in others}
    assert len(drawn) == len(expected)
    assert set(drawn) == expected


def test_errors_are_sums_and_maxima_over_all_cells() -> None:
    held = Held("four", 4, np.array([0, 0, 0, 1, 3]))
    found = experiments._errors(np.array([5.0, 0.0, -1.0, 1.0]), held)
    assert found == pytest.approx({TOTAL: 4 / 5, LARGEST: 2 / 5, MISSED: 1 / 5})


def test_central_noise_on_all_clients_has_the_error_of_its_law() -> None:
    held, epsilon = binomial(2**14, 6000), 0.5
    a = math.exp(-epsilon)
    found = sweep(held, 2, (epsilon,)).at(ALL, CENTRAL)[0]
    assert found == pytest.approx(held.domain * 2 * a / (1 - a * a) / 6000, rel=0.03)


def test_on_the_same_sample_hardly_any_noise_is_hardly_any_difference() -> None:
    """At a large epsilon what is left of central noise is the error of sampling."""
    found = sweep(Held("one", 2, np.zeros(5000, dtype=np.int64)), 5, (4.0,))
    assert found.over(SAMPLED, CENTRAL)[0] == pytest.approx(1, abs=0.05)
    assert found.over(ALL, CENTRAL)[0] > 10


def test_the_same_seed_gives_the_same_errors() -> None:
    first, second = (sweep.__wrapped__(FEW, 2, (0.5, 1.0)) for _ in range(2))
    assert all(np.array_equal(first.errors[key], second.errors[key]) for key in first.errors)
    assert first.at(ALL, OURS) is first.at(SAMPLED, OURS)


def test_sampling_is_counted_so_that_epsilon_is_met() -> None:
    for epsilon, p in ((0.1, 0.05), (1.0, 0.25), (4.0, 0.4)):
        inner = math.log1p(math.expm1(epsilon) / p)
        assert math.log1p(p * math.expm1(inner)) == pytest.approx(epsilon)
    assert methods.ours(1.0).p == pytest.approx(0.2537, abs=1e-3)


def test_the_curve_of_figure_1_has_the_exact_delta_at_its_top() -> None:
    curve = privacy.by_others(POSTER_P, POSTER_TAU, 1.0, np.arange(400))
    assert curve.max() == pytest.approx(privacy.exact(POSTER_TAU), rel=1e-9)
    assert curve.max() == pytest.approx(6.01e-6, rel=1e-3)
    assert all(privacy.exact(tau) <= privacy.bound(tau) for tau in THRESHOLDS)


def test_binomial_data_has_one_item_for_each_client() -> None:
    for domain in DOMAINS:
        held = binomial(domain)
        assert held.truth.sum() == len(held.items) == 204_000
        assert len(held.truth) == domain
        assert held.items.mean() == pytest.approx((domain - 1) / 2, rel=1e-3)


def test_a_text_is_split_into_words_and_these_into_cells(short_text: Path) -> None:
    words = shakespeare(short_text)
    assert isinstance(words, Words)
    assert words.by_frequency == ["the", "horse", "king's", "kings"]
    held = hashed(words, 64)
    assert held.truth.max() >= 3
    assert held.truth.sum() == 7
    assert np.array_equal(held.items, hashed(words, 2**10).items % 64)


@needs_text
def test_the_words_are_those_that_the_readme_tells_of() -> None:
    words = shakespeare()
    assert words is not None
    assert (len(words.words), len(words.by_frequency)) == (204_000, 14_101)
    cells = [int((hashed(words, domain).truth > 0).sum()) for domain in DOMAINS]
    assert cells == [64, 1024, 9507]


@pytest.mark.slow
@needs_text
def test_leaf_level_finds_the_words_that_triehh_misses() -> None:
    words = shakespeare()
    assert words is not None
    found = recall(words, RECALL)
    assert found[LEAF][0] == 1
    assert found[LEAF][1] >= 0.94
    assert found[TRIE] == pytest.approx([0.27, 0.07], abs=0.03)


def test_figures_of_a_missing_text_are_skipped_aloud_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "figure-3.png"
    before.write_bytes(b"as it was")
    figures.run(tmp_path, only=(3, 4, 5), text=tmp_path / "nothing.txt.gz")
    assert capsys.readouterr().out.count("skipped, nothing.txt.gz is not there") == 3
    assert before.read_bytes() == b"as it was"
    assert list(tmp_path.iterdir()) == [before]


def test_rows_of_skipped_figures_stay_in_the_table() -> None:
    old = "| 3a | old | old | old | old |\n| 2a | stale | - | - | - |"
    new = Claim("2a", "new", "1", "holds")
    assert claims_table(old, [new], frozenset({3}), HEADER)[2:] == [new.row(), old.splitlines()[0]]


def test_details_of_skipped_figures_stay_in_the_list() -> None:
    old = "- **3a**: old\n| 3a | a row |\n- **2a**: stale\n- **Small domain**: prose"
    new = Claim("2a", "new", "1", "holds", "more of it")
    lines = by_claim(old, {new.number: new.item()}, frozenset({2, 3}), DETAIL)
    assert lines == ["- **2a**: more of it", "- **3a**: old"]


def test_cells_of_the_claims_are_short() -> None:
    rows = figures.README.read_text(encoding="utf-8").partition("<!-- end of claims -->")[0]
    rows = rows.partition("<!-- claims -->")[2]
    assert max(len(cell) for row in rows.splitlines() for cell in row.split("|")) <= 100


def test_every_way_to_find_words_has_a_colour_of_its_own() -> None:
    colours = {style["color"] for style in draw.WORDS.values()}
    assert set(draw.WORDS) == set(COMPARED)
    assert len(colours) == len(COMPARED)


def test_the_readme_has_a_row_for_every_figure_and_places_for_its_tables() -> None:
    text = figures.README.read_text(encoding="utf-8")
    for name in ("claims", "details", "rates", "ratios", "fair"):
        assert replaced(text, name, []) != text
    for number in (*figures.SYNTHETIC, *figures.REAL):
        assert f"\n| {number}a | " in text
        assert f"](figure-{number}.png)" in text
        assert (figures.HERE / f"figure-{number}.png").exists()


def test_readme_has_the_rows_that_are_computed() -> None:
    written = figures.README.read_text(encoding="utf-8").splitlines()
    claims = claims_privacy.figure_1()
    details = [claim.item() for claim in claims if claim.details]
    for line in (*(claim.row() for claim in claims), *details, *claims_privacy.rates()):
        assert line in written


@pytest.mark.slow
def test_readme_has_the_rows_that_are_measured() -> None:
    written = figures.README.read_text(encoding="utf-8").splitlines()
    for claim in claims_errors.figure_2():
        assert claim.row() in written
        assert claim.item() in written


def test_small_ratios_keep_their_digits() -> None:
    assert listed(np.array([0.00051, 0.079, 1.0, 7.06, 9.96, 123.4])) == (
        "×0.00051, ×0.079, ×1.0, ×7.1, ×10, ×123"
    )


def test_a_verdict_is_short_and_the_details_say_where() -> None:
    everywhere, nowhere = np.ones(len(EPSILONS), dtype=bool), np.zeros(len(EPSILONS), dtype=bool)
    below = np.array(EPSILONS) < 0.5
    assert [verdict(x) for x in (everywhere, below, nowhere)] == [
        "holds",
        "in part",
        "does not hold",
    ]
    assert [where(x) for x in (everywhere, below, nowhere)] == [
        "at every ε",
        "at ε = 0.1 to 0.3",
        "at no ε",
    ]
