"""`tamis verify`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis as library
from tamis.releases.digest import digest, json_text
from tests.cli.conftest import SUMMARIZE, Run
from tests.releases.collected import making


def certificate() -> str:
    return library.plan(epsilon=1.0, delta=1e-8, keys_per_unit=4).certificate.text


def test_a_release_is_verified(tamis: Run, release: str) -> None:
    ran = tamis("verify", release)
    assert (ran.code, ran.err) == (0, "")
    assert ran.text.startswith("verified: epsilon 1.0, delta 1e-12")
    assert tamis("verify", release, "--json").json["verified"] is True


def test_the_digest_of_a_release_is_printed_to_be_quoted_and_compared(
    tamis: Run, release: str
) -> None:
    digest = library.open(release).digest
    assert tamis("verify", release).text.endswith(f"\ndigest: {digest}\n")
    assert tamis("verify", release, "--json").json["digest"] == digest
    for same in (digest, digest.upper(), f" {digest} "):
        assert tamis("verify", release, "--digest", same).code == 0
    for other in ("0" * 64, "", digest[:-1]):
        ran = tamis("verify", release, "--digest", other)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, b"", 1)
        assert ran.err.startswith("tamis: refused: the release has another digest")
    assert tamis("verify", "-", "--digest", digest, stdin=certificate().encode()).code == 2
    assert "digest" not in tamis("verify", "-", stdin=certificate().encode()).text


def test_a_certificate_is_verified(tamis: Run, folder: Path) -> None:
    (folder / "certificate.json").write_text(certificate())
    assert tamis("verify", "certificate.json").code == 0
    assert tamis("verify", "-", stdin=certificate().encode()).code == 0


def test_a_certificate_that_promises_too_much_is_refused(tamis: Run) -> None:
    said = json.loads(certificate())
    said["guarantee"]["epsilon"] = "0.5"
    ran = tamis("verify", "-", stdin=json.dumps(said).encode())
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith("tamis: refused: ")


def test_nonsense_in_json_is_refused(tamis: Run) -> None:
    for text in ("{}", "[]", "7", "[" * 100_000 + "]" * 100_000):
        assert tamis("verify", "-", stdin=text.encode()).code == 1


def test_what_is_neither_is_bad_data(tamis: Run, folder: Path) -> None:
    (folder / "odd").write_bytes(b"\xff\xfe\x00")
    for name in ("words.csv", "nowhere.json", "odd", ".", "events.parquet"):
        ran = tamis("verify", name)
        assert (ran.code, ran.out, ran.err.count("\n")) == (4, b"", 1), name
    assert "is a folder, and holds no release" in tamis("verify", ".").err


def test_every_command_says_alike_of_parquet_that_is_no_release(tamis: Run) -> None:
    for words in (("verify",), ("query", "rows"), ("report",)):
        ran = tamis(words[0], "events.parquet", *words[1:])
        assert (ran.code, ran.out) == (4, b""), words
        assert ran.err == (
            "tamis: 'events.parquet' is not a release: its footer has no entry 'tamis'.\n"
        )


def test_a_release_that_was_changed_is_refused(tamis: Run, release: str, folder: Path) -> None:
    said = {b"tamis": pq.read_metadata(release).metadata[b"tamis"]}
    table = pq.read_table(release).replace_schema_metadata(said)
    pq.write_table(table.slice(1), folder / "row.parquet")
    high = pa.array([n + 1 for n in table["high"].to_pylist()])
    pq.write_table(table.set_column(4, "high", high), folder / "table.parquet")
    footer = {k: v.replace(b"query", b"uery") for k, v in said.items()}
    pq.write_table(table.replace_schema_metadata(footer), folder / "footer.parquet")
    data = (folder / release).read_bytes()
    (folder / "cut.parquet").write_bytes(data[: len(data) // 2])
    for name in ("row.parquet", "table.parquet", "footer.parquet", "cut.parquet"):
        ran = tamis("verify", name)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, b"", 1), name
        assert ran.err.startswith("tamis: refused: ")


# --- summaries -----------------------------------------------------------------------------------


def test_a_summary_is_verified_and_its_digest_compared(tamis: Run, summary: str) -> None:
    ran = tamis("verify", summary)
    found = library.open(summary).digest
    assert (ran.code, ran.err) == (0, "")
    assert ran.text.startswith("verified: epsilon 1.0, delta 0 for one element")
    assert ran.text.endswith(f"\ndigest: {found}\n")
    said = tamis("verify", summary, "--digest", found, "--json").json
    assert (said["verified"], said["kind"], said["digest"]) == (True, "summary", found)
    ran = tamis("verify", summary, "--digest", "0" * 64)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, b"", 1)
    assert ran.err.startswith("tamis: refused: the summary has another digest")


@pytest.mark.parametrize("method", ["threshold", "priority", "dyadic", "consistent-dyadic", "haar"])
def test_summaries_of_every_form_are_verified(tamis: Run, folder: Path, method: str) -> None:
    made = tamis(*SUMMARIZE, "--size", "500", "--method", method, "-o", "s.parquet")
    assert made.code == 0, made.err
    assert tamis("verify", "s.parquet").code == 0


Said = dict[str, Any]
Change = Callable[[pa.Table, Said], tuple[pa.Table, Said]]


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def a_value(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    values = table["value"].to_numpy().copy()
    values[np.abs(values).argmax()] += 50
    return with_column(table, "value", values), said


def a_weight(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return with_column(table, "weight", table["weight"].to_numpy() * 1.01), said


def small_values(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    """Below theta, with weights that fit."""
    ones = with_column(table, "value", np.ones(len(table), np.int64))
    return with_column(ones, "weight", np.ones(len(table))), said


def the_order(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table.take(np.arange(len(table))[::-1]), said


def one_row_more(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return pa.concat_tables([table, table.slice(len(table) - 1)]), said


def a_row_outside(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    homes = table["home"].to_numpy().copy()
    homes[-1] = 4001
    return with_column(table, "home", homes), said


def too_many_rows(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"size": 1}


def theta(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"theta": 10_000}


def the_threshold(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"taus": ["5000.0"]}


def epsilon(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"guarantee": said["guarantee"] | {"epsilon": "0.5"}}


def the_part_for_the_cells(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"spent": [said["spent"][0] | {"epsilon": "2.0"}]}


def the_bound(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"guarantee": said["guarantee"] | {"keys_per_unit": 2}}


def the_neighbours(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"guarantee": said["guarantee"] | {"neighbours": "replace one unit"}}


def the_method(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"method": "haar"}


def the_domain(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"domain": {"attributes": [{"name": "home", "low": 0, "high": 4000}]}}


def more_words(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return table, said | {"remark": "all is well"}


CHANGES: tuple[Change, ...] = (
    a_value, a_weight, small_values, the_order, one_row_more, a_row_outside, too_many_rows, theta,
    the_threshold, epsilon, the_part_for_the_cells, the_bound, the_neighbours, the_method,
    the_domain, more_words,
)  # fmt: skip


@pytest.mark.parametrize("forged", [False, True], ids=["old digest", "digest made anew"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_summary_that_was_changed_is_refused(
    tamis: Run, summary: str, change: Change, forged: bool
) -> None:
    """Also by somebody who computes the digest anew: nothing of this fits together."""
    said = json.loads(pq.read_metadata(summary).metadata[b"tamis"])
    table, said = change(pq.read_table(summary).replace_schema_metadata(None), said)
    if forged:
        said["digest"] = digest({n: v for n, v in said.items() if n != "digest"}, table)
    pq.write_table(table.replace_schema_metadata({b"tamis": json_text(said)}), "changed.parquet")
    ran = tamis("verify", "changed.parquet")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, b"", 1), ran.out
    assert ran.err.startswith("tamis: refused: ")
    assert "Traceback" not in ran.err


def test_a_file_that_was_only_written_anew_is_verified(tamis: Run, summary: str) -> None:
    """So what is refused above is refused for what was changed."""
    said = pq.read_metadata(summary).metadata[b"tamis"]
    pq.write_table(pq.read_table(summary).replace_schema_metadata({b"tamis": said}), "same.parquet")
    assert tamis("verify", "same.parquet").code == 0


# --- what devices have reported -------------------------------------------------------------------


def test_a_release_of_reports_is_verified_and_its_digest_compared(
    tamis: Run, reports: str, quantiles: str
) -> None:
    for name, end in ((reports, "the 5 rows follow from their tokens"),
                      (quantiles, "the 3 quantiles lie in their intervals")):  # fmt: skip
        found = library.open(name).digest
        ran = tamis("verify", name)
        assert (ran.code, ran.err) == (0, "")
        assert ran.text.startswith("verified: epsilon 1.0, delta 1e-06 when one unit ('client')")
        assert ran.text.endswith(f"; {end}\ndigest: {found}\n")
        said = tamis("verify", name, "--digest", found, "--json").json
        assert (said["verified"], said["kind"], said["digest"]) == (True, "release", found)
        ran = tamis("verify", name, "--digest", "0" * 64)
        assert (ran.code, ran.out) == (1, b"")
        assert ran.err.startswith("tamis: refused: the release has another digest")


def one_client(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    """A row of somebody who stands alone."""
    row = {"item": "canary", "token": 1, "estimate": 3.9, "low": 1, "high": 15}
    return pa.concat_tables([table, pa.Table.from_pylist([row], table.schema)]), said


def a_larger_rate(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    said["certificate"]["rule"]["parts"] += 1
    return table, said | {"parts": said["parts"] + 1}


def a_huge_token(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return with_column(table, "token", [2**62, *table["token"].to_pylist()[1:]]), said


def a_missing_token(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    return with_column(table, "token", [None, *table["token"].to_pylist()[1:]]), said


def an_endless_threshold(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    said["certificate"]["rule"]["tau"] = 10**9
    return table, said | {"tau": 10**9}


REPORTED: tuple[Change, ...] = (
    one_client, a_larger_rate, a_huge_token, a_missing_token, an_endless_threshold, the_order,
    one_row_more, epsilon, more_words,
)  # fmt: skip


@pytest.mark.parametrize("forged", [False, True], ids=["old digest", "digest made anew"])
@pytest.mark.parametrize("change", REPORTED, ids=lambda change: change.__name__)
def test_a_release_of_reports_that_was_changed_is_refused(
    tamis: Run, reports: str, folder: Path, change: Change, forged: bool
) -> None:
    making.written(*change(*making.loaded(folder / reports)), folder / "changed.parquet", forged)
    ran = tamis("verify", "changed.parquet")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, b"", 1), ran.out
    assert ran.err.startswith("tamis: refused: ")
    assert "canary" not in ran.err
