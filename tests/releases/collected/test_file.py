"""The file of what devices have reported: it comes back as it was, or is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.federated import Histogram, SampleAndThreshold
from tamis.privacy.errors import BadData
from tamis.privacy.verify import Refused
from tamis.releases.collected.collected import Collected, rows_of
from tamis.releases.report.collected_promise import formally
from tests.releases.collected.making import (
    DECILES,
    ENTRY,
    LANGUAGES,
    Said,
    about,
    items,
    loaded,
    mechanism,
    quantiles,
    written,
)

ODD = [
    "a,b",
    'say "x"',
    '""',
    "two\nlines",
    "\r\n",
    "",
    " ",
    "äöü 日本 😀",
    "\u202e",
    "NULL",
    "é\u0301",
]
MADE: dict[str, Collected] = {
    "a histogram": items(),
    "one item": items({"en": 14}),
    "no item": items({}),
    "odd text": items({text: 14 + n for n, text in enumerate(ODD)}),
    "whole numbers": items({7: 90, 0: 90, 9: 15}, domain=10),
    "no whole number": items({}, domain=10),
    "huge whole numbers": items({2**62 - 1: 90}, domain=2**62),
    "heavy hitters": items(kind="heavy hitters"),
    "heavy hitters along a tree": items(kind="heavy hitters", rounds=4),
    "replaced": items(neighbours="replace"),
    "another coverage": items(coverage=0.8),
    "charged": items(entry=ENTRY),
    "quantiles": quantiles(),
    "a quantile of one number": quantiles([(0.5, 0, 0, 0)], domain=1),
    "quantiles as they were asked for": quantiles([(0.9, 9, 1, 9), (0.1, 2, 2, 3), (0.1, 2, 2, 3)]),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_what_is_saved_is_opened_and_verified(made: Collected, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    made.save(path)
    assert path.read_bytes() == made.to_bytes()
    opened = tamis.open(path)
    assert type(opened) is tamis.Collected
    assert opened == made
    assert opened.table.schema == made.table.schema
    assert opened.verify() == made.verify()
    assert opened.digest == made.digest == loaded(path)[1]["digest"]
    assert opened.to_bytes() == made.to_bytes()
    assert str(opened) == str(made)
    assert "<table>" in opened._repr_html_()


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_the_documented_python_computes_the_digest(
    made: Collected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made.save("release.parquet")
    found = dict[str, Any]()
    (recipe,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(recipe, "page", "exec"), found)
    assert found["digest"] == made.digest


def test_items_come_back_as_they_were() -> None:
    assert set(MADE["odd text"].table["item"].to_pylist()) == set(ODD)
    assert MADE["whole numbers"].table["item"].to_pylist() == [0, 7, 9]


def test_other_tools_read_the_same_rows(tmp_path: Path) -> None:
    for name in ("odd text", "whole numbers", "quantiles"):
        MADE[name].save(tmp_path / "r.parquet")
        with duckdb.connect() as database:
            rows = database.sql(f"FROM '{tmp_path / 'r.parquet'}'").to_arrow_table().to_pylist()
        assert rows == MADE[name].table.to_pylist()


def test_the_rows_of_items_follow_from_their_tokens() -> None:
    made = MADE["a histogram"]
    p = mechanism().p
    rows = made.table.to_pylist()
    assert [row["item"] for row in rows] == ["en", "de", "fr", "sv", "fi"]
    for row in rows:
        assert row["token"] == LANGUAGES[row["item"]]
        assert row["estimate"] == row["token"] / p
        assert row["token"] <= row["low"] < row["estimate"] < row["high"]


def against_two(tmp_path: Path) -> Path:
    made = SampleAndThreshold(1.0, 1e-6, colluding=2)
    counts = np.array([made.tau, made.tau + 1])
    rows = rows_of(Histogram.of(made, pa.array(["de", "en"], pa.large_string()), counts, 0.95))
    Collected(rows, about(made, "histogram")).save(tmp_path / "league.parquet")
    return tmp_path / "league.parquet"


def test_a_release_says_how_many_clients_its_reader_may_control(tmp_path: Path) -> None:
    opened = tamis.open(against_two(tmp_path))
    assert opened.about.mechanism.colluding == 2
    assert "of delta, also to a reader who controls 2 of them; the 2 rows" in opened.verify()
    assert "a reader who controls up to 2 clients" in formally(opened.about)


@pytest.mark.parametrize("colluding", [3, 1, 0, -1, 10**6, True, None])
def test_nobody_can_write_another_number_of_them_into_the_file(
    tmp_path: Path, colluding: object
) -> None:
    path = against_two(tmp_path)
    table, said = loaded(path)
    written(table, said | {"colluding": colluding}, path, forged=True)
    with pytest.raises(BadData):
        tamis.open(path)
    rule = said["certificate"]["rule"] | {"colluding": colluding}
    forged = said | {"colluding": colluding, "certificate": said["certificate"] | {"rule": rule}}
    written(table, forged, path, forged=True)
    if colluding in (0, 1) and colluding is not True:  # which promises less, and is kept
        assert tamis.open(path).verify()
    else:
        with pytest.raises((BadData, Refused)):
            tamis.open(path).verify()


PAGE = Path(__file__).parents[3] / "docs/release-file.md"
FIELDS = {
    "asked", "certificate", "colluding", "coverage", "day", "digest", "domain", "estimator",
    "format", "guarantee", "kind", "ledger", "library", "parts", "query", "question", "rounds",
    "spent", "tau", "types",
}  # fmt: skip


def test_the_documentation_names_every_field() -> None:
    text = PAGE.read_text().partition("## Reports of devices")[2].partition("## Digest")[0]
    assert set(re.findall(r"`(\w+)`", text)) >= FIELDS


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_the_footer_says_nothing_of_the_input(made: Collected, tmp_path: Path) -> None:
    made.save(tmp_path / "r.parquet")
    metadata = pq.read_metadata(tmp_path / "r.parquet").metadata
    assert set(metadata) == {b"tamis", b"ARROW:schema"}
    assert pq.read_schema(tmp_path / "r.parquet").metadata is None
    said = json.loads(metadata[b"tamis"])
    assert set(said) == FIELDS
    assert said["kind"] == "collected"
    without = {name: value for name, value in said.items() if name not in ("digest", "types")}
    assert without == made.about.describe()
    empty = replace(made, table=made.table.slice(0, 0))
    assert empty.about.describe() == without


def test_the_certificate_in_the_footer_is_that_of_the_mechanism(tmp_path: Path) -> None:
    made = MADE["heavy hitters along a tree"]
    made.save(tmp_path / "r.parquet")
    said = loaded(tmp_path / "r.parquet")[1]["certificate"]
    assert json.dumps(said, indent=1, sort_keys=True) == made.certificate.text
    assert said["rule"]["rounds"] == 4
    assert "in 4 rounds" in made.certificate.verify()


# --- what was changed is refused ------------------------------------------------------------------

Change = Callable[[pa.Table, Said], tuple[pa.Table, Said]]
MISFIT = "the rows do not fit the digest: the file was changed."


def column(name: str, change: Callable[[Any], Any]) -> Change:
    def changed(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
        place = table.column_names.index(name)
        values = pa.chunked_array([change(table[name].combine_chunks())])
        return table.set_column(place, name, values), said

    return changed


def first(value: Any) -> Callable[[Any], Any]:
    return lambda held: pa.concat_arrays([pa.array([value], held.type), held.slice(1)])


def last(value: Any) -> Callable[[Any], Any]:
    return lambda held: pa.concat_arrays(
        [held.slice(0, len(held) - 1), pa.array([value], held.type)]
    )


def rows(change: Callable[[pa.Table], pa.Table]) -> Change:
    return lambda table, said: (change(table), said)


def field(**values: Any) -> Change:
    return lambda table, said: (table, said | values)


def promise(**values: Any) -> Change:
    """In the guarantee, in the certificate and in what was spent, as far as it is there."""

    def changed(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
        said = json.loads(json.dumps(said))
        said["guarantee"] |= values
        said["certificate"]["guarantee"] |= values
        said["spent"][0] |= {k: v for k, v in values.items() if k in said["spent"][0]}
        return table, said

    return changed


def rule(**values: Any) -> Change:
    """In the footer and in the certificate."""

    def changed(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
        said = json.loads(json.dumps(said))
        said["certificate"]["rule"] |= values
        return table, said | {name: value for name, value in values.items() if name in said}

    return changed


def spent(**values: Any) -> Change:
    return lambda table, said: (table, said | {"spent": [said["spent"][0] | values]})


def less(*names: str) -> Change:
    return lambda table, said: (table, {k: v for k, v in said.items() if k not in names})


PARTS = mechanism().parts
NOT_FIT: dict[str, Change] = {
    "a token": column("token", lambda c: pc.add(c, 1)),
    "a token below tau": column("token", last(13)),
    "a token of 0": column("token", last(0)),
    "a negative token": column("token", last(-5)),
    "a missing token": column("token", first(None)),
    "a huge token": column("token", first(2**63 - 1)),
    "tokens as floats": column("token", lambda c: c.cast(pa.float64())),
    "an estimate": column("estimate", first(5.0)),
    "an estimate that is no number": column("estimate", first(float("nan"))),
    "a missing estimate": column("estimate", first(None)),
    "a lower end": column("low", first(1)),
    "an upper end": column("high", lambda c: pc.add(c, 1)),
    "a missing item": column("item", first(None)),
    "an item twice": column("item", first("fr")),
    "items as bytes": column("item", lambda c: c.cast(pa.large_binary())),
    "items as numbers": column("item", lambda c: pa.array(range(len(c)), pa.int64())),
    "rows swapped": rows(lambda t: t.take([1, 0, 2, 3, 4])),
    "equals swapped": rows(lambda t: t.take([0, 2, 1, 3, 4])),
    "a row twice": rows(lambda t: pa.concat_tables([t.slice(0, 1), t])),
    "a row below tau": rows(lambda t: pa.concat_tables([t, small(t)])),
    "a column less": rows(lambda t: t.drop_columns(["low"])),
    "a column more": rows(lambda t: t.append_column("reported", t["token"])),
    "columns swapped": rows(lambda t: t.select([1, 0, 2, 3, 4])),
    "a column renamed": rows(lambda t: t.rename_columns(["word", *t.column_names[1:]])),
    "a smaller epsilon": promise(epsilon="0.1"),
    "no epsilon": promise(epsilon="0.0"),
    "epsilon that is no number": promise(epsilon="nan"),
    "epsilon as a number": promise(epsilon=1.0),
    "a smaller delta": promise(delta="1e-07"),
    "no delta": promise(delta="0.0"),
    "other neighbours": promise(neighbours="replace one unit"),
    "neighbours of another kind": promise(neighbours="friends"),
    "another unit": promise(unit="person"),
    "several items per client": promise(keys_per_unit=2),
    "a larger rate": rule(parts=PARTS + 1),
    "a much larger rate": rule(parts=2 * PARTS),
    "every client kept": rule(parts=2**32),
    "nobody kept": rule(parts=0),
    "a rate that is true": rule(parts=True),
    "a rate as a float": rule(parts=float(PARTS)),
    "a smaller tau": rule(tau=13),
    "no tau": rule(tau=0),
    "an endless tau": rule(tau=10**9),
    "tau as a float": rule(tau=14.0),
    "more rounds": rule(rounds=2),
    "endless rounds": rule(rounds=10**9),
    "a rate in the footer alone": field(parts=PARTS - 5),
    "tau in the footer alone": field(tau=15),
    "another grid": rule(base="2"),
    "no certificate": field(certificate={}),
    "a certificate of something else": rule(name="draw"),
    "less spent": spent(epsilon="0.1"),
    "nothing spent": field(spent=[]),
    "spent for something else": spent(purpose="fun"),
    "a number for it": spent(value=5),
    "another format": field(format=2),
    "a format that is true": field(format=True),
    "another kind of file": field(kind="summary"),
    "no kind": less("kind"),
    "a kind that is no text": field(kind=["collected"]),
    "another kind of question": field(asked="quantiles"),
    "an unknown kind of question": field(asked="means"),
    "a question that is no text": field(question=["Which?"]),
    "a question on two lines": field(question="Which\none?"),
    "a question without end": field(question="x" * 501),
    "no question": field(question=""),
    "a query that is no id": field(query="canary"),
    "a query that is no text": field(query=5),
    "a domain of text": field(domain=10),
    "a domain that is no number": field(domain="10"),
    "a negative domain": field(domain=-1),
    "a domain that is false": field(domain=False),
    "another estimator": field(estimator="binary search"),
    "another coverage": field(coverage="0.5"),
    "an impossible coverage": field(coverage="7.0"),
    "a coverage that is no number": field(coverage="nan"),
    "a ledger of another kind": field(ledger={"free": "canary"}),
    "a day of another kind": field(day="canary"),
    "a day that is no text": field(day=20260203),
    "a version that is no text": field(library=9),
    "a version of another kind": field(library="9 canaries"),
    "something more": field(reported=1000),
    "something less": less("estimator"),
}  # fmt: skip


def small(table: pa.Table) -> pa.Table:
    """A row of a client that stands alone, as if there were no threshold."""
    row = {"item": "canary", "token": 1, "estimate": 1 / mechanism().p, "low": 1, "high": 15}
    return pa.Table.from_pylist([row], table.schema)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "release.parquet"
    MADE["a histogram"].save(path)
    return path


@pytest.mark.parametrize("forged", [False, True], ids=["old digest", "digest made anew"])
@pytest.mark.parametrize("change", NOT_FIT.values(), ids=NOT_FIT)
def test_a_file_that_was_changed_is_refused(
    change: Change, forged: bool, saved: Path, tmp_path: Path
) -> None:
    """Also by somebody who computes the digest anew: nothing of this fits together."""
    written(*change(*loaded(saved)), tmp_path / "r.parquet", forged)
    with pytest.raises((tamis.BadData, Refused)) as refused:
        tamis.open(tmp_path / "r.parquet").verify()
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)
    assert "canary" not in str(refused.value)


FITS: dict[str, Change] = {
    "the first row dropped": rows(lambda t: t.slice(1)),
    "the last row dropped": rows(lambda t: t.slice(0, len(t) - 1)),
    "all rows dropped": rows(lambda t: t.slice(0, 0)),
    "a row added": rows(lambda t: pa.concat_tables([items({"xx": 500}).table, t])),
    "an item": column("item", first("other")),
    "the question": field(question="Which one?"),
    "the query": field(query="f" * 32),
    "the day": field(day="2001-01-01"),
    "the version": field(library="99"),
    "a ledger": field(ledger=ENTRY),
    "heavy hitters": field(asked="heavy hitters"),
    "a lower rate": rule(parts=PARTS - 1),
    "a larger tau": rule(tau=15),
}


@pytest.mark.parametrize("change", FITS.values(), ids=FITS)
def test_what_only_the_digest_can_notice_is_refused_on_opening(
    change: Change, saved: Path, tmp_path: Path
) -> None:
    written(*change(*loaded(saved)), tmp_path / "r.parquet", forged=False)
    with pytest.raises(tamis.BadData) as refused:
        tamis.open(tmp_path / "r.parquet")
    assert str(refused.value) == MISFIT


def test_a_lower_rate_does_not_explain_the_rows(saved: Path, tmp_path: Path) -> None:
    """The promise would hold, but estimates and thresholds are those of another mechanism."""
    for change in (FITS["a lower rate"], FITS["a larger tau"]):
        written(*change(*loaded(saved)), tmp_path / "r.parquet", forged=True)
        with pytest.raises(tamis.BadData):
            tamis.open(tmp_path / "r.parquet").verify()


def test_a_file_that_was_only_written_anew_is_verified(saved: Path, tmp_path: Path) -> None:
    """So what is refused above is refused for what was changed."""
    for forged in (False, True):
        written(*loaded(saved), tmp_path / "r.parquet", forged)
        assert tamis.open(tmp_path / "r.parquet").verify()


def test_a_changed_byte_anywhere_is_refused_or_harmless(saved: Path, tmp_path: Path) -> None:
    content, path = saved.read_bytes(), tmp_path / "r.parquet"
    for place in range(0, len(content), 41):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        try:
            opened = tamis.open(path)
            opened.verify()
        except (tamis.BadData, Refused):
            continue
        assert opened == MADE["a histogram"]


WHOLE: dict[str, Change] = {
    "a number outside": column("item", first(10)),
    "a negative number": column("item", first(-1)),
    "a smaller domain": field(domain=9),
    "text": column("item", lambda c: c.cast(pa.large_string())),
    "no domain": field(domain=0),
    "a tree of numbers": field(asked="heavy hitters"),
}


@pytest.mark.parametrize("change", WHOLE.values(), ids=WHOLE)
def test_whole_numbers_lie_in_their_domain(change: Change, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    MADE["whole numbers"].save(path)
    written(*change(*loaded(path)), path, forged=True)
    with pytest.raises(tamis.BadData):
        tamis.open(path).verify()


QUANTILES: dict[str, Change] = {
    "an estimate outside of its interval": column("estimate", first(9)),
    "an interval turned around": column("low", first(15)),
    "a number outside of the domain": column("high", last(256)),
    "a negative number": column("low", first(-1)),
    "a missing number": column("estimate", first(None)),
    "a quantile above 1": column("quantile", last(1.1)),
    "a quantile that is no number": column("quantile", first(float("nan"))),
    "a missing quantile": column("quantile", first(None)),
    "quantiles as text": column("quantile", lambda c: c.cast(pa.string())),
    "quantiles as whole numbers": column("quantile", lambda c: pa.array([0, 0, 1], pa.int64())),
    "numbers that fall": column("quantile", lambda c: c.take(pa.array([2, 1, 0]))),
    "no row": rows(lambda t: t.slice(0, 0)),
    "tokens beside": rows(lambda t: t.append_column("token", t["low"])),
    "a domain that takes more rounds": field(domain=257),
    "a domain that takes fewer rounds": field(domain=128),
    "no domain": field(domain=0),
    "fewer rounds": rule(rounds=7),
    "a histogram": field(asked="histogram"),
    "another estimator": field(estimator="token / p"),
    "a larger rate": rule(parts=2**31),
}


@pytest.mark.parametrize("change", QUANTILES.values(), ids=QUANTILES)
def test_quantiles_that_were_changed_are_refused(change: Change, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    MADE["quantiles"].save(path)
    for forged in (False, True):
        written(*change(*loaded(path)), tmp_path / "changed.parquet", forged)
        with pytest.raises((tamis.BadData, Refused)):
            tamis.open(tmp_path / "changed.parquet").verify()


def test_quantiles_in_another_order_or_number_do_not_fit_the_digest(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    MADE["quantiles"].save(path)
    table, said = loaded(path)
    for other in (table.slice(1), table.take([1, 0, 2]), pa.concat_tables([table, table])):
        written(other, said, tmp_path / "changed.parquet", forged=False)
        with pytest.raises(tamis.BadData, match="do not fit the digest"):
            tamis.open(tmp_path / "changed.parquet")


def test_verifying_says_what_was_checked() -> None:
    assert MADE["a histogram"].verify().endswith("; the 5 rows follow from their tokens")
    assert MADE["one item"].verify().endswith("; the 1 row follows from its token")
    assert MADE["quantiles"].verify().endswith("; the 3 quantiles lie in their intervals")
    assert quantiles(DECILES[:1]).verify().endswith("; the 1 quantile lies in its interval")
    assert "items of 14 or more are named, in 1 round" in MADE["no item"].verify()


def test_more_clients_than_there_can_be_are_refused(saved: Path, tmp_path: Path) -> None:
    """With so large numbers, the library that computes intervals ends the whole process."""
    table, said = loaded(saved)
    for token in (2**39, 2**51, 2**63 - 1):
        changed, _ = column("token", first(token))(table, said)
        written(changed, said, tmp_path / "r.parquet", forged=True)
        opened = tamis.open(tmp_path / "r.parquet")
        for ask in (opened.verify, opened.sum, partial(opened.rank, "en")):
            with pytest.raises(tamis.BadData, match="what no client can report"):
                ask()
    assert items({"en": 2**36, "fr": 2**36}).verify()
