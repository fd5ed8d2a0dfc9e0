"""The page of devices' reports shows what the release says, nothing else, and nothing that acts."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tamis
from tamis.privacy import verify
from tamis.releases.collected.collected import Collected
from tamis.releases.report import registry_yaml, write_report
from tamis.releases.report.collected_figures import sizes, ways
from tamis.releases.report.page import page
from tests.pages import CHROMIUM, HOSTILE, Page, check_readable, opened, rows_of
from tests.releases.collected.making import ENTRY, QUERY, items, mechanism, quantiles

PAGES: dict[str, Collected] = {
    "a histogram": items(),
    "many items": items({f"word {n}": 14 + 3000 // (n + 1) for n in range(300)}),
    "no item": items({}),
    "whole numbers": items({7: 90, 0: 90}, domain=10),
    "a tree": items({"the": 900}, kind="heavy hitters", rounds=4),
    "replaced": items(neighbours="replace"),
    "quantiles": quantiles(),
    "one quantile": quantiles([(0.5, 40, 40, 40)]),
    "quantiles of one number": quantiles([(0.0, 0, 0, 0), (1.0, 0, 0, 0)], domain=1),
    "quantiles of huge numbers": quantiles([(0.5, 2**61, 5, 2**62 - 1)], domain=2**62),
}
ITEMS = ["a histogram", "many items", "no item", "whole numbers", "a tree", "replaced"]
PARTS = [
    "What this is",
    "The guarantee, formally",
    "The most frequent items",
    "How to read estimates and intervals",
    "What to expect of the method",
    "What was spent",
    "How to verify",
    "What is not protected",
    "How to cite",
]


def body(made: Collected) -> str:
    return Page(page(made)).body


# --- what is in it -------------------------------------------------------------------------------


def test_every_part_has_a_heading_of_its_own() -> None:
    seen = Page(page(items()))
    assert seen.text["h1"] == ["Private release of answers of devices"]
    assert seen.text["h2"] == PARTS
    other = Page(page(quantiles()))
    assert other.text["h1"] == ["Private release of quantiles of what devices hold"]
    assert other.text["h2"] == [part.replace("most frequent items", "quantiles") for part in PARTS]


def test_the_guarantee_is_said_in_plain_words_and_formally_with_its_numbers() -> None:
    text = page(items())
    for words in (
        "were asked: Which language do you use? This release says which answers many clients gave",
        "It names 5 items.",
        "hardly depends on whether any one client took part",
        "No noise was added. Each client tossed a coin of its own, and counted with a "
        "probability of 25.4 % only. Of those that counted, answers that fewer than 14 gave",
        "by a factor of at most 2.72",
        "between 26.9 % and 73.1 % sure",
        "with a probability of at most 1 in 1 million",
        "each item was given by at least 14 different clients that counted.",
        "with two, the factor is 7.39 and not 2.72",
        "that differ by one client, who holds one item and is in one of them only",
        "Pr[M(D) ∈ T] ≤ e1 · Pr[M(D′) ∈ T] + 10⁻⁶",
        "in the central model: for those who see the release",
        "computed in whole numbers, and comes to over 99.9 % of what is promised",
        "2026-02-03",
        "tamis 9.8.7",
    ):
        assert words in Page(text).body, words
    said = dict(rows_of(text, "parameters"))
    m = mechanism()
    assert (said["epsilon"], said["delta"], said["unit"]) == ("1.0", "1e-06", "client")
    assert said["neighbours"] == "add or remove one unit"
    assert said["query"] == f"<code>{QUERY}</code>"
    assert said["what clients hold"] == "text"
    assert said["least count tau that is released"] == "14"
    assert said["probability p that a client counts in a round"] == (
        f"{m.parts:,} / 2³² = {m.p:.6g}"
    )


def test_replacing_is_not_called_taking_part() -> None:
    text = body(items(neighbours="replace"))
    assert "hardly depends on what any one client holds" in text
    assert "which of two things one client of their choice holds" in text
    assert "that differ in what one client holds" in text
    assert "took part, and with what" not in text
    assert "in whole numbers, for all rounds together and rounded up" in text


def test_rounds_are_said() -> None:
    text = page(PAGES["a tree"])
    assert "anew in each of 4 rounds" in Page(text).body
    assert "Each client counted once in a round" in Page(text).body
    assert ["rounds, at most", "4"] in rows_of(text, "parameters")
    assert "shares its first letters with no other" in Page(text).body
    assert "rounds" not in Page(page(items())).text["p"][1]


def test_the_first_items_are_those_of_the_release_with_a_dot_inside_their_whisker() -> None:
    made = PAGES["many items"]
    shown, table = rows_of(page(made), "keys items"), made.top(20).to_pylist()
    assert len(shown) == 20
    for place, (cells, row) in enumerate(zip(shown, table, strict=True), start=1):
        number, item, token, estimate, interval, drawing = cells
        assert (number, item) == (str(place), f"<bdi>{row['item']}</bdi>")
        assert (token, estimate) == (f"{row['token']:,}", f"{row['estimate']:,.1f}")
        assert interval == f"{row['low']:,}&nbsp;to {row['high']:,}"
        span = re.search(r'class="span" x1="([\d.]+)%" x2="([\d.]+)%"', drawing)
        dot = re.search(r'cx="([\d.]+)%"', drawing)
        assert span
        assert dot
        assert 4 <= float(span[1]) <= float(dot[1]) <= float(span[2]) <= 96
    assert "The first 20 of 300 named items" in page(made)
    assert "All 5 named items, by estimated number of clients" in page(items())
    assert "The 1 named item, by" in page(PAGES["a tree"])


def test_no_item_is_said_in_a_sentence() -> None:
    text = body(items({}))
    assert "No item was named: none was given by 14 or more of the clients that counted." in text
    assert "It names no item." in text


def test_quantiles_are_drawn_where_they_are_and_listed() -> None:
    text = page(quantiles())
    shown = rows_of(text, "numbers")
    assert shown == [
        ["0.1", "12", "10&nbsp;to 14"],
        ["0.5", "40", "38&nbsp;to 45"],
        ["0.9", "200", "190&nbsp;to 200"],
    ]
    drawn = re.findall(r'<circle class="dot" cx="([\d.]+)" cy="([\d.]+)"', text)
    x, y = np.array(drawn, dtype=float).T
    assert np.all(np.diff(x) > 0)
    assert np.all(np.diff(y) < 0)
    assert np.diff(x)[1] / np.diff(x)[0] == pytest.approx((200 - 40) / (40 - 12), rel=0.02)
    spans = re.findall(r'<line class="span" x1="([\d.]+)" x2="([\d.]+)"', text)
    for at, (low, high) in zip(x, spans, strict=True):
        assert float(low) <= at <= float(high)
    assert "0.1: 12 (10 to 14); 0.5: 40 (38 to 45)" in Page(text).text["desc"][0]
    assert "3 quantiles of whole numbers from 0 to 255" in Page(text).body


def test_what_it_means_not_to_be_named_is_said_with_the_numbers_of_the_mechanism() -> None:
    text, m = body(items()), mechanism()
    assert "1 % from 31 clients on, 50 % from 54 clients on, 99 % from 90 clients on" in text
    for k, p in ((31, 0.01), (54, 0.5), (90, 0.99)):
        assert 1 - m.missed(k) >= p > 1 - m.missed(k - 1)
    assert "No estimate is below tau / p = 55.2" in text


def test_the_trust_that_is_needed_is_said() -> None:
    text = body(items())
    for words in (
        "Those who run the aggregator.",
        "No enclave and no second party keeps them from looking.",
        "Clients that cheat.",
        "the threshold is not 14 but 14 - c",
        "How many took part.",
        "The wording of answers.",
    ):
        assert words in text
    assert "The wording of answers" not in body(PAGES["whole numbers"])


def test_what_was_spent_is_listed_with_the_entry_of_the_ledger() -> None:
    text = page(items(entry=ENTRY))
    spent = [row[:3] for row in rows_of(text, "spent")]
    whole = "the reports of all rounds"
    assert spent == [[whole, "1.0", "1e-06"], ["together", "1.0", "1e-06"]]
    assert ["budget", "<code>devices</code>"] in rows_of(text, "ledger")
    assert "No ledger was named" in page(items())


def test_the_paper_and_the_software_are_cited() -> None:
    text = page(items())
    assert "@inproceedings{bharadwaj2022sample," in text
    assert "Bharadwaj, Akash and Cormode, Graham" in text
    assert "@software{tamis," in text
    assert "version   = {9.8.7}" in text


@pytest.mark.parametrize("name", ["a tree", "quantiles"])
def test_the_steps_to_verify_work_as_they_stand(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = PAGES[name]
    made.save(tmp_path / "release.parquet")
    monkeypatch.chdir(tmp_path)
    text = page(made)
    (step,) = [s for s in Page(text).text["code"] if "read_metadata" in s]
    exec(compile(step, "report", "exec"), {})
    taken = (tmp_path / "certificate.json").read_bytes()
    assert taken.decode() == made.certificate.text
    assert sha256(taken).hexdigest() in text
    assert verify.main(["certificate.json"]) == 0
    assert capsys.readouterr().out.startswith("verified: epsilon 1.0, delta 1e-06")
    assert made.digest in Page(text).text["code"]


# --- the figures ---------------------------------------------------------------------------------


def test_the_figure_of_naming_is_that_of_the_mechanism() -> None:
    m, at = mechanism(), np.array([10, 40, 55, 90, 500])
    this, central = ways(items().about)
    assert this.reporting(at) == pytest.approx(1 - m.missed(at))
    assert (this.half, central.half) == (54, tamis.plan(1.0, 1e-6).half)
    tree = ways(PAGES["a tree"].about)[0]
    assert tree.reporting(at) == pytest.approx((1 - mechanism(4).missed(at)) ** 4)
    swapped = ways(items(neighbours="replace").about)[1]
    assert swapped.half == tamis.plan(1.0, 1e-6, keys_per_unit=2).half


def test_the_error_is_that_of_the_estimate_of_a_named_item() -> None:
    m, at = mechanism(), np.array([14, 30, 55, 90, 400, 100_000])
    known = sizes(items().about, at)
    for k, error in zip(at.tolist(), known.error.tolist(), strict=True):
        tokens = np.arange(m.tau, k + 1)
        law = stats.binom.pmf(tokens, k, m.p)
        expected = np.sqrt(law @ (tokens / m.p - k) ** 2 / law.sum())
        assert error == pytest.approx(expected, rel=1e-6)
    rows = items({"en": 400}).table.to_pylist()[0]
    middle = sizes(items().about, np.array([round(400 / m.p)]))
    assert (middle.low[0], middle.high[0]) == pytest.approx((rows["low"], rows["high"]), abs=6)


def test_figures_do_not_depend_on_the_data() -> None:
    def figures(made: Collected) -> list[str]:
        return re.findall(r"<figure>.*?</figure>", page(made), re.DOTALL)

    assert figures(items()) == figures(items({})) == figures(PAGES["many items"])
    assert len(figures(items())) == 2
    assert figures(quantiles())[1:] == figures(PAGES["one quantile"])[1:]


@pytest.mark.parametrize("name", PAGES)
def test_everything_that_is_drawn_lies_in_the_picture(name: str) -> None:
    figures = re.findall(r"<figure>.*?</figure>", page(PAGES[name]), re.DOTALL)
    assert len(figures) == (2 if name in ITEMS else 3)
    for figure in figures:
        lines = re.findall(r'<polyline[^>]* points="([^"]*)"', figure)
        spots = [tuple(map(float, p.split(","))) for line in lines for p in line.split()]
        pairs = re.findall(r'\bc?x\d?="([\d.-]+)" c?y\d?="([\d.-]+)"', figure)
        spots += [(float(a), float(b)) for a, b in pairs]
        assert lines
        assert all(0 <= x <= 460 and 0 <= y <= 310 for x, y in spots)


PROMISES = [(0.1, 1e-9), (3.0, 1e-3), (8.0, 0.1), (0.02, 0.01)]


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_every_promise_gives_a_whole_page(epsilon: float, delta: float) -> None:
    other = tamis.federated.SampleAndThreshold(epsilon, delta)
    made = items({})
    text = page(replace(made, about=replace(made.about, mechanism=other)))
    assert len(Page(text).all("figure")) == 2
    assert not re.search(r"\b(nan|inf|None)\b", text.partition("</style>")[2])


# --- what is not in it ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole_and_small_and_nothing_runs(name: str) -> None:
    text = page(PAGES[name])
    seen = Page(text)
    assert len(text.encode()) < 100_000
    assert len(seen.all("figure")) == len(seen.all("figcaption"))
    assert not re.search(r"\b(nan|inf|None)\b", text.partition("</style>")[2])
    tags = {tag for tag, _ in seen.found}
    assert not tags & {"script", "iframe", "img", "object", "embed", "form", "a", "base"}
    for _, attributes in seen.found:
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert not re.search(r"https?:|url\(|@import", text)
    check_readable(seen)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_wherever_it_stands(text: str) -> None:
    def labelled(text: str) -> Collected:
        more: dict[str, Any] = {"question": text, "library": text, "day": text, "query": text}
        return items({text: 900, "plain": 800}, entry={text: text}, **more)

    hostile = page(labelled(text))
    assert Page(hostile).found == Page(page(labelled("calm"))).found
    assert all(c.isprintable() or c == "\n" for c in hostile)
    entry = yaml.safe_load(registry_yaml(labelled(text)))
    assert list(entry["deployment"]) == list(yaml.safe_load(registry_yaml(items()))["deployment"])


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=60))
def test_no_item_changes_the_elements_of_the_page(text: str) -> None:
    assert Page(page(items({text: 900}))).found == Page(page(items({"calm": 900}))).found


def test_the_page_of_a_saved_release_is_the_page_of_the_release(tmp_path: Path) -> None:
    for made in PAGES.values():
        made.save(tmp_path / "release.parquet")
        again = tamis.open(tmp_path / "release.parquet")
        assert page(again) == page(made)
        assert registry_yaml(again) == registry_yaml(made)


# --- the registry, and a browser -----------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_the_registry_entry_has_the_fields_of_the_registry(name: str) -> None:
    made = PAGES[name]
    entry = yaml.safe_load(registry_yaml(made))["deployment"]
    assert list(entry) == [
        "basic",
        "dp_variant",
        "privacy_loss",
        "deployment_model",
        "implementation",
        "administrative",
    ]
    assert entry["dp_variant"]["variant_name"] == "Approximate DP"
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert entry["privacy_loss"]["privacy_unit"] == "client-level"
    assert "number_of_privacy_units" not in entry["privacy_loss"]
    assert "The aggregator is trusted" in entry["deployment_model"]["trust_assumptions"]
    assert f"at least {made.about.mechanism.tau} are" in entry["implementation"]["mechanisms"]
    assert entry["implementation"]["additional_information"].endswith(f"is {made.digest}.")
    assert entry["administrative"]["evidence_sources"]["method"]["inproceedings"]["year"] == 2022


def test_what_differs_between_kinds_is_in_the_registry_entry() -> None:
    def said(made: Collected) -> Any:
        return yaml.safe_load(registry_yaml(made))["deployment"]

    assert said(items())["implementation"]["composition"].startswith("None is needed")
    tree, swapped = said(PAGES["a tree"]), said(PAGES["replaced"])
    assert tree["implementation"]["composition"].startswith("Over 4 rounds")
    assert "in the item of one device" in swapped["privacy_loss"]["privacy_unit_details"]
    assert "a whole number from 0 to 255" in said(quantiles())["dp_variant"]["data_domain"]
    charged = said(items(entry=ENTRY))["deployment_model"]["release_type_details"]
    assert charged.startswith("Charged to a budget before a report was opened; entry of the ledger")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed, so no page is rendered")
@pytest.mark.skipif(sys.platform != "linux", reason="the browser is looked for on Linux only")
@pytest.mark.parametrize("name", ["many items", "quantiles"])
def test_a_browser_renders_the_page_and_has_nothing_to_complain_about(
    name: str, tmp_path: Path
) -> None:
    write_report(PAGES[name], tmp_path / "report.html")
    said, picture = opened(tmp_path / "report.html", tmp_path)
    assert said == ""
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size > 50_000
