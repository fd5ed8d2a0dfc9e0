"""The release file: whole or not at all, and what was changed in it is refused."""

from __future__ import annotations

import datetime
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.privacy.verify import Refused
from tamis.releases.digest import digest, json_text, type_in_words

WORDS = pa.table({"word": np.repeat([f"w{n}" for n in range(8)], [60 * (n + 1) for n in range(8)])})


def released(data: Any = WORDS, **options: Any) -> tamis.Release:
    settings: dict[str, Any] = {"key": "word", "epsilon": 1.0, "delta": 1e-6}
    return tamis.release(data, **settings | options)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "release.parquet"
    released().save(path)
    return path


def loaded(path: Path) -> pa.Table:
    """The table of a file, with what the file says about itself."""
    said = pq.read_metadata(path).metadata
    return pq.read_table(path).replace_schema_metadata({b"tamis": said[b"tamis"]})


# --- there and back ------------------------------------------------------------------------------

OPTIONS: dict[str, dict[str, Any]] = {
    "everything": {},
    "fine tokens": {"tokens": "fine"},
    "ppswor": {"scheme": tamis.Ppswor(0.02)},
    "pps": {"scheme": tamis.Pps(0.01, 0.5)},
    "steps": {"scheme": tamis.Custom({1: 0.25, 50: 0.5, 100: 1})},
    "sample of a size": {"sample_size": 500, "epsilon": 3.0},
    "with a total": {"total_share": 0.1, "coverage": 0.8},
    "many keys per unit": {"unit": "u", "keys_per_unit": 40, "elements_per_key": 2},
    "a bound of its own": {"unit": "u", "keys_per_unit": "auto"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_what_is_saved_is_opened_and_verified(options: dict[str, Any], tmp_path: Path) -> None:
    data = WORDS.append_column("u", pa.array(np.arange(len(WORDS)) // 3))
    release = released(data, **options)
    release.save(tmp_path / "r.parquet")
    opened = tamis.open(tmp_path / "r.parquet")
    assert opened.to_arrow().equals(release.to_arrow())
    assert opened.about == release.about
    assert opened == release
    assert opened.verify()
    assert str(opened) == str(release)
    assert opened.sum() == release.sum()
    opened.save(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "r.parquet").read_bytes()


KEYS: dict[str, pa.Array] = {
    "text": pa.array(["a", "ä\n"]),
    "whole numbers": pa.array([-5, 2**62]),
    "uint64": pa.array([0, 2**64 - 1], pa.uint64()),
    "dates": pa.array([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    "moments": pa.array([datetime.datetime(2020, 1, 1, 2, 3, 4, 5), None], pa.timestamp("us")),
    "nanoseconds": pa.array([1, 2], pa.timestamp("ns")),
    "truth": pa.array([True, False]),
    "bytes": pa.array([b"", b"\xff\x00"]),
    "decimals": pa.array([150, -1]).cast(pa.decimal128(21, 2)),
    "nothing": pa.array([None, "a"]),
    "categories": pa.array(["a", "b"]).dictionary_encode(),
    "large text": pa.array(["a", "b"], pa.large_string()),
    "views": pa.array(["a", "b"], pa.string_view()),
}


@pytest.mark.parametrize("values", KEYS.values(), ids=KEYS)
def test_keys_of_every_type_come_back_as_they_were(values: pa.Array, tmp_path: Path) -> None:
    data = pa.table({"word": pa.chunked_array([values] * 200)})
    release = released(data, nulls="keep")
    assert set(release.to_arrow()["word"].to_pylist()) == set(values.to_pylist())
    release.save(tmp_path / "r.parquet")
    opened = tamis.open(tmp_path / "r.parquet")
    assert opened.to_arrow().equals(release.to_arrow())
    assert opened.verify()
    assert str(opened)


def by_duckdb(path: Path) -> Any:
    with duckdb.connect() as database:
        return database.sql(f"FROM '{path}'").to_arrow_table().to_pylist()


def by_pandas(path: Path) -> Any:
    table = pa.Table.from_pandas(pandas.read_parquet(path), preserve_index=False)
    return table.to_pylist()


def by_polars(path: Path) -> Any:
    return polars.read_parquet(path).to_arrow().to_pylist()


@pytest.mark.parametrize("reader", [by_duckdb, by_pandas, by_polars])
@pytest.mark.parametrize("values", KEYS.values(), ids=KEYS)
def test_other_tools_read_the_same_rows(
    values: pa.Array, reader: Callable[[Path], Any], tmp_path: Path
) -> None:
    release = released(pa.table({"word": pa.chunked_array([values] * 200)}), nulls="keep")
    release.save(tmp_path / "r.parquet")
    assert reader(tmp_path / "r.parquet") == release.to_arrow().to_pylist()


def test_duckdb_reads_what_the_file_says_about_itself(made: Path) -> None:
    with duckdb.connect() as database:
        (footer,) = database.execute(
            "SELECT decode(value)::JSON FROM parquet_kv_metadata(?) WHERE decode(key) = 'tamis'",
            [str(made)],
        ).fetchall()
        types = database.sql(f"FROM '{made}'").types
    said = json.loads(footer[0])
    assert said["guarantee"]["epsilon"] == "1.0"
    assert said["digest"] == tamis.open(made).digest
    assert [str(kind) for kind in types] == ["VARCHAR", "BIGINT", "DOUBLE", "BIGINT", "BIGINT"]


def test_several_key_columns_keep_their_order_and_names(tmp_path: Path) -> None:
    data = pa.table({"z": ["x"] * 300, "a": [1] * 300})
    released(data, key=["z", "a"]).save(tmp_path / "r.parquet")
    names = tamis.open(tmp_path / "r.parquet").to_arrow().column_names
    assert names == ["z", "a", "token", "estimate", "low", "high"]


def test_an_empty_release_is_a_release_too(tmp_path: Path) -> None:
    release = released(WORDS.slice(0, 0))
    release.save(tmp_path / "r.parquet")
    opened = tamis.open(tmp_path / "r.parquet")
    assert len(opened) == 0
    assert opened.to_arrow().schema == release.to_arrow().schema
    assert opened.verify()


def test_the_footer_says_what_is_promised_and_nothing_of_the_input(tmp_path: Path) -> None:
    folder = tmp_path / "private folder"
    folder.mkdir()
    rows = 54_321
    data = pa.table({"word": ["a"] * rows, "user": np.arange(rows), "other": ["x"] * rows})
    pq.write_table(data, folder / "events.parquet")
    release = released(
        str(folder / "events.parquet"), unit="user", keys_per_unit=1, where="other <> 'secret'"
    )
    release.save(tmp_path / "r.parquet")
    metadata = pq.read_metadata(tmp_path / "r.parquet").metadata
    assert set(metadata) == {b"tamis", b"ARROW:schema"}
    said = json.loads(metadata[b"tamis"])
    assert set(said) == {
        "format", "guarantee", "spent", "curve", "scheme", "tokens", "coverage", "estimator",
        "key", "types", "nulls", "counted", "filtered", "part", "certificate", "ledger", "library",
        "day", "digest",
    }  # fmt: skip
    assert said["guarantee"]["unit"] == "user"
    assert said["filtered"] is True
    assert said["day"] == datetime.date.today().isoformat()
    assert pq.read_schema(tmp_path / "r.parquet").metadata is None  # it is said once
    whole = (tmp_path / "r.parquet").read_bytes().replace(said["digest"].encode(), b"")
    for trace in (b"private folder", b"events", b"other", b"secret", b"54321", b"54,321"):
        assert trace not in whole


# --- whole or not at all -------------------------------------------------------------------------


def test_saving_leaves_nothing_else_behind_and_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    path.write_text("before")
    released().save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["r.parquet"]
    assert tamis.open(path).verify()
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0o077 & ~current_umask() & 0o066


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "r.parquet", tmp_path):
        with pytest.raises(tamis.InvalidInput, match=r"cannot be written: .*\.$"):
            released().save(path)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_half_way_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.parquet"
    released().save(path)
    before = path.read_bytes()
    full, fdopen = os.open("/dev/full", os.O_WRONLY), os.fdopen

    def onto_a_full_disk(handle: int, *options: Any) -> Any:
        os.close(handle)
        return fdopen(full, *options)

    monkeypatch.setattr(os, "fdopen", onto_a_full_disk)
    with pytest.raises(tamis.InvalidInput, match="cannot be written: No space left on device"):
        released().save(path)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["r.parquet"]
    assert path.read_bytes() == before


def test_an_interruption_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.parquet"
    path.write_text("before")

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        released().save(path)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["r.parquet"]
    assert path.read_text() == "before"


# --- what was changed is refused -----------------------------------------------------------------

Change = Callable[[pa.Table], pa.Table]
MISFIT = "the rows do not fit the digest: the file was changed."


def replaced(name: str, change: Callable[[Any], Any]) -> Change:
    def changed(table: pa.Table) -> pa.Table:
        place = table.column_names.index(name)
        return table.set_column(
            place, name, pa.chunked_array([change(table[name].combine_chunks())])
        )

    return changed


def first(value: Any) -> Callable[[Any], Any]:
    return lambda column: pa.concat_arrays([pa.array([value], column.type), column.slice(1)])


def said(change: Callable[[dict[str, Any]], object]) -> Change:
    def changed(table: pa.Table) -> pa.Table:
        content = json.loads(table.schema.metadata[b"tamis"])
        change(content)
        return table.replace_schema_metadata({b"tamis": json.dumps(content).encode()})

    return changed


def promise(name: str, value: Any, certified: bool = False) -> Change:
    def change(content: dict[str, Any]) -> None:
        content["guarantee"][name] = value
        if certified:
            content["certificate"]["guarantee"][name] = value
        if certified and name in ("epsilon", "delta"):
            content["spent"][0][name] = value

    return said(change)


def scheme(name: str, **options: Any) -> Change:
    return said(lambda content: content.update(scheme={"name": name, **options}))


CHANGES: dict[str, Change] = {
    "a token": replaced("token", lambda c: pc.add(c, 1)),
    "a token far away": replaced("token", first(10**12)),
    "no token": replaced("token", first(0)),
    "a negative token": replaced("token", first(-5)),
    "a huge token": replaced("token", first(2**63 - 1)),
    "a missing token": replaced("token", first(None)),
    "tokens as floats": replaced("token", lambda c: c.cast(pa.float64())),
    "tokens as text": replaced("token", lambda c: c.cast(pa.string())),
    "an estimate": replaced("estimate", first(1.0)),
    "an estimate that is no number": replaced("estimate", first(float("nan"))),
    "a lower end": replaced("low", first(1)),
    "an upper end": replaced("high", lambda c: pc.add(c, 1)),
    "rows swapped": lambda t: t.take(pa.array([1, 0, *range(2, len(t))])),
    "a row twice": lambda t: pa.concat_tables([t.slice(0, 1), t]),
    "columns swapped": lambda t: t.select([1, 0, 2, 3, 4]),
    "a column less": lambda t: t.drop_columns(["low"]),
    "a column more": lambda t: t.append_column("seed", t["token"]),
    "key renamed": lambda t: t.rename_columns(["term", *t.column_names[1:]]),
    "no footer": lambda t: t.replace_schema_metadata(None),
    "empty footer": lambda t: t.replace_schema_metadata({b"tamis": b""}),
    "footer of another kind": lambda t: t.replace_schema_metadata({b"tamis": b"[1]"}),
    "footer in pieces": lambda t: t.replace_schema_metadata({b"tamis": b"{" * 100_000}),
    "deep footer": lambda t: t.replace_schema_metadata({b"tamis": b"[" * 100_000 + b"]" * 100_000}),
    "footer that is not text": lambda t: t.replace_schema_metadata({b"tamis": b"\xff\xfe"}),
    "smaller epsilon": promise("epsilon", "0.1"),
    "smaller epsilon everywhere": promise("epsilon", "0.1", certified=True),
    "smaller delta": promise("delta", "1e-09"),
    "smaller delta everywhere": promise("delta", "1e-09", certified=True),
    "no epsilon": promise("epsilon", "0.0"),
    "epsilon that is no number": promise("epsilon", "nan"),
    "more keys per unit": promise("keys_per_unit", 10),
    "more keys per unit everywhere": promise("keys_per_unit", 10, certified=True),
    "another unit": promise("unit", "person"),
    "other neighbours": promise("neighbours", "replace one unit"),
    "another format": said(lambda c: c.update(format=2)),
    "a condition of another kind": said(lambda c: c.update(filtered=0)),
    "a part of another kind": said(lambda c: c.update(part=None)),
    "nothing spent": said(lambda c: c.update(spent=[])),
    "less spent": said(lambda c: c["spent"][0].update(epsilon="0.1")),
    "spent on something": said(lambda c: c["spent"].append(c["spent"][0] | {"purpose": "x"})),
    "spent twice": said(lambda c: c["spent"].append(c["spent"][0])),
    "another scheme": scheme("ppswor", tau="0.1", power="1.0"),
    "impossible scheme": scheme("custom", steps=[[1, "1/0"]]),
    "endless scheme": scheme("custom", steps=[[1, "1e-999999999"]]),
    "nameless scheme": scheme("best"),
    "another curve": said(lambda c: c.update(curve={})),
    "other tokens": said(lambda c: c.update(tokens="fine")),
    "another coverage": said(lambda c: c.update(coverage="0.5")),
    "impossible coverage": said(lambda c: c.update(coverage="7")),
    "forged integers": said(lambda c: c["certificate"]["rule"].update(gift="0xff")),
    "no certificate": said(lambda c: c.update(certificate={})),
    "a second entry": lambda t: t.replace_schema_metadata(
        {**(t.schema.metadata or {}), b"note": b"canary"}
    ),
    "a note at a column": lambda t: t.cast(
        pa.schema([t.schema.field(0).with_metadata({b"note": b"canary"}), *list(t.schema)[1:]],
                  metadata=t.schema.metadata)
    ),
    "keys with a dictionary": replaced("word", lambda c: c.dictionary_encode()),
    "a ledger of another kind": said(lambda c: c.update(ledger={"free": "canary"})),
    "a day of another kind": said(lambda c: c.update(day="canary")),
    "a number of another kind": said(lambda c: c["spent"][0].update(value="canary")),
    "something more": said(lambda c: c.update(seed=5)),
    "something less": said(lambda c: c.pop("estimator")),
}  # fmt: skip


def renewed(table: pa.Table) -> pa.Table:
    """The table with a digest that fits it, if it can have one."""
    metadata = dict(table.schema.metadata or {})
    try:
        content = json.loads(metadata[b"tamis"])
        content.pop("digest")
        content["types"] = [type_in_words(kind) for kind in table.schema.types[:-4]]
        content["digest"] = digest(content, table)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, pa.ArrowException):
        return table
    return table.replace_schema_metadata(metadata | {b"tamis": json_text(content)})


def unchanged(table: pa.Table) -> pa.Table:
    return table


@pytest.mark.parametrize("after", [renewed, unchanged])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_was_changed_is_refused(
    change: Change, after: Change, made: Path, tmp_path: Path
) -> None:
    pq.write_table(after(change(loaded(made))), tmp_path / "r.parquet")
    with pytest.raises((tamis.BadData, Refused)) as refused:
        tamis.open(tmp_path / "r.parquet").verify()
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_a_file_that_was_not_changed_is_not_refused(made: Path, tmp_path: Path) -> None:
    for after in (renewed, unchanged):
        pq.write_table(after(loaded(made)), tmp_path / "r.parquet")
        assert tamis.open(tmp_path / "r.parquet") == tamis.open(made)


def consistent(table: pa.Table) -> pa.Table:
    """The token, the estimate and the interval of the last row become those of the one before."""
    rows = table.to_pylist()
    rows[-1] = rows[-2] | {"word": rows[-1]["word"]}
    rows[-2:] = sorted(rows[-2:], key=lambda row: str(row["word"]))
    return pa.Table.from_pylist(rows, table.schema)


CONSISTENT: dict[str, Change] = {
    "an estimate with its token and interval": consistent,
    "the first row dropped": lambda t: t.slice(1),
    "the last row dropped": lambda t: t.slice(0, len(t) - 1),
    "all rows dropped": lambda t: t.slice(0, 0),
    "a key": replaced("word", first("other")),
    "a key that is missing": replaced("word", first(None)),
    "keys as bytes": replaced("word", lambda c: c.cast(pa.binary())),
    "a condition denied": said(lambda c: c.update(filtered=not c["filtered"])),
    "a part": said(lambda c: c.update(part=not c["part"])),
    "what became of missing keys": said(lambda c: c.update(nulls="keep")),
    "what was counted": said(lambda c: c.update(counted="counts")),
    "the day": said(lambda c: c.update(day="2001-01-01")),
    "the version": said(lambda c: c.update(library="99")),
    "the digest": said(lambda c: c.update(digest="0" * 64)),
    "a digest of another kind": said(lambda c: c.update(digest=None)),
    "the types": said(lambda c: c.update(types=["binary"])),
    "no types": said(lambda c: c.pop("types")),
}


@pytest.mark.parametrize("change", CONSISTENT.values(), ids=CONSISTENT)
def test_what_only_the_digest_can_notice_is_refused_on_opening(
    change: Change, made: Path, tmp_path: Path
) -> None:
    changed, path = change(loaded(made)), tmp_path / "r.parquet"
    pq.write_table(changed, path)
    with pytest.raises(tamis.BadData) as refused:
        tamis.open(path)
    assert str(refused.value) == MISFIT
    pq.write_table(renewed(changed), path)
    assert tamis.open(path).verify()


FORMS: dict[str, Callable[[dict[str, Any]], str]] = {
    "with spaces": lambda c: json.dumps(c, sort_keys=True),
    "in another order": lambda c: json.dumps(dict(sorted(c.items())[::-1]), separators=(",", ":")),
    "with a name twice": lambda c: json_text(c).decode().replace("{", '{"format":1,', 1),
    "without a digest": lambda c: json_text({n: c[n] for n in c if n != "digest"}).decode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_footer_in_another_form_is_refused(
    form: Callable[[dict[str, Any]], str], made: Path, tmp_path: Path
) -> None:
    table = loaded(made)
    text = form(json.loads(table.schema.metadata[b"tamis"]))
    pq.write_table(table.replace_schema_metadata({b"tamis": text.encode()}), tmp_path / "r.parquet")
    with pytest.raises(tamis.BadData) as refused:
        tamis.open(tmp_path / "r.parquet")
    assert str(refused.value) == MISFIT


def test_a_file_that_says_one_thing_to_arrow_and_another_to_others_is_refused(
    made: Path, tmp_path: Path
) -> None:
    """The types that Arrow keeps for itself may hold a second footer, which it would prefer."""
    table, path = loaded(made), tmp_path / "r.parquet"
    other = table.schema.metadata[b"tamis"].replace(b'"epsilon":"1.0"', b'"epsilon":"0.1"')
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({b"tamis": other})
    assert (
        pq.read_table(path).schema.metadata[b"tamis"] != pq.read_metadata(path).metadata[b"tamis"]
    )
    with pytest.raises(tamis.BadData, match="says more about itself"):
        tamis.open(path)


def test_a_changed_byte_anywhere_is_refused_or_harmless(made: Path, tmp_path: Path) -> None:
    """Bytes that nothing reads may be changed: what is opened then is what was saved."""
    content, path = made.read_bytes(), tmp_path / "r.parquet"
    original = tamis.open(made)
    for place in range(0, len(content), 97):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        try:
            opened = tamis.open(path)
            opened.verify()
        except (tamis.BadData, Refused):
            continue
        assert opened == original


NOT_RELEASES: dict[str, bytes] = {"empty": b"", "text": b"word,token\n", "cut": b"PAR1"}


@pytest.mark.parametrize("content", NOT_RELEASES.values(), ids=NOT_RELEASES)
def test_what_is_not_a_release_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.parquet").write_bytes(content)
    with pytest.raises(tamis.BadData, match="cannot be read as Parquet"):
        tamis.open(tmp_path / "r.parquet")


def test_a_path_without_a_file_is_refused(tmp_path: Path) -> None:
    for path, why in ((tmp_path, "is a folder"), (tmp_path / "no.parquet", "there is no file")):
        with pytest.raises(tamis.BadData, match=why):
            tamis.open(path)
