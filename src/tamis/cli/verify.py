"""`tamis verify`: re-check a release, a summary or a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tamis.cli import inputs, streams
from tamis.cli import options as o
from tamis.cli.failures import Failed
from tamis.cli.streams import STANDARD
from tamis.privacy.errors import BadData, InvalidInput
from tamis.privacy.verify import Refused
from tamis.releases.writing import in_folder, unfinished

EXAMPLES = """Examples:
  tamis verify release.parquet
  tamis verify release.parquet --digest DIGEST
  tamis verify summary.parquet
  tamis verify certificate.json
  tamis verify release.parquet --json"""

_PARQUET = b"PAR1"
_DIGEST = "Also refuse a file with another digest than this one, from where it was published."


def verify(
    file: Annotated[
        str, Parameter(help="A release, a summary, or a certificate in JSON; - is JSON.")
    ],
    /,
    *,
    digest: Annotated[str | None, Parameter(help=_DIGEST)] = None,
    json: o.Json = False,
) -> None:
    """Re-check what a release, a summary or a certificate promises.

    The certificate's integers are rebuilt and checked against the definition of
    differential privacy. For a release, its rows must also follow from its tokens;
    for a summary, the noise must fit what one unit can change, and the rows must
    follow from their values. Both must fit their digest, which is printed: compare
    it with a published one. The exit code is 0 if all holds, 1 if it was refused,
    and 4 if there is nothing to check.
    """
    is_release = file != STANDARD and (in_folder(file) or _start(file) == _PARQUET)
    if digest is not None and not is_release:
        raise InvalidInput("--digest is for a release or a summary; a certificate has none.")
    try:
        said = _release(file) if is_release else _certificate(inputs.read_text(file))
        if digest is not None and said["digest"] != digest.strip().lower():
            raise Refused(
                f"the {said['kind']} has another digest than the one given: it is another file."
            )
    except Refused as reason:
        raise Failed(f"refused: {reason}") from None
    if json:
        streams.put_json({"verified": True, **said})
    else:
        streams.put(f"verified: {said['checked']}")
        if is_release:
            streams.put(f"digest: {said['digest']}")


def _start(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_PARQUET))
    except IsADirectoryError:
        raise unfinished(path) from None
    except OSError as error:
        raise BadData(f"{path!r} cannot be read: {error.strerror}.") from None


def _release(path: str) -> dict[str, str]:
    """Whatever is wrong with a release that is there is a reason to refuse it."""
    import tamis
    from tamis.releases.file import NoRelease

    try:
        opened = tamis.open(path)
        kind = "summary" if isinstance(opened, tamis.Summary) else "release"
        return {"kind": kind, "checked": opened.verify(), "digest": _digest(path, opened)}
    except NoRelease:
        raise
    except InvalidInput as error:
        raise Refused(str(error)) from None


def _digest(path: str, opened: Any) -> str:
    """That of the file, or of the folder, which has one for each of its files."""
    if not in_folder(path):
        return str(opened.digest)
    from tamis.releases.folder.reading import stated_digest

    return stated_digest(path)


def _certificate(text: str) -> dict[str, str]:
    from tamis.privacy.certificate import Certificate

    try:
        return {"kind": "certificate", "checked": Certificate.read(text).verify()}
    except RecursionError:
        raise Refused("the certificate is nested too deeply") from None
    except InvalidInput:
        raise BadData("this is neither a release nor a certificate in JSON.") from None
