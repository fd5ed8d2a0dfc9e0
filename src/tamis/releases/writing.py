"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tamis.privacy.errors import BadData, InvalidInput, shown

INSIDE = "_tamis"  # the folder in the folder of a release: what it says about itself


@contextmanager
def whole_file(path: str | Path, private: bool = False) -> Iterator[BinaryIO]:
    """A file beside the target that takes its place, durably, when all is written.

    A ``private`` one is for its owner alone.
    """
    target = as_path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".tamis-", suffix=".part")
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o600 if private else 0o666 & ~_umask())
        os.replace(name, target)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise _unwritable(path, error) from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def as_path(path: object) -> Path:
    """The name of a file, if it is one."""
    if not isinstance(path, (str, os.PathLike)) or "\0" in str(path):
        raise InvalidInput(
            f"path must name a file, as text or as a pathlib.Path, not {shown(path)}."
        )
    return Path(path)


def in_folder(path: str | Path) -> bool:
    """Whether this is a release in a folder, which Spark has written."""
    return (as_path(path) / INSIDE).is_dir()


def unfinished(path: str | Path) -> BadData:
    """What to raise for a folder without one."""
    return BadData(f"{str(path)!r} is a folder, and holds no release that was finished.")


def _unwritable(path: str | Path, error: OSError) -> InvalidInput:
    return InvalidInput(f"{str(path)!r} cannot be written: {error.strerror}.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
