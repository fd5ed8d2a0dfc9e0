"""The page of clusters shows what the release says, nothing else, and nothing that acts."""

from __future__ import annotations

import re
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.privacy import verify
from tamis.releases.clusters.clusters import Clusters
from tamis.releases.clusters.noise import Noise, suggested_reach
from tamis.releases.report import registry_yaml, write_report
from tamis.releases.report.clusters_rows import components
from tamis.releases.report.page import page
from tests.pages import CHROMIUM, HOSTILE, Page, check_readable, opened, rows_of
from tests.releases.clusters.making import drawn, made
from tests.releases.collected.making import ENTRY

MANY = np.random.default_rng(3).uniform(-1, 1, (150, 30))
PAGES: dict[str, Clusters] = {
    "three": made(),
    "drawn": drawn(),
    "many": made(MANY, np.geomspace(1, 1e6, 150), [f"column {n}" for n in range(30)]),
    "one": made([[0.25]], [900.0], ["x"]),
    "one column": made([[0.25], [-0.5]], [900.0, 10.0], ["x"]),
    "all at one place": made([[0.25, 0.1]] * 3, [0.0, 0.0, 0.0], ["x", "y"]),
    "in a ball": made(bounds=None, radius=1e-6),
    "huge": made([[1e90], [-1e90]], [5.0, 4.0], ["x"], bounds=((-1e99, 1e99),)),
    "a little epsilon": made(epsilon=1e-4),
    "a large epsilon": made(epsilon=1000.0),
    "one step": made(max_iter=1, steps=1),
    "uniform": drawn(sampler="uniform", rate=0.5),
    "coreset": drawn(sampler="coreset", mixing=0.3),
    "optimal": drawn(sampler="optimal"),
    "charged": made(entry=ENTRY, filtered=True),
}
PARTS = [
    "What this is",
    "The guarantee, formally",
    "Centres and sizes",
    "The clusters as a picture",
    "How to read it",
    "What noise costs, by epsilon",
    "What was spent",
    "How to verify",
    "What is not protected",
    "How to cite",
]


def test_every_part_has_a_heading_of_its_own() -> None:
    seen = Page(page(made()))
    assert seen.text["h1"] == ["Private release of clusters in x, y, z"]
    assert seen.text["h2"] == PARTS


def test_the_guarantee_is_said_in_plain_words_and_formally_with_its_numbers() -> None:
    text = page(made())
    for words in (
        "it holds the centres of 3 clusters in x, y, z, and about how many rows each has",
        "by a factor of at most 2.72",
        "between 26.9 % and 73.1 % sure",
        "That holds without exception: delta is 0",
        "with two, the factor is 7.39 and not 2.72",
        "Pr[M(D) ∈ T] ≤ e1 · Pr[M(D′) ∈ T]",
        "2026-02-03",
        "tamis 9.8.7",
    ):
        assert words in Page(text).body, words
    said = dict(rows_of(text, "parameters"))
    assert (said["epsilon"], said["delta"], said["unit"]) == ("1.0", "0.0", "row")
    assert said["rows sampled"] == "no, all rows were used"
    assert rows_of(text, "numbers bounds") == [[name, "-1", "1"] for name in "xyz"]
    assert "Rows were chosen by a condition" in page(PAGES["charged"])
    assert "the farthest rows with probability 0.5" in page(PAGES["uniform"])
    assert ["radius (sum of absolute values)", "1e-06"] in rows_of(
        page(PAGES["in a ball"]), "parameters"
    )


def test_the_table_has_the_centres_and_a_bar_as_long_as_the_size() -> None:
    release = made()
    shown = rows_of(page(release), "numbers bars")
    assert [row[:5] for row in shown] == [
        ["0", "-0.75", "0.25", "0.5", "3,001"],
        ["1", "0.5", "-0.5", "0", "1,200"],
        ["2", "0.25", "0.75", "-0.5", "0"],
    ]
    wide = [float(re.findall(r'width="([\d.]+)%"', row[5])[0]) for row in shown]
    assert wide[1] / wide[0] == pytest.approx(1200 / 3001, rel=1e-3)
    assert wide[2] == 0
    assert 80 < wide[0] <= 92
    many = page(PAGES["many"])
    assert len(rows_of(many, "numbers bars")) == 100
    assert "The 100 largest of 150 clusters, by estimated size; 24 columns more in the file" in many


def test_the_picture_keeps_distances_and_shows_sizes_as_areas() -> None:
    release = made([[0.0, 0.0], [0.8, 0.0], [0.0, 0.4]], [400.0, 100.0, 25.0], ["x", "y"])
    found = re.findall(r'class="disc" cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"', page(release))
    x, y, r = np.array(found, dtype=float).T  # the largest first
    assert r**2 / r[0] ** 2 == pytest.approx([1, 0.25, 0.0625], rel=0.01)
    long, short = np.hypot(x[1] - x[0], y[1] - y[0]), np.hypot(x[2] - x[0], y[2] - y[0])
    assert long / short == pytest.approx(2, rel=0.01)
    rule = re.search(r'x1="14" x2="([\d.]+)" y1="[\d.]+" y2="[\d.]+"/>\n<text[^>]*>([\d.]+)<',
                     page(release))  # fmt: skip
    assert rule
    assert (float(rule[1]) - 14) / float(rule[2]) == pytest.approx(long / 0.8, rel=0.01)


def test_components_are_those_of_the_released_centres_by_size() -> None:
    release = PAGES["many"]
    weights = np.maximum(release.sizes, 1)
    spread = np.cov(release.centers.T, aweights=weights, ddof=0)
    values, vectors = np.linalg.eigh(spread)
    found = components(release)
    assert found.shares == pytest.approx(values[::-1][:2] / values.sum())
    for direction, vector in zip(found.directions, vectors.T[::-1], strict=False):
        assert abs(direction @ vector) == pytest.approx(1)
    assert components(PAGES["all at one place"]).shares.tolist() == [0, 0]


def test_noise_is_told_for_other_epsilons_and_said_to_be_no_fit() -> None:
    release = drawn()
    text = page(release)
    assert (
        "How good the centres are for the data cannot be said without looking at it"
        in Page(text).body
    )
    shown = {row[0]: row[1:] for row in rows_of(text, "numbers")}
    assert list(shown) == ["0.2", "0.4", "1", "2", "4", "10", "20"]
    noise, reach = Noise(release.about, release.sizes), suggested_reach(release)
    assert reach
    for epsilon, (largest, middling, smallest, far, cost) in shown.items():
        expected = noise.errors(float(epsilon), reach)
        assert [largest, middling, smallest] == [f"{e:.3g}" for e in expected]
        assert far == f"{noise.errors(float(epsilon), 3.0)[1]:.3g}"
        assert cost == f"{noise.cost(float(epsilon), reach):.3g}"


@pytest.mark.parametrize("name", PAGES)
def test_everything_that_is_drawn_lies_in_the_picture(name: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", page(PAGES[name]), re.DOTALL)
    assert len(figures) == 3
    for figure, (wide, high) in zip(figures, ((640, 460), (460, 310), (460, 310)), strict=True):
        assert f'viewBox="0 0 {wide} {high}"' in figure
        lines = re.findall(r'<polyline[^>]* points="([^"]*)"', figure)
        spots = [tuple(map(float, p.split(","))) for line in lines for p in line.split()]
        pairs = re.findall(r'\bc?x\d?="([\d.-]+)" c?y\d?="([\d.-]+)"', figure)
        spots += [(float(a), float(b)) for a, b in pairs]
        assert spots
        assert all(0 <= x <= wide and 0 <= y <= high for x, y in spots)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole_and_small_and_nothing_runs(name: str) -> None:
    text = page(PAGES[name])
    seen = Page(text)
    assert len(text.encode()) < 120_000
    assert len(seen.all("figure")) == len(seen.all("figcaption")) == 3
    assert not re.search(r"\b(nan|inf|None)\b", text.partition("</style>")[2])
    tags = {tag for tag, _ in seen.found}
    assert not tags & {"script", "iframe", "img", "object", "embed", "form", "a", "base"}
    for _, attributes in seen.found:
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert not re.search(r"https?:|url\(|@import", text)
    check_readable(seen)


def labelled(text: str) -> Clusters:
    return made(columns=[text, f"{text} 2", "plain"], day=text, library=text, entry={text: text})


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_wherever_it_stands(text: str) -> None:
    hostile = page(labelled(text))
    assert Page(hostile).found == Page(page(labelled("calm"))).found
    assert all(c.isprintable() or c == "\n" for c in hostile)
    entry = yaml.safe_load(registry_yaml(labelled(text)))
    assert list(entry["deployment"]) == list(yaml.safe_load(registry_yaml(made()))["deployment"])


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=60))
def test_no_name_changes_the_elements_of_the_page(text: str) -> None:
    assert Page(page(labelled(text))).found == Page(page(labelled("calm"))).found


def test_the_page_of_a_saved_release_is_the_page_of_the_release(tmp_path: Path) -> None:
    for release in PAGES.values():
        release.save(tmp_path / "release.parquet")
        again = tamis.open(tmp_path / "release.parquet")
        assert page(again) == page(release)
        assert registry_yaml(again) == registry_yaml(release)


def test_the_steps_to_verify_work_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release = PAGES["coreset"]
    release.save(tmp_path / "release.parquet")
    monkeypatch.chdir(tmp_path)
    text = page(release)
    (step,) = [s for s in Page(text).text["code"] if "read_metadata" in s]
    exec(compile(step, "report", "exec"), {})
    taken = (tmp_path / "certificate.json").read_bytes()
    assert taken.decode() == release.certificate.text
    assert sha256(taken).hexdigest() in text
    assert verify.main(["certificate.json"]) == 0
    assert capsys.readouterr().out.startswith("verified: epsilon 2.0 when one unit ('row')")
    assert release.digest in Page(text).text["code"]


def test_what_was_spent_is_listed_with_the_entry_of_the_ledger() -> None:
    text = page(PAGES["charged"])
    spent = [row[:3] for row in rows_of(text, "spent")]
    assert spent[-1] == ["together", "1.0", "0.0"]
    assert sum(float(row[1]) for row in spent[:-1]) == pytest.approx(1.0)
    assert ["budget", "<code>devices</code>"] in rows_of(text, "ledger")
    assert "No ledger was named" in page(made())


@pytest.mark.parametrize("name", PAGES)
def test_the_registry_entry_has_the_fields_of_the_registry(name: str) -> None:
    entry = yaml.safe_load(registry_yaml(PAGES[name]))["deployment"]
    assert list(entry) == [
        "basic",
        "dp_variant",
        "privacy_loss",
        "deployment_model",
        "implementation",
        "administrative",
    ]
    assert entry["dp_variant"]["variant_name"] == "Pure DP"
    promised = {"epsilon": PAGES[name].guarantee.epsilon, "delta": 0.0}
    assert entry["privacy_loss"]["privacy_parameters"] == promised
    assert entry["privacy_loss"]["privacy_unit"] == "Row-level"
    assert entry["implementation"]["additional_information"].endswith(f"{PAGES[name].digest}.")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed, so no page is rendered")
@pytest.mark.skipif(sys.platform != "linux", reason="the browser is looked for on Linux only")
def test_a_browser_renders_the_page_and_has_nothing_to_complain_about(tmp_path: Path) -> None:
    write_report(drawn(), tmp_path / "report.html")
    said, picture = opened(tmp_path / "report.html", tmp_path)
    assert said == ""
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size > 50_000
