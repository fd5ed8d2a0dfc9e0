"""The page of a summary shows what the summary says, nothing else, and nothing that acts."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml  # type: ignore[import-untyped]

import tamis
from tamis.privacy.guarantee import NEIGHBOURS, REPLACED, Guarantee
from tamis.releases.parts import Part
from tamis.releases.report import registry_yaml, write_report
from tamis.releases.report.blocks import MOST, Blocks, Side, blocks
from tamis.releases.report.heatmap import SHADES, heat_map, shades
from tamis.releases.report.page import page
from tamis.releases.report.summary_advice import by_noise
from tamis.releases.summary.about import CELLS, AboutSummary, change
from tamis.releases.summary.summary import Summary
from tamis.sparse.domain import Domain
from tamis.sparse.flat import Flat
from tamis.sparse.planning import outlook
from tamis.sparse.ranges import Level, Ranges
from tamis.sparse.recipe import FLAT, SPLIT, choose
from tests.pages import CHROMIUM, HOSTILE, Page, check_readable, opened, rows_of

TOWNS = {
    "North": [f"N{n:02}" for n in range(50)],
    "South": [f"S{n:02}" for n in range(60)],
}
AREA = Domain(home=tamis.Hierarchy(TOWNS), work=tamis.Hierarchy(TOWNS))
PEOPLE = Domain(
    sex=tamis.Labels(["female", "male"], other="not stated"),
    age=tamis.Bins([0, 18, 30, 45, 65, 120]),
    year=tamis.Whole(1990, 2024),
)


def made(
    domain: Domain,
    cells: dict[tuple[int, ...], int],
    *,
    method: str = "filter-priority",
    tau: float = 0.0,
    **asked: Any,
) -> Summary:
    """A summary that holds these cells, made without any draw."""
    size = asked.pop("size", None if method == "full" else min(100, domain.cells))
    guarantee = Guarantee(**({"epsilon": 1.0, "delta": 0.0} | asked))
    recipe = choose(
        domain, Fraction(str(guarantee.epsilon)), change(guarantee), method=method, size=size
    )
    codes = np.array(sorted(cells), dtype=np.int64).reshape(-1, len(domain)).T
    values = np.array([cells[cell] for cell in sorted(cells)], dtype=np.int64)
    level = Level(recipe.rules[0], Flat(codes, values, tau))
    parts = (Part(CELLS, guarantee.epsilon),)
    about = AboutSummary(guarantee, recipe, (tau,), parts, day="2026-02-03", library="9.8.7")
    return Summary(Ranges(recipe.transforms, (level,)), about)


def towns(**asked: Any) -> Summary:
    return made(AREA, {(0, 0): 900, (0, 109): 60, (70, 3): 41, (70, 4): -25}, **asked)


def drawn(method: str) -> Summary:
    rng = np.random.default_rng(3)
    names = [town for group in TOWNS.values() for town in group]
    data = pa.table({"home": rng.choice(names, 3000), "work": rng.choice(names[:9], 3000)})
    size = None if method == "full" else 400
    return tamis.summarize(data, domain=AREA, epsilon=2.0, size=size, method=method)


def unit(text: str) -> str:
    return text if text.isprintable() else "user"


# --- what is in it -------------------------------------------------------------------------------


def test_every_part_has_a_heading_of_its_own() -> None:
    seen = Page(page(towns()))
    assert seen.text["h1"] == ["Private summary of home, work"]
    assert seen.text["h2"] == [
        "What this is",
        "The guarantee, formally",
        "The table as a picture",
        "The largest cells",
        "Attribute by attribute",
        "How to read it",
        "How it was made, and what was spent",
        "The domain",
        "How to verify",
        "What is not protected",
        "How to cite",
    ]
    assert "The largest blocks" in Page(page(drawn("haar"))).text["h2"]


def test_the_guarantee_is_said_in_plain_words_and_formally_with_its_numbers() -> None:
    bounds: dict[str, Any] = {"unit": "user_id", "keys_per_unit": 4, "elements_per_key": 3}
    body = Page(page(made(AREA, {(0, 0): 900}, **bounds))).body
    for words in (
        "whether one user_id was in the data or not",
        "by a factor of at most 2.72",
        "between 26.9 % and 73.1 % sure",
        "without exception: delta is 0",
        "Each user_id counted for at most 4 cells, and for at most 3 in the count of each",
        "with one unit added (one user_id, with at most 4 cells and at most 3 elements in each)",
        "Pr[M(D) ∈ T] ≤ e1 · Pr[M(D′) ∈ T] This",
        "changes the counts of the cells by at most 12 in total",
        "2026-02-03",
        "tamis 9.8.7",
    ):
        assert words in body
    said = dict(rows_of(page(made(AREA, {(0, 0): 900}, epsilon=0.3)), "parameters"))
    assert (said["epsilon"], said["delta"], said["neighbours"]) == ("0.3", "0.0", NEIGHBOURS)


def test_replacing_is_not_called_adding() -> None:
    text = page(towns(neighbours=REPLACED))
    body = Page(text).body
    assert "with one unit replaced by another" in body
    assert "it hardly depends on what any one row in the data says" in body
    assert "was in the data or not" not in body
    assert ["change of all counts by one unit, at most", "2"] in rows_of(text, "parameters")


def test_the_largest_cells_are_those_of_the_summary_with_their_intervals() -> None:
    summary = towns()
    shown = rows_of(page(summary), "keys")
    assert len(shown) == 4
    for place, home, work, estimate, interval, _ in shown:
        answer = summary.point(home=home[5:-6], work=work[5:-6])
        assert place.isdigit()
        assert estimate == f"{answer.estimate:,.0f}"
        assert interval == f"{answer.low:,.0f}&nbsp;to {answer.high:,.0f}"
    assert [row[3] for row in shown] == ["900", "60", "41", "-25"]


def test_attributes_with_few_values_or_branches_are_shown_one_by_one() -> None:
    summary = towns()
    for name, n in (("home", 0), ("work", 1)):
        text = page(summary).split('<table class="keys values">')[n + 1]
        rows = rows_of('<table class="keys values">' + text, "keys values")
        assert [row[0] for row in rows] == ["<bdi>North</bdi>", "<bdi>South</bdi>"]
        for branch, estimate, interval, _ in rows:
            answer = summary.range(**{name: branch[5:-6]})
            assert estimate == f"{answer.estimate:,.0f}"
            assert interval == f"{answer.low:,.0f}&nbsp;to {answer.high:,.0f}"
    people = page(made(PEOPLE, {(0, 0, 0): 500, (2, 4, 34): 77}, method="full"))
    shown = [row[0] for row in rows_of(people, "keys values")]
    assert shown == [f"<bdi>{text}</bdi>" for text in ("female", "male", "not stated")]
    assert people.count('"keys values"') == 2  # a year has too many values


def test_the_method_and_its_numbers_are_said() -> None:
    summary = towns(tau=61.5, size=4)
    said = dict(rows_of(page(summary), "parameters method"))
    recipe = summary.about.recipe
    assert said["method"].startswith("filter-priority: ")
    assert said["size that was asked for"] == "4"
    assert said["theta (smaller noisy counts are left out)"] == str(recipe.theta)
    assert said["tau (smaller ones are sampled, and stand for it)"] == "61.5"
    assert said["rate of the noise"] == "1"
    spent = [row[:3] for row in rows_of(page(summary), "spent")]
    assert spent == [[CELLS, "1.0", "0.0"], ["together", "1.0", "0.0"]]


def test_how_many_cells_of_noise_alone_to_expect_is_said() -> None:
    summary = made(AREA, {(n, n): 9 for n in range(90)}, size=150)
    expected = float(f"{outlook(summary.about.recipe).noise:.3g}")
    body = Page(page(summary)).body
    assert f"there would be about {expected:,.6g} rows; so of the 90 rows here" in body
    assert "Some or all of these may be noise alone." in body
    sure = "do not come from noise alone: the probability that it lifts any cell that holds nothing"
    assert f"{sure} to 900 is under 0.1 %." in Page(page(made(AREA, {(0, 0): 900}))).body
    chance = 100 * by_noise(summary.about.recipe, 13)
    assert f"{sure} to 13 is at most {chance:.3g} %." in Page(page(made(AREA, {(0, 0): 13}))).body


def test_the_number_of_cells_that_noise_lifts_is_that_of_the_law() -> None:
    summary = drawn("full")
    values = summary.ranges.levels[0].flat.values
    empty = AREA.cells - 3000  # at least
    for value in (1, 2):
        expected = by_noise(summary.about.recipe, value)
        assert expected == pytest.approx(AREA.cells * np.exp(-2.0 * value) / (1 + np.exp(-2.0)))
        assert (values >= value).sum() > 0.8 * expected * empty / AREA.cells
    assert by_noise(towns(epsilon=0.01).about.recipe, -5) < AREA.cells


def test_what_is_left_out_of_sums_is_said_where_they_are_shown() -> None:
    warning = "These sums leave out all cells with noisy counts below"
    text = Page(page(towns())).body
    assert text.count(warning) == 2
    assert f"{warning} {towns().about.recipe.theta}." in text
    assert "What is below theta counts as nothing." in text
    whole = Page(page(made(AREA, {(0, 0): 900}, method="priority"))).body
    assert warning not in whole
    assert "Nothing was left out for being small" in whole
    assert "Small differences are left out" in Page(page(drawn("haar"))).body


def test_the_domain_is_a_table() -> None:
    rows = rows_of(page(made(PEOPLE, {(0, 0, 0): 500}, method="full")), "parameters domain")
    assert [row[:2] for row in rows] == [
        ["<bdi>sex</bdi>", "3"],
        ["<bdi>age</bdi>", "5"],
        ["<bdi>year</bdi>", "35"],
        ["together", "525"],
    ]
    assert "or not stated for all else" in rows[0][2]


def test_the_paper_the_software_and_the_digest_are_there(tmp_path: Path) -> None:
    summary = towns()
    text = page(summary)
    assert "@inproceedings{cormode2012summaries," in text
    assert "@software{tamis," in text
    assert summary.digest in Page(text).text["code"]
    summary.save(tmp_path / "summary.parquet")
    assert tamis.open(tmp_path / "summary.parquet").digest == summary.digest


# --- the picture ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*FLAT, *SPLIT])
def test_every_block_is_the_range_that_the_summary_answers(method: str) -> None:
    summary = drawn(method)
    found = blocks(summary)
    down, across = found.sides
    assert max(down.many, across.many) <= MOST
    assert down.ends(0)[0] == 0
    assert down.ends(down.many - 1)[1] == 109
    for y, x in np.random.default_rng(1).integers(0, [down.many, across.many], (60, 2)).tolist():
        answer = summary.ranges.range([down.ends(y), across.ends(x)])
        assert found.estimates[y, x] == pytest.approx(answer.estimate, abs=1e-6)
        assert found.errors[y, x] == pytest.approx(answer.standard_error)


@pytest.mark.parametrize("method", ["priority", "full", "haar", "dyadic"])
def test_other_attributes_are_summed_over(method: str) -> None:
    rng = np.random.default_rng(3)
    domain = Domain(one=1, a=5, b=9, c=4)
    rows = {name: rng.integers(0, domain[name].cardinality, 500) for name in domain}
    size = None if method == "full" else 100
    summary = tamis.summarize(pa.table(rows), domain=domain, epsilon=2.0, method=method, size=size)
    found = blocks(summary)
    assert [side.name for side in found.sides] == ["a", "b"]
    for y, x in np.ndindex(found.estimates.shape):
        (a, last_a), (b, last_b) = found.sides[0].ends(y), found.sides[1].ends(x)
        answer = summary.range(a=(a, last_a), b=(b, last_b))
        assert found.estimates[y, x] == pytest.approx(answer.estimate, abs=1e-6)
        assert found.errors[y, x] == pytest.approx(answer.standard_error)


def shaded(text: str) -> dict[tuple[int, int], int]:
    """The shade of each block, as it is drawn."""
    found = dict[tuple[int, int], int]()
    for number, path in re.findall(r'<path class="h(\d)" d="([^"]*)"/>', text):
        for x, y, wide in re.findall(r"M(\d+) (\d+)h(\d+)v1H\1z", path):
            for n in range(int(x), int(x) + int(wide)):
                assert (int(y), n) not in found
                found[int(y), n] = int(number)
    return found


@pytest.mark.parametrize("skewed", [True, False])
def test_the_shade_of_a_block_says_between_which_numbers_it_is(skewed: bool) -> None:
    rng = np.random.default_rng(5)
    values = rng.exponential(1, (55, 55)) ** (4 if skewed else 0.1) * 100 - 80
    sides = tuple(Side(name, n, AREA[name], 2) for n, name in enumerate(AREA.names))
    ends = shades(values, 3.0)
    drawing = heat_map(Blocks(sides, values, np.full(values.shape, 3.0)))
    of = shaded(drawing)
    assert bool(np.diff(ends).std() > 10) is skewed
    for (y, x), value in np.ndenumerate(values):
        if value <= 0:
            assert (y, x) not in of
            continue
        n = of[y, x] - (SHADES - len(ends)) - 1
        assert ends[n] <= value
        assert n + 1 == len(ends) or value < ends[n + 1]
    ticks = set(re.findall(r'class="tick"[^>]*>([^<]*)<', drawing))
    assert {f"{end:,.6g}" for end in ends} <= ticks


def test_nothing_above_zero_is_no_shade_and_said() -> None:
    text = page(made(AREA, {(0, 0): -900}))
    assert shaded(text) == {}
    assert "no block is above 0" in text
    assert "No cell is in the summary" in page(made(AREA, {}))


PICTURES: dict[str, Summary] = {
    "towns": towns(),
    "people": made(PEOPLE, {(0, 0, 0): 500, (2, 4, 34): 77}, method="full"),
    "one": made(Domain(age=tamis.Whole(0, 120)), {(3,): 50, (70,): -4}, method="full"),
    "two values": made(Domain(sex=tamis.Labels(["f", "m"])), {(0,): 50}, method="full"),
    "a single cell": made(Domain(x=1), {(0,): 50}, method="full"),
    "narrow": made(Domain(a=2, b=900), {(0, 5): 50, (1, 899): 30}),
    "huge": made(Domain(a=2**60, b=2**60), {(5, 2**60 - 1): 500}),
    "long labels": made(
        Domain(a=tamis.Labels(["x" * 300 + str(n) for n in range(30)]), b=7), {(0, 5): 50}
    ),
    "many attributes": made(
        Domain({f"question {n}": tamis.Labels(["no", "yes"]) for n in range(100)}),
        {(0,) * 100: 400, (1,) * 100: 300},
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_every_domain_gives_a_whole_and_small_page(name: str) -> None:
    text = page(PICTURES[name])
    seen = Page(text)
    assert len(text.encode()) < 120_000
    assert len(seen.all("figure")) == len(seen.all("figcaption")) == 1
    assert not re.search(r"\b(nan|inf|None)\b", text.partition("</style>")[2])


@pytest.mark.parametrize("name", PICTURES)
def test_everything_that_is_drawn_lies_in_the_picture(name: str) -> None:
    figure = re.findall(r"<figure.*?</figure>", page(PICTURES[name]), re.DOTALL)[0]
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure)
    assert size
    width, height = float(size[1]), float(size[2])
    spots = re.findall(r'\bx\d?="([\d.-]+)" y\d?="([\d.-]+)"', figure)
    spots += re.findall(r"translate\(([\d.-]+) ([\d.-]+)\)", figure)
    assert len(spots) > 3
    assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in spots)


def test_trees_are_labelled_by_their_branches_and_cut_between_them() -> None:
    text = page(towns())
    assert text.count('class="cut"') == 2
    assert re.findall(r'class="tick"[^>]*>([A-Z][^<]*)<', text) == ["North", "South"] * 2
    side = blocks(towns()).sides[0]
    assert side.called(0) == "N00 to N01"
    assert side.cuts == [25.0]


# --- what is not in it ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_fetched_and_nothing_runs(name: str) -> None:
    text = page(PICTURES[name])
    seen = Page(text)
    tags = {tag for tag, _ in seen.found}
    assert not tags & {"script", "iframe", "img", "object", "embed", "form", "a", "base"}
    for _, attributes in seen.found:
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert not re.search(r"https?:|url\(|@import", text)


def _elements(text: str) -> list[tuple[str, set[str]]]:
    """The elements and the names of their attributes; places depend on the length of labels."""
    return [(tag, set(attributes)) for tag, attributes in Page(text).found]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_wherever_it_stands(text: str) -> None:
    def labelled(text: str) -> Summary:
        domain = Domain({text: tamis.Labels([text, "plain"]), "b": 2})
        summary = made(domain, {(0, 0): 900, (1, 1): 800}, size=3, unit=unit(text))
        return replace(summary, about=replace(summary.about, entry={text: text}, library=text))

    hostile = page(labelled(text))
    assert _elements(hostile) == _elements(page(labelled("calm")))
    assert all(c.isprintable() or c == "\n" for c in hostile)


def test_the_page_of_a_saved_summary_is_the_page_of_the_summary(tmp_path: Path) -> None:
    for method in ("filter-priority", "consistent dyadic"):
        summary = drawn(method)
        summary.save(tmp_path / f"{method}.parquet")
        assert page(tamis.open(tmp_path / f"{method}.parquet")) == page(summary)


@pytest.mark.parametrize("name", PICTURES)
def test_the_page_can_be_read_without_seeing_it(name: str) -> None:
    seen = Page(page(PICTURES[name]))
    check_readable(seen)
    assert seen.text["desc"][0].startswith("The largest estimate is")


# --- the registry, and a browser -----------------------------------------------------------------


def test_the_registry_entry_of_a_summary_has_the_fields_of_the_registry() -> None:
    summary = towns(unit="user", keys_per_unit=4, neighbours=REPLACED)
    entry = yaml.safe_load(registry_yaml(summary))["deployment"]
    assert list(entry) == [
        "basic",
        "dp_variant",
        "privacy_loss",
        "deployment_model",
        "implementation",
        "administrative",
    ]
    assert entry["dp_variant"]["variant_name"] == "Pure DP"
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 0.0}
    details = entry["privacy_loss"]["privacy_unit_details"]
    assert details.startswith("Adjacent data sets differ in all rows of one user.")
    assert "at most 4 cells" in details
    assert entry["implementation"]["additional_information"].endswith(f"is {summary.digest}.")
    assert "filter-priority" in entry["implementation"]["mechanisms"]
    assert "None" not in registry_yaml(PICTURES["one"]).replace("None in the summary", "")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed, so no page is rendered")
@pytest.mark.skipif(sys.platform != "linux", reason="the browser is looked for on Linux only")
def test_a_browser_renders_the_page_and_has_nothing_to_complain_about(tmp_path: Path) -> None:
    write_report(drawn("filter-priority"), tmp_path / "report.html")
    said, picture = opened(tmp_path / "report.html", tmp_path)
    assert said == ""
    assert picture.stat().st_size > 50_000


@pytest.mark.parametrize(("method", "rows"), [("sketch", "1 row"), ("median sketch", "5 rows")])
def test_the_page_of_a_sketch_says_what_it_is_and_shows_no_cells(method: str, rows: str) -> None:
    sketch = drawn(method)
    seen = Page(text := page(sketch))
    assert seen.text["h2"] == [
        "What this is",
        "The guarantee, formally",
        "How to read it",
        "How it was made, and what was spent",
        "The domain",
        "How to verify",
        "What is not protected",
        "How to cite",
    ]
    assert "Rows are buckets" in text
    assert f"in each of {rows}." in text
    assert ["buckets", f"{rows} of {400 // int(rows[0])}"] in rows_of(text, "parameters method")
    assert not seen.all("figure")
    assert f"Method: {method}" in registry_yaml(sketch)


def test_a_size_that_was_chosen_is_said_with_what_it_cost() -> None:
    data = pa.table({"home": ["N01"] * 500, "work": ["S02"] * 500})
    chosen = tamis.summarize(data, domain=AREA, epsilon=1.0, size_share=0.25)
    text = page(chosen)
    assert "size that was asked for" not in text
    assert "the number of cells that hold something" in text
    assert "0.25" in text
