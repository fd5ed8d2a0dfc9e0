"""The report is one page that holds what the release says, nothing else, and nothing that acts."""

from __future__ import annotations

import html
import re
import sys
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.privacy import verify
from tamis.privacy.curves import GaussianCurve
from tamis.privacy.guarantee import Guarantee
from tamis.releases.about import BOUND, KEYS, About
from tamis.releases.parts import Part
from tamis.releases.release import Release
from tamis.releases.report import registry_yaml, write_report
from tamis.releases.report.page import page
from tamis.releases.report.ways import lowest, ways
from tamis.weighted.plan import make_plan
from tamis.weighted.sample import tabulate
from tamis.weighted.selections import GaussianThreshold, LaplaceThreshold
from tamis.weighted.show import printable
from tests.pages import CHROMIUM, HOSTILE, Page, check_readable, opened, rows_of

WORDS = [f"word-{n}" for n in range(300)]
SETTINGS: dict[str, dict[str, Any]] = {
    "everything": {},
    "gaussian": {"keys_per_unit": 10, "unit": "user"},
    "many elements": {"keys_per_unit": 4, "elements_per_key": 5, "unit": "user"},
    "pps": {"scheme": tamis.Pps(0.01, power=0.5)},
    "ppswor": {"scheme": tamis.Ppswor(0.01)},
    "custom": {"scheme": tamis.Custom({1: 0.1, 50: 0.4})},
    "nothing": {"scheme": tamis.Custom({1: 0})},
    "hardly anything": {"scheme": tamis.Pps(1e-300)},
    "fine": {"tokens": "fine"},
    "weak": {"epsilon": 8.0, "delta": 0.5},
    "strong": {"epsilon": 0.05},
}


def made(
    frequencies: dict[str | None, int] | None = None, *, column: str = "word", **asked: Any
) -> Release:
    """A release of keys with these tokens, made without any draw."""
    chosen = {"epsilon": 1.0, "delta": 1e-8} | asked
    tokens, scheme = chosen.pop("tokens", "whole"), chosen.pop("scheme", None)
    coverage = chosen.pop("coverage", 0.95)
    plan = make_plan(Guarantee(**chosen), scheme, tokens, coverage)
    given = (
        {w: 3000 // (n + 1) for n, w in enumerate(WORDS)} if frequencies is None else frequencies
    )
    keys = pa.table({column: pa.array(list(given), pa.string())})
    drawn = np.array(list(given.values()), np.int64) * plan.mechanism.stride
    parts = (Part(KEYS, plan.guarantee.epsilon, plan.guarantee.delta),)
    about = About(plan.guarantee, plan, (column,), parts, day="2026-02-03", library="9.8.7")
    return Release(tabulate(plan, keys, drawn), about)


def unit(text: str) -> str:
    """Text that may be the name of a unit; those have to be printable."""
    return text if text.isprintable() else "user"


@lru_cache
def page_of(name: str) -> str:
    """The page of an empty release in one of the settings."""
    return page(made({}, **SETTINGS[name]))


# --- what is in it -------------------------------------------------------------------------------


def test_every_part_has_a_heading_of_its_own() -> None:
    seen = Page(page(made()))
    assert seen.text["h1"] == ["Private release of word"]
    assert seen.text["h2"] == [
        "What this is",
        "The guarantee, formally",
        "The most frequent keys",
        "How to read estimates and intervals",
        "What to expect of the method",
        "What was spent",
        "How to verify",
        "What is not protected",
        "How to cite",
    ]


def test_the_guarantee_is_said_in_plain_words_and_formally_with_its_numbers() -> None:
    seen = Page(page(made(unit="user_id", keys_per_unit=4, elements_per_key=3)))
    for words in (
        "whether one user_id was in the data or not",
        "by a factor of at most 2.72",
        "between 26.9 % and 73.1 % sure",
        "with a probability of at most 1 in 100 million",
        "Each user_id counted for at most 4 keys, and for at most 3 in the frequency of each",
        "Rows without a key (NULL) were left out.",
        "Pr[M(D) ∈ T] ≤ e1 · Pr[M(D′) ∈ T] + 10⁻⁸",
        "2026-02-03",
        "tamis 9.8.7",
    ):
        assert words in seen.body
    said = {row[0]: row[1] for row in rows_of(page(made(epsilon=0.3)), "parameters")}
    assert (said["epsilon"], said["delta"]) == ("0.3", "1e-08")
    assert said["neighbours"] == "add or remove one unit"


def test_rows_are_not_called_people() -> None:
    body = Page(page(made())).body
    assert (
        "Each row stands for itself. A person to whom several of them belong is protected" in body
    )
    assert "the factor is 7.39 and not 2.72" in body
    assert "People. What is protected is one row or element at a time." in body


def test_what_was_counted_and_what_became_of_missing_keys_is_said() -> None:
    release = made()
    kept = replace(release, about=replace(release.about, nulls="keep", counted="counts"))
    body = Page(page(kept)).body
    assert "Rows without a key were counted under the key NULL." in body
    assert "frequencies are sums of given counts" in body
    assert "whether one element was in the data or not" in body


def test_that_a_condition_chose_the_rows_is_said() -> None:
    release = made()
    chosen = replace(release, about=replace(release.about, filtered=True))
    assert "Only rows that satisfy a condition were counted." in Page(page(chosen)).body
    assert "condition were counted" not in Page(page(release)).body
    for text, said in ((page(chosen), "yes"), (page(release), "no, all were counted")):
        assert ["rows chosen by a condition", said] in rows_of(text, "parameters")
    domain = yaml.safe_load(registry_yaml(chosen))["deployment"]["dp_variant"]["data_domain"]
    assert domain.endswith("left out, and so are rows that do not satisfy a condition.")
    assert "condition" not in registry_yaml(release)


def test_that_a_part_is_shown_is_said() -> None:
    for release, many in (
        (made().top(3), "3 keys"),
        (made().top(1), "1 key"),
        (made(), "300 keys"),
    ):
        said = f"It names {many}. It is a part of what was released: other rows were left out."
        assert (said in Page(page(release)).body) is release.about.part
        assert f"It names {many}." in Page(page(release)).body


def test_numbers_of_things_are_in_the_singular_where_they_are_one() -> None:
    one = Page(page(made({"a": 500}, unit="user", keys_per_unit=1, elements_per_key=1))).body
    assert "The 1 named key, by estimate" in one
    assert "with at most 1 key and at most 1 element in each" in one
    assert "All 2 named keys, by estimate" in Page(page(made({"a": 500, "b": 400}))).body
    assert not re.search(r"\b1 (named )?(keys|elements|steps)", one)
    assert "in 1 step" in Page(page(made({}, scheme=tamis.Custom({1: 0.5})))).body


def test_the_digest_of_the_file_is_where_it_says_how_to_verify(tmp_path: Path) -> None:
    release = made()
    release.save(tmp_path / "release.parquet")
    seen = Page(page(release))
    assert [text for text in seen.text["code"] if text == release.digest]
    assert tamis.open(tmp_path / "release.parquet").digest == release.digest
    assert "Compare it with one that you have from elsewhere" in seen.body
    assert release.digest not in page(release.top(3))
    how = yaml.safe_load(registry_yaml(release))["deployment"]["implementation"]
    assert how["additional_information"].endswith(f"that of this release is {release.digest}.")


UNSEEN = {"": '""', " ": '" "', "a ": '"a "', '"': '"""', "\n": '"\\n"', "NULL": "NULL"}


@pytest.mark.parametrize("key", UNSEEN)
def test_keys_that_could_not_be_seen_stand_in_quotes(key: str) -> None:
    shown = rows_of(page(made({key: 900})), "keys")[0][1]
    assert html.unescape(shown) == f"<bdi>{UNSEEN[key]}</bdi>"


ODD_KEYS: dict[str, tuple[pa.Array, str]] = {
    "the end of time": (pa.array([2**31 - 1], pa.date32()), "out of range"),
    "an endless moment": (pa.array([2**63 - 1], pa.timestamp("us")), "out of range"),
    "nanoseconds": (pa.array([1_577_934_245_123_456_789], pa.timestamp("ns")), "2020-01-02"),
    "bytes": (pa.array([b"<b>\xff"]), "&lt;b&gt;\\xff"),
    "truth": (pa.array([True]), "True"),
}


@pytest.mark.parametrize(("values", "shown"), ODD_KEYS.values(), ids=ODD_KEYS)
def test_keys_of_every_type_are_shown(values: pa.Array, shown: str) -> None:
    data = pa.table({"word": pa.chunked_array([values] * 300)})
    release = tamis.release(data, key="word", epsilon=1.0, delta=1e-8)
    assert shown in rows_of(page(release), "keys")[0][1]


def test_the_top_keys_are_those_of_the_release_with_a_dot_inside_their_whisker() -> None:
    release = made()
    shown = rows_of(page(release), "keys")
    table = release.top(20).to_arrow().to_pylist()
    assert len(shown) == 20
    for place, (cells, row) in enumerate(zip(shown, table, strict=True), start=1):
        number, key, estimate, interval, drawing = cells
        assert (number, key) == (str(place), f"<bdi>{row['word']}</bdi>")
        assert estimate == f"{row['estimate']:,.1f}"
        assert interval == f"{row['low']:,}&nbsp;to {row['high']:,}"
        span = re.search(r'class="span" x1="([\d.]+)%" x2="([\d.]+)%"', drawing)
        dot = re.search(r'cx="([\d.]+)%"', drawing)
        assert span
        assert dot
        assert 4 <= float(span[1]) <= float(dot[1]) <= float(span[2]) <= 96
    assert "The first 20 of 300 named keys" in page(release)


def test_a_key_that_is_missing_is_shown_as_null() -> None:
    assert "<em>NULL</em>" in rows_of(page(made({None: 500, "a": 400})), "keys")[0][1]


def test_what_was_spent_is_listed_part_by_part_with_the_entry_of_the_ledger() -> None:
    release = made(epsilon=0.9)
    parts = (Part(BOUND, 0.1, value=7), *release.about.parts)
    entry = {"ledger": "a1b2", "budget": "team <x>", "entry": 3, "digest": "f" * 64}
    whole = replace(release.guarantee, epsilon=1.0)
    about = replace(release.about, guarantee=whole, parts=parts, entry=entry)
    text = page(replace(release, about=about))
    assert [row[:4] for row in rows_of(text, "spent")] == [
        [BOUND, "0.1", "0.0", "7"],
        [KEYS, "0.9", "1e-08", ""],
        ["together", "1.0", "1e-08", ""],
    ]
    assert ["budget", "<code>team &lt;x&gt;</code>"] in rows_of(text, "ledger")
    assert "No ledger was named" not in text
    assert "No ledger was named" in page(release)


def test_what_it_means_not_to_be_named_is_said_with_the_numbers_of_the_plan() -> None:
    body = Page(page(made({}))).body
    assert "missing from the data, too rare or unlucky; this release does not say which" in body
    assert "1 % from frequency 15 on, 50 % from frequency 19 on, 99 % from frequency 23 on" in body
    plan = tamis.plan(1.0, 1e-8)
    for w, p in ((15, 0.01), (19, 0.5), (23, 0.99)):
        assert float(plan.reporting(w)) >= p > float(plan.reporting(w - 1))
    assert "too rare, not sampled or unlucky" in Page(page_of("ppswor")).body
    assert "hardly any key is named" in Page(page_of("nothing")).body


def test_the_paper_and_the_software_are_cited() -> None:
    text = page(made())
    assert "@inproceedings{cohen2021weighted," in text
    assert "Cohen, Edith and Geri, Ofir and Sarlos, Tamas and Stemmer, Uri" in text
    assert "@software{tamis," in text
    assert "version   = {9.8.7}" in text


def test_the_steps_to_verify_work_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release = made(keys_per_unit=3, unit="user")
    release.save(tmp_path / "release.parquet")
    monkeypatch.chdir(tmp_path)
    text = page(release)
    steps = [s for s in Page(text).text["code"] if "read_metadata" in s]
    assert len(steps) == 1
    exec(compile(steps[0], "report", "exec"), {})
    taken = (tmp_path / "certificate.json").read_bytes()
    assert taken.decode() == release.certificate.text
    assert sha256(taken).hexdigest() in text
    assert verify.main(["certificate.json"]) == 0
    assert capsys.readouterr().out.startswith("verified: epsilon 1.0, delta 1e-08")


def test_the_page_of_a_saved_release_is_the_page_of_the_release(tmp_path: Path) -> None:
    release = made(scheme=tamis.Ppswor(0.01))
    release.save(tmp_path / "release.parquet")
    assert page(tamis.open(tmp_path / "release.parquet")) == page(release)


# --- what is not in it ---------------------------------------------------------------------------


def test_nothing_is_fetched_and_nothing_runs() -> None:
    text = page(made())
    seen = Page(text)
    tags = {tag for tag, _ in seen.found}
    assert not tags & {"script", "iframe", "img", "object", "embed", "form", "a", "base"}
    for _, attributes in seen.found:
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert not re.search(r"https?:|url\(|@import", text)
    policy = [m["content"] for m in seen.all("meta") if "http-equiv" in m]
    assert policy == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_wherever_it_stands(text: str) -> None:
    release = made({text: 900, "plain": 800}, column=text, unit=unit(text), keys_per_unit=2)
    entry = {text: text}
    parts = (replace(release.about.parts[0], purpose=text),)
    about = replace(release.about, parts=parts, entry=entry, day=text, library=text)
    calm = made({"calm": 900, "plain": 800}, column="calm", unit="calm", keys_per_unit=2)
    like = replace(calm.about, entry={"calm": "calm"})
    hostile, plain = page(replace(release, about=about)), page(replace(calm, about=like))
    assert [f for f in Page(hostile).found if f[0] != "desc"] == [
        f for f in Page(plain).found if f[0] != "desc"
    ]
    assert all(c.isprintable() or c == "\n" for c in hostile)


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=60))
def test_no_key_changes_the_elements_of_the_page(text: str) -> None:
    found = Page(page(made({text: 900}))).found
    assert found == Page(page(made({"calm": 900}))).found


def test_keys_that_are_not_named_leave_no_trace(tmp_path: Path) -> None:
    canaries = [f"canary-{n}" for n in range(1000)]
    release = tamis.release(
        pa.table({"word": ["the"] * 500 + canaries}), key="word", epsilon=1.0, delta=1e-12
    )
    write_report(release, tmp_path / "report.html")
    assert b"canary" not in (tmp_path / "report.html").read_bytes()
    assert "canary" not in registry_yaml(release)


def test_the_page_depends_on_nothing_but_the_release() -> None:
    given = {w: 3000 // (n + 1) for n, w in enumerate(WORDS)}
    other = dict(reversed(given.items()))
    assert page(made(given)) == page(made(given)) == page(made(other))  # type: ignore[arg-type]
    assert registry_yaml(made(given)) == registry_yaml(made(other))  # type: ignore[arg-type]


def test_figures_do_not_depend_on_the_data() -> None:
    def figures(release: Release) -> list[str]:
        return re.findall(r"<figure>.*?</figure>", page(release), re.DOTALL)

    assert figures(made()) == figures(made({}))


# --- how it is made ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_gives_a_whole_and_small_page_also_without_keys(name: str) -> None:
    text = page_of(name)
    seen = Page(text)
    assert len(text.encode()) < 300_000
    assert len(seen.all("figure")) == len(seen.all("figcaption")) == 2
    assert "No key was named" in text
    assert not re.search(r"\b(nan|inf|None)\b", text.partition("</style>")[2])


@pytest.mark.parametrize("name", ["gaussian", "many elements", "pps", "ppswor", "custom", "fine"])
def test_every_setting_shows_its_keys(name: str) -> None:
    release = made({"a": 400, "b": 300}, **SETTINGS[name])
    assert [row[1] for row in rows_of(page(release), "keys")] == ["<bdi>a</bdi>", "<bdi>b</bdi>"]


def test_the_settings_hold_both_curves() -> None:
    kinds = {type(made({}, **SETTINGS[name]).plan.curve) for name in ("everything", "gaussian")}
    assert GaussianCurve in kinds
    assert len(kinds) == 2


def test_long_keys_and_large_certificates_do_not_make_a_large_page() -> None:
    release = made(
        {f"{n}" + "x" * 1_000_000: 500 for n in range(25)}, unit="user", keys_per_unit=1000
    )
    assert len(release.certificate.text) > 80_000
    assert len(page(release).encode()) < 60_000


def test_the_page_can_be_read_without_seeing_it() -> None:
    check_readable(Page(page(made())))


@pytest.mark.parametrize("name", SETTINGS)
def test_everything_that_is_drawn_lies_in_the_picture(name: str) -> None:
    for figure in re.findall(r"<figure>.*?</figure>", page_of(name), re.DOTALL):
        lines = re.findall(r'<polyline[^>]* points="([^"]*)"', figure)
        spots = [tuple(map(float, p.split(","))) for line in lines for p in line.split()]
        spots += [
            (float(a), float(b)) for a, b in re.findall(r'x="([\d.-]+)" y="([\d.-]+)"', figure)
        ]
        assert len(lines) in (2, 3)
        assert all(0 <= x <= 460 and 0 <= y <= 310 for x, y in spots)


def test_the_rivals_are_the_classical_selections_and_scale_with_the_elements() -> None:
    at = np.arange(1, 400)
    once = ways(tamis.plan(1.0, 1e-6, 5))
    more = ways(tamis.plan(1.0, 1e-6, 5, 3))
    for n, known in ((1, LaplaceThreshold(1.0, 1e-6, 5)), (2, GaussianThreshold(1.0, 1e-6, 5))):
        assert once[n].reporting(at) == pytest.approx(known.reporting(at))
        assert more[n].reporting(3 * at) == pytest.approx(known.reporting(at))
        assert once[n].half == known.half()
    assert once[0].half == tamis.plan(1.0, 1e-6, 5).half


def test_the_lowest_frequency_of_a_probability_is_found() -> None:
    plan = tamis.plan(1.0, 1e-6)
    planned = ways(plan)[0].reporting
    found = lowest(planned, 0.9)
    assert float(plan.reporting(found)) >= 0.9 > float(plan.reporting(found - 1))


def test_a_report_replaces_an_older_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    write_report(made(), target)
    assert target.read_text(encoding="utf-8") == page(made())
    assert list(tmp_path.iterdir()) == [target]


def test_what_cannot_be_written_is_said_in_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    for target in (tmp_path / "missing" / "report.html", tmp_path / "taken"):
        with pytest.raises(tamis.InvalidInput, match=r"cannot be written: .*\.$"):
            write_report(made({}), target)
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_failure_half_way_keeps_the_older_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "report.html"
    target.write_text("old")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(tamis.InvalidInput, match="No space left on device"):
        write_report(made({}), target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


# --- the registry --------------------------------------------------------------------------------


def test_the_registry_entry_is_yaml_with_the_fields_of_the_registry_in_order() -> None:
    entry = yaml.safe_load(registry_yaml(made()))
    assert list(entry) == ["url_slug", "deployment"]
    assert list(entry["deployment"]) == [
        "basic",
        "dp_variant",
        "privacy_loss",
        "deployment_model",
        "implementation",
        "administrative",
    ]
    assert entry["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"
    assert entry["deployment"]["deployment_model"]["model_name"] == "Central"
    assert entry["deployment"]["basic"]["publication_date"] == "2026-02-03"
    assert entry["deployment"]["administrative"]["tier"] == 3


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-8), (0.25, 2.5e-7), (1e-2, 0.001)])
def test_the_registry_entry_holds_the_numbers_as_numbers(epsilon: float, delta: float) -> None:
    release = made({}, epsilon=epsilon, delta=delta, keys_per_unit=4, elements_per_key=2, unit="u")
    loss = yaml.safe_load(registry_yaml(release))["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": epsilon, "delta": delta}
    assert loss["privacy_unit"] == "u-level"
    assert "at most 4 keys" in loss["privacy_unit_details"]
    assert "at most 2 to the frequency" in loss["privacy_unit_details"]
    assert "number_of_privacy_units" not in loss


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_gives_a_registry_entry(name: str) -> None:
    release = made({}, **SETTINGS[name])
    made_with = yaml.safe_load(registry_yaml(release))["deployment"]["implementation"]["mechanisms"]
    assert "tamis 9.8.7" in made_with
    assert release.plan.curve.describe() in made_with


@pytest.mark.parametrize("text", [*HOSTILE, "a: b # c", "- x", "'\"\\", "\x85\u2028\ufeff", "😀"])
def test_hostile_names_stay_text_in_the_registry_entry(text: str) -> None:
    release = made({}, column=text, unit=unit(text))
    about = replace(release.about, entry={text: text})
    entry = yaml.safe_load(registry_yaml(replace(release, about=about)))
    assert list(entry["deployment"]) == list(yaml.safe_load(registry_yaml(made()))["deployment"])
    level = entry["deployment"]["privacy_loss"]["privacy_unit"]
    assert level == f"{unit(text)}-level"
    assert entry["deployment"]["basic"]["name"] == f"Private frequencies of {printable(text)}"


# --- in a browser --------------------------------------------------------------------------------


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed, so no page is rendered")
@pytest.mark.skipif(sys.platform != "linux", reason="the browser is looked for on Linux only")
def test_a_browser_renders_the_page_and_has_nothing_to_complain_about(tmp_path: Path) -> None:
    write_report(made(), tmp_path / "report.html")
    said, picture = opened(tmp_path / "report.html", tmp_path)
    assert said == ""
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size > 50_000
    broken = tmp_path / "broken.html"
    broken.write_text(page(made()).replace("</body>", "<script>1</script></body>"))
    assert "Content Security Policy" in opened(broken, tmp_path)[0]
