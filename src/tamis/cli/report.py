"""`tamis report`: a page about a release, for people."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tamis.cli import files, streams
from tamis.cli import options as o
from tamis.cli.failures import Failed
from tamis.cli.streams import STANDARD
from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from tamis.releases.report.page import Opened

EXAMPLES = """Examples:
  tamis report release.parquet -o report.html
  tamis report release.parquet -o - > report.html
  tamis report release.parquet -o report.html --registry deployment.yaml"""


def report(
    release: Annotated[str, Parameter(help="A release file.")],
    /,
    *,
    output: o.Output = None,
    registry: Annotated[
        str | None, Parameter(help="Also write the guarantee as YAML for deployment registries.")
    ] = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Write a page about a release, for people.

    It says what is guaranteed and what was spent, and shows the top keys and how to
    verify them. It needs no network. Without -o it is written next to the release,
    as .html.
    """
    page = output or str(Path(release).with_suffix(".html"))
    places = [page] if registry is None else [page, registry]
    if len(set(places)) < len(places) or (json and STANDARD in places):
        raise InvalidInput("each of the page, the YAML and the JSON needs a place of its own.")
    for path in places:
        files.check_output(path, force, [release])
    import tamis
    from tamis.releases.report import registry_yaml

    opened = tamis.open(release)
    _write_page(opened, page)
    if registry is not None:
        files.write_file(registry, registry_yaml(opened).encode())
    _tell(page, registry, json)


def _write_page(opened: Opened, page: str) -> None:
    from tamis.releases.report import write_report

    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        path = Path(folder) / "report.html"
        try:
            write_report(opened, path)
        except InvalidInput as error:
            raise Failed(str(error)) from None
        files.write_file(page, path.read_bytes())


def _tell(page: str, registry: str | None, json: bool) -> None:
    if json:
        streams.put_json({"report": page, "registry": registry})
        return
    for path in filter(None, (page, registry)):
        if path != STANDARD:
            streams.say(f"written: {path}")
