"""Where a folder is to be written: nothing is there yet, and Spark can write to it."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tamis.engines.spark.frames import plain
from tamis.privacy.errors import InvalidInput, shown
from tamis.releases.writing import INSIDE
from tamis.sampling.attempt import attempt
from tamis.sampling.spark import asked, condition_of

_BEGUN = "_begun"  # beside INSIDE; readers of Parquet leave both alone
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_PATTERN = re.compile(r"[*?\[\]{}]" if os.name == "nt" else r"[*?\[\]{}\\]")


class Place:
    """A folder that is not there yet. It is taken before a budget is charged.

    Nothing is ever removed from it but the mark of this call, and the folder if it is then empty.
    """

    def __init__(self, session: Any, folder: object) -> None:
        self._session, self._mark = session, ""
        self.path = _address(folder)
        self._refuse_if(self._files() is not None)

    def take(self) -> None:
        """Put a mark there that nobody else has, and find it again and nothing else."""
        mark = uuid.uuid4().hex
        tried(f"write to {self.path!r}", lambda: self._write(mark, _BEGUN))
        self._mark = mark
        try:
            self._refuse_if(bool(self._files()))
            if not self._is_mine():
                raise InvalidInput(
                    f"{self.path!r} is no place for a folder: what was written there is not found "
                    "again, or others write there too. All machines of Spark must share it."
                )
        except BaseException:
            self.give_back()
            raise

    def say(self, text: str) -> None:
        """What the release says of itself; it is written last. The mark is not needed any more."""
        self._write(text, INSIDE)
        self._unmark()

    def give_back(self) -> None:
        """Remove the mark, as far as this can be done from here, and a folder that held no more."""
        if self._mark and attempt(self._is_mine, Exception) is True:
            self._unmark()
            attempt(lambda: self._remove(self.path, all_of_it=False), Exception)

    def _unmark(self) -> None:
        attempt(lambda: self._remove(f"{self.path}/{_BEGUN}", all_of_it=True), Exception)

    def _refuse_if(self, there: bool) -> None:
        if there:
            raise InvalidInput(
                f"{self.path!r} exists already: name another folder, or remove it if a release was "
                "broken off there."
            )

    def _files(self) -> list[Any] | None:
        """A file that is there, or none; nothing at all if there is no such folder."""
        reader, there = self._reader().format("binaryFile"), _unseen(self.path)
        files = lambda: reader.load(there).select("path").limit(1).collect()  # noqa: E731
        found: list[Any] | None = tried(f"look at {self.path!r}", files, "PATH_NOT_FOUND")
        return found

    def _is_mine(self) -> bool:
        marks = _unseen(f"{self.path}/{_BEGUN}/part-*")
        lines = lambda: self._reader().text(marks).limit(3).collect()  # noqa: E731
        found = tried(f"read what it wrote to {self.path!r}", lines, "PATH_NOT_FOUND")
        return {line for (line,) in found or ()} == {self._mark}

    def _reader(self) -> Any:
        """A reader of all files below a folder, each of them once."""
        return self._session.read.option("recursiveFileLookup", "true")

    def _write(self, text: str, inside: str) -> None:
        rows = self._session.createDataFrame([(text,)], "text string").coalesce(1)
        rows.write.option("compression", "none").text(f"{self.path}/{inside}")

    def _remove(self, path: str, *, all_of_it: bool) -> None:
        java = getattr(self._session, "_jvm", None)  # Connect has none: a server's files stay
        if java is not None:
            there = java.org.apache.hadoop.fs.Path(path)
            files = there.getFileSystem(self._session._jsc.hadoopConfiguration())
            files.delete(there, all_of_it)


def tried(what: str, call: Callable[[], Any], fine: str | None = None) -> Any:
    """What Spark finds, or none after an error that is fine.

    This is for calls that have nothing to do with the data: of other errors the message is shown.
    """
    found = asked(call)
    if not isinstance(found, Exception):
        return found
    kind = condition_of(found)
    if kind == fine:
        return None
    java = getattr(found, "java_exception", None)
    said = str(java.getMessage() if java is not None else found).strip()
    why = said.partition("\n")[0].rpartition("Exception: ")[2]  # of the task, not of its stage
    why = why.partition(" (exists=")[0].partition(f"/{_BEGUN}")[0]  # names that users know
    del found, java, said
    raise InvalidInput(f"Spark cannot {what}: {why.rstrip('.') or kind}.")


def _unseen(path: str) -> list[str]:
    """A path that may not be there, as Spark looks for it in silence.

    Of a single one it asks first whether a stream wrote it, and logs a warning, with a stack trace,
    if it is not there. Of several it does not ask.
    """
    return [path, path]


def _address(folder: object) -> str:
    if not isinstance(folder, (str, Path)) or not str(folder):
        raise InvalidInput(f"folder must be a path or an address, not {shown(folder)}.")
    path = plain(str(folder))
    if _PATTERN.search(path):
        raise InvalidInput(
            f"folder {path!r} holds a sign that Spark takes for a pattern, one of * ? [ ] {{ }} "
            "and the backslash: name another."
        )
    return path if _SCHEME.match(path) else os.path.abspath(path)
