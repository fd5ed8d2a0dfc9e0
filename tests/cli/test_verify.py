"""`tamis verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tamis as library
from tests.cli.conftest import Run


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
