"""Why Spark cannot read an address: only what is surely no data is told."""

from __future__ import annotations

import re

from tamis.privacy.errors import BadData, EngineMissing
from tamis.sampling.spark import condition_of

# Java says so of a scheme, or of a part of its own that is not there
_NO_SYSTEM = re.compile(
    r"No FileSystem for scheme|Class org\.apache\.hadoop\.fs\.[\w.$]+ not found"
    r"|NoClassDefFoundError"
)
# a class of Java with which a message may begin
_CLASS = re.compile(r"\(?(?:java|org\.apache|software\.amazon)\.[\w.]*?(\w+(?:Exception|Error))\b")
_AZURE = "its package hadoop-azure"
_NEEDS = {
    "s3a": "its package hadoop-aws",
    "s3": "addresses that begin with s3a://, and its package hadoop-aws",
    "abfs": _AZURE,
    "abfss": _AZURE,
    "gs": "the connector for Google Cloud Storage",
}


def unread(error: Exception, paths: list[str]) -> BadData | EngineMissing:
    """What to raise. Messages may name files or hold rows, so that none of them is shown."""
    scheme, separator, _ = paths[0].partition("://")
    if separator and _NO_SYSTEM.search(str(error)):
        needed = _NEEDS.get(scheme, "the package that knows them")
        return EngineMissing(
            f"Spark has no file system for addresses that begin with {scheme}://: it needs "
            f"{needed} (spark.jars.packages, in the version of its Hadoop)."
        )
    if condition_of(error) == "PATH_NOT_FOUND":
        what = repr(paths[0]) if len(paths) == 1 else f"one of {len(paths)} addresses"
        return BadData(f"Spark finds no file for {what}; check the path.")
    kind = _kind(error)
    if kind.startswith("PARQUET_TYPE_") or kind in ("UNSUPPORTED_TIME_TYPE", "UNSUPPORTED_TYPE"):
        return BadData(
            f"{paths[0]!r} has a column of a type that Spark does not read ({kind}), such as "
            'moments with nanoseconds, times of day, UUIDs or intervals: take engine="duckdb", or '
            "write that column in another type, or leave it out."
        )
    if not separator:
        return BadData(
            f"{paths[0]!r} cannot be read by Spark ({kind}): it is damaged, or no Parquet."
        )
    return BadData(
        f"{paths[0]!r} cannot be read by Spark ({kind}); check the path, and "
        "whether Spark has what it needs for such an address."
    )


def _kind(error: Exception) -> str:
    """What Spark calls the error, or the name of the class in Java where it began."""
    kind, java = condition_of(error), getattr(error, "java_exception", None)
    if java is not None:
        while (cause := java.getCause()) is not None:
            java = cause
        return str(java.getClass().getSimpleName())
    found = _CLASS.match(str(error))
    return found[1] if found and kind == type(error).__name__ else kind
