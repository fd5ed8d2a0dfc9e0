"""The file of clusters: it comes back as it was, or is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.privacy.verify import Refused
from tamis.releases.clusters.clusters import Clusters
from tests.releases.clusters.making import COLUMNS, SIZES, changed, drawn, made
from tests.releases.collected.making import ENTRY, Said, loaded, written

PAGE = Path(__file__).parents[3] / "docs/release-file.md"
FIELDS = {
    "bounds", "certificate", "clusters", "columns", "day", "digest", "filtered", "format",
    "guarantee", "init", "kind", "ledger", "library", "max_iter", "mixing", "radius", "rate",
    "sampler", "spent", "steps", "types",
}  # fmt: skip
MADE: dict[str, Clusters] = {
    "made by hand": made(),
    "one cluster": made([[0.0]], [7.0], ["x"]),
    "odd names": made(columns=['say "x"', "a,b", "äöü\n日本"]),
    "charged": made(entry=ENTRY, filtered=True),
    "a radius": made(bounds=None, radius=0.1),
    "drawn": drawn(),
    "drawn in a ball": drawn(radius=2.0),
    "optimal": drawn(sampler="optimal", rate=0.5),
    "coreset": drawn(sampler="coreset", mixing=0.3),
    "uniform": drawn(sampler="uniform", rate=0.5),
    "another start": drawn(init="random", max_iter=3),
}


@pytest.mark.parametrize("release", MADE.values(), ids=MADE)
def test_what_is_saved_is_opened_and_verified(release: Clusters, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    release.save(path)
    assert path.read_bytes() == release.to_bytes()
    opened = tamis.open(path)
    assert type(opened) is tamis.Clusters
    assert opened == release
    assert opened.table.schema == release.table.schema
    assert opened.verify() == release.verify()
    assert opened.digest == release.digest == loaded(path)[1]["digest"]
    assert str(opened) == repr(opened) == str(release)
    assert "<table>" in opened._repr_html_()


@pytest.mark.parametrize("release", MADE.values(), ids=MADE)
def test_the_documented_python_computes_the_digest(
    release: Clusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    release.save("release.parquet")
    found = dict[str, Any]()
    (recipe,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(recipe, "page", "exec"), found)
    assert found["digest"] == release.digest


def test_the_documentation_names_every_field() -> None:
    text = PAGE.read_text().partition("## Clusters")[2].partition("## Digest")[0]
    assert set(re.findall(r"`(\w+)`", text)) >= FIELDS


@pytest.mark.parametrize("release", MADE.values(), ids=MADE)
def test_the_footer_says_what_was_public_and_nothing_else(
    release: Clusters, tmp_path: Path
) -> None:
    release.save(tmp_path / "r.parquet")
    metadata = pq.read_metadata(tmp_path / "r.parquet").metadata
    assert set(metadata) == {b"tamis", b"ARROW:schema"}
    said = json.loads(metadata[b"tamis"])
    assert set(said) == FIELDS
    assert (said["kind"], said["guarantee"]["delta"]) == ("clusters", "0.0")
    without = {name: value for name, value in said.items() if name not in ("digest", "types")}
    assert without == release.about.describe()


def test_without_a_sample_the_footer_depends_on_no_data() -> None:
    other = tamis.kmeans(
        pa.table({name: np.linspace(0, 1, 3000) for name in COLUMNS}),
        columns=COLUMNS, n_clusters=3, epsilon=2.0, bounds=(-1, 1), max_iter=2,
    )  # fmt: skip
    assert other.about.describe() == drawn(max_iter=2).about.describe()


def test_clusters_stand_in_the_order_of_sizes_whatever_order_they_were_found_in() -> None:
    order = [2, 0, 1]
    release = made()
    assert release == made(np.array(release.centers)[order], release.sizes[order])
    assert release.sizes.tolist() == sorted(SIZES, reverse=True)
    assert release.table["cluster"].to_pylist() == [0, 1, 2]
    assert release.centers[0].tolist() == [-0.75, 0.25, 0.5]
    equal = made([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]], [10.0, 10.0])
    assert equal.centers[:, 0].tolist() == [-0.5, 0.5]


def test_other_tools_read_the_same_rows(tmp_path: Path) -> None:
    release = made()
    release.save(tmp_path / "r.parquet")
    with duckdb.connect() as database:
        rows = database.sql(f"FROM '{tmp_path / 'r.parquet'}'").to_arrow_table().to_pylist()
    assert rows == release.table.to_pylist() == release.to_polars().to_dicts()
    assert release.to_pandas().columns.tolist() == ["cluster", *COLUMNS, "size"]


def test_what_was_spent_is_no_more_than_what_is_promised() -> None:
    for epsilon in (0.1, 0.3, 1.0, 7.7, 1 / 3):
        parts = made(epsilon=epsilon).about.parts
        assert len(parts) == 3
        assert 0.999 * epsilon < sum(part.epsilon for part in parts) <= epsilon * (1 + 1e-15)
        assert all(part.delta == 0 for part in parts)


def test_it_is_shown_as_a_small_table() -> None:
    assert str(made()).splitlines() == [
        "cluster      x     y     z     size",
        "      0  -0.75  0.25   0.5  3,001.0",
        "      1    0.5  -0.5   0.0  1,200.0",
        "      2   0.25  0.75  -0.5      0.0",
        "3 clusters, released with epsilon 1 for one row",
    ]


# --- what was changed is refused ------------------------------------------------------------------

Change = Callable[[pa.Table, Said], tuple[pa.Table, Said]]


def cell(name: str, row: int, value: Any) -> Change:
    def change(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
        held = table[name].to_pylist()
        held[row] = value
        place = table.column_names.index(name)
        return table.set_column(place, name, pa.array(held, table[name].type)), said

    return change


def rows(change: Callable[[pa.Table], pa.Table]) -> Change:
    return lambda table, said: (change(table), said)


def footer(**values: Any) -> Change:
    return lambda table, said: (table, changed(said, **values))


def promise(**values: Any) -> Change:
    """In the guarantee, and in that of the certificate."""
    both = {f"{where}{n}": v for n, v in values.items()
            for where in ("guarantee__", "certificate__guarantee__")}  # fmt: skip
    return footer(**both)


CHANGES: dict[str, Change] = {
    "a coordinate beyond the bounds": cell("x", 0, 1.5),
    "a coordinate that is no number": cell("x", 0, float("nan")),
    "an infinite coordinate": cell("y", 1, float("inf")),
    "a missing coordinate": cell("z", 2, None),
    "a negative size": cell("size", 2, -1.0),
    "a size that is no number": cell("size", 2, float("nan")),
    "sizes out of order": cell("size", 2, 5000.0),
    "half a row": cell("size", 0, 3001.5),
    "more rows than there can be": cell("size", 0, 1e300),
    "another number": cell("cluster", 0, 3),
    "a number twice": cell("cluster", 1, 0),
    "a missing number": cell("cluster", 1, None),
    "a row less": rows(lambda t: t.slice(1)),
    "a row twice": rows(lambda t: pa.concat_tables([t, t.slice(2)])),
    "a column less": rows(lambda t: t.drop_columns(["y"])),
    "a column more": rows(lambda t: t.append_column("rows", t["size"])),
    "columns swapped": rows(lambda t: t.select(["cluster", "y", "x", "z", "size"])),
    "whole sizes": rows(lambda t: t.set_column(4, "size", t["size"].cast("int64", False))),
    "a smaller epsilon": promise(epsilon="0.5"),
    "a smaller epsilon in the footer alone": footer(guarantee__epsilon="0.5"),
    "epsilon as a number": promise(epsilon=1.0),
    "a delta": promise(delta="0.1"),
    "another unit": promise(unit="person"),
    "replacement": promise(neighbours="replace one unit"),
    "parts that are less": footer(spent=[]),
    "parts that are more": footer(certificate__rule__parts__centres="2"),
    "another rule": footer(certificate__rule__name="draw"),
    "another share for counts": footer(certificate__rule__count_share="1/2"),
    "less noise in a step": footer(certificate__rule__search__steps=1),
    "more for the seeds": footer(certificate__rule__search__seeds="96/100"),
    "steps that auto never takes": footer(steps=3),
    "steps of another schedule": footer(steps=2),
    "a sampler that is not in the certificate": footer(sampler="uniform"),
    "a sampler that there is not": footer(sampler="best"),
    "a rate without a sampler": footer(rate="0.5"),
    "a mixing without a coreset": footer(mixing="0.5"),
    "bounds and a radius": footer(radius="1.0"),
    "neither": footer(bounds=None),
    "a radius of nothing": footer(bounds=None, radius="0.0"),
    "a radius that is no number": footer(bounds=None, radius="nan"),
    "bounds of fewer columns": footer(bounds=[["-1.0", "1.0"]]),
    "bounds upside down": footer(bounds=[["1.0", "-1.0"]] * 3),
    "bounds without width": footer(bounds=[["1.0", "1.0"]] * 3),
    "bounds as numbers": footer(bounds=[[-1.0, 1.0]] * 3),
    "other names of columns": footer(columns=["x", "y", "w"]),
    "a column called size": footer(columns=["x", "y", "size"]),
    "a column twice": footer(columns=["x", "y", "X"]),
    "a column that is no text": footer(columns=["x", "y", 3]),
    "more clusters": footer(clusters=4),
    "clusters as text": footer(clusters="3"),
    "no steps": footer(steps=0),
    "steps that were not asked for": footer(max_iter=3),
    "steps that are true": footer(max_iter=True, steps=1),
    "another start": footer(init="kmeans++"),
    "another day": footer(day="today"),
    "a number of rows": footer(rows=4200),
    "an inertia": footer(inertia="12.5"),
    "another format": footer(format=2),
    "another kind": footer(kind="collected"),
    "a ledger of another kind": footer(ledger={"rows": 5}),
    "filtered as a number": footer(filtered=1),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("forged", [False, True], ids=["as it is", "with a digest that fits"])
def test_what_was_changed_is_refused(name: str, forged: bool, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    made().save(path)
    written(*CHANGES[name](*loaded(path)), path, forged)
    with pytest.raises((tamis.BadData, Refused)):  # noqa: PT012  (opening or verifying refuses it)
        opened = tamis.open(path)
        assert forged, "a digest that does not fit is refused when the file is opened"
        opened.verify()


def sample(**values: str) -> Change:
    return footer(**{f"certificate__rule__sample__{name}": v for name, v in values.items()})


def without_near(**values: Any) -> Change:
    """A coreset that says that it was optimal."""

    def change(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
        said = changed(said, certificate__rule__sample__sampler="optimal", **values)
        del said["certificate"]["rule"]["sample"]["near"]
        return table, said

    return change


def less_spent(table: pa.Table, said: Said) -> tuple[pa.Table, Said]:
    said = changed(said)
    rule = said["certificate"]["rule"]
    places = ((rule["sample"], "steps"), (rule["search"], "seeds"), (rule["search"], "lloyd"))
    for place, name in places:
        place[name] = str(Fraction(place[name]) / 10)
    return table, said


SAMPLED: dict[str, tuple[str, Change]] = {
    "a uniform sample that is none": ("uniform", sample(near="1")),
    "a uniform sample of another rate": ("uniform", footer(rate="0.2")),
    "a coreset of another rate": ("coreset", footer(rate="0.9")),
    "a coreset of another mixing": ("coreset", footer(mixing="0.9")),
    "a coreset in which the middle is likelier": ("coreset", sample(near="1/2")),
    "a coreset that was optimal": ("coreset", without_near(sampler="optimal", mixing=None)),
    "optimal weights of another rate": ("optimal", footer(rate="0.5")),
    "optimal weights with other odds": ("optimal", sample(far="1/2")),
    "a tenth of what was spent": ("uniform", less_spent),
    "a tenth of what was spent on a coreset": ("coreset", less_spent),
    "less than a 1024th of a row": ("uniform", cell("size", 2, 2.0**-11)),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_what_was_changed_of_a_sample_is_refused(name: str, tmp_path: Path) -> None:
    (kind, change), path = SAMPLED[name], tmp_path / "r.parquet"
    drawn(sampler=kind).save(path)
    written(*loaded(path), path, forged=True)
    assert tamis.open(path).verify()
    written(*change(*loaded(path)), path, forged=True)
    with pytest.raises((tamis.BadData, Refused)):
        tamis.open(path).verify()


def test_a_file_that_was_not_changed_is_not_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    made().save(path)
    written(*loaded(path), path, forged=True)
    assert tamis.open(path) == made()
    written(*cell("size", 2, 1.0)(*loaded(path)), path, forged=True)  # nobody can know
    assert "3 clusters" in tamis.open(path).verify()
